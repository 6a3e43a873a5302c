"""Calls compiled functions on PyTorch tensors and allocates their outputs.

Sizes are integers, or symbolic integers under torch.compile. Data that depend only on the layouts
of tensors are cached, because computing them takes longer than a small attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from . import _dtypes, _library
from ._errors import InputError
from ._function import LENGTHS, Function, Place, Tensor, View, Views, get_function
from ._tensors import with_memory

NAMES = {getattr(torch, framework): name for framework, name in _dtypes.NAMES.items()}
CODES = {dtype: _dtypes.CODES[name] for dtype, name in NAMES.items()}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
_FLOATING = ("f32", "bf16", "f16", "f64")
_TORCH = Path(torch.__file__).resolve().parent


class Call(NamedTuple):
    """The parameters of a call other than its tensors. `q_start` and `heads_total` may be None.
    `build` is not read; it distinguishes cached graphs of different builds (`_identity.build`)."""

    program: str
    target: str
    q_start: Any = None
    k_start: Any = 0
    head_start: Any = 0
    heads_total: Any = None
    build: str = ""

    def numbers(self) -> dict[str, Any]:
        """Returns the scalars of the call by name."""
        return dict(zip(self._fields[2:6], self[2:6], strict=True))

    def scalars(self) -> list[tuple[str, int]]:
        """Returns the numbers that differ from their defaults."""
        given: list[tuple[str, int]] = []
        if self.q_start is not None:
            given.append(("q_start", self.q_start))
        if self.k_start:
            given.append(("k_start", self.k_start))
        if self.head_start:
            given.append(("head_start", self.head_start))
        if self.heads_total is not None:
            given.append(("heads_total", self.heads_total))
        return given


@lru_cache(maxsize=64)
def _first_of_its_kind(index: int) -> int:
    """Returns the number of the first GPU with the compute capability of GPU `index`, so that equal
    GPUs share compiled functions."""
    capability = torch.cuda.get_device_capability(index)
    return next(other for other in range(index + 1)
                if torch.cuda.get_device_capability(other) == capability)


def _gpu_of(tensor: torch.Tensor) -> int:
    """Returns the number of the GPU to compile for, or 0 for other devices."""
    if not tensor.is_cuda:
        return 0
    return _first_of_its_kind(tensor.device.index or 0)


def function_of(tensors: Sequence[torch.Tensor], call: Call, grad: bool,
                dtype: torch.dtype | None = None) -> Function:
    """Returns the compiled function of a call. `dtype` is the type of queries, keys, values and
    outputs, by default that of the query."""
    if len(tensors) < 3 or not tensors[0].dim() or not tensors[2].dim():
        shapes = ", ".join(str(list(tensor.shape)) for tensor in tensors[:3])
        raise InputError(f"arguments: expected query, key and value [batch, heads, length, depth], "
                         f"then the other tensors of the program, found {shapes}")
    query, value = tensors[0], tensors[2]
    dtype = dtype or query.dtype
    name = NAMES.get(dtype)
    if name not in _FLOATING or (name == "f64" and call.target != "reference"):
        raise InputError(f"tensor 'q': expected float32, bfloat16 or float16 on target "
                         f"{call.target}, found {dtype}; convert q, k and v")
    function = get_function(call.program, call.target, int(query.shape[-1]), int(value.shape[-1]),
                            name, grad, device=_gpu_of(query))
    if has_lengths(function, tensors):
        if function.has_argument(LENGTHS.name):
            raise InputError(f"{LENGTHS.name}: expected an encoding and a mask without a tensor of "
                             f"this name, found one; rename it")
    elif len(tensors) != len(function.arguments):
        names = ", ".join(argument.name for argument in function.arguments)
        raise InputError(f"arguments: expected {len(function.arguments)} tensors ({names}), "
                         f"found {len(tensors)}")
    return function


def has_lengths(function: Function, tensors: Sequence[object]) -> bool:
    """Returns whether a call gives lengths per batch entry after the arguments."""
    return len(tensors) == len(function.arguments) + 1


def described_arguments(function: Function, tensors: Sequence[object]) -> list[Tensor]:
    """Returns the arguments of a call, one per tensor."""
    return [*function.arguments, LENGTHS] if has_lengths(function, tensors) else function.arguments


_hosts: dict[int, Place] = {}


def place_of(tensor: torch.Tensor) -> Place:
    if not tensor.is_cuda:
        pool = _library.torch_pool(_TORCH)
        place = _hosts.get(pool)
        if place is None:
            place = _hosts[pool] = Place(pool=pool)
        return place
    device = tensor.device
    index = device.index if device.index is not None else torch.cuda.current_device()

    def allocate(size: int) -> tuple[int, object]:
        memory = torch.empty(size, dtype=torch.uint8, device=device)
        return memory.data_ptr(), memory

    return Place(stream=torch.cuda.current_stream(device).cuda_stream, device=index,
                 allocate=allocate)


# --- Allocation --------------------------------------------------------------


def like(tensor: torch.Tensor, last: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Allocates a tensor with the memory order of `tensor`, another last size, and a type that
    defaults to that of `tensor`."""
    if tensor.shape[-1] == last:
        return torch.empty_like(tensor, dtype=dtype)
    strides = tensor.stride()
    order = sorted(range(3), key=lambda axis: strides[axis], reverse=True)
    empty = tensor.new_empty([tensor.shape[axis] for axis in order] + [last], dtype=dtype)
    return empty.permute([order.index(axis) for axis in range(3)] + [3])


