"""The float64 reference, and a check of compiled code against it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import checked, named
from ._attention import attention
from ._errors import InputError
from ._kinds import HINTS, check_encoding, check_mask
from ._masks import Mask
from ._module import Bound, Encoding
from ._not_finite import first_not_finite
from ._prepare import Ready, options_of, prepare, results_of
from ._run import CODES, Call, function_of
from ._tensors import check_tensor

if TYPE_CHECKING:
    from ._function import Function, View


@named(HINTS)
def reference(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              encoding: Encoding | Bound | None = None, **options: Any) -> Any:
    """Computes `attention` by plain loops in float64, with all gradients. Accepts the same options;
    slow."""
    if "target" in options:
        raise InputError("target: expected none, as the reference is a target itself; omit it")
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        if not tensor.dtype.is_floating_point:
            raise InputError(f"{name}: expected a floating type, found {tensor.dtype}; write "
                             f"{name}.float()")
    device = query.device.type  # meta, for example, has no autocast
    with (torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device)
          else contextlib.nullcontext()):
        return attention(query.double(), key.double(), value.double(), encoding,
                         target="reference", **options)


@dataclass
class Report:
    """Errors of compiled code relative to the float64 reference, with the bounds of `pe run
    --check`.

    `errors` and `bounds` have an entry for the result "o" and for every gradient ("gradient of
    query", "gradient of tau"). Each is a norm relative to the norm of the reference, or an absolute
    norm if the reference is the difference of larger terms. `lines` is the output of `pe run
    --check`; `failed` lists the failures. `notes` report where values become non-finite and which
    tensors are read out of bounds.
    """

    errors: dict[str, float] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    finite_difference: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.failed and self.finite_difference <= 1e-4

    def __str__(self) -> str:
        lines = [*self.lines,
                 f"gradients against finite differences: {self.finite_difference:.1e}",
                 *self.notes]
        lines.append("all within bounds" if self.ok else
                     "; ".join([*self.failed] or ["expected at most 1e-4 of finite differences"]))
        return "\n".join(lines)


def _module_of(encoding: Encoding | Bound) -> Encoding:
    return encoding.encoding if isinstance(encoding, Bound) else encoding


def _heads(encoding: Encoding | Bound | None, heads: int | None) -> int:
    """Returns the number of heads of a check: the argument, the encoding's number, or 2."""
    if encoding is None or heads is not None:
        return heads or 2
    data = encoding.data if isinstance(encoding, Bound) else {}
    module = _module_of(encoding)
    try:
        known = module.heads_of(data) if hasattr(module, "heads_of") else module.heads
    except KeyError:  # tensors that the call must provide; `attention` reports them
        known = None
    return known or 2


@checked(least={"batch": 1, "heads": 1, "q_len": 1, "k_len": 1, "head_dim": 1})
def check(encoding: Encoding | Bound | None = None, *, mask: Mask | None = None, batch: int = 2,
          heads: int | None = None, q_len: int = 37, k_len: int | None = None, head_dim: int = 16,
          seed: int = 0, scale: float | None = None, q_start: int | None = None, k_start: int = 0,
          head_start: int = 0, heads_total: int | None = None, dropout_p: float = 0.0,
          sink: torch.Tensor | None = None, documents: torch.Tensor | None = None,
          target: str | None = None) -> Report:
    """Compares the result and all gradients of compiled code with the float64 reference, and the
    gradients of the reference with finite differences, for random queries, keys and values.

    The bounds are those of `pe run --check`, which account for cancellation. The sizes are those of
    the random tensors; `heads` defaults to the encoding's number of heads. The other arguments are
    those of `attention`. The check fails if a formula reads a tensor out of bounds, although such a
    read returns the nearest element.
    """
    check_encoding(encoding)
    check_mask(mask)
    generator = torch.Generator().manual_seed(seed)
    heads = _heads(encoding, heads)
    lengths = (q_len, k_len or q_len, k_len or q_len)
    given = [torch.randn(batch, heads, length, head_dim, generator=generator)
             for length in lengths]
    with torch.no_grad():
        ready = prepare(given[0], given[1], given[2], encoding, mask,
                        options_of(scale, dropout_p, sink, documents, False), target, heads_total,
                        sink, documents)
    call = Call(ready.program.text, ready.target, q_start, k_start, head_start, heads_total)
    # The arguments of the program; floating-point arguments get gradients.
    tensors = [t.detach().contiguous().clone() for t in ready.tensors]
    for tensor in tensors:
        tensor.requires_grad_(tensor.is_floating_point())
    function = function_of(tensors, call, True)
    output = results_of(tensors, call)[0]
    cotangent = torch.randn(output.shape, generator=generator).to(output.dtype)
    wanted = [t for t in tensors if t.requires_grad]
    gradients = torch.autograd.grad(output, wanted, cotangent)
    judged = _judge(function, call, tensors, output, cotangent, gradients)
    report = _report(judged, output)
    report.finite_difference = _finite_difference(ready, call, tensors, cotangent, generator)
    at = (batch, heads, q_len, lengths[1], q_start, k_start)
    if not bool(output.isfinite().all()):
        report.notes += first_not_finite(encoding, mask, at)
    return report


def _judge(function: Function, call: Call, tensors: list[torch.Tensor], output: torch.Tensor,
           cotangent: torch.Tensor, gradients: tuple[torch.Tensor, ...]) -> dict[str, Any]:
    """Returns the verdict of pe_check."""
    kept: list[torch.Tensor] = []

    def view(tensor: torch.Tensor, rank: int) -> tuple[int, View]:
        plain = tensor.detach().cpu().contiguous()
        kept.append(plain)
        shape = tuple(plain.shape) if rank else ()
        return plain.data_ptr(), (CODES[plain.dtype], shape, plain.stride() if rank else ())

    described = list(zip(function.arguments, tensors, strict=True))
    inputs = {argument.name: view(t, argument.rank) for argument, t in described}
    inputs["d_o"] = view(cotangent, 4)
    found = {"o": view(output, 4)}
    real = [argument for argument, t in described if t.requires_grad]
    for argument, gradient in zip(real, gradients, strict=True):
        found[f"d_{argument.name}"] = view(gradient, argument.rank)
    return function.judge(inputs, found, call.scalars())


def _report(judged: dict[str, Any], output: torch.Tensor) -> Report:
    report = Report()
    for tensor in judged["tensors"]:
        name = _name(tensor["name"])
        unit = tensor["norm"] or 1.0
        if tensor["scale"] is not None and tensor["scale"] > tensor["norm"]:
            unit = 1.0
        report.errors[name] = (tensor["error"] or 0.0) / unit
        report.bounds[name] = (tensor["bound"] or 0.0) / unit
        report.lines.append(tensor["line"])
        if not tensor["passes"]:
            report.failed.append(f"{name}: {tensor['problem'] or judged['message']}")
    report.failed += judged["outside_reads"]
    elements = output.numel()
    bad = elements - int(output.isfinite().sum())
    if bad == elements and elements:
        report.failed.append(f"o has no finite element ({elements} of {elements} are not finite)")
    elif bad:
        report.notes.append(f"{bad} of {elements} elements of o are not finite, as in the "
                            f"reference")
    return report


def _name(name: str) -> str:
    """Returns "gradient of query" for the program's d_q."""
    if not name.startswith("d_"):
        return name
    own = name.removeprefix("d_")
    return "gradient of " + {"q": "query", "k": "key", "v": "value"}.get(own, own)


def _finite_difference(ready: Ready, call: Call, tensors: list[torch.Tensor],
                       cotangent: torch.Tensor, generator: torch.Generator) -> float:
    """Returns the relative error of the directional derivative along one random direction of all
    real inputs: the gradient compared with a finite difference, in float64."""
    call = call._replace(target="reference")
    exact = [t.detach().double().requires_grad_() if t.is_floating_point() else t for t in tensors]
    wanted = [t for t in exact if t.requires_grad]
    ways = [torch.randn(t.shape, generator=generator, dtype=torch.float64) for t in wanted]
    step = 1e-6

    def value(inputs: list[torch.Tensor]) -> torch.Tensor:
        return (results_of(inputs, call)[0] * cotangent.double()).sum()

    gradients = torch.autograd.grad(value(exact), wanted)
    slope = sum(float((g * way).sum()) for g, way in zip(gradients, ways, strict=True))
    ends = []
    with torch.no_grad():
        for sign in (step, -step):
            rest = iter(ways)
            moved = [t + sign * next(rest) if t.requires_grad else t for t in exact]
            ends.append(float(value(moved)))
    error = abs((ends[0] - ends[1]) / (2 * step) - slope) / max(abs(slope), 1.0)
    return 0.0 if error != error else error  # not finite; the results report it
