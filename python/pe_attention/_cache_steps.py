"""Calls of few queries over the keys of one cache.

The steps of a decoder differ only in the number of keys. Here their checks, programs and
descriptors are those of the first step, and the tables over distances of their biases are kept.
Tables of t entries serve the steps of up to t keys, where t doubles when it is exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from . import _run
from ._growing import Growing, can_grow, family_of
from ._plain import Plain, plain_of
from ._prepare import options_of, prepare, starts_of
from ._run import Call
from ._tables import Tables

if TYPE_CHECKING:
    from ._function import Function
    from ._masks import Mask
    from ._module import Bound, Encoding

# With more queries, a table is a small part of the work of a call.
_MOST_QUERIES = 8
_LEAST_ENTRIES = 64
_MOST_KNOWN = 16


class Steps:
    """The steps of a cache of at most `capacity` rows per sequence, or of any number."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        # None for calls that cannot be repeated with other numbers of keys.
        self._known: dict[tuple[Any, ...], Growing | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:  # tables are computed again
        return Steps, (self.capacity,)

    def attend(self, operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
               encoding: Encoding | Bound | None, mask: Mask | None, options: dict[str, Any],
               lengths: torch.Tensor | None, pages: torch.Tensor | None) -> Sequence[Any] | None:
        """Returns o and, with `return_lse`, its lse, as `pe.attention` computes them from the
        query, the keys and the values, or None for a call to be left to it."""
        if operands[0].shape[2] > _MOST_QUERIES or options["sink"] is not None:
            return None
        numbers = (options["scale"], options["return_lse"], options["target"],
                   options["head_start"], options["heads_total"])
        plain = plain_of(*operands, encoding, mask, numbers, lengths, pages)
        if plain is None or plain.keep:
            return None
        place = None if pages is None else len(plain.tensors) - (1 if lengths is None else 2)
        key = (family_of(plain.key[0], place), place, lengths is None, *plain.key[1:])
        try:
            step = self._known[key]
        except KeyError:
            step = self._learn(key, plain, encoding, mask, options, lengths, pages)
        except TypeError:  # not a number
            return None
        if step is None:
            return None
        if step.tables is not None and step.keys_of(plain.tensors) > step.tables.capacity:
            step = self._known[key] = self._made(step.function, plain.tensors, step.call)
        return step.run(plain.tensors)

    def _learn(self, key: tuple[Any, ...], plain: Plain, encoding: Encoding | Bound | None,
               mask: Mask | None, options: dict[str, Any], lengths: torch.Tensor | None,
               pages: torch.Tensor | None) -> Growing | None:
        """Checks the first step and returns it, or None if it cannot be repeated."""
        starts = starts_of(None, 0, options["head_start"], options["heads_total"])
        chosen = options_of(options["scale"], 0.0, None, None, options["return_lse"])
        query, keys, values = plain.tensors[:3]
        ready = prepare(query, keys, values, encoding, mask,
                        replace(chosen, pages=pages is not None), options["target"],
                        options["heads_total"], None, None, pages=pages)
        tensors = [*ready.tensors, *([] if lengths is None else [lengths])]
        call = Call(ready.program.text, ready.target, *starts)
        function = _run.function_of(tensors, call, False)
        are_converted = [t.dtype for t in tensors] != [t.dtype for t in plain.tensors]
        step = None
        if not are_converted and can_grow(function, call):
            step = self._made(function, tensors, call)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = step
        return step

    def _made(self, function: Function, tensors: Sequence[torch.Tensor], call: Call) -> Growing:
        """Returns a step with tables for twice its number of keys, or less."""
        sizes = _run.sizes_of(function, tensors, call)
        keys, page = sizes["c"], sizes.get("page", 1)
        entries = max(_LEAST_ENTRIES, 1 << (keys - 1).bit_length())
        if self.capacity is not None:
            entries = max(keys, min(entries, self.capacity))
        tables = Tables.of(function, tensors, call, -(-entries // page) * page)
        return Growing.with_tables(function, tensors, call, tables)
