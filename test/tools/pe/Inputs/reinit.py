"""Runs `pe reinit` on valid and damaged checkpoints. argv: an empty working directory.

Checks in plain Python that rows or columns are orthonormal times the scale, that everything else is
bitwise equal for any number of threads, and that nothing is written after an error.
"""

import json
import math
import os
import random
import struct
import subprocess
import sys

os.chdir(sys.argv[1])
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


# -- Files -----------------------------------------------------------------------------------------


def encode(dtype, value):
    if dtype == "BF16":
        return struct.pack("<f", value)[2:]  # truncated: the values need not be the nearest
    return struct.pack({"F32": "<f", "F64": "<d", "F16": "<e", "I64": "<q"}[dtype], value)


def decode(dtype, data):
    if dtype == "BF16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    code = {"F32": "f", "F64": "d", "F16": "e", "I64": "q"}[dtype]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def tensor(seed, shape, dtype="F32", values=None):
    generator = random.Random(seed)
    count = math.prod(shape)
    if values is None:
        values = [generator.gauss(0, 1) if dtype != "I64" else generator.randrange(99)
                  for _ in range(count)]
    return {"dtype": dtype, "shape": shape, "data": b"".join(encode(dtype, v) for v in values)}


def save(path, tensors):
    header, data = {"__metadata__": {"format": "pt", "note": "kept"}}, b""
    for name, value in tensors.items():
        header[name] = {"dtype": value["dtype"], "shape": value["shape"],
                        "data_offsets": [len(data), len(data) + len(value["data"])]}
        data += value["data"]
    text = json.dumps(header).encode() + b"   "
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    return raw[:8 + size], {
        name: {"dtype": entry["dtype"], "shape": entry["shape"],
               "data": raw[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]}
        for name, entry in header.items()}


def reinit(*arguments):
    return subprocess.run(["pe", "reinit", *arguments], capture_output=True, text=True, timeout=120)


def succeed(*arguments):
    done = reinit(*arguments)
    expect(done.returncode == 0, f"{arguments}: {done.stderr}")
    return done.stdout


# -- Projected matrices ----------------------------------------------------------------------------


def matrix(value, index=0):
    rows, cols = value["shape"][-2:]
    numbers = decode(value["dtype"], value["data"])[index * rows * cols:(index + 1) * rows * cols]
    return [numbers[i * cols:(i + 1) * cols] for i in range(rows)]


def is_isometry(m, scale, tolerance):
    if len(m) > len(m[0]):
        m = list(zip(*m))
    return all(abs(sum(a * b for a, b in zip(m[i], m[j])) - (i == j) * scale ** 2)
               < tolerance * scale ** 2 for i in range(len(m)) for j in range(i + 1))


# -- One file --------------------------------------------------------------------------------------

model = {
    "model.embed_tokens.weight": tensor(1, [20, 8]),
    "layers.0.self_attn.q_proj.weight": tensor(2, [8, 8]),
    "layers.0.self_attn.c_attn.weight": tensor(3, [24, 8], "BF16"),
    "layers.0.mlp.up.weight": tensor(4, [16, 8], "F16"),
    "layers.0.mlp.down.weight": tensor(5, [8, 16], "F64"),
    "layers.0.mlp.zero.weight": tensor(0, [4, 4], values=[0] * 16),
    "layers.0.experts.w1": tensor(6, [3, 6, 4]),
    "layers.0.input_norm.weight": tensor(7, [8]),
    "layers.0.conv.kernel": tensor(8, [2, 2, 2, 2]),
    "positions": tensor(9, [4, 4], "I64"),
    "lm_head.weight": tensor(10, [20, 8]),
}
save("model", model)
chosen = [name for name in model if "attn" in name or "mlp" in name]
tolerances = {"F32": 1e-6, "F64": 1e-12, "BF16": 0.05, "F16": 5e-3}
scales = {name: math.sqrt(value["shape"][-2] / value["shape"][-1]) for name, value in model.items()
          if len(value["shape"]) > 1}

printed = succeed("--in=model", "--out=out", "--report=report.json", "--threads=1")
expect("4 matrices projected, 1 of zeros left alone; 11 tensors in out" in printed, printed)
(head, result), before = load("out"), load("model")[0]
expect(head == before, "the header is copied bit for bit")
for name, value in model.items():
    if name not in chosen or "zero" in name:
        expect(result[name]["data"] == value["data"], f"{name} is copied")
    else:
        expect(is_isometry(matrix(result[name]), scales[name], tolerances[value["dtype"]]), name)
