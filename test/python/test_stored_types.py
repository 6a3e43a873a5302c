"""Tests of bf16 and f16 tensors on the CPU: results and gradients have the bits of f32 on the
extended inputs, rounded once, and no tensor is converted as a whole. On processors that multiply
bf16, results of bf16 are only near those of f32: `pe.check` and the conformance tables have their
bounds."""

import pathlib

import pytest
import torch
from torch.func import functional_call, grad, vmap

import pe_attention as pe

from conftest import Conversions, close, multiplies
from every_encoding import Call
from test_classes import DEPTH, bind, draw_inputs, make

TYPES = [torch.bfloat16, torch.float16]
NAMES = ["nope", "alibi_learned", "fire", "t5", "rope", "rope_table", "shaw_values",
         "transformer_xl", "forgetting", "attention_sink", "softcap", "sliding_window",
         "stick_breaking", "stick_breaking_both", "sigmoid", "softpick", "positions", "sum"]
# Queries, keys, heads, key heads, and whether q, k and v are views of one tensor.
SIZES = {"packed, shared heads": (77, 77, 2, 1, True), "decoding": (3, 90, 2, 2, False)}


def with_gradients(attend, inputs, others, d_o):
    """Returns the result, and the gradients of the inputs and of other tensors."""
    o = attend(*inputs)
    return [o.detach(), *torch.autograd.grad(o, [*inputs, *others], d_o)]


