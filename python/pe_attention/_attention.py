"""Implements `attention` for eager and compiled PyTorch code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import torch

from . import _identity, _ops, _run
from ._arguments import found, named
from ._assemble import assembled
from ._errors import DeviceError, InputError
from ._kinds import HINTS, check_encoding, check_flag, check_mask, probability, real, whole
from ._masks import Mask
from ._ops import Attention
from ._program import Options, Program
from ._run import Call, Forward, layout_of
from ._tensors import as_int32, check_tensor, is_dtensor, is_seen, resolved

if TYPE_CHECKING:
    from ._encoding import Encoding
    from ._module import Bound
    from ._function import Function

_TARGETS = {"cpu": "cpu", "cuda": "cuda", "gpu-emulator": "cpu", "reference": "cpu"}
_LOW = (torch.bfloat16, torch.float16)
Result = TypeVar("Result")


@named(HINTS)
def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              encoding: Encoding | Bound | None = None, *, mask: Mask | None = None,
              scale: float | None = None, q_start: int | None = None, k_start: int = 0,
              head_start: int = 0, heads_total: int | None = None, dropout_p: float = 0.0,
              sink: torch.Tensor | None = None, documents: torch.Tensor | None = None,
              return_lse: bool = False, target: str | None = None) -> Any:
    """Computes the attention of `query` [B, Hq, Sq, D] over `key` [B, Hkv, Sk, D] and `value` [B,
    Hkv, Sk, E].

    Strided inputs are used without a copy, and the result has the layout of `query`. If there are
    fewer key heads than query heads, consecutive query heads share a key head. `encoding` adds its
    bias, rotation or normalizer; `mask` selects the pairs that take part. Query r is at position
    `q_start` + r and key c at `k_start` + c; with `q_start=None` the last query is at the position
    of the last key. `head_start` is the number of the first head and `heads_total` the number of
    heads in the whole model. `dropout_p` is the probability of dropping a weight, with a seed from
    PyTorch's generator. `sink` [Hq] are logits that are added to each row's denominator.
    `documents` are the boundaries (0, ..., length) of documents packed into one sequence: attention
    does not cross them, and positions restart at 0 in each. Returns o, or (o, lse) with
    `return_lse=True`, where lse is the natural logarithm of the denominators in f32.
    """
    if is_dtensor(query):
        from .distributed._dtensor import attention_of_shards

        return attention_of_shards(query, key, value, encoding, mask=mask, scale=scale,
                                   q_start=q_start, k_start=k_start, head_start=head_start,
                                   heads_total=heads_total, dropout_p=dropout_p, sink=sink,
                                   documents=documents, return_lse=return_lse, target=target)
    plain = None
    if (not torch.compiler.is_compiling() and type(dropout_p) is float and not dropout_p
            and sink is None and documents is None):
        plain = _plain(query, key, value, encoding, mask, (
            scale, return_lse, target, q_start, k_start, head_start, heads_total))
        results = None if plain is None else _repeated(plain)
        if results is not None:
            return (results[0], results[1]) if return_lse else results[0]
    options = options_of(scale, dropout_p, sink, documents, return_lse)
    starts = starts_of(q_start, k_start, head_start, heads_total)
    ready = prepare(query, key, value, encoding, mask, options, target, heads_total, sink,
                    documents)
    call = Call(ready.program.text, ready.target, *starts)
    results = results_of(ready.tensors, call)
    if plain is not None:
        _remember(plain, ready, call)
    o = results[0] if results[0].dtype is ready.given else results[0].to(ready.given)
    return (o, results[1]) if return_lse else o


# --- Cached calls ------------------------------------------------------------


class _Plain(NamedTuple):
    """An eager call without modes, transforms or tensor subclasses. `key` holds everything that its
    checks depend on."""

    tensors: list[torch.Tensor]
    keep: bool
    key: tuple[Any, ...]


class _Known(NamedTuple):
    call: Call
    function: Function
    forward: Forward


_MOST_KNOWN = 1024
_known: dict[tuple[Any, ...], _Known] = {}


def _plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
           encoding: Encoding | Bound | None, mask: Mask | None,
           numbers: tuple[Any, ...]) -> _Plain | None:
    """Returns the call, or None if it may need conversions or raise an error."""
    structures = ("" if encoding is None else getattr(encoding, "structure", None),
                  "" if mask is None else getattr(mask, "structure", None))
    # A class has its structure as a property; an encoding with its own masks has none.
    if [type(structure) for structure in structures] != [str, str] or (
            torch._C._is_any_autocast_enabled()):
        return None
    tensors = [query, key, value]
    if encoding is not None:
        tensors += _arguments_of(encoding, False)
    if mask is not None:
        tensors += mask.arguments()
    if is_seen(tensors) or any([t.is_neg() for t in tensors]):
        return None
    device = query.device
    if any([t.device != device for t in tensors]):
        return None
    keep = torch.is_grad_enabled() and any([t.requires_grad for t in tensors])
    try:
        layout = layout_of(tensors)
    except RuntimeError:  # nested tensors have no shape
        return None
    return _Plain(tensors, keep, (layout, device, structures, keep,
                                  getattr(encoding, "heads", None), numbers))


def _repeated(plain: _Plain) -> Sequence[torch.Tensor] | None:
    """Returns the results if an equal call was checked before, else None."""
    try:
        known = _known.get(plain.key)
    except TypeError:  # not a number
        known = None
    if known is None:
        return None
    if plain.keep:
        recorded: Sequence[torch.Tensor] = Attention.apply(  # type: ignore[attr-defined]
            known.call, known.function, known.forward, *plain.tensors)
        return recorded
    return _run.forward(known.function, plain.tensors, known.call, False, known.forward)[1]


def _remember(plain: _Plain, ready: Ready, call: Call) -> None:
    numbers = call[2:6]
    if any([type(number) is not int for number in numbers if number is not None]) or \
            [t.dtype for t in ready.tensors] != [t.dtype for t in plain.tensors]:
        return  # numbers that may change, or tensors that need a conversion
    function = _run.function_of(ready.tensors, call, plain.keep)
    forward = _run.known_forward(function, ready.tensors, call, plain.keep)
    if forward is not None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[plain.key] = _Known(call, function, forward)


# --- Calls with all checks ---------------------------------------------------


def options_of(scale: float | None, dropout_p: float, sink: torch.Tensor | None,
               documents: torch.Tensor | None, return_lse: bool) -> Options:
    check_flag("return_lse", return_lse)
    if scale is None and type(dropout_p) is float and dropout_p == 0.0:  # the common case
        return Options(None, 0.0, sink is not None, documents is not None, return_lse)
    return Options(real("scale", scale), probability("dropout_p", dropout_p), sink is not None,
                   documents is not None, return_lse)


def starts_of(q_start: Any, k_start: Any, head_start: Any, heads_total: Any) -> tuple[Any, ...]:
    """Checks the integer arguments of a call; only the first and the last may be None."""
    for name, value in (("k_start", k_start), ("head_start", head_start)):
        if value is None:
            raise InputError(f"{name}: expected an integer, found None; omit it for 0")
    return (whole("q_start", q_start), whole("k_start", k_start), whole("head_start", head_start),
            whole("heads_total", heads_total))


class Ready(NamedTuple):
    """The tensors of a call in the order of the program, starting with q, k and v, and the call
    itself. `given` is the type of the result."""

    tensors: list[torch.Tensor]
    program: Program
    target: str
    given: torch.dtype


def prepare(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
            encoding: Encoding | Bound | None, mask: Mask | None, options: Options,
            target: str | None, heads_total: int | None, sink: torch.Tensor | None,
            documents: torch.Tensor | None, of_shards: bool = False) -> Ready:
    """Checks the arguments of a call and converts them to the types used in the computation.
    Rejects DTensors together with a plain query, unless the query is the local shard of a
    DTensor."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
    check_encoding(encoding)
    check_mask(mask)
    where = _target_of(query, target)
    query, key, value = [_autocast(resolved(tensor), query.device.type)
                         for tensor in (query, key, value)]
    _check(query, key, value)
    given = query.dtype
    if given in _LOW and where in ("cpu", "reference"):
        query, key, value = query.float(), key.float(), value.float()
    elif given is torch.float64 and where != "reference":
        raise InputError(f"query: expected float32, bfloat16 or float16 on target {where}, found "
                         f"float64; convert it, or use target='reference'")
    program = _program(encoding, mask, options)
    extra = _arguments_of(encoding, of_shards) if encoding is not None else []
    made_for = getattr(encoding, "heads", None)
    if made_for and not extra and made_for != query.shape[1] and made_for != heads_total:
        # Encodings with tensors report a mismatch by the tensors' shapes.
        raise InputError(f"encoding: expected one for {query.shape[1]} heads, the number of "
                         f"query, found one for {made_for}")
    if sink is not None:
        check_tensor("sink", sink)
        if not sink.dtype.is_floating_point:
            raise InputError(f"sink: expected a floating type, found {sink.dtype}; write "
                             f"sink.float()")
        extra.append(sink)
    if options.dropout_p:
        extra.append(torch.randint(1 << 62, (), dtype=torch.int64, device=query.device))
    if mask is not None:
        extra.extend(mask.arguments())
    if documents is not None:
        extra.append(as_int32("documents", documents))
    return Ready([query, key, value, *_converted(extra, query, of_shards)], program, where, given)