def sizes_of(function: Function, tensors: Sequence[torch.Tensor], call: Call) -> dict[str, Any]:
    return function.sizes([t.shape for t in tensors], call.numbers())


def is_flat(tensor: Tensor) -> bool:
    """Returns whether a tensor is stored as one row. PyTorch specializes on sizes of 1, so a size
    of ceildiv(keys, 64) would cause recompilation beyond 64 keys."""
    return tensor.rank > 1 and any([not size.isidentifier() and not size.isdecimal()
                                    for size in tensor.shape])


def _empty(tensor: Tensor, sizes: dict[str, Any], query: torch.Tensor) -> torch.Tensor:
    if tensor.name == "o":
        return like(query, sizes["e"])
    shape = tensor.shape_in(sizes)
    return query.new_empty((math.prod(shape),) if is_flat(tensor) else shape,
                           dtype=DTYPES[tensor.dtype])


def outputs_of(function: Function, keep: bool, lengths: bool = False) -> list[Tensor]:
    """Returns the outputs of forward: the results, then the tensors that only backward reads.
    `lengths` is true for a call with lengths per batch entry."""
    if not keep:
        return function.results
    return [*function.results, *function.kept(lengths)]


def kept_of(function: Function, lengths: bool) -> list[int]:
    """Returns the indices of the outputs that backward reads."""
    return [number for number, tensor in enumerate(outputs_of(function, True, lengths))
            if "backward" in tensor.read_by]


def allocate_forward(function: Function, tensors: Sequence[torch.Tensor], call: Call,
                     keep: bool) -> list[torch.Tensor]:
    sizes = sizes_of(function, tensors, call)
    outputs = outputs_of(function, keep, has_lengths(function, tensors))
    return [_empty(t, sizes, tensors[0]) for t in outputs]


def allocate_gradients(function: Function, tensors: Sequence[torch.Tensor],
                       needs: Sequence[bool]) -> list[torch.Tensor]:
    """Allocates gradients. They are zero for arguments that the program does not depend on: with
    None, DDP would wait."""
    return [torch.empty_like(tensor) if argument.name in function.gradients
            else torch.zeros_like(tensor)
            for argument, tensor, need in zip(function.arguments, tensors, needs, strict=False)
            if need]


# --- Computation -------------------------------------------------------------


def describe_views(names: Sequence[str], described: Sequence[Tensor],
                   tensors: Sequence[torch.Tensor], sizes: dict[str, Any]) -> list[View]:
    """Returns the views of tensors with the types, ranks and sizes of `described`."""
    views: list[View] = []
    for name, expected, tensor in zip(names, described, tensors, strict=True):
        if tensor.dtype not in CODES:
            raise InputError(f"tensor '{name}': expected numbers of {', '.join(DTYPES)}, found "
                             f"{tensor.dtype}")
        shape: Sequence[int] = tensor.shape
        strides: Sequence[int] = tensor.stride()
        if expected.rank == 0 and tensor.shape == (1,):
            shape = strides = ()
        elif len(shape) == 1 and is_flat(expected):
            shape = expected.shape_in(sizes)
            strides = [math.prod(shape[axis + 1:]) for axis in range(len(shape))]
        views.append((CODES[tensor.dtype], shape, strides))
    return views


