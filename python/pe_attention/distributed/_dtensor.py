"""Implements `pe.attention` for DTensors that are split over batches and heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

from .. import _run
from .._errors import InputError
from .._masks import Mask
from .._prepare import options_of, prepare, results_of, starts_of
from .._run import Call

if TYPE_CHECKING:
    from .._module import Bound, Encoding

_ELSEWHERE = "redistribute it, or use pe.distributed.context_parallel_attention for sequences"
# The axes of a program's arguments that are sharded like a dim of the query.
_DIMS = {"batch": 0, "head": 1, "kv_head": 1}


def attention_of_shards(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                        encoding: Encoding | Bound | None, *, mask: Mask | None,
                        scale: float | None, q_start: int | None, k_start: int, head_start: int,
                        heads_total: int | None, dropout_p: float, sink: torch.Tensor | None,
                        documents: torch.Tensor | None, return_lse: bool,
                        target: str | None) -> Any:
    """Computes `pe.attention` of DTensors with equal placements, and returns DTensors.

    Each rank computes its batches and heads. Parameters may be plain tensors, which must be equal
    on all ranks, or DTensors; their gradients are those of the whole.
    """
    mesh, placements = _checked({"query": query, "key": key, "value": value})
    if dropout_p:
        raise InputError("dropout_p: expected 0 for DTensors, because ranks have separate "
                         f"generators, found {dropout_p}; pass local tensors with head_start")
    starts = starts_of(q_start, k_start, head_start, heads_total)
    if heads_total is not None or head_start:
        raise InputError("head_start, heads_total: expected the defaults for DTensors, whose "
                         "placements determine the heads, found other values; omit them")
    whole = cast(DTensor, query)
    q, k, v = (cast(DTensor, t).to_local(grad_placements=placements) for t in (query, key, value))
    _, offsets = compute_local_shape_and_global_offset(whole.shape, mesh, placements)
    heads = whole.shape[1]
    options = options_of(scale, dropout_p, sink, documents, return_lse)
    ready = prepare(q, k, v, encoding, mask, options, target, heads, sink, documents,
                    of_shards=True)
    split = any(p.is_shard(1) for p in placements)
    call = Call(ready.program.text, ready.target, starts[0], starts[1], int(offsets[1]),
                heads if split else None)
    function = _run.function_of(ready.tensors, call, torch.is_grad_enabled())
    tensors = [*ready.tensors[:3],
               *(_local(tensor, argument.axes, mesh, placements) for argument, tensor in
                 zip(function.arguments[3:], ready.tensors[3:], strict=True))]
    results = results_of(tensors, call)
    empty = torch.empty_strided(whole.shape, whole.stride(), device="meta")
    o = _whole(results[0].to(ready.given), mesh, placements, _run.like(empty, value.shape[3]))
    rows = torch.empty(whole.shape[:3], device="meta")
    return (o, _whole(results[1], mesh, placements, rows)) if return_lse else o


def _checked(tensors: dict[str, torch.Tensor]) -> tuple[Any, tuple[Placement, ...]]:
    """Returns the mesh and the placements that all tensors share."""
    first = tensors["query"]
    assert isinstance(first, DTensor)
    for name, tensor in tensors.items():
        if not isinstance(tensor, DTensor):
            raise InputError(f"{name}: expected a DTensor like query, found a plain tensor; "
                             f"convert query, key and value, or none of them")
        if tensor.device_mesh != first.device_mesh or tensor.placements != first.placements:
            raise InputError(f"{name}: expected the mesh and placements of query, "
                             f"{first.placements}, found {tensor.placements} on "
                             f"{tensor.device_mesh}; {_ELSEWHERE}")
        if tensor.dim() != 4:
            raise InputError(f"{name}: expected [batch, heads, length, depth], found "
                             f"{tensor.dim()} dimensions, {list(tensor.shape)}")
    for placement in first.placements:
        if not (placement.is_replicate() or type(placement) is Shard and placement.dim < 2):
            raise InputError(f"query: expected a DTensor split over batches or heads, Shard(0) or "
                             f"Shard(1), found {placement}; {_ELSEWHERE}")
    ranks = 1
    for size, placement in zip(first.device_mesh.shape, first.placements, strict=True):
        ranks *= size if placement.is_shard(1) else 1
    if tensors["key"].shape[1] % ranks or first.shape[1] % ranks:
        raise InputError(f"key: expected multiples of {ranks} heads for {ranks} ranks, found "
                         f"{tensors['key'].shape[1]} of key and {first.shape[1]} of query")
    return first.device_mesh, first.placements


def _local(tensor: torch.Tensor, axes: Sequence[str | None], mesh: Any,
           placements: Sequence[Placement]) -> torch.Tensor:
    """Returns this rank's part of an argument other than q, k and v. Its gradient is summed over
    the ranks that share it."""
    if not isinstance(tensor, DTensor):
        tensor = DTensor.from_local(tensor, mesh, [Replicate()] * mesh.ndim, run_check=False)
    elif tensor.device_mesh != mesh:
        raise InputError(f"encoding, mask, sink or documents: expected plain tensors or DTensors "
                         f"on the mesh of query, {mesh}, found one on {tensor.device_mesh}")
    dims = [_DIMS.get(axis or "") for axis in axes]
    wanted: list[Placement] = []
    grads: list[Placement] = []
    for placement in placements:
        dim = placement.dim if isinstance(placement, Shard) else None
        if dim is not None and dim in dims and tensor.shape[dims.index(dim)] > 1:
            wanted.append(Shard(dims.index(dim)))
            grads.append(Shard(dims.index(dim)))
        else:
            wanted.append(Replicate())
            grads.append(Replicate() if dim is None else Partial())
    moved = tensor.redistribute(mesh, wanted)
    local: torch.Tensor = moved.to_local(grad_placements=grads)
    return local


def _whole(local: torch.Tensor, mesh: Any, placements: Sequence[Placement],
           like: torch.Tensor) -> DTensor:
    return DTensor.from_local(local, mesh, placements, run_check=False, shape=like.shape,
                              stride=like.stride())
