"""Extracts the prose of a file: its comments, messages and pages as blocks of text.

A block is a comment (consecutive comment lines form one block), a string literal, a docstring, or a
paragraph of a page. Sentences may cross lines, so patterns are matched against entire blocks, and
`Block.line_at` maps a match back to its line.
"""

import dataclasses
import io
import re
import tokenize

DOC = "doc comment"
COMMENT = "comment"
MESSAGE = "string"
PAGE = "page"

_CPP = re.compile(
    r'(?P<doc>///[^\n]*(?:\n[ \t]*///[^\n]*)*)'
    r'|(?P<comment>//[^\n]*(?:\n[ \t]*//(?!/)[^\n]*)*)'
    r'|(?P<block>/\*.*?\*/)'
    r'|(?P<raw>R"(?P<tag>\w*)\(.*?\)(?P=tag)")'
    r'|(?P<strings>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)'
    r"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_TD = re.compile(r"(?P<code>\[\{.*?\}\])|(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*)"
                 r'|(?P<strings>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)', re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*(//|#|;)\s*[A-Z0-9_]+(-[A-Z0-9_]+)*(\{[^}]*\})?:")
_EXPECTED = re.compile(r"(//|#)\s*expected-\w+[^{]*\{\{(.*)\}\}")
_FENCE = re.compile(r"^\s*(```|~~~)")
# Code in backticks, in pages and comments.
_QUOTED = re.compile(r"``[^`]*``|`[^`\n]*`")


@dataclasses.dataclass
class Block:
    kind: str
    line: int
    text: str

    @property
    def flat(self):
        """Returns the text as one line, with unchanged offsets."""
        return self.text.replace("\n", " ")

    def line_at(self, offset):
        return self.line + self.text.count("\n", 0, offset)


def _without_quotes(text):
    return _QUOTED.sub(lambda match: "`" + "." * (len(match.group()) - 2) + "`", text)


def _clean(text, marks):
    """Removes the comment marks and keeps the number of lines."""
    return "\n".join(re.sub(marks, "", line).rstrip() for line in text.split("\n"))


def _joined_strings(text):
    """Concatenates adjacent literals and keeps their line breaks."""
    return re.sub(r'"(\s*)"', lambda gap: "\n" * gap.group(1).count("\n"), text)[1:-1]


def _blocks_of_cpp(text):
    for match in _CPP.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        kind = match.lastgroup
        if match.group("doc"):
            yield Block(DOC, line, _clean(match.group(), r"^\s*///<?\s?"))
        elif match.group("comment"):
            yield Block(COMMENT, line, _clean(match.group(), r"^\s*//\s?"))
        elif match.group("block"):
            doc = DOC if match.group().startswith("/**") else COMMENT
            yield Block(doc, line, _clean(match.group()[2:-2], r"^\s*\*+\s?"))
        elif match.group("strings"):
            yield Block(MESSAGE, line, _joined_strings(match.group()))
        elif match.group("raw"):
            yield Block(MESSAGE, line, match.group())


def _paragraphs(text, line, kind):
    """Yields paragraphs of Markdown without fenced code. List items and table rows are separate."""
    current, begin, fenced = [], line, False

    def flush():
        if current:
            yield Block(kind, begin, "\n".join(current))

    for number, content in enumerate(text.split("\n"), line):
        if _FENCE.match(content):
            fenced = not fenced
            yield from flush()
            current = []
            continue
        starts = re.match(r"\s*([-*+]|\d+\.|\||#|>)\s*", content)
        if fenced or not content.strip() or starts:
            yield from flush()
            current = []
            if fenced or not content.strip():
                continue
        if not current:
            begin = number
            content = re.sub(r"^\s*([-*+]|\d+\.|\||#+|>)\s+", "", content)
        current.append(content)
    yield from flush()


def _blocks_of_td(text):
    for match in _TD.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group("comment"):
            yield Block(COMMENT, line, _clean(match.group(), r"^\s*//\s?"))
        elif match.group("strings"):
            yield Block(MESSAGE, line, _joined_strings(match.group()))
        else:
            before = text[max(0, match.start() - 40):match.start()]
            if re.search(r"\b(description|summary)\s*=\s*$", before):
                first = True
                for block in _paragraphs(match.group()[2:-2], line, COMMENT):
                    block.kind = DOC if first else COMMENT
                    first = False
                    yield block
            else:
                for block in _blocks_of_cpp(match.group()):
                    yield Block(block.kind, block.line + line - 1, block.text)


def _blocks_of_python(text):
    comment, begin, last = [], 0, -1
    previous = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = token.line.lstrip().startswith("#")
            if comment and (token.start[0] != last + 1 or not alone):
                yield Block(COMMENT, begin, "\n".join(comment))
                comment = []
            if not comment:
                begin = token.start[0]
            comment.append(token.string.lstrip("#!").strip())
            last = token.start[0]
            continue
        kind = tokenize.tok_name[token.type]
        if kind in ("STRING", "FSTRING_MIDDLE"):
            doc = token.string.lstrip("rRbBuU").startswith('"""') and previous in (
                None, "NEWLINE", "INDENT", "NL", "DEDENT")
            content = token.string
            if kind == "STRING":
                if re.match(r"[rRbB]*[fF]", content):
                    content = re.sub(r"\{[^{}]*\}", "{}", content)
                content = re.sub(r'^\w*("""|\'\'\'|"|\')', "", content)
                content = re.sub(r'("""|\'\'\'|"|\')$', "", content)
            yield Block(DOC if doc else MESSAGE, token.start[0], content)
        if kind not in ("NL", "COMMENT"):
            previous = kind
    if comment:
        yield Block(COMMENT, begin, "\n".join(comment))


def _blocks_of_hash(text, mark=r"#+!?"):
    """Yields the comments of shell scripts, CMake, YAML and Makefiles."""
    comment, begin = [], 0
    for number, content in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*(#+)\s?(.*)", content)
        if match and not _DIRECTIVE.match(content) and not content.startswith("#!"):
            if not comment:
                begin = number
            comment.append(match.group(2))
        elif comment:
            yield Block(COMMENT, begin, "\n".join(comment))
            comment = []
    if comment:
        yield Block(COMMENT, begin, "\n".join(comment))


def _blocks_of_lit(text):
    """Yields comments other than directives, and the text of expected messages."""
    comment, begin = [], 0
    for number, content in enumerate(text.split("\n"), 1):
        expected = _EXPECTED.search(content)
        match = re.match(r"\s*(//|#)\s?(.*)", content)
        if match and not expected and not _DIRECTIVE.match(content):
            if not comment:
                begin = number
            comment.append(match.group(2))
            continue
        if comment:
            yield Block(COMMENT, begin, "\n".join(comment))
            comment = []
        if expected:
            yield Block(MESSAGE, number, expected.group(2))
    if comment:
        yield Block(COMMENT, begin, "\n".join(comment))


def blocks(path, text):
    """Yields the blocks of prose of a file. Code in backticks is blanked."""
    if path.suffix in (".h", ".cpp", ".c", ".cu", ".inc"):
        found = _blocks_of_cpp(text)
    elif path.suffix == ".td":
        found = _blocks_of_td(text)
    elif path.suffix == ".py" or text.startswith("#!/usr/bin/env python3"):
        found = _blocks_of_python(text)
    elif path.suffix == ".md":
        found = _paragraphs(text, 1, PAGE)
    elif path.suffix in (".mlir", ".test"):
        found = _blocks_of_lit(text)
    elif path.suffix in (".cmake", ".sh", ".txt", ".yml", ".yaml", ".toml") or path.name in (
            "Makefile", "run") or text.startswith("#!"):
        found = _blocks_of_hash(text)
    else:
        found = ()
    for block in found:
        lines = (line.strip() for line in block.text.split("\n"))
        yield Block(block.kind, block.line, _without_quotes("\n".join(lines)))
