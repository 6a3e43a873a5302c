"""Repeats forward calls on the CPU whose layouts differ only in the number of keys, as in decoding.

Every step of a decoder has another layout, so nothing that is cached by layout serves it. Here the
descriptors of the first call are kept, and the following calls only set the lengths and strides
of keys and values.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import torch

from . import _library, _run
from ._function import LENGTHS, Function, _words_of, _workspaces
from ._library import CONTEXT, MAX_RANK, VIEW_WORDS
from ._run import Call, Forward, Layout

_KEYS = (1, 2)  # the indices of keys and values among the tensors of a call
_SHAPE = 3  # the index of the shape in the words of a view, which strides follow
# Workspaces are queried for multiples of this number of keys.
_BLOCK = 512


def family_of(layout: Layout) -> tuple[Any, ...] | None:
    """Returns the layout of a call without the number of keys and the strides that depend on it,
    or None for tensors that are not keys and values of equal length."""
    query, key, value, *rest = layout
    if len(key[0]) != 4 or len(value[0]) != 4 or key[0][2] != value[0][2]:
        return None
    parts = [(shape[:2], shape[3], strides[2:], dtype) for shape, strides, dtype in (key, value)]
    return (query, *parts, *rest)


class Growing:
    """A forward call without gradients, to be repeated with other numbers of keys."""

    def __init__(self, function: Function, call: Call, forward: Forward, words: array[int]) -> None:
        self.function, self.outputs, self.results = function, forward.outputs, forward.results
        self.words = words
        self.scalars = call.scalars()
        names = forward.views.names
        has_lengths = LENGTHS.name in names and not function.has_argument(LENGTHS.name)
        self.lengths = names.index(LENGTHS.name) if has_lengths else None
        self.sizes: dict[int, int] = {}

    @staticmethod
    def of(function: Function, call: Call, forward: Forward) -> Growing | None:
        """Returns the call, or None if other tensors depend on the number of keys, or if unaligned
        tensors are copied."""
        others = [size for tensor in (*function.arguments[3:], *function.results)
                  for size in tensor.shape]
        words = forward.views.words_of(forward.key)
        if words is None or call.target != "cpu" or not all(map(_is_independent, others)):
            return None
        return Growing(function, call, forward, words)

    def run(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
        """Returns the results, or None if tensors are not aligned."""
        outputs = [torch.empty_strided(shape, strides, dtype=dtype)
                   for shape, strides, dtype in self.outputs]
        pointers = [tensor.data_ptr() for tensor in (*tensors, *outputs)]
        low = 0
        for pointer in pointers:
            low |= pointer
        if low & 15 or 0 in pointers:
            return None
        keys = tensors[1].shape[2]
        words = self.words[:]
        words[1::VIEW_WORDS] = array("q", pointers)
        for index in _KEYS:
            at = index * VIEW_WORDS + _SHAPE
            words[at + 2] = keys
            words[at + MAX_RANK:at + MAX_RANK + 4] = array("q", tensors[index].stride())
        self._run(words, len(pointers), keys, _run.place_of(tensors[0]).pool)
        return outputs

    def _run(self, words: array[int], count: int, keys: int, pool: int) -> None:
        block = -(-keys // _BLOCK)
        size = self.sizes.get(block)
        if size is None:
            size = self.sizes[block] = self._workspace_of_block(words, block * _BLOCK)
        if self.lengths is not None and size > _workspaces.KEPT:
            size = self.function.workspace(_library.FORWARD | _library.PREPARE, words)
        error = self._try(words, count, size, pool)
        if error is None:
            return
        # Workspaces of fewer keys may be larger, for example if the rows are copied.
        exact = self.function.workspace(_library.FORWARD | _library.PREPARE, words)
        if exact <= size:
            raise error
        self.sizes[block] = exact
        error = self._try(words, count, exact, pool)
        if error is not None:
            raise error

    def _try(self, words: array[int], count: int, size: int, pool: int) -> Exception | None:
        workspace, keep = _workspaces.get(size) if size else (0, None)
        given = _words_of(tuple(self.scalars))
        context = CONTEXT.pack(CONTEXT.size, workspace, size, 0, pool, 0)
        failed = _library.library().pe_run(
            self.function.handle, _library.PREPARE | _library.FORWARD, words.buffer_info()[0],
            count, given.buffer_info()[0], len(self.scalars), context)
        del keep
        return _library.last_error() if failed else None

    def _workspace_of_block(self, words: array[int], keys: int) -> int:
        words = words[:]
        for index in _KEYS:
            words[index * VIEW_WORDS + _SHAPE + 2] = keys
        if self.lengths is not None:
            words[self.lengths * VIEW_WORDS + 1] = 0  # for any lengths
        return self.function.workspace(_library.FORWARD | _library.PREPARE, words)


def _is_independent(size: str) -> bool:
    """Returns whether a size is that of a dimension other than the number of keys, or a number."""
    return size in ("b", "hq", "hkv", "r", "d", "e") or size.isdecimal()