def addresses(names: Sequence[str], tensors: list[torch.Tensor]) -> list[int]:
    """Returns the addresses of the tensors. Zero tensors without memory are replaced in the
    list."""
    try:
        addresses = [t.data_ptr() for t in tensors]
    except RuntimeError:  # tensors of other layouts have no data pointer
        addresses = [0]
    if 0 in addresses:
        tensors[:] = with_memory(names, tensors)
        addresses = [t.data_ptr() for t in tensors]
    return addresses


def packed_for_gpu(tensor: torch.Tensor) -> torch.Tensor:
    """Returns the tensor, or a contiguous copy if kernels cannot read its rows in place.

    The library would copy it too, but in up to thousands of copies where PyTorch starts one kernel:
    the cotangent of a sum, for example, has only strides of 0."""
    if tensor.is_contiguous():
        return tensor
    multiple = 16 // tensor.element_size()
    strides = tensor.stride()
    is_in_place = (tensor.dim() == 4 and tensor.data_ptr() % 16 == 0
                   and (strides[-1] == 1 or tensor.shape[-1] == 1)
                   and all([stride % multiple == 0
                            for size, stride in zip(tensor.shape[:-1], strides[:-1], strict=True)
                            if size > 1]))
    return tensor if is_in_place else tensor.contiguous()


Layout = tuple[tuple[Any, Any, torch.dtype], ...]


class Forward(NamedTuple):
    """Cached data of forward calls with equal layouts: their key, the layouts of the outputs, the
    number of results, the outputs that backward reads, and the views."""

    key: object
    outputs: Layout
    results: int
    kept: list[int]
    views: Views


class _Backward(NamedTuple):
    """Cached data of backward calls with equal layouts: the gradients that kernels write (the
    others are zero), and the views."""

    written: list[bool]
    views: Views


_MOST_LAYOUTS = 512


def run_forward(tensors: Sequence[torch.Tensor], call: Call, keep: bool) -> list[torch.Tensor]:
    return forward(function_of(tensors, call, keep), tensors, call, keep)[1]


def layout_of(tensors: Sequence[torch.Tensor]) -> Layout:
    return tuple([(t.shape, t.stride(), t.dtype) for t in tensors])


def known_forward(function: Function, tensors: Sequence[torch.Tensor], call: Call,
                  keep: bool) -> Forward | None:
    found: Forward | None = function.forwards.get((keep, layout_of(tensors), *call[2:6]))
    return found


def forward(function: Function, tensors: Sequence[torch.Tensor], call: Call, keep: bool,
            known: Forward | None = None) -> tuple[Forward, list[torch.Tensor]]:
    """Runs a call and returns the cached data of its layout with the outputs."""
    if tensors[0].is_cuda:
        packed = [packed_for_gpu(tensor) for tensor in tensors]
        if any([one is not other for one, other in zip(packed, tensors, strict=True)]):
            tensors, known = packed, None
    if known is None:
        known = known_forward(function, tensors, call, keep)
    if known is None:
        outputs = allocate_forward(function, tensors, call, keep)
        lengths = has_lengths(function, tensors)
        names = tuple([t.name for t in (*described_arguments(function, tensors),
                                        *outputs_of(function, keep, lengths))])
        key = (keep, layout_of(tensors), *call[2:6])
        known = Forward(key, layout_of(outputs), len(function.results),
                        kept_of(function, lengths) if keep else [],
                        function.views(_library.PREPARE | _library.FORWARD, names))
        if len(function.forwards) >= _MOST_LAYOUTS:
            function.forwards.clear()
        function.forwards[key] = known
    else:
        device = tensors[0].device
        outputs = [torch.empty_strided(shape, strides, dtype=dtype, device=device)
                   for shape, strides, dtype in known.outputs]
    given = [*tensors, *outputs]
    views = known.views

    def describe() -> list[View]:
        outputs = outputs_of(function, keep, has_lengths(function, tensors))
        return describe_views(views.names, [*described_arguments(function, tensors), *outputs],
                              given, sizes_of(function, tensors, call))

    views.run(known.key, describe, addresses(views.names, given), call.scalars(),
              place_of(tensors[0]))
    return known, outputs


class _Preparation(NamedTuple):
    """Cached data of calls of `prepared` with equal layouts: the number of bytes, and the views."""

    bytes: int
    views: Views


