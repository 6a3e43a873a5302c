"""Predicts pe's kernels: compiles an encoding, counts a call on the PTX machine, and executes the
machine code in the model."""

import json
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from gpumodel.chips import Chip, ModelError, chip
from gpumodel.machine import Result, Row, execute
from gpumodel.sass import Kernel, assemble, run, tool
from gpumodel.walk import Trace, blocks_of, products_of, walk

ROOT = Path(__file__).resolve().parents[2]
QUERIES = 1024  # and as many keys before them


Found = dict[str, tuple[float, dict[str, Any]]]  # speed and columns by kernel


class Case(NamedTuple):
    """A program whose kernels are predicted."""

    build: Path
    encoding: str
    chip: str
    dim: int
    dtype: str = "bf16"
    schedule: str = ""

    @property
    def source(self) -> Path:
        return ROOT / "examples/encodings" / f"{self.encoding}.mlir"

    def run(self, command: str, *options: str) -> str:
        """Runs a command of pe."""
        schedule = [f"--schedule={self.schedule}"] if self.schedule else []
        return run([self.build / "bin/pe", command, self.source, f"--chip={chip(self.chip).arch}",
                    f"--dtype={self.dtype}", "--grad", *schedule, *options]).stdout

    def inputs(self, file: Path) -> list[str]:
        """Returns the options for inputs: random ones, unless the program may skip keys. Then
        `file` gets inputs whose scores are -16, so that every key is visited."""
        if "normalizer<stick_breaking>" not in self.source.read_text():
            return ["--random=1", f"--shape=b=1,h=1,sq={QUERIES},sk={QUERIES},d={self.dim},dv="
                    f"{self.dim}"]
        size, header, values = 4 * QUERIES * self.dim, {}, b""
        for name, value in (("q", -16.0), ("k", self.dim ** -0.5), ("v", 1.0), ("d_o", 1.0)):
            header[name] = {"dtype": "F32", "shape": [1, 1, QUERIES, self.dim],
                            "data_offsets": [len(values), len(values) + size]}
            values += struct.pack("<f", value) * (size // 4)
        text = json.dumps(header).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + values)
        return [f"--in={file}"]


def count(case: Case, file: Path) -> tuple[dict[str, dict[int, Row]], dict[str, dict[str, int]]]:
    """Runs a call on the PTX machine. Returns the counts of lines and the launches, by kernel."""
    text = case.run("run", "--target=gpu-emulator", f"--count={file}", "--explain=json",
                    f"--q-start={QUERIES}", *case.inputs(file.with_suffix(".safetensors")))
    rows: dict[str, dict[int, Row]] = defaultdict(dict)
    for fields in (row.split("\t") for row in file.read_text().splitlines()):
        line, executions, wavefronts, least, sectors = map(int, fields[1:6])
        warps = [*map(int, fields[10].split(",")), *[0] * 32]  # not all warps of others
        rows[fields[0]][line] = Row(executions, wavefronts, least, sectors, fields[7], warps)
    return rows, {each["name"]: each for each in json.loads(text.splitlines()[0])["kernels"]}


