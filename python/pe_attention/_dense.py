"""Evaluates traced formulas in plain PyTorch, for comparisons and plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from ._activations import ACTIVATIONS
from ._errors import InputError
from ._trace.graph import REAL, TRUTH, Graph, Layers, Node

_OPERATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "neg": torch.neg,
    "abs": torch.abs, "max": torch.maximum, "min": torch.minimum, "pow": torch.pow,
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift,
    "not": torch.logical_not, "select": torch.where, "round": torch.round, "trunc": torch.trunc,
    "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "eq": torch.eq, "ne": torch.ne,
    **{name: getattr(torch, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf", "erfc", "floor",
        "ceil", "copysign")},
}


@dataclass(frozen=True)
class Positions:
    """The positions of a dense bias, as tensors that broadcast to [batch, heads, queries, keys],
    and its type."""

    b: torch.Tensor
    h: torch.Tensor
    i: torch.Tensor
    j: torch.Tensor
    dtype: torch.dtype

    @staticmethod
    def of(batch: int, heads: int, queries: range, keys: range, dtype: torch.dtype,
           device: torch.device | None = None) -> Positions:
        ranges = (range(batch), range(heads), queries, keys)
        limit = 2 ** 30
        if any(r.start < -limit or r.stop > limit for r in ranges):
            raise InputError("dense: expected sizes up to 2^30 and positions in [-2^30, 2^30), "
                             f"found {', '.join(f'[{r.start}, {r.stop})' for r in ranges)} for "
                             "batch, heads, queries and keys")
        shapes = ((-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, -1, 1), (1, 1, 1, -1))
        b, h, i, j = (torch.arange(r.start, r.stop, device=device).reshape(shape)
                      for r, shape in zip(ranges, shapes, strict=True))
        return Positions(b, h, i, j, dtype)

    @property
    def distance(self) -> torch.Tensor:
        """Returns |i - j| as real numbers."""
        return (self.i - self.j).abs().to(self.dtype)


class Evaluation:
    """Evaluates the steps of a graph on tensors. `tensors` maps the names of sources to their
    values."""

    def __init__(self, graph: Graph, inputs: Mapping[str, torch.Tensor],
                 tensors: Mapping[str, torch.Tensor], dtype: torch.dtype) -> None:
        self.graph, self.inputs, self.tensors, self.dtype = graph, inputs, tensors, dtype

    def value(self, result: int) -> torch.Tensor:
        values: dict[int, torch.Tensor] = {}
        for step in self.graph.needed([result]):
            node = self.graph.nodes[step]
            values[step] = self._step(node, [values[n] for n in node.operands])
        return values[result]

    def _step(self, node: Node, operands: Sequence[torch.Tensor]) -> torch.Tensor:
        if node.op == "input":
            return self.inputs[str(node.data)]
        if node.op == "constant":
            kind = self.dtype if node.kind == REAL else torch.bool if node.kind == TRUTH \
                else torch.int64
            device = next(iter(self.inputs.values())).device
            value: Any = node.data
            return torch.tensor(value, dtype=kind, device=device)
        if node.op == "read":
            assert isinstance(node.data, int)
            return self._read(self._source(node.data), operands)
        if node.op == "mlp":
            assert isinstance(node.data, Layers)
            return network(operands[0], operands[1], [self._source(n) for n in node.data.sources],
                           node.data.activation, node.data.final_activation)
        if node.op == "to_real":
            return operands[0].to(self.dtype)
        if node.op == "to_whole":
            return operands[0].to(torch.int64)
        return _OPERATIONS[node.op](*operands)

    def _source(self, number: int) -> torch.Tensor:
        source = self.graph.sources[number]
        tensor = self.tensors[source.name]
        tensor = tensor.to(self.dtype if source.kind == REAL else torch.int64)
        return tensor.flatten() if source.flat else tensor

    @staticmethod
    def _read(tensor: torch.Tensor, indices: Sequence[torch.Tensor]) -> torch.Tensor:
        """Reads one element per pair; an index out of range is clamped."""
        if not indices:
            return tensor
        limited = [index.clamp(0, max(size - 1, 0))
                   for index, size in zip(indices, tensor.shape, strict=True)]
        return tensor[tuple(limited)]


def network(x: torch.Tensor, head: torch.Tensor, layers: Sequence[torch.Tensor],
            activation: str, final_activation: str = "identity") -> torch.Tensor:
    """Returns output `head` of a network with one input. The last layer has a row per head, or one
    row."""
    first, first_bias, *rest = layers
    act, final = ACTIVATIONS[activation], ACTIVATIONS[final_activation]

    def pick(rows: torch.Tensor) -> torch.Tensor:
        return rows[head.clamp(0, len(rows) - 1)]

    if not rest:
        return final(pick(first) * x + pick(first_bias))
    y = act(x[..., None] * first + first_bias)
    for weight, bias in zip(rest[:-2:2], rest[1:-2:2], strict=True):
        y = act(F.linear(y, weight, bias))
    return final((y * pick(rest[-2])).sum(-1) + pick(rest[-1]))


def bucket(difference: torch.Tensor, buckets: int, max_distance: int,
           bidirectional: bool) -> torch.Tensor:
    """Returns T5's bucket of i - j. Logarithms are computed in f32, as in `pe.bucket`."""
    offset = torch.zeros_like(difference)
    if bidirectional:
        buckets //= 2
        offset = (difference < 0).long() * buckets
        distance = difference.abs()
    else:
        distance = difference.clamp(min=0)
    exact = buckets // 2
    scaled = distance.clamp(min=1).float() / exact
    large = exact + (scaled.log() / math.log(max_distance / exact) * (buckets - exact)).long()
    return offset + torch.where(distance < exact, distance, large.clamp(max=buckets - 1))
