"""The properties of a program's attention that determine how its keys can be split."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._errors import InputError
from .._function import Function, get_function
from ._layout import Chunk

_GATHER = "take method='all_gather'"


@dataclass(frozen=True)
class Structure:
    """`low` and `high` bound i - j for the pairs that can contribute. `sink` is the name of the
    argument with the sink's logits, or None; `documents` are the names of the arguments with the
    boundaries of documents."""

    normalizer: str
    mergeable: bool
    remainder: bool
    both_sides: bool
    sink: str | None
    sink_function: bool
    documents: frozenset[str]
    low: float
    high: float

    @property
    def stick_breaking(self) -> bool:
        return self.normalizer == "stick_breaking"

    def sees(self, queries: Chunk, keys: Chunk) -> bool:
        """Returns whether a query of one chunk may attend to a key of the other."""
        return (queries.length > 0 and keys.length > 0
                and queries.stop - 1 - keys.start >= self.low
                and queries.start - (keys.stop - 1) <= self.high)


def structure_of(text: str) -> Structure:
    """Returns the structure of a program's attention. The reference describes a program without
    compiling it, whatever its head dims are."""
    attentions = get_function(text, "reference", 64, 64, "f32", False).info["attentions"]
    if len(attentions) != 1:
        raise InputError(f"encoding: expected a program with one attention, found "
                         f"{len(attentions)}")
    attention = attentions[0]
    low, high = attention["range"]["low"], attention["range"]["high"]
    return Structure(attention["normalizer"], attention["mergeable"],
                     attention["remainder"] == "value", attention["direction"] == "both",
                     attention["sink"], attention["sink_function"],
                     frozenset(attention["documents"]), -math.inf if low is None else low,
                     math.inf if high is None else high)


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
            kinds.append((SINK if argument.name == structure.sink else
                          DOCUMENTS if argument.name in structure.documents else SAME, 0))
    return kinds


def check_ring(structure: Structure) -> None:
    """Rejects programs whose partial results cannot be merged."""
    if not structure.mergeable:
        raise InputError(f"encoding: expected softmax or stick-breaking for method='ring', which "
                         f"merges results over parts of the keys, found {structure.normalizer}; "
                         + _GATHER)
    if structure.both_sides:
        raise InputError("encoding: expected unidirectional stick-breaking for method='ring', "
                         "found bidirectional=True; " + _GATHER)
    if structure.remainder:
        raise InputError("encoding: expected stick-breaking without remainder for "
                         "method='ring', found remainder=True; " + _GATHER)
    if structure.sink_function:
        raise InputError("encoding: expected a sink with one logit per head for method='ring', "
                         "found a function of the query; " + _GATHER)
