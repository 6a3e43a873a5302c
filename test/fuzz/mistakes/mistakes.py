"""Inserts mistakes into correct programs and checks the outcome of `pe run --check`.

    mistakes.py PE --seed=1 --count=60 [--folder=DIR] [--only=N]

An outcome is right if it is an error whose first line names FILE:LINE:COL or begins with "pe run:
error:", or if the results equal a dense evaluation of the changed formula (formula.py), in which
an out-of-bounds index is an error. Prints the number of outcomes per class, and every wrong one
with its program. --only=N runs and prints only mistake N.
"""

import argparse
import collections
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys

import formula
import programs

SIZES = {"b": 2, "h": 2, "sq": 10, "sk": 10, "d": 8}
AXES = {"batch": 2, "head": 2, "kv_head": 2, "query": 10, "key": 10, "depth": 8, "value_depth": 8}
OTHER = 5  # the size of a named axis
LIMIT = 60  # seconds per run
RAW = re.compile(r"failed to legalize|defect of pe|unregistered|LLVM ERROR|Assertion|Traceback")


def element_type(capture):
    return re.search(r"(\w+)>", capture.type).group(1).split("x")[-1]


def shape_of(capture):
    words = re.findall(r'"(\w+)"', capture.axes)
    dims = re.findall(r"(\?|\d+)x", capture.type)
    return [int(dim) if dim != "?" else
            AXES.get(words[n], OTHER) if n < len(words) else AXES["head"]
            for n, dim in enumerate(dims)]


def draw(source, program):
    """Returns the tensors of a call by name: (shape, type, elements)."""
    tensors = {}
    for name in "qkv":
        shape = [SIZES["b"], SIZES["h"], SIZES["sq"], SIZES["d"]]
        tensors[name] = (shape, "F32", [source.gauss(0, 1) for _ in range(math.prod(shape))])
    for capture in program.captures:
        shape = shape_of(capture)
        count = math.prod(shape)
        if element_type(capture).startswith("i"):
            low, high = int(capture.low), max(int(capture.high), int(capture.low) + 1)
            numbers = [source.randrange(low, high) for _ in range(count)]
            tensors[capture.name] = (shape, "I32", numbers)
        else:
            numbers = [source.uniform(capture.low, capture.high) for _ in range(count)]
            tensors[capture.name] = (shape, "F32", numbers)
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, kind, numbers) in tensors.items():
        part = struct.pack(f"<{len(numbers)}{'f' if kind == 'F32' else 'i'}", *numbers)
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path, name):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    entry = json.loads(content[8:8 + size])[name]
    first, last = (8 + size + offset for offset in entry["data_offsets"])
    return struct.unpack(f"<{(last - first) // 4}f", content[first:last])


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def keeps(mask, names):
    """Returns True if the mask op keeps the pair."""
    difference = names["i"] - names["j"]
    if not mask:
        return True
    if mask == "pe.causal":
        return difference >= 0
    if mask == "pe.strict_causal":
        return difference > 0
    if found := re.fullmatch(r'pe\.mask_fn expr "(.*)"', mask):
        return formula.evaluate(formula.parse(found.group(1)), names)
    limits = re.fullmatch(r"pe\.sliding_window(?: \{(.*)\})?", mask)
    if not limits:
        raise formula.Unreadable(mask)
    bounds = dict(re.findall(r"(left|right) = (\d+)", limits.group(1) or ""))
    return (difference < int(bounds.get("left", 1 << 40))
            and -difference < int(bounds.get("right", 1 << 40)))


