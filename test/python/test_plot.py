"""Tests that plots show the values of the encoding and of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import pe_attention as pe


@pe.bias(amp=pe.per_head(1.0))
def _falling(b, h, i, j, amp):
    return -amp[h] * abs(i - j)


@pe.bias
def _span(b, h, i, j):  # -inf from distance 8
    return torch.log(torch.clamp((8 - (i - j)) / 8, 0, 1))


@pe.bias
def _swirl(b, h, i, j):
    return torch.cos(i * j * 0.1)


def _slopes(*slopes):
    encoding = _falling(heads=len(slopes))
    with torch.no_grad():
        encoding.amp.copy_(torch.tensor(slopes))
    return encoding


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
    assert np.ma.masked_invalid(images[3]).mask[0, 1]  # a key after its query
    assert len(_images(pe.plot.bias(encoding, length=9, heads=[4], causal=False))) == 1


def test_distance_is_a_line_per_head():
    encoding = pe.nn.KerpleLog(2)
    figure = pe.plot.distance(encoding, length=65)
    lines = figure.axes[0].get_lines()
    assert len(lines) == 2
    dense = encoding.dense(1, 65)[0, 1, 0].detach()
    np.testing.assert_allclose(lines[1].get_ydata(), dense.flip(-1).numpy())
    assert list(lines[1].get_xdata()[:3]) == [0, 1, 2]


def _titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_images()]


def test_defaults_are_those_of_the_tool():
    images = _images(pe.plot.bias(pe.nn.ALiBi(2)))
    assert images[0].shape == (64, 64)
    (axes,) = pe.plot.distance(pe.nn.ALiBi(2)).axes
    assert axes.get_lines()[0].get_xdata()[-1] == 8192
    figure = pe.plot.bias(pe.nn.ALiBi(12), length=8)
    assert len(_images(figure)) == 8
    assert figure.get_suptitle() == "heads 0–7 of 12"


def test_equal_heads_are_drawn_once():
    encoding = _slopes(1, 2, 1, 1)
    assert _titles(pe.plot.bias(encoding, length=8)) == ["heads 0, 2, 3", "head 1"]
    (axes,) = pe.plot.distance(encoding, length=9).axes
    assert [line.get_label() for line in axes.get_lines()] == ["heads 0, 2, 3", "head 1"]


def test_far_values_are_clipped_and_the_title_says_so():
    (axes,) = pe.plot.distance(_slopes(1), length=1001, heads=[0]).axes
    assert axes.get_ylim()[0] == -30
    assert axes.get_title() == "clipped at -30 (full_range=True draws all)"
    (axes,) = pe.plot.distance(_slopes(1), length=1001, heads=[0], full_range=True).axes
    assert axes.get_ylim()[0] < -1000
    assert axes.get_title() == ""


def test_minus_infinity_is_marked():
    span = _span(heads=1)
    (axes,) = pe.plot.distance(span, length=33).axes
    assert axes.get_lines()[0].get_label() == "head 0, −inf beyond 7"
    figure = pe.plot.bias(span, length=33)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["masked", "−inf"]


def test_other_biases_are_plotted_as_means():
    swirl = _swirl(heads=1)
    (axes,) = pe.plot.distance(swirl, length=16).axes
    assert "not a function of the distance" in axes.get_title()
    dense = swirl.dense(16, 16)[0, 0]
    found = axes.get_lines()[0].get_ydata()
    np.testing.assert_allclose(found[3], dense.diagonal(-3).mean().item(), rtol=1e-6)


def test_scales_are_shared_on_request():
    encoding = pe.nn.ALiBi(2)
    limits = [[image.get_clim() for axes in pe.plot.bias(encoding, shared_scale=shared).axes
               for image in axes.get_images()] for shared in (False, True)]
    assert limits[0][0] != limits[0][1]
    assert limits[1][0] == limits[1][1]
    assert limits[0][0][0] == -limits[0][0][1]  # around 0


@pytest.mark.parametrize("keys", [7, 70])  # fewer and more than the columns of one call
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


def test_arguments_out_of_range():
    with pytest.raises(pe.InputError, match="heads: expected numbers from 0 to 1, found 2"):
        pe.plot.bias(pe.nn.ALiBi(2), heads=[2])
    with pytest.raises(pe.InputError, match="query: expected a position from 1 to 7, found 8"):
        pe.plot.distance(pe.nn.ALiBi(2), length=8, query=8)
    with pytest.raises(pe.InputError, match="length: expected at least 2, found 1"):
        pe.plot.distance(pe.nn.ALiBi(2), length=1)
    with pytest.raises(pe.Error):
        pe.plot.bias(pe.nn.RoPE())  # a rotation has no bias
