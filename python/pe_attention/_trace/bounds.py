"""Bounds the integer steps of a formula before any call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from .graph import REAL, WHOLE, Graph, Node

# The lower and upper bound; None if a bound is unknown.
Range = tuple[int | None, int | None]
_ANY: Range = (None, None)

_EXACT: dict[str, Callable[..., int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": max, "min": min,
    "div_floor": operator.floordiv, "div_trunc": lambda a, b: int(a / b), "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne, "not": operator.not_, "select": lambda c, a, b: a if c else b,
}


def inputs_of(graph: Graph, step: int) -> list[str]:
    """Returns the inputs that a step depends on other than through reads of tensors."""
    return [name for name in graph.inputs if graph.reads_input(step, name)]


def values_by_head(graph: Graph, step: int, heads: int) -> list[int] | None:
    """Returns the value for each head, or None if the step depends on anything else or on real
    numbers."""
    found: list[int] = []
    steps = graph.needed([step])
    for head in range(heads):
        known: dict[int, int] = {}
        for number in steps:
            node = graph.nodes[number]
            value = _value(node, [known[n] for n in node.operands], head)
            if value is None:
                return None
            known[number] = value
        found.append(known[step])
    return found


def _value(node: Node, operands: list[int], head: int) -> int | None:
    if node.op == "constant" and node.kind != REAL:
        assert isinstance(node.data, (bool, int))
        return node.data
    if node.op == "input":
        return head if node.data == "h" else None
    if node.op not in _EXACT or node.kind == REAL or ("div" in node.op and operands[1] == 0):
        return None
    return int(_EXACT[node.op](*operands))


def range_of(graph: Graph, step: int) -> Range:
    """Returns a range that contains all values of an integer step. Positions, batch and heads start
    at 0."""
    ranges: dict[int, Range] = {}
    for number in graph.needed([step]):
        node = graph.nodes[number]
        ranges[number] = _range(graph, node, ranges) if node.kind == WHOLE else _ANY
    return ranges[step]


def _range(graph: Graph, node: Node, ranges: Mapping[int, Range]) -> Range:
    if node.op == "input":
        return 0, None
    if node.op == "constant":
        assert isinstance(node.data, int)
        return node.data, node.data
    operands = [ranges[n] for n in node.operands]
    if node.op == "select":
        (a, b), (c, d) = operands[1:]
        return _both(min, a, c), _both(max, b, d)
    if len(operands) != 2:
        return _ANY
    (a, b), (c, d) = operands
    if node.op == "add":
        return _both(operator.add, a, c), _both(operator.add, b, d)
    if node.op == "sub":
        modulus = _modulus(graph, node)
        if modulus:
            return 0, modulus - 1
        return _both(operator.sub, a, d), _both(operator.sub, b, c)
    if node.op == "max":
        if _is_negation(graph, *node.operands):
            return 0, _both(lambda x, y: max(-x, y), a, b)
        return max((x for x in (a, c) if x is not None), default=None), _both(max, b, d)
    if node.op == "min":
        return _both(min, a, c), min((x for x in (b, d) if x is not None), default=None)
    if node.op in ("mul", "div_floor", "div_trunc") and a is not None and a >= 0 and c is not None \
            and c >= (0 if node.op == "mul" else 1):
        if node.op == "mul":
            return a * c, _both(operator.mul, b, d)
        return (0 if d is None else a // d), (None if b is None else b // c)
    if node.op == "and" and c is not None and c == d and c >= 0:
        return 0, c
    return _ANY


def _both(function: Callable[[int, int], int], a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else function(a, b)


def _is_negation(graph: Graph, first: int, second: int) -> bool:
    """Returns whether the second step is 0 minus the first: max(x, 0 - x) is |x|."""
    node = graph.nodes[second]
    if node.op != "sub" or node.operands[1] != first:
        return False
    zero = graph.nodes[node.operands[0]]
    return zero.op == "constant" and zero.data == 0


def _modulus(graph: Graph, node: Node) -> int:
    """Returns the positive constant n if a step is a - (a // n) n, else 0."""
    product = graph.nodes[node.operands[1]]
    if product.op != "mul":
        return 0
    quotient, divisor = (graph.nodes[n] for n in product.operands)
    if quotient.op != "div_floor" or quotient.operands[0] != node.operands[0] or \
            divisor.op != "constant" or graph.nodes[quotient.operands[1]].data != divisor.data:
        return 0
    return divisor.data if isinstance(divisor.data, int) and divisor.data > 0 else 0
