"""Checks the arguments of public functions against their signatures.

A call that does not match a signature raises `InputError` instead of Python's TypeError and names
the argument that was probably meant. `checked` also compares each argument with its annotation: a
parameter `size: int` rejects "8", 8.0 and True.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ._errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])


def found(value: object) -> str:
    """Returns a short description of a value, on one line, for messages."""
    kind = type(value)
    if is_compiling():  # Dynamo cannot trace the code below
        return f"an object of type {kind.__name__}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if is_a(value, "torch", "Tensor"):
        dtype = str(value.dtype).removeprefix("torch.")  # type: ignore[attr-defined]
        shape = "" if value.is_nested else f" of shape {list(value.shape)}"  # type: ignore
        return f"a tensor of {dtype}{shape}"
    if is_a(value, "numpy", "ndarray"):
        return f"a NumPy array of shape {list(value.shape)}"  # type: ignore[attr-defined]
    if inspect.isroutine(value):
        name = getattr(value, "__name__", "")
        return "a lambda" if name == "<lambda>" else f"the function {name}"
    if is_a(value, "torch.nn", "Module"):
        return f"the module {kind.__name__}"
    if kind.__module__.startswith("pe_attention"):
        return repr(value)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(value, (list, tuple, dict, set)):
        text = " ".join(repr(value).split())
        return text if len(text) <= 60 else f"a {kind.__name__} of {len(value)}"
    return f"an object of type {kind.__name__}"


def is_a(value: object, module: str, name: str) -> bool:
    """Checks whether `value` is an instance of a class, without importing the class's module."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))


# --- Numbers -----------------------------------------------------------------


def is_whole(value: object) -> bool:
    """Checks for an integer, including NumPy integers and symbolic integers of PyTorch."""
    return (isinstance(value, numbers.Integral) and not isinstance(value, bool)
            or is_a(value, "torch", "SymInt"))


def is_number(value: object) -> bool:
    """Checks for a finite real number."""
    if isinstance(value, numbers.Real):
        try:
            return not isinstance(value, bool) and math.isfinite(value)
        except OverflowError:  # an integer beyond the range of float
            return False
    return is_a(value, "torch", "SymInt") or is_a(value, "torch", "SymFloat")


def whole_number(name: str, value: Any) -> int:
    if not is_whole(value):
        raise InputError(f"{name}: expected an integer, found {found(value)}")
    if not -2**31 <= value < 2**31:
        raise InputError(f"{name}: expected an integer of 32 bits, found {value}")
    return operator.index(value)


def check_function(name: str, function: Callable[..., Any], inputs: Iterable[str]) -> None:
    """Raises `InputError` if the function has a signature that does not accept these inputs."""
    given = list(inputs)
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        raise InputError(f"{name}: expected a function of ({', '.join(given)}), found one of "
                         f"{inspect.signature(function)}") from None
    except ValueError:
        raise InputError(f"{name}: expected a function of ({', '.join(given)}), found "
                         f"{found(function)}") from None


# --- Annotations -------------------------------------------------------------

# A description and a predicate of the values that an annotation accepts.
Kind = tuple[str, Callable[[Any], bool]]


def _instance(module: str, name: str) -> Callable[[Any], bool]:
    return lambda value: is_a(value, module, name)


def _several(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))
                          and not is_a(value, "torch", "Tensor") and all(map(test, value)))


def _any(value: object) -> bool:
    return True


_TENSOR: Kind = ("a tensor", _instance("torch", "Tensor"))
_MODULE: Kind = ("a torch.nn.Module", _instance("torch.nn", "Module"))
_KINDS: dict[str, Kind] = {
    "int": ("an integer", is_whole),
    "float": ("a finite number", is_number),
    "bool": ("True or False", lambda value: isinstance(value, bool)),
    "str": ("a string", lambda value: isinstance(value, str)),
    "None": ("None", lambda value: value is None),
    "Path": ("a path", lambda value: isinstance(value, os.PathLike)),
    "os.PathLike": ("a path", lambda value: isinstance(value, os.PathLike)),
    "torch.Tensor": _TENSOR, "Tensor": _TENSOR, "nn.Module": _MODULE,
    "torch.dtype": ("a dtype such as torch.float32", _instance("torch", "dtype")),
    "Declaration": ("a declaration such as pe.per_head(0.0)",
                    _instance("pe_attention._declare", "Declaration")),
    "Sequence[int]": ("integers as in (1, 2)", _several(is_whole)),
    "Sequence[float]": ("numbers as in (1.0, 2.0)", _several(is_number)),
    "Sequence[str]": ("strings as in (\"a\", \"b\")",
                      _several(lambda value: isinstance(value, str))),
    "Sequence": ("a list or tuple", _several(_any)),
    "Iterable": ("an iterable", lambda value: isinstance(value, Iterable)
                 and not isinstance(value, str)),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "Callable": ("a function", callable),
}


