"""Trains a tiny model with every file of a directory: train_encodings.py SCRATCH EXAMPLES

A file that shows later tokens is trained with the masked objective, as the error says. Gradients
are looked for in the optimizer's first moments after the last step.
"""

import concurrent.futures
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys

STEPS = 2
# Under softmax, a value that is the same for all keys cancels.
CANCELS = {"b2", "b3"}


def write_data(directory):
    directory.mkdir(parents=True)
    for number in range(10):
        lines = [f"line {line} of file {number}: {line * number}" for line in range(number + 3)]
        (directory / f"{number}.txt").write_text("\n".join(lines) + "\n" * 60)


def run(scratch, path, objective):
    directory = scratch / f"{path.stem}-{objective}"
    shutil.rmtree(directory, ignore_errors=True)
    command = ["pe", "train", f"--encoding={path}", f"--data={scratch}/data", "--layers=1",
               "--dim=16", "--heads=2", "--kv-heads=2", "--seq=24", "--batch=2",
               f"--steps={STEPS}", "--eval-lengths=24,40", "--threads=1", "--warmup=0",
               f"--objective={objective}", f"--checkpoint={directory}", f"--log={directory}.jsonl"]
    return directory, subprocess.run(command, capture_output=True, text=True)


def tensors(path):
    """Returns the f32 tensors of a safetensors file, by name."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    result = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            result[name] = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    return result


def check(directory, path):
    lines = pathlib.Path(f"{directory}.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    losses = [event["loss"] for event in events if event["event"] == "step"]
    assert len(losses) == STEPS and all(map(math.isfinite, losses)), (path.name, losses)
    bits = events[-1]["bits_per_char"]
    assert sorted(bits) == ["24", "40"], (path.name, bits)
    assert all(map(math.isfinite, bits.values())), (path.name, bits)
    state = tensors(directory / f"step-{STEPS}" / "optimizer.safetensors")
    names = [parameter["name"] for parameter in events[0]["parameters"]]
    for name in names:
        moments = state[f"m.{name}"]
        assert all(map(math.isfinite, moments)), (path.name, name)
        if name.rpartition(".")[2] not in CANCELS:
            assert any(moments), (path.name, name, "no gradient")


def train(scratch, path):
    directory, process = run(scratch, path, "causal")
    if "use --objective=masked" in process.stderr:
        directory, process = run(scratch, path, "masked")
    if process.returncode != 0:
        return f"{path.name} refused: {process.stderr.splitlines()[-1]}"
    check(directory, path)
    return None


def main():
    scratch, examples = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(scratch, ignore_errors=True)
    write_data(scratch / "data")
    files = sorted(examples.glob("*.mlir"))
    assert len(files) > 60
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for line in pool.map(lambda path: train(scratch, path), files):
            if line:
                print(line)
    print("all others train")


main()
