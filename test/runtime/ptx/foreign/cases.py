"""Inputs and expected results of the foreign kernels, in plain Python (double precision).

A case is a kernel, a grid, arguments and expected tensors. Arguments are ("tensor", name) or a
scalar such as ("i32", 7); tensors are (dtype, shape, values).
"""

import math
import random
import struct


def rounded(values, dtype):
    """Returns the values as the type holds them."""
    if dtype == "F32":
        return [struct.unpack("<f", struct.pack("<f", x))[0] for x in values]
    if dtype == "F16":
        return [struct.unpack("<e", struct.pack("<e", x))[0] for x in values]
    if dtype == "BF16":
        return [_bf16(x) for x in values]
    return list(values)


def _bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class Case:
    """A launch. `new` are tensors that the kernel writes, `expected` their values and tolerances
    (relative to the greatest value; 0: equal)."""

    def __init__(self, name, grid):
        self.name, self.grid = name, grid
        self.random = random.Random(name)
        self.tensors, self.arguments, self.expected = {}, [], {}

    def draw(self, name, dtype, *shape, low=None, high=None):
        count = math.prod(shape)
        if dtype == "I32":
            values = [self.random.randrange(low, high) for _ in range(count)]
        else:
            values = rounded([self.random.gauss(0, 1) for _ in range(count)], dtype)
        return self.give(name, dtype, shape, values)

    def give(self, name, dtype, shape, values):
        self.tensors[name] = (dtype, shape, values)
        self.arguments.append({"tensor": name})
        return values

    def new(self, name, dtype, *shape):
        kind = {"F32": "f32", "F64": "f64", "F16": "f16", "BF16": "bf16", "I32": "i32"}[dtype]
        self.arguments.append({"tensor": name, "shape": list(shape), "dtype": kind})

    def scalar(self, kind, value):
        self.arguments.append({kind: value})

    def expect(self, name, values, tolerance=0.0):
        self.expected[name] = (values, tolerance)


def softmax_rows():
    case = Case("softmax_rows", (3, 1))
    rows, columns = 3, 781
    x = case.draw("x", "F32", rows, columns)
    case.new("y", "F32", rows, columns)
    case.scalar("i32", columns)
    y = []
    for row in range(rows):
        values = [math.exp(v) for v in x[row * columns:(row + 1) * columns]]
        y += [v / math.fsum(values) for v in values]
    case.expect("y", y, 1e-6)
    return case


def layer_norm():
    case = Case("layer_norm", (5, 1))
    rows, columns = 5, 201
    x = case.draw("x", "F16", rows, columns)
    gain = case.draw("gain", "F16", columns)
    case.new("y", "F16", rows, columns)
    case.scalar("i32", columns)
    y = []
    for row in range(rows):
        values = x[row * columns:(row + 1) * columns]
        mean = math.fsum(values) / columns
        deviation = math.sqrt(math.fsum((v - mean)**2 for v in values) / columns + 1e-5)
        y += [(v - mean) / deviation * g for v, g in zip(values, gain)]
    case.expect("y", y, 1e-3)
    return case


def linear_recurrence():
    case = Case("linear_recurrence", (2, 1))
    a = case.give("a", "F32", (2, 512), rounded([case.random.random() for _ in range(1024)], "F32"))
    b = case.draw("b", "F32", 2, 512)
    case.new("y", "F32", 2, 512)
    y, state = [], 0.0
    for i in range(1024):
        state = b[i] if i % 512 == 0 else a[i] * state + b[i]
        y.append(state)
    case.expect("y", y, 1e-6)
    return case


def sort_rows():
    case = Case("sort_rows", (2, 1))
    x = case.draw("x", "I32", 2, 256, low=-1000, high=1000)
    case.new("y", "I32", 2, 256)
    case.expect("y", sorted(x[:256]) + sorted(x[256:]))
    return case


def histogram():
    case = Case("histogram", (4, 1))
    x = case.draw("x", "I32", 1024, low=0, high=40)
    for name, dtype, size in (("counts", "I32", 40), ("sums", "F32", 40), ("greatest", "I32", 1)):
        case.give(name, dtype, (size,), [0] * size)
    case.expect("counts", [x.count(n) for n in range(40)])
    case.expect("sums", [0.5 * x.count(n) for n in range(40)])
    case.expect("greatest", [max(x)])
    return case


