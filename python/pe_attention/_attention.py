"""Implements `attention` for eager and compiled PyTorch code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from . import _repeats, _run
from ._arguments import named
from ._errors import InputError
from ._growing import Growing, family_of
from ._kinds import HINTS
from ._lengths import lengths_of
from ._masks import Mask
from ._ops import Attention
from ._plain import Plain, plain_of
from ._prepare import Ready, options_of, prepare, results_of, starts_of
from ._run import Call, Forward
from ._tensors import check_tensor, is_dtensor

if TYPE_CHECKING:
    from ._function import Function
    from ._module import Bound, Encoding


@named(HINTS)
def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              encoding: Encoding | Bound | None = None, *, mask: Mask | None = None,
              scale: float | None = None, q_start: int | None = None, k_start: int = 0,
              head_start: int = 0, heads_total: int | None = None, dropout_p: float = 0.0,
              sink: torch.Tensor | None = None, documents: torch.Tensor | None = None,
              kv_len: torch.Tensor | None = None, pages: torch.Tensor | None = None,
              return_lse: bool = False, target: str | None = None) -> Any:
    """Computes the attention of `query` [B, Hq, Sq, D] over `key` [B, Hkv, Sk, D] and `value` [B,
    Hkv, Sk, E].

    The three tensors have one type, float32, bfloat16 or float16, which is also that of o and of
    their gradients. CPU kernels read 16-bit tensors as they are, compute in float32 and round
    results once, except that processors with `vdpbf16ps` multiply bfloat16.
    Other tensors of floating-point numbers are converted to float32.

    Strided inputs are used without a copy, and the result has the layout of `query`. If there are
    fewer key heads than query heads, consecutive query heads share a key head. `encoding` adds its
    bias, rotation or normalizer; `mask` selects the pairs that take part. Query r is at position
    `q_start` + r and key c at `k_start` + c; with `q_start=None` the last query is at the position
    of the last key. `head_start` is the number of the first head and `heads_total` the number of
    heads in the whole model. `dropout_p` is the probability of dropping a weight, with a seed from
    PyTorch's generator. `sink` [Hq] are logits that are added to each row's denominator.
    `documents` are the boundaries (0, ..., length) of documents packed into one sequence: attention
    does not cross them, and positions restart at 0 in each. `kv_len` [B] are the numbers of keys
    of the batch entries, for caches of different lengths: keys, values and other data of keys after
    them are not read, and the last query of an entry is at the position of its last key. An entry
    has the bits of a call with this entry and its keys alone. With `pages` [B, n], a table of
    integers, `key` [pages, page, Hkv, D] and `value` [pages, page, Hkv, E] are pages of a pool: key
    j of entry b is row j % page of page `pages[b, j // page]` (on CPUs, without gradients and
    without rotations, which `pe.Cache` applies to pages). Returns o, or (o, lse) with
    `return_lse=True`, where lse is the natural logarithm of the denominators in f32.
    """
    lengths = None
    if kv_len is not None:
        check_tensor("query", query)
        lengths = lengths_of(kv_len, query, q_start, dropout_p)
    if is_dtensor(query):
        if pages is not None:
            raise InputError("pages: expected None with DTensors; pass the local tensors of a rank")
        from .distributed._dtensor import attention_of_shards

        return attention_of_shards(query, key, value, encoding, mask=mask, scale=scale,
                                   q_start=q_start, k_start=k_start, head_start=head_start,
                                   heads_total=heads_total, dropout_p=dropout_p, sink=sink,
                                   documents=documents, return_lse=return_lse, target=target)
    plain = layouts = None
    if (not torch.compiler.is_compiling() and type(dropout_p) is float and not dropout_p
            and sink is None and documents is None and pages is None):
        plain = plain_of(query, key, value, encoding, mask, (
            scale, return_lse, target, q_start, k_start, head_start, heads_total), lengths)
        found: Sequence[torch.Tensor] | None = None
        if plain is not None:
            found = None if plain.keep else _repeats.run(plain)
            if found is None:
                layouts = plain.key()
                found = None if layouts is None else _repeated(plain, layouts)
        if found is not None:
            return (found[0], found[1]) if return_lse else found[0]
    options = options_of(scale, dropout_p, sink, documents, return_lse)
    if pages is not None:
        options = replace(options, pages=True)
    starts = starts_of(q_start, k_start, head_start, heads_total)
    ready = prepare(query, key, value, encoding, mask, options, target, heads_total, sink,
                    documents, pages=pages)
    if lengths is not None:
        ready.tensors.append(lengths)
    call = Call(ready.program.text, ready.target, *starts)
    results = results_of(ready.tensors, call)
    if plain is not None and layouts is not None:
        _remember(plain, layouts, ready, call)
    o = results[0] if results[0].dtype is ready.given else results[0].to(ready.given)
    return (o, results[1]) if return_lse else o


# --- Cached calls ------------------------------------------------------------


class _Known(NamedTuple):
    call: Call
    function: Function
    forward: Forward
    # The call without gradients on the CPU.
    exact: Growing | None


_MOST_KNOWN = 1024
_known: dict[tuple[Any, ...], _Known] = {}
# Calls of which only the number of keys differs, as in decoding.
_growing: dict[tuple[Any, ...], Growing] = {}


def forget() -> None:
    """Forgets all calls, so that the next ones are checked."""
    _known.clear()
    _growing.clear()
    _repeats.clear()


def _repeated(plain: Plain, key: tuple[Any, ...]) -> Sequence[torch.Tensor] | None:
    """Returns the results if an equal call was checked before, else None."""
    try:
        known = _known.get(key)
    except TypeError:  # not a number
        return None
    if plain.keep:
        if known is None:
            return None
        recorded: Sequence[torch.Tensor] = Attention.apply(  # type: ignore[attr-defined]
            known.call, known.function, known.forward, *plain.tensors)
        return recorded
    again = _growing.get(_family(key))
    if again is None and known is not None:
        again = known.exact
    results = None if again is None else again.run(plain.tensors, plain.tensors[1].shape[2])
    if again is not None and results is not None:
        _repeats.add(plain, again)  # the operator does not have the call, or not any more
    if results is not None or known is None:
        return results
    return _run.forward(known.function, plain.tensors, known.call, False, known.forward)[1]


def _family(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (family_of(key[0]), *key[1:])


def _remember(plain: Plain, key: tuple[Any, ...], ready: Ready, call: Call) -> None:
    numbers = call[2:6]
    if any([type(number) is not int for number in numbers if number is not None]) or \
            [t.dtype for t in ready.tensors] != [t.dtype for t in plain.tensors]:
        return  # numbers that may change, or tensors that need a conversion
    function = _run.function_of(ready.tensors, call, plain.keep)
    forward = _run.known_forward(function, ready.tensors, call, plain.keep)
    if forward is not None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        exact = None if plain.keep else Growing.of(function, call, forward, exact=True)
        _known[key] = _Known(call, function, forward, exact)
        if not plain.keep and family_of(key[0]) is not None:
            growing = Growing.of(function, call, forward)
            if growing is not None:
                if len(_growing) >= _MOST_KNOWN:
                    _growing.clear()
                _growing[_family(key)] = growing
        if exact is not None:
            _repeats.add(plain, _growing.get(_family(key), exact))
