"""The list of all encodings of pe.nn, which parametrizes the tests.

`test_nn.py` fails for a class that is missing here. One line adds a case to the tests of
`test_classes.py` and `test_compiled.py`: opcheck, gradcheck, sizes, shared heads, strides, starts,
compiled code, threads; an entry in FILES also compares the program with that of its example file.
"""

from pathlib import Path
from typing import NamedTuple

import torch

import pe_attention as pe
from pe_attention import nn

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "encodings"
WINDOW = pe.causal & pe.sliding_window(128)


@pe.rotation(base=pe.per_head(10000.0, min=2.0))
def rope_formula(h, p, n, base):
    return base[h] ** (-p / n)


# The encodings and masks of example files. Those with vectors take a head dim.
FILES = {
    "alibi": (lambda: nn.ALiBi(2), pe.causal),
    "alibi_bidirectional": (lambda: nn.ALiBi(2), None),
    "alibi_learned": (lambda: nn.ALiBi(2, learned=True), pe.causal),
    "attention_sink": (lambda: nn.AttentionSink(2), pe.causal),
    "cross_attention": (nn.NoPE, None),
    "fire": (lambda: nn.FIRE(2), pe.causal),
    "fire_2x32": (lambda: nn.FIRE(2, hidden=(32, 32)), pe.causal),
    "fire_bidirectional": (lambda: nn.FIRE(2), None),
    "fire_clamped": (lambda: nn.ClampedFIRE(2), pe.causal),
    "fire_final_activation": (lambda: nn.FIRE(2, final_activation="relu"), pe.causal),
    "fire_fixed_threshold": (lambda: nn.FIRE(2, threshold="fixed"), pe.causal),
    "fire_gelu": (lambda: nn.FIRE(2, activation="gelu"), pe.causal),
    "fire_linear": (lambda: nn.FIRE(2, hidden=()), pe.causal),
    "fire_no_log": (lambda: nn.FIRE(2, log=False, threshold="none"), pe.causal),
    "fire_no_threshold": (lambda: nn.FIRE(2, threshold="none"), pe.causal),
    "fire_tanh": (lambda: nn.FIRE(2, activation="tanh"), pe.causal),
    "forgetting": (nn.Forgetting, pe.causal),
    "inkling": (nn.Inkling, pe.causal),
    "inkling2": (lambda: nn.Inkling(sink=True), pe.causal & pe.sliding_window(1024)),
    "inkling_global": (lambda: nn.Inkling(n_floor=4096, normalized=True), pe.causal),
    "inkling_window": (lambda: nn.Inkling(extent=512), pe.causal & pe.sliding_window(512)),
    "kerple_log": (lambda: nn.KerpleLog(2), pe.causal),
    "kerple_power": (lambda: nn.KerplePower(2), pe.causal),
    "key_bias": (nn.KeyBias, pe.causal),
    "mrope": (lambda: nn.MRoPE(sections=(12, 10, 10), scaled=True), pe.causal),
    "mrope_interleaved": (
        lambda: nn.MRoPE(sections=(24, 20, 20), interleaved=True, scaled=True), pe.causal),
    "music_transformer": (lambda depth=16: nn.MusicTransformer(head_dim=depth), pe.causal),
    "nope": (nn.NoPE, pe.causal),
    "relative_table": (lambda: nn.RelativeTable(2), pe.causal),
    "rope": (nn.RoPE, pe.causal),
    "rope_2d": (lambda: nn.MRoPE(sections=(1, 1), scaled=True, restart=True), pe.causal),
    "rope_bidirectional": (nn.RoPE, None),
    "rope_dynamic_ntk": (lambda: nn.RoPE(scaling={"kind": "dynamic_ntk", "factor": 4.0,
                                                  "original_length": 2048}), pe.causal),
    "rope_formula": (lambda: rope_formula(heads=2), pe.causal),
    "rope_interleaved": (lambda: nn.RoPE(interleaved=True), pe.causal),
    "rope_llama3": (lambda: nn.RoPE(scaling={"kind": "llama3", "factor": 8.0, "low": 1.0,
                                             "high": 4.0, "original_length": 8192}), pe.causal),
    "rope_longrope": (lambda: nn.RoPE(rotary_dims=8, scaling={
        "kind": "longrope", "factor": 4.0, "original_length": 2048,
        "short_factor": [1.0, 1.05, 1.1, 1.25], "long_factor": [1.0, 1.5, 2.75, 4.0]}), pe.causal),
    "rope_ntk": (lambda: nn.RoPE(scaling={"kind": "ntk", "factor": 4.0}), pe.causal),
    "rope_partial": (lambda: nn.RoPE(rotary_dims=8), pe.causal),
    "rope_per_head": (lambda: nn.RoPE(heads=2, learned=True), pe.causal),
    "rope_pi": (lambda: nn.RoPE(scaling={"kind": "linear", "factor": 4.0}), pe.causal),
    "rope_proportional": (lambda: nn.RoPE(scaling={
        "kind": "proportional", "factor": 1.0, "partial_rotary_factor": 0.25}), pe.causal),
    "rope_table": (nn.RotationTable, pe.causal),
    "rope_values": (lambda: nn.RoPE(values=True), pe.causal),
    "rope_yarn": (lambda: nn.RoPE(scaling={"kind": "yarn", "factor": 4.0,
                                           "original_length": 2048}), pe.causal),
    "rse": (lambda: nn.RSE(2), pe.causal),
    "rse_bidirectional": (lambda: nn.RSE(2, bidirectional=True), None),
    "rse_scaled": (lambda: nn.RSE(2, scaling={"kind": "yarn", "factor": 4.0,
                                              "original_length": 2048}), pe.causal),
    "sandwich": (lambda: nn.Sandwich(2), pe.causal),
    "score_fn": (lambda: nn.LengthScale(2), pe.causal),
    "shaw": (lambda depth=16: nn.Shaw(head_dim=depth), pe.causal),
    "shaw_values": (lambda depth=16: nn.Shaw(head_dim=depth, values=True), pe.causal),
    "sigmoid": (nn.Sigmoid, pe.causal),
    "sliding_window": (nn.NoPE, WINDOW),
    "softcap": (nn.Softcap, pe.causal),
    "softpick": (nn.Softpick, pe.causal),
    "stick_breaking": (nn.StickBreaking, pe.causal),
    "stick_breaking_attend_current": (lambda: nn.StickBreaking(attend_current=True), pe.causal),
    "stick_breaking_both": (lambda: nn.StickBreaking(bidirectional=True), None),
    "stick_breaking_remainder": (lambda: nn.StickBreaking(remainder=True), pe.causal),
    "t5": (lambda: nn.T5(2), pe.causal),
    "t5_bidirectional": (lambda: nn.T5(2, bidirectional=True), None),
    "transformer_xl": (lambda depth=16: nn.TransformerXL(2, head_dim=depth), pe.causal),
    "transformer_xl_projected": (
        lambda depth=16: nn.TransformerXL(2, head_dim=depth, projected=True), pe.causal),
}
# Example files of other parts of the package, and the tests that cover them.
ELSEWHERE = {
    "custom_bias": "pe.bias, test_trace.py", "custom_mask": "pe.mask, test_masks.py",
    "document_mask": "pe.mask, test_masks.py", "key_padding": "pe.mask, test_masks.py",
    "neighbourhood_2d": "pe.mask, test_masks.py", "prefix_lm": "pe.mask, test_masks.py",
    "sink_window": "pe.mask, test_masks.py", "dropout": "dropout_p of pe.attention",
    "explicit_positions": "nn.Positions, below", "fire_shared": "one object in two layers, below",
    "packed_documents": "documents of pe.attention", "log_sum_exp": "return_lse of pe.attention",
    "stick_breaking_mass": "return_lse of pe.attention", "merge": "results of two calls",
    "merge_stick_breaking": "results of two calls",
}
EMBEDDINGS = {"algebraic": (lambda: nn.Algebraic(), {}),
              "algebraic_normalized": (lambda: nn.Algebraic(normalized=True), {}),
              "binary": (lambda: nn.Binary(), {}), "sinusoidal": (lambda: nn.Sinusoidal(), {}),
              "learned": (lambda: nn.Learned(length=12, dim=16), {"table": "table"}),
              "mixture": (lambda: nn.Mixture(length=12, dim=16), {"alpha": "alpha", "rel": "rel"})}


