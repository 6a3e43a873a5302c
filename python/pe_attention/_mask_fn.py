"""Implements `mask`: masks defined by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arguments import check_function, checked
from ._formula import PAIR, FollowingMask, FormulaMask
from ._trace import trace
from ._trace.tracer import Tracer


@checked(outside="create the mask outside of the compiled function, and use it there; the "
                 "numbers of the tensors that it reads may change from call to call")
def mask(function: Callable[..., Any]) -> FormulaMask:
    """Converts a function `function(b, h, i, j)` to the mask of the pairs for which it is true.

    The function compares positions and elements of integer tensors that it refers to:
    `pe.mask(lambda b, h, i, j: document[b, i] == document[b, j])`. These tensors are captured, and
    each call reads their current values. If a number or a tensor that the function refers to is
    replaced, later calls use the new one. Every call checks that int64 values fit in 32 bits; int32
    needs no check. `&` and `|` join masks, and `~` negates one.
    """
    check_function("function", function, PAIR)

    def trace_mask() -> tuple[Tracer, int]:
        return trace(function, PAIR, truth=True)

    return FollowingMask(trace_mask, getattr(function, "__name__", "function"))