def dense_row(program, tree, names, tensors):
    """Returns the output of one query, by the definition of softmax attention."""
    def vector(name, place):
        size = SIZES["d"]
        first = ((names["b"] * SIZES["h"] + names["h"]) * SIZES["sq"] + place) * size
        return tensors[name][2][first:first + size]
    scores, factors, values = [], [], []
    q = vector("q", names["i"])
    for j in range(SIZES["sk"]):
        here = {**names, "j": j}
        if program.clause == "mask":
            if not formula.evaluate(tree, here):
                continue
        elif not keeps(program.mask, here):
            continue
        score = sum(a * b for a, b in zip(q, vector("k", j))) / math.sqrt(SIZES["d"])
        value = 1.0
        if program.clause == "score":
            score = formula.evaluate(tree, {**here, "s": score})
        elif program.clause == "bias":
            score += formula.evaluate(tree, here)
        elif program.clause == "factor":
            value = formula.evaluate(tree, here)
        elif program.clause == "content":
            terms = (x * formula.evaluate(tree, {**here, "d": d, "dim": SIZES["d"]})
                     for d, x in enumerate(q))
            score += sum(terms) / math.sqrt(SIZES["d"])
        scores.append(float(score))
        factors.append(float(value))
        values.append(vector("v", j))
    sink = formula.evaluate(tree, names) if program.clause == "sink" else None
    if any(not score < math.inf for score in scores):
        return [math.nan] * SIZES["d"]
    largest = max(scores + ([sink] if sink is not None else []), default=-math.inf)
    if largest == -math.inf:
        return [0.0] * SIZES["d"]
    weights = [math.exp(score - largest) for score in scores]
    total = sum(weights) + (math.exp(sink - largest) if sink is not None else 0)
    return [sum(w * f * v[d] for w, f, v in zip(weights, factors, values)) / total
            for d in range(SIZES["d"])]


def dense(program, tensors):
    tree = formula.parse(program.formula)
    read_names = {c.name: formula.Tensor(tensors[c.name][0], [
        single(x) if tensors[c.name][1] == "F32" else x for x in tensors[c.name][2]])
        for c in program.captures if c.name != program.left_out}
    rows = []
    for b in range(SIZES["b"]):
        for h in range(SIZES["h"]):
            for i in range(SIZES["sq"]):
                rows += dense_row(program, tree, {**read_names, "b": b, "h": h, "i": i}, tensors)
    return rows


def judge(pe, folder, program, source):
    """Returns the outcome ("error" or "equal") and a detail, or "" and what is wrong."""
    tensors = draw(source, program)
    file, given, out = folder / "mistake.mlir", folder / "in.safetensors", folder / "o.safetensors"
    file.write_text(program.text())
    write(given, tensors)
    out.unlink(missing_ok=True)
    try:
        run = subprocess.run([pe, "run", file, f"--in={given}", f"--out={out}", "--check",
                              "--threads=1"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "", f"timed out after {LIMIT} s"
    if run.returncode < 0:
        return "", f"killed by signal {-run.returncode}"
    if raw := RAW.search(run.stdout + run.stderr):
        return "", f"prints {raw.group(0)!r}"
    if run.returncode:
        lines = [line for line in run.stderr.splitlines()
                 if ": error: " in line and ": warning: " not in line]
        if lines and re.match(r"(\S+:\d+:\d+|pe run): error: ", lines[0]):
            return "error", lines[0].split("error: ", 1)[1]
        return "", f"failed without a located error: {run.stderr[:300]}"
    try:
        expected = dense(program, tensors)
    except formula.Outside as error:
        return "", f"accepted, although an index is out of bounds: {error}"
    except formula.Unreadable as error:
        return "", f"accepted, although it is invalid: {error}"
    found = read(out, "o")
    for n, (a, b) in enumerate(zip(expected, found, strict=True)):
        if not (abs(a - b) <= 1e-4 * max(1.0, abs(a)) or (a != a and b != b)):
            return "", f"element {n} is {b}, expected {a}"
    return "equal", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pe")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    counts, wrong = collections.defaultdict(collections.Counter), 0
    numbers = range(options.count) if options.only is None else [options.only]
    for number in numbers:
        source = random.Random(f"{options.seed} {number}")
        kind, program = programs.mistake(source, number)
        answer, why = judge(options.pe, options.folder, program, source)
        counts[kind][answer or "WRONG"] += 1
        if not answer:
            wrong += 1
            print(f"mistake {number} ({kind}): {why}\n{program.text()}")
        elif options.only is not None:
            print(f"mistake {number} ({kind}): {answer} {why}\n{program.text()}")
    for kind, answers in counts.items():
        print(f"{kind:20}", ", ".join(f"{count} {answer}" for answer, count in answers.items()))
    print(f"{len(numbers)} mistakes, {wrong} wrong answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
