"""Tests of pe.score_mod and pe.from_flex: functions in FlexAttention's order of arguments."""

import pytest
import torch

import pe_attention as pe

from dense_attention import compare, inputs, scores, weigh

SLOPES = torch.tensor([0.5, 0.25, 0.125], requires_grad=True)
TABLE = torch.randn(3, 12, generator=torch.Generator().manual_seed(1)).requires_grad_()
TABLE_2D = torch.randn(23, 23, generator=torch.Generator().manual_seed(2)).requires_grad_()
GAIN = torch.tensor([1.0, 0.8, 1.3], requires_grad=True)
INDEX = torch.tensor([0, 2, 1])
INFINITY = float("inf")

# Name: function, tensors with gradients, and the clauses of the program.
CASES = {
    "relative": (lambda s, b, h, q, k: s + 0.1 * (k - q), [], {"bias"}),
    "alibi": (lambda s, b, h, q, k: s + SLOPES[h] * (k - q), [SLOPES], {"bias"}),
    "minus": (lambda s, b, h, q, k: s - SLOPES[h] * (q - k) + TABLE[h, (q - k).clamp(0, 11)],
              [SLOPES, TABLE], {"bias"}),
    "table": (lambda s, b, h, q, k: TABLE[h, (q - k).clamp(0, 11)] + s, [TABLE], {"bias"}),
    "table_2d": (lambda s, b, h, q, k: s + TABLE_2D[q, k], [TABLE_2D], {"bias"}),
    "indirect": (lambda s, b, h, q, k: s + SLOPES[INDEX[h]] * (k - q), [SLOPES], {"bias"}),
    "softcap": (lambda s, b, h, q, k: 20 * torch.tanh(s / 20), [], {"score"}),
    "multiplied": (lambda s, b, h, q, k: s * GAIN[h], [GAIN], {"score"}),
    "multiplied_and_added": (lambda s, b, h, q, k: s * GAIN[h] - SLOPES[h] * (q - k),
                             [GAIN, SLOPES], {"score", "bias"}),
    "causal": (lambda s, b, h, q, k: torch.where(q >= k, s, -INFINITY), [], {"mask"}),
    "window": (lambda s, b, h, q, k: torch.where(q - k > 5, -INFINITY,
                                                 torch.where(q >= k, s + SLOPES[h] * k, -INFINITY)),
               [SLOPES], {"mask", "bias"}),
    "branches": (lambda s, b, h, q, k: torch.where(q - k < 3, s, s - SLOPES[h]), [SLOPES],
                 {"bias"}),
    "everything": (lambda s, b, h, q, k: torch.where(
        q >= k, 20 * torch.tanh(s / 20) - SLOPES[h] * (q - k), -INFINITY), [SLOPES],
        {"mask", "score", "bias"}),
}


def positions():
    return (torch.zeros(1, 1, 1, 1, dtype=torch.int64), torch.arange(3).reshape(1, -1, 1, 1),
            torch.arange(4, 23).reshape(-1, 1), torch.arange(23).reshape(1, -1))


@pytest.mark.parametrize("name", CASES)
def test_score_mods(name):
    """Structure, output and gradients of q, k, v and captured tensors."""
    function, captured, clauses = CASES[name]
    encoding = pe.from_flex(function)
    text = encoding.program().text
    assert {c for c in ("bias", "score", "mask") if f" {c}(" in text} == clauses
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    s = scores(q, k)
    new = function(s, *positions())
    assert torch.allclose(encoding.score(s), new, atol=1e-6)
    expected = weigh(new, v, new > -INFINITY)
    o = pe.attention(q, k, v, encoding)
    compare(o, expected, [q, k, v, *captured], d_o, 2e-5)


