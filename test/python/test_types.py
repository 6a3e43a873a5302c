"""Checks the types of the package and of scripts/gpu-model with mypy --strict."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check_types(*arguments: str) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False,
                          env=os.environ | {"MYPYPATH": "python:scripts"})
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_strict() -> None:
    check_types("python/pe_attention")


def test_the_model_of_gpus() -> None:
    check_types("--explicit-package-bases", "scripts/gpu-model", "scripts/gpumodel")
