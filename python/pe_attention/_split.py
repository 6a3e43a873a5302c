"""Splits a formula of the score into a mask, a score function, and a bias."""

from __future__ import annotations

from dataclasses import dataclass

from ._trace.graph import REAL, TRUTH, Graph, Node

_INFINITY = float("inf")


@dataclass(frozen=True)
class Parts:
    """Steps of the graph: conditions that must all hold, the new score, and the bias. `score` None
    means the unchanged score, `bias` None no bias."""

    masks: tuple[int, ...]
    score: int | None
    bias: int | None


def split(graph: Graph, result: int) -> Parts:
    """Splits a formula: score + f(...) is a bias, where(condition, ..., -inf) a mask. Any other
    expression is a score function, to which biases are added."""
    masks: list[int] = []
    while (kept := _masked(graph, result)) is not None:
        condition, result = kept
        masks.append(condition)
    bias = _beside_score(graph, result)
    if bias is not None:
        return Parts(tuple(masks), None, None if bias == result else bias)
    score: list[tuple[bool, int]] = []
    rest: list[tuple[bool, int]] = []
    for negative, term in _terms(graph, result, False):
        (score if graph.reads_input(term, "score") else rest).append((negative, term))
    if not score:
        return Parts(tuple(masks), result, None)
    return Parts(tuple(masks), _sum(graph, score), _sum(graph, rest) if rest else None)


def _masked(graph: Graph, result: int) -> tuple[int, int] | None:
    """Returns condition and x of where(condition, x, -inf) if a mask can compute the condition."""
    node = graph.nodes[result]
    if node.op != "select":
        return None
    condition, yes, no = node.operands
    numbers = graph.read_sources([condition])
    if (graph.reads_input(condition, "score")
            or any(graph.sources[n].kind == REAL for n in numbers)):
        return None
    if _is_constant(graph, no, -_INFINITY):
        return condition, yes
    if _is_constant(graph, yes, -_INFINITY):
        return graph.add(Node("not", (condition,), TRUTH, None, node.place)), no
    return None


def _is_constant(graph: Graph, step: int, value: float) -> bool:
    node = graph.nodes[step]
    return node.op == "constant" and node.data == value


def _is_score(graph: Graph, step: int) -> bool:
    node = graph.nodes[step]
    return node.op == "input" and node.data == "score"


def _beside_score(graph: Graph, step: int) -> int | None:
    """Returns f if the step is score + f, the step itself if it is the score, else None."""
    if _is_score(graph, step):
        return step
    node = graph.nodes[step]
    if node.op in ("add", "sub"):
        a, b = node.operands
        for first, second in ((a, b), (b, a)) if node.op == "add" else ((a, b),):
            if graph.reads_input(first, "score") and not graph.reads_input(second, "score"):
                inside = _beside_score(graph, first)
                if inside is None:
                    return None
                if _is_score(graph, inside):
                    return second if node.op == "add" else graph.add(
                        Node("neg", (second,), REAL, None, node.place))
                return graph.add(Node(node.op, (inside, second), REAL, None, node.place))
    if node.op == "select" and not graph.reads_input(node.operands[0], "score"):
        return _beside_select(graph, node)
    return None


def _beside_select(graph: Graph, node: Node) -> int | None:
    """Rewrites where(condition, score + f, score + g) to score + where(condition, f, g)."""
    branches: list[int] = []
    for branch in node.operands[1:]:
        inside: int | None = branch
        if not _is_constant(graph, branch, -_INFINITY):
            inside = _beside_score(graph, branch)
        if inside is None:
            return None
        if _is_score(graph, inside):
            inside = graph.add(Node("constant", (), REAL, 0.0, node.place))
        branches.append(inside)
    return graph.add(Node("select", (node.operands[0], *branches), REAL, None, node.place))


def _terms(graph: Graph, step: int, negative: bool) -> list[tuple[bool, int]]:
    """Returns the terms of a sum, each with a flag for subtraction."""
    node = graph.nodes[step]
    if node.op not in ("add", "sub") or node.kind != REAL:
        return [(negative, step)]
    a, b = node.operands
    return [*_terms(graph, a, negative), *_terms(graph, b, negative != (node.op == "sub"))]


def _sum(graph: Graph, terms: list[tuple[bool, int]]) -> int:
    negative, total = terms[0]
    if negative:
        total = graph.add(Node("neg", (total,), REAL, None, graph.nodes[total].place))
    for negative, term in terms[1:]:
        op = "sub" if negative else "add"
        total = graph.add(Node(op, (total, term), REAL, None, graph.nodes[term].place))
    return total
