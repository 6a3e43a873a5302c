"""Predicts pe's kernels: compiles an encoding, counts a call on the PTX machine, and executes the
machine code in the model."""

import json
import struct
import sys
import tempfile
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
            return ["--random=1",
                    f"--shape=b=1,h=1,sq={QUERIES},sk={QUERIES},d={self.dim},dv={self.dim}"]
        size, values = 4 * QUERIES * self.dim, {"q": -16.0, "k": self.dim ** -0.5, "v": 1, "d_o": 1}
        header = json.dumps({name: {
            "dtype": "F32", "shape": [1, 1, QUERIES, self.dim],
            "data_offsets": [n * size, (n + 1) * size]} for n, name in enumerate(values)})
        data = b"".join(struct.pack("<f", x) * (size // 4) for x in values.values())
        file.write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)
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


def counts_of(rows: dict[int, Row], warps: int) -> list[dict[int, int]]:
    """Returns the executions of lines by each warp. Warps with the same barriers and products have
    a role in common. Their other lines, such as a loop over the kinks in a warp's pairs, get the
    mean if all of them execute it, so that they meet at the same barriers."""
    meetings = [row.warps for row in rows.values() if row.text.startswith(("mma", "bar"))]
    result = [{line: row.warps[warp] for line, row in rows.items()} for warp in range(warps)]
    for warp, counts in enumerate(result):
        role = [x for x in range(warps) if all(each[x] == each[warp] for each in meetings)]
        for line, row in rows.items():
            each = [row.warps[x] for x in role]
            counts[line] = round(sum(each) / len(each)) if all(each) else counts[line]
    return result


def polls_of(rows: dict[int, Row]) -> set[int]:
    """Returns the lines that may repeat until another CTA has stored."""
    return {line for line, row in rows.items() if "ld.acquire" in row.text}


def traces_of(kernel: Kernel, rows: dict[int, Row], warps: int) -> list[Trace]:
    """Returns the traces of the warps of a CTA. Those with the same counts share one."""
    polls, counts = polls_of(rows), counts_of(rows, warps)
    keys = [tuple(n for line, n in each.items() if line not in polls) for each in counts]
    traces = {key: walk(kernel, each, polls) for key, each in zip(keys, counts)}
    return [traces[key] for key in keys]


def predict(kernel: Kernel, traces: list[Trace], ctas: int, on: Chip,
            rows: dict[int, Row]) -> Result:
    """Executes the traces of a CTA's warps."""
    if kernel.chip not in (on.name, on.arch):
        raise ModelError(f"{kernel.name}: expected code for {on.arch}, found {kernel.chip}")
    if len({trace.barriers for trace in traces}) > 1:
        print(f"gpu-model: {kernel.name}: expected warps with the same barriers in a step, found "
              "others; the speed is a lower bound", file=sys.stderr)
    return execute(traces, ctas, on, rows)


def summary(kernel: Kernel, rows: dict[int, Row], traces: list[Trace], ctas: int) -> dict[str, Any]:
    """Returns the columns of a kernel. Slots are issued instructions: of its main loop, and of the
    call without blocks that wait for a turn."""
    code, polls = [i for trace in traces for i in trace.steps], polls_of(rows)
    matrix, products = products_of(code), sum(
        row.executions for row in rows.values() if row.text.startswith("mma"))
    slots = sum(rows[i.line].executions for block in blocks_of(kernel.code)
                if not any(i.line in polls for i in block)
                for i in block if i.line in rows)
    copies = [row for row in rows.values() if row.text.startswith(("ldmatrix", "cp.async"))]
    others = [row for row in rows.values() if row not in copies]
    extra, least = sum(x.wavefronts - x.least for x in others), sum(x.least for x in others)
    return {"slots per MMA": f"{len(code) / matrix:.2f}",
            "of a call": f"{slots / products:.2f}",
            "ldmatrix per MMA": f"{sum(i.name == 'LDSM' for i in code) / matrix:.2f}",
            "registers": kernel.registers, "spilled": kernel.spilled,
            "CTAs": f"{ctas} x {len(traces)} warps",
            "extra wavefronts": sum(x.wavefronts - x.least for x in copies),
            "elsewhere, %": round(100 * extra / max(1, least), 1)}


def halves(kernels: Found, products: dict[str, int]) -> Found:
    """Merges the kernels of a half, which run one after the other. Their products are those of a
    half with one kernel."""
    result: Found = {}
    for half in dict.fromkeys(name.split("_")[0] for name in kernels):
        names = [name for name in kernels if name.split("_")[0] == half]
        time = sum(products[name] / kernels[name][0] for name in names)
        columns = [kernels[name][1] for name in names]
        result[half] = sum(products[name] for name in names) / time, {
            column: sum(x[column] for x in columns) if column == "extra wavefronts"
            else max(x[column] for x in columns) if column in ("spilled", "elsewhere, %")
            else "; ".join(str(x[column]) for x in columns) for column in columns[0]}
    return result


def predictions(case: Case, why: str = "") -> Found:
    """Predicts the halves of a case: 1e12 operations of matrix instructions per second, and columns
    of its kernels with such instructions. Prints the lines of PTX at which warps of the half `why`
    wait longest."""
    _ = tool("ptxas"), tool("nvdisasm")  # reported before a call is counted
    with tempfile.TemporaryDirectory() as name:
        directory, on = Path(name), chip(case.chip)
        result: Found = {}
        products: dict[str, int] = {}
        counts, launches = count(case, directory / "counts.tsv")
        ptx = directory / "kernels.ptx"
        case.run("compile", "--target=cuda", f"--head-dim={case.dim}", f"--value-dim={case.dim}",
                 "--line-tables", "--emit=ptx", "-o", str(ptx))
        made, text = assemble(ptx, on.arch), ptx.read_text().splitlines()
    for name, rows in counts.items():
        if name not in launches or not any(row.text.startswith("mma") for row in rows.values()):
            continue
        if any(text[line - 1].split() != row.text.split() for line, row in rows.items()):
            raise ModelError(f"{ptx}: expected the PTX that was counted, found other lines")
        kernel, warps = made[name], launches[name]["threads"] // 32
        # Registers are given in units of 256 per warp; 1 KiB of shared memory is the driver's.
        ctas = min(65536 // (-(-kernel.registers * 32 // 256) * 256 * warps), 48 // warps,
                   on.shared_bytes // (launches[name]["shared_bytes"] + 1024))
        traces = traces_of(kernel, rows, warps)
        found, short = predict(kernel, traces, ctas, on, rows), name.rpartition("attention_")[2]
        result[short] = on.speed(found.share), summary(kernel, rows, traces, ctas)
        products[short] = sum(x.executions for x in rows.values() if x.text.startswith("mma"))
        for line, cycles in found.waited.most_common(30 if short.split("_")[0] == why else 0):
            of_all = cycles / found.waited.total()
            print(f"{of_all:.3f} line {line}: {rows[line].text if line in rows else ''}")
    return halves(result, products)
