"""Implements `context_parallel_attention`, an attention whose sequence is split over ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .. import _run
from .._arguments import found, is_whole, named
from .._errors import InputError
from .._kinds import HINTS
from .._masks import Mask
from .._prepare import options_of, prepare, program_of, results_of, starts_of
from .._run import Call
from ._gather import Split, gather
from ._group import Group, agree
from ._layout import LAYOUTS, Chunk, chunks_of
from ._parts import Problem
from ._ring import Ring
from ._structure import KEYS, QUERIES, check_ring, kinds_of, structure_of

if TYPE_CHECKING:
    from .._module import Encoding

METHODS = ("ring", "all_gather")


@torch.compiler.disable  # type: ignore[untyped-decorator]
@named(HINTS)
def context_parallel_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        encoding: Encoding | None = None, group: Any = None, method: str = "ring",
        layout: str = "contiguous", *, mask: Mask | None = None, scale: float | None = None,
        head_start: int = 0, heads_total: int | None = None, dropout_p: float = 0.0,
        sink: torch.Tensor | None = None, documents: torch.Tensor | None = None,
        lengths: Sequence[int] | None = None, target: str | None = None) -> torch.Tensor:
    """Computes self-attention over a sequence that is split over the ranks of `group`, and returns
    this rank's rows of the result of `pe.attention` on the whole sequence.

    `query` [B, Hq, S, D], `key` [B, Hkv, S, D] and `value` [B, Hkv, S, E] are this rank's
    positions. In the layout "contiguous" the ranks hold consecutive parts, which may differ in
    length. In "zigzag", rank r of W holds the chunks r and 2 W - 1 - r of 2 W equal chunks, which
    balances the work under a causal mask (see `shard` and `unshard`). `group` is a process group, a
    one-dimensional device mesh, or None for all processes.

    With the method "ring", keys and values are passed from rank to rank during the computation, and
    partial results are merged; pairs of chunks that the mask hides entirely are skipped. With
    "all_gather", every rank holds all keys during the call. The order of all sums is fixed, so
    results are bitwise reproducible.

    Tensors with an axis of keys (`pe.nn.KeyBias`, `k_pos`) or of queries are this rank's part too.
    All other tensors, including parameters, are the same on every rank, and their gradients are
    this rank's share of the sum, as DDP and FSDP expect. `documents` are boundaries in the whole
    sequence. Dropout seeds come from each rank's generator.

    `lengths` are the lengths on all ranks; they avoid the collective call in which the ranks
    otherwise compare their arguments. Raises `InputError`, on all ranks if they compare arguments.

        q, k, v = (pe.distributed.shard(t, layout="zigzag") for t in (q, k, v))
        o = pe.distributed.context_parallel_attention(q, k, v, encoding, layout="zigzag",
                                                      mask=pe.causal)
    """
    ranks = Group(group)
    call, error = None, None
    try:
        call = _prepared(query, key, value, encoding, method, layout, mask, scale, head_start,
                         heads_total, dropout_p, sink, documents, target)
    except Exception as found:
        if lengths is not None:
            raise
        error = found
    if lengths is None:
        device = query.device if isinstance(query, torch.Tensor) else torch.device("cpu")
        lengths = agree(ranks, _facts(call, method, layout), device, error, _WORDS)
    assert call is not None
    split = Split(ranks, _chunks(ranks, lengths, layout, call.tensors[0].shape[2]))
    o = _ring(split, call) if method == "ring" else _all_gather(split, call)
    return o.to(call.given)


class _Prepared(NamedTuple):
    """A call that passed this rank's checks. `given` is the type of its result."""

    tensors: list[torch.Tensor]
    problem: Problem
    given: torch.dtype


