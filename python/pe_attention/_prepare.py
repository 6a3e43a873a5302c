"""Checks the arguments of an attention, assembles its program, and runs the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch

from . import _identity, _ops, _run
from ._arguments import found
from ._assemble import assembled
from ._errors import DeviceError, InputError
from ._kinds import check_encoding, check_flag, check_mask, probability, real, whole
from ._masks import Mask
from ._ops import Attention
from ._program import Options, Program
from ._run import Call
from ._tensors import (as_int32, check_tensor, constant_in_graphs, is_dtensor, is_seen,
                       resolved)

if TYPE_CHECKING:
    from ._module import Bound, Encoding

_TARGETS = {"cpu": "cpu", "cuda": "cuda", "gpu-emulator": "cpu", "reference": "cpu"}
_LOW = (torch.bfloat16, torch.float16)
_FLOATING = (torch.float32, *_LOW, torch.float64)


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
            documents: torch.Tensor | None, of_shards: bool = False,
            pages: torch.Tensor | None = None) -> Ready:
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
    _check(query, key, value, pages)
    given = query.dtype
    if given in _LOW and where == "reference":
        query, key, value = query.float(), key.float(), value.float()
    elif given is torch.float64 and where != "reference":
        raise InputError(f"query: expected float32, bfloat16 or float16 on target {where}, found "
                         f"float64; convert it, or use target='reference'")
    program = program_of(encoding, mask, options)
    extra = arguments_of(encoding, of_shards) if encoding is not None else []
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
    if pages is not None:
        extra.append(as_int32("pages", pages))
        if " rotate(" in program.text and "rotated_keys" not in program.text:
            raise InputError("pages: expected an encoding that rotates no keys, found a rotation; "
                             "use pe.Cache with page=, which keeps rotated keys in its pages")
        _check_no_gradients([query, key, value, *extra])
    return Ready([query, key, value, *_converted(extra, query, of_shards)], program, where, given)


def _autocast(tensor: torch.Tensor, kind: str) -> torch.Tensor:
    """Returns the tensor in autocast's type for a kind of device. PyTorch's attention converts each
    operand in the same way."""
    if (torch.is_autocast_enabled(kind) and tensor.dtype.is_floating_point
            and tensor.dtype is not torch.float64):
        return tensor.to(torch.get_autocast_dtype(kind))
    return tensor


_SHARDED = ("encoding, mask, sink, documents or pages: expected plain tensors like query, found a "
            "DTensor; apply fully_shard to the layer that calls pe.attention, not to its encoding "
            "alone")


def arguments_of(encoding: Encoding | Bound, of_shards: bool) -> list[torch.Tensor]:
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


@constant_in_graphs
def _build() -> str:
    return _identity.build()


# --- Programs ----------------------------------------------------------------


def program_of(encoding: Encoding | Bound | None, mask: Mask | None, options: Options) -> Program:
    first = "" if encoding is None else getattr(encoding, "structure", None)
    second = "" if mask is None else getattr(mask, "structure", None)
    if first is None or second is None:
        assert encoding is not None
        made: Program = _constant_program_of(encoding, mask, options.scale, options.dropout_p,
                                             options.sink, options.documents, options.return_lse,
                                             options.pages)
        return made
    if torch.compiler.is_compiling():
        # Only numbers and strings: Dynamo drops the fields of a constant object.
        program: Program = _constant_program(first, second, options.scale, options.dropout_p,
                                             options.sink, options.documents, options.return_lse,
                                             options.pages)
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


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
           pages: torch.Tensor | None) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise InputError(f"{name}: expected [batch, heads, length, depth], found "
                             f"{tensor.dim()} dimensions, {list(tensor.shape)}")
        if tensor.dtype not in _FLOATING:
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
    if pages is not None:
        return _check_pages(query, key, value, pages)
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


def _check_pages(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                 pages: torch.Tensor) -> None:
    check_tensor("pages", pages)
    if pages.dim() != 2 or pages.shape[0] != query.shape[0]:
        raise InputError(f"pages: expected shape [{query.shape[0]}, n], the pages of each batch "
                         f"entry, found {list(pages.shape)}")
    if key.shape[:3] != value.shape[:3]:
        raise InputError(f"value: expected the pages, rows and heads of key, "
                         f"{list(key.shape[:3])}, found {list(value.shape[:3])}")
    if key.shape[1] == 0:
        raise InputError(f"key: expected [pages, page, heads, depth] with at least one row in a "
                         f"page, found {list(key.shape)}")
    if key.shape[3] != query.shape[3]:
        raise InputError(f"key: expected the head dim {query.shape[3]} of query, found "
                         f"{key.shape[3]}")
    if key.shape[2] == 0 or query.shape[1] % key.shape[2]:
        raise InputError(f"query: expected a multiple of the {key.shape[2]} heads of key, "
                         f"[pages, page, heads, depth], found {query.shape[1]}")


def _check_no_gradients(tensors: Sequence[torch.Tensor]) -> None:
    if torch.is_grad_enabled() and any([t.requires_grad for t in tensors]):
        raise InputError("pages: expected a call without gradients, found a tensor that requires "
                         "them; call it under torch.no_grad() or torch.inference_mode()")


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
            raise InputError(f"encoding, mask, sink, documents or pages: expected tensors on "
                             f"{query.device} like query, found one on {tensor.device}; move the "
                             f"module there")
        tensor = resolved(tensor)
        result.append(tensor.to(wanted) if tensor.dtype.is_floating_point and
                      tensor.dtype is not wanted else tensor)
    return result
