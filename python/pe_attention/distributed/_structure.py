"""The properties of a program's attention that determine how its keys can be split."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from .._errors import InputError
from .._function import Function
from .._mlir_text import without_comments
from ._layout import Chunk

_VALUE = r"%([\w$.-]+)"
_GATHER = "take method='all_gather'"


@dataclass(frozen=True)
class Structure:
    """`low` and `high` bound i - j for the pairs that the mask keeps. `sink` and `documents`
    are the names of the arguments with the sink's logits and with the boundaries of documents."""

    stick_breaking: bool
    remainder: bool
    both_sides: bool
    sink: frozenset[str]
    documents: frozenset[str]
    low: float
    high: float

    def sees(self, queries: Chunk, keys: Chunk) -> bool:
        """Returns whether a query of one chunk may attend to a key of the other."""
        return (queries.length > 0 and keys.length > 0
                and queries.stop - 1 - keys.start >= self.low
                and queries.start - (keys.stop - 1) <= self.high)


@lru_cache(maxsize=1024)
def structure_of(text: str) -> Structure:
    """Parses the structure from a program's text."""
    text = without_comments(text)
    sink, documents = (frozenset(_name(text, value) for value in re.findall(op + _VALUE, text))
                       for op in (r"\bsink\(\s*", r"\bpe\.documents\s+"))
    # Explicit positions are arbitrary: rows do not bound them.
    given = re.search(r"\bpositions\(", text)
    low, high = (-math.inf, math.inf) if given else _range(text)
    return Structure("#pe.normalizer<stick_breaking>" in text, "#pe.remainder<value>" in text,
                     "#pe.direction<both>" in text, sink, documents, low, high)


def _name(text: str, value: str) -> str:
    match = re.search(rf"%{re.escape(value)}\s*:[^{{]*\{{[^}}]*pe\.name = \"([^\"]+)\"", text)
    if match is None:
        raise InputError(f"encoding: expected %{value} to be an argument of the program, found "
                         f"none with that name; {_GATHER}")
    return match[1]


def _range(text: str) -> tuple[float, float]:
    """Returns bounds of i - j for the pairs that the mask keeps, derived from the mask ops
    that have such bounds."""
    ops = {match[1]: (match[2], match[3]) for match in
           re.finditer(_VALUE + r"\s*=\s*pe\.(\w+)([^\n]*)", text)}
    mask = re.search(r"\bmask\(\s*" + _VALUE, text)

    def visit(value: str) -> tuple[float, float]:
        op, rest = ops.get(value, ("", ""))
        if op == "causal":
            return 0, math.inf
        if op == "sliding_window":
            left, right = (re.search(rf"\b{side}\s*=\s*(\d+)", rest) for side in ("left", "right"))
            return (1 - int(right[1]) if right else -math.inf,
                    int(left[1]) - 1 if left else math.inf)
        if op in ("mask_and", "mask_or"):
            (a, b), (c, d) = (visit(operand) for operand in re.findall(_VALUE, rest)[:2])
            return (max(a, c), min(b, d)) if op == "mask_and" else (min(a, c), max(b, d))
        return -math.inf, math.inf

    return visit(mask[1]) if mask else (-math.inf, math.inf)


# The ways in which a tensor other than q, k and v is split along with queries and keys.
SAME, QUERIES, KEYS, SINK, DOCUMENTS = "same", "queries", "keys", "sink", "documents"


def kinds_of(function: Function, structure: Structure) -> list[tuple[str, int]]:
    """Returns, for every argument, how it is split and along which axis."""
    kinds = [(QUERIES, 2), (KEYS, 2), (KEYS, 2)]
    for argument in function.arguments[3:]:
        split = [axis for axis in ("query", "key") if axis in argument.axes]
        if len(split) > 1:
            raise InputError(f"encoding or mask: expected tensors with an axis of queries or of "
                             f"keys, found both in '{argument.name}', which no rank has; write it "
                             f"as a formula of positions")
        if split:
            kinds.append((QUERIES if split == ["query"] else KEYS, argument.axes.index(split[0])))
        else:
            kinds.append((SINK if argument.name in structure.sink else
                          DOCUMENTS if argument.name in structure.documents else SAME, 0))
    return kinds


def check_ring(structure: Structure) -> None:
    """Rejects programs whose partial results cannot be merged."""
    if structure.both_sides:
        raise InputError("encoding: expected unidirectional stick-breaking for method='ring', "
                         "found bidirectional=True; " + _GATHER)
    if structure.remainder:
        raise InputError("encoding: expected stick-breaking without remainder for "
                         "method='ring', found remainder=True; " + _GATHER)
