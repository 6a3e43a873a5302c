"""Converts the masks of transformers models to masks of pe.

A model requests a mask once per forward pass and kind of layer, with a function of (batch, head,
query, key) composed by transformers, and the 0s and 1s of the padding. The objects returned here
represent the mask without a value per pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from .._assemble import Argument, Piece, dump, intersect
from .._errors import InputError
from .._masks import Mask, causal, sliding_window
from .._tensors import constant_in_graphs

_LIBRARY = "transformers.masking_utils"


class _Plain:
    """The functions of transformers that compiled code recognizes by identity; it cannot inspect
    them."""

    causal: Any = None
    bidirectional: Any = None


PLAIN = _Plain()


@dataclass(frozen=True)
class Pattern:
    """The meaning of a mask function: causal or not, keys fewer than `left` positions before the
    query and `right` after it, the document number of each token if sequences are packed, and
    chunks of `chunk` tokens, which are counted from the `start` [batch] of each sequence."""

    causal: bool = False
    left: int | None = None
    right: int | None = None
    documents: torch.Tensor | None = None
    positions: torch.Tensor | None = None
    chunk: int | None = None
    start: torch.Tensor | None = None


# Numbers of queries and of keys [batch, tokens]: a query attends to the keys with its number.
Group = tuple[torch.Tensor, torch.Tensor]


class PatternMask(Mask):
    """A pattern with the tensors of a call: `keep` [batch, keys] is 0 for padding, and `groups` are
    documents and chunks."""

    def __init__(self, pattern: Pattern, keep: torch.Tensor | None,
                 groups: tuple[Group, ...] = ()) -> None:
        self.structure = _structure(pattern.causal, pattern.left, pattern.right, keep is not None,
                                    len(groups))
        self.tensors = (() if keep is None else (keep.to(torch.int32),)) + \
            tuple(numbers.to(torch.int32) for group in groups for numbers in group)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.tensors

    def to(self, device: torch.device) -> PatternMask:
        moved = object.__new__(PatternMask)
        moved.structure = self.structure
        moved.tensors = tuple(tensor.to(device) for tensor in self.tensors)
        return moved


@constant_in_graphs
def _structure(is_causal: bool, left: int | None, right: int | None, keep: bool,
               groups: int) -> str:
    return _joined(is_causal, left, right, keep, groups)


@lru_cache(maxsize=256)
def _joined(is_causal: bool, left: int | None, right: int | None, keep: bool,
            groups: int) -> str:
    pieces: list[Piece] = [causal.piece()] if is_causal else []
    if left is not None or right is not None:
        pieces.append(sliding_window(left, right).piece())
    if keep:
        pieces.append(_formula("${keep}[b, j] > 0", {"keep": "key"}))
    for _ in range(groups):
        pieces.append(_formula("${q_group}[b, i] == ${k_group}[b, j]",
                               {"q_group": "query", "k_group": "key"}))
    return dump(intersect(pieces))


def _formula(text: str, tensors: dict[str, str]) -> Piece:
    rows = "tensor<?x?xi32>"
    names = ", ".join(f"%{{{name}}}" for name in tensors)
    types = ", ".join(rows for _ in tensors)
    arguments = tuple(Argument(name, rows, f'pe.axes = ["batch", "{axis}"]')
                      for name, axis in tensors.items())
    return Piece(f'%{{mask}} = pe.mask_fn({names} : {types}) expr "{text}"', ("mask(%{mask})",),
                 arguments)


@dataclass(frozen=True)
class Rule:
    """The mask and the positions of an attention. Query r is at `q_start` + r and key c at
    `k_start` + c. With left padding or packed sequences, `positions` are [batch, queries] and
    [batch, keys], counted from the first token of each sequence. Only the first `k_used` keys are
    read, by default all; the others are unused rows of a static cache, after the last query."""

    mask: Mask | None
    q_length: int
    k_length: int
    q_start: int = 0
    k_start: int = 0
    is_causal: bool = False
    positions: tuple[torch.Tensor, torch.Tensor] | None = None
    k_used: int | None = None

    def to(self, device: torch.device) -> Rule:
        mask = self.mask.to(device) if isinstance(self.mask, PatternMask) else self.mask
        positions = self.positions and (self.positions[0].to(device), self.positions[1].to(device))
        return replace(self, mask=mask, positions=positions)


class AttentionMask(torch.Tensor):
    """Represents a mask [batch, 1, queries, keys] between a model and its attention. Models pass it
    on unchanged; computing with it gives a plain tensor, which the attention rejects."""

    rule: Rule
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def of(rule: Rule, batch: int, device: torch.device | str) -> AttentionMask:
        one = torch.ones((), dtype=torch.bool, device=device)
        shape = (batch, 1, rule.q_length, rule.k_length)
        mask = torch.Tensor._make_subclass(AttentionMask, one.expand(shape))
        mask.rule = rule
        return mask

    def contiguous(self, *_: Any, **__: Any) -> AttentionMask:
        return self

    def detach(self) -> AttentionMask:
        return self

    def to(self, *args: Any, **kwargs: Any) -> AttentionMask:
        device = torch.Tensor.to(self, *args, **kwargs).device
        return self if device == self.device else \
            AttentionMask.of(self.rule.to(device), self.shape[0], device)


def make_mask(batch_size: int, q_length: int, kv_length: int, q_offset: int | torch.Tensor = 0,
              kv_offset: int = 0, mask_function: Callable[..., Any] | None = None,
              attention_mask: torch.Tensor | None = None, device: torch.device | str = "cpu",
              **_: Any) -> AttentionMask | Rule:
    """The function for transformers' `AttentionMaskInterface`. `attention_mask` [batch, tokens]
    covers all tokens from the start of the sequence and is False for padding."""
    if torch.compiler.is_compiling() and not isinstance(q_offset, torch.Tensor):
        is_causal = mask_function is None or mask_function is PLAIN.causal
        if is_causal or mask_function is PLAIN.bidirectional:
            return _in_graph(is_causal, q_length, kv_length, q_offset, kv_offset, attention_mask)
    mask: AttentionMask = _make_mask(batch_size, q_length, kv_length, q_offset, kv_offset,
                                     mask_function, attention_mask, device)
    return mask


def _in_graph(is_causal: bool, q_length: int, k_length: int, q_start: int, k_start: int,
              attention_mask: torch.Tensor | None) -> Rule:
    """Implements `_make_mask` without reading values: any attention mask may imply left padding. A
    graph cannot create an `AttentionMask`."""
    pattern = Pattern(causal=is_causal)
    if attention_mask is None:
        return Rule(causal if is_causal else None, q_length, k_length, q_start, k_start, is_causal)
    missing = k_start + k_length - attention_mask.shape[-1]
    keep = torch.nn.functional.pad(attention_mask, (0, missing)) if missing > 0 else attention_mask
    positions = _positions(keep, q_start, q_length, k_start, k_length)
    mask = PatternMask(pattern, keep[:, k_start:k_start + k_length])
    return Rule(mask, q_length, k_length, q_start, k_start, is_causal, positions)


def _positions(keep: torch.Tensor, q_start: int, q_length: int, k_start: int,
               k_length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the positions of queries and keys, counted from the first column without padding.
    Tokens before it are padding and take no part; their position is 0."""
    first = keep.to(torch.int32).argmax(-1, keepdim=True)
    queries = torch.arange(q_start, q_start + q_length, device=keep.device) - first
    keys = torch.arange(k_start, k_start + k_length, device=keep.device) - first
    return queries.clamp(min=0).to(torch.int32), keys.clamp(min=0).to(torch.int32)


