"""Repeats forward calls on the CPU whose layouts are equal, or differ only in the number of keys.

Every step of a decoder has another layout, so nothing that is cached by layout serves it. Here the
descriptors of the first call are kept, and the following calls only set the sizes and strides of
keys and values, or of the table of their pages.
"""

from __future__ import annotations

import weakref
from array import array
from collections.abc import Sequence
from typing import Any

import torch

from . import _library, _repeats, _run
from ._function import LENGTHS, Function, _view_words, _words_of, _workspaces
from ._library import CONTEXT, MAX_RANK, VIEW_WORDS
from ._run import Call, Forward, Layout
from ._tables import CAPACITY, Tables

_SHAPE = 3  # the index of the shape in the words of a view, which strides follow
# The indices of the numbers of keys and of values among the words of a call.
_KEY_ROWS, _VALUE_ROWS = VIEW_WORDS + _SHAPE + 2, 2 * VIEW_WORDS + _SHAPE + 2
_PAGES = ["b", "ceildiv(c,page)"]  # the shape of the table of pages


def family_of(layout: Layout, pages: int | None = None) -> tuple[Any, ...] | None:
    """Returns the layout of a call without the number of keys and the strides that depend on it,
    or None for tensors that are not keys and values of equal length. `pages` is the index of the
    table of pages, if there is one."""
    query, key, value, *rest = layout
    if len(key[0]) != 4 or len(value[0]) != 4:
        return None
    if pages is not None:
        shape, _, dtype = layout[pages]
        pools = [(shape[1:], strides, dtype) for shape, strides, dtype in (key, value)]
        return (query, *pools, *layout[3:pages], (shape[0], dtype), *layout[pages + 1:])
    if key[0][2] != value[0][2]:
        return None
    parts = [(shape[:2], shape[3], strides[2:], dtype) for shape, strides, dtype in (key, value)]
    return (query, *parts, *rest)


