"""Compares the model with published speeds of other kernels for mma.sync: peers.json names them and
their sources, calibration.json keeps the results."""

import json
import re
import statistics
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from gpumodel.chips import ModelError, chip
from gpumodel.kernels import ROOT, predict
from gpumodel.sass import assemble, read, run, tool
from gpumodel.walk import walk

TABLE = Path(__file__).with_name("calibration.json")
PEERS = json.loads(Path(__file__).with_name("peers.json").read_text())
SOURCE = """#include "namespace_config.h"
#include "flash_{0}_launch_template.h"
namespace FLASH_NAMESPACE {{
void launch(Flash_{0}_params &p) {{ {1}<<<1, 128>>>(p); }}
}}
"""


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
    for name, text in PEERS["headers"].items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    source, cubin = directory / "peer.cu", directory / "peer.cubin"
    source.write_text(SOURCE.format(peer["template"], peer["kernel"]))
    includes = [directory, sources[0] / "csrc/flash_attn/src", sources[1] / "include"]
    run([tool("nvcc"), "-std=c++17", "-O3", "--expt-relaxed-constexpr", "--expt-extended-lambda",
         "--use_fast_math", *(f"-I{path}" for path in includes), "-cubin",
         "-DFLASHATTENTION_DISABLE_DROPOUT", f"-arch={arch.strip('a')}", source, "-o", cubin])
    return cubin


def predict_file(file: Path, name: str, warps: int, ctas: int, kernel: str = "") -> float:
    """Returns the share of the matrix pipes that the longest kernel of a file of PTX or machine
    code uses, of those whose names contain `kernel`."""
    on = chip(name)
    with tempfile.TemporaryDirectory() as directory:
        found = assemble(file, on.arch, Path(directory)) if file.suffix == ".ptx" else read(file)
    named = [one for one in found.values() if kernel in one.name]
    if not named:
        raise ModelError(f"{file}: expected a kernel named {kernel}, found {', '.join(found)}")
    longest = max(named, key=lambda one: len(one.code))
    return predict(longest, [walk(longest)] * warps, ctas, on, {}).share


def calibrate(sources: list[Path], chips: list[str]) -> None:
    """Predicts the peers and stores the results: Triton's on the chips with a published speed (its
    kernels for others do not use mma.sync), and FlashAttention-2's if there are sources."""
    rows = json.loads(TABLE.read_text())
    for peer in PEERS["peers"]:
        for on in chips:
            published = peer["published"].get(on)
            if not (published if "blocks" in peer else sources):
                continue
            with tempfile.TemporaryDirectory() as directory:
                file = build(peer, chip(on).arch, sources, Path(directory))
                speed = chip(on).speed(predict_file(file, on, peer["warps"], peer["ctas"]))
            rows[f"{peer['name']} {peer['stage']} {peer['dim']} {on}"] = {
                "model": round(speed, 1), "published": published,
                "date": date.today().isoformat()}
    TABLE.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")


def table() -> Iterator[str]:
    """Returns the stored calibration as rows of Markdown."""
    yield "| kernel, D, chip | in the model | published | factor | date |\n|---|---|---|---|---|"
    for name, row in json.loads(TABLE.read_text()).items():
        published = row["published"]
        factor = f"{row['model'] / published:.2f}" if published else ""
        yield f"| {name} | {row['model']:.0f} | {published or ''} | {factor} | {row['date']} |"


def factor(name: str, stage: str) -> float:
    """Returns the mean of FlashAttention-2's speed in the model over its published one."""
    rows = json.loads(TABLE.read_text())
    factors = [row["model"] / row["published"] for peer, row in rows.items()
               if re.fullmatch(rf"FlashAttention-2 {stage} \d+ {name}", peer) and row["published"]]
    return float(statistics.mean(factors))


def peer_speed(name: str, stage: str, dim: int) -> float:
    """Returns the speed of FlashAttention-2 in the model."""
    peer = f"FlashAttention-2 {stage} {dim} {name}"
    rows = json.loads(TABLE.read_text())
    if peer not in rows:
        raise ModelError(f"{TABLE.name}: expected {peer}, found none; run scripts/gpu-model "
                         "calibrate")
    return float(rows[peer]["model"])
