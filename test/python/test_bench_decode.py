"""Tests scripts/bench-decode at tiny sizes: that every row is measured, not the speeds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/bench-decode"


def run(*flags: str, **changed: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **changed}
    return subprocess.run([sys.executable, str(SCRIPT), "--quick", *flags], text=True,
                          capture_output=True, env=environment, timeout=600)


def test_every_row_is_measured() -> None:
    done = run("--no-compile")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r".*; torch [\w.+]+ \(\w+\), pe [\d.]+, .*; 1 thread; 1 processes",
                    done.stdout)
    rows = re.findall(r"^\| (.*?) \| \d+\.\d+ \(\d+\.\d+\.\.\d+\.\d+\) \|", done.stdout,
                      re.MULTILINE)
    assert len(rows) == len(set(rows)) == 81
    for name in ("nope over SDPA without bias, 4096 keys, Hkv 2, bf16",
                 "prefill of 2048 rows over SDPA, forward and backward, bf16",
                 "kerple_log over nope, 4096 keys, Hkv 8, f32",
                 "fire with kept tables over nope, C API, 128 keys, Hkv 8, f32",
                 "rope with rotated keys over nope, C API, 4096 keys, Hkv 1, f32",
                 "nope, Python, without the operator pe::repeat",
                 "nope, Hkv 1, bf16", "nope, C API", "t5, step of pe.Cache, 1024 keys, f32",
                 "two threads: nope, Hkv 1, f32"):
        assert name in rows
    assert len(re.findall(r"^\|(?:---\|)+$", done.stdout, re.MULTILINE)) == 5


def test_a_failure_is_reported(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    done = run("--only=C API", PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 1
    assert "bench-decode: error: a process failed" in done.stderr
