"""Traces a formula by running it once on values that record operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .._errors import CompileError, InputError
from .functions import watch
from .graph import REAL, TRUTH, Place, Source
from .place import definition, refuse
from .surroundings import Surroundings
from .tracer import Tracer, names_of
from .values import Array


def refuse_compiled() -> None:
    """Raises an error if a formula is first traced under torch.compile."""
    if torch.compiler.is_compiling():
        raise InputError("formula: expected a definition outside of compiled code, found one in a "
                         "function that torch.compile traces; create the encoding or mask outside, "
                         "and use it in the function")


def trace(function: Callable[..., Any], inputs: Mapping[str, str],
          parameters: Mapping[str, Source] | None = None, *, truth: bool = False,
          into: Tracer | None = None, wraps: bool = False,
          heads: int | None = None) -> tuple[Tracer, int]:
    """Traces `function` with inputs `inputs` (name: kind) and tensors `parameters`, and returns the
    tracer with the step of the result: a boolean with `truth`, else a real number. `into` is the
    tracer of another function, to share its inputs and captured tensors. With `wraps`, negative
    indices count from the end."""
    names = names_of(function)
    tracer = into or Tracer(inputs, names, wraps=wraps, heads=heads)
    tracer.names = {**tracer.names, **names}
    tensors = {name: tracer.tensor(source) for name, source in (parameters or {}).items()}
    tracer.surroundings.append(Surroundings(function))
    with watch(tracer):
        result = function(*(tracer.inputs[name] for name in inputs), **tensors)
    place = definition(function)
    tracer.graph.place = tracer.graph.place or place
    return tracer, _result(tracer, result, truth, place)


def _result(tracer: Tracer, result: Any, truth: bool, place: Place | None) -> int:
    """Returns the step of a function's result."""
    wanted = "boolean" if truth else "number"
    if isinstance(result, tuple) or result is None:
        found = "None" if result is None else "a tuple"
        raise refuse(f"the formula returns {found}; expected a {wanted}", place)
    try:
        with tracer.at(place):
            number = tracer.lift(result)
            number = number.only() if isinstance(number, Array) else number
            if number.kind == REAL and truth:
                raise refuse("expected a boolean, found a real number; a mask is only the "
                             "condition, as in j <= i; torch.where(condition, 0.0, -math.inf) is "
                             "a bias, for pe.bias", place)
            if number.kind == TRUTH and not truth:
                raise refuse("expected a number, found a boolean; a bias is "
                             "torch.where(condition, 0.0, -math.inf), the condition itself is a "
                             "mask, for pe.mask, and condition.float() is 0 or 1", place)
            return (tracer.truth(number) if truth else tracer.real(number)).step
    except CompileError as error:
        raise refuse(f"the formula does not return a {wanted}: {error.message}", place) from None
