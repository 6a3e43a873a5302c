"""Predicts kernels. Those of pe are compiled, counted in a call on the PTX machine, and executed in
the model. Peers are kernels of others for mma.sync with published speeds: peers.json names them and
their sources, calibration.json keeps the results."""

import json
import re
import struct
import tempfile
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from gpumodel.machine import Row, execute
from gpumodel.sass import (CHIPS, DATA, Chip, Kernel, ModelError, assemble, chip, read, record, run,
                           stored, tool)
from gpumodel.walk import Graph, walk

ROOT = Path(__file__).resolve().parents[2]
QUERIES = 1024  # and as many keys before them
# Matrix instructions of a call, 1e12 operations per second, and columns of the table.
Part = tuple[int, float, dict[str, Any]]


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
        values, n = {"q": -16.0, "k": self.dim ** -0.5, "v": 1.0, "d_o": 1.0}, QUERIES * self.dim
        header = json.dumps({name: {"dtype": "F32", "shape": [1, 1, QUERIES, self.dim],
                                    "data_offsets": [4 * n * x, 4 * n * (x + 1)]}
                             for x, name in enumerate(values)}).encode()
        file.write_bytes(struct.pack("<Q", len(header)) + header + b"".join(
            struct.pack("<f", value) * n for value in values.values()))
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


def by_last_line(rows: dict[int, Row], text: list[str]) -> dict[int, Row]:
    """Returns rows by the last line of an instruction, which nvdisasm names, instead of the first
    one, which counts name."""
    if any(text[line - 1].split() != row.text.split() for line, row in rows.items()):
        raise ModelError("expected the PTX that was counted, found other lines")
    return {next(n for n in range(line, len(text) + 1) if ";" in text[n - 1]): row
            for line, row in rows.items()}


def counts_of(rows: dict[int, Row], warps: int) -> list[dict[int, int]]:
    """Returns the executions of lines by each warp. Warps with the same barriers and products have
    a role in common. Their other lines, such as a loop over the kinks in a warp's pairs, get the
    mean if all of them execute it, so that they meet at the same barriers."""
    meetings = [row.warps for row in rows.values() if row.text.startswith(("mma", "bar"))]
    result = []
    for warp in range(warps):
        role = [x for x in range(warps) if all(each[x] == each[warp] for each in meetings)]
        all_of = {line: [row.warps[x] for x in role] for line, row in rows.items()}
        result.append({line: round(sum(each) / len(each)) if all(each) else rows[line].warps[warp]
                       for line, each in all_of.items()})
    return result


def predict_file(file: Path, name: str, warps: int, ctas: int, kernel: str = "") -> float:
    """Returns the share of the matrix pipes that the longest kernel of a file of PTX or machine
    code uses, of those whose names contain `kernel`."""
    on = chip(name)
    found = assemble(file, on.arch) if file.suffix == ".ptx" else read(file)
    named = [one for one in found.values() if kernel in one.name]
    if not named:
        raise ModelError(f"{file}: expected a kernel named {kernel}, found {', '.join(found)}")
    longest = max(named, key=lambda one: len(one.code))
    return execute(longest, [walk(longest)] * warps, ctas, on, {}).share


