"""Runs kernels of other compilers on the PTX machine: check_foreign.py PE DIRECTORY [NAME...]

DIRECTORY contains the PTX and kernels.json, both made by scripts/judge-emulator. Every kernel runs
under three seeds and is compared with double precision. Prints a row per kernel.
"""

import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cases  # noqa: E402

FORMATS = {"F32": "f", "F64": "d", "I32": "i", "F16": "e"}
SEEDS = (1, 2, 3)


def pack(dtype, values):
    if dtype == "BF16":
        return b"".join(struct.pack("<f", v)[2:] for v in values)
    return struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)


def unpack(dtype, data):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    form = FORMATS[dtype]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(form)}{form}", data))


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        packed = pack(dtype, values)
        header[name] = {"dtype": dtype, "shape": list(shape),
                        "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + size])
    header.pop("__metadata__", None)
    return {name: unpack(entry["dtype"], content[8 + size + entry["data_offsets"][0]:
                                                 8 + size + entry["data_offsets"][1]])
            for name, entry in header.items()}


def judge(case, found):
    """Returns the greatest error as a part of the tolerance, and the problem if there is one."""
    worst = 0.0
    for name, (expected, tolerance) in case.expected.items():
        values = found[name]
        if tolerance == 0:
            if values != expected:
                return math.inf, f"{name}: found other values than expected"
            continue
        if not all(map(math.isfinite, values)):
            return math.inf, f"{name}: not finite"
        error = max(abs(a - b) for a, b in zip(values, expected, strict=True))
        worst = max(worst, error / (tolerance * max(map(abs, expected))))
        if worst > 1:
            return worst, f"{name}: error {error:.3g}"
    return worst, ""


def run(pe, folder, kernel, case, seed, work):
    write(work / "in.safetensors", case.tensors)
    arguments = case.arguments + [{"u64": 0}] * kernel["scratch"]
    (work / "args.json").write_text(json.dumps(arguments))
    command = [pe, "ptx", "run", folder / kernel["file"], f"--kernel={kernel['kernel']}",
               f"--grid={case.grid[0]},{case.grid[1]}", f"--block={kernel['threads']}",
               f"--shared={kernel['shared']}", f"--args={work / 'args.json'}",
               f"--in={work / 'in.safetensors'}", f"--out={work / 'out.safetensors'}",
               f"--seed={seed}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return math.inf, done.stderr.strip(), 0
    instructions = int(done.stdout.split(": ")[1].split()[0])
    return *judge(case, read(work / "out.safetensors")), instructions


def main():
    pe, folder, *names = sys.argv[1:]
    folder = pathlib.Path(folder)
    kernels = json.loads((folder / "kernels.json").read_text())
    failures = 0
    print("| kernel | compiler | warp instructions | error / tolerance |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        for make in cases.ALL:
            case = make()
            if names and case.name not in names:
                continue
            kernel = kernels[case.name]
            outcomes = [run(pe, folder, kernel, case, seed, pathlib.Path(directory))
                        for seed in SEEDS]
            worst, problem, instructions = max(outcomes)
            failures += bool(problem)
            verdict = f"FAILED: {problem}" if problem else f"{worst:.2f}" if worst else "equal"
            print(f"| {case.name} | {kernel['compiler']} | {instructions} | {verdict} |",
                  flush=True)
    print(f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