report = {entry["name"]: entry for entry in json.load(open("report.json"))}
expect(list(report) == list(model), "the report has every tensor")
keys = "name shape chosen why dfi_before dfi_after sfe iterations rank scale".split()
expect(all(list(entry) == keys for entry in report.values()), "the report's keys")
for name, why in {"lm_head.weight": "name with 'head'", "positions": "type i64",
                  "layers.0.conv.kernel": "rank 4", "layers.0.mlp.zero.weight": "zero",
                  "layers.0.experts.w1": "rank 3, not a stack of --batched",
                  "layers.0.mlp.up.weight": "projected"}.items():
    expect(report[name]["why"] == why, f"{name}: {report[name]['why']}")
query = report["layers.0.self_attn.q_proj.weight"]
expect(query["dfi_after"] < 1e-12 and query["rank"] == 8 and query["iterations"] == 3, str(query))

for threads in ["2", "5"]:
    succeed("--in=model", "--out=again", f"--threads={threads}")
    expect(open("again", "rb").read() == open("out", "rb").read(), f"bits on {threads} threads")
printed = succeed("--in=again", "--out=again", "--engine=quintic")  # of an isometry already
expect("replaced again in place" in printed, "the note about the replacement in place")
expect(load("again")[0] == before, "in place")

# -- Choices ---------------------------------------------------------------------------------------


def changed(*arguments):
    succeed("--in=model", "--out=out", *arguments)
    result = load("out")[1]
    return [name for name in model if result[name]["data"] != model[name]["data"]]


expect(changed("--target=attention") == chosen[:2], "attention")
expect(changed("--target=mlp") == chosen[2:4], "mlp")
expect(changed("--include=lm_head|up", "--exclude=mlp") == ["lm_head.weight"], "include, exclude")
expect(changed("--include=w[0-9]$", "--batched=experts") == ["layers.0.experts.w1"], "stack")
stack = load("out")[1]["layers.0.experts.w1"]
for index in range(3):
    expect(is_isometry(matrix(stack, index), math.sqrt(6 / 4), 1e-6), f"matrix {index} of a stack")
changed("--split-qkv=c_attn")
printed = succeed("--in=model", "--out=out", "--include=c_attn")
expect("'layers.0.self_attn.c_attn.weight' looks fused and was projected as one matrix: "
       "--split-qkv=c_attn projects" in printed, "a fused name")
printed = succeed("--in=model", "--out=out", "--include=c_attn", "--split-qkv=c_attn")
expect("looks fused" not in printed, "a fused name that is split")
fused = matrix(load("out")[1]["layers.0.self_attn.c_attn.weight"])
for part in range(3):
    expect(is_isometry(fused[8 * part:8 * part + 8], 1, 0.05), f"part {part} of qkv")
printed = succeed("--in=model", "--out=out", "--include=c_attn", "--split-qkv=attn",
                  "--qkv-sizes=16,4,4")
for line in ["c_attn.weight[q] 16x8", "c_attn.weight[k] 4x8", "c_attn.weight[v] 4x8"]:
    expect(line in printed, line)
changed("--include=up", "--layout=in-out")
expect(is_isometry(matrix(load("out")[1]["layers.0.mlp.up.weight"]), math.sqrt(8 / 16), 5e-3),
       "the scale of a Conv1D")
columns = {"attn": tensor(1, [8, 24])}
save("columns", columns)
succeed("--in=columns", "--out=out", "--layout=in-out", "--split-qkv=attn")
wide = matrix(load("out")[1]["attn"])
for part in range(3):
    piece = [row[8 * part:8 * part + 8] for row in wide]
    expect(is_isometry(piece, 1, 1e-6), f"column part {part}")
for scale, value in [("none", 1), ("fro", math.sqrt(sum(
        v * v for row in matrix(model[chosen[0]]) for v in row) / 8))]:
    changed(f"--scale={scale}")
    expect(is_isometry(matrix(load("out")[1][chosen[0]]), value, 1e-5), scale)
changed("--engine=cubic", "--iters=5", "--report=report.json")
expect(json.load(open("report.json"))[1]["iterations"] == 5, "cubic")
expect(json.load(open("report.json"))[1]["dfi_after"] > 1e-3, "cubic has not converged")
succeed("--in=model", "--out=out", "--against=model", "--report=report.json")
same = json.load(open("report.json"))[1]["sfe"]
save("zeros", {name: dict(value, data=bytes(len(value["data"]))) for name, value in model.items()})
succeed("--in=model", "--out=out", "--against=zeros", "--report=report.json")
expect(abs(json.load(open("report.json"))[1]["sfe"] - 8) < 1e-5 and abs(same - 8) > 1e-3, "against")

# -- Shards ----------------------------------------------------------------------------------------

os.makedirs("shards")
names = list(model)
halves = {"model-1.safetensors": names[:4], "model-2.safetensors": names[4:]}
for file, part in halves.items():
    save(f"shards/{file}", {name: model[name] for name in part})