def expect_rounded(found, exact, dtype, narrow=4):
    """The result and the gradients of q, k and v are rounded; gradients of parameters, whose terms
    may cancel, are f32."""
    for number, (one, other) in enumerate(zip(found, exact, strict=True)):
        expected = other.to(dtype) if number < narrow else other
        assert one.dtype is expected.dtype, number
        if not multiplies(dtype):
            assert torch.equal(one, expected), number
        else:
            close(one, expected, 2 ** -6 if number < 4 else 2 ** -4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_f32_rounded_once(name, dtype, size):
    q_len, k_len, heads, key_heads, packed = SIZES[size]
    encoding, mask, data = make(name, Call(1, heads, q_len, k_len, DEPTH, k_len - q_len, 0))
    bound = bind(encoding, data)
    low = draw_inputs(q_len, k_len, heads, key_heads, packed, dtype=dtype)
    wide = [t.float().requires_grad_() for t in low]
    low = [t.requires_grad_() for t in low]
    others = [t for t in (*encoding.parameters(), *data.values()) if t.requires_grad]
    d_o = torch.randn(1, heads, q_len, DEPTH).to(dtype)

    def attend(*tensors):
        return pe.attention(*tensors, bound, mask=mask)

    found = with_gradients(attend, low, others, d_o)
    expect_rounded(found, with_gradients(attend, wide, others, d_o.float()), dtype)
    again = with_gradients(attend, low, others, d_o)  # through the cache of known calls
    assert all(torch.equal(one, two) for one, two in zip(found, again, strict=True))
    with torch.no_grad():
        assert torch.equal(attend(*low), found[0])


@pytest.mark.parametrize("dtype", TYPES)
def test_rows_that_kernels_do_not_read_in_place(dtype):
    """Strides of one element in another axis, rows at odd addresses, and an expanded cotangent."""
    x = torch.randn(3, 2, DEPTH, 21).to(dtype)
    y = torch.randn(3 * 2 * 21 * DEPTH + 1).to(dtype)[1:].view(3, 2, 21, DEPTH)
    for views in (x.mT, y):
        low = [t[None].requires_grad_() for t in views.unbind(0)]
        wide = [t.detach().float().requires_grad_() for t in low]
        found, exact = (with_gradients(lambda *t: pe.attention(*t, mask=pe.causal), inputs, [],
                                       torch.ones(1, dtype=inputs[0].dtype).expand_as(inputs[0]))
                        for inputs in (low, wide))
        expect_rounded(found, exact, dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_no_tensor_is_converted(dtype):
    """Neither forward nor backward nor pe.merge converts; the reference does, which shows that the
    mode counts."""
    low = [t.to(dtype).requires_grad_() for t in draw_inputs(20, 20, 2, 2)]
    encoding = pe.nn.ALiBi(2, learned=True)
    with Conversions() as mode:
        o = pe.attention(*low, encoding, mask=pe.causal)
        o.backward(torch.ones_like(o))
        with torch.no_grad():
            part = pe.attention(*low, encoding, mask=pe.causal, return_lse=True)
            pe.merge(*part, *part)
    assert mode.calls == 3 and mode.copies == 0
    with Conversions() as mode, torch.no_grad():
        pe.attention(*low, encoding, mask=pe.causal, target="reference")
    assert mode.copies == 3


@pytest.mark.parametrize("dtype", TYPES)
def test_compiled_and_transformed_code(dtype):
    """torch.compile, with symbolic lengths, and vmap over samples and over gradients."""
    torch._dynamo.reset()
    encoding = pe.nn.FIRE(2)
    others = list(encoding.parameters())

    def attend(q, k, v):
        return pe.attention(q, k, v, encoding, mask=pe.causal)

    compiled = torch.compile(attend, fullgraph=True, dynamic=True, backend="aot_eager")
    for length in (9, 70):
        low = [t.to(dtype).requires_grad_() for t in draw_inputs(length, length, 2, 2)]
        d_o = torch.randn(1, 2, length, DEPTH).to(dtype)
        for one, two in zip(*(with_gradients(f, low, others, d_o) for f in (attend, compiled)),
                            strict=True):
            assert one.dtype is two.dtype and torch.equal(one, two)
    samples = torch.randn(3, 3, 1, 2, 9, DEPTH).to(dtype)
    expected = torch.stack([attend(*sample) for sample in samples])
    assert torch.equal(vmap(lambda sample: attend(*sample))(samples), expected)

    def loss(parameters, sample):
        o = functional_call(_Attend(encoding), {f"encoding.{n}": p for n, p in parameters.items()},
                            tuple(sample))
        return o.float().square().sum()

    parameters = dict(encoding.named_parameters())
    each = vmap(grad(loss), (None, 0))(parameters, samples)
    for name, parameter in parameters.items():
        assert each[name].dtype is torch.float32 and each[name].shape == (3, *parameter.shape)
    one = grad(loss)(parameters, samples[1])
    assert all(torch.equal(each[name][1], one[name]) for name in parameters)


class _Attend(torch.nn.Module):
    def __init__(self, encoding):
        super().__init__()
        self.encoding = encoding

    def forward(self, q, k, v):
        return pe.attention(q, k, v, self.encoding, mask=pe.causal)


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_parameters_and_logarithms(dtype):
    """Parameters in 16 bits are extended, and their gradients are rounded; lse is f32. The
    cotangents of lse are f32."""
    low = [t.to(dtype).requires_grad_() for t in draw_inputs(20, 20, 2, 2)]
    wide = [t.detach().float().requires_grad_() for t in low]
    narrow = pe.nn.ALiBi(2, learned=True).to(dtype)
    exact = pe.nn.ALiBi(2, learned=True)
    exact.load_state_dict(narrow.state_dict())
    d_o, d_lse = torch.randn(1, 2, 20, DEPTH).to(dtype), torch.randn(1, 2, 20)
    results = []
    for inputs, encoding in ((low, narrow), (wide, exact)):
        o, lse = pe.attention(*inputs, encoding, mask=pe.causal, return_lse=True)
        assert lse.dtype is torch.float32
        gradients = torch.autograd.grad([o, lse], [*inputs, *encoding.parameters()],
                                        [d_o.to(o.dtype), d_lse])
        results.append([o.detach(), *gradients, lse.detach()])
    expect_rounded(*results, dtype, narrow=5)


def test_merged_parts():
    """Parts are rounded, and merged in f32: the result is within two roundings of the whole."""
    low = [t.bfloat16().requires_grad_() for t in draw_inputs(24, 24, 2, 2)]
    q, k, v = low
    parts = []
    for begin, end in ((0, 10), (10, 24)):
        parts += pe.attention(q, k[:, :, begin:end], v[:, :, begin:end], mask=pe.causal, q_start=0,
                              k_start=begin, return_lse=True)
    o, lse = pe.merge(*parts)
    whole, log = pe.attention(*(t.float() for t in low), mask=pe.causal, return_lse=True)
    assert o.dtype is torch.bfloat16 and lse.dtype is torch.float32
    difference, largest = (t.detach().abs().max() for t in (o - whole, whole))
    assert difference <= 2 ** -7 * largest
    assert torch.allclose(lse, log, atol=1e-5)
    d_o = torch.randn(o.shape).bfloat16()
    expected = torch.autograd.grad(whole, low, d_o.float())
    for one, two in zip(torch.autograd.grad(o, low, d_o), expected, strict=True):
        assert one.dtype is torch.bfloat16
        assert (one - two).float().norm() <= 2 ** -7 * two.float().norm()


@pytest.mark.parametrize("target", ["cpu", "gpu-emulator"])
def test_check_under_autocast(target):
    """The check compares the kernels that autocast selects, by the bounds of their type."""
    encoding = pe.nn.ALiBi(2, learned=True)
    with torch.autocast("cpu", torch.bfloat16):
        report = pe.check(encoding, mask=pe.causal, target=target)
    assert report.ok, str(report)
    assert 1e-3 < report.errors["o"] < 5e-3 < 1e3 * pe.check(encoding, mask=pe.causal).bounds["o"]


def test_explanations_name_the_type():
    for dtype in TYPES:
        name = str(dtype).removeprefix("torch.")
        text = pe.explain(mask=pe.causal, dtype=dtype)
        computed = f"products of {name} are added" if multiplies(dtype) else "results are computed"
        assert f"types: tensors are {name} in memory; {computed} in float32" in text
        text = pe.explain(mask=pe.causal, dtype=dtype, target="reference")
        assert f"types: the reference computes in float64; tensors of {name} are converted" in text
    assert "types:" not in pe.explain(mask=pe.causal)


PROGRAM = pe.nn.ALiBi(2, learned=True).program(pe.causal).text


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_programs_and_packages(dtype, tmp_path: pathlib.Path):
    torch_type = {"bf16": torch.bfloat16, "f16": torch.float16}[dtype]
    low = dict(zip("qkv", (t.to(torch_type) for t in draw_inputs(20, 20, 2, 2)), strict=True))
    wide = {name: t.float() for name, t in low.items()}
    slopes = torch.tensor([0.5, 0.25])
    d_o = torch.randn(1, 2, 20, DEPTH).to(torch_type)
    compiled = pe.compile(PROGRAM, dtype=dtype, head_dim=DEPTH)
    compiled.save_package(tmp_path / "alibi.pepkg", targets=("cpu", "gpu-emulator"))
    exact = pe.compile(PROGRAM)(**wide, slopes=slopes)
    expected = [exact["o"], *exact.backward(d_o=d_o.float()).values()]
    for function in (compiled, pe.load(tmp_path / "alibi.pepkg")):
        assert {a["name"]: a["dtype"] for a in function.signature["arguments"]} == {
            "q": dtype, "k": dtype, "v": dtype, "slopes": "f32"}
        found = function(**low, slopes=slopes)
        expect_rounded([found["o"], *found.backward(d_o=d_o).values()], expected, torch_type)
        with pytest.raises(pe.InputError, match=f"^q: expected numbers of {dtype}, found f32"):
            function(**wide, slopes=slopes)
        with pytest.raises(pe.InputError, match=f"'d_o': expected element type {dtype}, found f32"):
            found.backward(d_o=d_o.float())
    if dtype == "f16":  # NumPy's only 16-bit floating type
        found = compiled(**{n: t.numpy() for n, t in low.items()}, slopes=slopes.numpy())
        assert torch.equal(torch.from_numpy(found["o"]), expected[0].half())
