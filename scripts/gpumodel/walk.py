"""Finds the instructions that a warp executes in the main loop of a kernel.

    trace = walk(kernel, counts, steps=20)

Every basic block has a frequency, its executions per step. Counts of the PTX machine, by line,
give them for pe's kernels; without counts the path with the most work through the loop has
frequency 1. A branch then goes each way as often as the frequencies ask, spread evenly, so that a
block with frequency 1/4 is in every fourth step.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from re import findall, search

from gpumodel.chips import ModelError, kind_of
from gpumodel.sass import Instruction, Kernel

Ways = dict[int, list[tuple[int, float]]]  # the successors of a block, with their shares


@dataclass
class Trace:
    code: list[Instruction]
    marks: list[int]  # the indices in `code` at which a step begins

    @property
    def steps(self) -> list[Instruction]:
        return self.code[self.marks[0]:self.marks[-1]]

    @property
    def products(self) -> float:
        """Matrix instructions of a step."""
        return products_of(self.steps) / (len(self.marks) - 1)

    @property
    def barriers(self) -> tuple[int, ...]:
        """The barriers of every step."""
        return tuple(sum(i.name == "BAR" for i in self.code[begin:end])
                     for begin, end in pairwise(self.marks))


def products_of(code: list[Instruction]) -> int:
    return sum(kind_of(i.name) == "matrix" for i in code)


def blocks_of(code: list[Instruction]) -> list[list[Instruction]]:
    """Returns the basic blocks."""
    ends = ("BRA", "JMP", "CALL", "RET", "EXIT", "BRX", "BREAK")
    blocks: list[list[Instruction]] = []
    for n, i in enumerate(code):
        if not n or i.labels or code[n - 1].name in ends:
            blocks.append([])
        blocks[-1].append(i)
    return blocks


class Graph:
    """The basic blocks of a kernel, the blocks that follow each of them in `exits`, and those that
    they call."""

    def __init__(self, code: list[Instruction]) -> None:
        self.blocks = blocks_of(code)
        self.exits: list[list[int]] = []
        self.calls: dict[int, int] = {}
        labels = {label: b for b, block in enumerate(self.blocks) for label in block[0].labels}
        for b, block in enumerate(self.blocks):
            last = block[-1]
            to = [labels[x] for x in findall(r"`\((\.L_\w+)\)", last.operands) if x in labels]
            exits = [b + 1] if b + 1 < len(self.blocks) else []
            jumps = last.name in ("BRA", "JMP") or (last.name == "CALL" and last.predicate)
            if jumps and to and ".DIV" not in last.opcode:
                is_conditional = last.predicate or search(r"^!?U?P", last.operands)
                exits = to + exits if is_conditional else to
            elif last.name in ("EXIT", "RET", "BRX", "JMP") and last.predicate in ("", "PT"):
                exits = []
            elif last.name == "CALL" and to:
                self.calls[b] = to[0]
            self.exits.append(exits)


def main_loop(graph: Graph, weights: list[float | None]) -> int | None:
    """Returns the first block of the smallest loop with the most matrix instructions, or null if
    there is none. Blocks with no weight do not count."""
    def worth(loop: tuple[int, int]) -> tuple[int, int]:
        first, last = loop
        body = [i for b in range(first, last + 1) if weights[b] for i in graph.blocks[b]]
        return products_of(body), first - last

    loops = [(to, b) for b, exits in enumerate(graph.exits) for to in exits if to <= b]
    best = max(loops, key=worth, default=None)
    return best[0] if best and worth(best)[0] else None


def counted(graph: Graph, counts: Mapping[int, int]) -> list[float | None]:
    """Returns the executions of every block, the upper median over its lines, or null if they are
    not known. The lines of control instructions other than barriers are not reliable, nor are those
    of spills and special registers, which ptxas reads again far from their line. A branch that it
    has turned into predicates leaves lines that were not executed in a block that was, and so does
    an instruction that it has moved into a loop."""
    result: list[float | None] = []
    for block in graph.blocks:
        known = [i for i in block if i.line and i.name not in ("S2R", "LDL", "STL")
                 and (i.name == "BAR" or kind_of(i.name) != "control")]
        found = float(statistics.median_high(counts.get(i.line, 0) for i in known) if known else 0)
        is_known = found or (known and not any(i.predicate for i in known))
        result.append(found if is_known else None)
    return result


def steady(graph: Graph, head: int) -> Ways:
    """Returns the path through the loop with the most matrix instructions, then the most copies to
    shared memory, then the fewest barriers, then the most accesses of global memory, then the
    fewest instructions."""
    points = {"LDGSTS": 1e4, "BAR": -300.0, "LDG": 1.0, "STG": 1.0, "RED": 1.0}

    def worth(i: Instruction) -> float:
        if i.predicate == "!PT":
            return -0.01
        return 1e6 if kind_of(i.name) == "matrix" else points.get(i.name, -0.01)

    best = {head: (0.0, head)}  # the worth of the rest of the path, and the next block
    for b in range(max(b for b, exits in enumerate(graph.exits) if head in exits), head - 1, -1):
        known = [(best[to][0], to) for to in graph.exits[b] if to == head or to > b and to in best]
        if known:
            value, to = max(known)
            best[b] = value + sum(map(worth, graph.blocks[b])), to
    return {b: [(to, 1.0)] for b, (_, to) in best.items()}


def flows(graph: Graph, weights: list[float | None], head: int, polls: Set[int]) -> Ways:
    """Returns the successors of the blocks that reach `head`. A block is left as often as
    entered, which gives the executions of most edges; the rest are in proportion to the blocks."""
    inside = {head}
    while entries := {b for b, to in enumerate(graph.exits) if inside & {*to}} - inside:
        inside |= entries
    exits = {b: [x for x in dict.fromkeys(graph.exits[b]) if x in inside] for b in sorted(inside)}
    sides = [(b, [(x, b) for x in exits if b in exits[x]]) for b in exits if b != head]
    sides += [(b, [(b, x) for x in to]) for b, to in exits.items()]
    sides.sort(key=lambda side: len(side[1]))  # edges of blocks with few edges come first
    edges: dict[tuple[int, int], float] = {}
    weights, changes = list(weights), True
    while changes:
        changes = False
        for b, side in sides:
            left = [edge for edge in side if edge not in edges]
            known, weight = sum(edges.get(edge, 0.0) for edge in side), weights[b]
            if not left and weight is None:
                weights[b], changes = known, True
            elif len(left) == 1 and weight is not None:
                edges[left[0]], changes = max(0.0, weight - known), True
                break
    result: Ways = {}
    for b, to in exits.items():
        if any(i.line in polls for i in graph.blocks[b]):  # the first poll succeeds
            to = [x for x in to if x > b] or to
        share = [edges.get((b, x), weights[x] or 0.0) for x in to]
        total = sum(share)
        result[b] = [(x, n / total if total > 0 else 1 / len(to)) for x, n in zip(to, share)]
    return result


def follow(graph: Graph, head: int, ways: Ways, steps: int) -> Trace:
    """Returns the instructions of `steps` steps, or fewer if the ways leave the loop."""
    trace = Trace([], [])
    owed: dict[tuple[int, int], float] = defaultdict(float)
    b, returns, limit = head, list[int](), 60 * steps * sum(map(len, graph.blocks))
    while len(trace.marks) <= steps and len(trace.code) < limit:
        if b == head:
            trace.marks.append(len(trace.code))
        trace.code += graph.blocks[b]
        to = ways.get(b) or [(x, 1.0) for x in graph.exits[b][:1]]
        if b in graph.calls:
            returns.append(graph.exits[b][0])
            b = graph.calls[b]
        elif trace.code[-1].name == "RET" and returns:
            b = returns.pop()
        elif to:
            for x, share in to:
                owed[b, x] += share
            came, b = b, max((x for x, _ in to), key=lambda x: owed[b, x])
            owed[came, b] -= 1
        else:
            break
    return trace


def walk(kernel: Kernel, counts: Mapping[int, int] | None = None, polls: Set[int] = frozenset(),
         steps: int = 20) -> Trace:
    """Returns what a warp executes in `steps` steps of the main loop. `counts` are executions of
    lines, and `polls` the lines that repeat until another CTA has stored. Refuses a kernel without
    such a loop, and a path with too many unknown instructions."""
    graph = Graph(kernel.code)
    weights: list[float | None] = [1.0] * len(graph.blocks)
    if counts:
        weights = counted(graph, counts)
    head = main_loop(graph, weights)
    if head is None:
        raise ModelError(f"{kernel.name}: expected a loop with matrix instructions, found none")
    ways = flows(graph, weights, head, polls) if counts else steady(graph, head)
    trace = follow(graph, head, ways, steps)
    if len(trace.marks) <= steps:
        raise ModelError(f"{kernel.name}: expected {steps} steps of the main loop, found "
                         f"{max(0, len(trace.marks) - 1)} in {len(trace.code)} instructions")
    unknown = Counter(i.opcode for i in trace.code if not kind_of(i.name))
    if unknown.total() > 0.01 * len(trace.code):
        raise ModelError(f"{kernel.name}: expected known instructions, found on the path "
                         + ", ".join(f"{n} {opcode}" for opcode, n in unknown.most_common()))
    return trace
