"""The float64 reference, and a check of compiled code against it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import checked, named
from ._attention import attention
from ._errors import InputError
from ._kinds import HINTS, check_encoding, check_mask
from ._masks import Mask
from ._module import Bound
from ._tensors import check_tensor

if TYPE_CHECKING:
    from ._encoding import Encoding


@named(HINTS)
def reference(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              encoding: Encoding | Bound | None = None, **options: Any) -> Any:
    """`attention` by plain loops in float64, with all gradients. Takes the same options; slow."""
    if "target" in options:
        raise InputError("target: expected none, as the reference is a target itself; leave it out")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        if not tensor.dtype.is_floating_point:
            raise InputError(f"{name}: expected a floating type, found {tensor.dtype}; write "
                             f"{name}.float()")
    with torch.autocast(query.device.type, enabled=False):
        return attention(query.double(), key.double(), value.double(), encoding,
                         target="reference", **options)


@dataclass
class Report:
    """Errors of compiled code relative to the largest number of each reference tensor, and of
    the reference's gradients relative to finite differences. Where a gradient is 0 but for the
    rounding of float64, as softmax leaves of a constant, its error is relative to the largest
    number of all gradients."""

    errors: dict[str, float] = field(default_factory=dict)
    finite_difference: float = 0.0
    tolerance: float = 0.0

    @property
    def ok(self) -> bool:
        return self.finite_difference <= 1e-4 and all(
            error <= self.tolerance for error in self.errors.values())

    def __str__(self) -> str:
        lines = [f"{name}: {error:.1e}" + (f", above {self.tolerance:.0e}"
                                           if error > self.tolerance else "")
                 for name, error in self.errors.items()]
        lines.append(f"gradients against finite differences: {self.finite_difference:.1e}")
        lines.append("all within bounds" if self.ok else "expected at most "
                     f"{self.tolerance:.0e}, and 1e-4 of finite differences; the gradient of a "
                     "parameter may be above where larger terms cancel, which `pe run --check` "
                     "knows and this does not")
        return "\n".join(lines)


def _largest(tensor: torch.Tensor) -> float:
    return max(float(tensor.abs().max()), 1e-30) if tensor.numel() else 1e-30


def _error(found: torch.Tensor, expected: torch.Tensor, most: float = 0.0) -> float:
    if not expected.numel():
        return 0.0
    largest = _largest(expected)
    scale = largest if largest > 1e-12 * most else most
    return float((found.double() - expected).abs().max()) / scale


def _module_of(encoding: Encoding | Bound) -> Encoding:
    return encoding.encoding if isinstance(encoding, Bound) else encoding


def _with_leaves(encoding: Encoding | Bound | None
                 ) -> tuple[Encoding | Bound | None, dict[str, torch.Tensor]]:
    """The encoding, and by name its parameters and the numbers of a call that it was given, of
    which copies are leaves of their own."""
    if encoding is None:
        return None, {}
    leaves: dict[str, torch.Tensor] = {}
    module = _module_of(encoding)
    if isinstance(encoding, Bound):
        data = {name: tensor.detach().clone() for name, tensor in encoding.data.items()}
        leaves = {name: tensor.requires_grad_() for name, tensor in data.items()
                  if tensor.is_floating_point()}
        encoding = Bound(module, data)
    named = {name: p for name, p in module.named_parameters() if p.requires_grad}
    return encoding, {**named, **leaves}


@checked(least={"batch": 1, "heads": 1, "q_len": 1, "k_len": 1, "head_dim": 1})
def check(encoding: Encoding | Bound | None = None, *, mask: Mask | None = None, batch: int = 2,
          heads: int | None = None, q_len: int = 37, k_len: int | None = None, head_dim: int = 16,
          tolerance: float = 2e-5, seed: int = 0, **options: Any) -> Report:
    """Compares the result and every gradient of compiled code with the float64 reference, and the
    reference's gradients with finite differences, at random numbers. Options are `attention`'s."""
    check_encoding(encoding)
    check_mask(mask)
    generator = torch.Generator().manual_seed(seed)
    heads = heads or (getattr(_module_of(encoding), "heads", None) if encoding else None) or 2
    keys = k_len or q_len
    shapes = {"query": q_len, "key": keys, "value": keys}
    given = {name: torch.randn(batch, heads, length, head_dim, generator=generator)
             for name, length in shapes.items()}
    encoding, parameters = _with_leaves(encoding)
    for tensor in given.values():
        tensor.requires_grad_()
    inputs = {**given, **parameters}
    query, key, value = given.values()
    found = attention(query, key, value, encoding, mask=mask, **options)
    cotangent = torch.randn(found.shape, generator=generator)
    expected = reference(query, key, value, encoding, mask=mask, **options)
    errors = {"o": _error(found.detach(), expected.detach())}
    gradients = torch.autograd.grad(found, list(inputs.values()), cotangent)
    exact = torch.autograd.grad(expected, list(inputs.values()), cotangent.double())
    most = max(_largest(gradient) for gradient in exact)
    for name, one, other in zip(inputs, gradients, exact, strict=True):
        errors[f"gradient of {name}"] = _error(one, other.double(), most)
    return Report(errors, _finite_difference(encoding, mask, given, parameters, cotangent, options,
                                             generator), tolerance)


def _finite_difference(encoding: Encoding | Bound | None, mask: Mask | None,
                       given: dict[str, torch.Tensor], parameters: dict[str, torch.Tensor],
                       cotangent: torch.Tensor, options: dict[str, Any],
                       generator: torch.Generator) -> float:
    """The derivative in one random direction of all inputs, by the gradient and by a difference."""
    tensors = [t.detach().double().requires_grad_() for t in given.values()]
    saved = [p.data for p in parameters.values()]
    step = 1e-6

    def value(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = reference(q, k, v, encoding, mask=mask, **options)
        return (result * cotangent.double()).sum()

    try:
        for parameter in parameters.values():
            parameter.data = parameter.data.double()
        every = [*tensors, *parameters.values()]
        ways = [torch.randn(t.shape, generator=generator, dtype=torch.float64) for t in every]
        gradients = torch.autograd.grad(value(*tensors), every)
        slope = sum(float((g * way).sum()) for g, way in zip(gradients, ways, strict=True))
        ends = []
        with torch.no_grad():
            for sign in (step, -step):
                moved = [t + sign * way for t, way in zip(tensors, ways, strict=False)]
                for parameter, data, way in zip(parameters.values(), saved, ways[3:], strict=True):
                    parameter.data = data.double() + sign * way
                ends.append(float(value(*moved)))
    finally:
        for parameter, data in zip(parameters.values(), saved, strict=True):
            parameter.data = data
    return abs((ends[0] - ends[1]) / (2 * step) - slope) / max(abs(slope), 1.0)
