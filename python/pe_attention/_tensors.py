"""Checks tensors of calls, converts integers to int32, the type that kernels read, and marks
functions for compiled code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from ._arguments import found
from ._errors import InputError

Result = TypeVar("Result")
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Types whose values all fit in int32.
_NARROW = (torch.bool, torch.int8, torch.uint8, torch.int16, torch.uint16)
_TWO_64 = 1 << 64
# Every decoding step calls these. After its keys and values, the dictionaries on the way from
# `torch` to them are no longer in the processor's caches.
_count_modes = torch._C._len_torch_dispatch_stack
_find_transform = torch._C._functorch.peek_interpreter_stack
_forward_ad = torch.autograd.forward_ad
_is_compiling = torch.compiler.is_compiling
_strided = torch.strided


def is_dtensor(tensor: torch.Tensor) -> bool:
    """Checks for a DTensor without importing torch.distributed."""
    if type(tensor) in _PLAIN:
        return False
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def is_seen(tensors: Sequence[torch.Tensor]) -> bool:
    """Returns whether the call must go through the operator: for a mode, a subclass, a transform or
    a tangent."""
    if _count_modes() or _find_transform() is not None or _forward_ad._current_level >= 0:
        return True
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            return True
    return False


def check_tensor(name: str, tensor: object) -> None:
    """Raises `InputError` for a value that is not a dense, strided tensor."""
    if not isinstance(tensor, torch.Tensor):
        advice = f"; write torch.as_tensor({name})" if hasattr(tensor, "__array__") else ""
        raise InputError(f"{name}: expected a tensor, found {found(tensor)}{advice}")
    if _is_compiling():
        return
    if tensor.is_nested:
        raise InputError(f"{name}: expected a dense tensor, found a nested one; pad it and "
                         f"mask the padding, or pack the sequences and pass documents")
    if tensor.is_quantized:
        raise InputError(f"{name}: expected a floating type, found {tensor.dtype}; write "
                         f"{name}.dequantize()")
    if tensor.layout is not _strided:
        raise InputError(f"{name}: expected a dense tensor, found one of layout {tensor.layout}; "
                         f"write {name}.to_dense()")


def resolved(tensor: torch.Tensor) -> torch.Tensor:
    """Materializes the lazy negation of x.conj().imag. Modes and compiled code do so themselves."""
    if not torch.compiler.is_compiling() and tensor.is_neg():
        return tensor.resolve_neg()
    return tensor


def with_memory(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors, with memory allocated for lazy zeros. Rejects other tensors without
    memory."""
    result = []
    for name, tensor in zip(names, tensors, strict=True):
        check_tensor(name, tensor)
        if tensor.numel() and not tensor.data_ptr():
            if not tensor._is_zerotensor():
                raise InputError(f"tensor '{name}': expected memory, found a tensor whose storage "
                                 f"was freed")
            tensor = tensor.clone()
        result.append(tensor)
    return result


def constant_in_graphs(function: Callable[..., Result]) -> Callable[..., Result]:
    """Makes compiled code treat the results as constants, like
    `torch.compiler.assume_constant_result`, but without importing the rest of `torch.compile`,
    which would add seconds to the first eager call."""
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


# --- Integers ----------------------------------------------------------------


def as_int32(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """Converts integers and booleans to int32. Rejects real numbers, and integers outside the range
    of int32; for wider types this check costs a pass over the tensor, and a synchronization on a
    GPU.

    Compiled code calls the operator `pe::int32`, which checks at run time.
    """
    check_tensor(name, tensor)
    if tensor.dtype is torch.int32:
        return tensor
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        raise InputError(f"{name}: expected integers, found {tensor.dtype}")
    if tensor.dtype in _NARROW:
        return tensor.to(torch.int32)
    if is_dtensor(tensor):
        as_int32(name, tensor.to_local())  # type: ignore[attr-defined]
        return tensor.to(torch.int32)
    if torch.compiler.is_compiling() or is_seen([tensor]):
        narrow: torch.Tensor = torch.ops.pe.int32.default(tensor, name)
        return narrow
    return _narrowed(tensor, name)


def _narrowed(tensor: torch.Tensor, name: str) -> torch.Tensor:
    wide = tensor.to(torch.int64)
    narrow = wide.to(torch.int32)
    fits = narrow == wide
    if tensor.dtype is torch.uint64:
        fits &= wide >= 0
    expected = f"{name}: expected integers of 32 bits, from -2^31 to 2^31 - 1"
    if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
        torch._assert_async(fits.all(), expected)
    elif not bool(fits.all()):
        number = int(wide[~fits].flatten()[0])
        if tensor.dtype is torch.uint64 and number < 0:
            number += _TWO_64
        raise InputError(f"{expected}, found {number}; use smaller numbers: "
                         f"torch.unique(ids, return_inverse=True) renumbers ids")
    return narrow


_ops = torch.library.Library("pe", "FRAGMENT")
_ops.define("int32(Tensor tensor, str name) -> Tensor")
for _key in ("CPU", "CUDA"):
    _ops.impl("int32", _narrowed, _key)
torch.library.register_fake("pe::int32", lambda tensor, name: torch.empty_like(
    tensor, dtype=torch.int32), lib=_ops)
torch.library.register_vmap("pe::int32", lambda info, dims, tensor, name: (
    torch.ops.pe.int32.default(tensor, name), dims[0]), lib=_ops)
