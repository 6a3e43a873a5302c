"""Parses a program in the pe dialect into pieces that can be joined with others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ._assemble import Argument, Piece
from ._errors import CompileError

_OPEN, _CLOSE = "([{<", ")]}>"
_FUNCTIONS = re.compile(r"pe\.\w+_fn\s*\(([^:)]*):")
_NAME = re.compile(r"%([A-Za-z0-9_$.-]+)")


@dataclass(frozen=True)
class Parameter:
    """An argument of the function other than q, k and v."""

    value: str
    name: str
    type: str
    attributes: str


@dataclass
class Parsed:
    """The pieces of a program's attention, with names of the form `%{name}`."""

    parameters: list[Parameter]
    encoding: Piece
    mask: Piece | None = None
    entry: str = "attention"


@dataclass
class _Statement:
    text: str
    defines: tuple[str, ...]
    uses: set[str] = field(default_factory=set)


def parse(text: str, file: str = "") -> Parsed:
    """Parses a module with one function that contains one attention."""
    clean = without_comments(text)
    for alias in re.findall(r"^\s*!(\w+)\s*=", clean, re.MULTILINE):
        match = re.search(rf"^\s*!{alias}\s*=\s*(.*)$", clean, re.MULTILINE)
        assert match is not None
        clean = clean.replace(match[0], "", 1)
        clean = re.sub(rf"!{alias}\b", match[1].strip(), clean)
    heads = list(re.finditer(r"func\.func\s+(?:public\s+)?@(\w+)\s*\(", clean))
    attentions = list(re.finditer(r"\bpe\.attention\s", clean))
    if len(heads) != 1 or len(attentions) != 1:
        raise CompileError(f"from_mlir: expected one function with one pe.attention, found "
                           f"{len(heads)} functions and {len(attentions)} attentions", file)
    end = _closing(clean, heads[0].end() - 1)
    arguments = [_argument(a, file) for a in _split(clean[heads[0].end():end])]
    body_at = _body(clean, end + 1, file)
    body = clean[body_at + 1:_closing(clean, body_at)]
    return _pieces(heads[0][1], arguments, _statements(body), file)


def without_comments(text: str) -> str:
    return re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*', lambda m: m[1] or "", text)


def _closing(text: str, begin: int) -> int:
    """Returns the index of the bracket that closes the one at `begin`, skipping arrows and
    strings."""
    depth, at = 0, begin
    while at < len(text):
        char = text[at]
        if char == '"':
            match = re.compile(r'"(?:\\.|[^"\\])*"').match(text, at)
            at = match.end() if match else len(text)
            continue
        if text.startswith("->", at):
            at += 2
            continue
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            return at
        at += 1
    raise CompileError("from_mlir: expected brackets that close, found one that does not")


def _split(text: str) -> list[str]:
    """Splits at commas outside brackets."""
    parts, begin, at = [], 0, 0
    while at < len(text):
        if text[at] in _OPEN + '"':
            at = _closing(text, at) if text[at] != '"' else text.index('"', at + 1)
        elif text[at] == ",":
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return [part.strip() for part in [*parts, text[begin:]] if part.strip()]


def _argument(text: str, file: str) -> Parameter:
    match = re.fullmatch(r"%([\w$.-]+)\s*:\s*(.*?)\s*(?:\{(.*)\})?", text, re.DOTALL)
    if match is None:
        raise CompileError(f"from_mlir: expected an argument such as %q: !qkv {{pe.name = \"q\"}}, "
                           f"found {text}", file)
    attributes = _split(match[3] or "")
    names = [a.split('"')[1] for a in attributes if a.startswith("pe.name")]
    rest = [re.sub(r"\s+", " ", a) for a in attributes if not a.startswith("pe.name")]
    if not names:
        raise CompileError(f"from_mlir: expected a pe.name of the argument %{match[1]}", file)
    return Parameter(match[1], names[0], match[2].replace(" ", ""), ", ".join(rest))


def _body(text: str, begin: int, file: str) -> int:
    """Returns the index of the opening brace of the function's body, after its results and
    attributes."""
    arrow = re.compile(r"\s*->\s*").match(text, begin)
    at = arrow.end() if arrow else begin
    if arrow and text[at] == "(":
        at = _closing(text, at) + 1
    brace = text.find("{", at)
    if brace < 0:
        raise CompileError("from_mlir: expected a function with a body", file)
    return brace


