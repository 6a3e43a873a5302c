"""Tests of the description of a function: the properties of its attentions, and defaults."""

from pathlib import Path

import pytest

import pe_attention as pe

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "encodings"
SOFTMAX = {"normalizer": "softmax", "remainder": "drop", "direction": "before", "sink": None,
           "sink_function": False, "documents": []}
STICK = {**SOFTMAX, "normalizer": "stick_breaking"}


def between(low, high):
    return {"range": {"low": low, "high": high}}


@pytest.mark.parametrize("name, expected", [
    ("nope", [{**SOFTMAX, **between(0, None)}]),
    ("cross_attention", [{**SOFTMAX, **between(None, None)}]),
    ("sliding_window", [{**SOFTMAX, **between(0, 127)}]),
    ("custom_mask", [{**SOFTMAX, **between(0, 511)}]),
    ("sink_window", [{**SOFTMAX, **between(0, None)}]),
    ("attention_sink", [{**SOFTMAX, **between(0, None), "sink": "sink"}]),
    ("packed_documents", [{**SOFTMAX, **between(0, None), "documents": ["cu_seqlens"]}]),
    ("explicit_positions", [{**SOFTMAX, **between(None, None)}]),
    ("stick_breaking", [{**STICK, **between(1, None)}]),
    ("stick_breaking_attend_current", [{**STICK, **between(0, None)}]),
    ("stick_breaking_remainder", [{**STICK, **between(1, None), "remainder": "value"}]),
    ("stick_breaking_both", [{**STICK, **between(None, None), "direction": "both"}]),
    ("fire_shared", [{**SOFTMAX, **between(0, None)}] * 2),
    ("merge", []),
])
def test_attentions(name, expected):
    assert _signature(EXAMPLES / f"{name}.mlir")["attentions"] == expected


SINK_OF_THE_QUERY = """
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %rise: tensor<?xf32> {pe.name = "rise"}) -> (!qkv {pe.name = "o"}) {
  %s = pe.sink_fn(%rise : tensor<?xf32>) expr "rise[h] * log(1 + i)"
  %o = pe.attention %q, %k, %v sink(%s) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
"""


def test_a_sink_as_a_function():
    found = _signature(SINK_OF_THE_QUERY)["attentions"]
    assert found == [{**SOFTMAX, **between(None, None), "sink_function": True}]


def test_defaults():
    """The compiler and the reference report the same defaults of the sizes and scalars."""
    for target in ("cpu", "reference"):
        found = pe.compile(EXAMPLES / "nope.mlir", target=target).signature
        words = {word["name"]: word["default"] for word in (*found["sizes"], *found["scalars"])}
        assert words == {"b": "1", "hq": "1", "hkv": "hq", "r": "0", "c": "r", "d": None,
                         "e": None, "k_start": "0", "q_start": "k_start + c - r",
                         "head_start": "0", "heads_total": "hq"}, target


def _signature(source):
    return pe.compile(source, target="reference").signature
