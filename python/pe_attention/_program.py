"""What a call compiles: the text of a program, and the choices that shape it.

An encoding is a `torch.nn.Module` with `program(mask, options) -> Program` and `arguments()`, its
tensors in the program's order. If it also has an attribute `structure`, the string that
`_assemble.dump` makes of its piece, calls use that instead of `program`, and compiled PyTorch code
is shared by all encodings of one structure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A module in the pe dialect with the function `@attention`; the text is the key of all caches.

    `arguments` names what the function takes beyond q, k and v, in order.
    """

    text: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What `pe.attention` adds to an encoding. Each of them is part of the program's text."""

    scale: float | None = None
    dropout_p: float = 0.0
    sink: bool = False
    documents: bool = False
    return_lse: bool = False
