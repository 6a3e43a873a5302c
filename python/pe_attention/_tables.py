"""Tables over distances that are prepared once and serve every call over a growing cache.

The table of a bias such as T5's has an entry per distance. By default every call computes it for
its number of keys. Here it is computed once for `capacity` keys, and calls with the same number of
queries and at most as many keys read it (`_growing.Growing`):

    tables = Tables.of(function, [query, key, value, *parameters], call, capacity=4096)
    step = Growing.with_tables(function, [query, key, value, *parameters], call, tables)
    for ...:  # key and value have one more row each time
        (o,) = step.run([query, key, value, *parameters], key.shape[2])

The results have the same bits as without tables. The last query is at the last key, as by default.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch

from . import _library, _run
from ._dtypes import CODES
from ._errors import InputError
from ._function import Function, View
from ._run import Call

CAPACITY = "capacity"  # the view of this name has no data; its shape is the capacity

_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


class _Source:
    """A parameter that tables depend on, and the bytes that it had when they were computed.
    Versions of tensors are not enough: `parameter.data.mul_(2)` and other processes change none,
    and tensors of inference mode have none."""

    def __init__(self, index: int, tensor: torch.Tensor) -> None:
        self.index, self.copy = index, tensor.detach().contiguous().clone()
        self.address, self.bytes = self.copy.data_ptr(), self.copy.nbytes

    def update(self, other: _Source) -> None:
        """Takes the bytes of another tensor with the same layout. The address stays."""
        ctypes.memmove(self.address, other.address, self.bytes)

    def is_same(self, tensor: torch.Tensor) -> bool:
        if not tensor.is_contiguous():
            tensor = tensor.contiguous()
        return not _compare(tensor.data_ptr(), self.address, self.bytes)


class Tables:
    """The tables of a function for calls with the sizes, the scalars and the parameters of one
    call, and at most `capacity` keys."""

    def __init__(self, function: Function, tensors: Sequence[torch.Tensor], call: Call,
                 capacity: int) -> None:
        if call.q_start is not None:
            raise InputError(f"q_start: expected None in a call with tables for a capacity, in "
                             f"which the last query is at the last key, found {call.q_start}; "
                             f"omit it")
        self.function, self.call, self.capacity = function, call, capacity
        wanted = [table for table in function.prepared if table.holds_for_all_keys]
        sizes = self.sizes(tensors)
        if sizes["c"] > capacity:
            raise InputError(f"key: expected at most {capacity} keys, the capacity of the tables, "
                             f"found {sizes['c']}; prepare tables for more")
        self.names = tuple(table.name for table in wanted)
        self.tensors = [torch.empty(table.shape_in(sizes), dtype=torch.uint8) for table in wanted]
        names = {name for table in wanted for name in table.of}
        self._indices = [index for index, argument in enumerate(function.arguments)
                         if argument.name in names]
        self._sources: list[_Source] = []
        self._fill(tensors)

    @staticmethod
    def of(function: Function, tensors: Sequence[torch.Tensor], call: Call,
           capacity: int) -> Tables | None:
        """Computes the tables of calls with the number of queries, the heads and the parameters of
        `tensors`: query, key, value and the other arguments, and lengths after them if calls have
        lengths. The keys may be any number up to `capacity`; their data is not read. Returns None
        if no bias of the function has a table over distances."""
        if not any(table.holds_for_all_keys for table in function.prepared):
            return None
        return Tables(function, tensors, call, capacity)

    def follow(self, tensors: Sequence[torch.Tensor]) -> None:
        """Computes the tables again if a parameter that they depend on has changed. Keys and values
        may have more rows than the capacity."""
        for source in self._sources:
            if not source.is_same(tensors[source.index]):
                query, key, value, *rest = tensors
                has_pages = self.function.arguments[1].shape[2] != "c"
                if not has_pages and key.shape[2] > self.capacity:
                    key, value = [each.narrow(2, 0, self.capacity) for each in (key, value)]
                self._fill([query, key, value, *rest])
                return

    def sources(self) -> list[tuple[int, int, int]]:
        """Returns the argument, the address and the number of the bytes that the tables were
        computed from, for each parameter that they depend on. The addresses stay."""
        return [(source.index, source.address, source.bytes) for source in self._sources]

    def sizes(self, tensors: Sequence[torch.Tensor]) -> dict[str, Any]:
        """Returns the sizes of a call with these tables."""
        return self.function.sizes([tensor.shape for tensor in tensors],
                                   {**self.call.numbers(), CAPACITY: self.capacity})

    def view(self) -> View:
        """Returns the view that gives the capacity."""
        return CODES["u8"], (self.capacity,), (1,)

    def _fill(self, tensors: Sequence[torch.Tensor]) -> None:
        function = self.function
        arguments = _run.described_arguments(function, tensors)
        given = [*tensors, *self.tensors]
        names = [*[argument.name for argument in arguments], *self.names]
        views = function.views(_library.PREPARE, (*names, CAPACITY))

        def describe() -> list[View]:
            expected = [*arguments, *map(function.tensor, self.names)]
            return [*_run.describe_views(names, expected, given, self.sizes(tensors)), self.view()]

        key = (_run.layout_of(given), self.capacity, *self.call[2:6])
        sources = [_Source(index, tensors[index]) for index in self._indices]
        views.run(key, describe, [*_run.addresses(names, given), 0], self.call.scalars(),
                  _run.place_of(tensors[0]))
        if not self._sources:
            self._sources = sources
        for old, new in zip(self._sources, sources, strict=True):
            old.update(new)
