"""Ring attention: keys travel around a ring of ranks, in the forward and the backward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from .. import _run
from ._gather import Split, parcel_of
from ._layout import Chunk
from ._parcel import Parcel
from ._parts import Part, Problem, Rows, cotangents, gradients
from ._structure import KEYS, QUERIES

_KEYS_TAG, _GRADIENTS_TAG = 0, 1


class Ring(torch.autograd.Function):
    """In step s, rank r holds the keys of rank r - s. Parts are merged in the order of the steps.
    Gradients of keys travel with the keys, and each rank adds its contribution."""

    @staticmethod
    def forward(ctx: Any, split: Split, problem: Problem, *own: torch.Tensor) -> Any:
        rows = [Rows(problem, chunk) for chunk in split.own]
        for source, travelling in _rounds(split, problem, own):
            for number, keys in _blocks(split, problem, source):
                rows[number].add(own, travelling, keys, source)
        o = _run.like(own[0], own[2].shape[3], problem.type_of_o)
        for row in rows:
            place = o.narrow(2, row.queries.offset, row.queries.length)
            result = row.finish()
            if result is None:
                place.zero_()
            else:
                place.copy_(result)
        if problem.keeps:
            _save(ctx, split, problem, own, o, rows)
        return o

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, d_o: torch.Tensor) -> Any:
        split, problem = ctx.split, ctx.problem
        own, rows, merged = _restore(ctx)
        given = []
        for chunk, parts in zip(split.own, rows, strict=True):
            d_rows = d_o.narrow(2, chunk.offset, chunk.length).to(problem.type_of_parts)
            given.append(cotangents(problem, parts, d_rows))
        sums = _Sums(problem, own)
        carried = _Carried(split, problem, own)
        for source, travelling in _rounds(split, problem, own):
            carried.start(source)
            for number, (chunk, parts) in enumerate(zip(split.own, rows, strict=True)):
                for part, cotangent in zip(parts, given[number], strict=True):
                    if part.source != source:
                        continue
                    found = gradients(problem, own, travelling, chunk, part, merged[number],
                                      cotangent)
                    sums.add(found, chunk)
                    carried.add(found, part.keys)
            carried.pass_on()
        return None, None, *sums.finish(carried.finish())


def _rounds(split: Split, problem: Problem,
            own: Sequence[torch.Tensor]) -> Iterator[tuple[int, list[torch.Tensor]]]:
    """Yields each rank's tensors of keys, starting with this rank's. The next ones are received
    while the current ones are used."""
    group = split.group
    current = problem.travelling(own)
    axes = [axis for kind, axis in problem.kinds if kind == KEYS]
    message = parcel_of(current, axes, split.length(group.rank)).pack(current) \
        if group.world > 1 else None
    for step in range(group.world):
        source = (group.rank - step) % group.world
        if message is None or step + 1 == group.world:
            yield source, current
            continue
        coming = parcel_of(current, axes, split.length((source - 1) % group.world))
        pending = group.pass_on(message, coming.empty(own[0].device), _KEYS_TAG)
        yield source, current
        message = pending.wait()
        current = coming.views(message)


def _blocks(split: Split, problem: Problem, source: int) -> Iterator[tuple[int, Chunk]]:
    """Yields the pairs of a chunk of this rank's queries and a chunk of the source's keys, except
    pairs that the mask hides entirely."""
    for number, queries in enumerate(split.own):
        for keys in split.chunks[source]:
            if problem.structure.sees(queries, keys):
                yield number, keys


# --- Between forward and backward --------------------------------------------


def _save(ctx: Any, split: Split, problem: Problem, own: Sequence[torch.Tensor], o: torch.Tensor,
          rows: Sequence[Rows]) -> None:
    """Passes all tensors to autograd, which frees them and applies saved-tensor hooks."""
    tensors = [*own, o]
    for row in rows:
        tensors += [log.to(row.type_of_logs) for log in row.logs.values()]
        for part in row.parts:
            tensors += part.kept.values()
    ctx.save_for_backward(*tensors)
    ctx.split, ctx.problem = split, problem
    ctx.rows = [(tuple(row.logs), [(Part(part.keys, part.source, part.is_first), tuple(part.kept))
                                   for part in row.parts]) for row in rows]


def _restore(ctx: Any) \
        -> tuple[list[torch.Tensor], list[list[Part]], list[dict[str, torch.Tensor]]]:
    """Returns the arguments and, for each chunk of queries, its parts and merged results."""
    count = len(ctx.problem.kinds)
    tensors = iter(ctx.saved_tensors)
    own = [next(tensors) for _ in range(count)]
    o = next(tensors)
    rows, merged = [], []
    for chunk, (logs, parts) in zip(ctx.split.own, ctx.rows, strict=True):
        whole = {name: next(tensors) for name in logs}
        if logs:
            whole["o"] = o.narrow(2, chunk.offset, chunk.length)
        merged.append(whole)
        rows.append([Part(part.keys, part.source, part.is_first,
                          {name: next(tensors) for name in names}) for part, names in parts])
    return own, rows, merged


# --- Sums of gradients -------------------------------------------------------


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


class _Sums:
    """Gradients of tensors that stay on this rank: of queries by rows, of others as a whole."""

    def __init__(self, problem: Problem, own: Sequence[torch.Tensor]) -> None:
        self.problem, self.own = problem, own
        self.sums = {n: torch.zeros_like(own[n], dtype=_wide(own[n].dtype))
                     for n, need in enumerate(problem.needs)
                     if need and problem.kinds[n][0] != KEYS}

    def add(self, found: Sequence[torch.Tensor | None], queries: Chunk) -> None:
        for n, total in self.sums.items():
            kind, axis = self.problem.kinds[n]
            place = total.narrow(axis, queries.offset, queries.length) if kind == QUERIES else total
            gradient = found[n]
            assert gradient is not None
            place.add_(gradient)

    def finish(self, carried: dict[int, torch.Tensor]) -> list[torch.Tensor | None]:
        every = {**self.sums, **carried}
        return [every[n].to(tensor.dtype) if n in every else None
                for n, tensor in enumerate(self.own)]


class _Carried:
    """Gradients of the tensors that travel. They follow these: each rank adds its contribution and
    passes the sum on, and the last rank sends it to the owner."""

    def __init__(self, split: Split, problem: Problem, own: Sequence[torch.Tensor]) -> None:
        self.split = split
        self.numbers = [n for n, (kind, _) in enumerate(problem.kinds)
                        if kind == KEYS and problem.needs[n]]
        self.axes = [problem.kinds[n][1] for n in self.numbers]
        self.own = [own[n] for n in self.numbers]
        self.pending: Any = None

    def _parcel(self, source: int) -> Parcel:
        return parcel_of(self.own, self.axes, self.split.length(source),
                         [_wide(t.dtype) for t in self.own])

    def start(self, source: int) -> None:
        """Starts with the keys of a rank."""
        if not self.numbers:
            return
        self.source, self.parcel = source, self._parcel(source)
        self.buffer = self.parcel.zeros(self.own[0].device)
        self.views = self.parcel.views(self.buffer)

    def add(self, found: Sequence[torch.Tensor | None], keys: Chunk) -> None:
        for n, axis, view in zip(self.numbers, self.axes, getattr(self, "views", ()), strict=True):
            gradient = found[n]
            assert gradient is not None
            view.narrow(axis, keys.offset, keys.length).add_(gradient)

    def pass_on(self) -> None:
        """Adds the sum of the previous ranks and sends the result to the next one."""
        if not self.numbers:
            return
        if self.pending is not None:
            for view, before in zip(self.views, self.parcel.views(self.pending.wait()),
                                    strict=True):
                view.add_(before)
        if self.split.group.world > 1:
            coming = self._parcel((self.source - 1) % self.split.group.world)
            self.pending = self.split.group.pass_on(
                self.buffer, coming.empty(self.own[0].device), _GRADIENTS_TAG)

    def finish(self) -> dict[int, torch.Tensor]:
        if not self.numbers:
            return {}
        if self.pending is not None:
            own = self._parcel(self.split.group.rank)
            self.views = own.views(self.pending.wait())
        return dict(zip(self.numbers, self.views, strict=True))
