"""The functions of a C++ source and their lengths, found by counting braces.

No parser: comments, strings and preprocessor lines are blanked, then every `{` gets the text
since the last `;`, `{` or `}` as its head. Inside namespaces and types a head with a parameter
list begins a function; everything inside a function, lambdas too, belongs to it. A length is that
of clang-tidy's readability-function-size: the closing brace's line minus the opening one's.
"""

import re

_BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*",
    re.DOTALL | re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)'(?=\d)")


def _blank(match):
    """As many lines as before, and nothing in them."""
    return "\n" * match.group().count("\n")


def _name(head):
    """The name before the first parameter list of a head, by best effort."""
    found = re.search(r"([\w:~]+|operator\S+)\s*\($", head[:head.index("(") + 1])
    return found.group(1) if found else "function"


def _opens_function(head):
    """Whether a brace behind `head`, inside a namespace or a type, is the body of a function."""
    if "(" not in head:
        return False
    before = head[:head.index("(")]
    return "operator" in before or not (_SCOPE.search(before) or "=" in before)


def _goes_on(head, parentheses):
    """Whether what follows the braces behind `head` still belongs to it: an argument in braces, or
    the member that a constructor initialises so."""
    return parentheses > 0 or bool(re.search(r"\)\s*:[^:].*[\w>]\s*$", head, re.DOTALL))


def functions(text):
    """(line of the opening brace, length, name) of every function, in their order."""
    text = _BLANKED.sub(_blank, _DIGIT_SEPARATOR.sub("", text))
    found = []
    scopes = []  # of every open brace: (line, name) of its function or None, what to go on with
    head, parentheses, line, inside = "", 0, 1, 0
    for char in text:
        line += char == "\n"
        if char == "{":
            kept = (head, parentheses) if _goes_on(head, parentheses) else ("", 0)
            opens = not inside and kept == ("", 0) and _opens_function(head)
            scopes.append(((line, _name(head)) if opens else None, kept))
            inside += opens
            head, parentheses = "", 0
        elif char == "}" and scopes:
            function, (head, parentheses) = scopes.pop()
            if function:
                inside -= 1
                found.append((function[0], line - function[0], function[1]))
        elif char == ";" and not parentheses:
            head = ""
        else:
            parentheses += (char == "(") - (char == ")")
            head += char
    return sorted(found)
