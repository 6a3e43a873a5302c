"""Evaluates formulas of pe.bias_fn and similar ops at one pair; an out-of-bounds index is an error.

Written from the grammar in runtime/plan/Expression.h, independently of the compiler.
"""

import math
import re

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|"
                   r"(<=|>=|==|!=|//|[-+*/%^<>()\[\],=]))")


class Outside(Exception):
    """An index outside its axis."""


class Unreadable(Exception):
    """An invalid formula."""


class Tensor:
    """Elements and their shape. Integers are Python ints."""

    def __init__(self, shape, numbers):
        self.shape, self.numbers = shape, numbers

    def at(self, name, indices):
        if len(indices) != len(self.shape):
            raise Unreadable(f"{len(indices)} indices of {name}, which has {len(self.shape)} axes")
        place = 0
        for axis, (index, size) in enumerate(zip(indices, self.shape)):
            if not isinstance(index, int):
                raise Unreadable(f"a real index of {name}")
            if size == 1:  # broadcast
                index = 0
            if not 0 <= index < size:
                raise Outside(f"{name}: index {index} on axis {axis} of size {size}")
            place = place * size + index
        return self.numbers[place]


def parse(text):
    """Returns the tree of a formula: tuples of an operator and its operands."""
    tokens, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            raise Unreadable(f"a character at {at} of {text!r}")
        tokens.append(found.group(1) or found.group(2) or found.group(3))
        at = found.end()
    parser = _Parser(tokens)
    tree = parser.expression()
    if parser.tokens:
        raise Unreadable(f"{parser.tokens[0]!r} after the end")
    return tree


class _Parser:
    LEVELS = (("or",), ("and",), None, ("<", "<=", ">", ">=", "==", "!="), ("+", "-"),
              ("*", "/", "//", "%"))

    def __init__(self, tokens):
        self.tokens = tokens

    def peek(self):
        return self.tokens[0] if self.tokens else ""

    def take(self, expected=None):
        if not self.tokens or (expected and self.tokens[0] != expected):
            raise Unreadable(f"expected {expected}, found {self.peek()!r}")
        return self.tokens.pop(0)

    def expression(self):
        if self.peek() == "let" and len(self.tokens) > 2 and self.tokens[2] == "=":
            self.take()
            name = self.take()
            self.take("=")
            value = self.expression()
            self.take("in")
            return ("let", name, value, self.expression())
        return self.level(0)

    def level(self, number):
        if number == len(self.LEVELS):
            return self.sign()
        symbols = self.LEVELS[number]
        if symbols is None:
            if self.peek() == "not":
                self.take()
                return ("not", self.level(number))
            return self.level(number + 1)
        left = self.level(number + 1)
        while self.peek() in symbols:
            left = (self.take(), left, self.level(number + 1))
            if "<" in symbols:
                break
        return left

    def sign(self):
        if self.peek() == "-":
            self.take()
            return ("-", self.sign())
        base = self.primary()
        if self.peek() == "^":
            self.take()
            return ("^", base, self.sign())
        return base

    def list(self, close):
        items = [self.expression()]
        while self.peek() == ",":
            self.take()
            items.append(self.expression())
        self.take(close)
        return items

    def primary(self):
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if token[0].isdigit() or token[0] == ".":
            return ("number", int(token) if token.isdigit() else float(token))
        if not (token[0].isalpha() or token[0] == "_"):
            raise Unreadable(f"found {token!r}")
        if self.peek() == "[":
            self.take()
            return ("read", token, self.list("]"))
        if self.peek() == "(":
            self.take()
            return ("call", token, self.list(")"))
        return ("name", token)


def _safe(function):
    def call(x):
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan
    return call


def _log(x):
    return -math.inf if x == 0 else math.log(x)


