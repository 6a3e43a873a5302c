"""The graph of a traced formula: numbered steps, each an integer, a real number or a boolean."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

# The kinds: integers (positions, heads, indices), real numbers, and booleans.
WHOLE, REAL, TRUTH = "whole", "real", "truth"


@dataclass(frozen=True)
class Place:
    """The location of a step in the user's file; lines and columns start at 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A tensor that a formula reads: a declared parameter or a captured tensor.

    `flat` views the tensor as one row, for the weight of a layer with one input. It is a separate
    argument.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    per_head: bool = False
    captured: bool = False
    flat: bool = False


@dataclass(frozen=True)
class Layers:
    """The network of a step `mlp`, as numbers of sources (weight, bias, weight, bias, ...)."""

    sources: tuple[int, ...]
    activation: str
    final_activation: str


@dataclass(frozen=True)
class Node:
    """One step. `data` is an attribute of the op: a constant, a name or a source."""

    op: str
    operands: tuple[int, ...]
    kind: str
    data: bool | int | float | str | Layers | None = None
    place: Place | None = field(default=None, compare=False)


@dataclass
class Graph:
    """Steps in order. `inputs` are the names of the formula's inputs (b, h, i, j, score)."""

    inputs: tuple[str, ...]
    nodes: list[Node] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    place: Place | None = None

    def add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def source(self, source: Source) -> int:
        """Returns the number of a source, and adds it if it is new."""
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def needed(self, results: Iterable[int]) -> list[int]:
        """Returns the steps that the results depend on, including the results, in order."""
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
        """Returns the numbers of the sources that the results read, in the order of first use."""
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
