"""`torch.ops.pe.attention` and what it is made of.

Three operators, each with the program's text as its key, so that compiled graphs and exported
programs find their function in any process:

    attention           arguments -> results
    attention_forward   arguments -> results, then what backward reads
    attention_backward  cotangents, arguments and kept tensors -> the gradients that are needed

Eager calls go through the same code without the operators, which cost as much as a small attention.
PyTorch may ask for forward-mode derivatives or derivatives of gradients: there are none, and both
raise instead of being zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from . import _library
from ._errors import InputError
from ._function import Function, Place, Tensor, View, Views, get_function

NAMES = {torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16", torch.float16: "f16",
         torch.int64: "i64", torch.int32: "i32", torch.uint8: "u8"}
CODES = {dtype: _library.DTYPES[name] for dtype, name in NAMES.items()}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
_TORCH = Path(torch.__file__).resolve().parent
FORWARD_MODE = ("pe.attention: expected derivatives in reverse mode, found a tangent of forward "
                "mode; use torch.autograd.grad")


class Call(NamedTuple):
    """What a call is besides its tensors. `q_start` and `heads_total` may be None. `build` is read
    by nothing: it keeps graphs of other builds of this package apart (`_identity.build`)."""

    program: str
    target: str
    q_start: Any = None
    k_start: Any = 0
    head_start: Any = 0
    heads_total: Any = None
    build: str = ""

    def scalars(self) -> list[tuple[str, int]]:
        """Those that are not the default."""
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


def function_of(tensors: Sequence[torch.Tensor], call: Call, grad: bool) -> Function:
    query, value = tensors[0], tensors[2]
    dtype = NAMES.get(query.dtype, str(query.dtype))
    function = get_function(call.program, call.target, int(query.shape[-1]), int(value.shape[-1]),
                            dtype, grad)
    if len(tensors) != len(function.arguments):
        names = ", ".join(argument.name for argument in function.arguments)
        raise InputError(f"arguments: expected {len(function.arguments)} tensors ({names}), "
                         f"found {len(tensors)}")
    return function


_hosts: dict[int, Place] = {}


def _place(tensor: torch.Tensor) -> Place:
    device = tensor.device
    if device.type != "cuda":
        pool = _library.torch_pool(_TORCH)
        place = _hosts.get(pool)
        if place is None:
            place = _hosts[pool] = Place(pool=pool)
        return place
    index = device.index if device.index is not None else torch.cuda.current_device()

    def allocate(size: int) -> tuple[int, object]:
        memory = torch.empty(size, dtype=torch.uint8, device=device)
        return memory.data_ptr(), memory

    return Place(stream=torch.cuda.current_stream(device).cuda_stream, device=index,
                 allocate=allocate)


def _describe(names: Sequence[str], tensors: Sequence[torch.Tensor],
              ranks: Sequence[int]) -> list[View]:
    """`ranks` are those that the function expects: a number may come as a tensor of shape [1]."""
    views: list[View] = []
    for name, tensor, rank in zip(names, tensors, ranks, strict=True):
        if tensor.dtype not in CODES:
            raise InputError(f"tensor '{name}': expected numbers of {', '.join(DTYPES)}, found "
                             f"{tensor.dtype}")
        is_number = rank == 0 and tensor.shape == (1,)
        views.append((CODES[tensor.dtype], () if is_number else tensor.shape,
                      () if is_number else tensor.stride()))
    return views


# --- What is allocated -------------------------------------------------------


def _like(tensor: torch.Tensor, last: int) -> torch.Tensor:
    """An empty tensor in the order of memory of `tensor`, with another last size."""
    if tensor.shape[-1] == last:
        return torch.empty_like(tensor)
    strides = tensor.stride()
    order = sorted(range(3), key=lambda axis: strides[axis], reverse=True)
    empty = tensor.new_empty([tensor.shape[axis] for axis in order] + [last])
    return empty.permute([order.index(axis) for axis in range(3)] + [3])


def _sizes(function: Function, tensors: Sequence[torch.Tensor], call: Call) -> dict[str, Any]:
    sizes = function.sizes([t.shape for t in tensors])
    sizes["k_start"], sizes["head_start"] = call.k_start, call.head_start
    start = call.k_start + sizes["c"] - sizes["r"] if call.q_start is None else call.q_start
    sizes["q_start"] = start
    sizes["heads_total"] = sizes["hq"] if call.heads_total is None else call.heads_total
    return sizes


def _empty(tensor: Tensor, sizes: dict[str, Any], query: torch.Tensor) -> torch.Tensor:
    if tensor.name == "o":
        return _like(query, sizes["e"])
    return query.new_empty(tensor.shape_in(sizes), dtype=DTYPES[tensor.dtype])


def _outputs(function: Function, keep: bool) -> list[Tensor]:
    if not keep:
        return function.results
    return [*function.results, *(t for t in function.saved if "backward" in t.read_by),
            *function.kept_tables]


def _allocate_forward(function: Function, tensors: Sequence[torch.Tensor], call: Call,
                      keep: bool) -> list[torch.Tensor]:
    sizes = _sizes(function, tensors, call)
    return [_empty(t, sizes, tensors[0]) for t in _outputs(function, keep)]


def _allocate_gradients(function: Function, tensors: Sequence[torch.Tensor],
                        needs: Sequence[bool]) -> list[torch.Tensor]:
    return [torch.empty_like(tensor) if argument.name in function.gradients
            else torch.zeros_like(tensor)
            for argument, tensor, need in zip(function.arguments, tensors, needs, strict=False)
            if need]


# --- What is computed --------------------------------------------------------


class _Forward(NamedTuple):
    """What forward calls of one layout share: the results' layouts, and how they are passed."""

    outputs: list[tuple[Any, Any, torch.dtype]]
    views: Views


