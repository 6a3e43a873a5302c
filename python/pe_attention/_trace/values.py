"""Values that represent numbers and tensors during tracing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .graph import REAL, TRUTH, WHOLE
from .place import expression_here, refuse

if TYPE_CHECKING:
    import torch

    from .tracer import Tracer

Index = tuple["Number", ...]
# The dispatch to the handlers of functions.py, which sets it.
Dispatch = Callable[..., Any]
_dispatch: list[Dispatch] = []


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    return _dispatch[0](name, args, kwargs)


class Value:
    """A traced value: a `Number` or an `Array`."""

    tracer: Tracer
    kind: str

    @classmethod
    def __torch_function__(cls, func: Callable[..., Any], types: Sequence[type],
                           args: Sequence[Any] = (),
                           kwargs: Mapping[str, Any] | None = None) -> Any:
        return _call(function_name(func), *args, **(kwargs or {}))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> NoReturn:
        raise refuse(f"numpy.{ufunc.__name__} cannot take a traced number; write "
                     f"torch.{ufunc.__name__}")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise refuse("numpy cannot take a traced number; use the function of torch")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: _call(name, self, *args, **kwargs)

    @property
    def dtype(self) -> torch.dtype:
        import torch

        return {WHOLE: torch.int64, REAL: torch.float32, TRUTH: torch.bool}[self.kind]

    @property
    def device(self) -> torch.device:
        import torch

        return torch.device("cpu")

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise refuse("this has no value while the formula is traced, so it cannot be used in `if`, "
                     "`and`, `or`, `not`, min() and max(); write torch.where(condition, a, b), &, "
                     "| and ~, torch.minimum and torch.maximum, and (a <= x) & (x < b) for a <= x "
                     "< b")

    def _no_number(self, function: str) -> NoReturn:
        text = expression_here()
        if text.startswith("math.") and "(" in text:
            name = text[len("math."):text.index("(")]
            raise refuse(f"math.{name} needs a concrete number, found a traced value; write "
                         f"torch.{name}")
        raise refuse(f"{function} needs a concrete number, found a traced value; use a function of "
                     f"torch, such as torch.exp, .float() or .long()")

    def __float__(self) -> NoReturn:
        self._no_number("float()")

    def __int__(self) -> NoReturn:
        self._no_number("int()")

    def __index__(self) -> NoReturn:
        self._no_number("an index or a bound of range()")

    def __complex__(self) -> NoReturn:
        self._no_number("complex()")

    def __round__(self, digits: int = 0) -> Any:
        return _call("round", self)

    def __trunc__(self) -> NoReturn:
        self._no_number("math.trunc")

    def __floor__(self) -> NoReturn:
        self._no_number("math.floor")

    def __ceil__(self) -> NoReturn:
        self._no_number("math.ceil")

    def __iter__(self) -> Iterator[Any]:
        raise refuse("a traced value cannot be iterated over; index it, as in table[h]")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise refuse("a formula cannot assign to elements; write torch.where(condition, a, b)")


def function_name(func: Callable[..., Any]) -> str:
    """Returns the name of a torch function without underscores: add for torch.add, radd for
    __radd__, tanh for torch.ops.aten.tanh, library::f for an operator of another library."""
    schema = getattr(func, "_schema", None)  # of an operator
    if schema is not None:
        return str(schema.name).removeprefix("aten::").strip("_")
    name = getattr(func, "__name__", str(func))
    if name == "__get__":  # an attribute of a tensor, such as .T
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return name.removeprefix("special_").strip("_")


def _forward(name: str) -> Callable[..., Any]:
    return lambda self, *args: _call(name, self, *args)


def _reverse(name: str) -> Callable[..., Any]:
    return lambda self, other: _call(name, other, self)


_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
           "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or",
           "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
           "matmul": "matmul"}
for _short, _long in _BINARY.items():
    setattr(Value, f"__{_short}__", _forward(_long))
    setattr(Value, f"__r{_short}__", _reverse(_long))
for _short in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Value, f"__{_short}__", _forward(_short))
for _short, _long in {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not",
                      "getitem": "getitem"}.items():
    setattr(Value, f"__{_short}__", _forward(_long))


class Number(Value):
    """One number: a step of the graph."""

    def __init__(self, tracer: Tracer, step: int, kind: str) -> None:
        self.tracer, self.step, self.kind = tracer, step, kind

    shape: tuple[int, ...] = ()
    ndim = 0

    def __repr__(self) -> str:
        node = self.tracer.graph.nodes[self.step]
        return str(node.data) if node.op in ("input", "constant") else f"<{self.kind} {node.op}>"

    @property
    def constant(self) -> bool | int | float | None:
        """Returns the value if it is constant."""
        node = self.tracer.graph.nodes[self.step]
        if node.op != "constant":
            return None
        assert isinstance(node.data, (bool, int, float))
        return node.data

    def is_input(self, name: str) -> bool:
        node = self.tracer.graph.nodes[self.step]
        return node.op == "input" and node.data == name


class Array(Value):
    """Numbers by index, computed on demand. `source` is the number of the tensor if the array is a
    whole tensor."""

    def __init__(self, tracer: Tracer, shape: Sequence[int], kind: str,
                 element: Callable[[Index], Number], source: int | None = None,
                 name: str = "") -> None:
        self.tracer, self.shape, self.kind = tracer, tuple(shape), kind
        self.element, self.source, self.name = element, source, name

    def __repr__(self) -> str:
        return f"<{self.name or 'tensor'} of shape {list(self.shape)}>"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise refuse("a number has no length")
        return self.shape[0]

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        return self.shape if axis is None else self.shape[axis]

    def numel(self) -> int:
        return math.prod(self.shape)

    def only(self) -> Number:
        """Returns the number of an array with one element."""
        if self.numel() != 1:
            head = ", as in " + (self.name or "it") + "[h]" if self.ndim == 1 else ""
            raise refuse(f"expected a number, found {self.name or 'a tensor'} of shape "
                         f"{list(self.shape)}; index it{head}")
        return self.element(tuple(self.tracer.constant(0) for _ in self.shape))


class Chain(Array):
    """The outputs of a network with one input, whose last layer may still receive an activation."""

    def __init__(self, tracer: Tracer, x: Number, layers: Sequence[tuple[Array, Array]],
                 activations: Sequence[str]) -> None:
        self.x, self.layers, self.activations = x, tuple(layers), tuple(activations)
        super().__init__(tracer, layers[-1][0].shape[:1], REAL, self._output, name="a layer")

    def with_activation(self, name: str) -> Chain | None:
        """Returns the chain with an activation appended, or None if it already has one."""
        if len(self.activations) == len(self.layers):
            return None
        return Chain(self.tracer, self.x, self.layers, (*self.activations, name))

    def _output(self, index: Index) -> Number:
        return self.tracer.network(self, index[0])
