"""Compares the model with published speeds of other kernels for mma.sync: peers.json names them and
their sources, calibration.json keeps the results."""

import re
import tempfile
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from gpumodel.chips import CHIPS, ModelError, chip, record, stored
from gpumodel.kernels import ROOT, predict
from gpumodel.sass import assemble, read, run, tool
from gpumodel.walk import walk

TABLE = "calibration.json"


def build(peer: dict[str, Any], arch: str, sources: list[Path], directory: Path) -> Path:
    """Compiles a kernel of FlashAttention-2, without PyTorch, or of Triton, without a GPU."""
    if "blocks" in peer:
        ptx, python = directory / "peer.ptx", ROOT / "build/venv-triton/bin/python"
        if not python.exists():
            raise ModelError(f"expected Triton in {python.parents[1]}, found none; run "
                             "scripts/judge-emulator --compile")
        ptx.write_text(run([python, ROOT / "test/runtime/ptx/foreign/kernels_triton.py",
                            arch.strip("sm_a"), *map(str, peer["blocks"])]).stdout)
        return ptx
    table, source, cubin = stored("peers.json"), directory / "peer.cu", directory / "peer.cubin"
    for name, text in table["headers"].items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    source.write_text(table["source"].replace("TEMPLATE", peer["template"])
                      .replace("KERNEL", peer["kernel"]))
    includes = [directory, sources[0] / "csrc/flash_attn/src", sources[1] / "include"]
    run([tool("nvcc"), *table["options"].split(), *(f"-I{path}" for path in includes),
         f"-arch={arch.strip('a')}", source, "-o", cubin])
    return cubin


def predict_file(file: Path, name: str, warps: int, ctas: int, kernel: str = "") -> float:
    """Returns the share of the matrix pipes that the longest kernel of a file of PTX or machine
    code uses, of those whose names contain `kernel`."""
    on = chip(name)
    found = assemble(file, on.arch) if file.suffix == ".ptx" else read(file)
    named = [one for one in found.values() if kernel in one.name]
    if not named:
        raise ModelError(f"{file}: expected a kernel named {kernel}, found {', '.join(found)}")
    longest = max(named, key=lambda one: len(one.code))
    return predict(longest, [walk(longest)] * warps, ctas, on, {}).share


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
                file = build(peer, chip(on).arch, [Path(flash_attention), Path(cutlass)],
                             Path(directory))
                speed = chip(on).speed(predict_file(file, on, peer["warps"], peer["ctas"]))
            record(TABLE, {f"{peer['name']} {peer['stage']} {peer['dim']} {on}": {
                "model": round(speed, 1), "published": published}})
    print("| kernel, D, chip | in the model | published | factor | date |\n|---|---|---|---|---|")
    for name, row in stored(TABLE).items():
        published = row["published"]
        factor = f"{row['model'] / published:.2f}" if published else ""
        print(f"| {name} | {row['model']:.0f} | {published or ''} | {factor} | {row['date']} |")


def reference(name: str, stage: str, dim: int) -> tuple[float, float]:
    """Returns FlashAttention-2's speed in the model, and the mean over head dims of that speed over
    the published one."""
    rows, peer = stored(TABLE), f"FlashAttention-2 {stage} {dim} {name}"
    if peer not in rows:
        raise ModelError(f"{TABLE}: expected {peer}, found none; run scripts/gpu-model calibrate")
    return rows[peer]["model"], fmean(
        row["model"] / row["published"] for each, row in rows.items()
        if re.fullmatch(rf"FlashAttention-2 {stage} \d+ {name}", each) and row["published"])