def _prepared(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              encoding: Encoding | None, method: str, layout: str, mask: Mask | None,
              scale: float | None, head_start: int, heads_total: int | None, dropout_p: float,
              sink: torch.Tensor | None, documents: torch.Tensor | None,
              target: str | None) -> _Prepared:
    for name, given, known in (("method", method, METHODS), ("layout", layout, LAYOUTS)):
        if not isinstance(given, str) or given not in known:
            raise InputError(f"{name}: expected {' or '.join(map(repr, known))}, found "
                             f"{found(given)}")
    # A ring merges softmax parts by their log-sum-exp, and stick-breaking parts by their mass.
    options = options_of(scale, dropout_p, sink, documents, method == "ring")
    starts = starts_of(0, 0, head_start, heads_total)
    ready = prepare(query, key, value, encoding, mask, options, target, heads_total, sink,
                    documents)
    if query.shape[2] != key.shape[2]:
        raise InputError(f"key: expected {query.shape[2]} positions like query, for "
                         f"self-attention, found {key.shape[2]}")
    # Bidirectional stick-breaking has no second result, so a program for a ring would not compile.
    plain = program_of(encoding, mask, replace(options, return_lse=False))
    structure = structure_of(plain.text)
    if method == "ring":
        check_ring(structure)
    call = Call(ready.program.text, ready.target, *starts)
    records = torch.is_grad_enabled()
    needs = tuple([records and t.requires_grad for t in ready.tensors])
    # A ring on CPUs computes its parts in float32, so that 16-bit results are rounded once, after
    # they are merged. Messages have the type of the tensors.
    dtype = torch.float32 if method == "ring" and ready.target == "cpu" else None
    function = _run.function_of(ready.tensors, call, any(needs), dtype)
    kinds = kinds_of(function, structure)
    for argument, tensor, (kind, axis) in zip(function.arguments, ready.tensors, kinds,
                                              strict=True):
        if kind in (QUERIES, KEYS) and tensor.shape[axis] != query.shape[2]:
            raise InputError(f"{argument.name}: expected this rank's {query.shape[2]} positions, "
                             f"found {tensor.shape[axis]}; pass the part of this rank")
    return _Prepared(ready.tensors, Problem(call, function, structure, kinds, needs), ready.given)


_FACTS = ("length", "method", "layout", "batch", "heads of query", "heads of key", "head dim",
          "value dim", "type", "tensors that require gradients")
_TYPES = tuple(str(dtype).removeprefix("torch.") for dtype in _run.CODES)
# The words for facts that are not numbers.
_WORDS = {"method": METHODS, "layout": LAYOUTS, "type": _TYPES}


def _facts(call: _Prepared | None, method: str, layout: str) -> dict[str, int]:
    """Returns the facts that must be equal on all ranks, and the length."""
    if call is None:
        return dict.fromkeys(_FACTS, 0)
    query, key, value = call.tensors[:3]
    needs = sum(1 << n for n, need in enumerate(call.problem.needs) if need)
    numbers = (query.shape[2], METHODS.index(method), LAYOUTS.index(layout), *query.shape[:2],
               key.shape[1], query.shape[3], value.shape[3],
               list(_run.CODES).index(query.dtype), needs)
    return dict(zip(_FACTS, numbers, strict=True))


def _chunks(ranks: Group, lengths: Sequence[int], layout: str,
            own: int) -> list[tuple[Chunk, ...]]:
    if (not isinstance(lengths, Sequence) or not all(map(is_whole, lengths))
            or len(lengths) != ranks.world or lengths[ranks.rank] != own):
        raise InputError(f"lengths: expected a length for each of {ranks.world} ranks, {own} for "
                         f"rank {ranks.rank}, found {found(lengths)}")
    return chunks_of(lengths, layout)


def _ring(split: Split, call: _Prepared) -> torch.Tensor:
    o: torch.Tensor = Ring.apply(  # type: ignore[no-untyped-call]
        split, call.problem, *call.tensors)
    return o


def _all_gather(split: Split, call: _Prepared) -> torch.Tensor:
    """Computes each chunk of queries against all keys, with one kernel call per chunk."""
    problem, tensors = call.problem, call.tensors
    axes = [axis for kind, axis in problem.kinds if kind == KEYS]
    whole = iter(gather(split, axes, problem.travelling(tensors)))
    every = [next(whole) if kind == KEYS else t
             for t, (kind, _) in zip(tensors, problem.kinds, strict=True)]
    parts = []
    for chunk in split.own:
        given = [t.narrow(axis, chunk.offset, chunk.length) if kind == QUERIES else t
                 for t, (kind, axis) in zip(every, problem.kinds, strict=True)]
        parts.append(results_of(given, problem.call._replace(q_start=chunk.start))[0])
    return parts[0] if len(parts) == 1 else torch.cat(parts, 2)
