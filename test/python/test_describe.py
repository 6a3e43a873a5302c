"""Tests of the description of a function: the properties of its attentions, and defaults."""

from pathlib import Path

import pytest

import pe_attention as pe
from pe_attention._function import get_function

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "encodings"
SOFTMAX = {"normalizer": "softmax", "mergeable": True, "remainder": "drop", "direction": "before",
           "sink": None, "sink_function": False, "documents": [],
           "pages": None}
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
    ("sigmoid", [{**SOFTMAX, **between(0, None), "normalizer": "sigmoid", "mergeable": False}]),
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
                         "e": None, "capacity": "c", "k_start": "0", "q_start": "k_start + c - r",
                         "head_start": "0", "heads_total": "hq"}, target


def test_pairs_memory():
    """The limit decides which stages the backward call of a GPU has."""
    def found(limit: int | None) -> str:
        made = pe.compile(EXAMPLES / "nope.mlir", target="gpu-emulator", dtype="bf16",
                          head_dim=128, pairs_memory=limit)
        return str(made.signature["explain"])

    assert "backward_products" in found(None)
    assert found(1024) == found(None) != found(2)
    assert "backward_products" not in found(0)


def test_sizes_of_a_call():
    """Scalars that a call does not give, and sizes that no argument has, have their defaults."""
    function = _function("nope")
    given = {"k_start": 7, "q_start": None}
    sizes = function.sizes([(2, 4, 3, 16), (2, 2, 5, 16), (2, 2, 5, 16)], given)
    assert sizes == {"b": 2, "hq": 4, "hkv": 2, "r": 3, "c": 5, "d": 16, "e": 16, "capacity": 5,
                     "k_start": 7, "q_start": 9, "head_start": 0, "heads_total": 4}
    assert function.sizes([(2, 4, 3, 16)] * 3, {"q_start": -1})["q_start"] == -1
    rows = _function("merge").sizes([(2, 4, 3, 16), (2, 4, 3)] * 2, {})
    assert rows["c"] == 3 and rows["q_start"] == 0


def _function(name):
    text = (EXAMPLES / f"{name}.mlir").read_text()
    return get_function(text, "reference", 16, 16, "f32", False)


def _signature(source):
    return pe.compile(source, target="reference").signature
