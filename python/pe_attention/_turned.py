"""Turns the keys of a cache once, when they are new: rotations with `rotated_keys`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch

from . import _run
from ._assemble import Argument, Piece, assemble
from ._errors import CompileError
from ._explain import program_for
from ._function import Function, get_function
from ._module import Bound, Encoding, Sum
from ._program import Options

if TYPE_CHECKING:
    from ._masks import Mask

# Constraints of docs/spec.md that a rotation violates if its keys cannot be kept turned.
_CANNOT = re.compile(r"\(rotated_keys-C\d\)")

_ROWS = "tensor<?x?xi32>"
_POSITIONS = Piece("", (f"positions(%{{q_pos}}, %{{k_pos}} : {_ROWS}, {_ROWS})",),
                   (Argument("q_pos", _ROWS, ""), Argument("k_pos", _ROWS, "")))


class _GivenTurned(Encoding):
    """States that keys are given turned, so that a rotation turns only the queries."""

    def __init__(self) -> None:
        super().__init__()
        self.define("", "rotated_keys")


class Turned(NamedTuple):
    """An encoding whose rotation turns only queries, and the program that turns keys.

    `of` are the names and the indices of the parameters that this program reads, among the
    arguments of `source`. `placed` is the text of the program with given positions.
    """

    source: Encoding
    encoding: Encoding
    function: Function
    text: str
    placed: str
    of: tuple[tuple[str, int], ...]

    def parameters(self) -> dict[str, torch.Tensor]:
        """Returns the parameters of the rotation by name, in f32."""
        if not self.of:
            return {}
        # Tensors of a call are not read, so their values do not matter.
        given = dict.fromkeys(self.source._data, torch.zeros(1))
        arguments = self.source.own_arguments(given)
        return {name: arguments[index].detach().float() for name, index in self.of}

    def turn(self, keys: torch.Tensor, start: int,
             parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the keys [B, Hkv, n, D] turned, where the first is at position `start`: in the
        type of the kernel's products."""
        # The queries only define the number of their heads.
        tensors = {"q": keys, "k": keys, **parameters}
        return self._turned(self.function, keys, tensors, start)

    def turn_each(self, keys: torch.Tensor, positions: Sequence[int],
                  parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        """Returns the keys [B, Hkv, 1, D] turned, where that of entry b is at `positions[b]`, with
        the bits of `turn`. This holds for one key per entry: `turn` computes the sines of several
        positions from each other, but those of given positions are computed separately."""
        depth, index = keys.shape[3], keys.device.index or 0
        function = get_function(self.placed, self.function.target, depth, depth,
                                _run.NAMES[keys.dtype], False, device=index)
        places = torch.tensor(positions, dtype=torch.int32, device=keys.device).unsqueeze(1)
        return self._turned(function, keys, {"q": keys, "k": keys, "k_pos": places, **parameters})

    def _turned(self, function: Function, keys: torch.Tensor, tensors: dict[str, torch.Tensor],
                start: int = 0) -> torch.Tensor:
        elements = function.tensor("attention_keys").elements
        dtype = keys.dtype if elements == _run.NAMES[keys.dtype] else torch.float32
        rows = _run.prepared(function, "attention_keys", tensors, start, dtype)
        count = keys.numel()
        return (rows if rows.numel() == count else rows[:count]).view(keys.shape)


def rotates(encoding: Encoding) -> bool:
    """Returns whether an encoding rotates keys."""
    return any(clause.startswith("rotate(") for clause in encoding.piece().clauses)


def turned(encoding: Encoding, mask: Mask | None, keys: torch.Tensor, value_dim: int,
           target: str) -> Turned | None:
    """Returns the encoding for keys that are kept turned, or None if their rotation depends on
    more than their positions and parameters: on the number of keys, on tensors of the call, or on
    a prologue before it."""
    piece = encoding.piece()
    kinds = [clause.partition("(")[0] for clause in piece.clauses]
    if "rotate" not in kinds or "prologue" in kinds or "positions" in kinds:
        return None
    rotation = [clause for clause in piece.clauses if clause.startswith("rotate(")]
    depth, dtype = keys.shape[3], _run.NAMES[keys.dtype]
    turning = Piece(piece.definitions, tuple(rotation), piece.arguments)
    text, placed = assemble([turning]).text, assemble([turning, _POSITIONS]).text
    index = keys.device.index or 0
    function = get_function(text, target, depth, depth, dtype, False, device=index)
    names = [argument.name for argument in function.arguments]
    of = tuple((name, names.index(name) - 3) for name in function.tensor("attention_keys").of
               if name != "k")
    if any(piece.arguments[number].name in encoding.needed_data() for _, number in of):
        return None
    whole = Sum(encoding, _GivenTurned())
    try:
        get_function(program_for(whole, mask, Options()).text, target, depth, value_dim, dtype,
                     False, device=index)
    except CompileError as error:
        if _CANNOT.search(str(error)):
            return None
        raise
    return Turned(encoding, whole, function, text, placed, of)


def module_of(encoding: object) -> Encoding | None:
    """Returns the module of an encoding, or None for no encoding and for other objects."""
    if isinstance(encoding, Bound):
        return encoding.encoding
    return encoding if isinstance(encoding, Encoding) else None


def with_data(whole: Encoding, encoding: object) -> Encoding | Bound:
    """Returns `whole` with the tensors that are bound to `encoding`."""
    return Bound(whole, encoding.data) if isinstance(encoding, Bound) else whole
