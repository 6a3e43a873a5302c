"""Tests of pe.merge: parts of the keys give the result of the whole, with gradients, eager and
compiled."""

import subprocess
import sys

import pytest
import torch
from conftest import close
from torch.autograd import gradcheck

import pe_attention as pe
from pe_attention.distributed._layout import Chunk, chunks_of, in_order
from pe_attention.distributed._structure import structure_of

LENGTH = 24


def inputs():
    q, k, v = (torch.randn(2, 3, LENGTH, 16) for _ in range(3))
    return [t.requires_grad_() for t in (q, k, v)], torch.randn(2, 3, LENGTH, 16)


def parts(q, k, v, bounds, encoding=None, **options):
    """Returns results over the keys between consecutive bounds, in order."""
    found = []
    for begin, end in zip(bounds, bounds[1:]):
        found += pe.attention(q, k[:, :, begin:end], v[:, :, begin:end], encoding, mask=pe.causal,
                              q_start=0, k_start=begin, return_lse=True, **options)
    return found


@pytest.mark.parametrize("bounds, compiled", [((0, 9, 24), False), ((0, 0, 11, 24, 24), False),
                                              ((0, 5, 17, 24), True)])
def test_merged_parts_equal_the_whole(bounds, compiled):
    """Later parts are empty for the first rows, and some parts for all rows."""
    (q, k, v), d_o = inputs()
    d_lse = torch.randn(2, 3, LENGTH)
    o, lse = pe.attention(q, k, v, mask=pe.causal, return_lse=True)
    expected = torch.autograd.grad([o, lse], [q, k, v], [d_o, d_lse])
    # Without Inductor, whose C++ compiler takes most of a minute.
    merge = torch.compile(pe.merge, fullgraph=True, backend="aot_eager") if compiled else pe.merge
    found_o, found_lse = merge(*parts(q, k, v, bounds))
    close(found_o, o)
    close(found_lse, lse)
    found = torch.autograd.grad([found_o, found_lse], [q, k, v], [d_o, d_lse])
    for one, other in zip(found, expected, strict=True):
        close(one, other, 5e-6)


def test_stick_breaking_merges_nearest_first():
    (q, k, v), d_o = inputs()
    encoding = pe.nn.StickBreaking()
    d_lse = torch.randn(2, 3, LENGTH)
    o, lse = pe.attention(q, k, v, encoding, mask=pe.causal, return_lse=True)
    expected = torch.autograd.grad([o, lse], [q, k, v], [d_o, d_lse])
    o1, lse1, o2, lse2, o3, lse3 = parts(q, k, v, (0, 7, 15, 24), encoding)
    found = pe.merge(o3, lse3, o2, lse2, o1, lse1, normalizer="stick_breaking")
    close(found[0], o)
    close(found[1], lse)
    for one, other in zip(torch.autograd.grad(found, [q, k, v], [d_o, d_lse]), expected,
                          strict=True):
        close(one, other, 5e-6)


def test_a_sink_is_counted_once():
    (q, k, v), d_o = inputs()
    sink = torch.randn(3, requires_grad=True)
    o, lse = pe.attention(q, k, v, mask=pe.causal, sink=sink, return_lse=True)
    expected = torch.autograd.grad(o, [q, k, v, sink], d_o)
    found_o, found_lse = pe.merge(*parts(q, k, v, (0, 10, 24)), sink=sink)
    close(found_o, o)
    close(found_lse, lse)
    for one, other in zip(torch.autograd.grad(found_o, [q, k, v, sink], d_o), expected,
                          strict=True):
        close(one, other, 5e-6)


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("normalizer", ["softmax", "stick_breaking"])
def test_gradients_of_the_formula(normalizer):
    tensors = [t for _ in range(3) for t in (numbers(1, 2, 3, 2), numbers(1, 2, 3))]
    assert gradcheck(lambda *given: pe.merge(*given, normalizer=normalizer), tensors)
    if normalizer == "softmax":
        assert gradcheck(lambda s, *given: pe.merge(*given, sink=s), [numbers(2), *tensors])


