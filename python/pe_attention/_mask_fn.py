"""`mask`: masks by formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arguments import check_function, checked
from ._formula import PAIR, FormulaMask
from ._trace import trace


@checked(outside="make the mask before, outside of the compiled function, and use it there; the "
                 "numbers of the tensors that it reads may change from call to call")
def mask(function: Callable[..., Any]) -> FormulaMask:
    """The mask of the pairs for which `function(b, h, i, j)` is true.

    The function compares positions, and whole numbers of tensors that it refers to:
    `pe.mask(lambda b, h, i, j: document[b, i] == document[b, j])`. They are captured: a later call
    uses the numbers that they have then. Those of int64 are checked to fit 32 bits in every call;
    int32 needs no check. `&` and `|` join masks, and `~` takes all other pairs.
    """
    check_function("function", function, PAIR)
    tracer, result = trace(function, PAIR, truth=True)
    return FormulaMask(tracer.graph, result, tracer.captured,
                       getattr(function, "__name__", "function"))