def locked_sum():
    case = Case("locked_sum", (6, 1))
    x = case.draw("x", "F32", 6 * 256)
    case.give("total", "F32", (1,), [0.0])
    case.give("lock", "I32", (1,), [0])
    case.expect("total", [math.fsum(x)], 1e-5)
    case.expect("lock", [0])
    return case


def log_sum_exp():
    case = Case("log_sum_exp", (4, 1))
    x = case.draw("x", "F64", 4, 200)
    case.new("y", "F64", 4)
    case.scalar("i32", 200)
    case.expect("y", [math.log(math.fsum(math.exp(v) for v in x[r * 200:r * 200 + 200]))
                      for r in range(4)], 1e-14)
    return case


def matmul(kind):
    m, n, k = 70, 61, 83
    case = Case(f"matmul_{kind}", (2, 2))
    dtype = {"bf16": "BF16", "f16": "F16"}.get(kind, "F32")
    a, b = case.draw("a", dtype, m, k), case.draw("b", dtype, k, n)
    case.new("c", "F32", m, n)
    for size in (m, n, k):
        case.scalar("i32", size)
    case.expect("c", [math.fsum(a[i * k + t] * b[t * n + j] for t in range(k))
                      for i in range(m) for j in range(n)], 1e-3 if kind == "tf32" else 1e-6)
    return case


def _attention(q, k, v, length, depth, scale):
    """Returns weights, outputs and base-2 log-sum-exps of causal attention of one head."""
    weights, outputs, sums = [], [], []
    for i in range(length):
        scores = [scale * math.fsum(q[i * depth + t] * k[j * depth + t] for t in range(depth))
                  for j in range(i + 1)]
        powers = [2**s for s in scores]
        mass = math.fsum(powers)
        weights.append([p / mass for p in powers])
        sums.append(math.log2(mass))
        outputs += [math.fsum(w * v[j * depth + t] for j, w in enumerate(weights[-1]))
                    for t in range(depth)]
    return weights, outputs, sums


def attention_forward():
    length, depth, heads = 90, 64, 2
    case = Case("attention_forward", (2, heads))
    scale = math.log2(math.e) / math.sqrt(depth)
    q, k, v = (case.draw(name, "BF16", heads, length, depth) for name in "qkv")
    case.new("o", "BF16", heads, length, depth)
    case.new("lse", "F32", heads, length)
    case.scalar("i32", length)
    case.scalar("f32", scale)
    o, lse = [], []
    for head in range(heads):
        part = slice(head * length * depth, (head + 1) * length * depth)
        _, outputs, sums = _attention(q[part], k[part], v[part], length, depth, scale)
        o += outputs
        lse += sums
    case.expect("o", o, 1e-2)
    case.expect("lse", lse, 1e-5)
    return case


def attention_backward():
    length, depth = 80, 32
    case = Case("attention_backward", (2, 1))
    scale = math.log2(math.e) / math.sqrt(depth)
    q, k, v, d_o = (case.draw(name, "BF16", length, depth) for name in ("q", "k", "v", "d_o"))
    weights, o, lse = _attention(q, k, v, length, depth, scale)
    delta = [math.fsum(o[i * depth + t] * d_o[i * depth + t] for t in range(depth))
             for i in range(length)]
    case.give("lse", "F32", (length,), rounded(lse, "F32"))
    case.give("delta", "F32", (length,), rounded(delta, "F32"))
    case.give("d_q", "F32", (length, depth), [0.0] * (length * depth))
    case.new("d_k", "F32", 128, depth)
    case.new("d_v", "F32", 128, depth)
    case.arguments[-2]["shape"] = case.arguments[-1]["shape"] = [length, depth]
    case.scalar("i32", length)
    case.scalar("f32", scale)
    d_q, d_k, d_v = ([0.0] * (length * depth) for _ in range(3))
    for i in range(length):
        for j in range(i + 1):
            weight = weights[i][j]
            product = math.fsum(d_o[i * depth + t] * v[j * depth + t] for t in range(depth))
            adjoint = weight * (product - delta[i])
            for t in range(depth):
                d_q[i * depth + t] += adjoint * k[j * depth + t]
                d_k[j * depth + t] += adjoint * q[i * depth + t]
                d_v[j * depth + t] += weight * d_o[i * depth + t]
    for name, values in (("d_q", d_q), ("d_k", d_k), ("d_v", d_v)):
        case.expect(name, values, 1e-2)
    return case


