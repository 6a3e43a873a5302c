"""The tables of names in the package and in the documents are those of the C++ headers."""

from __future__ import annotations

import re
from pathlib import Path

from pe_attention._activations import ACTIVATIONS
from pe_attention.nn import _rotations

ROOT = Path(__file__).resolve().parents[2]


def _read(path: str) -> str:
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def _list(names: list[str], word: str = "or") -> str:
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def _names() -> list[str]:
    return re.findall(r'X\(\w+, "(\w+)"\)', _read("runtime/plan/Activations.h"))


def test_activations_are_those_of_the_header() -> None:
    names = _names()
    assert list(ACTIVATIONS) == names
    assert f"The nonlinearity of an MLP: {_list(names)}\"" in _read("dialect/PE/PEAttributes.td")
    assert f"one function per link: {_list(names)} |" in _read("docs/spec-tile.md")


def _scalings() -> dict[str, tuple[bool, dict[str, str], bool]]:
    """Returns whether a kind has an original length, its numbers with their defaults, and whether
    it has factors per pair."""
    rows = re.findall(r'RopeKind\{"(\w+)", (\w+), (.*?)\},? (?=RopeKind|\})',
                      _read("runtime/reference/RopeKinds.h"))
    return {name: (length == "true", dict(re.findall(r'"(\w+)", ([\d.]+)', rest)),
                   rest.endswith("true")) for name, length, rest in rows}


def test_scalings_are_those_of_the_header() -> None:
    scalings = _scalings()
    assert list(scalings) == list(_rotations.SCALINGS)
    long = [name for name, (has_length, *_) in scalings.items() if has_length]
    described, spec = _read("dialect/PE/PEAttributes.td"), _read("docs/spec.md")
    assert f"`original_length` ({', '.join(long)}) is the training length" in described
    assert f"the kind is {_list(list(scalings))}, with the parameters" in spec
    assert f"| {_list(long, 'and')} have an original_length" in spec
    for name, (has_length, bounds, has_factors) in scalings.items():
        needed, others = _rotations.SCALINGS[name]
        assert needed == ("factor", *["original_length"] * has_length,
                          *["short_factor", "long_factor"] * has_factors)
        assert set(others) == set(bounds)
        if len(bounds) == 2:
            first, second = (f"`{bound}` ({value})" for bound, value in bounds.items())
            assert re.search(f"`{name}` (also )?takes {re.escape(first)} and {re.escape(second)}",
                             described)
