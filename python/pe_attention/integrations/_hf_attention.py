"""The attention function of transformers models, which `AttentionInterface` calls in every
layer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import torch

from .. import nn as encodings
from .._attention import attention
from .._errors import InputError
from .._masks import causal
from .._module import Bound, Encoding, Sum
from ._hf_bias import AXES, OwnBias, OwnRanks, PairBias, RowSinks, pairs_of, sinks_of
from ._hf_masks import AttentionMask, Rule

NAME = "pe_attention"
# The names of the attention in transformers.
NAMES = ("pe", NAME)
# The attribute of a layer that holds the data of `use`.
PLACE = "_pe_layer"

# Arguments of models that do not affect the result.
_HARMLESS = frozenset({
    "position_ids", "use_cache", "cache_position", "output_hidden_states", "return_dict",
    "num_items_in_batch", "output_router_logits", "logits_to_keep", "sliding_window",
    "deterministic", "past_key_values", "position_embeddings", "labels", "token_type_ids"})
_INSTEAD = {
    "output_attentions": "pe's kernels do not store the weights; restore() the model and set "
                         "attn_implementation='eager' to get them",
    "cu_seq_lens_q": "pass packed sequences by position_ids",
    "head_mask": "omit it",
    "cache": "paged caches are not supported; use the model's own cache",
}


# The softcap of a call, whether it has explicit positions, the axes of its bias per pair, and
# whether it has sinks per query.
_Key = tuple[float | None, bool, tuple[str, ...], bool]


@dataclass
class Attached:
    """The data of `use` for a layer. It is in the layer's `__dict__`, so that it is copied and
    pickled with the layer."""

    name: str = ""
    encoding: Encoding | None = None
    # The model's relative bias, or None if pe does not compute it.
    own: OwnBias | OwnRanks | None = None
    drops_bias: bool = False
    hides_rotation: bool = False
    # True if an encoding depends on absolute positions.
    reads_positions: bool = False
    _sums: dict[_Key, Encoding | None] = field(default_factory=dict)

    def parts(self) -> list[Encoding]:
        return [part for part in (self.own, self.encoding) if part is not None]

    def settle(self, softcap: float | None) -> None:
        """Creates the encodings of calls in advance, so that compiled code finds them."""
        self.reads_positions = any(not by_difference(part) for part in self.parts())
        for placed in (False, True):
            self.whole(softcap, placed)

    def whole(self, softcap: float | None, placed: bool,
              axes: tuple[str, ...] = (), sinks: bool = False) -> Encoding | None:
        """Returns the encoding combined with the model's bias, softcap and the positions of a
        call."""
        key = (softcap, placed, axes, sinks)
        if key not in self._sums:
            parts = self.parts()
            if axes:
                parts.append(PairBias(axes))
            if sinks:
                parts.append(RowSinks())
            if softcap is not None:
                parts.append(encodings.Softcap(cap=softcap))
            if placed:
                parts.append(encodings.Positions())
            self._sums[key] = Sum(*parts) if len(parts) > 1 else parts[0] if parts else None
        return self._sums[key]


# The data of layers without `use`.
_BARE = Attached()


def settle_bare() -> None:
    """Creates the encodings of layers without `use` for every shape of a bias."""
    for count in range(5):
        for axes in combinations(AXES, count):
            _BARE.whole(None, False, axes)


def attached(layer: torch.nn.Module) -> Attached | None:
    found: Attached | None = getattr(layer, PLACE, None)
    return found


def attend(module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
           attention_mask: torch.Tensor | Rule | None, dropout: float = 0.0,
           scaling: float | None = None, is_causal: bool | None = None,
           position_bias: torch.Tensor | None = None, softcap: float | None = None,
           s_aux: torch.Tensor | None = None, sinks: torch.Tensor | None = None,
           **others: Any) -> tuple[torch.Tensor, None]:
    """The function for transformers' `AttentionInterface`. Takes query [B, H, Sq, D], key and value
    [B, Hkv, Sk, D]; returns o [B, Sq, H, D] and None for the weights."""
    here = attached(module) or _BARE
    name = here.name or _described(module)
    _check_others(module, name, others)
    rule = _rule(module, here, name, query, key, attention_mask, is_causal)
    used = key.shape[2] if rule.k_used is None else rule.k_used
    sizes = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    axes: tuple[str, ...] = ()
    data = {}
    if isinstance(here.own, OwnRanks):
        data.update(_own_ranks(name, here.own, module, position_bias, query))
    elif here.own is not None:
        data["table"] = _own_table(name, position_bias, query)
    elif position_bias is not None and not here.drops_bias:
        axes, data["position_bias"] = pairs_of(name, position_bias, sizes, used)
    if sinks is not None:
        data["sinks"] = sinks_of(name, sinks, sizes)
    placed = rule.positions is not None and here.reads_positions
    if placed and rule.positions is not None:
        _check_placed(name, here.parts())
        data["q_pos"], data["k_pos"] = rule.positions
    encoding: Encoding | Bound | None = here.whole(softcap, placed, axes, sinks is not None)
    if data and encoding is not None:
        assert isinstance(encoding, Encoding)
        encoding = encoding(**data)
    if used < rule.k_length:
        key, value = key.narrow(2, 0, used), value.narrow(2, 0, used)
    o = attention(query, key, value, encoding, mask=rule.mask, scale=scaling,
                  q_start=_start(rule, query, key), k_start=rule.k_start, dropout_p=dropout,
                  sink=s_aux)
    return o.transpose(1, 2).contiguous(), None


def _described(module: torch.nn.Module) -> str:
    """Returns the name of a layer without `use`."""
    index = getattr(module, "layer_idx", None)
    return type(module).__name__ if index is None else f"{type(module).__name__} {index}"


def _start(rule: Rule, query: torch.Tensor, key: torch.Tensor) -> int | None:
    """Returns the position of the first query, or None if the last query is at the last key: the
    steps of a decoder are then calls that differ only in the number of keys. Compiled code would
    add a guard on the sizes."""
    is_last = (not torch.compiler.is_compiling()
               and rule.q_start == rule.k_start + key.shape[2] - query.shape[2])
    return None if is_last else rule.q_start


def _check_others(module: torch.nn.Module, name: str, others: dict[str, Any]) -> None:
    if getattr(getattr(module, "config", None), "output_attentions", False):
        others = {**others, "output_attentions": True}
    for key, value in others.items():
        if value is None or value is False or key in _HARMLESS:
            continue
        hint = _INSTEAD.get(key, "pe's attention does not support it")
        raise InputError(f"{name}: {key}: expected none, found {_shown(value)}; {hint}")


def _shown(value: Any) -> str:
    return f"a tensor {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def _rule(module: torch.nn.Module, here: Attached, name: str, query: torch.Tensor,
          key: torch.Tensor, mask: torch.Tensor | Rule | None, is_causal: bool | None) -> Rule:
    q_length, k_length = query.shape[2], key.shape[2]
    if mask is None:
        own = getattr(module, "is_causal", True) if is_causal is None else is_causal
        if own and q_length != k_length:
            raise InputError(f"{name}: expected the mask that the model makes, found none for "
                             f"{q_length} queries and {k_length} keys")
        return Rule(causal if own else None, q_length, k_length, is_causal=bool(own))
    rule: Rule | None = None
    if isinstance(mask, Rule):
        rule = mask
    elif isinstance(mask, AttentionMask):
        rule = getattr(mask, "rule", None)
    if rule is None:
        assert isinstance(mask, torch.Tensor)
        raise InputError(f"{name}: attention_mask: expected 0s and 1s [batch, tokens], found "
                         f"a mask {list(mask.shape)}; pe's kernels do not support masks with a "
                         f"value per pair")
    if (rule.q_length, rule.k_length) != (q_length, k_length):
        raise InputError(f"{name}: expected {rule.q_length} queries and {rule.k_length} keys, "
                         f"the sizes of the mask, found {q_length} and {k_length}")
    if here.encoding is not None and not rule.is_causal and q_length != k_length:
        raise InputError(f"{name}: expected self-attention, because its encoding needs "
                         f"positions; found {q_length} queries and {k_length} keys. Return None "
                         f"for this layer")
    return rule


def _own_ranks(name: str, own: OwnRanks, module: Any, rows: torch.Tensor | None,
               query: torch.Tensor) -> dict[str, torch.Tensor]:
    """Returns the tensors of the bias of an Inkling layer, which passes on the rows of its queries
    instead of the bias."""
    p: torch.Tensor = module.rel_logits_proj.proj
    expected = (*query.shape[:3], p.shape[0])
    if rows is None or rows.shape != expected:
        raise InputError(f"{name}: position_bias: expected the rows {list(expected)} of the "
                         f"layer's queries, found {None if rows is None else list(rows.shape)}")
    return own.inputs(rows, p)


def _own_table(name: str, bias: torch.Tensor | None, query: torch.Tensor) -> torch.Tensor:
    """Returns the table of the model's relative bias, which its first layer passes on instead of
    the bias."""
    if bias is None or bias.shape[:2] != (1, 1) or bias.shape[3] != query.shape[1]:
        raise InputError(f"{name}: position_bias: expected the table of the first layer's "
                         f"bias for {query.shape[1]} heads, found "
                         f"{None if bias is None else list(bias.shape)}")
    return bias[0, 0]


# --- Explicit positions ------------------------------------------------------

_OF_DIFFERENCES = frozenset({
    "pe.distance", "pe.relative", "pe.bucket", "pe.log_distance", "pe.clamped_log", "pe.linear",
    "pe.power", "pe.table", "pe.cosine_sum", "pe.mlp", "pe.rotary", "arith.constant"})
_FORMULAS = frozenset({"pe.bias_fn", "pe.content_fn", "pe.score_fn"})
_LINE = re.compile(r'%\{\w+\} = ([\w.]+)(?:.*expr "(.*)")?')


def by_difference(encoding: Encoding) -> bool:
    """Returns whether the text shows that the encoding depends only on i - j, so that positions may
    start anywhere. For traced formulas and those of `from_mlir` this is unknown, and the result
    is False."""
    for line in filter(None, map(str.strip, encoding.piece().definitions.split("\n"))):
        match = _LINE.match(line)
        if match is None:
            return False
        if match[1] in _FORMULAS and match[2]:
            rest = re.sub(r"\bi - j\b|\bj - i\b", "0", match[2])
            if re.search(r"\b[ij]\b", rest):
                return False
        elif match[1] not in _OF_DIFFERENCES:
            return False
    return True


def _check_placed(name: str, parts: list[Encoding]) -> None:
    for clause in (clause for part in parts for clause in part.piece().clauses):
        kind = clause.partition("(")[0].partition(" ")[0]
        if kind in ("prologue", "content", "value_content", "normalizer"):
            raise InputError(f"{name}: expected sequences that start in the first column, "
                             f"found left padding or packed sequences: the encoding depends on "
                             f"the start of a sequence, and its {kind} does not support explicit "
                             f"positions; pad on the right")
