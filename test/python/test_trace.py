"""Tests of formulas in Python: their programs, values and gradients against plain PyTorch."""

import copy
import io
import math
import pickle
import random

import pytest
import torch
import torch.nn.functional as F

import pe_attention as pe

from dense_attention import compare, inputs, softmax_attention

CAUSAL = torch.arange(23)[None] <= torch.arange(4, 23)[:, None]


def check(encoding, bias, wanted, bound=2e-5, heads=3):
    """Compares compiled attention and the dense bias with a formula of float64 tensors in
    PyTorch."""
    q, k, v, d_o = inputs(2, heads, 19, 23, 16)
    dense = encoding.dense(19, 23, dtype=torch.float64)
    expected = bias.expand(1, heads, 19, 23)
    assert torch.allclose(dense, expected, rtol=1e-9, atol=1e-9)
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    compare(o, softmax_attention(q, k, v, expected, CAUSAL), [q, k, v, *wanted], d_o, bound)


def grid(heads=3):
    h = torch.arange(heads).reshape(-1, 1, 1)
    return h, torch.arange(4, 23).reshape(-1, 1), torch.arange(23).reshape(1, -1)


@pe.bias(amp=pe.per_head(1.0), tau=pe.per_head(16.0, min=1e-3))
def bump(b, h, i, j, amp, tau):
    return amp[h] * torch.exp(-abs(i - j) / tau[h])


def test_bump():
    """The encoding of the README: a module with two parameters."""
    encoding = bump(heads=3)
    assert isinstance(encoding, torch.nn.Module)
    assert {n: tuple(p.shape) for n, p in encoding.named_parameters()} == {"amp": (3,), "tau": (3,)}
    assert torch.equal(encoding.tau, torch.full((3,), 16.0))
    h, i, j = grid()
    bias = encoding.amp.double()[h] * torch.exp(-abs(i - j) / encoding.tau.double()[h])
    check(encoding, bias, [encoding.amp, encoding.tau])


def test_declarations_in_the_program():
    text = bump(heads=2).program().text
    tau = 'tensor<?xf32> {pe.name = "tau", pe.init = 16.0, pe.min = 0.001, pe.decay = false}'
    assert tau in text
    assert "pe.bias_fn(" in text and "math.exp" in text


def test_scalars_have_one_axis():
    """Scalars are parameters of shape [1], which sharding accepts; vectors have the given shape."""

    @pe.bias(c=pe.scalar(0.3), w=pe.vector(4, "normal(1)"))
    def scaled(b, h, i, j, c, w):
        return c * w[(i - j) % 4] + (w * w).sum() * c

    encoding = scaled(heads=3)
    assert encoding.c.shape == (1,) and encoding.w.shape == (4,)
    _, i, j = grid()
    c, w = encoding.c.double(), encoding.w.double()
    check(encoding, c * w[(i - j) % 4] + (w * w).sum() * c, [encoding.c, encoding.w])


def test_captured_tensors():
    """Captured tensors are arguments with gradients; indices are clamped."""
    table = torch.nn.Parameter(torch.randn(3, 16))
    slope = torch.tensor(0.25, requires_grad=True)
    shift = torch.tensor([3, 1, 2])

    @pe.bias
    def learned(b, h, i, j):
        return table[h, i - j] + slope * (j - i - shift[h])

    encoding = learned(heads=3)
    assert encoding.table is table
    h, i, j = grid()
    bias = table.double()[h, (i - j).clamp(0, 15)] + slope.double() * (j - i - shift[h])
    check(encoding, bias, [table, slope])


def test_functions_of_parameters():
    """Functions may be applied to whole parameters before they are indexed."""

    @pe.bias(raw=pe.per_head("normal(1)"), rows=pe.per_head("normal(1)", size=5))
    def soft(b, h, i, j, raw, rows):
        return -F.softplus(raw)[h] * torch.log1p((i - j).abs()) + torch.tanh(rows[h])[(i - j) % 5]

    encoding = soft(heads=3)
    h, i, j = grid()
    raw, rows = encoding.raw.double(), encoding.rows.double()
    bias = -F.softplus(raw)[h] * torch.log1p((i - j).abs().double()) + \
        torch.tanh(rows)[h, (i - j) % 5]
    check(encoding, bias, [encoding.raw, encoding.rows])


