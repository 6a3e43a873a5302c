"""Executes traces on one multiprocessor and returns cycles.

Each of four schedulers issues an instruction per cycle, of the warp that issued last if it can,
else of the youngest. An instruction waits for its stall count, its scoreboards, and its pipe.
Shared memory serves a wavefront per cycle, the L2 cache `l2_bytes`. Instructions are always cached.
"""

import random
import re
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import fmean
from typing import NamedTuple

from gpumodel.sass import Chip, Instruction, Kernel, ModelError
from gpumodel.walk import STEPS, Trace

BARRIER_LATENCY = 22
FOREVER, ENDED = 1 << 60, 1 << 61  # cycles at which a warp continues that waits, and never
RUNS = 6  # from random starts


class Row(NamedTuple):
    """Counts of the PTX machine for a line of PTX, of all warps."""

    executions: int
    wavefronts: int  # of shared memory
    least: int  # wavefronts without conflicts
    sectors: int  # of global memory, 32 bytes each
    text: str
    warps: list[int]  # executions of each warp of a CTA


class Result(NamedTuple):
    cycles: float  # of a step
    share: float  # of the matrix pipes
    waited: Counter[int]  # cycles of all warps between instructions, by the line of the later one


@dataclass(slots=True)
class Cost:
    """An instruction as the model executes it."""

    i: Instruction
    pipe: str
    busy: int  # cycles of the pipe
    latency: int
    stall: int
    wavefronts: float = 0.0  # of shared memory
    bytes: float = 0.0  # of the L2 cache


@dataclass
class Barrier:
    arrived: int = 0
    opens: int = FOREVER


def cost_of(i: Instruction, chip: Chip, counted: Row | None) -> Cost:
    """Returns the cost of an instruction. That of an access of memory follows from its width unless
    it has been counted."""
    kind, latencies = i.kind or "integer", chip.latency
    is_access = kind in ("shared", "load", "store", "local")
    if is_access and i.predicate == "!PT":
        return Cost(i, "integer", 2, 20, i.stall)
    is_acquire = kind == "load" and "STRONG" in i.opcode
    latency = latencies["acquire"] if is_acquire else latencies.get(i.name, latencies[kind])
    cost = Cost(i, "memory" if is_access else kind, chip.busy[kind], latency, i.stall)
    if i.name in ("MEMBAR", "FENCE"):
        cost.latency = latencies["fence"] if re.search("GPU|SYS", i.opcode) else 20
        cost.stall = max(i.stall, cost.latency)
    elif is_access:
        is_double = ".64" in i.opcode or i.name == "REDUX"
        words = 2.0 if is_double else 4.0 if ".128" in i.opcode else 1.0
        matrices = re.search(r"^LDSM.*\.(\d)$", i.opcode)
        cost.wavefronts = float(matrices[1]) if matrices else words
        cost.bytes = 128 * words if kind in ("load", "store") else 0.0
        if counted and counted.sectors and cost.bytes:
            cost.bytes = 32 * (counted.sectors / counted.executions)
        if counted and counted.wavefronts and kind != "local":
            cost.wavefronts = counted.wavefronts / counted.executions
    return cost


