"""Runs the Python blocks of the pages, each page in a separate process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pe_attention

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", ROOT / "docs" / "flex-attention.md",
         *sorted((ROOT / "docs" / "python").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    assert blocks, f"{page}: expected Python blocks, found none"
    env = {**os.environ, "PYTHONPATH": str(Path(pe_attention.__file__).resolve().parents[1])}
    if "PE_LIBRARY" in env:
        env["PE_LIBRARY"] = os.path.abspath(env["PE_LIBRARY"])
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=env, text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
