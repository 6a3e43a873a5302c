"""Reads machine code as nvdisasm prints it, with the scheduling fields of every instruction.

    kernels = read("kernel.cubin")
    kernels["attention_forward"].code[0].opcode
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
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


def run(command: list[str | Path], source: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program. A failure is reported with the last line that it prints, about `source`."""
    try:
        done = subprocess.run([str(x) for x in command], capture_output=True, text=True)
    except OSError as error:
        raise ModelError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr or done.stdout or "no message").strip().splitlines()[-1]
        about = f"{source}: " if source else ""
        raise ModelError(f"{about}{Path(command[0]).name} reports: {last}")
    return done


def tool(name: str) -> str:
    """Returns the path of a program of NVIDIA's, which may be a wheel of this Python."""
    wheels = Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin")
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], *map(str, wheels)]))
    if not found:
        raise MissingTool(f"expected {name} in PATH, found none; install {PACKAGES[name]}")
    return found


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
            code.append(Instruction(
                opcode.split(".")[0], opcode, found["operands"], found["predicate"] or "", line,
                labels, bits & 15, bits >> 5 & 7, bits >> 8 & 7,
                [x for x in range(6) if bits >> 11 + x & 1]))
            labels = []
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


def assemble(ptx: Path, arch: str) -> dict[str, Kernel]:
    """Assembles PTX with line tables and returns its kernels by name."""
    with tempfile.TemporaryDirectory() as directory:
        source, cubin = Path(directory, "lines.ptx"), Path(directory, "lines.cubin")
        source.write_text(with_lines(ptx.read_text()))
        report = run([tool("ptxas"), f"-arch={arch}", "-lineinfo", "-v", source, "-o", cubin],
                     f"{ptx}").stderr
        kernels = read(cubin)
    for name, spilled, registers in re.findall(
            r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores.*?Used (\d+) registers",
            report, re.S):
        kernels[name].spilled, kernels[name].registers = int(spilled), int(registers)
    return kernels