index = {"metadata": {"total_size": 1},
         "weight_map": {name: file for file, part in halves.items() for name in part}}


def write_index(**other):
    json.dump({**index, **other}, open("shards/model.safetensors.index.json", "w"))


write_index()
succeed("--in=model", "--out=out")
succeed("--in=shards", "--out=sharded", "--report=report.json")
whole, pieces = load("out")[1], {}
for file in halves:
    pieces |= load(f"sharded/{file}")[1]
expect(whole == pieces, "shards are projected like a single file")
expect(open("sharded/model.safetensors.index.json").read() ==
       open("shards/model.safetensors.index.json").read(), "the index is copied")
expect(sorted(os.listdir("sharded")) == sorted([*halves, "model.safetensors.index.json"]),
       str(os.listdir("sharded")))

# -- Errors: one line, and no file changes ---------------------------------------------------------


def snapshot():
    return {os.path.join(directory, name): open(os.path.join(directory, name), "rb").read()
            for directory, _, files in os.walk(".") for name in files}


def refuse(expected, *arguments):
    before = snapshot()
    done = reinit(*arguments)
    expect(done.returncode == 1, f"{arguments}: exit status {done.returncode}")
    expect(expected in done.stderr and done.stderr.count("\n") == 1,
           f"{arguments}: expected '{expected}', found '{done.stderr}'")
    expect(snapshot() == before and not os.path.exists("new"), f"{arguments}: files changed")


into = ["--in=model", "--out=out"]
refuse("--include: expected a pattern that matches the name of a tensor, found 'gate'", *into,
       "--include=gate")
refuse("--exclude: expected a pattern that matches", *into, "--exclude=gate")
refuse("--split-qkv: expected a pattern that matches a tensor that is projected", *into,
       "--split-qkv=wqkv")
refuse("--batched: expected a pattern that matches a tensor of rank 3", *into, "--batched=mlp")
refuse("--include: expected a regular expression, found '('", *into, "--include=(")
refuse("expected a tensor to project, found none among 11", *into, "--include=norm")
refuse("expected outputs for three equal parts, found 8", *into, "--split-qkv=q_proj")
refuse("--qkv-sizes: expected parts that add up to 24 outputs", *into, "--split-qkv=c_attn",
       "--qkv-sizes=1,1,1")
refuse("--against: expected a floating tensor", *into, "--against=columns")
refuse("--report: expected a file other than --out", *into, "--report=out")
refuse("No such file", "--in=model", "--out=no/directory/out")
refuse("cannot create", "--in=model", "--out=new", "--report=no/directory/report.json")
refuse("found something else", "--in=model", "--out=sharded")
save("nan", {**model, "layers.0.mlp.up.weight": tensor(4, [16, 8], "F16",
                                                       [math.nan if i == 11 else 1 + i
                                                        for i in range(128)])})
refuse("parameter 'layers.0.mlp.up.weight': expected finite weights, found nan at [1, 3]",
       "--in=nan", "--out=out")
refuse("expected finite weights", "--in=nan", "--out=new", "--report=new.json")
open("cut", "wb").write(open("model", "rb").read()[:-5])
refuse("data_offsets", "--in=cut", "--out=out")
write_index(weight_map={**index["weight_map"], "more": "model-2.safetensors"})
refuse("tensor 'more': expected it in 'model-2.safetensors'", "--in=shards", "--out=new")
write_index(weight_map={**index["weight_map"], "more": "model-3.safetensors"})
refuse("model-3.safetensors': cannot open", "--in=shards", "--out=new")
write_index(weight_map={**index["weight_map"], "more": "../model"})
refuse("expected the name of a file in the same directory", "--in=shards", "--out=new")
write_index(weight_map={name: "model-1.safetensors" for name in names})
refuse("expected it in 'model-1.safetensors', found no such", "--in=shards", "--out=new")
write_index(weight_map=dict(list(index["weight_map"].items())[1:]))
refuse("tensor 'model.embed_tokens.weight': expected it in \"weight_map\"", "--in=shards",
       "--out=new")
write_index(weight_map=[])
refuse("expected a JSON object with \"weight_map\"", "--in=shards", "--out=new")
write_index()
save("shards/model-2.safetensors", {name: load("nan")[1][name] for name in names[4:]} | {
    "layers.0.mlp.down.weight": tensor(5, [8, 16], "F64", [math.inf] * 128)})
refuse("parameter 'layers.0.mlp.down.weight': expected finite", "--in=shards", "--out=new")
refuse("expected finite", "--in=shards", "--out=sharded")

for failure in failures:
    print(failure)
print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