def prepared(function: Function, name: str, tensors: dict[str, torch.Tensor],
             k_start: int = 0, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    """Computes the prepared tensor `name`, whose size does not depend on `k_start`, from the
    arguments that it depends on (`of`) and those that define sizes, given by name. Returns its
    bytes as a tensor of one axis and type `dtype`."""
    values = list(tensors.values())
    layout = layout_of(values)
    known: _Preparation | None = function.preparations.get((name, *tensors, layout))

    def sizes() -> dict[str, Any]:
        shapes = [tensors[a.name].shape if a.name in tensors else () for a in function.arguments]
        return function.sizes(shapes, {})

    if known is None:
        size, = function.tensor(name).shape_in(sizes())
        if len(function.preparations) >= _MOST_LAYOUTS:
            function.preparations.clear()
        known = function.preparations[name, *tensors, layout] = _Preparation(
            size, function.views(_library.PREPARE, (*tensors, name)))
    result = torch.empty(known.bytes // dtype.itemsize, dtype=dtype, device=values[0].device)
    given = [*values, result]

    def describe() -> list[View]:
        described = [function.tensor(each) for each in (*tensors, name)]
        return describe_views(known.views.names, described, [*values, result.view(torch.uint8)],
                              sizes())

    known.views.run(layout, describe, addresses(known.views.names, given),
                    (("k_start", k_start),) if k_start else (), place_of(result))
    return result


def run_backward(cotangents: Sequence[torch.Tensor | None], tensors: Sequence[torch.Tensor],
                 call: Call, needs: Sequence[bool]) -> list[torch.Tensor]:
    """Returns the gradients that are needed. `tensors` are the arguments followed by the saved
    tensors."""
    return backward(function_of(tensors[:len(needs)], call, True), cotangents, tensors, call, needs)


def backward(function: Function, cotangents: Sequence[torch.Tensor | None],
             tensors: Sequence[torch.Tensor], call: Call,
             needs: Sequence[bool]) -> list[torch.Tensor]:
    given = [*tensors, *[cotangent.resolve_neg() if cotangent.is_neg() else cotangent
                         for cotangent in cotangents if cotangent is not None]]
    if tensors[0].is_cuda:
        given = [packed_for_gpu(tensor) for tensor in given]
    key = (tuple(needs), tuple([cotangent is None for cotangent in cotangents]),
           layout_of(given), *call[2:6])
    known: _Backward | None = function.backwards.get(key)
    if known is None:
        known = _learn_backward(function, cotangents, needs)
        if len(function.backwards) >= _MOST_LAYOUTS:
            function.backwards.clear()
        function.backwards[key] = known
    wanted = [tensor for tensor, need in zip(tensors, needs, strict=False) if need]
    gradients = [torch.empty_like(tensor) if is_written else torch.zeros_like(tensor)
                 for tensor, is_written in zip(wanted, known.written, strict=True)]
    given += [gradient for gradient, is_written in zip(gradients, known.written, strict=True)
              if is_written]

    def describe() -> list[View]:
        return describe_views(known.views.names, _described(function, cotangents, needs), given,
                         sizes_of(function, tensors[:len(needs)], call))

    known.views.run(key, describe, addresses(known.views.names, given), call.scalars(),
                    place_of(tensors[0]))
    return gradients


def _described(function: Function, cotangents: Sequence[torch.Tensor | None],
               needs: Sequence[bool]) -> list[Tensor]:
    """Returns descriptions of the tensors of a backward call: arguments, saved tensors, cotangents,
    and gradients."""
    lengths = has_lengths(function, needs)
    outputs = outputs_of(function, True, lengths)
    return [*described_arguments(function, needs),
            *[outputs[number] for number in kept_of(function, lengths)],
            *[result for result, cotangent in zip(function.results, cotangents, strict=True)
              if cotangent is not None],
            *[argument for argument, need in zip(function.arguments, needs, strict=False)
              if need and argument.name in function.gradients]]


def _learn_backward(function: Function, cotangents: Sequence[torch.Tensor | None],
                    needs: Sequence[bool]) -> _Backward:
    written = [argument.name in function.gradients
               for argument, need in zip(function.arguments, needs, strict=False) if need]
    described = _described(function, cotangents, needs)
    plain = len(needs) + len(kept_of(function, has_lengths(function, needs)))
    names = [tensor.name for tensor in described[:plain]]
    names += [f"d_{tensor.name}" for tensor in described[plain:]]
    return _Backward(written, function.views(_library.BACKWARD, tuple(names)))