def predict_counted(kernel: Kernel, rows: dict[int, Row], launch: dict[str, int], on: Chip,
                    is_why: bool) -> Part:
    """Predicts a kernel of pe. Slots are issued instructions: of its main loop, and of the call
    without blocks that wait for a turn. If `is_why`, prints the lines at which warps wait longest.
    """
    warps = launch["threads"] // 32
    # Instructions of the entry itself are executed as often as its first line.
    rows = {kernel.code[0].line: rows[min(rows)], **rows}
    # Registers are given in units of 256 per warp; 1 KiB of shared memory is the driver's.
    ctas = min(65536 // (-(-kernel.registers * 32 // 256) * 256 * warps), 48 // warps,
               on.shared_bytes // (launch["shared_bytes"] + 1024))
    # Loads that may repeat until another CTA has stored.
    polls = {line for line, row in rows.items() if "ld.acquire" in row.text}
    traces = [walk(kernel, each, polls) for each in counts_of(rows, warps)]
    found = execute(kernel, traces, ctas, on, rows)
    for line, cycles in found.waited.most_common(30 if is_why else 0):
        of_all = cycles / found.waited.total()
        print(f"{of_all:.3f} line {line}: {rows[line].text if line in rows else ''}")
    code = [i for trace in traces for i in trace.code[:trace.marks[-1]]]
    matrix = sum(i.kind == "matrix" for i in code)
    products = sum(row.executions for row in rows.values() if row.text.startswith("mma"))
    slots = sum(rows[i.line].executions for block in Graph(kernel).blocks
                if not any(i.line in polls for i in block) for i in block if i.line in rows)
    copies = [row for row in rows.values() if row.text.startswith(("ldmatrix", "cp.async"))]
    others = [row for row in rows.values() if row not in copies]
    extra, least = sum(x.wavefronts - x.least for x in others), sum(x.least for x in others)
    return products, on.speed(found.share), {
        "slots per MMA": f"{len(code) / matrix:.2f}", "of a call": f"{slots / products:.2f}",
        "ldmatrix per MMA": f"{sum(i.name == 'LDSM' for i in code) / matrix:.2f}",
        "registers": kernel.registers, "spilled": kernel.spilled, "CTAs": f"{ctas} x {warps} warps",
        "extra wavefronts": sum(x.wavefronts - x.least for x in copies),
        "elsewhere, %": round(100 * extra / max(1, least), 1)}


def merged(parts: list[Part]) -> Part:
    """Merges the kernels of a half, which run one after the other. Their products are those of a
    half with one kernel."""
    products, columns = sum(n for n, _, _ in parts), [each for _, _, each in parts]
    return products, products / sum(n / speed for n, speed, _ in parts), {
        column: sum(x[column] for x in columns) if column == "extra wavefronts"
        else max(x[column] for x in columns) if column in ("spilled", "elsewhere, %")
        else "; ".join(str(x[column]) for x in columns) for column in columns[0]}


def predictions(case: Case, why: str = "") -> dict[str, Part]:
    """Predicts the halves of a case, by name. Prints the waits of the half `why`."""
    _ = tool("ptxas"), tool("nvdisasm")  # reported before a call is counted
    on, halves = chip(case.chip), defaultdict[str, list[Part]](list)
    with tempfile.TemporaryDirectory() as directory:
        counts, launches = count(case, Path(directory, "counts.tsv"))
        ptx = Path(directory, "kernels.ptx")
        case.run("compile", "--target=cuda", f"--head-dim={case.dim}", f"--value-dim={case.dim}",
                 "--line-tables", "--emit=ptx", "-o", str(ptx))
        made, text = assemble(ptx, on.arch), ptx.read_text().splitlines()
    for name, rows in counts.items():
        if name not in launches or not any(row.text.startswith("mma") for row in rows.values()):
            continue
        half = name.rpartition("attention_")[2].split("_")[0]
        halves[half].append(predict_counted(made[name], by_last_line(rows, text), launches[name],
                                            on, half == why))
    return {half: merged(parts) for half, parts in halves.items()}


def build(peer: dict[str, Any], on: str, directory: Path, **sources: str) -> Path:
    """Compiles a kernel of FlashAttention-2, without PyTorch, or of Triton, without a GPU."""
    if "blocks" in peer:
        ptx, python = directory / "peer.ptx", ROOT / "build/venv-triton/bin/python"
        if not python.exists():
            raise ModelError(f"expected Triton in {python.parents[1]}, found none; run "
                             "scripts/judge-emulator --compile")
        ptx.write_text(run([python, ROOT / "test/runtime/ptx/foreign/kernels_triton.py",
                            on.strip("sm_"), *map(str, peer["blocks"])]).stdout)
        return ptx
    source, cubin = directory / "peer.cu", directory / "peer.cubin"
    source.write_text(f'#define KERNEL {peer["kernel"]}\n#include "flash_attention.cu"\n')
    options = [option.format(data=DATA, chip=on, **peer, **sources)
               for option in stored("peers.json")["options"].split()]
    run([tool("nvcc"), *options, source, "-o", cubin])
    return cubin


def calibrate(flash_attention: str = "", cutlass: str = "", chips: str = ",".join(CHIPS),
              store: bool = False) -> None:
    """Prints the stored calibration as Markdown. If `store`, predicts the peers before: Triton's on
    the chips with a published speed (its kernels for others do not use mma.sync), and
    FlashAttention-2's if there are sources."""
    if bool(flash_attention) != bool(cutlass) or (flash_attention and not store):
        raise ModelError("expected --flash-attention and --cutlass together, with --store")
    for peer, on in product(stored("peers.json")["peers"] if store else [], chips.split(",")):
        published = peer["published"].get(on)
        if published if "blocks" in peer else flash_attention:
            with tempfile.TemporaryDirectory() as directory:
                file = build(peer, on, Path(directory), cutlass=cutlass,
                             flash_attention=flash_attention)
                speed = chip(on).speed(predict_file(file, on, peer["warps"], peer["ctas"]))
            record("calibration.json", {f"{peer['name']} {peer['stage']} {peer['dim']} {on}": {
                "model": round(speed, 1), "published": published}})
    print("| kernel, D, chip | in the model | published | factor | date |\n|---|---|---|---|---|")
    for name, row in stored("calibration.json").items():
        published = row["published"]
        factor = f"{row['model'] / published:.2f}" if published else ""
        print(f"| {name} | {row['model']:.0f} | {published or ''} | {factor} | {row['date']} |")


def reference(name: str, stage: str, dim: int) -> tuple[float, float]:
    """Returns FlashAttention-2's speed in the model, and the mean over head dims of that speed over
    the published one."""
    rows, peer = stored("calibration.json"), f"FlashAttention-2 {stage} {dim} {name}"
    if peer not in rows:
        raise ModelError(f"calibration.json: expected {peer}, found none; run scripts/gpu-model "
                         "calibrate")
    return rows[peer]["model"], fmean(
        row["model"] / row["published"] for each, row in rows.items()
        if re.fullmatch(rf"FlashAttention-2 {stage} \d+ {name}", each) and row["published"])
