"""Finds the instructions that a warp executes in the main loop of a kernel.

Every basic block has a weight, its executions. Counts of the PTX machine, by line, give the weights
for pe's kernels; a branch then goes each way as often as they ask, spread evenly, so that a block
with a fourth of the executions is in every fourth step. Without counts, a warp follows the path
with the most work through the loop.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from statistics import median_high
from typing import NamedTuple

from gpumodel.sass import Instruction, Kernel, ModelError

STEPS = 20  # of a trace
ENDS = ("BRA", "JMP", "CALL", "RET", "EXIT", "BRX", "BREAK")  # of basic blocks
Ways = dict[int, list[tuple[int, float]]]  # the successors of a block, with their shares


class Trace(NamedTuple):
    code: list[Instruction]
    marks: list[int]  # the indices in `code` at which a step begins, and the last one ends


class Graph:
    """The basic blocks of a kernel, the blocks that follow each of them in `exits`, and those that
    they call."""

    def __init__(self, kernel: Kernel) -> None:
        self.name = kernel.name
        self.blocks: list[list[Instruction]] = []
        for i in kernel.code:
            if not self.blocks or i.labels or self.blocks[-1][-1].name in ENDS:
                self.blocks.append([])
            self.blocks[-1].append(i)
        self.exits: list[list[int]] = []
        self.calls: dict[int, int] = {}
        labels = {label: b for b, block in enumerate(self.blocks) for label in block[0].labels}
        for b, block in enumerate(self.blocks):
            last = block[-1]
            to = [labels[x] for x in re.findall(r"`\((\.L_\w+)\)", last.operands) if x in labels]
            exits = [b + 1] if b + 1 < len(self.blocks) else []
            jumps = last.name in ("BRA", "JMP") or (last.name == "CALL" and last.predicate)
            if jumps and to and ".DIV" not in last.opcode:
                is_conditional = last.predicate or re.search(r"^!?U?P", last.operands)
                exits = to + exits if is_conditional else to
            elif last.name in ("EXIT", "RET", "BRX", "JMP") and last.predicate in ("", "PT"):
                exits = []
            elif last.name == "CALL" and to:
                self.calls[b] = to[0]
            self.exits.append(exits)

    def counted(self, counts: Mapping[int, int]) -> dict[int, float]:
        """Returns the executions of the blocks where they are known, the upper median over the
        lines. Lines of control instructions other than barriers are not reliable, nor those of
        spills and special registers, which ptxas reads again far from their line. A branch that it
        has turned into predicates leaves lines that were not executed in a block that was, and so
        does an instruction that it has moved into a loop."""
        result = {}
        for b, block in enumerate(self.blocks):
            known = [i for i in block if i.line and i.name not in ("S2R", "LDL", "STL")
                     and (i.name == "BAR" or i.kind != "control")]
            found = median_high([counts.get(i.line, 0) for i in known] or [0])
            if found or (known and not any(i.predicate for i in known)):
                result[b] = float(found)
        return result

    def main_loop(self, weights: Mapping[int, float]) -> int:
        """Returns the first block of the smallest loop with the most matrix instructions. Blocks
        with no weight do not count."""
        best, head = (0, 1), None
        for last, exits in enumerate(self.exits):
            for first in exits:
                body = [i for b in range(first, last + 1) if weights.get(b) for i in self.blocks[b]]
                worth = sum(i.kind == "matrix" for i in body), first - last
                if first <= last and worth > best:
                    best, head = worth, first
        if head is None:
            raise ModelError(f"{self.name}: expected a loop with matrix instructions, found none")
        return head

    def steady(self, head: int) -> Ways:
        """Returns the path through the loop with the most matrix instructions, then the most copies
        to shared memory, then the fewest barriers, then the most accesses of global memory, then
        the fewest instructions."""
        worth = {"matrix": 1e6, "LDGSTS": 1e4, "BAR": -300.0, "LDG": 1.0, "STG": 1.0, "RED": 1.0}
        best = {head: (0.0, head)}  # the worth of the rest of the path, and the next block
        for b in range(max(b for b, to in enumerate(self.exits) if head in to), head - 1, -1):
            known = [(best[x][0], x) for x in self.exits[b] if x == head or x > b and x in best]
            if known:
                value, to = max(known)
                best[b] = value + sum(
                    -0.01 if i.predicate == "!PT" else worth.get(i.kind, worth.get(i.name, -0.01))
                    for i in self.blocks[b]), to
        return {b: [(to, 1.0)] for b, (_, to) in best.items()}

    def flows(self, weights: dict[int, float], head: int, polls: Set[int]) -> Ways:
        """Returns the successors of the blocks that reach `head`. A block is left as often as
        entered, which gives the executions of most edges; the rest are in proportion to the blocks.
        A block with a line of `polls` is left at once."""
        inside = {head}
        while entries := {b for b, to in enumerate(self.exits) if inside & {*to}} - inside:
            inside |= entries
        exits = {b: [x for x in dict.fromkeys(to) if x in inside]
                 for b, to in enumerate(self.exits) if b in inside}
        sides = [(b, [(x, b) for x in exits if b in exits[x]]) for b in exits if b != head]
        sides += [(b, [(b, x) for x in to]) for b, to in exits.items()]
        sides.sort(key=lambda side: len(side[1]))  # edges of blocks with few edges come first
        edges: dict[tuple[int, int], float] = {}
        weights, changes = dict(weights), True
        while changes:
            changes = False
            for b, side in sides:
                left = [edge for edge in side if edge not in edges]
                known = sum(edges.get(edge, 0.0) for edge in side)
                if not left and b not in weights:
                    weights[b], changes = known, True
                elif len(left) == 1 and b in weights:
                    edges[left[0]], changes = max(0.0, weights[b] - known), True
                    break
        result: Ways = {}
        for b, to in exits.items():
            if any(i.line in polls for i in self.blocks[b]):
                to = [x for x in to if x > b] or to
            share = [edges.get((b, x), weights.get(x, 0.0)) for x in to]
            total = sum(share)
            result[b] = [(x, n / total if total > 0 else 1 / len(to)) for x, n in zip(to, share)]
        return result

    def follow(self, head: int, ways: Ways) -> Trace:
        """Returns the instructions of a trace, of fewer steps if the ways leave the loop."""
        trace, owed = Trace([], []), defaultdict[tuple[int, int], float](float)
        b, returns, limit = head, list[int](), 60 * STEPS * sum(map(len, self.blocks))
        while len(trace.marks) <= STEPS and len(trace.code) < limit:
            if b == head:
                trace.marks.append(len(trace.code))
            trace.code.extend(self.blocks[b])
            to = ways.get(b) or [(x, 1.0) for x in self.exits[b][:1]]
            if b in self.calls:
                returns.append(self.exits[b][0])
                b = self.calls[b]
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


def walk(kernel: Kernel, counts: Mapping[int, int] | None = None,
         polls: Set[int] = frozenset()) -> Trace:
    """Returns the instructions of a warp in the main loop. `counts` are executions of lines, and
    `polls` the lines that repeat until another CTA has stored. Refuses a kernel without such a
    loop, and a path with too many unknown instructions."""
    graph = Graph(kernel)
    weights = graph.counted(counts) if counts else dict.fromkeys(range(len(graph.blocks)), 1.0)
    head = graph.main_loop(weights)
    trace = graph.follow(head, graph.flows(weights, head, polls) if counts else graph.steady(head))
    if len(trace.marks) <= STEPS:
        raise ModelError(f"{kernel.name}: expected {STEPS} steps of the main loop, found "
                         f"{max(0, len(trace.marks) - 1)} in {len(trace.code)} instructions")
    unknown = Counter(i.opcode for i in trace.code if not i.kind)
    if unknown.total() > 0.01 * len(trace.code):
        raise ModelError(f"{kernel.name}: expected known instructions, found on the path "
                         + ", ".join(f"{n} {opcode}" for opcode, n in unknown.most_common()))
    return trace
