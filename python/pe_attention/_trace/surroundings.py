"""Detects changes of the values that a function refers to.

A formula is traced once. Python numbers in its closure, in globals and in objects such as `self`
become constants, and tensors become arguments. Each call therefore reads these values again, by
code that loads the same names and attributes as the function, and compares them: numbers by value,
tensors by identity. In compiled PyTorch code the reads become guards of the graph.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from .place import _skipped

# A name followed by attributes: ("self", "t") is self.t.
Path = tuple[str, ...]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), frozenset, torch.dtype, torch.device)
# Larger containers are compared by identity only.
_MOST_ITEMS = 256


class Surroundings:
    """The values read by a function and by the user's functions that it calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.names: list[str] = []
        self.reads: list[Callable[[], tuple[Any, ...]]] = []
        self.seen: list[tuple[Any, ...]] = []
        # Tensors of modules that the function calls, as (module, name, tensor).
        self.places: list[tuple[torch.nn.Module, str, torch.Tensor]] = []
        self._visited: set[tuple[int, int]] = set()
        self._modules: list[torch.nn.Module] = []
        self._visit(function)

    def changed(self) -> str | None:
        """Returns the name of a value that has changed, or None. Dynamo traces this function."""
        at = 0
        for read, seen in zip(self.reads, self.seen):
            for value, before in zip(read(), seen):
                if value is not before and not _is_same(value, before):
                    return self.names[at]
                at += 1
        for owner, name, tensor in self.places:
            if getattr(owner, name) is not tensor:
                return name
        return None

    def owned(self) -> set[int]:
        """Returns the ids of the parameters of all modules that the function refers to."""
        return {id(p) for module in self._modules for p in module.parameters()}

    def watch_only(self, tensors: Iterable[torch.Tensor]) -> None:
        """Keeps only those tensors of modules that the formula reads."""
        read = {id(tensor) for tensor in tensors}
        self.places = [place for place in self.places if id(place[2]) in read]

    # Collecting values

    def _visit(self, function: Any) -> None:
        while isinstance(function, functools.partial):
            function = function.func
        if isinstance(function, torch.nn.Module):
            self._add_module(function)
            return
        owner = getattr(function, "__self__", None)
        plain = inspect.unwrap(getattr(function, "__func__", function))
        if not isinstance(plain, types.FunctionType):
            call = getattr(type(function), "__call__", None)
            if not isinstance(call, types.FunctionType):
                return
            plain, owner = call, function
        key = (id(plain.__code__), id(owner))
        if key in self._visited or plain.__code__.co_filename.startswith(_skipped()):
            return
        self._visited.add(key)
        if isinstance(owner, torch.nn.Module):
            self._modules.append(owner)
        first = plain.__code__.co_varnames[0] if owner is not None and \
            plain.__code__.co_argcount else ""
        self._read(plain, owner, first)

    def _read(self, plain: types.FunctionType, owner: Any, first: str) -> None:
        """Adds a reader for the paths whose values may change."""
        chosen: list[Path] = []
        for path in dict.fromkeys(_paths(plain.__code__, first)):
            path, value = self._follow(plain, owner, first, path)
            is_owner = path == (first,) and isinstance(value, torch.nn.Module)
            if path and not is_owner and self._is_followed(value):
                chosen.append(path)
        for value in plain.__defaults__ or ():
            self._is_followed(value)
        if not chosen:
            return
        read = _reader(plain, owner, first, chosen)
        self.reads.append(read)
        self.seen.append(tuple(_snapshot(value) for value in read()))
        self.names += [".".join(path) for path in chosen]

    def _follow(self, plain: types.FunctionType, owner: Any, first: str,
                path: Path) -> tuple[Path, Any]:
        """Returns the longest prefix of the path that refers to a stored value, and the value; ()
        if there is none. Properties are visited as code instead."""
        try:
            value = _root(plain, owner, first, path[0])
        except (KeyError, ValueError):  # a builtin, or an empty cell
            return (), None
        for depth, name in enumerate(path[1:], 1):
            if isinstance(value, torch.Tensor):
                # the remaining attributes, such as its shape, belong to the tensor
                return path[:depth], value
            if isinstance(value, torch.nn.Module):
                self._modules.append(value)
            static = inspect.getattr_static(type(value), name, None)
            if isinstance(static, property):
                if static.fget is not None:
                    self._visit(types.MethodType(static.fget, value))
                return (), None
            try:
                value = getattr(value, name)
            except AttributeError:
                return path[:depth], value
        return path, value

    def _is_followed(self, value: Any) -> bool:
        """Returns whether the value must be compared. Functions and modules are visited."""
        if isinstance(value, (types.ModuleType, type, types.BuiltinFunctionType)):
            return False
        if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
            self._visit(value)
            code = getattr(inspect.unwrap(getattr(value, "__func__", value)), "__code__", None)
            return code is not None and not code.co_filename.startswith(_skipped())
        if isinstance(value, torch.nn.Module):
            self._add_module(value)
            return True
        return isinstance(value, (*_PLAIN, torch.Tensor, list, tuple, dict, set, frozenset)) or \
            bool(getattr(value, "__dict__", None))

    def _add_module(self, module: torch.nn.Module) -> None:
        """Adds the tensors of a module that the function calls, and the values that a user-defined
        `forward` reads."""
        self._modules.append(module)
        for part in module.modules():
            for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
                if tensor is not None:
                    self.places.append((part, name, tensor))
            forward = getattr(part, "forward", None)
            if isinstance(forward, types.MethodType):
                self._visit(forward)


