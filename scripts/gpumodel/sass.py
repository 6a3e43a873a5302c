"""Reads machine code as nvdisasm prints it, with the scheduling fields of every instruction, and
the tables of the model: rates of chips, kinds of opcodes, stored results."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent
PACKAGES = {"ptxas": "CUDA or the PyPI package nvidia-cuda-nvcc", "nvcc": "the CUDA toolkit",
            "nvdisasm": "CUDA or the PyPI package nvidia-cuda-nvdisasm"}


class ModelError(Exception):
    """A message for the user."""


class MissingTool(ModelError):
    """A program of CUDA's is not installed."""


def stored(file: str) -> dict[str, Any]:
    """Returns a table of the model."""
    return dict(json.loads((DATA / file).read_text()))


def record(file: str, found: dict[str, dict[str, Any]]) -> None:
    """Adds entries to a table of the model, with today's date."""
    dated = {name: row | {"date": date.today().isoformat()} for name, row in found.items()}
    (DATA / file).write_text(json.dumps(stored(file) | dated, indent=1, sort_keys=True) + "\n")


@dataclass(frozen=True)
class Chip:
    """Rates of a multiprocessor. It has four schedulers, each with its own pipes; shared memory and
    the port to the L2 cache serve all of them."""

    name: str
    arch: str  # for ptxas
    multiprocessors: int
    gigahertz: float
    busy: dict[str, int]  # cycles of the pipe, by kind of instruction
    latency: dict[str, int]  # cycles until the result is there, by kind, or opcode where it differs
    l2_bytes: int  # per cycle
    shared_bytes: int

    def speed(self, share: float) -> float:
        """Returns 1e12 operations per second for a share of the matrix pipes."""
        return share * 4 * 4096 / self.busy["matrix"] * self.multiprocessors * self.gigahertz / 1e3


CHIPS = {name: Chip(name, **fields) for name, fields in stored("chips.json")["chips"].items()}
KINDS: dict[str, str] = {opcode: kind for kind, opcodes in stored("chips.json")["kinds"].items()
                         for opcode in opcodes.split()}
# Arithmetic of the uniform datapath has names that begin with U.
KINDS |= {f"U{opcode}": "uniform" for opcode, kind in KINDS.items()
          if kind in ("float", "special", "integer")}


def chip(name: str) -> Chip:
    if name not in CHIPS:
        raise ModelError(f"expected a chip with known rates, {', '.join(CHIPS)}, found {name}")
    return CHIPS[name]


@dataclass(slots=True, eq=False)
class Instruction:
    name: str  # the opcode without its modifiers
    kind: str  # of the table of chips, or empty if the opcode is not known
    opcode: str  # such as LDG.E.128
    operands: str
    predicate: str  # such as !P0, or empty
    line: int  # of the PTX; 0 without line tables
    labels: list[str]
    stall: int  # cycles until the warp may issue again
    writes: int  # the scoreboard that the result releases; 7: none
    reads: int  # the scoreboard that reading the operands releases; 7: none
    waits: list[int]  # scoreboards that must be zero


@dataclass
class Kernel:
    name: str
    chip: str
    code: list[Instruction] = field(default_factory=list)
    registers: int = 0  # as ptxas reports
    spilled: int = 0  # bytes of a thread


def run(command: list[str | Path], about: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program. A failure is reported with the last line that it prints, after `about`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ModelError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr or done.stdout or "no message").strip().splitlines()[-1]
        raise ModelError(f"{about}{Path(command[0]).name} reports: {last}")
    return done


def tool(name: str) -> str:
    """Returns the path of a program of NVIDIA's, which may be a wheel of this Python."""
    wheels = map(str, Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin"))
    if found := shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *wheels])):
        return found
    raise MissingTool(f"expected {name} in PATH, found none; install {PACKAGES[name]}")


# Of 128 bits, ptxas writes 105 to 125: the cycles until the warp may issue again, the scoreboards
# that a result and a read set, and those that the instruction waits for.
ROW = re.compile(
    r'^\.text\.(?P<kernel>\w+):|^(?P<label>\.L_\w+):|//## File "[^"]*", line (?P<line>\d+)|'
    r"/\*[0-9a-f]{4,6}\*/\s+(?:@(?P<predicate>!?U?P\w+)\s+)?(?P<opcode>\S+)\s*(?P<operands>.*?)"
    r"\s*;\s*/\* 0x[0-9a-f]{16} \*/\s*/\* 0x(?P<bits>[0-9a-f]{16}) \*/", re.M)


def parse(text: str) -> dict[str, Kernel]:
    """Returns the kernels of a disassembly by name. Functions that kernels call are among them."""
    kernels: dict[str, Kernel] = {}
    chips, labels, line = re.findall(r"(?:\.target\s+sm_|EF_CUDA_SM)(\w+)", text), list[str](), 0
    for found in ROW.finditer(text):
        if name := found["kernel"]:
            kernels[name] = Kernel(name, f"sm_{chips[0]}")
            code, labels, line = kernels[name].code, [], 0
        elif found["label"]:
            labels.append(found["label"])
        elif found["line"]:
            line = int(found["line"])
        elif kernels:
            bits, opcode = int(found["bits"], 16) >> 41, found["opcode"]
            name = opcode.split(".")[0]
            code.append(Instruction(
                name, KINDS.get(name, ""), opcode, found["operands"], found["predicate"] or "",
                line, labels, bits & 15, bits >> 5 & 7, bits >> 8 & 7,
                [x for x in range(6) if bits >> 11 + x & 1]))
            labels = []
    return kernels


def read(cubin: Path) -> dict[str, Kernel]:
    """Returns the kernels of a cubin by name."""
    if not cubin.is_file():
        raise ModelError(f"{cubin}: expected a cubin, found no file")
    kernels = parse(run([tool("nvdisasm"), "-c", "-hex", "-gp", cubin], f"{cubin}: ").stdout)
    if not any(kernel.code for kernel in kernels.values()):
        raise ModelError(f"{cubin}: expected a cubin with code, found no kernel")
    return kernels


def assemble(ptx: Path, arch: str) -> dict[str, Kernel]:
    """Assembles PTX with line tables and returns its kernels by name."""
    with tempfile.TemporaryDirectory() as directory:
        cubin = Path(directory, "lines.cubin")
        report = run([tool("ptxas"), f"-arch={arch}", "-lineinfo", "-v", ptx, "-o", cubin],
                     f"{ptx}: ").stderr
        kernels = read(cubin)
    for name, spilled, registers in re.findall(
            r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers",
            report, re.S):
        kernels[name].spilled, kernels[name].registers = int(spilled), int(registers)
    return kernels
