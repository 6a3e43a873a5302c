"""Kernels in Triton, written here, whose PTX judges the PTX machine (scripts/judge-emulator).

The kernels cover what the compiler emits: reductions by shuffles and shared memory, scans,
atomics, matrix instructions of every type, asynchronous copies with several stages, and the
attention kernels that people write.
"""

import sys

import triton
import triton.language as tl


@triton.jit
def softmax_rows(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    exponentials = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + at, exponentials / tl.sum(exponentials, 0), mask=at < columns)


@triton.jit
def layer_norm(x, gain, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0).to(tl.float32)
    mean = tl.sum(values, 0) / columns
    centred = tl.where(at < columns, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    gains = tl.load(gain + at, mask=at < columns, other=0).to(tl.float32)
    tl.store(y + row * columns + at, (centred * scale * gains).to(tl.float16), mask=at < columns)


@triton.jit
def _decay(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def linear_recurrence(a, b, y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    _, states = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 0, _decay)
    tl.store(y + at, states)


@triton.jit
def log_sum_exp(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    greatest = tl.max(values, 0)
    tl.store(y + row, greatest + tl.log(tl.sum(tl.exp(values - greatest), 0)))


@triton.jit
def sort_rows(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def histogram(x, counts, sums, greatest, BLOCK: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(counts + values, 1)
    tl.atomic_add(sums + values, 0.5)
    tl.atomic_max(greatest, tl.max(values, 0))


@triton.jit
def locked_sum(x, total, lock, BLOCK: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    part = tl.sum(values, 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(total)
    tl.debug_barrier()  # all warps load, one stores
    tl.store(total, before + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           PRECISION: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + (start + inner)[None, :],
                       mask=(rows[:, None] < m) & ((start + inner)[None, :] < k), other=0.0)
        right = tl.load(b + (start + inner)[:, None] * n + columns[None, :],
                        mask=((start + inner)[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    tl.store(c + rows[:, None] * n + columns[None, :], total,
             mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def attention_forward(q, k, v, o, lse, length, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
                      DEPTH: tl.constexpr):
    head = tl.program_id(1) * length * DEPTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    depth = tl.arange(0, DEPTH)
    place = head + rows[:, None] * DEPTH + depth[None, :]
    queries = tl.load(q + place, mask=rows[:, None] < length, other=0.0)
    greatest = tl.full((ROWS,), -float("inf"), tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, DEPTH), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * ROWS, COLUMNS):
        columns = start + tl.arange(0, COLUMNS)
        other = head + columns[:, None] * DEPTH + depth[None, :]
        keys = tl.load(k + other, mask=columns[:, None] < length, other=0.0)
        values = tl.load(v + other, mask=columns[:, None] < length, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        kept = (columns[None, :] <= rows[:, None]) & (columns[None, :] < length)
        scores = tl.where(kept, scores, -float("inf"))
        now = tl.maximum(greatest, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(greatest - now)
        mass = mass * shrink + tl.sum(weights, 1)
        total = tl.dot(weights.to(values.dtype), values, total * shrink[:, None])
        greatest = now
    tl.store(o + place, (total / mass[:, None]).to(tl.bfloat16), mask=rows[:, None] < length)
    tl.store(lse + tl.program_id(1) * length + rows, greatest + tl.log2(mass), mask=rows < length)


@triton.jit
def attention_without_mask(q, k, v, o, lse, length, scale, ROWS: tl.constexpr,
                           COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    """As in Triton's tutorial of fused attention, for lengths that are multiples of the blocks."""
    head = tl.program_id(1) * length * DEPTH
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    depth = tl.arange(0, DEPTH)
    place = head + rows[:, None] * DEPTH + depth[None, :]
    queries = tl.load(q + place)
    greatest = tl.full((ROWS,), -float("inf"), tl.float32)
    mass = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, DEPTH), tl.float32)
    for start in range(0, length, COLUMNS):
        other = head + (start + tl.arange(0, COLUMNS))[:, None] * DEPTH + depth[None, :]
        scores = tl.dot(queries, tl.trans(tl.load(k + other)))
        now = tl.maximum(greatest, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - now[:, None])
        shrink = tl.exp2(greatest - now)
        mass = mass * shrink + tl.sum(weights, 1)
        total = tl.dot(weights.to(tl.bfloat16), tl.load(v + other), total * shrink[:, None])
        greatest = now
    tl.store(o + place, (total / mass[:, None]).to(tl.bfloat16))
    tl.store(lse + tl.program_id(1) * length + rows, greatest + tl.log2(mass))


@triton.jit
def attention_backward(q, k, v, d_o, lse, delta, d_q, d_k, d_v, length, scale,
                       ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    head = tl.program_id(1) * length * DEPTH
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    place = head + columns[:, None] * DEPTH + depth[None, :]
    keys = tl.load(k + place, mask=columns[:, None] < length, other=0.0)
    values = tl.load(v + place, mask=columns[:, None] < length, other=0.0)
    keys_sum = tl.zeros((COLUMNS, DEPTH), tl.float32)
    values_sum = tl.zeros((COLUMNS, DEPTH), tl.float32)
    for start in range(tl.program_id(0) * COLUMNS // ROWS * ROWS, length, ROWS):
        rows = start + tl.arange(0, ROWS)
        other = head + rows[:, None] * DEPTH + depth[None, :]
        queries = tl.load(q + other, mask=rows[:, None] < length, other=0.0)
        cotangents = tl.load(d_o + other, mask=rows[:, None] < length, other=0.0)
        row = tl.program_id(1) * length + rows
        constants = tl.load(lse + row, mask=rows < length, other=0.0)
        deltas = tl.load(delta + row, mask=rows < length, other=0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        kept = (columns[None, :] <= rows[:, None]) & (rows[:, None] < length)
        weights = tl.where(kept, tl.exp2(scores - constants[:, None]), 0.0)
        values_sum = tl.dot(tl.trans(weights.to(cotangents.dtype)), cotangents, values_sum)
        products = tl.dot(cotangents, tl.trans(values))
        adjoints = (weights * (products - deltas[:, None])).to(queries.dtype)
        keys_sum = tl.dot(tl.trans(adjoints), queries, keys_sum)
        parts = tl.dot(adjoints, keys)
        tl.atomic_add(d_q + other, parts, mask=rows[:, None] < length)
    tl.store(d_k + place, keys_sum, mask=columns[:, None] < length)
    tl.store(d_v + place, values_sum, mask=columns[:, None] < length)


_BF16_ATTENTION = {name: "*bf16" for name in ("q", "k", "v", "o", "d_o")}
_FLOATS = {name: "*fp32" for name in ("lse", "delta", "d_q", "d_k", "d_v")}
# (name, kernel, types of the parameters, constants, warps, stages)
KERNELS = [
    ("softmax_rows", softmax_rows, {"x": "*fp32", "y": "*fp32", "columns": "i32"},
     {"BLOCK": 1024}, 4, 3),
    ("layer_norm", layer_norm, {"x": "*fp16", "gain": "*fp16", "y": "*fp16", "columns": "i32"},
     {"BLOCK": 256}, 2, 3),
    ("linear_recurrence", linear_recurrence, {"a": "*fp32", "b": "*fp32", "y": "*fp32"},
     {"BLOCK": 512}, 4, 3),
    ("sort_rows", sort_rows, {"x": "*i32", "y": "*i32"}, {"BLOCK": 256}, 4, 3),
    ("histogram", histogram, {"x": "*i32", "counts": "*i32", "sums": "*fp32", "greatest": "*i32"},
     {"BLOCK": 256}, 4, 3),
    ("locked_sum", locked_sum, {"x": "*fp32", "total": "*fp32", "lock": "*i32"},
     {"BLOCK": 256}, 4, 3),
    ("log_sum_exp", log_sum_exp, {"x": "*fp64", "y": "*fp64", "columns": "i32"},
     {"BLOCK": 256}, 4, 3),
    *[(f"matmul_{name}", matmul,
       {"a": f"*{type}", "b": f"*{type}", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
       {"M": 64, "N": 32, "K": 32, "PRECISION": precision}, 4, stages)
      for name, type, precision, stages in [
          ("bf16", "bf16", "tf32", 3), ("f16", "fp16", "tf32", 4), ("tf32", "fp32", "tf32", 3),
          ("f32", "fp32", "ieee", 2)]],
    ("attention_forward", attention_forward,
     {**{n: _BF16_ATTENTION[n] for n in ("q", "k", "v", "o")}, "lse": "*fp32", "length": "i32",
      "scale": "fp32"}, {"ROWS": 64, "COLUMNS": 32, "DEPTH": 64}, 4, 3),
    ("attention_backward", attention_backward,
     {**{n: _BF16_ATTENTION[n] for n in ("q", "k", "v", "d_o")}, **_FLOATS, "length": "i32",
      "scale": "fp32"}, {"ROWS": 32, "COLUMNS": 64, "DEPTH": 32}, 4, 2),
]


def compile_kernel(chip, kernel, types, constants, warps, stages, aligned=False):
    """Returns the compiled kernel, without a GPU. If aligned, pointers and integers are multiples
    of 16, as a launch of PyTorch's tensors finds them."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    source = ASTSource(kernel, signature=signature, constexprs={
        (kernel.arg_names.index(key),): value for key, value in constants.items()}, attrs={
        (n,): [["tt.divisibility", 16]] for n, type in enumerate(types.values())
        if aligned and type != "fp32"})
    return triton.compile(source, target=GPUTarget("cuda", chip, 32),
                          options={"num_warps": warps, "num_stages": stages})


def compile_all(chip):
    """Yields the name, PTX, threads and bytes of shared memory of every kernel."""
    for name, kernel, types, constants, warps, stages in KERNELS:
        done = compile_kernel(chip, kernel, types, constants, warps, stages)
        yield name, kernel.__name__, done.asm["ptx"], 32 * warps, done.metadata.shared


def main():
    """Prints the PTX of attention without a mask: kernels_triton.py CHIP ROWS COLUMNS DEPTH."""
    chip, *blocks = map(int, sys.argv[1:])
    types = next(types for name, _, types, *_ in KERNELS if name == "attention_forward")
    done = compile_kernel(chip, attention_without_mask, types,
                          dict(zip(("ROWS", "COLUMNS", "DEPTH"), blocks)), 4, 3, aligned=True)
    print(done.asm["ptx"])


if __name__ == "__main__":
    main()