def test_empty_parts_have_no_weight_and_no_gradient():
    """The values of o do not matter: other libraries leave NaN in rows without keys."""
    o1, o2, lse1, lse2 = (torch.randn(1, 1, 3, 2), torch.full((1, 1, 3, 2), torch.nan),
                          torch.randn(1, 1, 3), torch.full((1, 1, 3), -torch.inf))
    lse1[..., 2] = -torch.inf
    given = [t.requires_grad_() for t in (o1, lse1, o2, lse2)]
    o, lse = pe.merge(*given)
    assert torch.equal(o[..., :2, :], o1[..., :2, :]) and not o[..., 2, :].any()
    assert torch.equal(lse, lse1)
    d_o1, d_lse1, d_o2, d_lse2 = torch.autograd.grad([o.sum(), lse[..., :2].sum()], given)
    assert not d_o2.any() and not d_lse2.any() and not d_o1[..., 2, :].any()
    assert torch.equal(d_o1[..., :2, :], torch.ones(1, 1, 2, 2))
    assert torch.equal(d_lse1, torch.tensor([[[1.0, 1.0, 0.0]]]))


def test_large_logarithms_and_low_precision():
    o1, o2 = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2)
    lse1, lse2 = torch.tensor([[[3e4]]]), torch.tensor([[[3e4 + 1]]])
    o, lse = pe.merge(o1.bfloat16(), lse1, o2.bfloat16(), lse2)
    assert o.dtype is torch.bfloat16 and lse.dtype is torch.float32
    assert abs(float(o[0, 0, 0, 0]) - 0.7311) < 4e-3 and abs(float(lse) - 30001.3133) < 2e-3


def test_refusals():
    o, lse = torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3)
    for message, given, options in [
            ("merge: expected o1, lse1, o2, lse2 and so on, found 3 tensors", (o, lse, o), {}),
            ("o2: expected the shape [1, 2, 3, 4] by o1, found [1, 2, 2, 4]",
             (o, lse, o[:, :, :2], lse), {}),
            ("lse1: expected the shape [1, 2, 3] by o1", (o, o, o, lse), {}),
            ("o2: expected torch.float32", (o, lse, o.bfloat16(), lse), {}),
            ("o1: expected a tensor, found 1.0", (1.0, lse), {}),
            ("normalizer: expected 'softmax' or 'stick_breaking'", (o, lse),
             {"normalizer": "sigmoid"}),
            ("sink: expected a logit for each of 2 heads", (o, lse), {"sink": torch.zeros(3)}),
            ("sink: expected none under stick_breaking", (o, lse),
             {"sink": torch.zeros(2), "normalizer": "stick_breaking"})]:
        with pytest.raises(pe.InputError, match="^" + message.replace("[", r"\[")):
            pe.merge(*given, **options)


# --- How a sequence is split, as far as one process can check it ---------------


def test_layouts():
    assert chunks_of([4, 0, 3], "contiguous") == [
        (Chunk(0, 4, 0),), (Chunk(4, 0, 0),), (Chunk(4, 3, 0),)]
    zigzag = chunks_of([4, 4], "zigzag")
    assert zigzag == [(Chunk(0, 2, 0), Chunk(6, 2, 2)), (Chunk(2, 2, 0), Chunk(4, 2, 2))]
    assert [rank for rank, _ in in_order(zigzag)] == [0, 1, 1, 0]


@pytest.mark.parametrize("mask, low, high", [
    (None, -float("inf"), float("inf")), (pe.causal, 0, float("inf")),
    (pe.causal & pe.sliding_window(5), 0, 4), (pe.sliding_window(5, 3), -2, 4),
    (pe.causal | pe.sliding_window(right=3), -2, float("inf")),
    (pe.mask(lambda b, h, i, j: i >= j), 0, float("inf")),
    (pe.mask(lambda b, h, i, j: (i - j) % 2 == 0), -float("inf"), float("inf"))])
def test_hidden_blocks_are_detected(mask, low, high):
    """Blocks that the mask hides entirely are not computed; `dense` gives the pairs."""
    from pe_attention._explain import program_for
    from pe_attention._program import Options

    structure = structure_of(program_for(None, mask, Options()).text)
    assert (structure.low, structure.high) == (low, high)
    i, j = torch.arange(20)[:, None], torch.arange(20)[None]
    visible = (i - j >= low) & (i - j <= high)
    for queries in (Chunk(8, 4, 0), Chunk(3, 1, 0)):
        for keys in (Chunk(begin, 3, 0) for begin in range(18)):
            block = visible[queries.start:queries.stop, keys.start:keys.stop]
            assert structure.sees(queries, keys) == bool(block.any())
    assert not structure.sees(Chunk(8, 0, 0), Chunk(0, 4, 0))


def test_import_does_not_import_torch_distributed():
    code = ("import sys, pe_attention as pe; assert 'torch' not in sys.modules; pe.merge; "
            "assert 'pe_attention.distributed' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