def _statements(body: str) -> list[_Statement]:
    """Returns the operations of a function, with the values that each defines and uses."""
    starts, at = [], 0
    begin = re.compile(r"\s*(?:%[\w$.-]+(?:\s*,\s*%[\w$.-]+)*\s*=|return\b|func\.return\b)")
    fresh = True
    while at < len(body):
        if fresh and begin.match(body, at):
            starts.append(at)
        fresh = False
        if body.startswith("->", at):
            at += 2
            continue
        if body[at] in "([{":
            at = _closing(body, at)
        elif body[at] == '"':
            at = body.index('"', at + 1)
        elif body[at] == "\n":
            fresh = True
        at += 1
    statements = []
    for first, last in zip(starts, [*starts[1:], len(body)], strict=True):
        text = body[first:last].strip()
        left = text.split("=", 1)[0] if text.startswith("%") else ""
        defined = tuple(_NAME.findall(left))
        statements.append(_Statement(text, defined, set(_NAME.findall(text)) - set(defined)))
    return statements


def _place(name: str) -> str:
    """Returns the name of a value as a placeholder."""
    return re.sub(r"\W", "_", name if not name[0].isdigit() else f"v{name}")


def _renamed(text: str) -> str:
    """Replaces names by `%{name}`, and captures in formulas by `${name}`."""
    captures = _FUNCTIONS.search(text)
    if captures and " expr " in text:
        names = _NAME.findall(captures[1])
        head, formula = text.split(" expr ", 1)
        for name in names:
            word = rf"(?<![\w{{$]){re.escape(name)}(?!\w)"
            formula = re.sub(word, f"${{{_place(name)}}}", formula)
        text = f"{head} expr {formula}"
    return _NAME.sub(lambda m: f"%{{{_place(m[1])}}}", text)


def _pieces(entry: str, arguments: list[Parameter], statements: list[_Statement],
            file: str) -> Parsed:
    first = [a.name for a in arguments[:3]]
    if first != ["q", "k", "v"]:
        raise CompileError(f"from_mlir: expected q, k and v as the first arguments, found "
                           f"{', '.join(first)}", file)
    parameters = arguments[3:]
    number = next(n for n, s in enumerate(statements) if re.search(r"\bpe\.attention\s", s.text))
    clauses, mask = _clauses(statements[number].text)
    before = statements[:number]
    encoding = _piece(before, clauses, parameters)
    if mask is None:
        return Parsed(parameters, encoding, None, entry)
    return Parsed(parameters, encoding, _piece(before, [f"mask(%{mask})"], parameters), entry)


def _clauses(text: str) -> tuple[list[str], str | None]:
    """Returns the clauses and attributes of an attention, and the value of its mask."""
    operands = re.search(r"pe\.attention\s+%[\w$.-]+\s*,\s*%[\w$.-]+\s*,\s*%[\w$.-]+", text)
    assert operands is not None
    at, found, mask = operands.end(), [], None
    while match := re.compile(r"\s*(\w+)?\s*([({])").match(text, at):
        end = _closing(text, match.end() - 1)
        inside = text[match.end():end]
        if match[2] == "{":
            found += [part for part in _split(inside) if not part.startswith("pe.")]
        elif match[1] == "mask":
            mask = inside.strip().lstrip("%")
        elif match[1] in ("bias", "prologue", "content"):
            found += [f"{match[1]}({operand})" for operand in _split(inside)]
        else:
            found.append(f"{match[1]}({inside})")
        at = end + 1
    return found, mask


def _piece(statements: list[_Statement], clauses: list[str], parameters: list[Parameter]) -> Piece:
    """Returns a piece with the operations and arguments that the clauses need."""
    needed = {name for clause in clauses for name in _NAME.findall(clause)}
    kept: list[str] = []
    for statement in reversed(statements):
        if needed & set(statement.defines):
            needed |= statement.uses
            kept.insert(0, _renamed(statement.text))
    used = tuple(Argument(p.name, p.type, p.attributes, _place(p.value))
                 for p in parameters if p.value in needed)
    return Piece("\n".join(kept), tuple(_renamed(c) for c in clauses), used)
