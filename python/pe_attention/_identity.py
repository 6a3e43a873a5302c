"""Which build of this package runs.

PyTorch keeps compiled graphs on disk. Their key holds an operator's name and arguments, but not
what the operator does: after an upgrade, a graph could be found whose sizes, or whose tensors kept
for backward, are those of the package before. So compiled calls carry this string.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from . import __version__, _library

_NOTES, _BUILD_ID = 4, 3


@lru_cache(maxsize=1)
def build() -> str:
    """The version, and a number for the contents of the sources and libraries."""
    library = _library.path()
    libraries = [library, library.parent / "libpe-jit.so"]
    sources = _library.PACKAGE.rglob("*.py")
    return f"{__version__}-{fingerprint(_library.PACKAGE, sources, libraries)}"


def fingerprint(folder: Path, sources: Iterable[Path], libraries: Iterable[Path]) -> str:
    """A number for the text of `sources`, by their names below `folder`, and for `libraries`; one
    that does not exist (libpe runs packages without its compiler) counts as none."""
    digest = hashlib.sha256()
    for source in sorted(sources):
        text = source.read_bytes()
        digest.update(f"{source.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    for library in libraries:
        if library.exists():
            digest.update(f"{library.name} ".encode() + contents(library))
    return digest.hexdigest()[:16]


def contents(library: Path) -> bytes:
    """What stands for the contents of an ELF file: the identifier that its linker wrote, which
    hashes them, or their hash."""
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
    """The GNU build identifier among ELF notes, empty if there is none."""
    at = 0
    while at + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, at)
        at += 12
        value = at + (name + 3) // 4 * 4
        if kind == _BUILD_ID and notes[at:at + name] == b"GNU\0":
            return notes[value:value + size]
        at = value + (size + 3) // 4 * 4
    return b""
