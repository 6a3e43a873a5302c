"""Views of tensors from PyTorch, NumPy and libraries that support DLPack."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._dtypes import CODES, FRAMEWORK, NAMES, NAMES_OF_DLPACK
from ._errors import InputError


@dataclass
class Array:
    """A view of memory that `owner` keeps alive. Strides count elements."""

    pointer: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any

    def view(self) -> tuple[int, Sequence[int], Sequence[int]]:
        return CODES[self.dtype], self.shape, self.strides

    def key(self) -> object:
        return self.shape, self.strides, self.dtype


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def _contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


def is_torch(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _of_torch(name: str, tensor: Any) -> Array:
    dtype = NAMES.get(str(tensor.dtype).removeprefix("torch."))
    if str(tensor.layout) != "torch.strided" or tensor.is_nested:
        raise InputError(f"{name}: expected a dense tensor, found one of layout {tensor.layout}"
                         f"{' that is nested' if tensor.is_nested else ''}; convert it")
    tensor = tensor.resolve_neg()  # materializes a lazy negation
    if tensor.device.type != "cpu":
        raise InputError(f"{name}: expected a tensor on the CPU, found one on {tensor.device}; use "
                         f"pe_attention.attention for tensors of a GPU")
    if dtype is None:
        raise InputError(f"{name}: expected numbers of {', '.join(NAMES)}, found {tensor.dtype}")
    return Array(tensor.data_ptr(), dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor)


def _of_numpy(name: str, array: Any) -> Array:
    dtype = NAMES.get(array.dtype.name)
    if dtype is None or not array.dtype.isnative:
        raise InputError(f"{name}: expected numbers of {', '.join(NAMES)}, found {array.dtype}")
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise InputError(f"{name}: expected strides of whole elements, found {array.strides} bytes "
                         f"between elements of {size}; copy it")
    strides = tuple(stride // size for stride in array.strides)
    return Array(array.ctypes.data, dtype, tuple(array.shape), strides, array)


def _of_dlpack(name: str, value: Any) -> Array:
    capsule = value.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    # The capsule is never marked as consumed, so its deleter releases the memory.
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    dtype = NAMES_OF_DLPACK.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if tensor.device.type != 1:
        raise InputError(f"{name}: expected memory of the CPU, found device type "
                         f"{tensor.device.type} of DLPack; use pe_attention.attention for a GPU")
    if dtype is None:
        raise InputError(f"{name}: expected numbers of {', '.join(NAMES)}, found DLPack's type "
                         f"{tensor.code} of {tensor.bits} bits")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    strides = (tuple(tensor.strides[axis] for axis in range(tensor.ndim)) if tensor.strides
               else _contiguous(shape))
    return Array((tensor.data or 0) + tensor.offset, dtype, shape, strides, capsule)


def view_of(name: str, value: Any) -> Array:
    """Returns a view of the caller's tensor. A number becomes a tensor of rank 0."""
    if is_torch(value):
        return _of_torch(name, value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _of_numpy(name, numpy.asarray(value))
    if isinstance(value, (bool, int, float)):
        number: Any = ctypes.c_float(value) if isinstance(value, float) else ctypes.c_int64(value)
        dtype = "f32" if isinstance(value, float) else "i64"
        return Array(ctypes.addressof(number), dtype, (), (), number)
    if hasattr(value, "__dlpack__"):
        return _of_dlpack(name, value)
    raise InputError(f"{name}: expected a tensor of NumPy, PyTorch or DLPack, found "
                     f"{type(value).__name__}")


def empty(name: str, dtype: str, shape: Sequence[int], as_torch: bool) -> Array:
    """Allocates a PyTorch tensor or NumPy array for an output; bf16 in NumPy uses ml_dtypes."""
    if as_torch:
        import torch
        return _of_torch(name, torch.empty(tuple(shape), dtype=getattr(torch, FRAMEWORK[dtype])))
    import numpy
    if dtype == "bf16":
        try:
            import ml_dtypes  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise InputError(f"{name}: NumPy has no bf16; pass tensors of PyTorch, or install "
                             f"ml_dtypes") from None
        return _of_numpy(name, numpy.empty(tuple(shape), dtype=ml_dtypes.bfloat16))
    return _of_numpy(name, numpy.empty(tuple(shape), dtype=FRAMEWORK[dtype]))
