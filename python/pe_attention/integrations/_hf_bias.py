"""The biases and sinks that models of transformers pass to their attention: `position_bias` and
`sinks`."""

from __future__ import annotations

import torch

from .._errors import InputError
from .._module import Encoding

# The dimensions of a bias, and their indices in formulas.
AXES = {"batch": "b", "head": "h", "query": "i", "key": "j"}


class OwnBias(Encoding):
    """The relative bias of a T5 model, computed from its table [buckets, heads], which each call
    provides."""

    def __init__(self, buckets: int, max_distance: int, bidirectional: bool) -> None:
        super().__init__()
        both = ", bidirectional = true" if bidirectional else ""
        self.define(f"%{{bucket}} = pe.bucket {{buckets = {buckets}, "
                    f"max_distance = {max_distance}{both}}}\n"
                    f"%{{bias}} = pe.table %{{bucket}}, %{{table}} : tensor<{buckets}x?xf32>",
                    "bias(%{bias})", data={"table": (f"tensor<{buckets}x?xf32>", "")})


class OwnRanks(Encoding):
    """The relative bias of an Inkling model, computed in the kernel from the projected tokens r
    [batch, heads, queries, rank] and the vectors p [rank, extent], which each call provides. The
    rank of the model is padded to a multiple of 8 with zeros."""

    def __init__(self, rank: int, extent: int) -> None:
        super().__init__()
        self.rank = -(-rank // 8) * 8
        rows, table = f"tensor<?x?x?x{self.rank}xf32>", f"tensor<{self.rank}x{extent}xf32>"
        self.define(f"%{{content}} = pe.content_fn(%{{p}} : {table}) extent({extent}) "
                    f'expr "${{p}}[d, i - j]"', "content(%{content})", f"query(%{{r}} : {rows})",
                    data={"p": (table, 'pe.axes = ["rank", "distance"]'),
                          "r": (rows, 'pe.axes = ["batch", "head", "query", "rank"]')})

    def inputs(self, r: torch.Tensor, p: torch.Tensor) -> dict[str, torch.Tensor]:
        """Returns the tensors of a call, with zeros up to this rank."""
        missing = self.rank - p.shape[0]
        if missing:
            r = torch.nn.functional.pad(r, (0, missing))
            p = torch.nn.functional.pad(p, (0, 0, 0, missing))
        return {"p": p.float(), "r": r.float()}


class PairBias(Encoding):
    """A bias per pair, which each call provides with the dimensions `axes` only. It is constant
    along the others, so a broadcast tensor is not expanded."""

    def __init__(self, axes: tuple[str, ...]) -> None:
        super().__init__()
        kind = f"tensor<{'?x' * len(axes)}f32>"
        words = ", ".join(f'"{axis}"' for axis in axes)
        indices = ", ".join(AXES[axis] for axis in axes)
        self.define(f"%{{pairs}} = pe.bias_fn(%{{position_bias}} : {kind}) "
                    f'expr "${{position_bias}}[{indices}]"', "bias(%{pairs})",
                    data={"position_bias": (kind, f"pe.axes = [{words}]")})


class RowSinks(Encoding):
    """A sink for every query and head [batch, heads, queries], which each call provides."""

    def __init__(self) -> None:
        super().__init__()
        kind = "tensor<?x?x?xf32>"
        self.define(f'%{{start}} = pe.sink_fn(%{{sinks}} : {kind}) expr "${{sinks}}[b, h, i]"',
                    "sink(%{start})",
                    data={"sinks": (kind, 'pe.axes = ["batch", "head", "query"]')})


def sinks_of(name: str, sinks: torch.Tensor, sizes: tuple[int, int, int, int]) -> torch.Tensor:
    """Returns sinks [batch, heads, queries, 1] without their last dimension."""
    if tuple(sinks.shape) != (*sizes[:3], 1):
        raise InputError(f"{name}: sinks: expected {[*sizes[:3], 1]} (batch, heads, queries, 1), "
                         f"found {list(sinks.shape)}")
    return sinks[..., 0]


def pairs_of(name: str, bias: torch.Tensor, sizes: tuple[int, int, int, int],
             used: int) -> tuple[tuple[str, ...], torch.Tensor]:
    """Returns the axes of a bias that broadcasts to `sizes` (batch, heads, queries, keys), and the
    bias with these dimensions only. Keys from `used` on are unused rows of a cache."""
    shape = (1,) * (4 - bias.dim()) + tuple(bias.shape)
    if len(shape) > 4 or any(n not in (1, size) for n, size in zip(shape, sizes, strict=True)):
        raise InputError(f"{name}: position_bias: expected a shape that broadcasts to "
                         f"{list(sizes)} (batch, heads, queries, keys), found {list(bias.shape)}")
    if not bias.dtype.is_floating_point:
        raise InputError(f"{name}: position_bias: expected a floating type, found {bias.dtype}; "
                         f"pass a mask as attention_mask")
    kept = [n == size for n, size in zip(shape, sizes, strict=True)]
    bias = bias.reshape(shape)[..., :used]
    if not any(kept):
        bias, kept[3] = bias.expand(-1, -1, -1, used), True
    bias = bias.reshape([n for n, keep in zip(bias.shape, kept, strict=True) if keep])
    return tuple(axis for axis, keep in zip(AXES, kept, strict=True) if keep), bias
