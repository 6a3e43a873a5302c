"""Tests of properties that all encodings of pe.nn share, parametrized by `every_encoding.py`."""

import copy
import dataclasses
import math

import pytest
import torch

import pe_attention as pe
import pe_attention._ops  # defines the operators
from pe_attention._dense import Positions

from dense_attention import scores
from every_encoding import CASES, DATA, ONE_PER_CLASS, Call

# Queries, keys, heads, key heads, q_start, k_start, and whether q, k, v are views of one tensor.
SIZES = {
    "one": (1, 1, 2, 2, None, 0, False),
    "packed, shared heads": (37, 37, 2, 1, None, 0, True),
    "long": (200, 200, 2, 2, None, 0, False),
    "decoding": (5, 37, 2, 1, None, 0, False),
    "starts": (9, 20, 2, 2, 14, 3, False),
}
DEPTH = 16


def make(name, call, dtype=torch.float32):
    """Returns the module of a case with changed parameters, its mask, and the tensors that its
    calls provide, in `dtype` and with gradients."""
    made, mask = CASES[name]
    torch.manual_seed(3)
    encoding = made()
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.mul_(1 + 0.3 * torch.rand_like(parameter)).add_(
                0.2 * torch.rand_like(parameter))
    encoding.to(dtype)
    data = {key: tensor.to(dtype).requires_grad_() if tensor.is_floating_point() else tensor
            for key, tensor in (DATA[name](call) if name in DATA else {}).items()}
    return encoding, mask, data


def bind(encoding, data):
    return encoding(**data) if data else encoding


@pytest.mark.parametrize("name", ONE_PER_CLASS)
def test_check_takes_every_class(name):
    """This includes FIRE's last bias, whose gradient softmax cancels entirely."""
    made, mask = CASES[name]
    data = DATA[name](Call(2, 2, 37, 37, DEPTH, 0, 0)) if name in DATA else {}
    report = pe.check(bind(made(), data), mask=mask, head_dim=DEPTH, q_start=0)
    assert report.ok, str(report)


def draw_inputs(q_len, k_len, heads, kv_heads, packed=False, batch=1, dtype=torch.float32):
    generator = torch.Generator().manual_seed(11)
    counts = [(heads, q_len), (kv_heads, k_len), (kv_heads, k_len)]
    if packed:
        x = torch.randn(batch, q_len, heads + 2 * kv_heads, DEPTH, generator=generator, dtype=dtype)
        return list(x.transpose(1, 2).split([count for count, _ in counts], 1))
    return [torch.randn(batch, count, length, DEPTH, generator=generator, dtype=dtype)
            for count, length in counts]


def sigmoid_attention(q, k, v, bias):
    """Writes out A = sigmoid(z), with a bias of -inf where the mask excludes a pair."""
    return torch.sigmoid(dense_scores(q, k) + bias) @ per_query_head(v, q)


def softpick_attention(q, k, v, bias):
    """Writes out A = max(e^z - 1, 0) / sum |e^z - 1| over the pairs that the mask keeps."""
    excess = torch.expm1(dense_scores(q, k) + bias).masked_fill(bias == -torch.inf, 0.0)
    total = excess.abs().sum(-1, keepdim=True)
    return (torch.relu(excess) / total.masked_fill(total == 0, 1.0)) @ per_query_head(v, q)


def dense_scores(q, k):
    return q @ per_query_head(k, q).mT / math.sqrt(q.shape[-1])