def _alternatives(annotation: str) -> list[str]:
    """Splits "A | B[C | D]" at the bars outside brackets."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _kinds_of(annotation: object) -> list[Kind]:
    """Returns the kinds that an annotation accepts, or an empty list if they cannot be checked."""
    kinds: list[Kind] = []
    for part in _alternatives(annotation) if isinstance(annotation, str) else ():
        kind = _KINDS.get(part) or _KINDS.get(part.partition("[")[0])
        if kind is None:
            return []
        kinds.append(kind)
    return kinds


class Words(NamedTuple):
    """The vocabulary of other libraries, which improves the messages about unknown arguments."""

    # The reason why an argument is not needed, or its replacement. "*" is the advice for extra
    # arguments by position.
    hints: Mapping[str, str] = {}
    # Other names of the arguments; a name that the function lacks is ignored.
    aliases: Mapping[str, str] = {}


class _Parameters:
    """Checks the arguments of one function."""

    def __init__(self, function: Callable[..., Any], least: Mapping[str, int], words: Words,
                 name: str) -> None:
        self.signature = inspect.signature(function)
        self.least, self.words, self.name = least, words, name
        self.parameters = list(self.signature.parameters.values())
        self.is_method = bool(self.parameters) and self.parameters[0].name == "self"
        self.kinds = {p.name: _kinds_of(p.annotation) for p in self.parameters}

    def check(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        try:
            bound = self.signature.bind(*arguments, **named)
        except TypeError:
            raise self.mismatch(arguments, named) from None
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                for key, each in value.items():
                    self._check_one(key, each, self.kinds[name])
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                for number, each in enumerate(value):
                    self._check_one(f"{name}[{number}]", each, self.kinds[name])
            else:
                self._check_one(name, value, self.kinds[name])

    def _check_one(self, name: str, value: Any, kinds: list[Kind]) -> None:
        least = self.least.get(name, self.least.get("*"))
        if kinds and not any(test(value) for _, test in kinds):
            words = [text for text, _ in kinds]
            if least is not None and "an integer" in words:
                words[words.index("an integer")] += f" of at least {least}"
            raise InputError(f"{name}: expected {' or '.join(words)}, found {found(value)}")
        if least is not None and isinstance(value, numbers.Integral) and value < least and \
                any(text == "an integer" for text, _ in kinds):
            raise InputError(f"{name}: expected an integer of at least {least}, found {value}")

    def mismatch(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> InputError:
        """Returns the error for a call that does not match the signature."""
        parameters = self.parameters[self.is_method:]
        given = len(arguments) - self.is_method
        positional = [p.name for p in parameters
                      if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        unknown = [self._unknown(key, named[key], names) for key in named if key not in names]
        if unknown:
            return InputError(f"{self.name}: {'; '.join(unknown)}")
        twice = [name for name in positional[:given] if name in named]
        if twice:
            return InputError(f"{self.name}: expected {twice[0]} once, found it both by position "
                              f"and by name")
        if given > len(positional) and not takes_more:
            rest = [name for name in names if name not in positional]
            advice = self.words.hints.get("*") or (
                f"pass {_listed(rest, 'or')} by name" if rest else "")
            return InputError(f"{self.name}: expected {_at_most(positional)}, found {given}"
                              f"{'; ' + advice if advice else ''}")
        missing = [p.name for p in parameters if p.default is p.empty and p.name not in named
                   and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
                   and p.name not in positional[:given]]
        return InputError(f"{self.name}: expected {_listed(missing) or 'other arguments'}, found "
                          f"none; the arguments are {_listed(names or positional)}")

    def _unknown(self, key: str, value: Any, names: Sequence[str]) -> str:
        hints, meant = self.words.hints, self.words.aliases.get(key, key)
        hint = hints.get(key) or hints.get(meant, "")
        if meant in names:
            hint = f"write {meant}={found(value)}"
        elif not hint:
            close = _closest(key, names)
            hint = (f"did you mean {close}?" if close
                    else f"the arguments are {_listed(names)}" if names else "")
        return f"expected no argument {key}, found {found(value)}{'; ' + hint if hint else ''}"


def _listed(names: Iterable[str], word: str = "and") -> str:
    *rest, last = list(names) or [""]
    return f"{', '.join(rest)} {word} {last}" if rest else last


def _at_most(positional: list[str]) -> str:
    if not positional:
        return "no arguments by position"
    count = len(positional)
    return (f"at most {count} argument{'s' if count > 1 else ''} by position "
            f"({', '.join(positional)})")


def _closest(name: str, names: Iterable[str]) -> str:
    """Returns the most similar known name, or "" if no name is similar."""
    import difflib

    near = difflib.get_close_matches(name.lower(), list(names), 1, 0.7)
    return near[0] if near else ""


# --- Decorators --------------------------------------------------------------

# Returns whether torch.compile is tracing. `_ops` replaces it by PyTorch's function.
is_compiling: Callable[[], bool] = lambda: False


# Advice for encodings that are constructed inside a compiled function.
OUTSIDE = ("create the encoding outside, for example in __init__ of the model, and use it in the "
           "compiled function")
# Checkers of the functions called so far. They are global because Dynamo cannot trace a closure
# that contains them.
_checked: dict[Callable[..., Any], _Parameters] = {}


def _outside_graphs(function: Function, run: Callable[..., Any],
                    outside: str) -> Callable[..., Any]:
    """Returns a function that runs `run` without Dynamo. The attributes are those that
    torch.compiler.disable sets; its import takes seconds, so it is imported in the call, where
    Dynamo is loaded already."""

    def eager(*arguments: Any, **named: Any) -> Any:
        import torch

        return torch.compiler.disable(run)(*arguments, **named)

    eager.__qualname__ = function.__qualname__
    eager._torchdynamo_disable = True  # type: ignore[attr-defined]
    eager._torchdynamo_disable_msg = outside  # type: ignore[attr-defined]
    return eager


def checked(*, least: Mapping[str, int] | None = None, name: str = "", outside: str = "",
            words: Words = Words()) -> Callable[[Function], Function]:
    """Checks the names, the number and the types of all arguments before each call.

    `least` maps parameters to the lower bounds of their integers; "*" is the bound of all
    others. `outside` is the advice for a call that a compiled graph cannot contain: the call breaks
    the graph and runs eagerly, or raises an error with this text under fullgraph=True.
    """

    def decorate(function: Function) -> Function:
        def run(*arguments: Any, **named: Any) -> Any:
            known = _checked.get(function)
            if known is None:
                known = _checked[function] = _Parameters(function, least or {}, words,
                                                         name or function.__name__)
            known.check(arguments, named)
            return function(*arguments, **named)

        eager = _outside_graphs(function, run, outside)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if is_compiling():
                return (eager if outside else function)(*arguments, **named)
            # After a graph break Dynamo still traces the frames of functions that are called.
            if outside and "torch._dynamo" in sys.modules:
                return eager(*arguments, **named)
            return run(*arguments, **named)

        return call  # type: ignore[return-value]

    return decorate


def named(hints: Mapping[str, str], name: str = "",
          outside: str = "") -> Callable[[Function], Function]:
    """Checks only the names and the number of arguments, and only after a call has failed to bind:
    a valid call costs one extra frame. `outside` is that of `checked`."""

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters
        known = frozenset(parameters)
        eager = _outside_graphs(function, function, outside)
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if is_compiling():
                if outside:
                    return eager(*arguments, **named)
                for key in named:
                    if not takes_any and key not in known:
                        raise InputError(f"{key}: expected no such argument; {hints.get(key, '')}")
                return function(*arguments, **named)
            try:
                return function(*arguments, **named)
            except TypeError as error:
                trace = error.__traceback__
                if trace is None or trace.tb_next is not None:  # raised inside the function
                    raise
            every = _Parameters(function, {}, Words(hints), name or function.__name__)
            raise every.mismatch(arguments, named)

        return call  # type: ignore[return-value]

    return decorate


def check_constructor(cls: type, words: Words = Words()) -> None:
    """Makes the constructor of a class `checked`, with a lower bound of 1 for integers, and
    its `forward` `named`."""
    make = checked(least={"*": 1}, name=cls.__name__, outside=OUTSIDE, words=words)
    cls.__init__ = make(cls.__init__)  # type: ignore[misc]
    if "forward" in vars(cls):
        setattr(cls, "forward", named({}, cls.__name__)(vars(cls)["forward"]))