FUNCTIONS = {
    "exp": _safe(math.exp), "log": _safe(_log), "log1p": _safe(lambda x: _log(1 + x)),
    "sqrt": _safe(math.sqrt), "sin": _safe(math.sin), "cos": _safe(math.cos),
    "tanh": math.tanh, "erf": math.erf, "floor": lambda x: float(math.floor(x)),
    "sigmoid": _safe(lambda x: 1 / (1 + math.exp(-x)) if x > -700 else 0.0),
    "softplus": lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
    "abs": abs, "relu": lambda x: max(x, 0), "sign": lambda x: (x > 0) - (x < 0),
}


def _divide(a, b):
    a, b = float(a), float(b)
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _power(a, b):
    try:
        return math.pow(float(a), float(b))
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def evaluate(tree, names):
    """Returns the value of a tree; `names` holds variables and tensors."""
    kind = tree[0]
    if kind == "number":
        return tree[1]
    if kind == "let":
        return evaluate(tree[3], {**names, tree[1]: evaluate(tree[2], names)})
    if kind == "name":
        if tree[1] in ("pi", "inf"):
            return {"pi": math.pi, "inf": math.inf}[tree[1]]
        if tree[1] not in names:
            raise Unreadable(f"an unknown name {tree[1]}")
        value = names[tree[1]]
        return value.at(tree[1], []) if isinstance(value, Tensor) else value
    if kind == "read":
        tensor = names.get(tree[1])
        if not isinstance(tensor, Tensor):
            raise Unreadable(f"a read of {tree[1]}")
        return tensor.at(tree[1], [evaluate(index, names) for index in tree[2]])
    if kind == "call":
        return _call(tree[1], tree[2], names)
    if kind == "not":
        return not evaluate(tree[1], names)
    if kind in ("and", "or"):
        left = evaluate_lazily(tree[1], names)
        right = evaluate_lazily(tree[2], names)
        for side in (left, right):  # one side may decide the result alone
            if not isinstance(side, Outside) and bool(side) == (kind == "or"):
                return side
        for side in (left, right):
            if isinstance(side, Outside):
                raise side
        return left and right if kind == "and" else left or right
    return _operator(kind, [evaluate(operand, names) for operand in tree[1:]])


def evaluate_lazily(tree, names):
    """Returns the value, or the Outside exception that the evaluation raises."""
    try:
        return evaluate(tree, names)
    except Outside as error:
        return error


def _call(name, operands, names):
    if name == "select":
        chosen = 1 if evaluate(operands[0], names) else 2
        return evaluate(operands[chosen], names)
    if name == "sum":
        bound, body = operands
        count = evaluate(bound[2], names)
        return sum(evaluate(body, {**names, bound[1][1]: n}) for n in range(count))
    if name == "size":
        return names[operands[0][1]].shape[operands[1][1]]
    if name in ("and", "or", "not"):
        return evaluate((name, *operands), names)
    values = [evaluate(operand, names) for operand in operands]
    if any(isinstance(value, bool) for value in values):
        raise Unreadable(f"a boolean in {name}")
    if name in ("max", "min") and len(values) == 2:
        return {"max": max, "min": min}[name](values)
    if name == "clamp" and len(values) == 3:
        return min(max(values[0], values[1]), values[2])
    if name == "int":
        return int(values[0])
    if name == "pow" and len(values) == 2:
        return _power(*values)
    if name in FUNCTIONS and len(values) == 1:
        return FUNCTIONS[name](values[0])
    raise Unreadable(f"a function {name} of {len(values)}")


def _operator(symbol, values):
    if any(isinstance(value, bool) for value in values):
        raise Unreadable(f"a boolean at {symbol}")
    if len(values) == 1:
        return -values[0]
    a, b = values
    if symbol in ("//", "%"):
        if isinstance(a, int) and isinstance(b, int):
            quotient = a // b if b else 0
        else:
            quotient = _divide(a, b)
            quotient = float(math.floor(quotient)) if math.isfinite(quotient) else quotient
        return quotient if symbol == "//" else a - quotient * b
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: _divide(a, b),
            "^": lambda: _power(a, b),
            "<": lambda: a < b, "<=": lambda: a <= b, ">": lambda: a > b, ">=": lambda: a >= b,
            "==": lambda: a == b, "!=": lambda: a != b}[symbol]()