@pytest.mark.parametrize("activation", [torch.nn.ReLU(), torch.nn.GELU()])
def test_networks(activation):
    """A chain of linear layers with one input becomes `pe.mlp_eval`, from layers or functions."""
    network = torch.nn.Sequential(torch.nn.Linear(1, 8), activation, torch.nn.Linear(8, 6),
                                  activation, torch.nn.Linear(6, 3))

    @pe.bias
    def learned(b, h, i, j):
        return network(torch.log1p(abs(i - j)).unsqueeze(-1))[..., h]

    encoding = learned(heads=3)
    text = encoding.program().text
    assert text.count("pe.mlp_eval") == 1 and "tensor<?x6xf32>" in text
    h, i, j = grid()
    t = torch.log1p(abs(i - j).double())[..., None]
    double = copy.deepcopy(network).double()
    with torch.no_grad():
        bias = double(t).permute(2, 0, 1)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    assert torch.allclose(encoding.dense(19, 23, dtype=torch.float64)[0], bias, atol=1e-9)
    wanted = [q, k, v, *network.parameters()]
    expected = softmax_attention(q, k, v, encoding.dense(19, 23, dtype=torch.float64), CAUSAL)
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    compare(o, expected, wanted, d_o, 2e-5 if isinstance(activation, torch.nn.ReLU) else 2e-3)


def test_one_output_for_all_heads():
    weight = torch.nn.Parameter(torch.randn(4, 1))
    last = torch.nn.Parameter(torch.randn(1, 4))

    @pe.bias
    def shared(b, h, i, j):
        hidden = F.relu(F.linear((i - j) * 0.1, weight))
        return F.linear(hidden, last).squeeze(-1)

    encoding = shared(heads=3)
    _, i, j = grid()
    x = ((i - j).double() * 0.1)[..., None]
    bias = F.linear(F.relu(F.linear(x, weight.double())), last.double())[..., 0]
    check(encoding, bias, [weight, last])


def test_pickle_and_copies():
    encoding = bump(heads=3)
    with torch.no_grad():
        encoding.amp.copy_(torch.tensor([1.0, 2.0, 3.0]))
    other = bump(heads=3)
    other.load_state_dict(encoding.state_dict())
    for same in (pickle.loads(pickle.dumps(encoding)), copy.deepcopy(encoding), other):
        assert torch.equal(same.dense(5, 5), encoding.dense(5, 5))
        assert same.program(pe.causal) == encoding.program(pe.causal)
        assert same.amp is not encoding.amp
    file = io.BytesIO()
    torch.save(encoding, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False).amp, encoding.amp)


def test_dtypes_and_starts_of_dense():
    encoding = bump(heads=3)
    half = encoding.dense(4, 9, q_start=100, k_start=90, dtype=torch.bfloat16)
    assert half.dtype == torch.bfloat16 and half.shape == (1, 3, 4, 9)
    whole = encoding.dense(104, 104, dtype=torch.float64)
    part = encoding.dense(4, 9, q_start=100, k_start=90, dtype=torch.float64)
    assert torch.equal(part, whole[:, :, 100:104, 90:99])
    assert torch.equal(encoding.dense(4, 9), encoding.dense(4, 9, q_start=5))


