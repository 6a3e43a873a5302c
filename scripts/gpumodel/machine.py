"""Executes traces on one multiprocessor and returns cycles.

Each of four schedulers issues an instruction per cycle, of the warp that issued last if it can,
else of the youngest. An instruction waits for its stall count, its scoreboards, and its pipe.
Shared memory serves one wavefront per cycle, and the L2 cache `l2_bytes`. Instructions are always
hits in their cache.
"""

import heapq
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpumodel.chips import Chip, ModelError, kind_of
from gpumodel.sass import Instruction
from gpumodel.walk import Trace

MATRIX, FLOAT, INTEGER, SPECIAL, UNIFORM, MEMORY, NONE = range(7)
FENCES = ("MEMBAR", "FENCE")
BARRIER_LATENCY = 22
FOREVER = 1 << 60


@dataclass(frozen=True)
class Row:
    """Counts of the PTX machine for a line of PTX, of all warps."""

    executions: int
    wavefronts: int  # of shared memory
    least: int  # wavefronts without conflicts
    sectors: int  # of global memory, 32 bytes each
    text: str
    warps: list[int]  # executions of each warp of a CTA

    @property
    def extra(self) -> int:
        return self.wavefronts - self.least

    @property
    def polls(self) -> bool:
        """Returns true if the line may repeat until another CTA has stored."""
        return "ld.acquire" in self.text


@dataclass(slots=True)
class Cost:
    """An instruction as the model executes it."""

    i: Instruction
    pipe: int
    busy: int  # cycles of the pipe
    latency: int
    wavefronts: float = 0.0  # of shared memory
    bytes: float = 0.0  # of the L2 cache
    limit: int = 0  # of a barrier: the warps that arrive, 0 for all; of a wait: groups of copies
    waited: int = 0  # cycles between the previous instruction of a warp and this one, of all warps


