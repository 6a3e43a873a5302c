"""Implements the functions, methods and operators of PyTorch for traced values."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .._activations import ACTIVATIONS
from . import values
from .custom import refuse_custom_gradients
from .forms import advice_on
from .graph import REAL, TRUTH, WHOLE
from .numbers import FUNCTIONS, Function
from .place import refuse
from .tracer import Tracer
from .values import Array, Chain, Index, Number, Value, function_name

_ALIASES = {
    "truediv": "div", "true_divide": "div", "divide": "div", "rdiv": "rdiv", "rtruediv": "rdiv",
    "subtract": "sub", "multiply": "mul", "floordiv": "floor_divide", "rfloordiv": "rfloor_divide",
    "mod": "remainder", "absolute": "abs", "negative": "neg", "invert": "bitwise_not",
    "clip": "clamp", "radd": "add", "rmul": "mul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "rand": "bitwise_and", "ror": "bitwise_or", "rxor": "bitwise_xor",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "fix": "trunc", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "expit": "sigmoid", "rmod": "rremainder", "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift", "view": "reshape", "type": "to",
}
_TRUTHS = ("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not",
           "logical_xor", "isnan", "bool")
# Sums of arrays are unrolled up to this number of terms.
_MOST_TERMS = 128

_state = threading.local()


def _tracer() -> Tracer:
    tracer: Tracer | None = getattr(_state, "tracer", None)
    if tracer is None:
        raise refuse("a traced value was used outside the formula")
    return tracer


def call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Evaluates torch.NAME, a method or an operator on traced values."""
    name = _ALIASES.get(name, name)
    if name.startswith("r") and name[1:] in FUNCTIONS and name not in FUNCTIONS:
        name, args = name[1:], tuple(reversed(args))
    tracer = _tracer()
    structural = _STRUCTURAL.get(name)
    try:
        if structural is not None:
            return structural(tracer, *args, **kwargs)
        if name in FUNCTIONS:
            return _elementwise(tracer, name, args, kwargs)
    except TypeError as error:
        raise refuse(f"{name}: {str(error).split('() ')[-1]}") from None
    raise refuse(_unknown(name))


def _unknown(name: str) -> str:
    if name in _TO_PYTHON:
        return f"{_TO_PYTHON[name]} needs a concrete number, found a traced value; use the " \
               f"value directly"
    if known_advice := advice_on(name):
        return f"{name} is not supported in a formula; {known_advice}"
    known = [*FUNCTIONS, *_STRUCTURAL, *_ALIASES]
    close = difflib.get_close_matches(name, [n for n in known if n != "plain_add"], 3, 0.75)
    advice = f"; did you mean {' or '.join(close)}?" if close else (
        "; write it with arithmetic, comparisons, torch.where, clamp, exp, log, sqrt, sin, tanh, "
        "sigmoid or similar functions")
    return f"{name} is not supported in a formula, which computes one number per pair{advice}"


# Numbers and arrays of numbers