def _autocast(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """Returns the tensor in autocast's type for a kind of device. PyTorch's attention converts each
    operand in the same way."""
    if (torch.is_autocast_enabled(kind) and tensor.dtype.is_floating_point
            and tensor.dtype is not torch.float64):
        return tensor.to(torch.get_autocast_dtype(kind))
    return tensor


_SHARDED = ("encoding, mask, sink or documents: expected plain tensors like query, found a "
            "DTensor; apply fully_shard to the layer that calls pe.attention, not to its encoding "
            "alone")


def _arguments_of(encoding: Encoding | Bound, of_shards: bool) -> list[torch.Tensor]:
    try:
        return list(encoding.arguments())
    except RuntimeError:  # a sharded number cannot be viewed as a scalar
        # the module of an encoding bound to data
        module = cast(Any, getattr(encoding, "encoding", encoding))
        if not of_shards and any(map(is_dtensor, module.parameters())):
            raise InputError(_SHARDED) from None
        raise


def results_of(tensors: list[torch.Tensor], call: Call) -> Sequence[torch.Tensor]:
    """Returns the outputs of the operator, with gradients."""
    compiling = torch.compiler.is_compiling()
    if compiling and torch.autograd.forward_ad._current_level >= 0:
        # Compiled code would drop tangents. Without fullgraph=True the call falls back to eager
        # mode, which raises an error only if there is a tangent.
        raise NotImplementedError(_ops.FORWARD_MODE)
    if compiling or is_seen(tensors):
        seen = call._replace(build=_build())
        results: Sequence[torch.Tensor] = torch.ops.pe.attention.default(tensors, *seen)
        return results
    if torch.is_grad_enabled() and any([t.requires_grad for t in tensors]):
        function = _run.function_of(tensors, call, True)
        recorded: Sequence[torch.Tensor] = Attention.apply(  # type: ignore[attr-defined]
            call, function, None, *tensors)
        return recorded
    return _run.run_forward(tensors, call, False)


def constant_in_graphs(function: Callable[..., Result]) -> Callable[..., Result]:
    """Makes compiled code treat the results as constants, like
    `torch.compiler.assume_constant_result`, but without importing the rest of `torch.compile`,
    which would add seconds to the first eager call."""
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


@constant_in_graphs
def _build() -> str:
    return _identity.build()


# --- Programs ----------------------------------------------------------------


def _program(encoding: Encoding | Bound | None, mask: Mask | None, options: Options) -> Program:
    first = "" if encoding is None else getattr(encoding, "structure", None)
    second = "" if mask is None else getattr(mask, "structure", None)
    if first is None or second is None:
        assert encoding is not None
        made: Program = _constant_program_of(encoding, mask, options.scale, options.dropout_p,
                                             options.sink, options.documents, options.return_lse)
        return made
    if torch.compiler.is_compiling():
        # Only numbers and strings: Dynamo drops the fields of a constant object.
        program: Program = _constant_program(first, second, options.scale, options.dropout_p,
                                             options.sink, options.documents, options.return_lse)
        return program
    return assembled(first, second, options)


@constant_in_graphs
def _constant_program(encoding: str, mask: str, *options: Any) -> Program:
    return assembled(encoding, mask, Options(*options))


@constant_in_graphs
def _constant_program_of(encoding: Encoding, mask: Mask | None, *options: Any) -> Program:
    """Returns the program of an encoding that defines `program`; compiled code then depends on the
    object."""
    program: Program = encoding.program(mask, Options(*options))
    return program


# --- Checks ------------------------------------------------------------------


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise InputError(f"{name}: expected [batch, heads, length, depth], found "
                             f"{tensor.dim()} dimensions, {list(tensor.shape)}")
        if not tensor.dtype.is_floating_point:
            raise InputError(f"{name}: expected a floating type (float32, bfloat16 or float16), "
                             f"found {tensor.dtype}; write {name}.float()")
        if tensor.dtype is not query.dtype:
            raise InputError(f"{name}: expected the type of query, {query.dtype}, found "
                             f"{tensor.dtype}; convert one of them")
        if tensor.device != query.device:
            raise InputError(f"{name}: expected a tensor on {query.device} like query, found "
                             f"one on {tensor.device}")
        if tensor.shape[3] == 0:
            raise InputError(f"{name}: expected a head dim of at least 1, found the shape "
                             f"{list(tensor.shape)}")
    b, heads, _, depth = query.shape
    if key.shape[0] != b or value.shape[0] != b:
        raise InputError(f"key, value: expected the batch size {b} of query, found {key.shape[0]} "
                         f"and {value.shape[0]}")
    if key.shape[3] != depth:
        raise InputError(f"key: expected the head dim {depth} of query, found {key.shape[3]}")
    if key.shape[1] != value.shape[1] or key.shape[2] != value.shape[2]:
        raise InputError(f"value: expected the heads and length of key, {list(key.shape[1:3])}, "
                         f"found {list(value.shape[1:3])}")
    if key.shape[1] == 0 or heads % key.shape[1]:
        raise InputError(f"query: expected a multiple of the {key.shape[1]} heads of key, found "
                         f"{heads}")


def _target_of(query: torch.Tensor, target: str | None) -> str:
    device = query.device.type
    if target is not None and not isinstance(target, str):
        raise InputError(f"target: expected one of {', '.join(_TARGETS)}, found {found(target)}")
    if target is None:
        if device not in ("cpu", "cuda"):
            raise DeviceError(f"query: expected a tensor on the CPU or a CUDA device, found one on "
                              f"{query.device}; move it there")
        return device
    if target not in _TARGETS:
        raise InputError(f"target: expected one of {', '.join(_TARGETS)}, found {target!r}")
    if _TARGETS[target] != device:
        raise InputError(f"query: expected a tensor on {_TARGETS[target]} for target {target}, "
                         f"found one on {query.device}; move it there")
    return target


def _converted(tensors: list[torch.Tensor], query: torch.Tensor,
               of_shards: bool) -> list[torch.Tensor]:
    """Converts parameters to f32, or to f64 if the query is f64; gradients have the parameters' own
    types."""
    wanted = torch.float64 if query.dtype is torch.float64 else torch.float32
    result = []
    for tensor in tensors:
        if not of_shards and is_dtensor(tensor):
            raise InputError(_SHARDED)
        if tensor.device != query.device:
            raise InputError(f"encoding, mask, sink or documents: expected tensors on "
                             f"{query.device} like query, found one on {tensor.device}; move the "
                             f"module there")
        tensor = resolved(tensor)
        result.append(tensor.to(wanted) if tensor.dtype.is_floating_point and
                      tensor.dtype is not wanted else tensor)
    return result
