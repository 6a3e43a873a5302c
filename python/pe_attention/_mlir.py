"""Implements `from_mlir`: encodings from programs in the pe dialect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch

from ._arguments import OUTSIDE, checked
from ._assemble import Argument, Piece, dump
from ._declare import Declaration, Init, Size
from ._errors import CompileError, InputError
from ._masks import Mask
from ._mlir_text import Parameter, parse
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
        parsed = parse(text, file)
        self.text, self.file = text, file
        data: list[str] = []
        for parameter in parsed.parameters:
            declaration = declared(parameter, sizes)
            if declaration is None:
                data.append(parameter.name)
            else:
                self.declare(parameter.name, declaration)
        self._data = tuple(data)
        self._names = tuple(parameter.name for parameter in parsed.parameters)
        self._mask = None if parsed.mask is None else _TextMask(parsed.mask)
        masked = parsed.mask.arguments if parsed.mask else ()
        self._mask_order = tuple((a.name, self._kind(a)) for a in masked)
        order = [(a.name, self._kind(a)) for a in parsed.encoding.arguments]
        self._set(parsed.encoding, order)

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


def declared(parameter: Parameter, sizes: Mapping[str, int]) -> Declaration | None:
    """Returns the declaration of a parameter, or None for an argument that every call provides."""
    init = re.search(r'pe\.init = ("([^"]*)"|[^,}]+)', parameter.attributes)
    match = re.fullmatch(r"tensor<((?:[0-9?]+x)*)f32>", parameter.type)
    axes = re.findall(r'"(\w+)"', (re.search(r"pe\.axes = \[([^\]]*)\]", parameter.attributes)
                                   or [""])[0])
    if init is None or match is None or {"batch", "query", "key"} & set(axes):
        return None
    written = match[1].split("x")[:-1]
    words = axes or ["head"] * len(written)
    shape: list[Size] = []
    for size, word in zip(written, words, strict=True):
        if size != "?":
            shape.append(int(size))
        elif word in _WORDS:
            shape.append(_WORDS[word])
        elif word in sizes:
            shape.append(sizes[word])
        else:
            raise InputError(f"from_mlir: {parameter.name}: expected the size of its axis "
                             f"'{word}'; write sizes={{'{word}': 16}}")
    least = re.search(r"pe\.min = ([^,}]+)", parameter.attributes)
    value: Init = init[2] if init[2] is not None else float(init[1])
    decay = re.search(r"pe\.decay = (true|false)", parameter.attributes)
    decays = decay[1] == "true" if decay else len(shape) > 1
    return Declaration(tuple(shape) or (1,), value, float(least[1]) if least else None, decays,
                       as_number=not shape)


@checked(least={"heads": 1, "head_dim": 1, "value_dim": 1}, outside=OUTSIDE)
def from_mlir(text_or_path: str | Path, heads: int | None = None, *, head_dim: int | None = None,
              value_dim: int | None = None, sizes: Mapping[str, int] | None = None) -> TextEncoding:
    """Creates an encoding from a program in the pe dialect, given as text or as the path of a
    `.mlir` file.

    Arguments with `pe.init` become parameters. `heads`, `head_dim` and `value_dim` are their sizes
    along axes of heads and depths; `sizes` maps the other names in `pe.axes` to sizes. All other
    arguments are tensors that calls provide: `pe.attention(q, k, v, encoding(f=f))`. A mask of the
    program belongs to the encoding and is combined with the mask of the call.
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
