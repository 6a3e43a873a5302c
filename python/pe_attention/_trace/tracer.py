"""The graph that a formula builds when it runs on values that record operations."""

from __future__ import annotations

import inspect
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .bounds import inputs_of, range_of, values_by_head
from .graph import REAL, TRUTH, WHOLE, Graph, Layers, Node, Place, Source
from .place import here, refuse
from .surroundings import Surroundings
from .values import Array, Chain, Index, Number, Value

if TYPE_CHECKING:
    import torch

# Reserved argument names of a program.
_TAKEN = frozenset({"q", "k", "v", "o", "lse", "seed", "sink", "b", "h", "i", "j", "s"})


class Tracer:
    """The graph under construction, and the tensors that the formula captures."""

    def __init__(self, inputs: Mapping[str, str], names: Mapping[int, str], *,
                 wraps: bool = False, heads: int | None = None) -> None:
        self.graph = Graph(tuple(inputs))
        # `wraps`: negative indices count from the end, as in PyTorch. `heads`: the number of heads.
        self.wraps, self.heads = wraps, heads
        self.surroundings: list[Surroundings] = []
        self.inputs = {name: Number(self, self.graph.add(Node("input", (), kind, name)), kind)
                       for name, kind in inputs.items()}
        self.captured: dict[str, torch.Tensor] = {}
        # Tensors by id: their names in the user's code. Tensors made by the formula are kept alive
        # so that no id is reused; for these the value True marks tensors computed from numbers
        # only.
        self.names = names
        self.made: dict[int, tuple[torch.Tensor, bool]] = {}
        self.place: Place | None = None  # the place of steps added lazily, for elements of arrays

    # Numbers

    def step(self, op: str, kind: str, *operands: Number, data: Any = None) -> Number:
        node = Node(op, tuple(n.step for n in operands), kind, data, self.place or here())
        return Number(self, self.graph.add(node), kind)

    @contextmanager
    def at(self, place: Place | None) -> Iterator[None]:
        """Assigns `place` to the steps added within the context, unless they have one."""
        before, self.place = self.place, self.place or place
        try:
            yield
        finally:
            self.place = before

    def constant(self, value: bool | int | float) -> Number:
        kind = TRUTH if isinstance(value, bool) else WHOLE if isinstance(value, int) else REAL
        if kind == WHOLE and abs(value) > 10**15:
            raise refuse(f"expected an integer of at most 10^15, found {value}")
        return self.step("constant", kind, data=value)

    def real(self, x: Number) -> Number:
        """Converts to a real number; booleans become 0 or 1."""
        if x.kind == REAL:
            return x
        if x.constant is not None:
            return self.constant(float(x.constant))
        return self.step("to_real", REAL, self.whole(x))

    def whole(self, x: Number) -> Number:
        """Converts booleans to 0 or 1, and rounds real numbers toward 0."""
        if x.kind == WHOLE:
            return x
        if x.constant is not None:
            return self.constant(int(x.constant))
        if x.kind == REAL:
            return self.step("to_whole", WHOLE, x)
        return self.step("select", WHOLE, x, self.constant(1), self.constant(0))

    def truth(self, x: Number) -> Number:
        if x.kind == TRUTH:
            return x
        return self.step("ne", TRUTH, x, self.constant(0.0 if x.kind == REAL else 0))

    # Tensors

    def tensor(self, source: Source) -> Array:
        number = self.graph.source(source)

        def read(index: Index) -> Number:
            index = tuple(self._index(source, axis, number) for axis, number in enumerate(index))
            kind = WHOLE if source.kind == TRUTH else source.kind
            element = self.step("read", kind, *index, data=number)
            return self.truth(element) if source.kind == TRUTH else element

        return Array(self, source.shape, source.kind, read, number, source.name)

    def _index(self, source: Source, axis: int, index: Number) -> Number:
        """Checks an index of this axis. With `wraps`, negative indices count from the end."""
        size, name = source.shape[axis], source.name or "the tensor"
        if source.per_head and axis == 0:
            self._check_head_index(source, index)
        if index.is_input("h") and source.captured:
            return index  # such an axis counts heads, and every call checks its size
        if not self.wraps:
            self._check_range(name, axis, size, index)
            return index
        low, _ = range_of(self.graph, index.step)
        if low is not None and low >= 0:
            return index
        negative = self.step("lt", TRUTH, index, self.constant(0))
        wrapped = self.step("add", WHOLE, index, self.constant(size))
        return self.step("select", WHOLE, negative, wrapped, index)

    def _check_head_index(self, source: Source, index: Number) -> None:
        found = [name for name in inputs_of(self.graph, index.step) if name != "h"]
        if not found:
            return
        what = found[0] if index.is_input(found[0]) else \
            f"an expression of {' and '.join(found)}"
        rank = len(source.shape)
        axis = "the axis" if rank == 1 else "the first axis"
        raise refuse(f"{axis} of {source.name} counts heads and is read at {what}; did you mean "
                     f"{source.name}[h{', ...' if rank > 1 else ''}]?", self.place)

    def _check_range(self, name: str, axis: int, size: int, index: Number) -> None:
        """Rejects an index that is out of range for every pair or for some head."""
        values = values_by_head(self.graph, index.step, self.heads) if self.heads else None
        low, high = (min(values), max(values)) if values else range_of(self.graph, index.step)
        found = ""
        if values and (min(values) < 0 or max(values) >= size):
            found = f"{low} to {high} over the {self.heads} heads"
        elif high is not None and high < 0:
            found = f"at most {high} for every pair, which would read element 0"
        elif low is not None and low >= size:
            found = f"at least {low} for every pair"
        if found:
            raise refuse(f"axis {axis} of {name}: expected an index from 0 to {size - 1}, found "
                         f"{found}", self.place)

    def flat(self, array: Array) -> Array:
        """Views a weight [n, 1] as [n]."""
        assert array.source is not None
        source = self.graph.sources[array.source]
        flat = Source(source.name, source.shape[:1], source.kind, source.per_head,
                      source.captured, True)
        return self.tensor(flat)

    def lift(self, value: Any) -> Number | Array:
        """Converts a value in a formula to a traced value."""
        if isinstance(value, (Number, Array)):
            return value
        if isinstance(value, (bool, int, float)):
            return self.constant(value)
        import torch

        if isinstance(value, torch.Tensor):
            return self.capture(value)
        if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar
            return self.constant(value.item())
        raise refuse(f"expected a number or a tensor, found {type(value).__name__}")

    def capture(self, tensor: torch.Tensor) -> Number | Array:
        """Captures a tensor of the user's code as an argument of the program."""
        if id(tensor) in self.made:
            if not self.made[id(tensor)][1]:
                raise refuse("this tensor was computed inside the formula from another one, by "
                             "a function that formulas do not support; compute it outside, or "
                             "index the other tensor and compute with its elements")
            if tensor.numel() == 1:
                return self.constant(tensor.item())
        if tensor.is_complex() or tensor.is_quantized or tensor.is_sparse:
            raise refuse(f"expected a dense tensor of real numbers or integers, found "
                         f"{tensor.dtype}, {tensor.layout}")
        for name, known in self.captured.items():
            if known is tensor:
                break
        else:
            name = self._name(tensor)
            self.captured[name] = tensor
        kind = (REAL if tensor.is_floating_point() else
                TRUTH if str(tensor.dtype) == "torch.bool" else WHOLE)
        return self.tensor(Source(name, tuple(tensor.shape), kind, captured=True))

    def _name(self, tensor: torch.Tensor) -> str:
        name = re.sub(r"\W", "_", self.names.get(id(tensor), ""))
        if not name or name[0].isdigit() or name.startswith("d_"):
            name = f"captured_{name}".rstrip("_")
        taken = {s.name for s in self.graph.sources} | _TAKEN | set(self.captured)
        candidate, count = name, 0
        while candidate in taken:
            count += 1
            candidate = f"{name}_{count}"
        return candidate

    # Networks

    def network(self, chain: Chain, index: Number) -> Number:
        """Returns output `index` of a network with one input."""
        *hidden, last = [*chain.activations, "identity"][:len(chain.layers)]
        kinds = set(hidden)
        if len(kinds) > 1:
            raise refuse(f"expected the same activation after all hidden layers of a network, "
                         f"found {', '.join(sorted(kinds))}")
        rows = chain.shape[0]
        if rows > 1 and not index.is_input("h"):
            raise refuse(f"expected [h], one output of the network per head, or a network with one "
                         f"output, found another index of its {rows} outputs")
        sources: list[int] = []
        for depth, (weight, bias) in enumerate(chain.layers):
            array = self.flat(weight) if depth == 0 else weight
            assert array.source is not None and bias.source is not None
            sources += [array.source, bias.source]
        layers = Layers(tuple(sources), kinds.pop() if kinds else "identity", last)
        return self.step("mlp", REAL, self.real(chain.x), self.inputs["h"], data=layers)