# --- CUDA C++ ------------------------------------------------------------------------------------


def shuffled_sum():
    case = Case("shuffled_sum", (3, 1))
    x = case.draw("x", "F32", 1000)
    case.give("y", "F32", (1,), [0.0])
    case.scalar("i32", 1000)
    case.expect("y", [math.fsum(x)], 1e-4)
    return case


def votes():
    case = Case("votes", (2, 1))
    x = case.draw("x", "I32", 256, low=0, high=100)
    for name in ("ballots", "matches", "flags"):
        case.new(name, "I32", 256)
    signed = lambda bits: bits - (1 << 32) if bits >> 31 else bits
    mask = lambda warp, holds: sum(1 << lane for lane, value in enumerate(warp) if holds(value))
    ballots, matches, flags = [], [], []
    for first in range(0, 256, 32):
        warp = x[first:first + 32]
        odd, even = [v for v in warp if v % 2], [v for v in warp if v % 2 == 0]
        for value in warp:
            ballots.append(signed(mask(warp, lambda v: v % 3 == 0)))
            matches.append(signed(mask(warp, lambda v, own=value: v % 5 == own % 5)))
            flags.append((max(odd) > 90) + 2 * (max(odd) < 100) + 4 * len(odd) if value % 2
                         else sum(even))
    case.expect("ballots", ballots)
    case.expect("matches", matches)
    case.expect("flags", flags)
    return case


def tiles():
    case = Case("tiles", (2, 1))
    x = case.draw("x", "I32", 128, low=0, high=100)
    case.new("sums", "I32", 128)
    case.new("scans", "I32", 128)
    sums, scans = [], []
    for i, value in enumerate(x):
        tile = x[i // 8 * 8:i // 8 * 8 + 8]
        rank = sum(v & 1 for v in x[i // 32 * 32:i])
        sums.append(sum(tile))
        scans.append(sum(tile[:i % 8 + 1]) + (1000 * (rank + 1) if value & 1 else 0))
    case.expect("sums", sums)
    case.expect("scans", scans)
    return case


def histogram_shared():
    case = Case("histogram_shared", (2, 1))
    x = case.draw("x", "I32", 900, low=0, high=1 << 20)
    case.give("counts", "I32", (64,), [0] * 64)
    case.scalar("i32", 900)
    case.expect("counts", [sum(v & 63 == n for v in x) for n in range(64)])
    return case


def cases():
    case = Case("cases", (2, 1))
    x = case.draw("x", "F64", 100)
    which = case.draw("which", "I32", 100, low=0, high=64)
    case.new("y", "F64", 100)
    case.scalar("i32", 100)
    rules = [lambda v: math.fsum(v**n / math.factorial(n) for n in range(20)),
             lambda v: math.sqrt(abs(v)), math.floor, lambda v: rounded([v], "F32")[0],
             lambda v: 1 / (1 + v * v), lambda v: v * v - 1,
             lambda v: float(int(int(v * 100) / 7)),
             lambda v: math.log1p(v) if v > 0 else math.exp(v)]
    case.expect("y", [rules[w & 7](v) for v, w in zip(x, which)], 1e-14)
    return case


def last_block():
    case = Case("last_block", (7, 1))
    x = case.draw("x", "F32", 1500)
    case.new("parts", "F32", 7)
    case.give("finished", "I32", (1,), [0])
    case.new("y", "F32", 1)
    case.scalar("i32", 1500)
    case.expect("y", [math.fsum(v * v for v in x)], 1e-6)
    case.expect("finished", [7])
    return case


ALL = [softmax_rows, layer_norm, linear_recurrence, sort_rows, histogram, locked_sum, log_sum_exp,
       *[lambda kind=kind: matmul(kind) for kind in ("bf16", "f16", "tf32", "f32")],
       attention_forward, attention_backward, shuffled_sum, votes, tiles, histogram_shared, cases,
       last_block]
