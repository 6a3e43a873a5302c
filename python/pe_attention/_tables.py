"""Tables over distances that are prepared once and serve every call over a growing cache.

The table of a bias such as T5's has an entry per distance. By default every call computes it for
its number of keys. Here it is computed once for `capacity` keys, and calls with the same number of
queries and at most as many keys read it:

    tables = prepare([query, key, value, *parameters], call, capacity=4096)
    for ...:  # key and value have one more row each time
        (o,) = forward([query, key, value, *parameters], call, tables)

The results have the same bits as without tables. Neither the parameters nor `k_start` minus the
position of the last query may differ: the last query is at the last key, as by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from . import _library, _run
from ._dtypes import CODES
from ._errors import InputError
from ._function import Function, Tensor, View
from ._run import Call

_CAPACITY = "capacity"  # the view of this name has no data; its shape is the capacity


class Tables(NamedTuple):
    """Prepared tables of a function, in the order of `names`, for calls of `queries` queries and at
    most `capacity` keys. There are none if no bias of the function has a table over distances."""

    function: Function
    capacity: int
    queries: int
    names: tuple[str, ...]
    tensors: list[torch.Tensor]


def prepare(tensors: Sequence[torch.Tensor], call: Call, capacity: int) -> Tables:
    """Computes the tables of calls with the number of queries, the heads and the parameters of
    `tensors`: query, key, value and the other arguments, and lengths after them if calls have
    lengths. The keys may be any number up to `capacity`; their data is not read."""
    function = _run.function_of(tensors, call, False)
    _check(tensors, call, capacity)
    wanted = [t for t in function.prepared if t.holds_for_all_keys]
    sizes = _sizes(function, tensors, call, capacity)
    made = [torch.empty(t.shape_in(sizes), dtype=torch.uint8, device=tensors[0].device)
            for t in wanted]
    tables = Tables(function, capacity, int(tensors[0].shape[2]), tuple(t.name for t in wanted),
                    made)
    if made:
        _run_half(_library.PREPARE, tensors, call, tables, [], [])
    return tables


def forward(tensors: Sequence[torch.Tensor], call: Call, tables: Tables) -> list[torch.Tensor]:
    """Returns the results of a call that reads the tables, without gradients. Errors: more keys
    than the capacity, another number of queries, a given `q_start`, or another function than that
    of the tables."""
    function = _run.function_of(tensors, call, False)
    if function is not tables.function:
        raise InputError("tables: expected those of this encoding, mask, head dim and type, found "
                         "tables of another function; prepare new ones")
    _check(tensors, call, tables.capacity)
    if tensors[0].shape[2] != tables.queries:
        raise InputError(f"query: expected length {tables.queries}, which the tables were prepared "
                         f"for, found {tensors[0].shape[2]}; prepare tables for it")
    outputs = _run.allocate_forward(function, tensors, call, False)
    _run_half(_library.FORWARD, tensors, call, tables, outputs, function.results)
    return outputs


def _check(tensors: Sequence[torch.Tensor], call: Call, capacity: int) -> None:
    if call.q_start is not None:
        raise InputError(f"q_start: expected None in a call with tables for a capacity, in which "
                         f"the last query is at the last key, found {call.q_start}; omit it")
    keys = tensors[1].shape[2]
    if keys > capacity:
        raise InputError(f"key: expected at most {capacity} keys, the capacity of the tables, "
                         f"found {keys}; prepare tables for more")


def _sizes(function: Function, tensors: Sequence[torch.Tensor], call: Call,
           capacity: int) -> dict[str, Any]:
    return function.sizes([t.shape for t in tensors], {**call.numbers(), _CAPACITY: capacity})


def _run_half(half: int, tensors: Sequence[torch.Tensor], call: Call, tables: Tables,
              outputs: list[torch.Tensor], described: list[Tensor]) -> None:
    function = tables.function
    arguments = _run.described_arguments(function, tensors)
    given = [*tensors, *outputs, *tables.tensors]
    names = [*[t.name for t in (*arguments, *described)], *tables.names]
    views = function.views(half, (*names, _CAPACITY))

    def describe() -> list[View]:
        expected = [*arguments, *described, *[function.tensor(name) for name in tables.names]]
        sizes = _sizes(function, tensors, call, tables.capacity)
        return [*_run.describe_views(names, expected, given, sizes),
                (CODES["u8"], (tables.capacity,), (1,))]

    key = (_run.layout_of(given), tables.capacity, *call[2:6])
    views.run(key, describe, [*_run.addresses(names, given), 0], call.scalars(),
              _run.place_of(tensors[0]))
