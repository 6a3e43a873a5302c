"""Implements `from_flex`, for functions written for FlexAttention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._arguments import OUTSIDE, check_function, checked
from ._errors import InputError
from ._formula import PAIR, SCORED, FormulaEncoding
from ._split import Parts, split
from ._trace import Source, refuse_compiled, trace
from ._trace.tracer import Tracer


@checked(least={"heads": 1}, outside=OUTSIDE)
def from_flex(score_mod: Callable[..., Any] | None = None,
              mask_mod: Callable[..., Any] | None = None, *,
              heads: int | None = None) -> FormulaEncoding:
    """Converts a `score_mod(score, b, h, q_idx, kv_idx)`, a `mask_mod(b, h, q_idx, kv_idx)` or both
    to an encoding. Tensors that the functions refer to become arguments, with gradients if they
    require them. The semantics are those of FlexAttention: negative indices count from the end, and
    every call reads the current values of the tensors. `heads` is only needed for `dense`, if no
    tensor has an axis of heads."""
    if score_mod is None and mask_mod is None:
        raise InputError("from_flex: expected score_mod, mask_mod or both, found neither")
    if score_mod is not None:
        check_function("score_mod", score_mod, SCORED)
    if mask_mod is not None:
        check_function("mask_mod", mask_mod, PAIR)
    refuse_compiled()

    def trace_both(_: dict[str, Source]) -> tuple[Tracer, Parts]:
        if score_mod is None:
            assert mask_mod is not None
            tracer, mask = trace(mask_mod, {**PAIR}, truth=True, wraps=True, heads=heads)
            return tracer, Parts((mask,), None, None)
        tracer, result = trace(score_mod, SCORED, wraps=True, heads=heads)
        parts = split(tracer.graph, result)
        if mask_mod is not None:
            mask = trace_into(tracer, mask_mod)
            parts = Parts((*parts.masks, mask), parts.score, parts.bias)
        return tracer, parts

    name = getattr(score_mod or mask_mod, "__name__", "flex")
    return FormulaEncoding(name, trace_both, {}, heads)


def trace_into(tracer: Tracer, mask_mod: Callable[..., Any]) -> int:
    """Traces a mask with the inputs and captured tensors of a score_mod."""
    _, result = trace(mask_mod, PAIR, truth=True, into=tracer)
    return result
