"""Implements `bias` and `score_mod`: encodings written as formulas of a query and a key."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ._arguments import OUTSIDE, checked
from ._assemble import Piece, dump, join
from ._declare import Declaration
from ._dense import Evaluation, Positions
from ._errors import CompileError, InputError
from ._masks import Mask
from ._module import SIZES, Encoding
from ._split import Parts, split
from ._tensors import as_int32, constant_in_graphs
from ._trace import REAL, TRUTH, WHOLE, Graph, Region, Source, refuse, refuse_compiled, trace
from ._trace.graph import Layers, Node
from ._trace.place import definition
from ._trace.surroundings import Surroundings

if TYPE_CHECKING:
    from ._trace.tracer import Tracer

PAIR = {"b": WHOLE, "h": WHOLE, "i": WHOLE, "j": WHOLE}
SCORED = {"score": REAL, **PAIR}
# Attribute names of encodings.
_RESERVED = frozenset(dir(Encoding)) | {"heads", "head_dim", "value_dim", "declarations"}


class FormulaMask(Mask):
    """A mask defined by a formula of positions and integer tensors."""

    def __init__(self, graph: Graph, result: int, tensors: Mapping[str, torch.Tensor],
                 name: str) -> None:
        self.graph, self.result, self.name = graph, result, name
        region = Region(graph, result)
        for number in region.numbers:
            source = graph.sources[number]
            if source.kind == REAL:
                raise refuse(f"{source.name}: expected integers or booleans, because a mask "
                             f"has no gradient; found real numbers. Compare them outside the "
                             f"formula, or use a bias of -inf", graph.place)
        self.tensors = {graph.sources[n].name: tensors[graph.sources[n].name]
                        for n in region.numbers}
        self.structure = dump(region.piece("pe.mask_fn", "mask", {}))

    def follow(self) -> None:
        """Traces the formula again if a value that its function refers to was replaced."""

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return tuple([as_int32(name, tensor) for name, tensor in self.tensors.items()])

    def __invert__(self) -> Mask:
        node = self.graph.nodes[self.result]
        step = node.operands[0] if node.op == "not" else \
            self.graph.add(Node("not", (self.result,), TRUTH))
        name = self.name[1:] if self.name[:1] == "~" else f"~{self.name}"
        return FormulaMask(self.graph, step, self.tensors, name)

    @checked(least=SIZES)
    def dense(self, q_len: int, k_len: int, *, q_start: int | None = None, k_start: int = 0,
              batch: int = 1, heads: int | None = None) -> torch.Tensor:
        """Returns the mask as a boolean tensor [batch, heads, q_len, k_len]."""
        self.follow()
        heads = heads or counted_heads(self.graph, [self.result]) or 1
        if heads == 1 and self.graph.reads_input(self.result, "h"):
            raise InputError("dense: expected the number of heads: the mask depends on h; write "
                             "heads=8")
        first = k_start + k_len - q_len if q_start is None else q_start
        device = next((t.device for t in self.tensors.values()), None)
        at = Positions.of(batch, heads, range(first, first + q_len),
                          range(k_start, k_start + k_len), torch.float32, device)
        value = Evaluation(self.graph, _inputs(at), self.tensors, at.dtype).value(self.result)
        return value.expand(batch, heads, q_len, k_len)

    def __repr__(self) -> str:
        return f"~pe.mask({self.name[1:]})" if self.name[:1] == "~" else f"pe.mask({self.name})"


def _is_same_memory(one: object, other: object) -> bool:
    return isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and \
        one.shape == other.shape and one.numel() > 0 and one.data_ptr() == other.data_ptr()


def counted_heads(graph: Graph, steps: Sequence[int]) -> int | None:
    """Returns the size of the axes of captured tensors that are indexed by h."""
    found: dict[int, str] = {}
    for step in graph.needed(steps):
        node = graph.nodes[step]
        if node.op == "read" and isinstance(node.data, int):
            source = graph.sources[node.data]
            for axis, operand in enumerate(node.operands):
                index = graph.nodes[operand]
                if source.captured and index.op == "input" and index.data == "h" and \
                        source.shape[axis] != 1:
                    found.setdefault(source.shape[axis], source.name)
        elif isinstance(node.data, Layers):
            source = graph.sources[node.data.sources[-2]]
            if source.captured and source.shape[0] != 1:
                found.setdefault(source.shape[0], source.name)
    if len(found) > 1:
        raise InputError("heads: expected tensors with the same number of heads, found " +
                         " and ".join(f"{n} of {name}" for n, name in found.items()))
    return next(iter(found), None)


def _inputs(at: Positions) -> dict[str, torch.Tensor]:
    return {"b": at.b, "h": at.h, "i": at.i, "j": at.j}


class _Following:
    """Retraces a formula when a value that its function refers to is replaced."""

    def __init__(self, trace_again: Callable[[], Any]) -> None:
        self.trace_again = trace_again
        self.surroundings: list[Surroundings] = []

    def note(self, tracer: Tracer) -> None:
        self.surroundings = tracer.surroundings
        for surroundings in self.surroundings:
            surroundings.watch_only(tracer.captured.values())

    def has_changed(self) -> bool:
        """Returns whether the formula must be traced again."""
        return any([surroundings.changed() is not None for surroundings in self.surroundings])


@constant_in_graphs
def _trace_again(owner: FollowingMask | Traced) -> bool:
    """Traces a formula again. Under torch.compile this runs eagerly, and the values compared before
    it guard the graph."""
    owner.trace_again()
    return True


class FollowingMask(FormulaMask):
    """A mask that is traced again when a value that its function refers to is replaced."""

    def __init__(self, trace_mask: Callable[[], tuple[Tracer, int]], name: str) -> None:
        self._following: _Following | None = _Following(trace_mask)
        self._structure, self.name = "", name
        self.trace_again()

    def trace_again(self) -> None:
        assert self._following is not None
        tracer, result = self._following.trace_again()
        super().__init__(tracer.graph, result, tracer.captured, self.name)
        self._following.note(tracer)

    def follow(self) -> None:
        if self._following is not None and self._following.has_changed():
            _trace_again(self)

    @property
    def structure(self) -> str:
        self.follow()
        return self._structure

    @structure.setter
    def structure(self, text: str) -> None:
        self._structure = text


    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_following": None}


class Traced(Encoding):
    """An encoding of traced formulas, with declared parameters and captured tensors.

    While the function is available, the formula is traced again when a number or tensor that it
    refers to is replaced. Copies and unpickled encodings have separate tensors and no function.
    """

    name: str

    def begin(self, trace_with: Callable[[dict[str, Source]], tuple[Tracer, Any]],
              declarations: Mapping[str, Declaration]) -> None:
        """Declares the parameters and traces the formula for the first time."""
        for key, declaration in declarations.items():
            self.declare(key, declaration)
        sources = {key: Source(key, tuple(getattr(self, key).shape), REAL,
                               declaration.sizes[:1] == ("heads",))
                   for key, declaration in declarations.items()}
        # The names of all captured tensors, and of those that are parameters of an enclosing
        # module.
        self._captured: tuple[str, ...] = ()
        self._owned: frozenset[str] = frozenset()
        self._following: _Following | None = _Following(lambda: trace_with(sources))
        self.trace_again()

    def trace_again(self) -> None:
        assert self._following is not None
        tracer, traced = self._following.trace_again()
        self.take(tracer, traced)
        self._following.note(tracer)
        owned = {number for s in tracer.surroundings for number in s.owned()}
        self._owned = frozenset(key for key, t in tracer.captured.items() if id(t) in owned)

    def take(self, tracer: Tracer, traced: Any) -> None:
        """Updates the encoding from a trace."""
        raise NotImplementedError

    def check_declarations(self, graph: Graph, steps: Sequence[int]) -> None:
        """Raises an error if the formula does not read a declared parameter."""
        used = {graph.sources[n].name for n in graph.read_sources(steps)}
        for key in self.declarations:
            if key not in used:
                raise refuse(f"{key} is declared but not read by the formula; use it, or remove "
                             f"the declaration", graph.place)

    def keep(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Registers captured tensors without copying them, so that gradients accumulate in the
        originals."""
        for name in self._captured:
            if name not in tensors or getattr(self, name) is not tensors[name]:
                delattr(self, name)
        for name, tensor in tensors.items():
            if name in self._parameters or name in self._buffers:
                continue
            if isinstance(tensor, nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor, persistent=False)
        self._captured = tuple(tensors)

    def follow(self) -> None:
        if self._following is not None and self._following.has_changed():
            _trace_again(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_following": None}

    def __copy__(self) -> Traced:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        for name in ("_parameters", "_buffers", "_programs"):
            made.__dict__[name] = dict(self.__dict__[name])
        if self._following is not None:
            made._following = copy.copy(self._following)
        return made

    # Parameters of an enclosing module are part of that module's state. They are omitted here if
    # the state dict has them already, and may be missing when it is loaded.

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str,
                            keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in self._owned:
            own = destination.get(prefix + name)
            if own is not None and any(_is_same_memory(own, other) for key, other in
                                       destination.items() if key != prefix + name):
                del destination[prefix + name]

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, *rest)
        missing: list[str] = rest[2]
        missing[:] = [key for key in missing if key not in {prefix + name for name in self._owned}]

    def _get_name(self) -> str:
        return self.name


