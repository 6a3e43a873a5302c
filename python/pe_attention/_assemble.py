"""Assembles one program from pieces: encodings, a mask, sinks, dropout and documents.

A piece is text in the pe dialect in which every name is written `%{name}`; `${name}` is the same
name without the percent sign, for captures in formulas. Assembly prefixes the names of each piece,
so that independent pieces do not collide in one function.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from ._errors import CompileError
from ._program import Options, Program

_PLACE = re.compile(r"([%$])\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CLAUSE = re.compile(r"([a-z_]+)\((.*)\)", re.DOTALL)
# Clauses in the order of the dialect's syntax.
_KINDS = ("bias", "prologue", "rotate", "rotate_values", "content", "query", "value_content",
          "score", "sink", "factor", "dropout", "positions", "mask", "pages")
_LISTS = ("bias", "prologue", "content", "query", "value_content", "factor")


@dataclass(frozen=True)
class Argument:
    """A tensor argument of a piece. `attributes` are the argument's attributes without its name and
    braces: `pe.init = 1.0, pe.axes = ["batch", "key"]`. The text refers to the argument as
    `%{key}`; the key defaults to the name. Arguments with equal names are numbered: slopes,
    slopes_1."""

    name: str
    type: str
    attributes: str = ""
    key: str = ""

    def place(self) -> str:
        return self.key or self.name


@dataclass(frozen=True)
class Piece:
    """A fragment of a program. `definitions` are lines of the function's body. A clause is
    `bias(%{b})`, `rotate(%{r})`, `score(%{s})`, `mask(%{m})` and so on, or an attribute of the
    attention such as `normalizer = #pe.normalizer<stick_breaking>`."""

    definitions: str = ""
    clauses: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()

    def named(self, prefix: str) -> Piece:
        """Returns the piece with `prefix` added to all names in the text; argument names do not
        change."""

        def rename(text: str) -> str:
            return _PLACE.sub(lambda m: f"{m[1]}{{{prefix}{m[2]}}}", text)

        arguments = tuple(replace(a, key=prefix + a.place()) for a in self.arguments)
        return Piece(rename(self.definitions), tuple(map(rename, self.clauses)), arguments)


def dump(piece: Piece) -> str:
    """Serializes a piece to the string that encodings and masks expose as `structure`.

    Compiled PyTorch code compares these strings, so layers that differ only in their parameters
    share compiled code.
    """
    return json.dumps(asdict(piece))


def restore(structure: str) -> Piece:
    """Deserializes a piece from `dump`; `["mask_and", one, other]` gives the conjunction of two
    masks."""
    return piece_of(json.loads(structure))


def piece_of(fields: Any) -> Piece:
    """Returns the piece of parsed JSON, from `dump` or from `pieces` of pe_describe."""
    if isinstance(fields, list):
        op, *masks = fields
        return intersect([piece_of(mask) for mask in masks], op)
    return Piece(fields["definitions"], tuple(fields["clauses"]),
                 tuple(Argument(**argument) for argument in fields["arguments"]))


@lru_cache(maxsize=1024)
def assembled(encoding: str, mask: str, options: Options) -> Program:
    """Returns the program for the structures of an encoding and a mask; "" means that there is
    none."""
    pieces = [restore(encoding)] if encoding else []
    return assemble(pieces, restore(mask) if mask else None, options)


def join(pieces: Iterable[Piece]) -> Piece:
    """Concatenates the definitions, clauses and arguments of the pieces."""
    named = [piece.named(f"p{index}_") for index, piece in enumerate(pieces)]
    return Piece("\n".join(p.definitions.strip("\n") for p in named if p.definitions.strip()),
                 tuple(clause for p in named for clause in p.clauses),
                 tuple(argument for p in named for argument in p.arguments))


def _unique(names: Sequence[str]) -> list[str]:
    taken = {"q", "k", "v", "o", "lse"}
    result: list[str] = []
    for name in names:
        candidate, count = name, 0
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        taken.add(candidate)
        result.append(candidate)
    return result


def _clauses(clauses: Iterable[str]) -> tuple[str, str]:
    """Splits clauses into clauses in the order of the dialect and attributes."""
    kinds: dict[str, list[str]] = {}
    attributes: dict[str, str] = {}
    for clause in clauses:
        match = _CLAUSE.fullmatch(clause.strip())
        if match and match[1] in _KINDS:
            kinds.setdefault(match[1], []).append(match[2])
            continue
        name, _, value = clause.partition("=")
        name = name.strip()
        if attributes.setdefault(name, value.strip()) != value.strip():
            raise CompileError(f"expected one value of {name}, found {value.strip()} and "
                               f"{attributes[name]} from two encodings of one attention; use one")
    for kind, values in kinds.items():
        if len(values) > 1 and kind not in _LISTS:
            raise CompileError(f"expected one {kind} in an attention, found {len(values)}; "
                               f"remove all but one of the encodings that have it")
    contents, queries = kinds.get("content", []), kinds.get("query", [])
    if queries and len(queries) != len(contents):
        raise CompileError("expected content terms that all have their own queries, such as "
                           "Inkling, or all use those of the attention, such as Shaw, found both; "
                           "add only one kind")
    if len(queries) > 1:  # "%a : type", "%b : type"
        pairs = [query.split(" : ") for query in queries]
        kinds["query"] = [f"{', '.join(p[0] for p in pairs)} : {', '.join(p[1] for p in pairs)}"]
    text = "".join(f" {kind}({', '.join(kinds[kind])})" for kind in _KINDS if kind in kinds)
    inside = ", ".join(f"{n} = {v}" if v else n for n, v in attributes.items())
    return text, f" {{{inside}}}" if inside else ""


def _from_options(options: Options) -> list[Piece]:
    pieces: list[Piece] = []
    if options.scale is not None:
        pieces.append(Piece(clauses=(f"scale = {_number(options.scale)}",)))
    if options.sink:
        sink = Argument("sink", "tensor<?xf32>", "pe.init = 0.0, pe.decay = false")
        pieces.append(Piece(clauses=("sink(%{sink} : tensor<?xf32>)",), arguments=(sink,)))
    if options.dropout_p:
        seed = Argument("seed", "tensor<i64>")
        clause = f"dropout({_number(options.dropout_p)}, %{{seed}} : tensor<i64>)"
        pieces.append(Piece(clauses=(clause,), arguments=(seed,)))
    return pieces


def _number(value: float) -> str:
    """Formats a number for MLIR: with a decimal point and all digits."""
    text = repr(float(value))
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text


def documents_piece() -> Piece:
    """Returns the mask of packed documents, which also restarts positions in each document."""
    boundaries = Argument("documents", "tensor<?xi32>", 'pe.axes = ["boundaries"]')
    return Piece("%{mask} = pe.documents %{documents} : tensor<?xi32> {restart = true}",
                 ("mask(%{mask})",), (boundaries,))


def intersect(masks: Sequence[Piece], op: str = "mask_and") -> Piece:
    """Joins masks by `pe.mask_and` or `pe.mask_or`. Each piece has exactly one clause,
    `mask(...)`."""
    joined = join(masks)
    operands = [clause[len("mask("):-1] for clause in joined.clauses]
    lines, last = joined.definitions, operands[0]
    for index, operand in enumerate(operands[1:]):
        lines += f"\n%{{join{index}}} = pe.{op} {last}, {operand}"
        last = f"%{{join{index}}}"
    return Piece(lines, (f"mask({last})",), joined.arguments)


def assemble(pieces: Sequence[Piece], mask: Piece | None = None,
             options: Options = Options()) -> Program:
    """Assembles a program. Its arguments are those of `pieces`, then sink, seed, those of `mask`,
    documents, and pages."""
    masks = [mask] if mask is not None else []
    if options.documents:
        masks.append(documents_piece())
    parts = [*pieces, *_from_options(options)]
    if masks:
        parts.append(intersect(masks))
    if options.pages:
        table = Argument("pages", "tensor<?x?xi32>")
        parts.append(Piece(clauses=("pages(%{pages} : tensor<?x?xi32>)",), arguments=(table,)))
    whole = join(parts)
    names = _unique([a.name for a in whole.arguments])

    def place(match: re.Match[str]) -> str:
        return ("%" if match[1] == "%" else "") + match[2]

    lines = ['%q: !qkv {pe.name = "q"}', '%k: !qkv {pe.name = "k"}', '%v: !qkv {pe.name = "v"}']
    for name, argument in zip(names, whole.arguments, strict=True):
        attributes = f', {argument.attributes}' if argument.attributes else ""
        lines.append(f'%{argument.place()}: {argument.type} {{pe.name = "{name}"{attributes}}}')
    clauses, attributes = _clauses(whole.clauses)
    rows = "tensor<?x?x?xf32>"
    results = '!qkv {pe.name = "o"}'
    results += f', {rows} {{pe.name = "lse"}}' if options.return_lse else ""
    values = "%o, %lse" if options.return_lse else "%o"
    types = f"!qkv, {rows}" if options.return_lse else "!qkv"
    text = "\n".join([
        "!qkv = tensor<?x?x?x?xf32>",
        f"func.func @attention({', '.join(lines)})\n    -> ({results}) {{",
        _PLACE.sub(place, whole.definitions),
        f"{values} = pe.attention %q, %k, %v{_PLACE.sub(place, clauses)}{attributes} "
        f": (!qkv, !qkv, !qkv) -> {types}",
        f"return {values} : {types}",
        "}",
        "",
    ])
    return Program(text, tuple(names))
