"""Compiled functions, and calls of them on the caller's memory."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from . import _library, _sizes
from ._dtypes import CODES
from ._library import CONTEXT, MAX_RANK, VIEW_WORDS

# A view in a call: pe_dtype, shape, and strides in elements.
View = tuple[int, Sequence[int], Sequence[int]]

_names: dict[str, ctypes.Array[ctypes.c_char]] = {}


def _address_of_name(name: str) -> int:
    """Returns the address of a C string that is never freed."""
    if name not in _names:
        _names.setdefault(name, ctypes.create_string_buffer(name.encode()))
    return ctypes.addressof(_names[name])


@lru_cache(maxsize=1024)
def _words_of(scalars: tuple[tuple[str, int], ...]) -> array[int]:
    """Returns the numbers of a call as words for pe_run: the address of each name, and its
    value."""
    return array("q", [word for name, value in scalars for word in (_address_of_name(name), value)])


def _view_words(name: str, pointer: int, view: View) -> list[int]:
    """Returns a tensor of a call as the words of a pe_view."""
    dtype, shape, strides = view
    none = [0] * (MAX_RANK - len(shape))
    return [_address_of_name(name), pointer, dtype | len(shape) << 32, *shape, *none, *strides,
            *none]


class _Workspaces(threading.local):
    """Host workspaces, one per thread, reused between calls up to `KEPT` bytes."""

    KEPT = 64 << 20

    def __init__(self) -> None:
        self.size = 0
        self.address = 0
        self.memory: object = None

    def get(self, size: int) -> tuple[int, object]:
        if size <= self.size:
            return self.address, self.memory
        if size <= self.KEPT:
            size = min(self.KEPT, 2 * size)
        memory = (ctypes.c_char * size).from_buffer(bytearray(size))
        address = ctypes.addressof(memory)
        if size <= self.KEPT:
            self.size, self.address, self.memory = size, address, memory
        return address, memory


_workspaces = _Workspaces()


@dataclass
class Place:
    """The place where a call runs: a thread pool, or a GPU with a stream and its memory."""

    pool: int = 0
    stream: int = 0
    device: int = 0
    # On a GPU, allocates a number of bytes and returns their address and an owner.
    allocate: Callable[[int], tuple[int, object]] | None = None


@dataclass
class Tensor:
    """A tensor of a function, as reported by pe_describe."""

    name: str
    dtype: str
    axes: list[str | None]
    shape: list[str]
    init: str | None = None
    optional: bool = False
    of: list[str] = field(default_factory=list)
    elements: str | None = None
    holds_for_all_keys: bool = False
    read_by: list[str] = field(default_factory=list)
    argument: str = ""
    result: str = ""

    def __post_init__(self) -> None:
        self.code = CODES[self.dtype]
        self.rank = len(self.shape)
        self._sizes = [_sizes.parse(text) for text in self.shape]

    def shape_in(self, sizes: _sizes.Sizes) -> tuple[Any, ...]:
        return tuple(size(sizes) for size in self._sizes)


def _tensors(entries: Sequence[dict[str, Any]]) -> list[Tensor]:
    known = ("name", "dtype", "axes", "shape", "init", "optional", "of", "elements",
             "holds_for_all_keys", "read_by", "argument", "result")
    return [Tensor(**{key: entry[key] for key in known if key in entry}) for entry in entries]


# Lengths per batch entry: a call may pass them after the arguments of its function.
LENGTHS = Tensor("kv_len", "i32", ["batch"], ["b"])


def _per_entry(tensor: Tensor) -> Tensor:
    """Returns a saved tensor as it is in a call with lengths, where each entry has its own."""
    if "b" in tensor.shape:
        return tensor
    return replace(tensor, axes=["batch", *tensor.axes], shape=["b", *tensor.shape])


class Views:
    """The views of one half of a call, in a fixed order. Data that depend only on shapes and
    strides, namely the descriptors and the size of the workspace, are cached for equal calls."""

    KEPT = 512

    def __init__(self, function: Function, half: int, names: Sequence[str]) -> None:
        self.function, self.half, self.names = function, half, tuple(names)
        self._known: dict[object, tuple[array[int], int]] = {}
        self._has_lengths = LENGTHS.name in names and not function.has_argument(LENGTHS.name)

    def run(self, key: object, describe: Callable[[], Sequence[View]], pointers: Sequence[int],
            scalars: Sequence[tuple[str, int]], place: Place) -> None:
        """Runs the call. `key` identifies the result of `describe`; `pointers` are the addresses of
        the tensors."""
        low = 0
        for pointer in pointers:
            low |= pointer
        if low & 15:  # unaligned tensors are copied
            key = (key, tuple(pointer & 15 for pointer in pointers))
        known = self._known.get(key)
        if known is None:
            known = self._learn(key, describe(), pointers)
        words = known[0][:]
        words[1::VIEW_WORDS] = array("q", pointers)
        allocate = place.allocate or _workspaces.get
        size = known[1]
        if self._has_lengths and size > _workspaces.KEPT:
            size = self._workspace(words)  # for these lengths instead of any
        workspace, keep = allocate(size) if size else (0, None)
        context = CONTEXT.pack(CONTEXT.size, workspace, size, place.stream, place.pool,
                               place.device)
        given = _words_of(tuple([(name, int(value)) for name, value in scalars]))
        if _library.library().pe_run(self.function.handle, self.half, words.buffer_info()[0],
                                     len(pointers), given.buffer_info()[0], len(scalars), context):
            raise _library.last_error()
        del keep

    def _learn(self, key: object, views: Sequence[View], pointers: Sequence[int]) \
            -> tuple[array[int], int]:
        words = array("q")
        for name, pointer, view in zip(self.names, pointers, views, strict=True):
            # Without their address, the workspace suffices for any lengths.
            is_lengths = self._has_lengths and name == LENGTHS.name
            words.extend(_view_words(name, 0 if is_lengths else pointer, view))
        size = self._workspace(words)
        if len(self._known) >= self.KEPT:
            self._known.clear()
        known = self._known[key] = (words, size)
        return known

    def words_of(self, key: object) -> array[int] | None:
        """Returns the descriptors of an earlier call with this key and aligned tensors."""
        known = self._known.get(key)
        return None if known is None else known[0]

    def _workspace(self, words: array[int]) -> int:
        return self.function.workspace(self.half, words)


class Function:
    """A compiled function with the data of pe_describe."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        info: dict[str, Any] = json.loads(_library.describe(handle))
        self.info = info
        self.target: str = info["target"]
        self.has_gradients: bool = info["grad"]
        self.scalars = [scalar["name"] for scalar in info["scalars"]]
        # In this order, a default uses only earlier names.
        self._defaults = [(word["name"], _sizes.parse(word["default"]))
                          for word in (*info["sizes"], *info["scalars"])
                          if word["default"] is not None]
        self.arguments = _tensors(info["arguments"])
        self.results = _tensors(info["results"])
        self.saved = _tensors(info["saved"])
        self.prepared = _tensors(info["prepared"])
        self.gradients = {tensor.argument: tensor for tensor in _tensors(info["gradients"])}
        self._by_name = {tensor.name: tensor for tensor in
                         (*self.arguments, *self.results, *self.saved, *self.prepared)}
        self._views: dict[tuple[int, tuple[str, ...]], Views] = {}
        # Cached data of forward and backward calls, and of `_run.prepared`, by layout.
        self.forwards: dict[object, Any] = {}
        self.backwards: dict[object, Any] = {}
        self.preparations: dict[object, Any] = {}
        # Tables that depend only on parameters are kept for the backward pass. Others are
        # recomputed: rotated queries and keys are as large as the queries and keys.
        activations = {"q", "k", "v"}
        self.kept_tables = [t for t in self.prepared if t.of and not activations & set(t.of)
                            and "backward" in t.read_by]
        self.kept_results = [t for t in self.results if "backward" in t.read_by]

    def views(self, half: int, names: tuple[str, ...]) -> Views:
        """Returns the views of one half of a call, for tensors in this order."""
        found = self._views.get((half, names))
        if found is None:
            found = self._views[half, names] = Views(self, half, names)
        return found

    def workspace(self, half: int, words: array[int]) -> int:
        """Returns the bytes of workspace of one half of a call with these views."""
        size = ctypes.c_int64()
        if _library.library().pe_workspace(self.handle, half, words.buffer_info()[0],
                                           len(words) // VIEW_WORDS, ctypes.byref(size)):
            raise _library.last_error()
        return size.value

    def kept(self, has_lengths: bool) -> list[Tensor]:
        """Returns the tensors besides results that a forward call keeps for backward. Tables are
        recomputed in calls with lengths, because each batch entry has its own."""
        saved = [t for t in self.saved if "backward" in t.read_by]
        if has_lengths:
            return [_per_entry(tensor) for tensor in saved]
        return [*saved, *self.kept_tables]

    def has_argument(self, name: str) -> bool:
        return any(argument.name == name for argument in self.arguments)

    def tensor(self, name: str) -> Tensor:
        return self._by_name[name]

    def sizes(self, shapes: Sequence[Sequence[Any]],
              scalars: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the sizes and scalars of a call by name, from the shapes of all arguments (and of
        lengths after them) and the scalars that the call gives. None is the default."""
        depths = {"d": self.info["head_dim"], "e": self.info["value_dim"]}
        sizes: dict[str, Any] = {name: size for name, size in depths.items() if size}
        for argument, shape in zip(self.arguments, shapes, strict=False):
            for name, size in zip(argument.shape, shape, strict=False):
                if name.isidentifier():
                    sizes.setdefault(name, size)
        for argument, shape in zip(self.arguments, shapes, strict=False):
            for text, count in zip(argument.shape, shape, strict=False):
                if blocks := _sizes.blocks_of(text):  # the pages of an entry determine its keys
                    sizes.setdefault(blocks[0], count * sizes[blocks[1]])
        sizes.update((name, value) for name, value in scalars.items() if value is not None)
        for name, default in self._defaults:
            if name not in sizes:
                sizes[name] = default(sizes)
        return sizes

    def judge(self, inputs: Mapping[str, tuple[int, View]], found: Mapping[str, tuple[int, View]],
              scalars: Sequence[tuple[str, int]]) -> dict[str, Any]:
        """Returns the verdict of pe_check on results and gradients. Arguments, cotangents and
        results are given by name, each as an address and a view."""
        words = _words_of(tuple([(name, int(value)) for name, value in scalars]))
        lists = [array("q", [word for name, (pointer, view) in tensors.items()
                             for word in _view_words(name, pointer, view)])
                 for tensors in (inputs, found)]
        text = ctypes.c_char_p()
        if _library.library().pe_check(
                self.handle, lists[0].buffer_info()[0], len(inputs), lists[1].buffer_info()[0],
                len(found), words.buffer_info()[0], len(scalars), ctypes.byref(text)):
            raise _library.last_error()
        assert text.value is not None
        judged: dict[str, Any] = json.loads(text.value.decode())
        return judged

    def close(self) -> None:
        _library.library().pe_close(self.handle)


_functions: dict[tuple[object, ...], Function] = {}
_lock = threading.RLock()


def get_function(text: str, target: str, head_dim: int, value_dim: int, dtype: str, grad: bool,
                 name: str = "program", device: int = 0,
                 pairs_memory: int | None = None) -> Function:
    """Returns the compiled function of a program, for the chip of GPU `device` if the target is
    "cuda". It is compiled once per process; libpe's cache on disk serves later processes."""
    key = (text, target, head_dim, value_dim, dtype, device, pairs_memory)
    found = _functions.get((*key, True)) or (None if grad else _functions.get((*key, False)))
    if found is not None:
        return found
    with _lock:
        found = _functions.get((*key, grad))
        if found is None:
            options = {"target": target, "head_dim": head_dim, "value_dim": value_dim,
                       "dtype": dtype, "grad": int(grad), "device": device,
                       "pairs_memory": pairs_memory}
            found = Function(_library.open_function(text, False, name, options))
            _functions[*key, grad] = found
        return found


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