class Multiprocessor:
    """The state of one launch."""

    def __init__(self, chip: Chip, warps_of_cta: int, seed: int) -> None:
        self.chip, self.warps_of_cta, self.chance = chip, warps_of_cta, random.Random(seed)
        self.barriers: dict[int, Barrier] = defaultdict(Barrier)  # by CTA
        self.shared = self.l2 = 0.0  # the cycles from which they are free
        self.time, self.waited = 0, Counter[int]()  # as in the result

    def access(self, cost: Cost) -> tuple[float, float]:
        """Returns the cycles at which the result and the operands of an instruction are free."""
        if cost.pipe != "memory":
            return self.time + cost.latency, self.time + 8
        begin = max(self.shared, self.time + 6)
        self.shared = begin + cost.wavefronts
        if not cost.bytes:
            return self.shared + cost.latency - 7, self.shared
        self.l2 = max(self.l2, begin) + cost.bytes / self.chip.l2_bytes
        done = (self.shared if cost.i.kind == "store" else self.l2) + cost.latency
        return done + self.chance.random() * cost.latency / 3, self.shared + 6  # the load varies

    def warp(self, cta: int, costs: list[Cost], start: int, free: dict[str, int],
             times: list[int]) -> Iterator[int]:
        """Executes a warp: issues an instruction if it can, and yields the cycle in which it can,
        as far as known now. `free` are the cycles from which the pipes of its scheduler are free.
        Adds the cycle of every instruction to `times`."""
        ready, barrier, ends = start, Barrier(opens=0), [0] * 8  # ends by scoreboard
        copies, groups = [0.0], list[float]()  # the ends of copies without and in a group
        for cost in costs:
            i, issued = cost.i, times[-1] if times else 0
            ready = max([ready, *(ends[x] for x in i.waits)])
            if i.name == "DEPBAR":  # waits until as many groups of copies are left as it names
                left = sum(int(x, 16) for x in re.findall(r"0x[0-9a-f]+", i.operands)[:1])
                if len(groups) > left:
                    ready = max(ready, int(sorted(groups)[-left - 1]) + 1)
            while (begin := max(ready, barrier.opens, free[cost.pipe])) > self.time:
                yield begin
            times.append(self.time)
            self.waited[i.line] += self.time - issued
            free[cost.pipe] = self.time + cost.busy
            done, read = self.access(cost)
            ends[i.writes] = max(ends[i.writes], int(done))
            ends[i.reads] = max(ends[i.reads], int(read))
            # Register banks collide now and then, so that CTAs do not stay in the phase they start
            # in.
            ready = self.time + max(1, cost.stall) + (self.chance.random() < 0.05)
            if i.name == "LDGSTS":
                copies.append(done)
            elif i.name == "LDGDEPBAR":
                groups.append(max(copies))
                copies = [0.0]
            elif i.name == "BAR":
                barrier = self.barriers[cta]
                barrier.arrived += 1
                if barrier.arrived == self.warps_of_cta:
                    self.barriers.pop(cta).opens = self.time + BARRIER_LATENCY
            yield self.time
        while True:
            yield ENDED

    def run(self, schedulers: list[list[Iterator[int]]]) -> None:
        """Executes the warps of the schedulers, the youngest first."""
        last: list[list[Iterator[int]]] = [[] for _ in schedulers]
        while self.time < ENDED:
            until = ENDED
            for n, warps in enumerate(schedulers):
                for warp in last[n] + warps:
                    begin = next(warp)
                    if begin <= self.time:
                        last[n], until = [warp], self.time + 1
                        break
                    until = min(until, begin)
            if until == FOREVER:  # warps wait at barriers for others whose trace has ended
                for barrier in self.barriers.values():
                    barrier.opens = self.time + BARRIER_LATENCY
                self.barriers.clear()
                until = self.time + 1
            self.time = until


def execute(kernel: Kernel, traces: Sequence[Trace], ctas: int, chip: Chip,
            rows: Mapping[int, Row]) -> Result:
    """Executes CTAs of a kernel whose warps have the given traces."""
    if kernel.chip not in (chip.name, chip.arch):
        raise ModelError(f"{kernel.name}: expected code for {chip.arch}, found {kernel.chip}")
    if len({tuple(sum(i.name == "BAR" for i in trace.code[begin:end])
                  for begin, end in pairwise(trace.marks)) for trace in traces}) > 1:
        print(f"gpu-model: {kernel.name}: expected warps with the same barriers in a step, found "
              "others; the speed is a lower bound", file=sys.stderr)
    costs = {i: cost_of(i, chip, rows.get(i.line)) for i in {*chain(*(x.code for x in traces))}}
    cycles, waited = [], Counter[int]()
    for seed in range(RUNS):
        machine = Multiprocessor(chip, len(traces), seed)
        schedulers: list[list[Iterator[int]]] = [[] for _ in range(4)]
        pipes: list[dict[str, int]] = [defaultdict(int) for _ in schedulers]
        warps: list[tuple[list[int], list[int]]] = []  # the marks and the times of each
        for cta in range(ctas):
            start = machine.chance.randrange(max(len(trace.code) // 4 for trace in traces))
            for number, (code, marks) in enumerate(traces, cta * len(traces)):
                times: list[int] = []
                warps.append((marks, times))
                schedulers[number % 4].insert(0, machine.warp(
                    cta, [costs[i] for i in code], start, pipes[number % 4], times))
        machine.run(schedulers)
        # A warp that competes with fewer others is faster, so only the time of all warps counts:
        # the whole run if some end before others begin.
        begin = max(times[marks[1]] for marks, times in warps)
        end = min(times[marks[-1]] for marks, times in warps)
        if end <= begin:
            begin, end = (f(times[mark] for marks, times in warps for mark in marks)
                          for f in (min, max))
        steps = fmean((bisect_left(times, end) - bisect_left(times, begin)) / marks[-1] * STEPS
                      for marks, times in warps)
        cycles.append((end - begin) / steps)
        waited += machine.waited
    products = ctas * sum(sum(i.kind == "matrix" for i in code[:marks[-1]]) / STEPS
                          for code, marks in traces)
    return Result(fmean(cycles), fmean(products * chip.busy["matrix"] / 4 / x for x in cycles),
                  waited)
