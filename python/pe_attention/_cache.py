"""Implements `Cache`: keys and values of decoding."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import OUTSIDE, checked, found, named
from ._attention import attention
from ._cache_pages import Pages
from ._cache_rows import Rows, Storage
from ._cache_steps import Steps
from ._errors import DeviceError, InputError
from ._kinds import HINTS, check_encoding, check_mask, whole
from ._masks import Mask, causal
from ._tensors import as_int32, check_tensor, is_dtensor
from ._turned import Turned, module_of, rotates, turned, with_data

if TYPE_CHECKING:
    from ._module import Bound, Encoding

_TYPES = (torch.float32, torch.bfloat16, torch.float16)
_is_grad_enabled = torch.is_grad_enabled
_is_autocast_enabled = torch._C._is_any_autocast_enabled
_nothing = nullcontext()
_NAMES = {**HINTS, "key": "write k", "value": "write v", "query": "write q",
          "keys": "write k", "values": "write v",
          "kv_len": "omit it: a cache knows its lengths",
          "q_start": "omit it: the last query is at the position of the last key",
          "k_start": "omit it: the first key is at position 0",
          "past_key_values": "a cache holds the keys and values of one layer",
          "layer_idx": "a cache holds the keys and values of one layer; create one per layer",
          "dropout_p": "omit it: a cache is for inference",
          "documents": "omit it: give each sequence its batch entry"}
for _name in "kqv":
    del _NAMES[_name]
_METHOD = ("pe.Cache: expected a call outside of compiled graphs, because a cache changes its "
           "length; compile without fullgraph=True")


class Cache:
    """The keys and values of one attention layer during decoding, for `batch` sequences.

    `append(k, v)` adds rows, and `attend(q, encoding)` computes the attention of the last rows over
    all rows so far, without copying them. Without `capacity` the cache grows: its memory doubles
    when it is full. With `capacity`, the number of rows per sequence, it is allocated once. Keys
    are [batch, kv_heads, rows, head_dim] and values [batch, kv_heads, rows, value_dim] (default:
    head_dim) of type `dtype`: float32, bfloat16 or float16. The first row of every sequence is at
    position 0. With `page`, rows are stored in pages of this number of rows, of a pool that all
    sequences share: a sequence takes memory for its own rows only (on CPUs).

    The keys of an encoding with a rotation, such as RoPE, are turned once, in place, by the first
    `attend` after their `append`: append keys that are not rotated. A cache with turned keys
    accepts only the same rotation. A cache is for inference: results have no gradients. It can be
    copied and pickled.

    Example:

        cache = pe.Cache(batch=1, kv_heads=2, head_dim=64)
        rope = pe.nn.RoPE()
        with torch.inference_mode():
            for n in (10, 1, 1):                        # a prompt of 10 tokens, then single tokens
                k, v = torch.randn(2, 1, 2, n, 64)
                cache.append(k, v)
                o = cache.attend(torch.randn(1, 8, n, 64), rope)
        assert len(cache) == 12 and o.shape == (1, 8, 1, 64)
    """

    @checked(least={"*": 1}, outside=OUTSIDE, name="Cache")
    def __init__(self, batch: int, kv_heads: int, head_dim: int, *, capacity: int | None = None,
                 page: int | None = None, dtype: torch.dtype = torch.float32,
                 value_dim: int | None = None,
                 device: torch.device | str | None = None) -> None:
        if dtype not in _TYPES:
            raise InputError(f"dtype: expected float32, bfloat16 or float16, found {dtype}")
        self.batch, self.kv_heads, self.head_dim = int(batch), int(kv_heads), int(head_dim)
        self.value_dim = int(value_dim or head_dim)
        self.dtype = dtype
        self.capacity = None if capacity is None else int(capacity)
        self.device = _device(device)
        self.page = None if page is None else int(page)
        if self.page is not None and self.device.type != "cpu":
            raise DeviceError(f"page: expected None on {self.device}, because pages are built for "
                              f"CPUs, found {page}")
        fixed = (self.batch, self.kv_heads, (self.head_dim, self.value_dim), self.capacity or 0,
                 dtype, self.device)
        self._rows: Storage = Rows(*fixed) if self.page is None else Pages(*fixed, self.page)
        self._steps = Steps(self.capacity)
        self.reset()

    # Rows

    def reset(self) -> None:
        """Removes all rows. The memory remains, and the next rotation may be another one."""
        self._lengths = [0] * self.batch
        self._longest, self._is_even = 0, True
        self._rows.crop(self._lengths)
        # The number of keys of each entry that are turned, by `_rotation` with `_parameters`.
        self._turned = [0] * self.batch
        self._rotation: str | None = None
        self._parameters: dict[str, torch.Tensor] = {}
        # The rows of the last append, if only the first of each entry are real.
        self._padded: tuple[int, list[int]] | None = None
        self._known: tuple[Any, ...] = ()

    def __len__(self) -> int:
        """Returns the number of rows of the longest sequence."""
        return self._longest

    def __bool__(self) -> bool:
        return True

    @property
    def lengths(self) -> torch.Tensor:
        """The number of rows of each sequence, int32 [batch] on the host."""
        return torch.tensor(self._lengths, dtype=torch.int32)

    @property
    def keys(self) -> torch.Tensor:
        """The keys, [batch, kv_heads, len(cache), head_dim]: turned, if `attend` had a rotation. A
        view of the memory, or a copy of pages. Rows after the length of a sequence are
        undefined."""
        return self._all()[0]

    @property
    def values(self) -> torch.Tensor:
        """The values, [batch, kv_heads, len(cache), value_dim]; see `keys`."""
        return self._all()[1]

    def _all(self) -> tuple[torch.Tensor, torch.Tensor]:
        every = slice(0, self.batch)
        if self.page is None:
            return self._rows.gathered(0, self._longest, every)
        parts = self._rows.allocate(self.batch, self.kv_heads, self._longest)
        for entry, length in enumerate(self._lengths):
            own = slice(entry, entry + 1)
            for part, rows in zip(parts, self._rows.gathered(0, length, own), strict=True):
                part[own, :, :length] = rows
        return parts

    def __repr__(self) -> str:
        lengths = f"{self._longest}" if self._is_even else f"{self._lengths}"
        most = "" if self.capacity is None else f", capacity={self.capacity}"
        most += "" if self.page is None else f", page={self.page}"
        return (f"pe.Cache(batch={self.batch}, kv_heads={self.kv_heads}, head_dim={self.head_dim}"
                f"{most}, dtype={self.dtype}) of {lengths} rows")

    @named(_NAMES, "Cache.append", _METHOD)
    def append(self, k: torch.Tensor, v: torch.Tensor,
               lengths: torch.Tensor | None = None) -> None:
        """Adds the rows `k` [batch, kv_heads, n, head_dim] and `v` [batch, kv_heads, n, value_dim]
        to the end of each sequence.

        With `lengths` [batch], integers, only the first `lengths[b]` of the n rows are real for
        sequence b: prompts of different lengths, padded on the right, or 0 for a sequence that has
        ended. Raises `InputError`, and changes nothing, if a tensor does not fit the cache, or if
        there would be more rows than `capacity`.

        Example:

            cache = pe.Cache(batch=2, kv_heads=2, head_dim=64)
            k, v = torch.randn(2, 2, 2, 9, 64)
            cache.append(k, v, lengths=torch.tensor([9, 4]))
            assert cache.lengths.tolist() == [9, 4]
        """
        for name, tensor, depth in (("k", k, self.head_dim), ("v", v, self.value_dim)):
            self._check(name, tensor, self.kv_heads, depth)
        rows = k.shape[2]
        if v.shape[2] != rows:
            raise InputError(f"v: expected the {rows} rows of k, found {v.shape[2]}")
        counts = None if lengths is None else self._counts_of(lengths, rows)
        after = [length + rows for length in self._lengths] if counts is None else [
            length + count for length, count in zip(self._lengths, counts, strict=True)]
        longest = max(after)
        if self.capacity is not None and longest > self.capacity:
            entry = after.index(longest)
            raise InputError(
                f"append: expected at most {self.capacity} rows per sequence, the capacity of this "
                f"cache, found {self._lengths[entry]} + {longest - self._lengths[entry]} of batch "
                f"entry {entry}; create it with a larger capacity, or without one")
        with _inference():
            self._rows.reserve(longest, self._longest)
            self._rows.write(k, v, self._lengths, counts or [rows] * self.batch)
        self._padded = None if counts is None else (rows, counts)
        self._lengths, self._longest = after, longest
        if not self._is_even or counts is not None:
            self._is_even = min(after) == longest

    def crop(self, length: int) -> None:
        """Removes the rows from position `length` on, for example tokens of a draft model that were
        rejected. Sequences that are not longer do not change."""
        length = whole("length", length)
        if length is None or not 0 <= length <= self._longest:
            raise InputError(f"length: expected a number of rows from 0 to {self._longest}, found "
                             f"{found(length)}")
        self._lengths = [min(each, length) for each in self._lengths]
        self._turned = [min(each, length) for each in self._turned]
        self._longest, self._is_even = length, min(self._lengths) == length
        self._rows.crop(self._lengths)
        self._padded = None
        self._forget()

    def reorder(self, index: torch.Tensor) -> None:
        """Replaces sequence b by sequence `index[b]`, as a beam search does. `index` [batch] are
        integers; an index may occur several times."""
        check_tensor("index", index)
        if index.shape != (self.batch,):
            raise InputError(f"index: expected shape [{self.batch}], the index of a sequence for "
                             f"each batch entry, found {list(index.shape)}")
        order: list[int] = as_int32("index", index).tolist()
        if min(order) < 0 or max(order) >= self.batch:
            raise InputError(f"index: expected indices from 0 to {self.batch - 1}, found "
                             f"{min(order) if min(order) < 0 else max(order)}")
        with _inference():
            self._rows.reorder(torch.tensor(order, device=self.device), self._longest)
        self._lengths = [self._lengths[each] for each in order]
        self._turned = [self._turned[each] for each in order]
        self._longest = max(self._lengths)
        self._is_even = min(self._lengths) == self._longest
        if self._padded is not None:
            self._padded = (self._padded[0], [self._padded[1][each] for each in order])
        self._forget()

    def _forget(self) -> None:
        """Accepts any rotation again if no key is turned."""
        if not any(self._turned):
            self._rotation, self._parameters = None, {}

    # Attention

    @named(_NAMES, "Cache.attend", _METHOD)
    def attend(self, q: torch.Tensor, encoding: Encoding | Bound | None = None,
               mask: Mask | None = causal, *, scale: float | None = None,
               sink: torch.Tensor | None = None, head_start: int = 0,
               heads_total: int | None = None, return_lse: bool = False,
               target: str | None = None) -> Any:
        """Returns the attention of `q` [batch, Hq, n, head_dim], the queries of the last n rows of
        each sequence, over all its rows: o [batch, Hq, n, value_dim], or (o, lse).

        The last query of a sequence is at the position of its last key. After an append with
        `lengths`, the n queries of this append correspond to its rows instead, and o is 0 (lse
        minus infinity) in rows that are not real; fewer queries are those of the last rows. `mask`
        is causal by default; None lets queries see all rows. `scale`, `sink`, `head_start`,
        `heads_total`, `return_lse` and `target` are as in `pe.attention`. Each sequence has the
        bits of a call with this sequence alone.

        Raises `InputError` for an empty cache, for a query that does not fit, and for a rotation or
        a parameter of it that differs from the one that turned the keys.

        Example:

            cache = pe.Cache(batch=1, kv_heads=2, head_dim=64)
            k, v = torch.randn(2, 1, 2, 5, 64)
            cache.append(k, v)
            q = torch.randn(1, 8, 1, 64)   # the query of the last of 5 tokens
            o = cache.attend(q, pe.nn.ALiBi(heads=8))
        """
        options: dict[str, Any] = {
            "scale": scale, "sink": sink, "head_start": head_start,
            "heads_total": heads_total, "return_lse": return_lse, "target": target}
        if self.page is None and self._rotation is None and self._padded is None and self._is_even:
            keys, values, _ = self._rows.pools(self._longest)
            results = self._steps.repeat_directly(q, keys, values, self._longest, encoding, mask,
                                                  options)
            if results is not None:
                return (results[0], results[1]) if return_lse else results[0]
        module = module_of(encoding)
        if module is None:
            check_encoding(encoding)
        self._check_query(q, mask)
        with _inference():
            used = self._turn(module, encoding, mask)
            if self._padded is not None and q.shape[2] == self._padded[0]:
                return self._attend_padded(q, used, mask, options)
            # The table of pages gives the number of pages, not of rows.
            lengths = None if self._is_even and self.page is None else self.lengths
            results = self._steps.repeat(q, self._rows, self._longest, encoding, self._known, mask,
                                         options, lengths)
            if results is None:
                keys, values, pages = self._rows.operands(self._longest, slice(0, self.batch))
                results = self._steps.attend((q, keys, values), encoding, used, self._known, mask,
                                             options, lengths, pages)
            if results is not None:
                return (results[0], results[1]) if return_lse else results[0]
            return attention(q, keys, values, used, mask=mask, pages=pages, kv_len=lengths,
                             **options)

    def _attend_padded(self, q: torch.Tensor, encoding: Any, mask: Mask | None,
                       options: dict[str, Any]) -> Any:
        """Attends after an append with lengths. Each entry is a call: its first query is at the
        first of its new rows, and kernels depend on the number of rows."""
        assert self._padded is not None
        rows, counts = self._padded
        o = q.new_zeros(self.batch, q.shape[1], rows, self.value_dim)
        lse = q.new_full(o.shape[:3], -torch.inf, dtype=torch.float32)
        for entry, count in enumerate(counts):
            if not count:
                continue
            own = slice(entry, entry + 1)
            keys, values, pages = self._rows.operands(self._longest, own)
            results = attention(q[own, :, :count], keys, values, encoding, mask=mask, pages=pages,
                                kv_len=torch.tensor([self._lengths[entry]], dtype=torch.int32),
                                **options)
            part, log = results if options["return_lse"] else (results, None)
            o[own, :, :count] = part
            if log is not None:
                lse[own, :, :count] = log
        return (o, lse) if options["return_lse"] else o

    def _turn(self, module: Encoding | None, encoding: Any, mask: Mask | None) -> Any:
        """Turns the keys that are not turned yet, and returns the encoding of the call."""
        if module is None:
            self._known = ()
        here = None if module is None else self._turned_encoding(module, mask)
        if self.page is not None and module is not None:
            kinds = {clause.partition("(")[0] for clause in module.piece().clauses}
            if "prologue" in kinds or ("rotate" in kinds and here is None):
                raise InputError(f"encoding: expected one whose keys are kept as they are or "
                                 f"turned once in a cache in pages, found "
                                 f"{type(module).__name__}; create the cache without page")
        if here is None:
            if self._rotation is not None:
                raise self._other_rotation(encoding)
            return encoding
        if self._rotation not in (None, here.text):
            raise self._other_rotation(encoding)
        parameters = here.parameters()
        if self._rotation is not None:
            for name, tensor in parameters.items():
                if not torch.equal(tensor, self._parameters[name]):
                    raise InputError(f"encoding: expected the value of {name} that turned the keys "
                                     f"of this cache, found another; reset() the cache and append "
                                     f"its rows again after a change of a rotation's parameters")
        self._turn_rows(here, parameters)
        if self._rotation is None:
            self._rotation = here.text
            self._parameters = {name: each.clone() for name, each in parameters.items()}
        self._turned = self._lengths
        return with_data(here.encoding, encoding)

    def _turned_encoding(self, module: Encoding, mask: Mask | None) -> Turned | None:
        """Returns `turned` of the encoding of the last call, or of another one."""
        structure = module.structure  # which follows changes of captured tensors
        piece, known = module.piece(), self._known
        if not known or (known[0] is not module or known[1] is not structure
                         or known[2] is not piece):
            # A rotation without keys that can be kept turned is that of every call.
            result = turned(module, mask, self._rows.keys, self.value_dim, self.device.type) \
                if rotates(module) else None
            known = self._known = (module, structure, piece, result)
        here: Turned | None = known[3]
        return here

    def _turn_rows(self, here: Turned, parameters: dict[str, torch.Tensor]) -> None:
        """Turns the keys that are not turned yet: one call for all sequences, if they have equal
        lengths or one new row each, else one call for each."""
        turned, rows = self._turned, self._rows
        if self._is_even and min(turned) == max(turned):
            ranges = [(turned[0], self._longest, slice(0, self.batch))]
        else:
            ranges = [(start, length, slice(entry, entry + 1)) for entry, (start, length) in
                      enumerate(zip(turned, self._lengths, strict=True))]
            single = [entry.start for start, length, entry in ranges if length == start + 1]
            if len(single) > 1:
                positions = [turned[entry] for entry in single]
                keys = here.turn_each(rows.keys_at(single, positions), positions, parameters)
                rows.replace_keys_at(keys, single, positions)
                ranges = [each for each in ranges if each[1] != each[0] + 1]
        for start, length, entries in ranges:
            if start < length:
                keys = rows.gathered_keys(start, length, entries)
                rows.replace_keys(here.turn(keys, start, parameters), start, entries)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": ()}

    # Checks

    def _other_rotation(self, encoding: Any) -> InputError:
        shown = "None" if encoding is None else type(module_of(encoding) or encoding).__name__
        return InputError(f"encoding: expected the rotation that turned the keys of this cache, "
                          f"found {shown}; use one encoding per cache, or reset() it")

    def _check(self, name: str, tensor: Any, heads: int | None, depth: int) -> None:
        check_tensor(name, tensor)
        if is_dtensor(tensor):
            raise InputError(f"{name}: expected a plain tensor, found a DTensor; use a cache per "
                             f"process with {name}.to_local()")
        shape = tensor.shape
        if len(shape) != 4 or shape[0] != self.batch or shape[3] != depth or (
                heads is not None and shape[1] != heads):
            raise InputError(f"{name}: expected shape [{self.batch}, {heads or 'heads'}, rows, "
                             f"{depth}] of this cache, found {list(shape)}"
                             f"{self._advice(name, tensor, heads, depth)}")
        if tensor.dtype is not self.dtype:
            other = f"create it with dtype={tensor.dtype}, or " if tensor.dtype in _TYPES else ""
            raise InputError(f"{name}: expected {self.dtype}, the type of this cache, found "
                             f"{tensor.dtype}; {other}convert {name}")
        if tensor.device != self.device:
            raise InputError(f"{name}: expected a tensor on {self.device} like the cache, found "
                             f"one on {tensor.device}; create it with "
                             f"device={str(tensor.device)!r}")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise InputError(f"{name}: expected a tensor without gradients, because a cache is for "
                             f"inference, found one that requires grad; run the model under "
                             f"torch.inference_mode(), or train with pe.attention")

    def _advice(self, name: str, tensor: torch.Tensor, heads: int | None, depth: int) -> str:
        shape = tensor.shape
        if len(shape) == 3 and shape[2] == depth:
            return f"; write {name}.unsqueeze(2) for one token"
        if len(shape) != 4 or heads is None:
            return ""
        if shape[2] == heads:
            return f"; write {name}.transpose(1, 2)"
        if shape[0] == self.batch and shape[3] == depth and shape[1] > heads:
            return "; append the heads of keys, which are not repeated for those of queries"
        return ""

    def _counts_of(self, lengths: Any, rows: int) -> list[int] | None:
        """Returns the numbers of real rows, or None if all are real."""
        check_tensor("lengths", lengths)
        if lengths.shape != (self.batch,):
            raise InputError(f"lengths: expected shape [{self.batch}], a number of rows for each "
                             f"batch entry, found {list(lengths.shape)}")
        counts: list[int] = as_int32("lengths", lengths).tolist()
        for entry, count in enumerate(counts):
            if not 0 <= count <= rows:
                raise InputError(f"lengths: expected numbers from 0 to {rows}, the rows of k, "
                                 f"found {count} at index {entry}")
        return counts if min(counts) < rows else None

    def _check_query(self, q: Any, mask: Any) -> None:
        self._check("q", q, None, self.head_dim)
        if q.shape[1] == 0 or q.shape[1] % self.kv_heads:
            raise InputError(f"q: expected a multiple of the {self.kv_heads} heads of keys, found "
                             f"{q.shape[1]}")
        if not self._longest:
            raise InputError("attend: expected a cache with rows, found an empty one; call "
                             "append(k, v) with the rows of these queries first")
        if q.shape[2] > self._longest and not (
                self._padded is not None and q.shape[2] == self._padded[0]):
            raise InputError(f"q: expected the queries of at most {self._longest} rows, the length "
                             f"of this cache, found {q.shape[2]}; append the keys and values of "
                             f"all these tokens first")
        check_mask(mask)


def _device(device: Any) -> torch.device:
    try:
        made = torch.get_default_device() if device is None else torch.device(device)
    except (RuntimeError, TypeError):
        raise InputError(f"device: expected a device such as 'cpu' or 'cuda', found "
                         f"{found(device)}") from None
    if made.type not in ("cpu", "cuda"):
        raise DeviceError(f"device: expected the CPU or a CUDA device, found {made}")
    if made.type == "cuda" and made.index is None:
        return torch.device("cuda", torch.cuda.current_device())
    return made


class _Inference:
    """Disables gradients, and conversions of the whole cache by autocast."""

    def __init__(self) -> None:
        self.contexts: list[Any] = [torch.no_grad()]
        self.contexts += [torch.autocast(kind, enabled=False) for kind in ("cpu", "cuda")
                          if torch.is_autocast_enabled(kind)]

    def __enter__(self) -> None:
        for each in self.contexts:
            each.__enter__()

    def __exit__(self, *error: Any) -> None:
        for each in reversed(self.contexts):
            each.__exit__(*error)


def _inference() -> Any:
    """Returns the context of a call, which costs nothing under torch.inference_mode()."""
    return _Inference() if _is_grad_enabled() or _is_autocast_enabled() else _nothing
