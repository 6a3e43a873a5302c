"""Finds the functions of a C++ source and their lengths by counting braces.

This is not a parser. Comments, strings and preprocessor lines are blanked. The head of a `{` is
the text since the last `;`, `{` or `}`. Inside namespaces and types, a head with a parameter list
begins a function, which includes everything inside it, such as lambdas. The length is defined as in
clang-tidy's readability-function-size: the line of the closing brace minus that of the opening one.
"""

import re

_BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*",
    re.DOTALL | re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_DIGIT_SEPARATOR = re.compile(r"(?<=\d)'(?=\d)")


def _blank(match):
    """Returns empty lines that replace the match."""
    return "\n" * match.group().count("\n")


def _name(head):
    """Returns the name before the first parameter list of a head, on a best-effort basis."""
    found = re.search(r"([\w:~]+|operator\S+)\s*\($", head[:head.index("(") + 1])
    return found.group(1) if found else "function"


def _opens_function(head):
    """Returns true if a brace after `head`, inside a namespace or type, begins a function body."""
    if "(" not in head:
        return False
    before = head[:head.index("(")]
    return "operator" in before or not (_SCOPE.search(before) or "=" in before)


def _goes_on(head, parentheses):
    """Returns true if the braces after `head` are an argument or initialize a member in a
    constructor, so that the text after them continues the head."""
    return parentheses > 0 or bool(re.search(r"\)\s*:[^:].*[\w>]\s*$", head, re.DOTALL))


def functions(text):
    """Returns (line of the opening brace, length, name) of every function in order."""
    text = _BLANKED.sub(_blank, _DIGIT_SEPARATOR.sub("", text))
    found = []
    scopes = []  # per open brace: (line, name) of its function or None, and the head to restore
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
