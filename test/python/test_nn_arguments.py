"""Constructors of pe.nn raise one pe.InputError for wrong arguments."""

import inspect

import numpy as np
import pytest
import torch

import pe_attention as pe
from pe_attention import nn

WRONG = {
    "a head dim": (lambda: nn.RoPE(64), "the head dim is taken from the query; the base is base="),
    "buckets by position": (lambda: nn.T5(8, 32), r"at most 1 argument by position \(heads\), "
                            "found 2; pass buckets, max_distance or bidirectional by name"),
    "a name of transformers": (lambda: nn.T5(8, num_buckets=32), "num_buckets, found 32; write "
                               "buckets=32"),
    "two names": (lambda: nn.T5(num_heads=8, max_dist=64),
                  "no argument num_heads, found 8; write heads=8; expected no argument max_dist, "
                  "found 64; write max_distance=64"),
    "theta": (lambda: nn.RoPE(rope_theta=5e5), "rope_theta, found 500000.0; write base=500000.0"),
    "dim of a rotation": (lambda: nn.RoPE(dim=64), "omit it: the head dim is taken from the"),
    "dim of tokens": (lambda: nn.Sinusoidal(d_model=64), "the width is taken from the tokens"),
    "longest text": (lambda: nn.ALiBi(8, max_seq_len=2048), "omit it: any length works"),
    "a device": (lambda: nn.ALiBi(8, device="cpu"), r"move the module afterwards, with \.to"),
    "a misspelt name": (lambda: nn.ALiBi(8, learnt=True), "learnt, found True; did you mean lear"),
    "an unknown name": (lambda: nn.ALiBi(8, zzz=1), "zzz, found 1; the arguments are heads and le"),
    "no heads": (lambda: nn.ALiBi(), "ALiBi: expected heads, found none; the arguments are heads"),
    "heads twice": (lambda: nn.ALiBi(8, heads=8), "expected heads once, found it both by position"),
    "a string": (lambda: nn.T5("8"), "heads: expected an integer of at least 1, found '8'"),
    "a NumPy number": (lambda: nn.T5(np.int64(0)), "heads: expected an integer of at least 1"),
    "a switch": (lambda: nn.T5(8, bidirectional=1), "bidirectional: expected True or False"),
    "a base": (lambda: nn.RoPE(base=float("nan")), "base: expected a finite number, found nan"),
    "a layer": (lambda: nn.FIRE(8, hidden=(32, 0)), r"hidden=\(32, 32\), found \(32, 0\)"),
    "a list of a scaling": (
        lambda: nn.RoPE(scaling={"kind": "longrope", "factor": 4.0, "original_length": 64,
                                 "short_factor": 1.0, "long_factor": [1.0]}),
        "scaling: expected short_factor to be a list with a number for each pair, found 1.0"),
    "a number of a scaling": (
        lambda: nn.RoPE(scaling={"kind": "linear", "factor": [4.0]}),
        r"scaling: expected factor to be a number, found \[4.0\]"),
    "trailing dims": (lambda: nn.RoPE(trailing=True), "trailing: expected rotary_dims"),
    "learned rotation of values": (lambda: nn.RoPE(heads=2, learned=True, values=True),
                                   "values: expected a fixed base"),
    "an empty section": (lambda: nn.MRoPE(sections=(16, 0)),
                         "sections: expected a positive number of pairs for every axis"),
    "restart of interleaved axes": (
        lambda: nn.MRoPE(sections=(4, 4), interleaved=True, restart=True),
        "restart: expected interleaved=False"),
    "a scaling": (lambda: nn.RoPE(scaling="yarn"), "scaling: expected a dict or None, found 'yarn"),
    "a cap": (lambda: nn.Softcap(8), "write cap=30.0"),
    "an embedding": (lambda: nn.Learned(512, 768), r"write Learned\(length=512, dim=768\)"),
    "an argument of NoPE": (lambda: nn.NoPE(8), "expected no arguments by position, found 1$"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name):
    make, text = WRONG[name]
    with pytest.raises(pe.InputError, match=text):
        make()


@pytest.mark.parametrize("name", nn.__all__)
def test_only_heads_is_positional(name):
    parameters = list(inspect.signature(getattr(nn, name)).parameters.values())
    plain = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert plain in ([], ["heads"])
    with pytest.raises(pe.InputError, match=f"^{name}: "):
        getattr(nn, name)(8, 64)
    with pytest.raises(pe.InputError, match=f"^{name}: expected no argument nothing_like_it"):
        getattr(nn, name)(nothing_like_it=1)


def test_hidden_accepts_one_number():
    assert nn.FIRE(8, hidden=64).hidden == (64,)
    assert nn.ClampedFIRE(8, hidden=16).w1.shape == (16,)


def test_sums():
    """`sum` starts with 0."""
    both = sum([nn.ALiBi(2), nn.T5(2)])
    assert [type(part).__name__ for part in both.parts()] == ["ALiBi", "T5"]
    with pytest.raises(TypeError):
        1 + nn.ALiBi(2)


def test_missing_data():
    q = torch.randn(1, 2, 4, 8)
    text = r"expected the tensors f \(f_q is optional if .*pass encoding\(f=f\) to pe.attention"
    with pytest.raises(pe.InputError, match=text):
        pe.attention(q, q, q, nn.Forgetting())
    with pytest.raises(pe.InputError, match=r"expected the tensors f \(f_q is .*found f_q$"):
        nn.Forgetting()(f_q=q)


def test_from_mlir_refuses_names_of_encodings():
    with pytest.raises(pe.CompileError, match="found the name 'alibi'; .* pe.nn.ALiBi$"):
        pe.from_mlir("alibi", heads=4)
    with pytest.raises(pe.CompileError, match="pe.nn.KerpleLog$"):
        pe.from_mlir("kerple_log", heads=4)
    with pytest.raises(pe.CompileError, match="found the name 'mine'$"):
        pe.from_mlir("mine")
    with pytest.raises(pe.CompileError, match="mine.mlir: from_mlir: cannot read the file: No"):
        pe.from_mlir("mine.mlir")