def names_of(function: Callable[..., Any]) -> dict[int, str]:
    """Returns the names of the tensors that a function refers to, by id, including attributes of
    objects."""
    import torch

    found: dict[int, str] = {}

    def note(name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.setdefault(id(value), name)
        elif isinstance(value, torch.nn.Module):
            for key, tensor in [*value.named_parameters(), *value.named_buffers()]:
                found.setdefault(id(tensor), f"{name}_{key}")
        elif not isinstance(value, type) and hasattr(value, "__dict__") and not callable(value):
            for key, tensor in vars(value).items():
                if isinstance(tensor, torch.Tensor):
                    found.setdefault(id(tensor), key)

    owner = getattr(function, "__self__", None)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    if code is not None:
        for name, cell in zip(code.co_freevars, plain.__closure__ or (), strict=True):
            try:
                note(name, cell.cell_contents)
            except ValueError:  # an empty cell
                continue
        for name in code.co_names:
            note(name, plain.__globals__.get(name))
        for name, default in zip(reversed(code.co_varnames[:code.co_argcount]),
                                 reversed(plain.__defaults__ or ())):
            note(name, default)
    note("self", owner)
    return found


def constant_as_f32(value: float) -> float:
    """Returns the nearest f32."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


__all__ = ["Tracer", "Value", "constant_as_f32"]
