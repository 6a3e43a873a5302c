"""`mask`: masks by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arguments import check_function, checked
from ._formula import PAIR, FollowingMask, FormulaMask
from ._trace import trace
from ._trace.tracer import Tracer


@checked(outside="make the mask before, outside of the compiled function, and use it there; the "
                 "numbers of the tensors that it reads may change from call to call")
def mask(function: Callable[..., Any]) -> FormulaMask:
    """The mask of the pairs for which `function(b, h, i, j)` is true.

    The function compares positions, and whole numbers of tensors that it refers to:
    `pe.mask(lambda b, h, i, j: document[b, i] == document[b, j])`. They are captured: a later call
    uses the numbers that they have then. A number or a tensor that the function refers to and that
    is replaced by another is followed too. Numbers of int64 are checked to fit 32 bits in every
    call; int32 needs no check. `&` and `|` join masks, and `~` takes all other pairs.
    """
    check_function("function", function, PAIR)

    def trace_mask() -> tuple[Tracer, int]:
        return trace(function, PAIR, truth=True)

    return FollowingMask(trace_mask, getattr(function, "__name__", "function"))
