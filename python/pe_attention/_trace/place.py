"""Locates the line and column of the traced user code."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from .._errors import CompileError
from .graph import Place

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

Span = tuple[int | None, int | None, int | None, int | None]


@lru_cache(maxsize=256)
def _spans(code: CodeType) -> list[Span]:
    return list(code.co_positions())


@lru_cache(maxsize=1)
def _skipped() -> tuple[str, ...]:
    torch = sys.modules.get("torch")
    folder = os.path.dirname(getattr(torch, "__file__", None) or "") + os.sep
    return (_OURS, folder) if torch else (_OURS,)


def user_frame() -> FrameType | None:
    """Returns the innermost frame outside this package and PyTorch."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_skipped()):
        frame = frame.f_back
    return frame


def _span(frame: FrameType) -> Span:
    return _spans(frame.f_code)[frame.f_lasti // 2]


def here() -> Place | None:
    """Returns the location of the expression that the user's code is evaluating."""
    frame = user_frame()
    if frame is None:
        return None
    line, _, column, _ = _span(frame)
    return Place(frame.f_code.co_filename, line or frame.f_lineno, (column or 0) + 1)


def definition(function: Callable[..., Any]) -> Place | None:
    """Returns the location of a function's definition: its first line, including decorators."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    if code is None:
        return None
    text = linecache.getline(code.co_filename, code.co_firstlineno)
    return Place(code.co_filename, code.co_firstlineno, len(text) - len(text.lstrip()) + 1)


def expression_here() -> str:
    """Returns the text of the current expression if it is on one line, else ""."""
    frame = user_frame()
    if frame is None:
        return ""
    line, end, begin_column, end_column = _span(frame)
    if line is None or line != end or begin_column is None or end_column is None:
        return ""
    text = linecache.getline(frame.f_code.co_filename, line).encode()
    return text[begin_column:end_column].decode(errors="replace")


def refuse(message: str, place: Place | None = None) -> CompileError:
    """Returns the error to raise at `place`, or at the current location of the user's code."""
    place = place or here()
    if place is None:
        return CompileError(message)
    return CompileError(message, place.file, place.line, place.column)
