"""Tests that PyTorch's cached graphs belong to one build of this package."""

from __future__ import annotations

import struct
import uuid
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

import pe_attention as pe
from pe_attention import _identity, _library


def elf(code: bytes, identifier: bytes) -> bytes:
    """Returns a 64-bit library with one segment of notes: another note, then the identifier."""
    notes = struct.pack("<III", 4, 5, 7) + b"pe.\0" + b"other\0\0\0"
    notes += struct.pack("<III", 4, len(identifier), 3) + b"GNU\0" + identifier
    table = struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(notes), len(notes), 4)
    header = b"\x7fELF\x02\x01".ljust(32, b"\0") + struct.pack("<Q", 64)
    return header.ljust(54, b"\0") + struct.pack("<HHIH", 56, 1, 0, 0) + table + notes + code


def test_fingerprint_follows_sources_and_libraries(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    sources = [tmp_path / "b.py", tmp_path / "a" / "c.py"]
    library = tmp_path / "libpe.so"
    for source in sources:
        source.write_text("x = 1\n")
    library.write_bytes(elf(b"code", b"0123456789abcdef"))

    def number() -> str:
        return _identity.fingerprint(tmp_path, sources, [library, tmp_path / "none.so"])

    first = number()
    sources.reverse()
    assert number() == first
    # the linker's identifier represents the contents
    library.write_bytes(elf(b"CODE", b"0123456789abcdef"))
    assert number() == first
    seen = {first}
    library.write_bytes(elf(b"code", b"1123456789abcdef"))
    seen.add(number())
    library.write_bytes(b"no ELF")
    seen.add(number())
    library.write_bytes(b"other")
    seen.add(number())
    sources[0].write_text("x = 2\n")
    seen.add(number())
    assert len(seen) == 5


def test_libraries_have_identifiers() -> None:
    """Otherwise each process would read the whole libraries."""
    libpe = _library.path()
    identifiers = [_identity.contents(path) for path in (libpe, libpe.parent / "libpe-jit.so")]
    assert len(set(identifiers)) == 2 and all(len(found) < 32 for found in identifiers)
    assert _identity.build().startswith(f"{pe.__version__}-")


def test_graphs_of_another_build_are_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(1, 2, 9, 16, requires_grad=True)

    def found_graphs(build: str) -> int:
        monkeypatch.setattr(_identity, "build", lambda: build)
        torch._dynamo.reset()
        counters.clear()
        compiled = torch.compile(lambda: pe.attention(x, x, x, mask=pe.causal), fullgraph=True)
        o = compiled()
        o.backward(torch.ones_like(o))  # graphs without Inductor kernels, to save time
        return int(counters["aot_autograd"]["autograd_cache_hit"])

    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    assert [found_graphs(build) for build in (one, one, two, one)] == [0, 1, 0, 1]
