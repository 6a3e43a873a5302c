"""Tests of pe.from_flex on FlexAttention's published functions: results and gradients compared with
float64, and the table of docs/flex-attention.md. PE_WRITE_PAGE=1 writes the table."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import torch

import pe_attention as pe
from pe_attention._function import get_function

from dense_attention import compare, inputs, scores, weigh
from flex_gym import BATCH, CASES, DEPTH, HEADS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "flex-attention.md"
TABLE = re.compile(r"(?<=<!-- gym -->\n).*?(?=<!-- end of gym -->)", re.S)
INFINITY = float("inf")
BY_NAME = {case.name: case for case in CASES}


def converted(case, tensors):
    function = case.make(**tensors)
    return pe.from_flex(mask_mod=function) if case.is_mask else pe.from_flex(function)


def everywhere(function, case, *score):
    """Evaluates a function at all pairs as FlexAttention does, with numbers as indices."""
    for axis in (3, 2, 1, 0):
        axes = (0,) * len(score) + tuple(0 if n == axis else None for n in range(4))
        function = torch.vmap(function, in_dims=axes)
    sizes = (BATCH, HEADS, *case.sizes)
    return function(*score, *(torch.arange(size) for size in sizes))


def refusal(case):
    try:
        converted(case, case.tensors)
    except pe.CompileError as error:
        return str(error).partition(": ")[2]
    return None


@pytest.mark.parametrize("name", [case.name for case in CASES if not refusal(case)])
def test_results_and_gradients(name):
    """Of q, k, v and the captured tensors. Masks: gradients by the float64 reference, because their
    code is that of the forward pass."""
    case = BY_NAME[name]
    q, k, v, d_o = inputs(BATCH, HEADS, *case.sizes, DEPTH)
    captured = {key: value.clone().requires_grad_() for key, value in case.tensors.items()}
    encoding = converted(case, captured)
    exact = case.make(**{key: value.double() for key, value in captured.items()})
    s = scores(q, k)
    if case.is_mask:
        expected = weigh(s, v, everywhere(exact, case))
        with torch.no_grad():
            compare_values(pe.attention(q, k, v, encoding, q_start=0), expected)
        o = pe.attention(q.double(), k.double(), v.double(), encoding, q_start=0,
                         target="reference")
    else:
        new = everywhere(exact, case, s)
        expected = weigh(new, v, new > -INFINITY)
        o = pe.attention(q, k, v, encoding, q_start=0)
    compare(o, expected, [q, k, v, *captured.values()], d_o.to(o.dtype), 2e-5)


def compare_values(found, expected):
    assert float((found - expected).norm() / expected.norm()) < 2e-5


# --- The table ---------------------------------------------------------------------------

CLASSES = {"affine": "a multiple of `i - j`", "distance": "a table over `i - j`"}
FORMS = {"interval": "an interval of keys per query", "code": "code; blocks are skipped"}


def bounds(attention):
    """Returns the range of i - j outside of which no pair is kept."""
    least, most = attention["min_difference"], attention["max_difference"]
    if least is None and most is None:
        return []
    left, right = ["" if least is None else f"{least} <= ", "" if most is None else f" <= {most}"]
    return [f"the range `{left}i - j{right}`"]


def on_gpus(encoding):
    try:
        get_function(encoding.program().text, "gpu-emulator", DEPTH, DEPTH, "f32", True)
    except pe.CompileError:
        return "CPUs only"
    return ""


def row(case):
    """Returns the cells: name, how pe computes the function, its form, captured tensors."""
    refused = refusal(case)
    if refused:
        message = refused.partition(";")[0].partition(",")[0]
        return case.name, "refused", f"`{message}`", ""
    captured = {key: value.requires_grad_() for key, value in case.tensors.items()}
    encoding = converted(case, captured)
    gradients = not case.is_mask
    info = get_function(encoding.program().text, "cpu", DEPTH, DEPTH, "f32", gradients).info
    explained = info["explain"]
    if isinstance(explained, str):
        explained = json.loads(explained)
    (attention,) = explained["attentions"]
    parts, per_pair = bounds(attention), []
    for mask in attention["masks"]:
        (per_pair if mask["form"] == "code" else parts).append(FORMS[mask["form"]])
    if attention["score"]:
        per_pair.append("a score function")
    for term in attention["terms"]:
        known = CLASSES.get(term["class"])
        if known:
            parts.append(known)
        else:
            per_pair += ["code of the bias", *filter(None, [on_gpus(encoding)])]
    names = ", ".join(f"`{name}`" for name in captured)
    form = "; ".join(parts + per_pair) or "nothing to compute"
    return case.name, "per pair" if per_pair else "fused", form, names


def test_table_of_the_page():
    lines = [row(case) for case in CASES]
    head = ("function", "pe", "found as", "gradients")
    table = "\n".join("| " + " | ".join(cells) + " |"
                      for cells in (head, ("---",) * 4, *lines)) + "\n"
    text = PAGE.read_text()
    assert TABLE.search(text), f"{PAGE}: expected the marks of the table"
    if os.environ.get("PE_WRITE_PAGE") == "1":
        PAGE.write_text(TABLE.sub(lambda _: table, text))
    assert TABLE.search(PAGE.read_text())[0] == table, f"write {PAGE.name} with PE_WRITE_PAGE=1"
