"""Repeats forward calls on the CPU by the compiled operator `pe::repeat` of libpe-torch.

A call on the path through Python adds itself, and equal calls ask the operator first. Without
libpe-torch, or with a PyTorch that lacks functions that it uses, every call takes the path through
Python, with the same results.
"""

from __future__ import annotations

import ctypes
import os
import threading
from array import array
from collections import OrderedDict
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from . import _library, _run
from ._function import _view_words, _workspaces
from ._library import VIEW_WORDS

if TYPE_CHECKING:
    from ._growing import Growing
    from ._plain import Plain

_TORCH = Path(torch.__file__).resolve().parent / "lib" / "libtorch_cpu.so"


class _TorchSource(ctypes.Structure):
    """The struct pe_torch_source of runtime/torch/Repeat.h."""

    _fields_ = [("argument", c_int64), ("data", c_void_p), ("bytes", c_int64)]


class _TorchCall(ctypes.Structure):
    """The struct pe_torch_call of runtime/torch/Repeat.h."""

    _fields_ = [("function", c_void_p), ("half", c_int32), ("count", c_int32), ("views", c_void_p),
                ("scalars", c_void_p), ("scalar_count", c_int32), ("arguments", c_int32),
                ("results", c_int32), ("grows", c_int32), ("lengths", c_int32),
                ("layouts", c_void_p), ("pool", c_void_p), ("key_block", c_int64),
                ("most_workspace", c_int64), ("sources", POINTER(_TorchSource)),
                ("source_count", c_int32)]


_MOST_FAMILIES = 256
# The families of calls with equal checks but other layouts, such as prefill and decoding.
_families: OrderedDict[tuple[Any, ...], int] = OrderedDict()
_lock = threading.Lock()
_operator: Any = None
_loaded: ctypes.CDLL | None = None
_failure: str | None = None  # the reason why there is no operator; None before the first call


def _load() -> None:
    """Registers the operator, or sets the reason why there is none."""
    global _loaded, _operator, _failure
    file = _library.path().parent / "libpe-torch.so"
    try:
        loaded = ctypes.CDLL(str(file))
    except OSError as error:
        _failure = str(error)
        return
    loaded.pe_torch_load.argtypes = [c_char_p, c_void_p, c_void_p]
    loaded.pe_torch_load.restype = c_char_p
    loaded.pe_torch_add.argtypes = [c_int64, POINTER(_TorchCall)]
    loaded.pe_torch_add.restype = c_int64
    loaded.pe_torch_remove.argtypes = [c_int64]
    loaded.pe_torch_remove.restype = None
    library = _library.library()
    problem = loaded.pe_torch_load(os.fsencode(_TORCH), ctypes.cast(library.pe_run, c_void_p),
                                   ctypes.cast(library.pe_workspace, c_void_p))
    if problem is not None:
        _failure = problem.decode(errors="replace")
        return
    _operator = torch.ops.pe.repeat.default._op
    _loaded = loaded
    _failure = ""


def failure() -> str:
    """Returns the reason why calls take the path through Python, or an empty string."""
    if _failure is None:
        with _lock:
            if _failure is None:
                _load()
    return _failure or ""


def results_of(family: int, tensors: list[torch.Tensor],
               keys: int = -1) -> list[torch.Tensor] | None:
    """Returns the results of a call without gradients over the first `keys` keys, or over all, or
    None if no call of the family has tensors with these layouts."""
    if _operator is None or not tensors[0].is_cpu:
        return None
    try:
        return _operator(family, tensors, keys) or None
    except NotImplementedError:  # a tensor that is not strided, or on another device
        return None


def run(plain: Plain) -> list[torch.Tensor] | None:
    """Returns the results of a call without gradients, or None if no call with the same checks and
    layouts was added."""
    try:
        family = _families.get(plain.rest)
    except TypeError:  # not a number
        return None
    return None if family is None else results_of(family, plain.tensors)


def add(plain: Plain, growing: Growing) -> None:
    """Adds a checked call, for `run`."""
    family = family_of(growing, plain.tensors, _families.get(plain.rest, 0))
    if family:
        _families[plain.rest] = family
    if len(_families) > _MOST_FAMILIES:  # its calls are added again when they are repeated
        forget(_families.popitem(last=False)[1])


def family_of(growing: Growing, tensors: list[torch.Tensor], family: int = 0) -> int:
    """Adds a call to a family, by default a new one, and returns the family, or 0 if the operator
    cannot repeat the call."""
    if failure() or _operator is None or growing.pages is not None or not tensors[0].is_cpu:
        return 0
    sources = growing.compared(tensors)
    if sources is None:
        return 0
    assert _loaded is not None
    layouts = array("q")
    for shape, strides, dtype in (*_run.layout_of(tensors), *growing.outputs):
        layouts.extend(_view_words("", 0, (_run.CODES[dtype], shape, strides)))
    views = growing.words[:]
    given = len(tensors) + len(growing.outputs)
    views[1::VIEW_WORDS] = array("q", [0] * given + growing.kept)
    call = _TorchCall(
        function=growing.function.handle, half=growing.halves, count=len(views) // VIEW_WORDS,
        views=views.buffer_info()[0], scalars=growing.scalars.buffer_info()[0],
        scalar_count=len(growing.scalars) // 2, arguments=len(tensors),
        results=len(growing.outputs), grows=int(bool(growing.varying)),
        lengths=-1 if growing.lengths is None else growing.lengths,
        layouts=layouts.buffer_info()[0], pool=_run.place_of(tensors[0]).pool or None,
        key_block=growing.BLOCK, most_workspace=_workspaces.KEPT,
        sources=(_TorchSource * len(sources))(*[_TorchSource(*each) for each in sources]),
        source_count=len(sources))
    return int(_loaded.pe_torch_add(family, ctypes.byref(call)))


def forget(family: int) -> None:
    """Removes a family. 0 is allowed."""
    if _loaded is not None:
        _loaded.pe_torch_remove(family)


def clear() -> None:
    """Removes all families of checked calls."""
    while _families:
        forget(_families.popitem()[1])


def _after_fork() -> None:
    """Leaves all calls to Python, because their pool of threads is unusable in the child."""
    global _operator, _loaded, _failure, _lock
    _operator, _loaded, _failure = None, None, "the process was forked"
    _lock = threading.Lock()
    _families.clear()


os.register_at_fork(after_in_child=_after_fork)