def per_query_head(rows, q):
    return rows.repeat_interleave(q.shape[1] // rows.shape[1], dim=1)


def softmax_attention(q, k, v, bias):
    """Computes PyTorch's attention; a row without keys gives 0."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, bias, enable_gqa=True)


FORMULAS = {"sigmoid": sigmoid_attention, "softpick": softpick_attention}


def dense_attention(name, q, k, v, bias, mask, q_start, k_start):
    """Computes the attention in float64 with the dense bias."""
    i = torch.arange(q_start, q_start + q.shape[2])[:, None]
    j = torch.arange(k_start, k_start + k.shape[2])[None]
    allowed = (i >= 0) & (j >= 0)
    if mask is not None:
        allowed = allowed & (j <= i)
        if mask is not pe.causal:
            allowed = allowed & (i - j < {"inkling_window": 512}.get(name, 128))
    formula = FORMULAS.get(name, softmax_attention)
    return formula(q, k, v, bias.masked_fill(~allowed, -torch.inf))


def dense_bias(bound, q_len, k_len, q_start, k_start):
    """Returns None for an encoding without a bias in PyTorch."""
    try:
        return bound.dense(q_len, k_len, q_start=q_start, k_start=k_start, dtype=torch.float64)
    except pe.InputError:
        return None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, size):
    """Checks f32 against the bounds of docs/numerics.md: 2e-5 of the norm of each tensor, and for
    parameters 1e-5 of the sizes of the terms."""
    q_len, k_len, heads, kv_heads, q_start, k_start, packed = SIZES[size]
    if name in ("rope_per_head", "rope_formula"):
        kv_heads = heads  # a base per head requires as many key heads
    first = k_start + k_len - q_len if q_start is None else q_start
    encoding, mask, data = make(name, Call(1, heads, q_len, k_len, DEPTH, first, k_start))
    q, k, v = (t.requires_grad_() for t in draw_inputs(q_len, k_len, heads, kv_heads, packed))
    o = pe.attention(q, k, v, bind(encoding, data), mask=mask, q_start=q_start, k_start=k_start)
    d_o = torch.randn(o.shape, generator=torch.Generator().manual_seed(12))
    wanted = {"q": q, "k": k, "v": v, **{key: t for key, t in data.items() if t.requires_grad},
              **dict(encoding.named_parameters())}
    exact = copy.deepcopy(encoding).double()
    twins = {key: t.detach().double().requires_grad_() for key, t in wanted.items()}
    twins.update(exact.named_parameters())
    bound = bind(exact, {key: twins.get(key, t) for key, t in data.items()})
    bias = dense_bias(bound, q_len, k_len, q_start, k_start)
    inputs = [twins[key] for key in "qkv"]
    expected = (pe.reference(*inputs, bound, mask=mask, q_start=q_start, k_start=k_start)
                if bias is None else dense_attention(name, *inputs, bias, mask, first, k_start))
    # Rounding grows with the logits, which are the scores or functions of them.
    largest = float(scores(q, k).abs().max())
    factor = math.log(1 + q_len) * float(encoding.g.max()) if name == "score_fn" else 1
    share = 2e-5 + 4 * 2.0 ** -24 * factor * largest
    assert difference(o, expected) <= share * float(expected.norm())

    found = torch.autograd.grad(o, list(wanted.values()), d_o)
    watched = [twins[key] for key in wanted]
    d_bias = [] if bias is None or not bias.requires_grad else [bias]
    exact_gradients = torch.autograd.grad(expected, [*watched, *d_bias], d_o.double(),
                                          allow_unused=True)
    # If a row has one key, the gradients of its logits cancel.
    floor = 1e-6 * float(d_o.norm() * v.norm() * k.norm()) if q_len == k_len == 1 else 0.0
    smooth = getattr(encoding, "activation", "relu") in ("gelu", "tanh")
    for key, one, two in zip(wanted, found, exact_gradients[:len(wanted)], strict=True):
        two = torch.zeros_like(twins[key]) if two is None else two
        relative = 2e-3 if smooth and key not in ("q", "k", "v") else share
        allowed = relative * float(two.norm()) + floor
        if difference(one, two) > allowed and d_bias and key not in ("q", "k", "v"):
            allowed += 1e-5 * float(summed_sizes(exact, {**data, **twins}, key, first, q_len,
                                                 k_start, k_len, exact_gradients[-1]).norm())
        assert difference(one, two) <= allowed, f"{key}: {difference(one, two):.1e}, {allowed:.1e}"


def difference(found, expected):
    return float((found.detach().double() - expected.detach()).norm())


def summed_sizes(encoding, tensors, key, q_start, q_len, k_start, k_len, d_bias):
    """Returns, for each element e of a tensor, the sum over pairs of |d_bias * derivative of the
    bias by e|; with many queries only over every eighth, which is a lower bound."""
    heads, step = d_bias.shape[1], 8 if q_len > 64 else 1
    d_bias = d_bias[..., ::step, :]
    at = Positions.of(1, heads, range(q_start, q_start + q_len), range(k_start, k_start + k_len),
                      torch.float64)
    at = dataclasses.replace(at, i=at.i[:, :, ::step])
    given = {name: tensors[name].detach() for name, _ in encoding._order}
    sizes = torch.zeros_like(given[key])
    for number in range(sizes.numel()):
        way = torch.zeros_like(given[key])
        way.view(-1)[number] = 1
        _, change = torch.func.jvp(lambda x: encoding.bias(at, {**given, key: x}), (given[key],),
                                   (way,))
        sizes.view(-1)[number] = (d_bias * change).abs().sum()
    return sizes


@pytest.mark.parametrize("name", ONE_PER_CLASS)
def test_opcheck(name):
    """The operator passes PyTorch's opcheck with the program of every class."""
    encoding, mask, data = make(name, Call(1, 2, 3, 5, DEPTH, 2, 0))
    bound = bind(encoding, data)
    arguments = [t.detach().requires_grad_() if t.is_floating_point() else t
                 for t in (*draw_inputs(3, 5, 2, 2), *bound.arguments())]
    found = torch.library.opcheck(torch.ops.pe.attention.default, (
        arguments, bound.program(mask).text, "cpu", None, 0, 0, None, "this build"))
    assert set(found.values()) == {"SUCCESS"}, found


@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name):
    """The gradients of the reference, with which all others are compared, agree with finite
    differences."""
    encoding, mask, data = make(name, Call(1, 2, 3, 5, DEPTH, 2, 0), torch.float64)
    inputs = [t.requires_grad_() for t in draw_inputs(3, 5, 2, 2, dtype=torch.float64)]
    watched = [*inputs, *encoding.parameters(), *(t for t in data.values() if t.requires_grad)]

    def attend(*_):
        return pe.attention(*inputs, bind(encoding, data), mask=mask, target="reference")

    assert torch.autograd.gradcheck(attend, watched, fast_mode=True, atol=1e-4)


@pytest.mark.parametrize("name", ["fire", "rope", "stick_breaking"])
def test_the_emulator_of_gpu_kernels_in_bf16(name):
    """Values and gradients of GPU kernels, against float64 on the same rounded inputs."""
    encoding, mask, _ = make(name, None)
    inputs = [t.bfloat16().requires_grad_() for t in draw_inputs(37, 37, 2, 1)]
    exact = copy.deepcopy(encoding).double()
    twins = [t.detach().double().requires_grad_() for t in inputs]
    o = pe.attention(*inputs, encoding, mask=mask, target="gpu-emulator")
    expected = pe.reference(*twins, exact, mask=mask)
    assert o.dtype == torch.bfloat16
    assert difference(o, expected) <= 1e-2 * float(expected.detach().norm())
    d_o = torch.randn(o.shape, generator=torch.Generator().manual_seed(12)).bfloat16()
    found = torch.autograd.grad(o, inputs, d_o)
    for one, two in zip(found, torch.autograd.grad(expected, twins, d_o.double()), strict=True):
        assert one.dtype == torch.bfloat16
        assert difference(one, two) <= 2e-2 * float(two.norm())