class Growing:
    """A forward call without gradients, to be repeated with other numbers of keys, at most the
    capacity of `tables` if it reads any; or, with `exact`, with the same number."""

    BLOCK = 512  # workspaces are queried for multiples of this number of keys

    def __init__(self, function: Function, call: Call, outputs: Layout, names: Sequence[str],
                 words: array[int], tables: Tables | None = None, exact: bool = False) -> None:
        self.function, self.call, self.outputs, self.tables = function, call, outputs, tables
        self.words = words
        self.scalars = _words_of(tuple([(name, int(value)) for name, value in call.scalars()]))
        has_lengths = LENGTHS.name in names and not function.has_argument(LENGTHS.name)
        self.lengths = names.index(LENGTHS.name) if has_lengths else None
        self.pages = _pages_of(function)
        # The indices and the ranks of the tensors whose shapes and strides differ between calls.
        self.varying = [] if exact else [(1, 4), (2, 4)]
        if not exact and self.pages is not None:
            self.varying.append((self.pages, 2))
        # The number of keys of the call is one of the words, unless a table of pages gives it.
        self.has_keys = self.pages is None and not exact
        # Without PREPARE, a call reads the tables that it is given and computes all others.
        self.halves = _library.FORWARD | (0 if tables else _library.PREPARE)
        self.kept = [*[table.data_ptr() for table in tables.tensors], 0] if tables else []
        self.sizes: dict[int, int] = {}
        self.family: int | None = None  # of the compiled operator; None before the first call
        # `empty_like` is the fastest allocation.
        shape, strides, _ = outputs[0]
        at, end = _SHAPE + MAX_RANK, len(shape)
        self.is_like_query = (function.results[0].name == "o"
                              and words[_SHAPE:_SHAPE + end].tolist() == list(shape)
                              and words[at:at + end].tolist() == list(strides))
        self.others = outputs[1:] if self.is_like_query else outputs
        self.run_of_library = _library.library().pe_run
        # The arguments of pe_run that are the same in every call, before and after the views.
        self.before = (function.handle, self.halves)
        self.after = (len(words) // VIEW_WORDS, self.scalars.buffer_info()[0],
                      len(self.scalars) // 2)

    @staticmethod
    def of(function: Function, call: Call, forward: Forward, exact: bool = False) -> Growing | None:
        """Returns an earlier call, or None if other tensors depend on the number of keys, or if
        unaligned tensors are copied."""
        words = forward.views.words_of(forward.key)
        if words is None or call.target != "cpu" or not (exact or can_grow(function, call)):
            return None
        return Growing(function, call, forward.outputs, forward.views.names, words, exact=exact)

    @staticmethod
    def with_tables(function: Function, tensors: Sequence[torch.Tensor], call: Call,
                    tables: Tables | None) -> Growing:
        """Returns a call that reads the tables. `can_grow` must be true for it."""
        outputs = _run.allocate_forward(function, tensors, call, False)
        described = [*_run.described_arguments(function, tensors), *function.results]
        given = [*tensors, *outputs]
        if tables is not None:
            described += map(function.tensor, tables.names)
            given += tables.tensors
        sizes = tables.sizes(tensors) if tables else _run.sizes_of(function, tensors, call)
        names = [each.name for each in described]
        views = _run.describe_views(names, described, given, sizes)
        if tables is not None:
            names.append(CAPACITY)
            views.append(tables.view())
        words = array("q")
        for name, view in zip(names, views, strict=True):
            words.extend(_view_words(name, 0, view))
        return Growing(function, call, _run.layout_of(outputs), names, words, tables)

    def keys_of(self, tensors: Sequence[torch.Tensor]) -> int:
        """Returns the number of keys of a call, with all rows of the last pages."""
        key = tensors[1].shape
        return key[2] if self.pages is None else key[1] * tensors[self.pages].shape[1]

    def repeat(self, tensors: list[torch.Tensor], keys: int) -> list[torch.Tensor] | None:
        """Returns the results of `run`, by the compiled operator if it can repeat the call."""
        results = self.try_compiled(tensors, keys)
        return self.run(tensors, keys) if results is None else results

    def try_compiled(self, tensors: list[torch.Tensor], keys: int) -> list[torch.Tensor] | None:
        """Returns the results of the compiled operator, or None if it cannot repeat the call, or if
        tensors other than keys and values differ in their layouts."""
        if self.family is None:
            self.family = _repeats.family_of(self, tensors)
            weakref.finalize(self, _repeats.forget, self.family).atexit = False
        if self.family == 0:
            return None
        return _repeats.results_of(self.family, tensors, keys if self.has_keys else -1)

    def compared(self, tensors: Sequence[torch.Tensor]) -> list[tuple[int, int, int]] | None:
        """Returns the sources of the tables, or None if one of them is not contiguous: then only
        `run` can compare it."""
        sources = [] if self.tables is None else self.tables.sources()
        return sources if all([tensors[index].is_contiguous() for index, *_ in sources]) else None

    def run(self, tensors: Sequence[torch.Tensor], keys: int) -> list[torch.Tensor] | None:
        """Returns the results for the first `keys` rows of keys and values, or, with pages, all
        rows of the pages in the table. Returns None if tensors are not aligned."""
        query = tensors[0]
        outputs = [torch.empty_strided(shape, strides, dtype=dtype)
                   for shape, strides, dtype in self.others]
        if self.is_like_query:
            outputs.insert(0, torch.empty_like(query))
        pointers = [tensor.data_ptr() for tensor in tensors]
        pointers += [output.data_ptr() for output in outputs]
        low = 0
        for pointer in pointers:
            low |= pointer
        if low & 15 or 0 in pointers:
            return None
        if self.tables is not None:
            self.tables.follow(tensors)
        words = self.words[:]
        words[1::VIEW_WORDS] = array("q", pointers + self.kept)
        for index, rank in self.varying:
            tensor, at = tensors[index], index * VIEW_WORDS + _SHAPE
            words[at:at + rank] = array("q", tensor.shape)
            words[at + MAX_RANK:at + MAX_RANK + rank] = array("q", tensor.stride())
        if self.has_keys:
            words[_KEY_ROWS] = words[_VALUE_ROWS] = keys
        self._run(words, keys, _run.place_of(query).pool)
        return outputs

    def _run(self, words: array[int], keys: int, pool: int) -> None:
        block = -(-keys // self.BLOCK)
        size = self.sizes.get(block)
        if size is None:
            size = self.sizes[block] = self._workspace_of_block(words, block * self.BLOCK)
        if self.lengths is not None and size > _workspaces.KEPT:
            size = self.function.workspace(self.halves, words)
        error = self._try(words, size, pool)
        if error is None:
            return
        # Workspaces of fewer keys may be larger, for example if the rows are copied.
        exact = self.function.workspace(self.halves, words)
        if exact <= size:
            raise error
        self.sizes[block] = exact
        error = self._try(words, exact, pool)
        if error is not None:
            raise error

    def _try(self, words: array[int], size: int, pool: int) -> Exception | None:
        workspace, keep = _workspaces.get(size) if size else (0, None)
        context = CONTEXT.pack(CONTEXT.size, workspace, size, 0, pool, 0)
        failed = self.run_of_library(*self.before, words.buffer_info()[0], *self.after, context)
        del keep
        return _library.last_error() if failed else None

    def _workspace_of_block(self, words: array[int], keys: int) -> int:
        words = words[:]
        if self.tables is not None:
            keys = min(keys, self.tables.capacity)
        if self.has_keys:
            words[_KEY_ROWS] = words[_VALUE_ROWS] = keys
        elif self.varying and self.pages is not None:
            page = words[VIEW_WORDS + _SHAPE + 1]
            words[self.pages * VIEW_WORDS + _SHAPE + 1] = -(-keys // page)
        if self.lengths is not None:
            words[self.lengths * VIEW_WORDS + 1] = 0  # for any lengths
        return self.function.workspace(self.halves, words)


def can_grow(function: Function, call: Call) -> bool:
    """Returns whether calls of the function can be repeated with other numbers of keys."""
    pages = _pages_of(function)
    arguments = [argument for index, argument in enumerate(function.arguments[3:], 3)
                 if index != pages]
    sizes = [size for tensor in (*arguments, *function.results) for size in tensor.shape]
    return call.target == "cpu" and all(map(_is_independent, sizes))


def _pages_of(function: Function) -> int | None:
    """Returns the index of the table of pages among the arguments."""
    return next((index for index, argument in enumerate(function.arguments)
                 if argument.shape == _PAGES), None)


def _is_independent(size: str) -> bool:
    """Returns whether a size is that of a dimension other than the number of keys, or a number."""
    return size in ("b", "hq", "hkv", "r", "d", "e") or size.isdecimal()
