"""What tracing a formula gives: numbered steps, each a number of one of three kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# A whole number (positions, heads, indices), a real number, or a truth value.
WHOLE, REAL, TRUTH = "whole", "real", "truth"


@dataclass(frozen=True)
class Place:
    """Where in the user's file a step was written; lines and columns count from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A tensor that a formula reads: a parameter by its name, or a captured tensor.

    `flat` is the same tensor as one row (the weight of a layer with one input), which is an
    argument of its own.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    per_head: bool = False
    captured: bool = False
    flat: bool = False


@dataclass(frozen=True)
class Layers:
    """The network of a step `mlp`: sources by number (weight, bias, weight, bias, ...)."""

    sources: tuple[int, ...]
    activation: str
    final_activation: str


@dataclass(frozen=True)
class Node:
    """One step. `data` is what the op needs beyond numbers: a constant, a name, a source."""

    op: str
    operands: tuple[int, ...]
    kind: str
    data: bool | int | float | str | Layers | None = None
    place: Place | None = field(default=None, compare=False)


@dataclass
class Graph:
    """Steps in order; `inputs` are the names of the formula's own numbers (b, h, i, j, score)."""

    inputs: tuple[str, ...]
    nodes: list[Node] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    place: Place | None = None

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def source(self, source: Source) -> int:
        """The number of the source, which is added if it is new."""
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def needed(self, results: Iterable[int]) -> list[int]:
        """The steps that the results need, themselves included, in order."""
        found: set[int] = set()
        waiting = list(results)
        while waiting:
            step = waiting.pop()
            if step not in found:
                found.add(step)
                waiting.extend(self.nodes[step].operands)
        return sorted(found)

    def reads_input(self, result: int, name: str) -> bool:
        return any(self.nodes[n].op == "input" and self.nodes[n].data == name
                   for n in self.needed([result]))

    def read_sources(self, results: Iterable[int]) -> list[int]:
        """The numbers of the sources that the results read, in the order of first use."""
        used: list[int] = []
        for step in self.needed(results):
            data = self.nodes[step].data
            numbers: tuple[int, ...] = ()
            if isinstance(data, Layers):
                numbers = data.sources
            elif self.nodes[step].op == "read":
                assert isinstance(data, int)
                numbers = (data,)
            used.extend(n for n in numbers if n not in used)
        return used