_MOST_LAYOUTS = 512


def run_forward(tensors: Sequence[torch.Tensor], call: Call, keep: bool) -> list[torch.Tensor]:
    function = function_of(tensors, call, keep)
    # Sizes of results follow from these alone; finding them takes longer than a small attention.
    key = (keep, tuple([(t.shape, t.stride(), t.dtype) for t in tensors]), *call[2:6])
    known: _Forward | None = function.forwards.get(key)
    if known is not None:
        device = tensors[0].device
        outputs = [torch.empty_strided(shape, strides, dtype=dtype, device=device)
                   for shape, strides, dtype in known.outputs]
        views = known.views
    else:
        outputs = _allocate_forward(function, tensors, call, keep)
        names = tuple([t.name for t in (*function.arguments, *_outputs(function, keep))])
        views = function.views(_library.PREPARE | _library.FORWARD, names)
        if len(function.forwards) >= _MOST_LAYOUTS:
            function.forwards.clear()
        function.forwards[key] = _Forward([(t.shape, t.stride(), t.dtype) for t in outputs], views)
    given = [*tensors, *outputs]
    views.run(key, lambda: _describe(views.names, given, _ranks(function, keep)),
              [t.data_ptr() for t in given], call.scalars(), _place(tensors[0]))
    return outputs


def _ranks(function: Function, keep: bool) -> list[int]:
    return [t.rank for t in (*function.arguments, *_outputs(function, keep))]


