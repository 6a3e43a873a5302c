"""Gathers sequences from shards, and splits sequences into shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .._arguments import checked
from .._errors import InputError
from ._group import Group, agree
from ._layout import Chunk, chunks_of, in_order
from ._parcel import Parcel, resized


class Split(NamedTuple):
    """The distribution of a sequence over the ranks of a group."""

    group: Group
    chunks: list[tuple[Chunk, ...]]

    @property
    def own(self) -> tuple[Chunk, ...]:
        return self.chunks[self.group.rank]

    def length(self, rank: int) -> int:
        return sum(chunk.length for chunk in self.chunks[rank])

    def longest(self) -> int:
        return max(map(self.length, range(self.group.world)))


def parcel_of(tensors: Sequence[torch.Tensor], axes: Sequence[int], length: int,
              dtypes: Sequence[torch.dtype] | None = None) -> Parcel:
    """Returns a parcel of these tensors with another length."""
    return Parcel([resized(t.shape, axis, length) for t, axis in zip(tensors, axes, strict=True)],
                  dtypes or [t.dtype for t in tensors])


class Gather(torch.autograd.Function):
    """Gathers tensors that are split along `axes`. In the backward pass each rank receives the sum
    of all ranks' gradients of its shard, added in the order of the ranks."""

    @staticmethod
    def forward(ctx: Any, split: Split, axes: Sequence[int], *shards: torch.Tensor) -> Any:
        ctx.split, ctx.axes = split, axes
        group, longest = split.group, split.longest()
        own = split.length(group.rank)
        parcel = parcel_of(shards, axes, longest)  # of equal size on all ranks
        buffer = parcel.zeros(shards[0].device)
        for view, shard, axis in zip(parcel.views(buffer), shards, axes, strict=True):
            view.narrow(axis, 0, own).copy_(shard)
        arrived = [parcel.views(found) for found in group.gather(buffer)]
        return tuple([
            torch.cat([arrived[rank][number].narrow(axis, chunk.offset, chunk.length)
                       for rank, chunk in in_order(split.chunks)], axis)
            for number, axis in enumerate(axes)])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        wanted = [n for n, needed in enumerate(ctx.needs_input_grad[2:]) if needed]
        result: list[torch.Tensor | None] = [None] * len(gradients)
        sums = _sum_of_shards(ctx.split, [ctx.axes[n] for n in wanted],
                              [gradients[n] for n in wanted])
        for n, gradient in zip(wanted, sums, strict=True):
            result[n] = gradient
        return None, None, *result


def _sum_of_shards(split: Split, axes: Sequence[int],
                   gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns this rank's shards of whole gradients, summed over the ranks."""
    group, longest = split.group, split.longest()
    parcel = parcel_of(gradients, axes, longest)
    parts = torch.zeros((group.world, parcel.size), dtype=torch.uint8, device=gradients[0].device)
    for rank, chunks in enumerate(split.chunks):
        for view, gradient, axis in zip(parcel.views(parts[rank]), gradients, axes, strict=True):
            for chunk in chunks:
                view.narrow(axis, chunk.offset, chunk.length).copy_(
                    gradient.narrow(axis, chunk.start, chunk.length))
    arrived = [parcel.views(row) for row in group.exchange(parts)]
    sums = []
    for number, (gradient, axis) in enumerate(zip(gradients, axes, strict=True)):
        wide = torch.promote_types(gradient.dtype, torch.float32)
        total = arrived[0][number].to(wide)
        for other in arrived[1:]:
            total = total + other[number]
        sums.append(total.narrow(axis, 0, split.length(group.rank)).to(gradient.dtype))
    return sums


def gather(split: Split, axes: Sequence[int],
           shards: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    whole: tuple[torch.Tensor, ...] = Gather.apply(  # type: ignore[no-untyped-call]
        split, tuple(axes), *shards)
    return whole


@checked()
def shard(tensor: torch.Tensor, group: Any = None, *, layout: str = "contiguous",
          dim: int = 2) -> torch.Tensor:
    """Returns this rank's part of a tensor along `dim`, for `context_parallel_attention` with the
    same layout. Every rank passes the whole tensor. On W ranks, `layout="zigzag"` requires a
    multiple of 2 W positions; otherwise, if W does not divide the length, the first ranks get one
    more position.

        tokens = pe.distributed.shard(tokens, group, layout="zigzag", dim=1)
    """
    ranks = Group(group)
    axis = _axis(tensor, dim)
    length, world = tensor.shape[axis], ranks.world
    if layout == "zigzag" and length % (2 * world):
        raise InputError(f"tensor: expected a length that is a multiple of {2 * world} for "
                         f"'zigzag' on {world} ranks, found {length}; pad it, or use "
                         f"layout='contiguous'")
    lengths = [length // world + (rank < length % world) for rank in range(world)]
    own = chunks_of(lengths, layout)[ranks.rank]
    return torch.cat([tensor.narrow(axis, chunk.start, chunk.length) for chunk in own], axis)


@checked()
def unshard(tensor: torch.Tensor, group: Any = None, *, layout: str = "contiguous",
            dim: int = 2) -> torch.Tensor:
    """Gathers a tensor that is split along `dim`; the inverse of `shard`. In the backward pass each
    rank receives the sum of all ranks' gradients of its part.

        logits = pe.distributed.unshard(logits, group, layout="zigzag", dim=1)
    """
    ranks = Group(group)
    axis = _axis(tensor, dim)
    lengths = agree(ranks, {"length": tensor.shape[axis], "dimensions": tensor.dim()},
                    tensor.device, None)
    split = Split(ranks, chunks_of(lengths, layout))
    return gather(split, [axis], [tensor])[0]


def _axis(tensor: torch.Tensor, dim: int) -> int:
    if not -tensor.dim() <= dim < tensor.dim():
        raise InputError(f"dim: expected a dimension of a tensor of {tensor.dim()}, found {dim}")
    return dim % tensor.dim()
