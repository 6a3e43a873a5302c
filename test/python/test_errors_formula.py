"""Tests of mistakes in formulas: the error has the line and column, and says what to write."""

import inspect
import math
import re

import numpy
import pytest
import torch

import pe_attention as pe
from pe_attention._trace.forms import FORMS, SENTENCES, advice_on

TABLE = torch.rand(3, 5)
SLOPES = torch.rand(3)


def refused(make, text, at):
    """Checks that `make` raises an error with `text`, at the line of this file in which it contains
    `at`."""
    with pytest.raises(pe.CompileError, match=text) as caught:
        make()
    error = caught.value
    lines, first = inspect.getsourcelines(make)
    number = next(n for n, line in enumerate(lines) if at in line)
    assert error.file == __file__
    assert (error.line, error.column) == (first + number, lines[number].index(at) + 1), str(error)
    assert str(error).startswith(f"{__file__}:{error.line}:{error.column}: ")


def test_if_on_a_position():
    def make():
        @pe.bias
        def wrong(b, h, i, j):
            if i - j > 4:
                return i
            return j

    def call():
        @pe.bias
        def wrong(b, h, i, j):
            if i - j > 4:
                return i
            return j

        wrong(heads=1)

    make()  # tracing starts when the encoding is constructed
    refused(call, r"write torch\.where\(condition, a, b\)", "i - j > 4")


def test_and_between_conditions():
    def call():
        pe.mask(lambda b, h, i, j: j <= i and i - j < 4)

    refused(call, r"write .*&, \| and ~", "j <= i and")


class Clipped(torch.autograd.Function):
    """Clips a number, with the gradient of the identity."""

    @staticmethod
    def forward(ctx, x):
        return torch.clamp(x, 0, 4)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Reversed(torch.autograd.Function):
    """Returns its input, and negates the gradient."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


def test_function_with_its_own_gradient():
    def clipped():
        @pe.bias(amp=pe.per_head(1.0))
        def wrong(b, h, i, j, amp):
            return amp[h] * Clipped.apply(i - j)

        wrong(heads=3)

    def reversed_mask():
        pe.mask(lambda b, h, i, j: Reversed.apply(i) >= j)

    def of_a_tensor():
        pe.bias(lambda b, h, i, j: Reversed.apply(SLOPES)[h] * (i - j))(heads=3)

    text = r"cannot use {0}, a torch.autograd.Function.*{0}\.backward would be ignored"
    refused(clipped, text.format("Clipped"), "Clipped.apply(i - j)")
    refused(reversed_mask, text.format("Reversed"), "Reversed.apply(i)")
    refused(of_a_tensor, text.format("Reversed"), "Reversed.apply(SLOPES)")
    x = torch.ones(2, requires_grad=True)
    Reversed.apply(x).sum().backward()  # unchanged outside of formulas
    assert torch.equal(x.grad, -torch.ones(2))


def test_math_function():
    def call():
        @pe.bias
        def wrong(b, h, i, j):
            return math.exp(i - j)

        wrong(heads=1)

    refused(call, r"math\.exp needs a concrete number, .*; write torch\.exp", "math.exp(")


def test_numpy_function():
    def call():
        @pe.bias
        def wrong(b, h, i, j):
            return 2 * numpy.exp(i - j)

        wrong(heads=1)

    refused(call, r"numpy\.exp cannot take a traced number; write torch\.exp", "numpy.exp(")


def test_bool_float_and_index():
    def truth():
        pe.bias(lambda b, h, i, j: bool(i))(1)

    def number():
        pe.bias(lambda b, h, i, j: float(i))(1)

    def bound():
        pe.bias(lambda b, h, i, j: sum(range(i)))(1)

    refused(truth, "no value while the formula is traced", "bool(i)")
    refused(number, r"float\(\) needs a concrete number, found a traced value", "float(i)")
    refused(bound, "an index or a bound of range", "range(i)")


def test_unknown_functions():
    def near():
        pe.bias(lambda b, h, i, j: torch.sinc(i - j))(1)

    def misspelt():
        pe.bias(lambda b, h, i, j: (i - j).expp())(1)

    def reduction():
        pe.bias(lambda b, h, i, j: torch.cumsum(i, 0))(1)

    def far():
        pe.bias(lambda b, h, i, j: torch.nextafter(i, j))(1)

    def computed():
        pe.bias(lambda b, h, i, j: torch.cumsum(SLOPES, 0)[h])(1)

    refused(near, r"sinc is not supported in a formula; write torch\.sin\(y\) / y",
            "torch.sinc(")
    refused(misspelt, "expp is not supported in a formula.*; did you mean exp", "(i - j).expp")
    refused(reduction, "cumsum is not supported in a formula; a formula computes one number per",
            "torch.cumsum(")
    refused(far, "nextafter is not supported.*; write it with arithmetic", "torch.nextafter(")
    refused(computed, "computed inside the formula from another one", "torch.cumsum(")


@pytest.mark.parametrize("name", [*FORMS, *SENTENCES])
def test_functions_of_pytorch_that_formulas_do_not_have(name):
    expected = f"{name} is not supported in a formula; {advice_on(name)}"
    with pytest.raises(pe.CompileError, match=re.escape(expected)):
        pe.bias(lambda b, h, i, j: getattr(1.0 * (i - j), name)())(1)


def suggested(name):
    """The function that the text of a suggestion defines."""
    text, _, bound = FORMS[name].partition(", where ")
    if bound:
        variable, _, value = bound.partition(" = ")
        text = f"(lambda {variable}: {text})({value})"
    return eval(f"lambda x, y, weight: {text}", {"torch": torch, "math": math})


@pytest.mark.parametrize("name", FORMS)
def test_suggestions_compute_the_function(name):
    """A suggestion has the values and gradients of PyTorch's function, and is a formula itself."""
    places = (torch, torch.nn.functional, torch.special)
    function = next(getattr(place, name) for place in places if hasattr(place, name))
    form, y, weight = suggested(name), torch.tensor(0.75), 0.3
    form_of_y = "y" in FORMS[name].partition(", where ")[0] and ", where y" not in FORMS[name]
    extra = ([y] if form_of_y else []) + ([weight] if "weight" in FORMS[name] else [])
    for x in (-3000.0, -1.5, -0.4, 0.0, 0.3, 0.8, 1.5, 30.0):
        found, expected = (torch.tensor(x, requires_grad=True) for _ in range(2))
        left, right = form(found, y, weight), function(expected, *extra)
        torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6, equal_nan=True)
        if left.requires_grad and right.requires_grad and right.isfinite():
            left.backward()
            right.backward()
            torch.testing.assert_close(found.grad, expected.grad, rtol=1e-4, atol=1e-5)
    at = lambda i, j: 0.1 * (i - j) + 0.5  # noqa: E731
    encoding = pe.bias(lambda b, h, i, j: form(at(i, j), 0.75 + 0.0 * i, weight) * 1.0)(1)
    dense = encoding.dense(3, 3)[0, 0]
    values = [[float(form(torch.tensor(at(i, j)), y, weight)) for j in range(3)] for i in range(3)]
    torch.testing.assert_close(dense, torch.tensor(values), equal_nan=True)