def _root(plain: types.FunctionType, owner: Any, first: str, name: str) -> Any:
    if name == first:
        return owner
    if name in plain.__code__.co_freevars:
        cells = plain.__closure__ or ()
        return cells[plain.__code__.co_freevars.index(name)].cell_contents
    return plain.__globals__[name]


def _paths(code: types.CodeType, first: str, free: Sequence[str] | None = None) -> Iterator[Path]:
    """Yields the closure and global names that code loads, each with the attributes that follow."""
    free = code.co_freevars if free is None else free
    path: list[str] = []
    for instruction in dis.get_instructions(code):
        op, value = instruction.opname, instruction.argval
        if path and op in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(value)
            continue
        if path:
            yield tuple(path)
        path = []
        if op in ("LOAD_GLOBAL", "LOAD_NAME") or (op.endswith("DEREF") and op.startswith("LOAD")
                                                  and (value in free or value == first)):
            path = [value]
        elif op.startswith("LOAD_FAST"):
            names = value if isinstance(value, tuple) else (value,)
            path = [first] if first and names[-1] == first else []
    if path:
        yield tuple(path)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _paths(constant, first, free)


def _reader(plain: types.FunctionType, owner: Any, first: str,
            paths: Sequence[Path]) -> Callable[[], tuple[Any, ...]]:
    """Returns a function that loads the paths from the cells and globals of `plain`."""
    free = plain.__code__.co_freevars
    # The owner of a method becomes a default argument of the reader.
    given = "owner" if first else ""
    texts = [".".join([given if part == first and first else part, *rest])
             for part, *rest in paths]
    source = (f"def make({', '.join(free)}):\n"
              f"    def read({given}):\n        return ({', '.join(texts)},)\n    return read\n")
    space: dict[str, Any] = {}
    exec(compile(source, "<surroundings>", "exec"), space)
    made = space["make"](*[None] * len(free)).__code__
    cells = dict(zip(free, plain.__closure__ or (), strict=True))
    return types.FunctionType(made, plain.__globals__, "read", (owner,) if first else (),
                              tuple(cells[name] for name in made.co_freevars))


class _Items:
    """A copy of a container's items or of an object's plain attributes."""

    def __init__(self, of: Any, items: tuple[Any, ...]) -> None:
        self.of, self.items = of, items


def _items(value: Any) -> tuple[Any, ...]:
    if isinstance(value, dict):
        return tuple(item for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, set):
        return frozenset(value),
    return tuple(item for name, item in vars(value).items()
                 if isinstance(item, (*_PLAIN, torch.Tensor)) and not name.startswith("_")
                 and name != "training")


def _snapshot(value: Any) -> Any:
    is_object = bool(getattr(value, "__dict__", None)) and not isinstance(
        value, (torch.Tensor, torch.nn.Module, types.FunctionType, types.MethodType,
                functools.partial))
    if not isinstance(value, (list, tuple, dict, set)) and not is_object:
        return value
    items = _items(value)
    if len(items) > _MOST_ITEMS:
        return value
    return _Items(value, tuple(_snapshot(item) for item in items))


def _is_same(value: Any, before: Any) -> bool:
    if isinstance(before, _Items):
        if value is not before.of and not isinstance(value, tuple):
            return False
        items = _items(value)
        return len(items) == len(before.items) and all(
            [_is_same(one, other) for one, other in zip(items, before.items)])
    return value is before or type(value) is type(before) and isinstance(
        value, (*_PLAIN, types.MethodType)) and bool(value == before)
