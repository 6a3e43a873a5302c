"""Compiles the size expressions of `pe_describe` to Python functions of integers or symbols.

`pe_shape` evaluates the same expressions, but only for integers: under torch.compile with dynamic
shapes, sizes are symbols.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

# Sizes are int, or torch.SymInt under torch.compile.
Sizes = Mapping[str, Any]

_NODES = (ast.Expression, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Call, ast.Name, ast.Load,
          ast.Constant)


def _ceildiv(a: Any, b: Any) -> Any:
    return -(-a // b)


def _most(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    import torch
    return torch.sym_max(a, b)


def _least(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    import torch
    return torch.sym_min(a, b)


_FUNCTIONS = {"ceildiv": _ceildiv, "max": _most, "min": _least}


@lru_cache
def blocks_of(text: str) -> tuple[str, str] | None:
    """Returns x and y of the expression ceildiv(x,y) of two sizes: an axis with this size has
    blocks of y, which determine x if no tensor does."""
    match = re.fullmatch(r"ceildiv\(([a-z]\w*),([a-z]\w*)\)", text)
    return (match[1], match[2]) if match else None


def parse(text: str) -> Callable[[Sizes], Any]:
    """Compiles an expression to a function of sizes by name."""
    if text.isdecimal():
        number = int(text)
        return lambda sizes: number
    if text.isidentifier():
        return lambda sizes: sizes[text]
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise ValueError(f"expected a size expression, found '{text}'")
    code = compile(tree, "<size>", "eval")
    return lambda sizes: eval(code, {"__builtins__": {}, **_FUNCTIONS}, dict(sizes))
