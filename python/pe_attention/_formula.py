"""`bias` and `score_mod`: encodings written as formulas of one pair of a query and a key."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ._arguments import OUTSIDE, checked
from ._assemble import Piece, dump, join
from ._declare import Declaration
from ._dense import Evaluation, Positions
from ._errors import CompileError, InputError
from ._masks import Mask
from ._module import Encoding
from ._split import Parts, split
from ._tensors import as_int32
from ._trace import REAL, TRUTH, WHOLE, Graph, Region, Source, refuse, trace
from ._trace.graph import Node
from ._trace.place import definition

if TYPE_CHECKING:
    from ._trace.tracer import Tracer

PAIR = {"b": WHOLE, "h": WHOLE, "i": WHOLE, "j": WHOLE}
SCORED = {"score": REAL, **PAIR}
# Names that an encoding uses itself.
_RESERVED = frozenset(dir(Encoding)) | {"heads", "head_dim", "value_dim", "declarations"}


class FormulaMask(Mask):
    """A mask by a formula over positions and tensors of whole numbers."""

    def __init__(self, graph: Graph, result: int, tensors: Mapping[str, torch.Tensor],
                 name: str) -> None:
        self.graph, self.result, self.name = graph, result, name
        region = Region(graph, result)
        for number in region.numbers:
            source = graph.sources[number]
            if source.kind == REAL:
                raise refuse(f"{source.name}: expected whole numbers or truth values, as a mask "
                             f"has no gradient; found real numbers. Compare them before, or write "
                             f"a bias of -inf", graph.place)
        self.tensors = {graph.sources[n].name: tensors[graph.sources[n].name]
                        for n in region.numbers}
        self.structure = dump(region.piece("pe.mask_fn", "mask", {}))

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return tuple([as_int32(name, tensor) for name, tensor in self.tensors.items()])

    def __invert__(self) -> Mask:
        node = self.graph.nodes[self.result]
        step = node.operands[0] if node.op == "not" else \
            self.graph.add(Node("not", (self.result,), TRUTH))
        name = self.name[1:] if self.name[:1] == "~" else f"~{self.name}"
        return FormulaMask(self.graph, step, self.tensors, name)

    def dense(self, q_len: int, k_len: int, *, q_start: int | None = None, k_start: int = 0,
              batch: int = 1, heads: int = 1) -> torch.Tensor:
        """Whether each pair takes part, as a tensor [batch, heads, q_len, k_len]."""
        first = k_start + k_len - q_len if q_start is None else q_start
        device = next((t.device for t in self.tensors.values()), None)
        at = Positions.of(batch, heads, range(first, first + q_len),
                          range(k_start, k_start + k_len), torch.float32, device)
        value = Evaluation(self.graph, _inputs(at), self.tensors, at.dtype).value(self.result)
        return value.expand(batch, heads, q_len, k_len)

    def __repr__(self) -> str:
        return f"~pe.mask({self.name[1:]})" if self.name[:1] == "~" else f"pe.mask({self.name})"


def _inputs(at: Positions) -> dict[str, torch.Tensor]:
    return {"b": at.b, "h": at.h, "i": at.i, "j": at.j}


class Traced(Encoding):
    """An encoding by traced formulas, with the parameters that they declare and the tensors that
    they capture."""

    name: str

    def declare_all(self, declarations: Mapping[str, Declaration]) -> dict[str, Source]:
        """Declares the parameters; gives what a formula sees of each."""
        for key, declaration in declarations.items():
            self.declare(key, declaration)
        return {key: Source(key, tuple(getattr(self, key).shape), REAL,
                            declaration.sizes[:1] == ("heads",))
                for key, declaration in declarations.items()}

    def keep(self, name: str, tensor: torch.Tensor) -> None:
        """A tensor from outside, which remains what it is there: its gradients arrive there."""
        if isinstance(tensor, nn.Parameter):
            self.register_parameter(name, tensor)
        else:
            self.register_buffer(name, tensor, persistent=False)

    def _get_name(self) -> str:
        return self.name


class FormulaEncoding(Traced):
    """An encoding whose bias, function of the score and mask are traced formulas."""

    def __init__(self, name: str, trace_with: Callable[[dict[str, Source]], tuple[Tracer, Parts]],
                 declarations: Mapping[str, Declaration], heads: int | None) -> None:
        super().__init__(heads)
        self.name = name
        tracer, parts = trace_with(self.declare_all(declarations))
        self.graph, self.parts = tracer.graph, parts
        self._masks = tuple(FormulaMask(self.graph, step, tracer.captured, name)
                            for step in parts.masks)
        steps = [step for step in (parts.score, parts.bias) if step is not None]
        used = {self.graph.sources[n].name for n in self.graph.read_sources(steps)}
        for key, tensor in tracer.captured.items():
            if key in used:
                self.keep(key, tensor)
        self._write()

    def _write(self) -> None:
        attributes = {name: d.attributes() for name, d in self.declarations.items()}
        pieces: list[Piece] = []
        order: list[tuple[str, str]] = []
        for step, op, clause in ((self.parts.score, "pe.score_fn", "score"),
                                 (self.parts.bias, "pe.bias_fn", "bias")):
            if step is None:
                continue
            region = Region(self.graph, step)
            pieces.append(region.piece(op, clause, attributes))
            for number in region.numbers:
                source = self.graph.sources[number]
                order.append((source.name, "flat" if source.flat else
                              "same" if source.kind == REAL else "whole"))
        self._set(join(pieces), order)

    def own_masks(self) -> tuple[Mask, ...]:
        return getattr(self, "_masks", ())

    def bias(self, at: Positions, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        if self.parts.bias is None:
            if self.parts.score is None:
                return torch.zeros((), dtype=at.dtype)
            return super().bias(at, p)
        return Evaluation(self.graph, _inputs(at), p, at.dtype).value(self.parts.bias)

    def score(self, score: torch.Tensor, *, q_start: int | None = None,
              k_start: int = 0) -> torch.Tensor:
        """The formula's new scores [batch, heads, queries, keys] in plain PyTorch, with its bias,
        and -inf where its mask leaves a pair out."""
        batch, heads, q_len, k_len = score.shape
        first = k_start + k_len - q_len if q_start is None else q_start
        at = Positions.of(batch, heads, range(first, first + q_len),
                          range(k_start, k_start + k_len), score.dtype, score.device)
        tensors = {name: getattr(self, name) for name, _ in self._order}
        evaluation = Evaluation(self.graph, {"score": score, **_inputs(at)}, tensors, score.dtype)
        new = score if self.parts.score is None else evaluation.value(self.parts.score)
        new = new if self.parts.bias is None else new + evaluation.value(self.parts.bias)
        for step in self.parts.masks:
            mask = Evaluation(self.graph, _inputs(at), {**tensors, **self._mask_tensors()},
                              score.dtype).value(step)
            new = torch.where(mask, new, -float("inf"))
        return new

    def _mask_tensors(self) -> dict[str, torch.Tensor]:
        return {name: tensor for mask in self._masks for name, tensor in mask.tensors.items()}


class Formula:
    """A formula: called with the number of heads it gives a module with its parameters."""

    def __init__(self, function: Callable[..., Any], inputs: Mapping[str, str],
                 declarations: Mapping[str, Declaration]) -> None:
        self.function, self.inputs, self.declarations = function, dict(inputs), dict(declarations)
        functools.update_wrapper(self, function)
        self._check()

    def _check(self) -> None:
        place = definition(self.function)
        for name, declaration in self.declarations.items():
            if not isinstance(declaration, Declaration):
                raise refuse(f"{name}: expected pe.per_head(...), pe.scalar(...) or "
                             f"pe.vector(...), found {declaration!r}", place)
            if name in _RESERVED or name.startswith("d_"):
                raise refuse(f"{name}: a parameter cannot have this name, which means something "
                             f"else; choose another", place)
        names = [p.name for p in inspect.signature(self.function).parameters.values()
                 if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        own = names[len(self.inputs):]
        if len(names) < len(self.inputs) or set(own) != set(self.declarations):
            expected = ", ".join([*self.inputs, *self.declarations])
            raise refuse(f"expected a function of ({expected}), found one of "
                         f"({', '.join(names)}); each name behind {', '.join(self.inputs)} is a "
                         f"parameter that is declared in the decorator", place)

    @checked(least={"heads": 1}, name="formula", outside=OUTSIDE)
    def __call__(self, heads: int | None = None) -> FormulaEncoding:
        return FormulaEncoding(getattr(self, "__name__", "formula"), self._trace,
                               self.declarations, heads)

    def _trace(self, sources: dict[str, Source]) -> tuple[Tracer, Parts]:
        tracer, result = trace(self.function, self.inputs, sources)
        if "score" in self.inputs:
            return tracer, split(tracer.graph, result)
        return tracer, Parts((), None, result)

    def __repr__(self) -> str:
        return f"<formula {getattr(self, '__name__', '')}; call it with the number of heads>"


def _decorator(name: str, inputs: Mapping[str, str], function: Callable[..., Any] | None,
               declarations: Mapping[str, Declaration]) -> Any:
    if function is None:
        return lambda f: Formula(f, inputs, declarations)
    if not callable(function):
        raise InputError(f"{name}: expected a function, or declarations by name as in "
                         f"@pe.{name}(tau=pe.per_head(16.0)); found {function!r}")
    return Formula(function, inputs, declarations)


@checked(outside=OUTSIDE)
def bias(function: Callable[..., Any] | None = None, /, **declarations: Declaration) -> Any:
    """Makes a formula of (b, h, i, j, parameters) a bias: what is added to the score of the query
    at position i and the key at position j.

    Parameters are declared by name, `@pe.bias(tau=pe.per_head(16.0))`; tensors that the function
    refers to are captured, with gradients. The result is called with the number of heads and gives
    an `Encoding`.
    """
    return _decorator("bias", PAIR, function, declarations)


@checked(outside=OUTSIDE)
def score_mod(function: Callable[..., Any] | None = None, /, **declarations: Declaration) -> Any:
    """Makes a formula of (score, b, h, q, kv, parameters) an encoding, in FlexAttention's order.

    `score + f(...)` is a bias, `torch.where(condition, ..., -inf)` a mask; anything else becomes a
    function of the score.
    """
    return _decorator("score_mod", SCORED, function, declarations)


__all__ = ["CompileError", "Formula", "FormulaEncoding", "FormulaMask", "PAIR", "SCORED", "TRUTH",
           "bias", "score_mod"]
