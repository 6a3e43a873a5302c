"""Direction-aware shrinking (DASH; Shin et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from .._arguments import checked
from .._errors import InputError
from ._select import is_embedding

Batch = TypeVar("Batch")


def _parameters(model: nn.Module) -> dict[str, tuple[Tensor, int]]:
    """Returns the weights and biases of linear layers and convolutions, with the first axis of each
    compared block: rows of linear layers, taps of one input channel of convolutions, whole
    biases."""
    found: dict[str, tuple[Tensor, int]] = {}
    seen: set[int] = set()
    for path, module in model.named_modules():
        convolution = isinstance(module, nn.modules.conv._ConvNd)
        if is_embedding(module) or not (convolution or isinstance(module, nn.Linear)):
            continue
        for own, axis in (("weight", 2 if convolution else 1), ("bias", 0)):
            parameter = getattr(module, own)
            if parameter is None or not parameter.requires_grad or id(parameter) in seen:
                continue
            name = f"{path}.{own}" if path else own
            if hasattr(parameter, "placements"):
                raise InputError(
                    f"parameter '{name}': expected a tensor of this process, found a DTensor; "
                    "dash_ does not work on shards")
            seen.add(id(parameter))
            found[name] = parameter, axis
    if not found:
        raise InputError("model: expected linear layers or convolutions to shrink, found none")
    return found


@checked()
def dash_(model: nn.Module,
          batches: Iterable[Batch],
          loss: Callable[[Batch], Tensor],
          *,
          alpha: float = 0.3,
          least: float = 0.3) -> dict[str, Tensor]:
    """Shrinks weights that point away from the direction of new data, in place; call it once,
    before training on that data.

    Over `batches`, the negative gradient of `loss(batch)` is averaged: G <- (1 - alpha) G - alpha
    gradient. Each row of a linear layer, the taps of each input channel of a convolution, and each
    bias are multiplied by their cosine with G, clamped to [least, 1]. Returns these factors by
    name. The gradients of the model are not changed.
    """
    for name, value in (("alpha", alpha), ("least", least)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
            raise InputError(f"{name}: expected a number in (0, 1], found {value!r}")
    found = _parameters(model)
    parameters = [parameter for parameter, _ in found.values()]
    averages: list[Tensor] | None = None
    for batch in batches:
        gradients = torch.autograd.grad(loss(batch), parameters, allow_unused=True)
        with torch.no_grad():
            steps = [
                torch.zeros_like(p, dtype=torch.promote_types(p.dtype, torch.float32))
                if g is None else -g.to(torch.promote_types(p.dtype, torch.float32))
                for p, g in zip(parameters, gradients)
            ]
            averages = ([alpha * step for step in steps] if averages is None else [
                torch.lerp(average, step, alpha) for average, step in zip(averages, steps)
            ])
    if averages is None:
        raise InputError("batches: expected at least one, found none")
    for name, average in zip(found, averages):
        if not bool(torch.isfinite(average).all()):
            raise InputError(f"parameter '{name}': expected finite gradients, found NaN or "
                             "infinity")
    factors = {}
    with torch.no_grad():
        for (name, (parameter, axis)), average in zip(found.items(), averages):
            flat, wide = average.flatten(axis), parameter.to(average.dtype).flatten(axis)
            factor = torch.cosine_similarity(flat, wide, dim=-1).clamp(least, 1)
            factors[name] = factor
            parameter.mul_(
                factor.reshape(factor.shape + (1, ) * (parameter.dim() - axis)).to(parameter.dtype))
    return factors