def _kept(function: Function, outputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Of what forward gave, what backward reads."""
    return [value for described, value in zip(_outputs(function, True), outputs, strict=True)
            if "backward" in described.read_by]


def run_backward(cotangents: Sequence[torch.Tensor | None], tensors: Sequence[torch.Tensor],
                 call: Call, needs: Sequence[bool]) -> list[torch.Tensor]:
    """`tensors` are the arguments and what forward kept."""
    count = len(needs)
    function = function_of(tensors[:count], call, True)
    gradients = _allocate_gradients(function, tensors, needs)
    kept = [t for t in _outputs(function, True) if "backward" in t.read_by]
    names = [t.name for t in (*function.arguments, *kept)]
    ranks = [t.rank for t in (*function.arguments, *kept)]
    given = list(tensors)
    for result, cotangent in zip(function.results, cotangents, strict=True):
        if cotangent is not None:
            names.append(f"d_{result.name}")
            ranks.append(result.rank)
            given.append(cotangent)
    wanted = [a for a, need in zip(function.arguments, needs, strict=True) if need]
    for argument, gradient in zip(wanted, gradients, strict=True):
        if argument.name in function.gradients:
            names.append(f"d_{argument.name}")
            ranks.append(argument.rank)
            given.append(gradient)
    key = tuple([(t.shape, t.stride(), t.dtype) for t in given])
    function.views(_library.BACKWARD, tuple(names)).run(
        key, lambda: _describe(names, given, ranks), [t.data_ptr() for t in given], call.scalars(),
        _place(tensors[0]))
    return gradients


# --- Autograd ----------------------------------------------------------------


class Attention(torch.autograd.Function):
    """Eager calls: without operators, and with as little else as there can be."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: torch.Tensor) -> Any:
        function = function_of(tensors, call, True)
        outputs = run_forward(tensors, call, True)
        ctx.save_for_backward(*tensors, *_kept(function, outputs))
        ctx.call = call
        ctx.set_materialize_grads(False)
        return tuple(outputs[:len(function.results)])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        return None, *_gradients(ctx.call, False, ctx.needs_input_grad[1:], cotangents,
                                 ctx.saved_tensors)


class AttentionOp(torch.autograd.function._SingleLevelFunction):
    """The operator where PyTorch records gradients: in compiled code and in transforms."""

    @staticmethod
    def forward(call: Call, *tensors: torch.Tensor) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(torch.ops.pe.attention_forward.default(list(tensors), *call))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        call, *tensors = inputs
        function = function_of(tensors, call, True)
        ctx.save_for_backward(*tensors, *_kept(function, output))
        ctx.mark_non_differentiable(*output[len(function.results):])
        ctx.call, ctx.results = call, len(function.results)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        return None, *_gradients(ctx.call, True, ctx.needs_input_grad[1:],
                                 cotangents[:ctx.results], ctx.saved_tensors)


def _apply(function: Any, *arguments: Any) -> Any:
    """`function.apply` inside an operator, where a transform of torch.func has already been taken
    apart into levels, so that recording at this level alone is right."""
    transforms = torch._C._functorch
    before = transforms.get_single_level_autograd_function_allowed()
    transforms.set_single_level_autograd_function_allowed(True)
    try:
        return function.apply(*arguments)
    finally:
        transforms.set_single_level_autograd_function_allowed(before)


def _gradients(call: Call, through_op: bool, needs: Sequence[bool],
               cotangents: Sequence[torch.Tensor | None],
               saved: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """One per argument, None where none is needed."""
    if all([cotangent is None for cotangent in cotangents]):
        return [None] * len(needs)
    arguments: tuple[Any, ...] = (call, through_op, needs, len(cotangents), *cotangents, *saved)
    given = (_apply(AttentionBackward, *arguments) if torch.is_grad_enabled()
             else _backward(*arguments))
    gradients = iter(given)
    return [next(gradients) if need else None for need in needs]


def _backward(call: Call, through_op: bool, needs: Sequence[bool], results: int,
              *tensors: Any) -> list[torch.Tensor]:
    cotangents, rest = list(tensors[:results]), list(tensors[results:])
    if not through_op:
        return run_backward(cotangents, rest, call, needs)
    with torch._C._AutoDispatchBelowAutograd():
        gradients: list[torch.Tensor] = torch.ops.pe.attention_backward.default(
            cotangents, rest, *call, list(needs))
    return gradients


class AttentionBackward(torch.autograd.function._SingleLevelFunction):
    """The gradients where their own derivatives are recorded: those raise."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        return tuple(_backward(*arguments))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise NotImplementedError("pe.attention: expected gradients of first order, found a second "
                                  "backward pass through a gradient; use plain PyTorch there")


def _records(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Whether autograd has to know of a call with these tensors, in either mode."""
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return True
    return _forward_level() >= 0


def _forward_level() -> int:
    level: int = torch.autograd.forward_ad._current_level
    return level


def refuse_forward_mode(tensors: Sequence[torch.Tensor | None]) -> None:
    """Raises if a tensor carries a tangent."""
    if _forward_level() < 0:
        return
    for tensor in tensors:
        if tensor is not None and torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(FORWARD_MODE)


# --- Operators ---------------------------------------------------------------

_CALL = ("str program, str target, SymInt? q_start, SymInt k_start, SymInt head_start, "
         "SymInt? heads_total, str build")
_ops = torch.library.Library("pe", "DEF")
_ops.define(f"attention(Tensor[] arguments, {_CALL}) -> Tensor[]")
_ops.define(f"attention_forward(Tensor[] arguments, {_CALL}) -> Tensor[]")
_ops.define(f"attention_backward(Tensor?[] cotangents, Tensor[] tensors, {_CALL}, bool[] needs) "
            "-> Tensor[]")


def _attention(arguments: list[torch.Tensor], *call: Any) -> list[torch.Tensor]:
    return run_forward(arguments, Call(*call), False)


def _attention_forward(arguments: list[torch.Tensor], *call: Any) -> list[torch.Tensor]:
    return run_forward(arguments, Call(*call), True)


def _attention_backward(cotangents: list[torch.Tensor | None], tensors: list[torch.Tensor],
                        *call: Any) -> list[torch.Tensor]:
    return run_backward(cotangents, tensors, Call(*call[:-1]), call[-1])


def _check_traced(function: Function, arguments: Sequence[torch.Tensor]) -> None:
    """What libpe checks in a call: types and shapes of the arguments. Without it a graph would be
    made, or a program exported, that no call of its own can run."""
    sizes = function.sizes([t.shape for t in arguments])
    for argument, tensor in zip(function.arguments, arguments, strict=True):
        if NAMES.get(tensor.dtype) != argument.dtype:
            raise InputError(f"tensor '{argument.name}': expected numbers of {argument.dtype}, "
                             f"found {tensor.dtype}")
        if argument.rank == 0 and tensor.shape == (1,):
            continue
        expected = argument.shape_in(sizes)
        shown = (f"tensor '{argument.name}': expected shape [{', '.join(argument.shape)}] of "
                 f"{list(expected)}, found {list(tensor.shape)}")
        if tensor.dim() != argument.rank:
            raise InputError(shown)
        for found, wanted in zip(tensor.shape, expected, strict=True):
            if isinstance(found, int) and isinstance(wanted, int):
                if found != wanted:
                    raise InputError(shown)
            else:
                torch._check(found == wanted, lambda shown=shown: shown)


def _fake(keep: bool) -> Any:
    def fake(arguments: list[torch.Tensor], *call: Any) -> list[torch.Tensor]:
        function = function_of(arguments, Call(*call), keep)
        _check_traced(function, arguments)
        return _allocate_forward(function, arguments, Call(*call), keep)

    return fake


def _fake_backward(cotangents: list[torch.Tensor | None], tensors: list[torch.Tensor],
                   *call: Any) -> list[torch.Tensor]:
    needs = call[-1]
    function = function_of(tensors[:len(needs)], Call(*call[:-1]), True)
    return _allocate_gradients(function, tensors, needs)


def _autograd(arguments: list[torch.Tensor], *call: Any) -> list[torch.Tensor]:
    refuse_forward_mode(arguments)
    if _records(arguments):
        made = Call(*call)
        results: list[torch.Tensor] = list(_apply(AttentionOp, made, *arguments))
        return results[:len(function_of(arguments, made, True).results)]
    with torch._C._AutoDispatchBelowAutograd():
        direct: list[torch.Tensor] = torch.ops.pe.attention.default(arguments, *call)
    return direct


def _autograd_backward(cotangents: list[torch.Tensor | None], tensors: list[torch.Tensor],
                       *call: Any) -> list[torch.Tensor]:
    arguments = (Call(*call[:-1]), True, call[-1], len(cotangents), *cotangents, *tensors)
    refuse_forward_mode([*cotangents, *tensors])
    if _records([*cotangents, *tensors]):
        return list(_apply(AttentionBackward, *arguments))
    return _backward(*arguments)


for _key in ("CPU", "CUDA"):
    _ops.impl("attention", _attention, _key)
    _ops.impl("attention_forward", _attention_forward, _key)
    _ops.impl("attention_backward", _attention_backward, _key)
_ops.impl("attention", _autograd, "Autograd")
_ops.impl("attention_backward", _autograd_backward, "Autograd")
torch.library.register_fake("pe::attention", _fake(False), lib=_ops)
torch.library.register_fake("pe::attention_forward", _fake(True), lib=_ops)
torch.library.register_fake("pe::attention_backward", _fake_backward, lib=_ops)