def resident(kernel: Kernel, threads: int, shared_bytes: int, on: Chip) -> int:
    """Returns the CTAs that a multiprocessor holds. Registers are given in units of 256 per warp,
    and 1 KiB of shared memory is the driver's."""
    by_registers = 65536 // (-(-kernel.registers * 32 // 256) * 256 * threads // 32)
    return min(by_registers, on.shared_bytes // (shared_bytes + 1024), 48 * 32 // threads)


def counts_of(rows: dict[int, Row], warps: int) -> list[dict[int, int]]:
    """Returns the executions of lines by each warp. Warps with the same barriers and products have
    a role in common. Their other lines, such as a loop over the kinks in a warp's pairs, get the
    mean if all of them execute it, so that they meet at the same barriers."""
    meetings = [row.warps for row in rows.values() if row.text.startswith(("mma", "bar"))]
    roles: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for warp in range(warps):
        roles[tuple(each[warp] for each in meetings)].append(warp)
    result = [{line: row.warps[warp] for line, row in rows.items()} for warp in range(warps)]
    for members in roles.values():
        for line, row in rows.items():
            each = [row.warps[warp] for warp in members]
            for warp in members if all(each) else []:
                result[warp][line] = round(sum(each) / len(each))
    return result


def traces_of(kernel: Kernel, rows: dict[int, Row], warps: int) -> list[Trace]:
    """Returns the traces of the warps of a CTA."""
    polls = {line for line, row in rows.items() if row.polls}
    found: dict[tuple[int, ...], Trace] = {}
    counts, result = counts_of(rows, warps), []
    for executions in counts:
        key = tuple(n for line, n in executions.items() if line not in polls)
        if key not in found:
            found[key] = walk(kernel, executions, polls)
        result.append(found[key])
    steps = max(trace.runs for trace in result)
    return [trace if trace.code else walk(kernel, executions, polls, like=steps)
            for trace, executions in zip(result, counts)]


def predict(kernel: Kernel, traces: list[Trace], ctas: int, on: Chip,
            rows: dict[int, Row]) -> Result:
    """Executes the traces."""
    running = [trace for trace in traces if trace.code]
    if kernel.chip not in (on.name, on.arch):
        raise ModelError(f"{kernel.name}: expected code for {on.arch}, found {kernel.chip}")
    if not any(trace.products for trace in running):
        raise ModelError(f"{kernel.name}: expected a loop with matrix instructions, found none")
    return execute(running, ctas, on, rows)


def summary(kernel: Kernel, rows: dict[int, Row], traces: list[Trace], ctas: int) -> dict[str, Any]:
    """Returns the columns of a kernel. Slots are issued instructions: of its main loop, and of the
    call without blocks that wait for a turn."""
    code = [i for trace in traces if trace.code for i in trace.steps]
    matrix, products = products_of(code), sum(
        row.executions for row in rows.values() if row.text.startswith("mma"))
    slots = sum(rows[i.line].executions for block in blocks_of(kernel.code)
                if not any(i.line in rows and rows[i.line].polls for i in block)
                for i in block if i.line in rows)
    copies = [row for row in rows.values() if row.text.startswith(("ldmatrix", "cp.async"))]
    others = [row for row in rows.values() if row not in copies]
    extra, least = sum((row.wavefronts - row.least) for row in others), sum(row.least for row in others)
    return {"slots per MMA": f"{len(code) / matrix:.2f}",
            "of a call": f"{slots / products:.2f}",
            "ldmatrix per MMA": f"{sum(i.name == 'LDSM' for i in code) / matrix:.2f}",
            "registers": kernel.registers, "spilled": kernel.spilled,
            "CTAs": f"{ctas} x {len(traces)} warps",
            "extra wavefronts": sum((row.wavefronts - row.least) for row in copies),
            "elsewhere, %": round(100 * extra / max(1, least), 1)}


def predictions(case: Case, directory: Path, why: str = "") -> Found:
    """Predicts the kernels of a case that have matrix instructions: 1e12 operations per second, and
    columns. Prints the lines of PTX at which warps of the kernel `why` wait longest."""
    on, ptx = chip(case.chip), directory / "kernels.ptx"
    _ = tool("ptxas"), tool("nvdisasm")  # reported before a call is counted
    counts, launches = count(case, directory / "counts.tsv")
    case.run("compile", "--target=cuda", f"--head-dim={case.dim}", f"--value-dim={case.dim}",
             "--line-tables", "--emit=ptx", "-o", str(ptx))
    made, text, result = assemble(ptx, on.arch, directory), ptx.read_text().splitlines(), {}
    for name, rows in counts.items():
        if name not in launches or not any(row.text.startswith("mma") for row in rows.values()):
            continue
        if any(text[line - 1].split() != row.text.split() for line, row in rows.items()):
            raise ModelError(f"{ptx}: expected the PTX that was counted, found other lines")
        threads, shared = launches[name]["threads"], launches[name]["shared_bytes"]
        traces = traces_of(made[name], rows, threads // 32)
        ctas = resident(made[name], threads, shared, on)
        found = predict(made[name], traces, ctas, on, rows)
        short = name.removeprefix("attention_attention_")
        result[short] = on.speed(found.share), summary(made[name], rows, traces, ctas)
        for line, cycles in found.waited.most_common(30 if short == why else 0):
            of_all = cycles / found.waited.total()
            print(f"{of_all:.3f} line {line}: {rows[line].text if line in rows else ''}")
    return result