def cost_of(i: Instruction, chip: Chip, counted: Row | None) -> Cost:
    kind = kind_of(i.name)
    if kind in ("shared", "load", "store", "local"):
        never = Cost(i, INTEGER, 2, 20)
        return never if i.predicate == "!PT" else access_of(i, kind, chip, counted)
    numbers = [*(int(x, 16) for x in re.findall(r"0x[0-9a-f]+", i.operands)), 0, 0]
    if i.name == "DEPBAR":
        return Cost(i, NONE, 0, 4, limit=numbers[0])
    if i.name == "BAR":
        return Cost(i, NONE, 0, BARRIER_LATENCY, limit=numbers[1] // 32)
    if i.name in FENCES:
        return Cost(i, NONE, 0, chip.fence if re.search("GPU|SYS", i.opcode) else 20)
    pipe, busy, latency = {
        "matrix": (MATRIX, chip.matrix, chip.matrix_latency), "float": (FLOAT, chip.f32, 4),
        "special": (SPECIAL, chip.special, chip.special_latency), "uniform": (UNIFORM, 2, 4),
        "control": (NONE, 0, 4)}.get(kind, (INTEGER, chip.integer, 4))
    return Cost(i, pipe, busy, latency)


def access_of(i: Instruction, kind: str, chip: Chip, counted: Row | None) -> Cost:
    """Returns the cost of an access of memory, by its width unless it has been counted."""
    words = 4.0 if ".128" in i.opcode else 2.0 if ".64" in i.opcode or i.name == "REDUX" else 1.0
    if i.name == "LDSM" and i.opcode[-1].isdigit():
        words = float(i.opcode[-1])
    cost = Cost(i, MEMORY, 2, 24 if i.name == "SHFL" else chip.shared_latency, words)
    if kind in ("load", "store"):
        from_device = chip.acquire if "STRONG" in i.opcode else chip.l2_latency
        cost.latency = from_device if kind == "load" else 20
        cost.bytes = 128 * words
        if counted and counted.sectors:
            cost.bytes = 32 * (counted.sectors / counted.executions)
    if counted and counted.wavefronts and kind != "local":
        cost.wavefronts = counted.wavefronts / counted.executions
    return cost


@dataclass(slots=True, eq=False)
class Warp:
    cta: int
    costs: list[Cost]
    marks: set[int]
    ready: int  # the cycle from which it may issue; FOREVER at a barrier
    pending: list[int] = field(default_factory=lambda: [0] * 8)  # by scoreboard
    at: int = 0
    issued: int = 0  # the cycle of the last instruction
    copies: list[float] = field(default_factory=list)  # the ends of copies without a group
    groups: list[float] = field(default_factory=list)
    times: list[int] = field(default_factory=list)  # at which steps began


@dataclass
class Scheduler:
    warps: list[Warp] = field(default_factory=list)  # the youngest first
    last: Warp | None = None
    free: list[int] = field(default_factory=lambda: [0] * 8)  # the cycle from which a pipe is free


@dataclass
class Result:
    cycles: float  # of a step
    share: float  # of the matrix pipes
    waited: Counter[int]  # cycles of warps between instructions, by the line of the later one


class Multiprocessor:
    """The state of one launch."""

    def __init__(self, chip: Chip, warps_of_cta: int, seed: int) -> None:
        self.chip, self.warps_of_cta, self.chance = chip, warps_of_cta, random.Random(seed)
        self.schedulers = [Scheduler() for _ in range(4)]
        self.events: list[tuple[int, int, Warp, int]] = []  # ends of what scoreboards await
        self.arrived: dict[tuple[int, str], tuple[int, list[Warp]]] = {}  # by CTA and barrier
        self.shared = self.l2 = 0.0  # the cycles from which they are free
        self.time = self.sequence = 0

    def earliest(self, scheduler: Scheduler, warp: Warp) -> int:
        """Returns the cycle before which a warp cannot issue, as far as known now, or 0."""
        cost = warp.costs[warp.at]
        if warp.ready > self.time:
            return warp.ready
        waits = cost.i.waits
        if waits and any(warp.pending[x] and waits >> x & 1 for x in range(6)):
            return FOREVER
        if cost.i.name == "DEPBAR":
            warp.groups = sorted(end for end in warp.groups if end > self.time)
            if len(warp.groups) > cost.limit:
                return int(warp.groups[len(warp.groups) - cost.limit - 1]) + 1
        free = scheduler.free[cost.pipe]
        return free if free > self.time else 0

    def select(self, scheduler: Scheduler) -> tuple[Warp | None, int]:
        """Returns the warp that issues now, or until when none can."""
        until, last = FOREVER, scheduler.last
        for warp in [last, *scheduler.warps] if last else scheduler.warps:
            end = self.earliest(scheduler, warp)
            if not end:
                return warp, 0
            until = min(until, end)
        return None, until

    def access(self, warp: Warp, cost: Cost) -> tuple[float, float]:
        """Returns the cycles at which a result and the operands of an access are free."""
        begin = max(self.shared, self.time + 6)
        self.shared = begin + cost.wavefronts
        if not cost.bytes:
            return self.shared + cost.latency - 7, self.shared
        self.l2 = max(self.l2, begin) + cost.bytes / self.chip.l2_bytes
        done = (self.shared if kind_of(cost.i.name) == "store" else self.l2) + cost.latency
        done += self.chance.random() * cost.latency / 3  # the load of the memory
        if cost.i.name == "LDGSTS":
            warp.copies.append(done)
        return done, self.shared + 6

    def meet(self, warp: Warp, cost: Cost) -> None:
        """Executes a barrier."""
        key = warp.cta, cost.i.operands.split(",")[0]
        number, waiting = self.arrived.get(key, (0, []))
        if ".ARV" not in cost.i.opcode:
            waiting.append(warp)
            warp.ready = FOREVER
        self.arrived[key] = number + 1, waiting
        if number + 1 >= (cost.limit or self.warps_of_cta):
            self.release(key)

    def release(self, key: tuple[int, str]) -> None:
        for warp in self.arrived.pop(key)[1]:
            warp.ready = self.time + BARRIER_LATENCY

    def issue(self, scheduler: Scheduler, warp: Warp) -> None:
        cost, t = warp.costs[warp.at], self.time
        name = cost.i.name
        if warp.at in warp.marks:
            warp.times.append(t)
        cost.waited += t - warp.issued
        done, read = float(t + cost.latency), float(t + 8)
        scheduler.free[cost.pipe] = t + cost.busy
        if cost.pipe == MEMORY:
            done, read = self.access(warp, cost)
        elif name == "LDGDEPBAR":
            warp.groups.append(max(warp.copies, default=0.0))
            warp.copies = []
        for scoreboard, end in ((cost.i.writes, done), (cost.i.reads, read)):
            if scoreboard < 6:
                warp.pending[scoreboard] += 1
                self.sequence += 1
                heapq.heappush(self.events, (int(end), self.sequence, warp, scoreboard))
        stall = max(cost.latency if name in FENCES else 1, cost.i.stall)
        # Register banks collide now and then, so that CTAs do not stay in the phase they start in.
        stall += self.chance.random() < 0.05
        warp.issued, warp.ready, warp.at = t, t + stall, warp.at + 1
        if name == "BAR":
            self.meet(warp, cost)
        scheduler.last = warp
        if warp.at == len(warp.costs):
            scheduler.warps.remove(warp)
            scheduler.last = None

    def step(self) -> None:
        """Issues what can issue in this cycle, and goes on to the next in which something can."""
        while self.events and self.events[0][0] <= self.time:
            _, _, warp, scoreboard = heapq.heappop(self.events)
            warp.pending[scoreboard] -= 1
        until, has_issued = FOREVER, False
        for scheduler in self.schedulers:
            chosen, end = self.select(scheduler)
            if chosen:
                self.issue(scheduler, chosen)
                has_issued = True
            until = min(until, end)
        if self.events:
            until = min(until, self.events[0][0])
        if until == FOREVER and not has_issued:  # warps wait for others whose trace has ended
            if not any(waiting for _, waiting in self.arrived.values()):
                raise ModelError("expected warps that can go on, found all waiting")
            for key in list(self.arrived):
                self.release(key)
        self.time = self.time + 1 if has_issued or until == FOREVER else max(self.time + 1, until)


def execute(traces: Sequence[Trace], ctas: int, chip: Chip, rows: Mapping[int, Row],
            seed: int = 0) -> Result:
    """Executes CTAs whose warps have the given traces, which start at random times."""
    code = {id(i): i for trace in traces for i in trace.code}
    costs = {key: cost_of(i, chip, rows.get(i.line)) for key, i in code.items()}
    lists = {id(trace): [costs[id(i)] for i in trace.code] for trace in traces}
    machine, math = Multiprocessor(chip, len(traces), seed), []
    for cta in range(ctas):
        start = machine.chance.randrange(max(len(trace.code) // 4 for trace in traces))
        for number, trace in enumerate(traces):
            warp = Warp(cta, lists[id(trace)], set(trace.marks), start)
            machine.schedulers[(cta * len(traces) + number) % 4].warps.insert(0, warp)
            if trace.products:
                math.append(warp)
    while any(scheduler.warps for scheduler in machine.schedulers):
        machine.step()
    low, high = len(math[0].times) // 4, len(math[0].times) - 4
    cycles = sum((w.times[high] - w.times[low]) / (high - low) for w in math) / len(math)
    waited: Counter[int] = Counter()
    for cost in costs.values():
        waited[cost.i.line] += cost.waited
    products = ctas * sum(trace.products for trace in traces)
    return Result(cycles, products * chip.matrix / 4 / cycles, waited)
