"""The wheel: what it holds, what it needs, and that it runs where no LLVM library is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
# What the tag manylinux_2_36 lets a wheel take from the system.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libz.so.1",
           "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


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


def test_libraries_that_it_needs(unpacked: Path) -> None:
    for name in ("lib/libpe.so", "lib/libpe-jit.so", "bin/pe"):
        dump = subprocess.run(["objdump", "-p", str(unpacked / "pe_attention" / name)],
                              capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", dump)) - {"libpe.so.0"}
        assert needed <= ALLOWED, f"{name} needs {needed - ALLOWED}"
        versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", dump)]
        assert max(versions) <= (2, 36), f"{name} needs glibc {max(versions)}"


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
def test_it_compiles_without_libraries_of_llvm(unpacked: Path, tmp_path: Path, order: str) -> None:
    settings = {**os.environ, "PYTHONPATH": str(unpacked), "PE_CACHE_DIR": str(tmp_path / "cache")}
    settings.pop("PE_LIBRARY", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT, order, str(unpacked)], env=settings,
                          cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