def test_ops_of_functions():
    """Integers stay integers, real numbers are f32, and each function becomes the expected op."""

    @pe.bias
    def mixed(b, h, i, j):
        return torch.where((i - j) // 3 % 2 == 0, (i - j) ** 2, -(i & 5)) / 7 + torch.round(i / 4)

    text = mixed(heads=1).program().text
    for op in ("arith.floordivsi", "arith.muli", "arith.andi", "math.roundeven", "arith.select"):
        assert op in text
    _, i, j = grid()
    bias = torch.where((i - j) // 3 % 2 == 0, (i - j) ** 2, -(i & 5)).double() / 7 + \
        torch.round(i.double() / 4)
    check(mixed(heads=3), bias, [])


# Random formulas


class Formulas:
    """Generates formulas of i, j, h and two parameters as Python source that PyTorch also runs."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def whole(self, depth):
        if depth == 0:
            return self.random.choice(["i", "j", "h", "(i - j)", str(self.random.randint(1, 7))])
        a, b = self.whole(depth - 1), self.whole(depth - 1)
        n = self.random.randint(1, 6)
        return self.random.choice([f"({a} + {b})", f"({a} - {b})", f"abs({a})", f"({a} // {n})",
                                   f"({a} % {n})", f"torch.minimum({a}, {b} + i * 0)",
                                   f"torch.where({self.truth(depth - 1)}, {a}, {b})",
                                   f"(i * 0 + {a}).clamp(-3, {n})", f"({n} * {a})", f"(-{a})"])

    def truth(self, depth):
        a, b = self.whole(depth), self.whole(depth)
        relation = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        plain = f"(i * 0 + {a} {relation} {b})"
        if depth == 0:
            return plain
        other = self.truth(depth - 1)
        return self.random.choice([plain, f"({plain} & {other})", f"({plain} | {other})",
                                   f"(~{plain})"])

    def real(self, depth):
        if depth == 0:
            return self.random.choice(["p[h]", "w[(i - j) % 5]", "w[h]", "p[h]", "(i - j) * 0.125",
                                       "0.03125 * i", f"{self.random.uniform(-2, 2):.3f} * p[h]"])
        x, y = self.real(depth - 1), self.real(depth - 1)
        n = self.whole(depth - 1)
        return self.random.choice([
            f"({x} + {y})", f"({x} - {y})", f"({x}) * torch.tanh({y})", f"torch.tanh({x})",
            f"torch.sin({x})", f"torch.exp(-abs({x}))", f"torch.log1p(abs({x}))",
            f"torch.sigmoid({x})", f"F.gelu({x})", f"F.softplus({x})",
            f"torch.sqrt(1 + ({x}) ** 2)",
            f"torch.where({self.truth(depth - 1)}, {x}, {y})", f"torch.erf({x})",
            f"({x}) / (2 + abs({y}))", f"torch.tanh((i * 0 + {n}) * 0.25) * ({x})",
            f"torch.clamp({x}, -1.5, 1.25)", f"F.silu({x})"])


@pytest.mark.parametrize("seed", range(40))
def test_random_formulas(seed):
    """Compiled random formulas, and their dense biases, against PyTorch on float64 tensors."""
    source = Formulas(seed).real(3 if seed % 2 else 2)
    text = f"lambda b, h, i, j, p, w: {source} + 0 * p[h] + 0 * w[0]"
    code = compile(text, f"<formula {seed}>", "eval")
    function = eval(code, {"torch": torch, "F": F})
    encoding = pe.bias(p=pe.per_head("normal(1)"), w=pe.vector(5, "normal(1)"))(function)(heads=3)
    h, i, j = grid()
    p, w = encoding.p.double(), encoding.w.double()
    # PyTorch computes functions of integers in the default type.
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        bias = function(torch.zeros(1, 1, 1, dtype=torch.int64), h, i, j, p, w)
    finally:
        torch.set_default_dtype(before)
    q, k, v, d_o = inputs(1, 3, 19, 23, 8, seed=seed)
    dense = encoding.dense(19, 23, dtype=torch.float64)
    assert torch.allclose(dense, bias.expand(1, 3, 19, 23), rtol=1e-9, atol=1e-9), source
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    expected = softmax_attention(q, k, v, bias.expand(1, 3, 19, 23), CAUSAL)
    assert math.isfinite(float(expected.detach().sum())), source
    compare(o, expected, [q, k, v, encoding.p, encoding.w], d_o, 4e-5)
