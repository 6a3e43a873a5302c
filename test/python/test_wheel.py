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
# The system libraries and symbol versions that the tag manylinux_2_34 allows. RHEL 9 has exactly
# these versions of glibc and libstdc++, Ubuntu 22.04 has newer ones.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libz.so.1",
           "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0),
          "ZLIB": (1, 2, 9)}


@pytest.fixture(scope="module")
def wheel() -> Path:
    given = os.environ.get("PE_WHEEL")
    found = [Path(given)] if given else sorted((ROOT / "dist").glob("*.whl"))
    if not found:
        pytest.fail("there is no wheel in dist/; `make python` builds it")
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
    assert wheel.name.endswith("-py3-none-manylinux_2_34_x86_64.whl")
    assert wheel.stat().st_size <= 35 << 20
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = archive.read(next(n for n in names if n.endswith("/RECORD"))).decode()
    wanted = ["__init__.py", "py.typed", "lib/libpe.so", "lib/libpe-jit.so", "lib/libpe-ptx.so",
              "lib/libpe-ptx-command.so", "lib/libpe-ptx-cuda.so", "lib/libpe-torch.so",
              "bin/pe", "examples/encodings/alibi.mlir"]
    assert all(f"pe_attention/{name}" in names for name in wanted)
    assert len(record.splitlines()) == len(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith((".a", ".so.0"))]


def binaries(unpacked: Path) -> list[Path]:
    """Returns the libraries and programs of the wheel."""
    return [path for path in sorted(unpacked.rglob("*"))
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


def dynamic_symbols(binary: Path) -> list[str]:
    """Returns the lines of objdump about exported symbols and symbols of other libraries."""
    return subprocess.run(["objdump", "-T", str(binary)], capture_output=True, text=True,
                          check=True).stdout.splitlines()


def test_required_libraries(unpacked: Path) -> None:
    found = binaries(unpacked)
    assert [path.name for path in found] == ["pe", "libpe-jit.so", "libpe-ptx-command.so",
                                             "libpe-ptx-cuda.so", "libpe-ptx.so", "libpe-torch.so",
                                             "libpe.so"]
    for binary in found:
        dump = subprocess.run(["objdump", "-p", str(binary)], capture_output=True, text=True,
                              check=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", dump)) - {"libpe.so.0", "libpe-ptx.so"}
        assert needed <= ALLOWED, f"{binary.name} needs {needed - ALLOWED}"


def test_required_symbol_versions(unpacked: Path) -> None:
    """A symbol that is too new gets a replacement in runtime/core/OlderSystems.cpp."""
    too_new = []
    for binary in binaries(unpacked):
        required = [match.groups() for line in dynamic_symbols(binary)
                    if (match := re.search(r"\b([A-Z]+)_([\d.]+)\)?\s+(\S+)$", line))]
        assert "GLIBC" in {kind for kind, _, _ in required}, binary
        too_new += [f"{binary.name}: {symbol} ({kind}_{version})"
                    for kind, version, symbol in required
                    if tuple(map(int, version.split("."))) > NEWEST.get(kind, ())]
    assert not too_new


def test_replacements_of_system_functions_are_not_exported(unpacked: Path) -> None:
    """Otherwise other libraries in the process could call them."""
    for binary in binaries(unpacked):
        exported = [line.split()[-1] for line in dynamic_symbols(binary)
                    if " g " in line and "*UND*" not in line]
        assert not [name for name in exported
                    if name == "arc4random" or name.startswith("_ZNSt18condition_variable")]


def test_the_compiler_library_exports_one_function(unpacked: Path) -> None:
    """Otherwise it could interfere with another LLVM in the process."""
    lines = [line for line in dynamic_symbols(unpacked / "pe_attention" / "lib" / "libpe-jit.so")
             if " g " in line and "*UND*" not in line]
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


def test_the_program_executes_ptx(unpacked: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ptx.md").read_text()
    kernel = tmp_path / "add.ptx"
    kernel.write_text(page[page.index(".version"):page.index("\n}\n") + 3])
    done = subprocess.run([unpacked / "pe_attention" / "bin" / "pe", "ptx", "check", kernel],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "add: 19 instructions" in done.stdout, done.stderr