@torch.compiler.disable(  # type: ignore[untyped-decorator]
    reason="pe.integrations.transformers reads masks of windows, packed sequences and static "
           "caches in Python: compile without fullgraph=True. Without attention_mask and cache, "
           "transformers detects packed sequences: pass attention_mask=torch.ones_like(input_ids)")
def _make_mask(batch_size: int, q_length: int, kv_length: int, q_offset: int | torch.Tensor,
               kv_offset: int, mask_function: Callable[..., Any] | None,
               attention_mask: torch.Tensor | None,
               device: torch.device | str) -> AttentionMask:
    pattern = read_pattern(mask_function)
    q_start, k_start = int(q_offset), int(kv_offset)
    used = kv_length
    if pattern.causal and pattern.positions is None:
        used = min(kv_length, max(q_start + q_length - k_start, 0))
    positions = None
    if pattern.positions is not None:
        row = pattern.positions.to(torch.int32)
        positions = (row, row)
    keep = _padding(attention_mask, q_start + q_length, k_start + used, pattern.causal)
    if keep is not None:
        if bool(keep.to(torch.int32).argmax(-1).any()):
            positions = _positions(keep, q_start, q_length, k_start, used)
        keep = keep[:, k_start:k_start + used]
    groups = _groups(pattern, q_start, q_length, k_start, used)
    everything = not pattern.causal and pattern.left is None and pattern.right is None \
        and not groups and keep is None
    mask = None if everything else PatternMask(pattern, keep, groups)
    rule = Rule(mask, q_length, kv_length, q_start, k_start, pattern.causal, positions, used)
    return AttentionMask.of(rule, batch_size, device)


