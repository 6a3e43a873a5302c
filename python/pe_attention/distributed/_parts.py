"""Computes one rank's queries against one rank's keys, block by block, and merges the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from .. import _run
from .._function import Function
from .._merge import softmax_weights, stick_breaking_weights, weighted_sum
from .._run import Call
from ._layout import Chunk
from ._structure import DOCUMENTS, KEYS, QUERIES, SINK, Structure


class Problem(NamedTuple):
    """The data that all parts of a call share. `function` computes the parts; its activations may
    have a wider type than the tensors of the call."""

    call: Call
    function: Function
    structure: Structure
    kinds: Sequence[tuple[str, int]]
    needs: tuple[bool, ...]

    @property
    def keeps(self) -> bool:
        return any(self.needs)

    @property
    def rest(self) -> str | None:
        """Returns the name of the saved tensor with the part of a 16-bit output that rounding
        removes, or None."""
        names = [t.name for t in self.function.saved if t.name.endswith("_output_rest")]
        return names[0] if names else None

    @property
    def type_of_parts(self) -> torch.dtype:
        """Returns the type of the outputs of parts, and of their cotangents."""
        dtype: torch.dtype = _run.DTYPES[self.function.tensor("o").dtype]
        return dtype

    @property
    def type_of_o(self) -> torch.dtype:
        """Returns the type of merged outputs, which are not rounded if backward reads the rest."""
        return torch.float32 if self.rest else self.type_of_parts

    def call_at(self, queries: Chunk, keys: Chunk) -> Call:
        return self.call._replace(q_start=queries.start, k_start=keys.start)

    def arguments(self, own: Sequence[torch.Tensor], travelling: Sequence[torch.Tensor],
                  queries: Chunk, keys: Chunk, is_first: bool) -> list[torch.Tensor]:
        """Returns the arguments of a part, in the types of the function. A sink is added to a
        row's denominator once, in the row's first part."""
        arrived = iter(travelling)
        result = []
        for argument, tensor, (kind, axis) in zip(self.function.arguments, own, self.kinds,
                                                  strict=True):
            if kind == QUERIES:
                tensor = tensor.narrow(axis, queries.offset, queries.length)
            elif kind == KEYS:
                tensor = next(arrived).narrow(axis, keys.offset, keys.length)
            elif kind == SINK and not is_first:
                tensor = torch.full_like(tensor, -torch.inf)
            elif kind == DOCUMENTS:  # the boundaries of this call
                tensor = tensor.clamp(max=max(queries.stop, keys.stop))
            result.append(tensor.to(_run.DTYPES[argument.dtype]))
        return result

    def logs(self) -> list[str]:
        """Returns the names of the logarithms of denominators: the result, and the one that
        backward reads."""
        saved = [t.name for t in self.function.saved] if self.keeps else []
        return ["lse", *(name for name in saved if name.endswith("_lse"))]

    def travelling(self, own: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        return [t for t, (kind, _) in zip(own, self.kinds, strict=True) if kind == KEYS]


@dataclass
class Part:
    """A block of queries against a block of keys, from the rank `source`.

    `kept` maps names to the tensors that the backward pass needs: the saved tensors of forward
    except those that are merged. Under stick-breaking these include the part's output, the
    logarithm of the mass that it leaves, and `BEFORE`, the mass that it receives.
    """

    keys: Chunk
    source: int
    is_first: bool
    kept: dict[str, torch.Tensor] = field(default_factory=dict)


BEFORE = "mass before"


@dataclass
class Rows:
    """The accumulated results of a chunk of queries. Under softmax, parts are merged as they
    arrive; under stick-breaking, when all are available, nearest first."""

    problem: Problem
    queries: Chunk
    parts: list[Part] = field(default_factory=list)
    # Merged results: the output, in float32 if it has two parts or a rest, and the logarithms of
    # denominators in float64 by name. The one that backward reads omits terms that depend only on
    # the query.
    o: torch.Tensor | None = None
    logs: dict[str, torch.Tensor] = field(default_factory=dict)
    type_of_logs: torch.dtype = torch.float32

    def add(self, own: Sequence[torch.Tensor], travelling: Sequence[torch.Tensor], keys: Chunk,
            source: int) -> None:
        problem = self.problem
        part = Part(keys, source, not self.parts)
        arguments = problem.arguments(own, travelling, self.queries, keys, part.is_first)
        outputs = _run.run_forward(arguments, problem.call_at(self.queries, keys), problem.keeps)
        names = [t.name for t in _run.outputs_of(problem.function, problem.keeps)]
        part.kept = dict(zip(names, outputs, strict=True))
        if not problem.structure.stick_breaking:
            o, logs = part.kept.pop("o"), {n: part.kept.pop(n) for n in problem.logs()}
            if problem.keeps and problem.rest:
                o = o.float() + part.kept.pop(problem.rest)
            self.type_of_logs = logs["lse"].dtype
            self._merge(o, {name: log.double() for name, log in logs.items()})
        self.parts.append(part)

    def _merge(self, o: torch.Tensor, logs: dict[str, torch.Tensor]) -> None:
        if self.o is None:
            self.o, self.logs = o, logs
            return
        weights, lse = softmax_weights((self.logs["lse"], logs["lse"]))
        self.o = weighted_sum([self.o, o], weights)
        self.logs = {name: lse if name == "lse" else
                     softmax_weights((self.logs[name], log))[1] for name, log in logs.items()}

    def finish(self) -> torch.Tensor | None:
        """Returns the output, or None if no key takes part."""
        if self.problem.structure.stick_breaking and self.parts:
            self.parts.sort(key=lambda part: part.keys.start, reverse=True)
            weights, _ = stick_breaking_weights(tuple([p.kept["lse"] for p in self.parts]))
            self.o = weighted_sum([part.kept["o"] for part in self.parts], weights)
            for part, weight in zip(self.parts, weights, strict=True):
                part.kept[BEFORE] = weight.to(self.o.dtype)
        return self.o


def cotangents(problem: Problem, parts: Sequence[Part], d_o: torch.Tensor) \
        -> list[list[torch.Tensor | None]]:
    """Returns the cotangents of each part's results, o and lse, for the cotangent of the output.

    Under softmax, backward passes on merged results use the cotangent unchanged. Under
    stick-breaking, parts are in order from the nearest, and the mass that a part leaves scales all
    farther parts.
    """
    if not problem.structure.stick_breaking:
        return [[d_o, None] for _ in parts]
    result: list[list[torch.Tensor | None]] = []
    farther = torch.zeros(d_o.shape[:3], dtype=torch.float64, device=d_o.device)
    for part in reversed(parts):
        d_part = d_o * part.kept[BEFORE][..., None]
        result.append([d_part.to(d_o.dtype), farther.to(part.kept["lse"].dtype)])
        farther = farther + (part.kept["o"] * d_part).sum(-1, dtype=torch.float64)
    return result[::-1]


def gradients(problem: Problem, own: Sequence[torch.Tensor], travelling: Sequence[torch.Tensor],
              queries: Chunk, part: Part, merged: dict[str, torch.Tensor],
              given: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """Returns a gradient per argument of the part, or None where no gradient is needed."""
    arguments = problem.arguments(own, travelling, queries, part.keys, part.is_first)
    kept = {**part.kept, **merged}
    if problem.rest:  # backward adds the rounded output and the rest
        whole = merged["o"]
        kept["o"] = whole.to(problem.type_of_parts)
        kept[problem.rest] = (whole - kept["o"]).to(problem.type_of_parts)
    outputs = _run.outputs_of(problem.function, True)
    read = [kept[t.name] for t in outputs if "backward" in t.read_by]
    found = iter(_run.run_backward(given, [*arguments, *read],
                                   problem.call_at(queries, part.keys), problem.needs))
    return [next(found) if need else None for need in problem.needs]
