"""Tests of pe.check: the bounds of `pe run --check`, non-finite values, and reads out of bounds."""

import re
import subprocess

import pytest
import torch

import pe_attention as pe
from pe_attention import _library

Z = torch.ones(4, requires_grad=True)
TABLE = torch.randn(2, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()


@pytest.mark.parametrize("seed", range(5))
def test_gradients_that_cancel(seed):
    """Sums of large terms, whose gradient is far smaller than its terms."""
    report = pe.check(pe.nn.Sandwich(4), mask=pe.causal, seed=seed)
    assert report.ok and report.errors["gradient of r1"] > 0, str(report)
    linear = pe.bias(lambda b, h, i, j: Z[h] * (i - j))(4)
    assert pe.check(linear, mask=pe.causal, seed=seed).ok


def test_heads_are_taken_from_the_tensors():
    """A formula without a declared number of heads uses that of its captured tensors."""
    report = pe.check(pe.from_flex(lambda s, b, h, i, j: s - Z[h] * (i - j)), q_len=9)
    assert report.ok and set(report.errors) == {
        "o", *(f"gradient of {name}" for name in ("query", "key", "value", "Z"))}


def test_the_lines_of_pe_run(tmp_path):
    """`pe run --check` prints these tensors, with bounds of similar size."""
    encoding = pe.nn.Sandwich(2)
    report = pe.check(encoding, mask=pe.causal, q_len=9)
    source = tmp_path / "sandwich.mlir"
    source.write_text(encoding.program(pe.causal).text)
    run = subprocess.run([_library.program(), "run", source, "--random=1", "--grad", "--check",
                          "--shape=b=2,h=2,sq=9,d=16"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    printed = [line for line in run.stderr.splitlines() if " error " in line]
    form = re.compile(r"^(\w+) +(abs )?error \S+  bound \S+.*  ok$")
    names = [form.match(line)[1] for line in report.lines]
    assert sorted(names) == sorted(form.match(line)[1] for line in printed)


def test_a_wrong_gradient_fails(monkeypatch):
    from pe_attention import _check

    results_of = _check.results_of

    def wrong(tensors, call):
        return [results_of(tensors, call)[0] * (1 if call.target == "reference" else 1.001)]

    monkeypatch.setattr(_check, "results_of", wrong)
    report = pe.check(pe.nn.ALiBi(2), q_len=9)
    assert not report.ok
    assert "o: results differ from the float64 reference" in str(report)


def test_division_by_zero():
    """The notes name the formula, its line and the pair."""
    encoding = pe.bias(lambda b, h, i, j: Z[h] / (i - j))(4)
    report = pe.check(encoding, mask=pe.causal, q_len=9)
    assert not report.ok
    text = str(report)
    assert "o has no finite element (4608 of" in text.replace("1152", "4608")
    assert re.search(rf"{__file__}:\d+:\d+: <lambda>: div of 1, 0 is inf at b = 0, h = 0, i = 0, "
                     r"j = 0, and not finite at \d+ more pairs", text), text


def test_reads_outside_an_axis():
    encoding = pe.bias(lambda b, h, i, j: TABLE[h, i - j])(2)
    inside = pe.check(encoding, mask=pe.causal, q_len=16)
    assert inside.ok and not inside.notes
    report = pe.check(encoding, mask=pe.causal, q_len=18)
    assert not report.ok
    assert re.search(r"'TABLE' is read outside its 16 entries along axis 1 at 12 of 684 kept pairs "
                     r"\(index 16 to 17; the nearest entry was used\); write min\(\.\.\., 15\)",
                     str(report)), str(report)
    assert "(index -3 to -1;" in str(pe.check(encoding, q_len=4))
