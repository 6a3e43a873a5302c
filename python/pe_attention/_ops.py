"""Implements `torch.ops.pe.attention` and its gradients.

There are three operators. Their key is the program's text, so that compiled graphs and exported
programs find their function in any process:

    attention           arguments (and lengths per batch entry, if any) -> results
    attention_forward   arguments -> results and the tensors that backward reads
    attention_backward  cotangents, arguments and saved tensors -> the gradients that are needed

Eager calls bypass the operators, whose overhead is comparable to a small attention. Forward-mode
derivatives and derivatives of gradients are not supported; both raise an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import _arguments, _run, _vmap
from ._errors import InputError
from ._function import Function
from ._run import (NAMES, Call, allocate_forward, allocate_gradients, described_arguments,
                   function_of, has_lengths, kept_of, run_backward, run_forward, sizes_of)

_arguments.is_compiling = torch.compiler.is_compiling

FORWARD_MODE = ("pe.attention: expected derivatives in reverse mode, found a tangent of forward "
                "mode; use torch.autograd.grad")


# --- Autograd ----------------------------------------------------------------


class Attention(torch.autograd.function._SingleLevelFunction):
    """Eager calls, without the operators. They are only used where no mode, transform or subclass
    observes the call (`_tensors.is_seen`), so `apply` does not check for transforms."""

    @staticmethod
    def forward(ctx: Any, call: Call, function: Function, known: _run.Forward | None,
                *tensors: torch.Tensor) -> Any:
        known, outputs = _run.forward(function, tensors, call, True, known)
        ctx.save_for_backward(*tensors, *[outputs[number] for number in known.kept])
        ctx.call, ctx.function = call, function
        ctx.set_materialize_grads(False)
        return tuple(outputs[:known.results])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        needs = ctx.needs_input_grad[3:]
        if torch.is_grad_enabled() or all([cotangent is None for cotangent in cotangents]):
            return None, None, None, *_gradients(ctx.call, False, needs, cotangents,
                                                 ctx.saved_tensors)
        gradients = _run.backward(ctx.function, cotangents, ctx.saved_tensors, ctx.call, needs)
        if len(gradients) == len(needs):
            return None, None, None, *gradients
        rest = iter(gradients)
        return None, None, None, *[next(rest) if need else None for need in needs]


class AttentionOp(torch.autograd.function._SingleLevelFunction):
    """The operator with gradients, for compiled code and transforms."""

    @staticmethod
    def forward(call: Call, *tensors: torch.Tensor) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(torch.ops.pe.attention_forward.default(list(tensors), *call))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
        call, *tensors = inputs
        function = function_of(tensors, call, True)
        ctx.save_for_backward(*tensors, *[output[number] for number in
                                         kept_of(function, has_lengths(function, tensors))])
        ctx.mark_non_differentiable(*output[len(function.results):])
        ctx.call, ctx.results = call, len(function.results)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        return None, *_gradients(ctx.call, True, ctx.needs_input_grad[1:],
                                 cotangents[:ctx.results], ctx.saved_tensors)


def _apply(function: Any, *arguments: Any) -> Any:
    """Calls `function.apply` inside an operator. torch.func has already split transforms into
    levels there, so recording at the current level is correct."""
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
    """Returns a gradient per argument, or None for arguments that need no gradient."""
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
    """The gradients, where their derivatives are recorded; these derivatives raise an error."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Any:
        return tuple(_backward(*arguments))

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        raise NotImplementedError("pe.attention: expected first-order gradients, found a second "
                                  "backward pass through a gradient; use plain PyTorch for it")


def _records(tensors: Sequence[torch.Tensor | None]) -> bool:
    """Returns whether autograd records a call with these tensors, in reverse or forward mode."""
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return True
    return _forward_level() >= 0


def _forward_level() -> int:
    level: int = torch.autograd.forward_ad._current_level
    return level


def refuse_forward_mode(tensors: Sequence[torch.Tensor | None]) -> None:
    """Raises an error if a tensor carries a tangent."""
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


def _check_traced(function: Function, arguments: Sequence[torch.Tensor], call: Call) -> None:
    """Checks the types and shapes of the arguments as libpe does in a call. Without this check,
    tracing or export could produce a graph that cannot run."""
    sizes = sizes_of(function, arguments, call)
    described = described_arguments(function, arguments)
    for argument, tensor in zip(described, arguments, strict=True):
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
        made = Call(*call)
        function = function_of(arguments, made, keep)
        _check_traced(function, arguments, made)
        return allocate_forward(function, arguments, made, keep)

    return fake


def _fake_backward(cotangents: list[torch.Tensor | None], tensors: list[torch.Tensor],
                   *call: Any) -> list[torch.Tensor]:
    needs = call[-1]
    function = function_of(tensors[:len(needs)], Call(*call[:-1]), True)
    return allocate_gradients(function, tensors, needs)


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
_vmap.register(_ops)