class Call(NamedTuple):
    """The sizes of a call, for the tensors that it provides."""

    batch: int
    heads: int
    q_len: int
    k_len: int
    depth: int
    q_start: int
    k_start: int


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(7))


def rows_of_angles(call):
    """Returns cosines and sines of all positions up to the last one."""
    last = max(call.q_start + call.q_len, call.k_start + call.k_len)
    angle = torch.arange(last)[:, None] * 0.3 ** torch.arange(call.depth // 2)
    return {"cos": angle.cos(), "sin": angle.sin()}


def rows_of_batches(call):
    """Returns cosines and sines for every batch entry."""
    cos, sin = rows_of_angles(call).values()
    share = 1 / torch.arange(1, call.batch + 1)[:, None, None]
    return {"cos": cos * share, "sin": sin * share}


def gates(call, queries=False):
    """Returns cumulative sums of the logarithms of forget gates, of all keys and optionally of all
    queries."""
    f = {"f": -draw(call.batch, call.heads, call.k_len).abs().cumsum(-1)}
    return f | ({"f_q": -draw(call.batch, call.heads, call.q_len).abs()} if queries else {})


def uneven_positions(call):
    """Returns non-consecutive positions; all queries except the last ones are after all keys."""
    steps = torch.arange(call.batch * call.k_len).reshape(call.batch, -1) * 7 % 3 + 1
    keys = (steps.cumsum(-1) + call.k_start).int()
    queries = keys[:, -call.q_len:] if call.q_len <= call.k_len else keys[:, -1:] + torch.arange(
        call.q_len, dtype=torch.int32)
    return {"q_pos": queries.contiguous(), "k_pos": keys}


def ranks(call, sink=False):
    """Returns the rows that Inkling multiplies with vectors of the distance, and its sinks."""
    rows = {"r": draw(call.batch, call.heads, call.q_len, 16)}
    return rows | ({"sink": draw(call.batch, call.heads, call.q_len)} if sink else {})


def positions_by_axis(axes):
    """Returns a function that makes positions of queries and of keys along several axes."""
    def positions(call):
        def of(rows, step):
            count = axes * call.batch * rows
            return (torch.arange(count) * step % 41).int().reshape(axes, call.batch, rows)
        return {"q_positions": of(call.q_len, 5), "k_positions": of(call.k_len, 7)}
    return positions


# The tensors that calls of some cases provide.
DATA = {
    "inkling": ranks,
    "inkling2": lambda call: ranks(call, sink=True),
    "inkling_global": ranks,
    "inkling_window": ranks,
    "forgetting": gates,
    "key_bias": lambda call: {"key_bias": draw(call.batch, call.k_len)},
    "mrope": positions_by_axis(3),
    "mrope_interleaved": positions_by_axis(3),
    "rope_2d": positions_by_axis(2),
    "rope_table": rows_of_angles,
    "rope_table_of_batches": rows_of_batches,
    "positions": uneven_positions,
    "forgetting_of_queries": lambda call: gates(call, queries=True),
}
# Cases without an example file.
EXTRA = {
    "rope_table_of_batches": (lambda: nn.RotationTable(per_batch=True), pe.causal),
    "positions": (lambda: nn.ALiBi(2, learned=True) + nn.RoPE() + nn.Positions(), pe.causal),
    "forgetting_of_queries": (nn.Forgetting, pe.causal),
    "sum": (lambda: nn.KerpleLog(2) + nn.T5(2) + nn.RoPE(), pe.causal),
}
CASES = {**FILES, **EXTRA}
# The first case of each class.
ONE_PER_CLASS = list({type(make()): name for name, (make, _) in reversed(CASES.items())}.values())
