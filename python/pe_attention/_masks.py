"""Masks: which pairs of a query and a key take part. `&` and `|` join them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._assemble import Piece, restore
from ._errors import InputError

if TYPE_CHECKING:
    import torch


class Mask:
    """A mask. `arguments` are the tensors that its text's arguments stand for, in their order."""

    # The text as a string (`_assemble.dump`), with the one clause `mask(%{...})`. What is made here
    # joins strings and nothing else, so that masks may be made and joined in compiled code too.
    structure: str

    def piece(self) -> Piece:
        return restore(self.structure)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return ()

    def __and__(self, other: Mask) -> Mask:
        return _Joined("mask_and", self, other) if isinstance(other, Mask) else NotImplemented

    def __or__(self, other: Mask) -> Mask:
        return _Joined("mask_or", self, other) if isinstance(other, Mask) else NotImplemented


class _Named(Mask):
    """A mask that is one op without tensors."""

    def __init__(self, text: str, shown: str) -> None:
        self.shown = shown
        self.structure = (f'{{"definitions": "%{{mask}} = {text}", "clauses": ["mask(%{{mask}})"], '
                          f'"arguments": []}}')

    def __repr__(self) -> str:
        return self.shown


class _Joined(Mask):
    def __init__(self, op: str, first: Mask, second: Mask) -> None:
        self.op, self.masks = op, (first, second)
        self.structure = f'["{op}", {first.structure}, {second.structure}]'

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return tuple([value for mask in self.masks for value in mask.arguments()])

    def __repr__(self) -> str:
        return "(" + (" & " if self.op == "mask_and" else " | ").join(map(repr, self.masks)) + ")"


causal: Mask = _Named("pe.causal", "pe.causal")


def sliding_window(left: int | None = None, right: int | None = None) -> Mask:
    """Keys fewer than `left` positions before the query and fewer than `right` behind it.

    With one of them the other side is open: `pe.causal & pe.sliding_window(128)`.
    """
    sides = {"left": left, "right": right}
    given = {name: size for name, size in sides.items() if size is not None}
    if not given:
        raise InputError("sliding_window: expected left, right or both, found neither")
    for name, size in given.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"sliding_window: {name}: expected a whole number of at least 1, "
                             f"found {size!r}")
    # `__float__` makes a constant of a size that PyTorch traces as a symbol.
    given = {name: int(float(size).__float__()) for name, size in given.items()}
    inside = ", ".join(f"{name} = {size}" for name, size in given.items())
    shown = ", ".join(f"{name}={size}" for name, size in given.items())
    return _Named(f"pe.sliding_window {{{inside}}}", f"pe.sliding_window({shown})")
