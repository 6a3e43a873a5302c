"""Checks that the pages generated from the package are current: its reference and the gallery."""

import subprocess
import sys
from pathlib import Path

import pytest

import pe_attention as pe

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", ["make-python-api", "make-gallery"])
def test_is_current(script):
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / script), "--check"], text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs" / "python" / "api.md").read_text()
    names = [f"pe.{name}" for name in pe._NAMES] + [
        f"pe.{module}.{name}" for module in sorted(pe._MODULES)
        for name in getattr(pe, module).__all__]
    # Modules have sections.
    assert [name for name in names
            if f"\n### {name}\n" not in text and f"\n## {name}\n" not in text] == []
