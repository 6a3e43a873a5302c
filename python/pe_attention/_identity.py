"""Identifies the build of this package.

PyTorch caches compiled graphs on disk. The cache key contains an operator's name and arguments, but
not its implementation: after an upgrade, PyTorch could load a graph with the sizes and saved
tensors of the previous build. Compiled calls therefore carry this string.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from . import _library
from ._version import __version__

_NOTES, _BUILD_ID = 4, 3


@lru_cache(maxsize=1)
def build() -> str:
    """Returns the version and a hash of the sources and libraries."""
    library = _library.path()
    libraries = [library, library.parent / "libpe-jit.so"]
    sources = _library.PACKAGE.rglob("*.py")
    return f"{__version__}-{fingerprint(_library.PACKAGE, sources, libraries)}"


def fingerprint(folder: Path, sources: Iterable[Path], libraries: Iterable[Path]) -> str:
    """Hashes `sources`, including their paths relative to `folder`, and `libraries`. Libraries that
    do not exist are skipped: libpe runs packages without its compiler."""
    digest = hashlib.sha256()
    for source in sorted(sources):
        text = source.read_bytes()
        digest.update(f"{source.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    for library in libraries:
        if library.exists():
            digest.update(f"{library.name} ".encode() + contents(library))
    return digest.hexdigest()[:16]


def contents(library: Path) -> bytes:
    """Returns the build identifier of an ELF file, which is a hash written by the linker, or a hash
    of the file if it has none."""
    with library.open("rb") as file:
        header = file.read(64)
        if header[:6] == b"\x7fELF\x02\x01":  # 64 bits, little-endian
            at, = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            file.seek(at)
            table = file.read(size * count)
            for entry in range(0, size * count, size):
                kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, entry)
                if kind == _NOTES:
                    file.seek(offset)
                    found = _build_id(file.read(length))
                    if found:
                        return found
        file.seek(0)
        return hashlib.file_digest(file, "sha256").digest()


def _build_id(notes: bytes) -> bytes:
    """Returns the GNU build identifier in ELF notes, or b"" if it is missing."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        at += 12
        value = at + (name + 3) // 4 * 4
        if kind == _BUILD_ID and notes[at:at + name] == b"GNU\0":
            return notes[value:value + size]
        at = value + (size + 3) // 4 * 4
    return b""
