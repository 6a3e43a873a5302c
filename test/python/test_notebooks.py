"""Runs the code cells of examples/notebooks in order, and checks that the files contain no
outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pe_attention

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["reinit-between-phases", "write-an-encoding"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run(path, tmp_path):
    """Runs the cells as one program, in order."""
    notebook = json.loads(path.read_text())
    assert (notebook["nbformat"], notebook["metadata"]["language_info"]["name"]) == (4, "python")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)
    (tmp_path / "cells.py").write_text("\n\n".join("".join(cell["source"]) for cell in code))
    env = {**os.environ, "PYTHONPATH": str(Path(pe_attention.__file__).resolve().parents[1])}
    if "PE_LIBRARY" in env:
        env["PE_LIBRARY"] = os.path.abspath(env["PE_LIBRARY"])
    done = subprocess.run([sys.executable, "cells.py"], cwd=tmp_path, env=env, text=True,
                          capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