class FormulaEncoding(Traced):
    """An encoding whose bias, score function and mask are traced formulas."""

    def __init__(self, name: str, trace_with: Callable[[dict[str, Source]], tuple[Tracer, Parts]],
                 declarations: Mapping[str, Declaration], heads: int | None) -> None:
        super().__init__(heads)
        self.name = name
        self.begin(trace_with, declarations)

    def take(self, tracer: Tracer, traced: Parts) -> None:
        parts = traced
        self.check_declarations(tracer.graph, [step for step in (*parts.masks, parts.score,
                                                                 parts.bias) if step is not None])
        self.graph, self.parts = tracer.graph, parts
        self._masks = tuple(FormulaMask(self.graph, step, tracer.captured, self.name)
                            for step in parts.masks)
        steps = [step for step in (parts.score, parts.bias) if step is not None]
        used = {self.graph.sources[n].name for n in self.graph.read_sources(steps)}
        self.keep({key: t for key, t in tracer.captured.items() if key in used})
        counted = counted_heads(self.graph, [*steps, *parts.masks])
        if self.heads and counted and self.heads != counted:
            raise InputError(f"heads: expected {counted}, the size of the formula's tensors, found "
                             f"{self.heads}")
        self._write()

    def heads_of(self, data: Mapping[str, torch.Tensor]) -> int | None:
        steps = [s for s in (self.parts.score, self.parts.bias) if s is not None]
        return self.heads or counted_heads(self.graph, steps)

    def reads_heads(self) -> bool:
        return any(self.graph.reads_input(step, "h") for step in
                   (self.parts.score, self.parts.bias) if step is not None)

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
        """Applies the formula to scores [batch, heads, queries, keys] in plain PyTorch, including
        its bias; masked pairs become -inf."""
        batch, heads, q_len, k_len = score.shape
        first = k_start + k_len - q_len if q_start is None else q_start
        at = Positions.of(batch, heads, range(first, first + q_len),
                          range(k_start, k_start + k_len), score.dtype, score.device)
        tensors = {name: self.parameter(name) for name, _ in self._order}
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
    """A formula. Calling it with the number of heads returns a module with its parameters."""

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
                raise refuse(f"{name}: this name is reserved; choose another name for the "
                             f"parameter", place)
        names = [p.name for p in inspect.signature(self.function).parameters.values()
                 if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        own = names[len(self.inputs):]
        if len(names) < len(self.inputs) or set(own) != set(self.declarations):
            expected = ", ".join([*self.inputs, *self.declarations])
            raise refuse(f"expected a function of ({expected}), found one of "
                         f"({', '.join(names)}); each name after {', '.join(self.inputs)} is a "
                         f"parameter declared in the decorator", place)

    @checked(least={"heads": 1}, name="formula", outside=OUTSIDE)
    def __call__(self, heads: int | None = None) -> FormulaEncoding:
        refuse_compiled()
        return FormulaEncoding(getattr(self, "__name__", "formula"),
                               functools.partial(self._trace, heads), self.declarations, heads)

    def _trace(self, heads: int | None, sources: dict[str, Source]) -> tuple[Tracer, Parts]:
        tracer, result = trace(self.function, self.inputs, sources, heads=heads)
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
    """Converts a function of (b, h, i, j, parameters) to a formula whose value is added to the
    score of the query at position i and the key at position j.

    Parameters are declared by name, `@pe.bias(tau=pe.per_head(16.0))`; tensors that the function
    refers to are captured, with gradients. Calling the result with the number of heads returns an
    `Encoding`.
    """
    return _decorator("bias", PAIR, function, declarations)


@checked(outside=OUTSIDE)
def score_mod(function: Callable[..., Any] | None = None, /, **declarations: Declaration) -> Any:
    """Converts a function of (score, b, h, q, kv, parameters) to a formula, with FlexAttention's
    order of arguments.

    `score + f(...)` becomes a bias and `torch.where(condition, ..., -inf)` a mask; any other
    expression becomes a score function.
    """
    return _decorator("score_mod", SCORED, function, declarations)


__all__ = ["CompileError", "Formula", "FormulaEncoding", "FormulaMask", "PAIR", "SCORED", "TRUTH",
           "bias", "score_mod"]
