"""Tests of rotations by formula, by positions of several axes, of values, and of tables per batch
entry."""

import pytest
import torch

import pe_attention as pe
from every_encoding import rope_formula
from pe_attention import nn

DEPTH = 16


def draw(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=dtype)


def inputs(heads=2, length=9, batch=2):
    return [draw(batch, heads, length, DEPTH).add(n).requires_grad_() for n in range(3)]


def turned(x, angles):
    """Rotates the pairs (p, p + n) of x [B, H, S, 2 n] by angles [B or 1, H or 1, S, n]."""
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def dense(q, k, v, frequencies):
    """Computes causal attention of rows rotated by position times frequency, in plain PyTorch."""
    angles = torch.arange(q.shape[2], dtype=torch.float64)[:, None] * frequencies[:, None, :]
    q, k = turned(q, angles), turned(k, angles)
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def both(encoding, parameters, heads=2):
    """Returns outputs and gradients of the compiled code and of plain PyTorch in float64."""
    tensors = inputs(heads)
    exact = [t.detach().double().requires_grad_() for t in tensors]
    o = pe.attention(*tensors, encoding, mask=pe.causal)
    expected = dense(*exact, encoding.frequencies(DEPTH // 2, heads=heads))
    d_o = draw(*o.shape)
    found = torch.autograd.grad(o, [*tensors, *parameters], d_o)
    wanted = torch.autograd.grad(expected, [*exact, *parameters], d_o.double())
    for one, two in zip([o, *found], [expected, *wanted], strict=True):
        assert torch.allclose(one.double(), two.double(), rtol=1e-4, atol=1e-5)


def test_a_base_per_head():
    encoding = rope_formula(heads=2)
    with torch.no_grad():
        encoding.base.copy_(torch.tensor([30.0, 10000.0]))
    both(encoding, [encoding.base])


def test_equals_the_class_bit_for_bit():
    ours, theirs = rope_formula(heads=2), nn.RoPE(heads=2, learned=True)
    results = []
    for encoding in (ours, theirs):
        tensors = inputs()
        o = pe.attention(*tensors, encoding, mask=pe.causal)
        o.backward(draw(*o.shape))
        results.append([o, *(t.grad for t in tensors), encoding.base.grad])
    assert all(torch.equal(one, two) for one, two in zip(*results, strict=True))


def test_captured_tensors_and_options():
    factor = torch.nn.Parameter(torch.linspace(1.0, 3.0, DEPTH // 2))
    shift = torch.tensor(0.1)  # a scalar

    @pe.rotation
    def longrope(h, p, n):
        return torch.where(p < n - 1, 1000.0 ** (-p / n) / factor[p] + shift, 0.0)

    encoding = longrope()
    assert "factor" in dict(encoding.named_parameters())
    assert torch.equal(encoding.frequencies(8)[0, -1], torch.zeros((), dtype=torch.float64))
    both(encoding, [factor])


def test_constants_are_float64():
    encoding = pe.rotation(lambda h, p, n: 0.1 ** (p + 1))()
    assert float(encoding.frequencies(2)[0, 0]) == 0.1
    assert "1.00000000000000006e-01 : f64" in encoding.program().text


def test_adjacent_pairs_of_the_first_dims():
    half = pe.rotation(lambda h, p, n: 10000.0 ** (-p / n), interleaved=True, rotary_dims=8)()
    same = nn.RoPE(interleaved=True, rotary_dims=8)
    q, k, v = inputs()
    assert torch.equal(pe.attention(q, k, v, half), pe.attention(q, k, v, same))


def test_a_magnitude():
    plain = pe.rotation(lambda h, p, n: 10000.0 ** (-p / n))()
    larger = pe.rotation(lambda h, p, n: 10000.0 ** (-p / n), magnitude=2.0)()
    q, k, v = inputs()
    one = pe.attention(q, k, v, larger)
    assert torch.allclose(one, pe.attention(2 * q, 2 * k, v, plain), atol=1e-5)


def test_sums_and_checks():
    encoding = rope_formula(heads=2) + nn.ALiBi(2)
    q, k, v = inputs()
    assert pe.attention(q, k, v, encoding, mask=pe.causal).isfinite().all()
    pe.check(rope_formula(heads=2), mask=pe.causal)


def test_far_positions():
    """Angles are computed in float64: at 2^24 they are accurate to the last digit of an f32."""
    encoding = pe.rotation(lambda h, p, n: 0.1 * 10000.0 ** (-p / n))()
    q, k, v = (t.detach() for t in inputs(length=3))
    start = 2 ** 24
    o = pe.attention(q, k, v, encoding, mask=pe.causal, q_start=start, k_start=start)
    exact = pe.reference(q.double(), k.double(), v.double(), encoding, mask=pe.causal,
                         q_start=start, k_start=start)
    assert torch.allclose(o.double(), exact, atol=2e-6)


@pytest.mark.parametrize("function, message", [
    (lambda h, p: 1.0, "expected a function of (h, p, n), found one of (h, p)"),
    (lambda h, p, n: torch.nn.Linear(1, 1)(p[None])[h], "network"),
])
def test_refused_formulas(function, message):
    with pytest.raises(pe.Error) as caught:
        pe.rotation(function)()
    assert message in str(caught.value)


@pytest.mark.parametrize("options, message", [
    ({"rotary_dims": 7}, "rotary_dims: expected a positive even number, found 7"),
    ({"interleaved": 1}, "interleaved: expected True or False, found 1"),
    ({"magnitude": float("inf")}, "magnitude: expected a finite number, found inf"),
])
def test_refused_options(options, message):
    with pytest.raises(pe.InputError) as caught:
        pe.rotation(lambda h, p, n: 1.0, **options)
    assert message in str(caught.value)


def test_fewer_key_heads():
    q, k, v = inputs(heads=4)
    with pytest.raises(pe.Error, match="key heads"):
        pe.attention(q, k[:, :2], v[:, :2], rope_formula(heads=4))


def tables(batch, length, pairs=DEPTH // 2):
    """Returns angles of three positions per token, assigned to pairs as in M-RoPE."""
    positions = torch.randint(0, 20, (3, batch, length), generator=torch.Generator().manual_seed(1))
    axis = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2])[:pairs]
    return positions[axis].movedim(0, -1) * 10000.0 ** (-torch.arange(pairs) / pairs)


@pytest.mark.parametrize("explicit", [True, False])
def test_tables_per_batch_entry(explicit):
    tensors = inputs()
    angles = tables(2, 9).requires_grad_()
    encoding = nn.RotationTable(per_batch=explicit)
    o = pe.attention(*tensors, encoding(cos=angles.cos(), sin=angles.sin()), mask=pe.causal)
    exact = [t.detach().double().requires_grad_() for t in (*tensors, angles)]
    q, k = (turned(t, exact[3][:, None]) for t in exact[:2])
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, exact[2], is_causal=True)
    d_o = draw(*o.shape)
    found = torch.autograd.grad(o, [*tensors, angles], d_o)
    wanted = torch.autograd.grad(expected, exact, d_o.double())
    for one, two in zip([o, *found], [expected, *wanted], strict=True):
        assert torch.allclose(one.double(), two, rtol=1e-4, atol=1e-5)


def test_tables_with_wrong_shapes():
    q, k, v = inputs()
    angles = tables(3, 9)
    with pytest.raises(pe.Error, match="cos"):
        pe.attention(q, k, v, nn.RotationTable()(cos=angles.cos(), sin=angles.sin()))
    with pytest.raises(pe.InputError, match="per_batch=True takes 3 axes"):
        pe.attention(q, k, v, (nn.ALiBi(2) + nn.RotationTable())(cos=angles.cos(),
                                                                sin=angles.sin()))


def _rope_of(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """Rotates the halves of the last axis by angles, in float64."""
    first, second = x.double().chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


@pytest.mark.parametrize("interleaved", [False, True])
def test_mrope_equals_its_definition(interleaved):
    """Equal positions in one tensor or in two, and strict sections."""
    q, k, v = (torch.randn(2, 3, 21, 16) for _ in range(3))
    positions = torch.randint(0, 90, (3, 2, 21), dtype=torch.int32)
    encoding = nn.MRoPE(sections=(3, 2, 3), interleaved=interleaved)
    axes = [0, 1, 2, 0, 1, 2, 0, 0] if interleaved else [0, 0, 0, 1, 1, 2, 2, 2]
    angles = torch.stack([positions[axis] for axis in axes], -1)[:, None] * (
        10000.0 ** (-torch.arange(8, dtype=torch.float64) / 8))
    scores = _rope_of(q, angles) @ _rope_of(k, angles).mT / 4
    scores = scores.masked_fill(~torch.ones(21, 21).tril().bool(), -torch.inf)
    expected = scores.softmax(-1) @ v.double()
    o = pe.attention(q, k, v, encoding(positions=positions), mask=pe.causal)
    assert (o - expected).abs().max() < 1e-5
    same = pe.attention(q, k, v, encoding(q_positions=positions, k_positions=positions),
                        mask=pe.causal)
    assert torch.equal(o, same)
    # The last tokens alone, as in decoding.
    last = pe.attention(q[:, :, -2:], k, v, encoding(
        q_positions=positions[:, :, -2:].contiguous(), k_positions=positions), mask=pe.causal)
    assert (last - expected[:, :, -2:]).abs().max() < 1e-5


def test_mrope_names_wrong_positions_and_sections():
    q = torch.randn(1, 2, 8, 16)
    encoding = nn.MRoPE(sections=(3, 2, 3))
    with pytest.raises(pe.InputError, match=r"MRoPE: positions: expected \[3, batch, length\]"):
        pe.attention(q, q, q, encoding(positions=torch.zeros(2, 1, 8, dtype=torch.int32)))
    wide = nn.MRoPE(sections=(16, 24, 24))(positions=torch.zeros(3, 1, 8, dtype=torch.int32))
    with pytest.raises(pe.Error, match=r"sections that add up to the 8 rotated pairs.*rotary-C11"):
        pe.attention(q, q, q, wide)


def test_values_are_rotated_by_the_distance():
    """A shift of all positions changes nothing, because outputs are rotated back."""
    q, k, v = (torch.randn(1, 2, 12, 16) for _ in range(3))
    encoding = nn.RoPE(values=True)
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    later = pe.attention(q, k, v, encoding, mask=pe.causal, q_start=100, k_start=100)
    assert (o - later).abs().max() < 1e-5
    assert (o - pe.attention(q, k, v, nn.RoPE(), mask=pe.causal)).abs().max() > 0.1
