"""Refuses functions with their own gradients (torch.autograd.Function) in formulas."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .place import refuse

_lock = threading.Lock()
_state = threading.local()
_original: Any = None
_traces = 0  # of all threads; `apply` is replaced while there are any


def _apply(cls: type, *args: Any, **kwargs: Any) -> Any:
    if getattr(_state, "is_tracing", False):
        name = cls.__name__
        raise refuse(f"a formula cannot use {name}, a torch.autograd.Function: the gradient of a "
                     f"formula is derived from its operations, and {name}.backward would be "
                     f"ignored; write the operations of its forward, or apply it to a tensor "
                     f"outside of the formula")
    return _original.__get__(None, cls)(*args, **kwargs)


@contextmanager
def refuse_custom_gradients() -> Iterator[None]:
    """Raises an error if this thread calls `torch.autograd.Function.apply` within the context. The
    method runs `forward` with any arguments and does not consult __torch_function__, hence the
    replacement. It is temporary because torch.compile recognizes the original one."""
    global _original, _traces
    before = getattr(_state, "is_tracing", False)
    with _lock:
        if _traces == 0:
            _original = torch.autograd.Function.__dict__["apply"]
            torch.autograd.Function.apply = classmethod(_apply)  # type: ignore[assignment]
        _traces += 1
    _state.is_tracing = True
    try:
        yield
    finally:
        _state.is_tracing = before
        with _lock:
            _traces -= 1
            if _traces == 0:
                torch.autograd.Function.apply = _original  # type: ignore[method-assign]
