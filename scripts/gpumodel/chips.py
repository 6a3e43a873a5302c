"""Rates and latencies of chips for one multiprocessor, kinds of instructions, and stored tables.

    chip("sm_80").matrix  # cycles between matrix instructions of a scheduler
    kind_of("FFMA")       # "float"
"""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent


class ModelError(Exception):
    """A message for the user."""


def stored(file: str) -> dict[str, Any]:
    """Returns a table of the model."""
    return dict(json.loads((DATA / file).read_text()))


def record(file: str, found: dict[str, dict[str, Any]]) -> None:
    """Adds entries to a table of the model, with today's date."""
    dated = {name: row | {"date": date.today().isoformat()} for name, row in found.items()}
    (DATA / file).write_text(json.dumps(stored(file) | dated, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class Chip:
    """Cycles, unless stated otherwise. A multiprocessor has four schedulers, each with its own
    pipes; shared memory and the port to the L2 cache serve all of them."""

    name: str
    arch: str  # for ptxas
    product: str
    multiprocessors: int
    gigahertz: float
    matrix: int  # between two m16n8k16 of 16-bit operands
    f32: int  # between two f32 instructions
    integer: int
    special: int  # exp2, log2, reciprocal
    matrix_latency: int
    special_latency: int
    shared_latency: int
    l2_latency: int
    l2_bytes: int  # per cycle
    acquire: int  # a load that sees what other multiprocessors have stored
    fence: int  # until earlier stores are visible to the device
    shared_bytes: int  # of a multiprocessor
    fitted: list[str]  # fields that follow from published speeds of whole kernels
    sources: str

    def speed(self, share: float) -> float:
        """Returns 1e12 operations per second for a share of the matrix pipes."""
        return share * 4 * 4096 / self.matrix * self.multiprocessors * self.gigahertz / 1e3


CHIPS = {name: Chip(name, **fields) for name, fields in stored("chips.json")["chips"].items()}
KINDS: dict[str, str] = {opcode: kind for kind, opcodes in stored("chips.json")["kinds"].items()
                         for opcode in opcodes.split()}


def chip(name: str) -> Chip:
    if name not in CHIPS:
        raise ModelError(f"expected a chip with known rates, {', '.join(CHIPS)}, found {name}")
    return CHIPS[name]


def kind_of(name: str) -> str:
    """Returns the kind of an opcode without modifiers, or "" if it is not known. Arithmetic of the
    uniform datapath has names that begin with U."""
    is_uniform = name[:1] == "U" and KINDS.get(name[1:]) in ("float", "special", "integer")
    return "uniform" if is_uniform else KINDS.get(name, "")
