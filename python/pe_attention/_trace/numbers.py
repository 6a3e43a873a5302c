"""The scalar functions that formulas support."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .graph import REAL, TRUTH, WHOLE
from .place import refuse
from .tracer import Tracer
from .values import Number

Function = Callable[..., Number]
# Functions by the name used in torch, Tensor, torch.nn.functional or operator.
FUNCTIONS: dict[str, Function] = {}


def _named(*names: str) -> Callable[[Function], Function]:
    def note(function: Function) -> Function:
        FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return note


def common(t: Tracer, *numbers: Number) -> tuple[str, list[Number]]:
    """Returns the common kind of numbers and the numbers; booleans become integers."""
    if any(x.kind == REAL for x in numbers):
        return REAL, [t.real(x) for x in numbers]
    return WHOLE, [t.whole(x) for x in numbers]


def _binary(op: str) -> Function:
    def function(t: Tracer, a: Number, b: Number, *, out: None = None) -> Number:
        kind, operands = common(t, a, b)
        return t.step(op, kind, *operands)

    return function


def _real(op: str) -> Function:
    def function(t: Tracer, *numbers: Number, out: None = None) -> Number:
        return t.step(op, REAL, *(t.real(x) for x in numbers))

    return function


def _rounding(op: str) -> Function:
    def function(t: Tracer, x: Number, *, decimals: int = 0) -> Number:
        if decimals:
            raise refuse(f"round: expected decimals=0, found {decimals}")
        return t.step(op, REAL, x) if x.kind == REAL else t.whole(x)

    return function


def _comparison(op: str) -> Function:
    def function(t: Tracer, a: Number, b: Number) -> Number:
        _, operands = common(t, a, b)
        return t.step(op, TRUTH, *operands)

    return function


def _bits(op: str) -> Function:
    def function(t: Tracer, a: Number, b: Number) -> Number:
        if a.kind == TRUTH and b.kind == TRUTH:
            return t.step(op, TRUTH, a, b)
        if REAL in (a.kind, b.kind):
            raise refuse("&, | and ^ join booleans or integers, found a real number")
        return t.step(op, WHOLE, t.whole(a), t.whole(b))

    return function


def _logic(op: str) -> Function:
    def function(t: Tracer, a: Number, b: Number) -> Number:
        return t.step(op, TRUTH, t.truth(a), t.truth(b))

    return function


def _shift(op: str) -> Function:
    def function(t: Tracer, a: Number, b: Number) -> Number:
        if REAL in (a.kind, b.kind):
            raise refuse("<< and >> shift integers, found a real number")
        return t.step(op, WHOLE, t.whole(a), t.whole(b))

    return function


for _op in ("mul", "sub"):
    FUNCTIONS[_op] = _binary(_op)
for _op in ("atan2", "copysign"):
    FUNCTIONS[_op] = _real(_op)
for _op in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos",
            "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc"):
    FUNCTIONS[_op] = _real(_op)
for _op in ("floor", "ceil", "trunc", "round"):
    FUNCTIONS[_op] = _rounding(_op)
for _op in ("lt", "le", "gt", "ge", "eq", "ne"):
    FUNCTIONS[_op] = _comparison(_op)
for _op in ("and", "or", "xor"):
    FUNCTIONS[f"bitwise_{_op}"] = _bits(_op)
    FUNCTIONS[f"logical_{_op}"] = _logic(_op)
for _op, _name in (("shl", "bitwise_left_shift"), ("shr", "bitwise_right_shift")):
    FUNCTIONS[_name] = _shift(_op)
FUNCTIONS["maximum"] = FUNCTIONS["max"] = _binary("max")
FUNCTIONS["minimum"] = FUNCTIONS["min"] = _binary("min")


@_named("add")
def add(t: Tracer, a: Number, b: Number, *, alpha: Number | None = None) -> Number:
    return FUNCTIONS["plain_add"](t, a, b if alpha is None else FUNCTIONS["mul"](t, alpha, b))


FUNCTIONS["plain_add"] = _binary("add")


@_named("rsub")
def rsub(t: Tracer, a: Number, b: Number) -> Number:
    return FUNCTIONS["sub"](t, b, a)


@_named("positive", "clone", "contiguous")
def same(t: Tracer, x: Number, **options: Any) -> Number:
    return x


@_named("neg")
def neg(t: Tracer, x: Number) -> Number:
    if x.kind == REAL:
        return t.step("neg", REAL, x)
    return t.step("sub", WHOLE, t.constant(0), t.whole(x))


@_named("abs")
def magnitude(t: Tracer, x: Number) -> Number:
    if x.kind == REAL:
        return t.step("abs", REAL, x)
    return t.step("max", WHOLE, t.whole(x), neg(t, x))


@_named("bitwise_not")
def bitwise_not(t: Tracer, x: Number) -> Number:
    if x.kind == REAL:
        raise refuse("~ takes a boolean or an integer, found a real number")
    if x.kind == TRUTH:
        return t.step("not", TRUTH, x)
    return t.step("sub", WHOLE, t.constant(-1), x)


@_named("logical_not")
def logical_not(t: Tracer, x: Number) -> Number:
    return t.step("not", TRUTH, t.truth(x))


@_named("div")
def div(t: Tracer, a: Number, b: Number, *, rounding_mode: str | None = None) -> Number:
    if rounding_mode == "floor":
        return floor_divide(t, a, b)
    if rounding_mode not in (None, "trunc"):
        raise refuse(f"div: expected rounding_mode of None, 'floor' or 'trunc', found "
                     f"{rounding_mode!r}")
    kind, operands = common(t, a, b)
    if rounding_mode == "trunc" and kind == WHOLE:
        return t.step("div_trunc", WHOLE, *operands)
    quotient = t.step("div", REAL, *(t.real(x) for x in operands))
    return quotient if rounding_mode is None else t.step("trunc", REAL, quotient)


@_named("floor_divide")
def floor_divide(t: Tracer, a: Number, b: Number) -> Number:
    """Returns the quotient rounded down."""
    kind, operands = common(t, a, b)
    if kind == WHOLE:
        return t.step("div_floor", WHOLE, *operands)
    return t.step("floor", REAL, t.step("div", REAL, *operands))


@_named("remainder")
def remainder(t: Tracer, a: Number, b: Number) -> Number:
    """Returns a - (a // b) b, which has the sign of b."""
    kind, (a, b) = common(t, a, b)
    return t.step("sub", kind, a, t.step("mul", kind, floor_divide(t, a, b), b))


@_named("fmod")
def fmod(t: Tracer, a: Number, b: Number) -> Number:
    """Returns the remainder of the quotient rounded toward 0, which has the sign of a."""
    kind, (a, b) = common(t, a, b)
    return t.step("sub", kind, a, t.step("mul", kind, div(t, a, b, rounding_mode="trunc"), b))


@_named("pow", "float_power")
def power(t: Tracer, a: Number, b: Number) -> Number:
    """Expands integer powers up to 16 to products, whose values and gradients are defined for
    negative bases too."""
    exponent = b.constant
    if exponent is not None and exponent == int(exponent) and 1 <= exponent <= 16:
        base = a if a.kind == REAL or b.kind == REAL else t.whole(a)
        result: Number | None = None
        count = int(exponent)
        while count:
            if count % 2:
                result = base if result is None else FUNCTIONS["mul"](t, result, base)
            count //= 2
            base = FUNCTIONS["mul"](t, base, base) if count else base
        assert result is not None
        return t.real(result) if b.kind == REAL else result
    if exponent == 0.5:
        return t.step("sqrt", REAL, t.real(a))
    if exponent in (-1, -2):
        return div(t, t.constant(1.0), power(t, t.real(a), t.constant(int(-exponent))))
    return t.step("pow", REAL, t.real(a), t.real(b))


@_named("square")
def square(t: Tracer, x: Number) -> Number:
    return FUNCTIONS["mul"](t, x, x)


@_named("reciprocal")
def reciprocal(t: Tracer, x: Number) -> Number:
    return div(t, t.constant(1.0), x)


@_named("where")
def where(t: Tracer, condition: Number, a: Number, b: Number) -> Number:
    if a.kind == TRUTH and b.kind == TRUTH:
        return t.step("select", TRUTH, t.truth(condition), a, b)
    kind, (a, b) = common(t, a, b)
    return t.step("select", kind, t.truth(condition), a, b)


@_named("masked_fill")
def masked_fill(t: Tracer, x: Number, condition: Number, value: Number) -> Number:
    return where(t, condition, value, x)


@_named("clamp", "hardtanh", "clamp_min", "clamp_max")
def clamp(t: Tracer, x: Number, min: Number | None = None, max: Number | None = None) -> Number:
    """Clamps x. The gradient passes at the bounds; integers stay integers."""
    if min is None and max is None:
        raise refuse("clamp: expected min, max or both, found neither")
    kind, (x, *_) = common(t, x, *(bound for bound in (min, max) if bound is not None))
    for bound, op in ((min, "max"), (max, "min")):
        if bound is None:
            continue
        bound = t.real(bound) if kind == REAL else t.whole(bound)
        if kind == WHOLE:
            x = t.step(op, kind, x, bound)
        else:
            outside = t.step("lt" if op == "max" else "gt", TRUTH, x, bound)
            x = t.step("select", kind, outside, bound, x)
    return x


@_named("relu")
def relu(t: Tracer, x: Number, *, inplace: bool = False) -> Number:
    if x.kind != REAL:
        return t.step("max", WHOLE, t.whole(x), t.constant(0))
    zero = t.constant(0.0)
    return t.step("select", REAL, t.step("le", TRUTH, x, zero), zero, x)


@_named("relu6")
def relu6(t: Tracer, x: Number, *, inplace: bool = False) -> Number:
    return clamp(t, x, t.constant(0), t.constant(6))


@_named("sigmoid")
def sigmoid(t: Tracer, x: Number) -> Number:
    power_ = t.step("exp", REAL, neg(t, t.real(x)))
    return reciprocal(t, add(t, t.constant(1.0), power_))


@_named("softplus")
def softplus(t: Tracer, x: Number, beta: Number | None = None, threshold: Number | None = None,
             ) -> Number:
    """Returns log(1 + exp(x)), which equals PyTorch's result above its threshold up to rounding."""
    if beta is not None and beta.constant != 1:
        x = FUNCTIONS["mul"](t, x, beta)
        return div(t, softplus(t, x), beta)
    x = t.real(x)
    small = t.step("exp", REAL, neg(t, magnitude(t, x)))
    return add(t, t.step("max", REAL, x, t.constant(0.0)), t.step("log1p", REAL, small))


@_named("logsigmoid", "log_sigmoid")
def logsigmoid(t: Tracer, x: Number) -> Number:
    return neg(t, softplus(t, neg(t, t.real(x))))


@_named("silu")
def silu(t: Tracer, x: Number, *, inplace: bool = False) -> Number:
    return FUNCTIONS["mul"](t, t.real(x), sigmoid(t, x))


@_named("gelu")
def gelu(t: Tracer, x: Number, *, approximate: str = "none") -> Number:
    mul, x = FUNCTIONS["mul"], t.real(x)
    if approximate == "tanh":
        cubic = add(t, x, mul(t, t.constant(0.044715), power(t, x, t.constant(3))))
        inner = t.step("tanh", REAL, mul(t, t.constant(math.sqrt(2 / math.pi)), cubic))
    else:
        inner = t.step("erf", REAL, mul(t, x, t.constant(math.sqrt(0.5))))
    return mul(t, mul(t, t.constant(0.5), x), add(t, t.constant(1.0), inner))


@_named("leaky_relu")
def leaky_relu(t: Tracer, x: Number, negative_slope: Number | None = None, *,
               inplace: bool = False) -> Number:
    x = t.real(x)
    slope = negative_slope if negative_slope is not None else t.constant(0.01)
    below = t.step("le", TRUTH, x, t.constant(0.0))
    return where(t, below, FUNCTIONS["mul"](t, slope, x), x)


@_named("elu")
def elu(t: Tracer, x: Number, alpha: Number | None = None, *, inplace: bool = False) -> Number:
    x = t.real(x)
    below = t.step("le", TRUTH, x, t.constant(0.0))
    small = t.step("expm1", REAL, clamp(t, x, None, t.constant(0.0)))
    return where(t, below, FUNCTIONS["mul"](t, alpha or t.constant(1.0), small), x)


@_named("softsign")
def softsign(t: Tracer, x: Number) -> Number:
    return div(t, x, add(t, t.constant(1), magnitude(t, x)))


@_named("sign", "sgn")
def sign(t: Tracer, x: Number) -> Number:
    kind = REAL if x.kind == REAL else WHOLE
    x, zero = (x if kind == REAL else t.whole(x)), t.constant(0.0 if kind == REAL else 0)
    one, minus = t.constant(1.0 if kind == REAL else 1), t.constant(-1.0 if kind == REAL else -1)
    positive = t.step("gt", TRUTH, x, zero)
    negative = t.step("lt", TRUTH, x, zero)
    return where(t, positive, one, where(t, negative, minus, zero))


@_named("hypot")
def hypot(t: Tracer, a: Number, b: Number) -> Number:
    return t.step("sqrt", REAL, t.real(add(t, square(t, a), square(t, b))))


@_named("isnan")
def isnan(t: Tracer, x: Number) -> Number:
    return t.step("ne", TRUTH, t.real(x), t.real(x))


@_named("float", "double", "half", "bfloat16")
def to_float(t: Tracer, x: Number) -> Number:
    return t.real(x)


@_named("long", "int", "short")
def to_long(t: Tracer, x: Number) -> Number:
    return t.whole(x)


@_named("bool")
def to_bool(t: Tracer, x: Number) -> Number:
    return t.truth(x)
