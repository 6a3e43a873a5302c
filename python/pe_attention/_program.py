"""Programs: the text that a call compiles, and the options that affect it.

An encoding is a `torch.nn.Module` with `program(mask, options) -> Program` and `arguments()`, which
returns its tensors in the program's order. If it also has an attribute `structure`, the string that
`_assemble.dump` returns for its piece, calls use that instead of `program`, and all encodings of
equal structure share compiled PyTorch code.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A module in the pe dialect with the function `@attention`; its text is the key of all caches.

    `arguments` are the names of the function's arguments after q, k and v, in order.
    """

    text: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """The options of `pe.attention` that are part of the program's text."""

    scale: float | None = None
    dropout_p: float = 0.0
    sink: bool = False
    documents: bool = False
    return_lse: bool = False
    # Keys and values are pages of a pool, read through the last argument of the program.
    pages: bool = False
