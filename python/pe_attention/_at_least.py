"""Applies the lower bound `min` of a parameter."""

from __future__ import annotations

from typing import Any

import torch


class _AtLeast(torch.autograd.Function):
    """Computes max(x, least). Below the bound, the gradient passes only if descent increases x: the
    parameter does not drift away from the bound, and leaves it once that reduces the loss."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor, least: float) -> torch.Tensor:
        return x.clamp(min=least)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, float], output: torch.Tensor) -> None:
        x, ctx.least = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        x, = ctx.saved_tensors
        return gradient.masked_fill((x < ctx.least) & (gradient > 0), 0), None


def at_least(x: torch.Tensor, least: float | None) -> torch.Tensor:
    """Returns the elementwise maximum of `x` and `least`; NaN propagates."""
    if least is None:
        return x
    if torch.is_grad_enabled() and x.requires_grad:
        bounded: torch.Tensor = _AtLeast.apply(  # type: ignore[no-untyped-call]
            x, least)
        return bounded
    return x.clamp(min=least)
