"""Tests of pe.mask: masks by formulas of positions and captured tensors, joined by & and |."""

import pickle

import pytest
import torch

import pe_attention as pe

from dense_attention import compare, inputs, softmax_attention

DOCUMENT = torch.tensor([[0] * 7 + [1] * 16, [0] * 12 + [2] * 11])
LENGTH = torch.tensor([20, 23], dtype=torch.int32)
PREFIX = torch.tensor([3, 9])
ALLOWED = torch.rand(23, 23, generator=torch.Generator().manual_seed(3)) < 0.4

# The masks of examples/encodings, and others; b, h, i, j are as in FlexAttention.
MASKS = {
    "document_mask": lambda b, h, i, j: (j <= i) & (DOCUMENT[b, i] == DOCUMENT[b, j]),
    "key_padding": lambda b, h, i, j: (j <= i) & (j < LENGTH[b]),
    "prefix_lm": lambda b, h, i, j: (j <= i) | (j < PREFIX[b]),
    "sink_window": lambda b, h, i, j: (j <= i) & ((j < 4) | (i - j < 8)),
    "custom_mask": lambda b, h, i, j: (j <= i) & (i - j < 12) & ((i - j) % 4 == 0),
    "neighbourhood_2d": lambda b, h, i, j: (abs(i // 6 - j // 6) <= 1) & (abs(i % 6 - j % 6) <= 1),
    "per_head": lambda b, h, i, j: (i - j < 3 * h + 2) & (j <= i),
    "table": lambda b, h, i, j: ALLOWED[i, j],
    "not": lambda b, h, i, j: ~((j > i) | torch.logical_and(i - j >= 5, i - j <= 9)),
}


def positions(batch=2, heads=3):
    return (torch.arange(batch).reshape(-1, 1, 1, 1), torch.arange(heads).reshape(1, -1, 1, 1),
            torch.arange(4, 23).reshape(-1, 1), torch.arange(23).reshape(1, -1))


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    """Output and gradients against the same function of tensors of positions."""
    mask = pe.mask(MASKS[name])
    allowed = MASKS[name](*positions())
    assert torch.equal(mask.dense(19, 23, batch=2, heads=3), allowed.expand(2, 3, 19, 23))
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    compare(pe.attention(q, k, v, mask=mask), softmax_attention(q, k, v, 0, allowed), [q, k, v],
            d_o, 2e-5)


def test_joined_masks():
    """& and | with named masks, and with a bias."""
    document = pe.mask(lambda b, h, i, j: DOCUMENT[b, i] == DOCUMENT[b, j])
    first = pe.mask(lambda b, h, i, j: j < 2)
    mask = (pe.causal & document) | first
    b, h, i, j = positions()
    allowed = ((j <= i) & (DOCUMENT[b, i] == DOCUMENT[b, j])) | (j < 2)
    encoding = pe.nn.ALiBi(3, learned=True)
    q, k, v, d_o = inputs(2, 3, 19, 23, 16)
    expected = softmax_attention(q, k, v, encoding.dense(19, 23, dtype=torch.float64), allowed)
    compare(pe.attention(q, k, v, encoding, mask=mask), expected, [q, k, v, encoding.slopes], d_o,
            2e-5)


def test_masks_read_current_values():
    """A mask reads its tensors in every call; another batch or length does not change the
    program."""
    length = torch.tensor([5, 7])
    mask = pe.mask(lambda b, h, i, j: j < length[b])
    q, k, v, _ = inputs(2, 1, 9, 9, 8)
    short = pe.attention(q, k, v, mask=mask)
    length += 2
    longer = pe.attention(q, k, v, mask=mask)
    assert torch.equal(longer, pe.attention(q, k, v, mask=pe.mask(
        lambda b, h, i, j: j < torch.tensor([7, 9])[b])))
    assert not torch.equal(short, longer)

    def over(document):
        return pe.mask(lambda b, h, i, j: document[b, i] == document[b, j]).structure

    assert over(torch.zeros(2, 9, dtype=torch.int64)) == over(torch.zeros(3, 40, dtype=torch.int64))


def test_mask_and_copies():
    mask = pe.mask(MASKS["prefix_lm"])
    same = pickle.loads(pickle.dumps(mask))
    assert same.structure == mask.structure
    assert torch.equal(same.dense(5, 9, batch=2), mask.dense(5, 9, batch=2))


def test_refused_masks():
    weight = torch.rand(3)
    with pytest.raises(pe.CompileError, match="weight: expected integers or booleans"):
        pe.mask(lambda b, h, i, j: weight[h] < 0.5)
    with pytest.raises(pe.CompileError, match="expected a boolean, found a real"):
        pe.mask(lambda b, h, i, j: i * 0.5)