def test_masks_and_biases_are_told_apart():
    def mask():
        return pe.mask(lambda b, h, i, j: torch.where(j <= i, 0.0, -math.inf))

    def bias():
        return pe.bias(lambda b, h, i, j: j <= i)(1)

    refused(mask, r"found a real number; a mask is only the condition, as in j <= i; torch\.where"
                  r"\(condition, 0\.0, -math\.inf\) is a bias, for pe\.bias", "return")
    refused(bias, r"found a boolean; a bias is torch\.where\(condition, 0\.0, -math\.inf\), "
                  r"the condition itself is a mask, for pe\.mask", "return")


def test_indices():
    def real():
        pe.bias(lambda b, h, i, j: TABLE[h, i / 2])(3)

    def many():
        pe.bias(lambda b, h, i, j: SLOPES[h, i])(3)

    def beyond():
        pe.bias(lambda b, h, i, j: TABLE[h, 5])(3)

    refused(real, r"expected an integer as index 1 of .*write \.long\(\)", "TABLE[")
    refused(many, r"expected at most 1 indices of <SLOPES of shape \[3\]>, found 2", "SLOPES[")
    refused(beyond, "expected an index from -5 to 4 on axis 1", "TABLE[")


def test_axes_that_count_heads():
    """An axis that counts heads may only be indexed by h."""

    def at_query():
        pe.bias(amp=pe.per_head(1.0))(lambda b, h, i, j, amp: amp[i])(4)

    def swapped():
        pe.bias(t=pe.per_head(1.0, size=64))(lambda b, h, i, j, t: t[i - j, h])(4)

    def of_batch():
        pe.bias(amp=pe.per_head(1.0))(lambda b, h, i, j, amp: torch.exp(amp)[(b + h) % 4])(4)

    refused(at_query, r"the axis of amp counts heads and is read at i; did you mean amp\[h\]\?",
            "amp[i]")
    refused(swapped, r"the first axis of t counts heads and is read at an expression of i and "
                     r"j; did you mean t\[h, \.\.\.\]\?", "t[i - j")
    refused(of_batch, r"an expression of b; did you mean amp\[h\]\?", "torch.exp")


