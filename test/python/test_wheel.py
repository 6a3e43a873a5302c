"""Tests of the wheel: its contents, its dependencies, and that it runs without LLVM libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# The system libraries and symbol versions that the tag manylinux_2_36 allows.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libz.so.1",
           "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0),
          "ZLIB": (1, 2, 12)}


@pytest.fixture(scope="module")
def wheel() -> Path:
    given = os.environ.get("PE_WHEEL")
    found = [Path(given)] if given else sorted((ROOT / "dist").glob("*.whl"))
    if not found:
        pytest.skip("there is no wheel in dist/; `make python` builds it")
    return found[-1]


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder))
            path.chmod(entry.external_attr >> 16 & 0o777 or 0o644)
    return folder


def test_contents(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-manylinux_2_36_x86_64.whl")
    assert wheel.stat().st_size <= 35 << 20
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = archive.read(next(n for n in names if n.endswith("/RECORD"))).decode()
    wanted = ["__init__.py", "py.typed", "lib/libpe.so", "lib/libpe-jit.so", "bin/pe",
              "examples/encodings/alibi.mlir"]
    assert all(f"pe_attention/{name}" in names for name in wanted)
    assert len(record.splitlines()) == len(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".a", ".so.0"))]


def test_required_libraries(unpacked: Path) -> None:
    for name in ("lib/libpe.so", "lib/libpe-jit.so", "bin/pe"):
        dump = subprocess.run(["objdump", "-p", str(unpacked / "pe_attention" / name)],
                              capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", dump)) - {"libpe.so.0"}
        assert needed <= ALLOWED, f"{name} needs {needed - ALLOWED}"
        versions = {(kind, tuple(map(int, number.split("."))))
                    for kind, number in re.findall(r" ([A-Z]+)_([\d.]+)\n", dump)}
        assert "GLIBC" in {kind for kind, _ in versions}, dump
        for kind, number in versions:
            assert number <= NEWEST.get(kind, ()), f"{name} needs {kind} {number}"


def test_the_compiler_library_exports_one_function(unpacked: Path) -> None:
    """Otherwise it could interfere with another LLVM in the process."""
    dump = subprocess.run(["objdump", "-T", str(unpacked / "pe_attention" / "lib/libpe-jit.so")],
                          capture_output=True, text=True, check=True).stdout
    lines = [line for line in dump.splitlines() if " g " in line and "*UND*" not in line]
    assert [line.split()[-1] for line in lines] == ["peCreateJit"]


SCRIPT = """
import sys
before = sys.argv[1] == "before"
if before:
    import torch
import pe_attention as pe, numpy as np
text = (pe.__path__[0] + "/examples/encodings/alibi_learned.mlir")
x = np.random.default_rng(0).standard_normal((1, 2, 9, 48), np.float32)
fn = pe.compile(text)
o = fn(q=x, k=x, v=x, slopes=np.ones(2, np.float32))["o"]
assert fn.backward(d_o=o)["d_slopes"].shape == (2,)
import torch
q = torch.from_numpy(x)
p = pe.attention(q, q, q, mask=pe.causal & pe.sliding_window(4))
assert bool(torch.isfinite(p).all()) and np.isfinite(o).all()
assert "softmax" in pe.explain(mask=pe.causal)
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
ours = [path for path in loaded if "libpe" in path]
assert ours and all(path.startswith(sys.argv[2]) for path in ours), ours
upstream = [path for path in loaded if "libLLVM" in path or "libMLIR" in path]
assert not upstream, upstream
"""


@pytest.mark.parametrize("order", ["before", "after"])
def test_compiles_without_llvm_libraries(unpacked: Path, tmp_path: Path, order: str) -> None:
    """The loader's log shows that no LLVM library is loaded or searched for, so the test also works
    where LLVM is installed, and without permission to hide it."""
    settings = {**os.environ, "PYTHONPATH": str(unpacked), "PE_CACHE_DIR": str(tmp_path / "cache"),
                "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "log")}
    settings.pop("PE_LIBRARY", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT, order, str(unpacked)], env=settings,
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    log = "".join(path.read_text() for path in tmp_path.glob("log.*"))
    sought = set(re.findall(r"find library=(\S+)", log))
    assert any("libstdc++" in name for name in sought), sought
    assert not [name for name in sought if re.search("LLVM|MLIR|clang", name)], sought
    assert "calling init: " + str(unpacked / "pe_attention" / "lib" / "libpe-jit.so") in log


def test_the_program_compiles_without_llvm_libraries(unpacked: Path, tmp_path: Path) -> None:
    folder = unpacked / "pe_attention"
    settings = {**os.environ, "PE_CACHE_DIR": str(tmp_path / "cache"), "LD_DEBUG": "libs",
                "LD_DEBUG_OUTPUT": str(tmp_path / "log")}
    examples = folder / "examples" / "encodings"
    shutil.copy(examples / "fire.mlir", examples / "only_here.mlir")  # not in the source tree
    command = [folder / "bin" / "pe", "explain", "examples/encodings/only_here.mlir"]
    done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and "segments" in done.stdout, done.stdout + done.stderr
    log = "".join(path.read_text() for path in tmp_path.glob("log.*"))
    assert "libpe-jit.so" in log and not re.search("libLLVM|libMLIR", log)
