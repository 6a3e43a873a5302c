"""Calls of few queries over the keys of one cache.

The steps of a decoder differ only in the number of keys. Here their checks, programs and
descriptors are those of the first step, and the tables over distances of their biases are kept.
Tables of t entries serve the steps of up to t keys, where t doubles when it is exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from . import _run
from ._cache_rows import Storage
from ._growing import Growing, can_grow, family_of
from ._module import Bound, direct_arguments, view_of
from ._plain import Plain, plain_of
from ._prepare import arguments_of, options_of, prepare, starts_of
from ._run import Call
from ._tables import Tables
from ._tensors import is_seen

if TYPE_CHECKING:
    from ._function import Function
    from ._masks import Mask
    from ._module import Encoding

# With more queries, a table is a small part of the work of a call.
_MOST_QUERIES = 8
_LEAST_ENTRIES = 64
_MOST_KNOWN = 16


class _Last(NamedTuple):
    """The last step, and everything that its checks depend on: the encoding as the cache notes it,
    the mask and its text, the options, and the layouts of tensors other than those of the cache."""

    known: tuple[Any, ...]
    mask: Mask | None
    text: str
    options: dict[str, Any]
    has_lengths: bool
    layout: list[Any]
    step: Growing
    # The arguments of the encoding and the number of queries, for `repeat_directly`; None if it
    # cannot have the results.
    direct: tuple[tuple[str, str, float | None], ...] | None
    queries: int


_is_grad_enabled = torch.is_grad_enabled
_is_autocast_enabled = torch._C._is_any_autocast_enabled


class Steps:
    """The steps of a cache of at most `capacity` rows per sequence, or of any number."""

    def __init__(self, capacity: int | None) -> None:
        self.capacity = capacity
        # None for calls that cannot be repeated with other numbers of keys.
        self._known: dict[tuple[Any, ...], Growing | None] = {}
        self._last: _Last | None = None
        # Views of parameters by their names, with the parameters.
        self._views: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def __reduce__(self) -> tuple[Any, ...]:  # tables are computed again
        return Steps, (self.capacity,)

    def repeat_directly(self, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor,
                        length: int, encoding: Encoding | Bound | None, mask: Mask | None,
                        options: dict[str, Any]) -> Sequence[Any] | None:
        """Returns the results of `repeat` without lengths and rotations if the compiled operator
        has them, or None. The operator compares everything that a check of `attend` depends on.

        This is one function because the code and the data of others are no longer in the
        processor's caches after the keys and values of a step."""
        last = self._last
        if (last is None or last.direct is None or mask is not last.mask or last.has_lengths
                or length < last.queries or options != last.options or _is_grad_enabled()
                or _is_autocast_enabled()):
            return None
        tensors = [q, keys, values]
        if last.known:
            module, data = ((encoding.encoding, encoding.data) if type(encoding) is Bound
                            else (encoding, {}))
            known = last.known
            if (module is not known[0] or module._structure is not known[1]
                    or module._piece is not known[2]):
                return None
            parameters = module._parameters
            for name, view, least in last.direct:
                is_given = name in data
                tensor = data[name] if is_given else parameters.get(name)
                if tensor is None:
                    return None
                if least is not None and not is_given:
                    tensor = tensor.clamp(min=least)
                tensors.append(tensor if view == "same" else self._viewed(name, tensor, view))
        elif encoding is not None:
            return None
        if mask is not None:
            if mask.structure != last.text:
                return None
            tensors += mask.arguments()
        tables = last.step.tables
        if is_seen(tensors) or (tables is not None and length > tables.capacity):
            return None
        return last.step.try_compiled(tensors, length)

    def _viewed(self, name: str, tensor: torch.Tensor, view: str) -> torch.Tensor:
        """Returns `view_of` the tensor, or an earlier result that views the same memory."""
        known = self._views.get(name)
        if (known is None or known[0] is not tensor or known[1].data_ptr() != tensor.data_ptr()
                or known[1].dtype is not tensor.dtype or known[1].numel() != tensor.numel()):
            known = self._views[name] = (tensor, view_of(name, tensor, view))
        return known[1]

    def repeat(self, q: torch.Tensor, rows: Storage, length: int, encoding: Encoding | Bound | None,
               known: tuple[Any, ...], mask: Mask | None, options: dict[str, Any],
               lengths: torch.Tensor | None) -> Sequence[Any] | None:
        """Returns the results of `attend` over the first `length` rows if the call differs from the
        last step only in the values of tensors and the number of keys, else None."""
        last = self._last
        if (last is None or known is not last.known or mask is not last.mask
                or (lengths is not None) is not last.has_lengths or options != last.options):
            return None
        given = [q]
        if encoding is not None:
            given += arguments_of(encoding, False)
        if mask is not None:
            if mask.structure != last.text:
                return None
            given += mask.arguments()
        if is_seen(given):
            return None
        keys, values, pages = rows.pools(length)
        tensors = [q, keys, values, *given[1:]]
        if pages is not None:
            tensors.append(pages)
            length = pages.shape[1] * keys.shape[1]
        if lengths is not None:
            tensors.append(lengths)
        tables = last.step.tables
        if tables is not None and length > tables.capacity:
            return None
        results = last.step.try_compiled(tensors, length)  # which compares layouts
        if results is not None or _layout_of(given) != last.layout:
            return results
        return last.step.run(tensors, length)

    def attend(self, operands: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
               given: Encoding | Bound | None, encoding: Encoding | Bound | None,
               known: tuple[Any, ...], mask: Mask | None, options: dict[str, Any],
               lengths: torch.Tensor | None, pages: torch.Tensor | None) -> Sequence[Any] | None:
        """Returns o and, with `return_lse`, its lse, as `pe.attention` computes them from the
        query, the keys and the values, or None for a call to be left to it. `given` is the encoding
        of the caller, `known` identifies it, and `encoding` is that of turned keys."""
        if operands[0].shape[2] > _MOST_QUERIES or options["sink"] is not None:
            return None
        numbers = (options["scale"], options["return_lse"], options["target"],
                   options["head_start"], options["heads_total"])
        plain = plain_of(*operands, encoding, mask, numbers, lengths, pages)
        checked = None if plain is None or plain.keep else plain.key()
        if plain is None or checked is None:
            return None
        place = None if pages is None else len(plain.tensors) - (1 if lengths is None else 2)
        key = (family_of(checked[0], place), place, *checked[1:])
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
        if known or given is None:
            end = len(plain.tensors) - (pages is not None) - (lengths is not None)
            layout = _layout_of([plain.tensors[0], *plain.tensors[3:end]])
            module, *_, here = known or (None, None)
            direct = () if module is None else None if here else direct_arguments(module)
            self._last = _Last(known, mask, "" if mask is None else mask.structure, options,
                               lengths is not None, layout, step, direct, operands[0].shape[2])
        return step.repeat(plain.tensors, step.keys_of(plain.tensors))

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


def _layout_of(tensors: Sequence[torch.Tensor]) -> list[Any]:
    return [(t.shape, t.stride(), t.dtype, t.device, t.is_neg()) for t in tensors]