def _groups(pattern: Pattern, q_start: int, q_length: int, k_start: int,
            k_length: int) -> tuple[Group, ...]:
    groups = []
    if pattern.documents is not None:
        groups.append((pattern.documents, pattern.documents))
    if pattern.chunk is not None and pattern.start is not None:
        def number(first: int, length: int) -> torch.Tensor:
            columns = torch.arange(first, first + length, device=start.device)
            places = columns if pattern.positions is None else pattern.positions
            return (places - start).div(size, rounding_mode="floor")

        start, size = pattern.start[:, None], pattern.chunk
        if pattern.positions is not None or q_start + q_length > size:
            groups.append((number(q_start, q_length), number(k_start, k_length)))
    return tuple(groups)


def _padding(mask: torch.Tensor | None, q_end: int, k_end: int,
             is_causal: bool) -> torch.Tensor | None:
    """Returns the mask with an entry for each key up to `k_end`, or None if it hides no key that
    the pattern allows. Keys after the end of the mask are unused entries of a cache."""
    if mask is None:
        return None
    missing = k_end - mask.shape[-1]
    needed = missing <= 0 or (is_causal and q_end <= mask.shape[-1])
    if needed and bool(mask.all()):
        return None
    return torch.nn.functional.pad(mask, (0, missing)) if missing > 0 else mask


# --- Composed mask functions -------------------------------------------------


def read_pattern(function: Callable[..., Any] | None) -> Pattern:
    """Returns the pattern of a function of `transformers.masking_utils`, from the functions that it
    is composed of."""
    pattern = Pattern(causal=True)
    if function is not None:
        pattern = Pattern()
        for part in _parts(function):
            pattern = _add(pattern, part)
    return pattern


def _parts(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    if _name(function) == "and_masks":
        return [part for inner in _inside(function)["mask_functions"] for part in _parts(inner)]
    return [function]


def _add(pattern: Pattern, part: Callable[..., Any]) -> Pattern:
    name = _name(part)
    if name == "causal_mask_function":
        return replace(pattern, causal=True)
    if name == "bidirectional_mask_function":
        return pattern
    if name == "sliding_window_overlay":
        return _narrowed(pattern, int(_inside(part)["sliding_window"]), None)
    if name == "sliding_window_bidirectional_overlay":
        size = int(_inside(part)["sliding_window"]) + 1
        return _narrowed(pattern, size, size)
    if name == "chunked_overlay":
        inside = _inside(part)
        return replace(pattern, chunk=int(inside["chunk_size"]), start=inside["left_padding"])
    if name == "packed_sequence_mask_function":
        return replace(pattern, documents=_inside(part)["packed_sequence_mask"])
    if name == "remap_positions_for_packed_sequence":
        # Within a document, differences of positions equal differences of rows, so bounds on
        # positions hold for rows.
        inside = _inside(part)
        for inner in _parts(inside["mask_function"]):
            pattern = _add(pattern, inner)
        return replace(pattern, positions=inside["position_ids"])
    raise InputError(f"attention mask: expected causal or bidirectional attention, a sliding "
                     f"window, chunks, padding and packed position_ids, found {name}; "
                     f"pe.attention takes any mask by pe.mask, but not through transformers")


def _narrowed(pattern: Pattern, left: int, right: int | None) -> Pattern:
    if pattern.left is not None:
        raise InputError("attention mask: expected one sliding window, found two")
    return replace(pattern, left=left, right=right)


def _name(function: Callable[..., Any]) -> str:
    """Returns the name of the function of transformers that this function is or was created by, or
    its `__name__`."""
    name = str(getattr(function, "__qualname__", repr(function)))
    known = getattr(function, "__module__", "") == _LIBRARY
    return name.partition(".")[0] if known else f"the function {name}"


def _inside(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the variables of the enclosing function."""
    made: Any = function
    return {name: cell.cell_contents
            for name, cell in zip(made.__code__.co_freevars, made.__closure__, strict=True)}
