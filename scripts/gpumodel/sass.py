"""Reads machine code as nvdisasm prints it, with the scheduling fields of every instruction.

    kernels = read("kernel.cubin")
    kernels["attention_forward"].code[0].opcode

An instruction has 128 bits. Bits 105 to 125 are written by ptxas: the cycles until the warp may
issue again, the scoreboards that a result and a read set, and those that the instruction waits
for.
"""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from gpumodel.chips import ModelError

PACKAGES = {"ptxas": "CUDA or the PyPI package nvidia-cuda-nvcc", "nvcc": "the CUDA toolkit",
            "nvdisasm": "CUDA or the PyPI package nvidia-cuda-nvdisasm"}


class MissingTool(ModelError):
    """A program of CUDA's is not installed."""


@dataclass(slots=True)
class Instruction:
    name: str  # the opcode without its modifiers
    opcode: str  # such as LDG.E.128
    operands: str
    predicate: str  # such as !P0, or empty
    line: int  # of the PTX; 0 without line tables
    labels: list[str]
    stall: int = 0  # cycles until the warp may issue again
    writes: int = 7  # the scoreboard that the result releases; 7: none
    reads: int = 7  # the scoreboard that reading the operands releases; 7: none
    waits: int = 0  # a bit for each scoreboard that must be zero


@dataclass
class Kernel:
    name: str
    chip: str
    code: list[Instruction] = field(default_factory=list)
    registers: int = 0  # as ptxas reports
    spilled: int = 0  # bytes of a thread


def run(command: list[str | Path], source: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program. A failure is reported with the last line that it prints, about `source`."""
    try:
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    except OSError as error:
        raise ModelError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        about = f"{source}: " if source else ""
        raise ModelError(f"{about}{Path(command[0]).name} reports: {lines[-1]}")
    return done


def tool(name: str) -> str:
    """Returns the path of a program of NVIDIA's, which may be a wheel of this Python."""
    wheels = Path(sys.prefix).glob(f"lib/python*/site-packages/nvidia/*/bin/{name}")
    found = shutil.which(name) or next((str(path) for path in wheels), None)
    if not found:
        raise MissingTool(f"expected {name} in PATH, found none; install {PACKAGES[name]}")
    return found


FIRST = re.compile(r"/\*[0-9a-f]{4,6}\*/\s+(?:@(!?U?P\w+)\s+)?(\S+)\s*(.*?)\s*;\s*"
                   r"/\* 0x[0-9a-f]{16} \*/")
SECOND = re.compile(r"^\s*/\* 0x([0-9a-f]{16}) \*/")


def parse(text: str) -> dict[str, Kernel]:
    """Returns the kernels of a disassembly by name. Functions that kernels call are among them."""
    kernels: dict[str, Kernel] = {}
    chip, line = "", 0
    labels: list[str] = []
    code: list[Instruction] | None = None
    for row in text.splitlines():
        if found := re.search(r'\.target\s+(\w+)|EF_CUDA_SM(\d+)', row):
            chip = chip or found[1] or f"sm_{found[2]}"
        elif found := re.match(r"\.text\.(\w+):", row):
            kernels[found[1]] = Kernel(found[1], chip)
            code, labels, line = kernels[found[1]].code, [], 0
        elif found := re.match(r"(\.L_\w+):", row):
            labels.append(found[1])
        elif found := re.search(r'//## File "[^"]*", line (\d+)', row):
            line = int(found[1])
        elif code is None:
            continue
        elif found := FIRST.search(row):
            code.append(Instruction(found[2].split(".")[0], found[2], found[3], found[1] or "",
                                    line, labels))
            labels = []
        elif code and (found := SECOND.match(row)):
            control, last = int(found[1], 16) >> 41, code[-1]
            last.stall, last.writes, last.reads = control & 15, control >> 5 & 7, control >> 8 & 7
            last.waits = control >> 11 & 63
    return kernels


def read(cubin: Path) -> dict[str, Kernel]:
    """Returns the kernels of a cubin by name."""
    if not cubin.is_file():
        raise ModelError(f"{cubin}: expected a cubin, found no file")
    kernels = parse(run([tool("nvdisasm"), "-c", "-hex", "-g", cubin], f"{cubin}").stdout)
    if not any(kernel.code for kernel in kernels.values()):
        raise ModelError(f"{cubin}: expected a cubin with code, found no kernel")
    return kernels


PTX_INSTRUCTION = re.compile(r"^\s*(@!?%p\d+\s+)?[a-z][a-z0-9_]*[.\s].*;\s*$")


def with_lines(ptx: str) -> str:
    """Returns PTX with a line table that names its own lines instead of any it has. ptxas writes
    the same machine code with and without the table."""
    rows = [f".loc 1 {number} 0\n{row}" if PTX_INSTRUCTION.match(row) else row
            for number, row in enumerate(ptx.splitlines(), 1)
            if not re.match(r"\s*\.(loc|file)\s", row)]
    return re.sub(r"(\.address_size.*)", r'\1\n.file 1 "kernel.ptx"', "\n".join(rows)) + "\n"


def assemble(ptx: Path, arch: str, directory: Path) -> dict[str, Kernel]:
    """Assembles PTX with line tables and returns its kernels by name."""
    source, cubin = directory / f"{ptx.stem}-lines.ptx", directory / f"{ptx.stem}.cubin"
    source.write_text(with_lines(ptx.read_text()))
    report = run([tool("ptxas"), f"-arch={arch}", "-lineinfo", "-v", source, "-o", cubin],
                 f"{ptx}").stderr
    kernels = read(cubin)
    for found in re.finditer(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?"
                             r"Used (\d+) registers", report, re.S):
        kernels[found[1]].spilled, kernels[found[1]].registers = int(found[2]), int(found[3])
    return kernels
