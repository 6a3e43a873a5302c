"""Pictures show the numbers of the encoding and of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pe_attention as pe


def _images(figure):
    return [image.get_array() for axes in figure.axes for image in axes.get_images()]


def test_bias_shows_the_dense_bias():
    encoding = pe.nn.ALiBi(5)
    images = _images(pe.plot.bias(encoding, length=9))
    assert len(images) == 5
    dense = encoding.dense(9, 9)[0].detach().numpy()
    shown = np.ma.masked_invalid(images[3])
    rows, columns = np.tril_indices(9)
    np.testing.assert_array_equal(np.asarray(shown)[rows, columns], dense[3][rows, columns])
    assert np.ma.masked_invalid(images[3]).mask[0, 1]  # a key behind its query
    assert len(_images(pe.plot.bias(encoding, length=9, heads=[4], causal=False))) == 1


def test_distance_is_a_line_per_head():
    encoding = pe.nn.KerpleLog(2)
    figure = pe.plot.distance(encoding, length=65)
    lines = figure.axes[0].get_lines()
    assert len(lines) == 2
    dense = encoding.dense(1, 65)[0, 1, 0].detach()
    np.testing.assert_allclose(lines[1].get_ydata(), dense.flip(-1)[1:].numpy())
    assert list(lines[1].get_xdata()[:2]) == [1, 2]


@pytest.mark.parametrize("keys", [7, 70])  # fewer and more than one call's columns
def test_attention_shows_the_weights(keys):
    q, k = torch.randn(2, 4, keys, 16), torch.randn(2, 2, keys, 16)
    images = _images(pe.plot.attention(q, k, mask=pe.causal, batch=1))
    assert len(images) == 4
    scores = q[1, 3].double() @ k[1, 1].double().T / 4
    weights = scores.masked_fill(torch.ones(keys, keys).triu(1).bool(), -torch.inf).softmax(-1)
    np.testing.assert_allclose(np.asarray(images[3]), weights.numpy(), atol=1e-6)


def test_figures_are_written(tmp_path):
    pe.plot.bias(pe.nn.T5(2), length=8).savefig(tmp_path / "bias.png")
    assert (tmp_path / "bias.png").stat().st_size > 1000


def test_what_is_not_there():
    with pytest.raises(pe.InputError, match="heads: expected numbers from 0 to 1, found 2"):
        pe.plot.bias(pe.nn.ALiBi(2), heads=[2])
    with pytest.raises(pe.InputError, match="query: expected a position from 1 to 7, found 8"):
        pe.plot.distance(pe.nn.ALiBi(2), length=8, query=8)
    with pytest.raises(pe.InputError, match="length: expected at least 2, found 1"):
        pe.plot.distance(pe.nn.ALiBi(2), length=1)
    with pytest.raises(pe.Error):
        pe.plot.bias(pe.nn.RoPE())  # a rotation has no bias
