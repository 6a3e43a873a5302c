"""Implements `rotation`: rotations of queries and keys whose frequencies are a formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import OUTSIDE, checked
from ._declare import Declaration
from ._dense import Evaluation
from ._errors import InputError
from ._formula import Formula, Traced
from ._trace import WHOLE, Region, refuse, trace

if TYPE_CHECKING:
    from ._trace.tracer import Tracer

PAIR_OF_DIMS = {"h": WHOLE, "p": WHOLE, "n": WHOLE}


class FormulaRotation(Traced):
    """A rotation whose frequencies are a traced formula of the head and the pair of dims."""

    def __init__(self, formula: RotationFormula, heads: int | None) -> None:
        super().__init__(heads)
        self.name = getattr(formula, "__name__", "formula")
        self.formula = formula
        self.begin(lambda sources: trace(formula.function, formula.inputs, sources),
                   formula.declarations)

    def take(self, tracer: Tracer, traced: int) -> None:
        self.graph, self.result = tracer.graph, traced
        self.check_declarations(self.graph, [traced])
        region = Region(self.graph, self.result, real="f64")
        if any(self.graph.nodes[step].op == "mlp" for step in region.steps):
            raise refuse("expected no network in the frequencies of a rotation; write its layers "
                         "as sums, or give tables to pe.nn.RotationTable", self.graph.place)
        sources = [self.graph.sources[number] for number in region.numbers]
        self.keep({s.name: tracer.captured[s.name] for s in sources if s.captured})
        attributes = {name: d.attributes() for name, d in self.formula.declarations.items()}
        piece = region.piece("pe.rotation_fn", "rotate", attributes, self.formula.settings)
        self._set(piece, [(s.name, "whole" if s.kind == WHOLE else "same") for s in sources])

    def frequencies(self, pairs: int, *, heads: int | None = None) -> torch.Tensor:
        """Returns the frequencies in radians per position, [heads, pairs] in float64,
        differentiable, in plain PyTorch. `heads` is the encoding's number of heads, or 1."""
        count = heads or self.heads or 1
        tensors = {name: self.parameter(name) for name, _ in self._order}
        device = next((t.device for t in tensors.values()), None)
        inputs = {"h": torch.arange(count, device=device)[:, None],
                  "p": torch.arange(pairs, device=device)[None, :],
                  "n": torch.tensor(pairs, device=device)}
        value = Evaluation(self.graph, inputs, tensors, torch.float64).value(self.result)
        return value.to(torch.float64).expand(count, pairs)


class RotationFormula(Formula):
    """A formula of frequencies. Calling it with the number of heads returns a module."""

    def __init__(self, function: Callable[..., Any], declarations: Mapping[str, Declaration],
                 settings: str) -> None:
        super().__init__(function, PAIR_OF_DIMS, declarations)
        self.settings = settings

    def __call__(self, heads: int | None = None) -> FormulaRotation:  # type: ignore[override]
        return FormulaRotation(self, heads)


@checked(outside=OUTSIDE)
def rotation(function: Callable[..., Any] | None = None, /, *, interleaved: bool = False,
             rotary_dims: int | None = None, magnitude: float = 1.0,
             **declarations: Declaration) -> Any:
    """Converts a function of (h, p, n, parameters) to a rotation of queries and keys: pair p of the
    n pairs of dims of head h is rotated by the position times the formula's value.

    Parameters are declared by name, `@pe.rotation(base=pe.per_head(10000.0, min=2.0))`; tensors
    that the function refers to are captured, with gradients. The pairs are (p, p + n), or adjacent
    dims with `interleaved`. Only the first `rotary_dims` dims are rotated; the default is all.
    `magnitude` scales the rotated dims. A formula that depends on h requires as many key heads as
    query heads. Calling the result with the number of heads returns an `Encoding`.
    """
    settings = _settings(interleaved, rotary_dims, magnitude)
    if function is None:
        return lambda f: RotationFormula(f, declarations, settings)
    if not callable(function):
        raise InputError(f"rotation: expected a function, or declarations by name as in "
                         f"@pe.rotation(base=pe.per_head(10000.0)); found {function!r}")
    return RotationFormula(function, declarations, settings)


def _settings(interleaved: bool, rotary_dims: int | None, magnitude: float) -> str:
    if type(interleaved) is not bool:
        raise InputError(f"interleaved: expected True or False, found {interleaved!r}")
    if rotary_dims is not None and (type(rotary_dims) is not int or rotary_dims < 2
                                    or rotary_dims % 2):
        raise InputError(f"rotary_dims: expected a positive even number, found {rotary_dims!r}")
    if type(magnitude) not in (int, float) or not math.isfinite(magnitude):
        raise InputError(f"magnitude: expected a finite number, found {magnitude!r}")
    parts = ["interleaved = true"] if interleaved else []
    if rotary_dims is not None:
        parts.append(f"rotary_dims = {rotary_dims}")
    if magnitude != 1:
        text = repr(float(magnitude))
        parts.append(f"magnitude = {text if '.' in text else text.replace('e', '.0e')} : f64")
    return f" attributes {{{', '.join(parts)}}}" if parts else ""