def _elementwise(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    function = FUNCTIONS[name]
    if args and isinstance(args[0], Chain) and name in ACTIVATIONS and _is_exact(kwargs):
        chain = args[0].with_activation(name)
        if chain is not None:
            return chain
    if name in ("clamp_max",):
        args, kwargs = args[:1], {"max": args[1] if len(args) > 1 else kwargs.get("max")}
    if name in ("max", "min") and (len(args) != 2 or isinstance(args[1], int)):
        raise refuse(f"torch.{name} of one tensor is not supported in a formula; write "
                     f"torch.{name}imum(a, b)")
    keywords = {k: v if v is None or isinstance(v, (str, bool)) else tracer.lift(v)
                for k, v in kwargs.items()}
    keywords = {k: v for k, v in keywords.items() if k not in ("out", "memory_format")}
    lifted = [a if a is None or isinstance(a, str) else tracer.lift(a) for a in args]
    parts = [*lifted, *keywords.values()]
    if all(not isinstance(p, Array) or p.numel() == 1 for p in parts):
        numbers = [_number(p) for p in lifted]
        return function(tracer, *numbers, **{k: _number(v) for k, v in keywords.items()})
    return _over_arrays(tracer, name, function, lifted, keywords)


def _is_exact(kwargs: Mapping[str, Any]) -> bool:
    return bool(kwargs.get("approximate", "none") == "none")


def _number(value: Any) -> Any:
    return value.only() if isinstance(value, Array) else value


def _over_arrays(tracer: Tracer, name: str, function: Function, args: Sequence[Any],
                 kwargs: Mapping[str, Any]) -> Array:
    """Applies a function elementwise; elements are computed when they are read."""
    from .place import here

    arrays = [a for a in [*args, *kwargs.values()] if isinstance(a, Array)]
    shape = _broadcast(name, arrays)
    place = here()

    def part(value: Any, index: Index) -> Any:
        if not isinstance(value, Array):
            return value
        own = index[len(index) - value.ndim:]
        return value.element(tuple(tracer.constant(0) if size == 1 else n
                                   for n, size in zip(own, value.shape, strict=True)))

    def element(index: Index) -> Number:
        with tracer.at(place):
            keywords = {k: part(v, index) for k, v in kwargs.items()}
            return function(tracer, *(part(a, index) for a in args), **keywords)

    kind = TRUTH if name in _TRUTHS else REAL if any(
        a.kind == REAL for a in arrays) or name not in ("add", "sub", "mul", "neg") else WHOLE
    return Array(tracer, shape, kind, element, name=f"{name} of tensors")


def _broadcast(name: str, arrays: Sequence[Array]) -> list[int]:
    """Returns the broadcast shape: from the last axis on, sizes are equal or 1."""
    rank = max(array.ndim for array in arrays)
    padded = [(1,) * (rank - array.ndim) + array.shape for array in arrays]
    shape: list[int] = []
    for sizes in zip(*padded, strict=True):
        wanted = {size for size in sizes if size != 1}
        if len(wanted) > 1:
            found = " and ".join(str(list(array.shape)) for array in arrays)
            raise refuse(f"{name}: expected tensors with compatible shapes, found {found}")
        shape.append(wanted.pop() if wanted else 1)
    return shape


# Indexing and shapes


def _getitem(tracer: Tracer, value: Any, key: Any) -> Any:
    array = tracer.lift(value)
    keys = key if isinstance(key, tuple) else (key,)
    if isinstance(array, Number):
        if all(k is None or k is Ellipsis for k in keys):
            return _row(tracer, array, sum(k is None for k in keys))
        raise refuse("a number has no elements; index a tensor, as in table[h]")
    used = sum(k is not None and k is not Ellipsis for k in keys)
    if used > array.ndim:
        raise refuse(f"expected at most {array.ndim} indices of {array!r}, found {used}")
    if not any(k is Ellipsis for k in keys):
        keys = (*keys, Ellipsis)
    plan: list[Number | int | None] = []  # a fixed index, an axis of the result, or a new axis
    shape: list[int] = []
    axis = 0
    for item in keys:
        if item is Ellipsis or (isinstance(item, slice) and item == slice(None)):
            for _ in range(array.ndim - used if item is Ellipsis else 1):
                plan.append(len(shape))
                shape.append(array.shape[axis])
                axis += 1
        elif item is None:
            shape.append(1)
        else:
            plan.append(_index(tracer, array, axis, item))
            axis += 1

    def element(index: Index) -> Number:
        return array.element(tuple(index[p] if isinstance(p, int) else p
                                   for p in plan if p is not None))

    if not shape:
        return element(())
    return Array(tracer, shape, array.kind, element, name=array.name)


def _index(tracer: Tracer, array: Array, axis: int, item: Any) -> Number:
    if isinstance(item, slice) or isinstance(item, (list, tuple)):
        raise refuse(f"expected a number, a : or None as an index of {array!r}, found {item!r}")
    number = _number(tracer.lift(item))
    if not isinstance(number, Number) or number.kind == REAL:
        raise refuse(f"expected an integer as index {axis} of {array!r}, found a real one; "
                     f"write .long()")
    value = tracer.whole(number).constant
    if value is None:
        return tracer.whole(number)
    size = array.shape[axis]
    if not -size <= value < size:
        raise refuse(f"expected an index from {-size} to {size - 1} on axis {axis} of {array!r}, "
                     f"found {value}")
    return tracer.constant(int(value) % size)


def _row(tracer: Tracer, x: Number | Array, axes: int = 1) -> Array:
    """Returns an array that contains one number."""
    number: Number = _number(x)
    return Array(tracer, (1,) * axes, number.kind, lambda index: number)


def _unsqueeze(tracer: Tracer, x: Any, dim: int = -1) -> Array:
    array = tracer.lift(x)
    if isinstance(array, Number):
        return _row(tracer, array)
    keys: list[Any] = [slice(None)] * array.ndim
    keys.insert(dim if dim >= 0 else array.ndim + 1 + dim, None)
    result = _getitem(tracer, array, tuple(keys))
    assert isinstance(result, Array)
    return result


def _squeeze(tracer: Tracer, x: Any, dim: int | None = None) -> Any:
    array = tracer.lift(x)
    if isinstance(array, Number):
        return array
    axes = range(array.ndim) if dim is None else [dim % array.ndim]
    keys = tuple(0 if n in axes and size == 1 else slice(None)
                 for n, size in enumerate(array.shape))
    return _getitem(tracer, array, keys)


def _reshape(tracer: Tracer, x: Any, *shape: Any) -> Any:
    array = tracer.lift(x)
    if isinstance(array, Array) and array.numel() != 1:
        raise refuse(f"reshape of {array!r} is not supported in a formula; reshape it outside, or "
                     f"index it without reshape")
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _row(tracer, array, len(sizes)) if sizes else _number(array)


def _stack(tracer: Tracer, tensors: Sequence[Any], dim: int = 0) -> Array:
    numbers = [_number(tracer.lift(x)) for x in tensors]
    if len(numbers) != 1:
        raise refuse(f"stack: expected one number, as the input of a network, found "
                     f"{len(numbers)}; write an expression for each")
    return _row(tracer, numbers[0])


# Networks and sums


def _linear(tracer: Tracer, x: Any, weight: Any, bias: Any = None) -> Chain:
    arrays = [tracer.lift(weight), tracer.lift(bias if bias is not None else
                                               torch.zeros(len(weight)))]
    w, b = (_whole_tensor(a, name) for a, name in zip(arrays, ("weight", "bias"), strict=True))
    if w.ndim != 2 or b.shape != w.shape[:1]:
        raise refuse(f"linear: expected a weight [outputs, inputs] and a bias [outputs], found "
                     f"{list(w.shape)} and {list(b.shape)}")
    if isinstance(x, Chain):
        inputs, before = x.shape[0], x
    else:
        number = tracer.lift(x)
        if isinstance(number, Array) and number.numel() != 1:
            raise refuse(f"linear: expected one number as the input of the network, found "
                         f"{number!r}")
        inputs, before = 1, None
    if w.shape[1] != inputs:
        raise refuse(f"linear: expected a weight [outputs, {inputs}], found {list(w.shape)}")
    if before is None:
        return Chain(tracer, tracer.real(_number(number)), [(w, b)], [])
    activated = before if len(before.activations) == len(before.layers) else \
        before.with_activation("identity")
    assert activated is not None
    return Chain(tracer, before.x, [*before.layers, (w, b)], activated.activations)


def _whole_tensor(array: Number | Array, name: str) -> Array:
    if not isinstance(array, Array) or array.source is None or array.kind != REAL:
        raise refuse(f"linear: expected a parameter or a tensor of real numbers as {name}, found "
                     f"{array!r}")
    return array


def _reduction(name: str, step: str, empty: bool | float) -> Callable[..., Number]:
    def reduce(tracer: Tracer, x: Any, dim: Any = None, keepdim: bool = False,
               **options: Any) -> Number:
        array = tracer.lift(x)
        if isinstance(array, Number):
            return array
        if array.ndim != 1 or keepdim:
            raise refuse(f"{name}: expected a tensor with one axis, found {array!r}; index the "
                         f"others")
        if array.shape[0] > _MOST_TERMS:
            raise refuse(f"{name}: expected at most {_MOST_TERMS} terms, found {array.shape[0]}")
        total: Number | None = None
        for n in range(array.shape[0]):
            term = array.element((tracer.constant(n),))
            if step != "add":
                term = FUNCTIONS["bool"](tracer, term)
            total = term if total is None else FUNCTIONS[step](tracer, total, term)
        return total if total is not None else tracer.constant(empty)

    return reduce


_sum = _reduction("sum", "add", 0.0)


def _dot(tracer: Tracer, a: Any, b: Any) -> Number:
    product = _elementwise(tracer, "mul", (a, b), {})
    return _sum(tracer, product)


# Types and constants


def _to(tracer: Tracer, x: Any, *args: Any, **kwargs: Any) -> Any:
    kind = kwargs.get("dtype")
    for argument in args:
        if isinstance(argument, torch.dtype):
            kind = argument
        elif isinstance(argument, (torch.Tensor, Value)):
            kind = argument.dtype
    if kind is None:
        return x
    name = "float" if kind.is_floating_point else "bool" if kind == torch.bool else "long"
    return _elementwise(tracer, name, (x,), {})


def _filled(value: float | None) -> Callable[..., Number | Array]:
    def like(tracer: Tracer, x: Any, fill_value: Any = None, *, dtype: torch.dtype | None = None,
             **options: Any) -> Number | Array:
        kind = dtype or x.dtype
        number = fill_value if value is None else value
        if isinstance(number, Value):
            return tracer.lift(number)
        return tracer.constant(float(number) if kind.is_floating_point else int(number))

    return like


_STRUCTURAL: dict[str, Callable[..., Any]] = {
    "getitem": _getitem, "unsqueeze": _unsqueeze, "squeeze": _squeeze, "reshape": _reshape,
    "flatten": _reshape, "stack": _stack, "linear": _linear, "sum": _sum, "dot": _dot,
    "any": _reduction("any", "logical_or", False), "all": _reduction("all", "logical_and", True),
    "matmul": _dot, "to": _to, "type_as": _to, "zeros_like": _filled(0.0),
    "ones_like": _filled(1.0), "full_like": _filled(None),
    "new_tensor": lambda tracer, x, value, **options: tracer.lift(value),
}


# Functions that convert a tensor to Python numbers.
_TO_PYTHON = {"item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()", "__array__": "numpy",
              "__float__": "float()", "__int__": "int()", "__bool__": "a boolean",
              "__index__": "an index or a bound of range()", "__complex__": "complex()"}


class _Watch(TorchFunctionMode):
    """Intercepts PyTorch functions during tracing, also on plain tensors: functions that a formula
    supports become steps, and the results of others are recorded."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(self, func: Callable[..., Any], types: Sequence[type],
                           args: Sequence[Any] = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        found = list(_flat([*args, *kwargs.values()]))
        name = function_name(func)
        if any(isinstance(x, Value) for x in found):
            return call(name, args, kwargs)
        made = self.tracer.made
        tensors = [x for x in found if isinstance(x, torch.Tensor)]
        outside = [x for x in tensors if not made.get(id(x), (x, False))[1]]
        plain = _ALIASES.get(name, name)
        method = getattr(func, "__name__", "")
        if outside and method in _TO_PYTHON:
            raise refuse(f"{_TO_PYTHON[method]} would make the tensor's current value a constant "
                         f"of the formula; use the tensor itself, which every call reads")
        if outside and (plain in FUNCTIONS or plain in _STRUCTURAL):
            return call(name, args, kwargs)
        result = func(*args, **kwargs)
        for tensor in _flat([result]):
            if isinstance(tensor, torch.Tensor) and not any(tensor is x for x in tensors):
                made[id(tensor)] = (tensor, not outside)
        return result


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        else:
            yield value


@contextmanager
def watch(tracer: Tracer) -> Iterator[None]:
    """Makes calls on traced values and tensors steps of `tracer` within the context."""
    before = getattr(_state, "tracer", None)
    _state.tracer = tracer
    values._dispatch[:] = [call]
    try:
        with refuse_custom_gradients(), _Watch(tracer):
            yield
    finally:
        _state.tracer = before
