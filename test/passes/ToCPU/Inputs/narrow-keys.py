"""Compares kernels of keys and values in 16 bits with those of f32 on the same numbers, bit by bit.

usage: narrow-keys.py EXAMPLES bf16|f16 ENCODING...

The tile program of every encoding stores k and v in 16 bits; their loads extend elements to f32.
Exits with 1 at the first difference.
"""

import re
import subprocess
import sys
import tempfile

# Few rows, with one split of the keys or several: lengths 0, 1, 2 and 8. More rows: lengths below,
# at and above a block of 64 keys; grouped heads, depths that are not multiples of a vector,
# negative positions, rows in parts, other blocks.
CALLS = [
    {"r": 1, "c": 1, "check": 0},  # the gradients of q and k are rounding errors
    {"r": 5, "c": 0},
    {"r": 2, "c": 64, "memory": "begin"},
    {"r": 8, "c": 600, "hq": 4, "hkv": 2, "d": 40, "e": 24},
    {"r": 3, "c": 520, "layout": "bshd", "features": "x86-64-v4"},
    {"r": 37, "c": 130, "hq": 4, "hkv": 2, "b": 2},
    {"r": 150, "c": 193, "d": 40, "e": 72, "hq": 3, "hkv": 1},
    {"r": 50, "c": 100, "q_start": -20, "d": 8, "e": 24, "features": "x86-64-v4"},
    {"r": 130, "c": 150, "layout": "bshd", "set": "key_block=24,part_rows=32"},
]
LOAD = re.compile(r"( *)(%\d+) = tile\.load (%\d+) : <(\[.*?\]), f32> -> <(\[c, [de]\]), f32>")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(*command)
        print(done.stdout, done.stderr, sep="\n")
        sys.exit(1)
    return done.stdout


def narrowed(program, dtype):
    """Returns a tile program with k and v in another type, extended at their loads."""
    lines, narrow, loads = [], set(), 0
    for line in program.splitlines():
        buffer = re.match(r' *(%\d+) = tile\.buffer "[kv]" ', line)
        load = LOAD.fullmatch(line)
        if buffer:
            narrow.add(buffer.group(1))
            line = line.replace("f32>", f"{dtype}>")
        elif load and load.group(3) in narrow:
            line = line.replace("f32> -> ", f"{dtype}> -> ")
            loads += 1
        lines.append(line)
    if len(narrow) != 2 or loads < 4:  # k and v, forward and backward
        sys.exit(f"expected loads of k and v, found {len(narrow)} buffers and {loads} loads")
    return "\n".join(lines)


examples, dtype, encodings = sys.argv[1], sys.argv[2], sys.argv[3:]
for encoding in encodings:
    for call in CALLS:
        example = f"{examples}/{encoding}.mlir"
        d = call.get("d", 64)
        options = f"grad=true early-exit=false few-rows=8 head-dim={d} value-dim={call.get('e', d)}"
        program = run("pe-opt", example, "--pe-prepare", "--pe-structure-pipeline",
                      f"--pe-to-tile={options}")
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(narrowed(program, dtype))
            file.flush()
            arguments = [f"--{name}={value}" for name, value in call.items()]
            run("pe-kernel-bench", file.name, "--grad=1", "--quiet=1", "--tolerance=1e-4",
                f"--equal={example}", *arguments)