def test_indices_out_of_range_for_every_pair():
    def negative():
        pe.bias(lambda b, h, i, j: SLOPES[h - 3])(3)

    def partly():
        pe.bias(lambda b, h, i, j: SLOPES[h - 1])(3)

    def more_heads():
        pe.bias(w=pe.vector(3))(lambda b, h, i, j, w: w[h])(4)

    def large():
        pe.bias(lambda b, h, i, j: TABLE[h, abs(i - j) + 5])(3)

    def constant():
        pe.bias(lambda b, h, i, j: SLOPES[-4])(3)

    refused(negative, "an index from 0 to 2, found -3 to -1 over the 3 heads", "SLOPES[")
    refused(partly, "an index from 0 to 2, found -1 to 1 over the 3 heads", "SLOPES[")
    refused(more_heads, "axis 0 of w: .* found 0 to 3 over the 4 heads", "w[h]")
    refused(large, "axis 1 of TABLE: .* found at least 5 for every pair", "TABLE[")
    refused(constant, "expected an index from -3 to 2 on axis 0 of <SLOPES", "SLOPES[")
    # Constant negative indices and remainders are valid.
    pe.bias(lambda b, h, i, j: SLOPES[-1] + SLOPES[(h + 1) % 3] + TABLE[h, (i - j) % 5])(3)


def test_unread_parameters():
    def call():
        @pe.bias(amp=pe.per_head(1.0), tau=pe.scalar(1.0))
        def wrong(b, h, i, j, amp, tau):
            return amp[h]

        wrong(heads=2)

    refused(call, "tau is declared but not read by the formula; use it, or remove the",
            "@pe.bias")


def test_results():
    def tensor():
        @pe.bias
        def wrong(b, h, i, j):
            return SLOPES

        wrong(heads=3)

    def nothing():
        @pe.bias
        def wrong(b, h, i, j):
            i + j

        wrong(heads=3)

    refused(tensor, r"found SLOPES of shape \[3\]; index it, as in SLOPES\[h\]", "@pe.bias")
    refused(nothing, "the formula returns None; expected a number", "@pe.bias")


def test_declarations():
    def missing():
        @pe.bias
        def wrong(b, h, i, j, tau):
            return tau[h]

    def unknown():
        @pe.bias(tua=pe.per_head(1.0))
        def wrong(b, h, i, j, tau):
            return tau[h]

    def no_declaration():
        @pe.bias(tau=16.0)
        def wrong(b, h, i, j, tau):
            return tau[h]

    for make in (missing, unknown):
        refused(make, r"expected a function of .*found one of \(b, h, i, j, tau\)", "@pe.bias")
    with pytest.raises(pe.InputError, match=r"tau: expected a declaration such as pe\.per_head"):
        no_declaration()
    with pytest.raises(pe.InputError, match="init: expected a number, a list of numbers, 'linear'"):
        pe.per_head("gaussian(1)")
    with pytest.raises(pe.InputError, match="tau: heads: expected a number"):
        pe.bias(tau=pe.per_head(1.0))(lambda b, h, i, j, tau: tau[h])()
    with pytest.raises(pe.InputError, match="tau: expected 3 numbers, found 2"):
        pe.bias(tau=pe.per_head([1.0, 2.0]))(lambda b, h, i, j, tau: tau[h])(3)


def test_networks():
    wide, narrow = torch.rand(4, 2), torch.rand(4, 1)

    def inputs():
        pe.bias(lambda b, h, i, j: torch.nn.functional.linear(i, wide)[h])(4)

    def outputs():
        pe.bias(lambda b, h, i, j: torch.nn.functional.linear(i, narrow)[i])(4)

    refused(inputs, r"expected a weight \[outputs, 1\], found \[4, 2\]", "torch.nn.fun")
    refused(outputs, r"expected \[h\], one output of the network per head", "torch.nn.fun")


def test_compiler_errors_have_the_line():
    """Errors that only the compiler finds also have the user's line."""

    def call():
        encoding = pe.bias(lambda b, h, i, j: TABLE[h, 0] + h)(3)
        text = encoding.program().text
        place = text[text.index("arith.addf"):].split("loc(")[1].split(")")[0]
        raise pe.CompileError("placed", *_parts(place))

    refused(call, "placed", "TABLE[h, 0] + h")


def _parts(place):
    file, line, column = place.rsplit(":", 2)
    return file.strip('"'), int(line), int(column)
