"""Implements `from_mlir`: encodings from programs in the pe dialect."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ._arguments import OUTSIDE, checked
from ._assemble import Argument, Piece, dump, piece_of
from ._declare import Declaration, Init, Size
from ._errors import CompileError, InputError
from ._function import get_function
from ._masks import Mask
from ._module import Encoding, kind_of, view_of
from ._program import Options, Program

_WORDS: dict[str, Size] = {"head": "heads", "kv_head": "heads", "depth": "depth",
                           "value_depth": "value_depth"}


class _TextMask(Mask):
    def __init__(self, piece: Piece) -> None:
        self.structure = dump(piece)


class TextEncoding(Encoding):
    """The encoding of a program: its bias, rotation, score and mask, with its parameters."""

    def __init__(self, text: str, file: str, heads: int | None, head_dim: int | None,
                 value_dim: int | None, sizes: Mapping[str, int]) -> None:
        super().__init__(heads, head_dim, value_dim)
        info = _described(text, file)
        self.text, self.file = text, file
        _check_sizes(info["arguments"][3:], sizes)
        data: list[str] = []
        for parameter in info["arguments"][3:]:
            declaration = declared(parameter, sizes)
            if declaration is None:
                data.append(parameter["name"])
            else:
                self.declare(parameter["name"], declaration)
        self._data = tuple(data)
        self._names = tuple(parameter["name"] for parameter in info["arguments"][3:])
        pieces = info["pieces"]
        encoding = piece_of(pieces["encoding"])
        mask = None if pieces["mask"] is None else piece_of(pieces["mask"])
        self._mask = None if mask is None else _TextMask(mask)
        masked = mask.arguments if mask else ()
        self._mask_order = tuple((a.name, self._kind(a)) for a in masked)
        self._set(encoding, [(a.name, self._kind(a)) for a in encoding.arguments])

    def _kind(self, argument: Argument) -> str:
        declaration = self.declarations.get(argument.name)
        if declaration is not None and declaration.as_number:
            return "number"
        return kind_of(argument.type)

    def own_masks(self) -> tuple[Mask, ...]:
        mask: Mask | None = getattr(self, "_mask", None)
        return () if mask is None else (mask,)

    def mask_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        return tuple([view_of(name, data[name] if name in data else self.parameter(name), kind)
                      for name, kind in self._mask_order])

    def _assemble(self, mask: Mask | None, options: Options) -> Program:
        ordered = [name for name, _ in (*self._order, *self._mask_order)]
        if mask is None and options == Options() and ordered == list(self._names):
            return Program(self.text, self._names)  # keeps the line numbers of errors
        return super()._assemble(mask, options)


def _described(text: str, file: str) -> dict[str, Any]:
    """Returns the description of a program. The reference describes it without compiling it,
    whatever its head dims are."""
    info = get_function(text, "reference", 64, 64, "f32", False, file or "program").info
    first = [argument["name"] for argument in info["arguments"][:3]]
    if info["pieces"] is None:
        raise CompileError(f"from_mlir: expected a program with one pe.attention, found "
                           f"{len(info['attentions'])}", file)
    if first != ["q", "k", "v"]:
        raise CompileError(f"from_mlir: expected q, k and v as the first arguments, found "
                           f"{', '.join(first)}", file)
    return info


def _check_sizes(arguments: list[dict[str, Any]], sizes: Mapping[str, int]) -> None:
    axes = sorted({axis for argument in arguments for axis in argument["axes"]
                   if axis is not None and axis not in (*_WORDS, "batch", "query", "key")})
    for name, size in sizes.items():
        if name not in axes:
            raise InputError(f"sizes: expected names of axes of the program "
                             f"({', '.join(axes) or 'it has none'}), found {name!r}")
        if type(size) is not int or size < 1:
            raise InputError(f"sizes: expected an integer of at least 1 for {name!r}, found "
                             f"{size!r}")


def declared(parameter: dict[str, Any], sizes: Mapping[str, int]) -> Declaration | None:
    """Returns the declaration of a parameter, or None for an argument that every call provides."""
    axes = parameter["axes"]
    if (parameter["init"] is None or parameter["dtype"] != "f32"
            or {"batch", "query", "key"} & set(axes)):
        return None
    shape: list[Size] = []
    for size, axis in zip(parameter["shape"], axes, strict=True):
        if size.isdecimal():
            shape.append(int(size))
        elif axis in _WORDS:
            shape.append(_WORDS[axis])
        elif axis in sizes:
            shape.append(sizes[axis])
        else:
            raise InputError(f"from_mlir: {parameter['name']}: expected the size of its axis "
                             f"'{axis}'; write sizes={{'{axis}': 16}}")
    init: Init = parameter["init"]
    with contextlib.suppress(ValueError):  # a rule such as "normal(1)"
        init = float(parameter["init"])
    return Declaration(tuple(shape) or (1,), init, parameter["min"], parameter["decay"],
                       as_number=not shape)


@checked(least={"heads": 1, "head_dim": 1, "value_dim": 1}, outside=OUTSIDE)
def from_mlir(text_or_path: str | Path, heads: int | None = None, *, head_dim: int | None = None,
              value_dim: int | None = None, sizes: Mapping[str, int] | None = None) -> TextEncoding:
    """Creates an encoding from a program in the pe dialect, given as text or as the path of a
    `.mlir` file.

    Arguments with `pe.init` become parameters. `heads`, `head_dim` and `value_dim` are their sizes
    along axes of heads and depths; `sizes` maps the other names in `pe.axes` to sizes. All other
    arguments are tensors that calls provide: `pe.attention(q, k, v, encoding(f=f))`. A mask of the
    program belongs to the encoding and is combined with the mask of the call. Raises `CompileError`
    for a text that is not a valid program with one attention.
    """
    if not isinstance(text_or_path, (str, Path)):
        raise InputError(f"from_mlir: expected the text of a program or the path of a file, found "
                         f"{type(text_or_path).__name__}")
    text, file = str(text_or_path), ""
    if isinstance(text_or_path, Path) or ("\n" not in text and "func.func" not in text):
        file = text
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise _unreadable(file, error) from None
    return TextEncoding(text, file, heads, head_dim, value_dim, sizes or {})


def _unreadable(file: str, error: Exception) -> CompileError:
    """Returns the error for a path that cannot be read or a name that is not a file."""
    if isinstance(error, UnicodeDecodeError):
        return CompileError("from_mlir: expected text in the pe dialect, found a binary file",
                            file)
    if "/" in file or file.endswith(".mlir"):
        return CompileError(f"from_mlir: cannot read the file: "
                            f"{getattr(error, 'strerror', error)}", file)
    advice = ""
    if file:
        name = file.replace("_", "").lower()
        from . import nn

        known = max((c for c in nn.__all__ if name.startswith(c.lower())), key=len, default="")
        advice = f"; the encoding of this name is pe.nn.{known}" if known else ""
    return CompileError(f"from_mlir: expected the text of a program or the path of a .mlir file, "
                        f"found the name {file!r}{advice}")