# Negative indices count from the end, as in FlexAttention: of differences, heads and tensors.
WRAPPED = {
    "difference": lambda s, b, h, q, k: s + TABLE_2D[(h + 1), q - k],
    "head": lambda s, b, h, q, k: s + SLOPES[h - 3] * (k - q),
    "looked up": lambda s, b, h, q, k: s + SLOPES[INDEX[h] - 1],
    "nested": lambda s, b, h, q, k: torch.where(INDEX[h - 2] > 0, s * GAIN[h - 1], s),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_negative_indices(name):
    function = WRAPPED[name]
    encoding = pe.from_flex(function)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    new = function(scores(q, k), *positions())
    assert torch.allclose(encoding.score(scores(q, k)), new, atol=1e-6)
    captured = [t for t in (SLOPES, TABLE_2D, GAIN) if any(t is p for p in encoding.buffers())]
    compare(pe.attention(q, k, v, encoding), weigh(new, v, new > -INFINITY), [q, k, v, *captured],
            d_o, 2e-5)
    mask = pe.from_flex(mask_mod=lambda b, h, q, k: INDEX[k % 3 - 3] <= q)
    allowed = INDEX[torch.arange(23) % 3 - 3] <= torch.arange(4, 23)[:, None]
    compare(pe.attention(q, k, v, mask), weigh(scores(q, k), v, allowed), [q, k, v], d_o, 2e-5)


def test_any_and_all_of_a_row():
    """Conditions on a row of a tensor: any and all of its elements, and of numbers in it."""
    chosen = torch.tensor([[0, 2], [1, 0], [2, 2]])
    below = torch.tensor([[9.0, 30.0], [30.0, 30.0], [4.0, 1.0]], requires_grad=True)

    def mask_mod(b, h, q, k):
        some = (chosen[q // 8] == (k // 8).unsqueeze(-1)).any(dim=-1)
        return some & chosen[h].any() | (chosen[q // 8] <= k).all()

    def score_mod(score, b, h, q, k):
        return torch.where((below[q // 8] > k).all(-1), score, -INFINITY)

    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    i, j = torch.arange(4, 23)[:, None], torch.arange(23)
    rows = chosen[i[:, 0] // 8]
    some = (rows[:, None] == (j // 8)[None, :, None]).any(-1)
    every = (rows[:, None] <= j[None, :, None]).all(-1)
    allowed = (some & chosen.any(-1).reshape(1, -1, 1, 1)) | every
    mask = pe.from_flex(mask_mod=mask_mod)
    compare(pe.attention(q, k, v, mask), weigh(scores(q, k), v, allowed), [q, k, v], d_o, 2e-5)
    allowed = (below[i[:, 0] // 8][:, None] > j[None, :, None]).all(-1)
    compare(pe.attention(q, k, v, pe.from_flex(score_mod)), weigh(scores(q, k), v, allowed),
            [q, k, v], d_o, 2e-5)
    with pytest.raises(pe.CompileError, match="any: expected a tensor with one axis"):
        pe.from_flex(mask_mod=lambda b, h, q, k: (chosen == q).any())


def test_operators_of_libraries():
    """Those of PyTorch itself are known by their names, others are refused by theirs."""
    capped = pe.from_flex(lambda s, b, h, q, k: 20 * torch.ops.aten.tanh(s / 20))
    assert capped.program().text.count("math.tanh") == 1

    @torch.library.custom_op("pe_test::scaled", mutates_args=())
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    with pytest.raises(pe.CompileError, match="pe_test::scaled is not supported in a formula"):
        pe.from_flex(lambda s, b, h, q, k: scaled(s))


def test_nonnegative_indices_are_not_wrapped():
    encoding = pe.from_flex(lambda s, b, h, q, k: s + TABLE[h, abs(q - k) % 12] + TABLE[h, q // 4])
    assert "arith.select" not in encoding.program().text


def test_heads_of_dense_biases():
    """The heads are those of the tensors, or the argument; an error if the number is unknown."""
    encoding = pe.from_flex(CASES["alibi"][0])
    assert encoding.dense(4, 4).shape == (1, 3, 4, 4)
    slope = pe.from_flex(lambda s, b, h, q, k: s - 2.0 ** -h * (q - k))
    with pytest.raises(pe.InputError, match="expected the number of heads: the formula depends"):
        slope.dense(4, 4)
    known = pe.from_flex(lambda s, b, h, q, k: s - 2.0 ** -h * (q - k), heads=3)
    assert known.dense(4, 4).shape == (1, 3, 4, 4)
    assert (slope + pe.nn.ALiBi(2)).dense(4, 4).shape == (1, 2, 4, 4)
    assert pe.from_flex(CASES["relative"][0]).dense(4, 4).shape == (1, 1, 4, 4)
    with pytest.raises(pe.InputError, match="heads: expected 3, the size of the formula's tensors"):
        pe.from_flex(CASES["alibi"][0], heads=2)
    with pytest.raises(pe.InputError, match="found 3 of SLOPES and 23 of TABLE_2D"):
        pe.from_flex(lambda s, b, h, q, k: s + SLOPES[h] + TABLE_2D[h, k])
    mask = pe.mask(lambda b, h, i, j: j <= i + h)
    assert mask.dense(4, 4, heads=2).shape == (1, 2, 4, 4)
    with pytest.raises(pe.InputError, match="the mask depends on h; write heads=8"):
        mask.dense(4, 4)


def test_mask_mod():
    """A mask_mod with a score_mod, both with captured tensors, combined with another mask and a
    sink."""
    document = torch.tensor([[0] * 10 + [1] * 13, [0] * 5 + [1] * 18])
    sink = torch.zeros(3, requires_grad=True)
    encoding = pe.from_flex(CASES["minus"][0],
                            lambda b, h, q, k: document[b, q] == document[b, k])
    b, h, i, j = positions()
    b = torch.arange(2).reshape(-1, 1, 1, 1)
    allowed = (document[b, i] == document[b, j]) & (j <= i)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    new = CASES["minus"][0](scores(q, k), b, h, i, j).masked_fill(~allowed, -INFINITY)
    logit = sink.double().reshape(1, 3, 1, 1).expand(2, 3, 19, 1)
    p = torch.softmax(torch.cat([new, logit], -1), -1)[..., :-1]
    o = pe.attention(q, k, v, encoding, mask=pe.causal, sink=sink)
    compare(o, p @ v.double(), [q, k, v, SLOPES, TABLE, sink], d_o, 2e-5)
    only = pe.from_flex(mask_mod=lambda b, h, q, k: q >= k)
    assert torch.equal(pe.attention(q, k, v, only), pe.attention(q, k, v, mask=pe.causal))


def test_score_mod_with_parameters():
    @pe.score_mod(gain=pe.per_head(1.0), cap=pe.scalar(20.0, min=1.0))
    def capped(score, b, h, q, kv, gain, cap):
        return cap * torch.tanh(score * gain[h] / cap) - 0.1 * (q - kv)

    encoding = capped(heads=3)
    q, k, v, d_o = inputs(1, 3, 19, 23, 16)
    new = encoding.score(scores(q, k))
    allowed = torch.arange(23)[None] <= torch.arange(4, 23)[:, None]
    compare(pe.attention(q, k, v, encoding, mask=pe.causal), weigh(new, v, allowed),
            [q, k, v, encoding.gain, encoding.cap], d_o, 2e-5)


def test_modules_and_methods():
    """Parameters of the module that owns the function are found, named and trained."""

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.slopes = torch.nn.Parameter(torch.rand(3))

        def score(self, score, b, h, q_idx, kv_idx):
            return score - self.slopes[h] * (q_idx - kv_idx)

    layer = Layer()
    encoding = pe.from_flex(layer.score, heads=3)
    q, k, v, d_o = inputs(1, 3, 9, 9, 16)
    pe.attention(q, k, v, encoding, mask=pe.causal).backward(d_o)
    assert layer.slopes.grad is not None and layer.slopes.grad.abs().min() > 0
    with pytest.raises(pe.InputError, match="expected score_mod, mask_mod or both, found neither"):
        pe.from_flex()


def test_functions_with_other_inputs_are_refused():
    with pytest.raises(pe.InputError, match=r"score_mod: expected a function of \(score, b, h"):
        pe.from_flex(lambda score, b: score)
    with pytest.raises(pe.InputError, match=r"mask_mod: expected a function of \(b, h, i, j\)"):
        pe.from_flex(mask_mod=lambda i, j: i >= j)
