"""Finds the step of a formula that first produces a non-finite value, for the notes of a check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._dense import Evaluation, Positions
from ._formula import FormulaEncoding, FormulaMask
from ._masks import Mask
from ._module import Bound, Sum
from ._trace.graph import REAL, Graph, Node

if TYPE_CHECKING:
    from ._module import Encoding

# Batch, heads, queries, keys, q_start and k_start.
Sizes = tuple[int, int, int, int, int | None, int]


class _Watched(Evaluation):
    """An evaluation that stores the value of every step."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.steps: list[tuple[Node, Sequence[torch.Tensor], torch.Tensor]] = []

    def _step(self, node: Node, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        result = super()._step(node, operands)
        self.steps.append((node, operands, result))
        return result


def _parts(encoding: Encoding | Bound | None) -> Iterator[FormulaEncoding]:
    module = encoding.encoding if isinstance(encoding, Bound) else encoding
    for part in module.parts() if isinstance(module, Sum) else (module,):
        if isinstance(part, FormulaEncoding):
            yield part


def _positions(at: Sizes) -> Positions:
    batch, heads, queries, keys, q_start, k_start = at
    first = k_start + keys - queries if q_start is None else q_start
    return Positions.of(batch, heads, range(first, first + queries), range(k_start, k_start + keys),
                        torch.float64)


def _allowed(encoding: Encoding | Bound | None, mask: Mask | None, where: Positions,
             at: Sizes) -> torch.Tensor:
    """Returns the pairs that take part, as far as masks can be evaluated in Python."""
    i, j = where.i, where.j
    allowed = ((i >= 0) & (j >= 0)).expand(*at[:4])
    own = [m for part in _parts(encoding) for m in part.own_masks()]
    for one in [*own, *([mask] if mask is not None else [])]:
        known = _mask(one, where, at)
        allowed = allowed if known is None else allowed & known
    return allowed


def _mask(mask: Mask, where: Positions, at: Sizes) -> torch.Tensor | None:
    """Returns a mask as a boolean tensor, or None if it cannot be evaluated in Python."""
    parts = getattr(mask, "masks", None)
    if parts:
        one, two = (_mask(part, where, at) for part in parts)
        both = getattr(mask, "op", "") == "mask_and"
        if one is None or two is None:
            return (two if one is None else one) if both else None
        return one & two if both else one | two
    if isinstance(mask, FormulaMask):
        return mask.dense(at[2], at[3], q_start=int(where.i.min()), k_start=at[5], batch=at[0],
                          heads=at[1])
    return where.j <= where.i if repr(mask) == "pe.causal" else None


def _evaluate(part: FormulaEncoding, where: Positions) -> Iterator[tuple[Graph, _Watched]]:
    inputs = {"b": where.b, "h": where.h, "i": where.i, "j": where.j,
              "score": torch.zeros((), dtype=where.dtype)}
    tensors = {name: part.parameter(name).detach() for name, _ in part._order}
    for step in (part.parts.score, part.parts.bias):
        if step is not None:
            watched = _Watched(part.graph, inputs, tensors, where.dtype)
            watched.value(step)
            yield part.graph, watched


def first_not_finite(encoding: Encoding | Bound | None, mask: Mask | None, at: Sizes) -> list[str]:
    """Describes the first step of a formula that produces a non-finite value from finite ones."""
    where = _positions(at)
    allowed = _allowed(encoding, mask, where, at)
    with torch.no_grad():
        for part in _parts(encoding):
            for _, watched in _evaluate(part, where):
                for node, operands, result in watched.steps:
                    if node.kind != REAL or node.op in ("constant", "read", "select"):
                        continue
                    finite = torch.ones((), dtype=torch.bool)
                    for operand in operands:
                        finite = finite & operand.isfinite()
                    bad = ((~result.isfinite()) & finite).expand(*at[:4]) & allowed
                    if bad.any():
                        return [_where(part.name, node, operands, result, bad, where)]
    return []


def _where(name: str, node: Node, operands: Sequence[torch.Tensor], result: torch.Tensor,
           bad: torch.Tensor, where: Positions) -> str:
    pair = [int(n) for n in bad.nonzero()[0]]

    def at(tensor: torch.Tensor) -> float:
        return float(tensor.expand(bad.shape)[tuple(pair)])

    values = ", ".join(f"{at(operand):g}" for operand in operands)
    place = f"{node.place.file}:{node.place.line}:{node.place.column}: " if node.place else ""
    return (f"{place}{name}: {node.op} of {values} is {at(result):g} at {_pair(pair, where)}, and "
            f"not finite at {int(bad.sum()) - 1} more pairs")


def _pair(pair: Sequence[int], where: Positions) -> str:
    b, h, r, c = pair
    i, j = int(where.i.flatten()[r]), int(where.j.flatten()[c])
    return f"b = {b}, h = {h}, i = {i}, j = {j}"
