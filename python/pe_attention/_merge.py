"""Implements `merge`, which combines the results of an attention over parts of its keys."""

from __future__ import annotations

import torch

from ._arguments import named
from ._errors import InputError
from ._tensors import check_tensor

NORMALIZERS = ("softmax", "stick_breaking")


@named({})
def merge(*results: torch.Tensor, normalizer: str = "softmax",
          sink: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Combines results over parts of the keys into the result over all keys.

    `merge(o1, lse1, o2, lse2, ...)` takes outputs [B, H, S, D] of the same queries and their
    log-sum-exp [B, H, S] in natural units, as returned by `pe.attention(..., return_lse=True)`, and
    returns (o, lse). A part without keys (lse = -inf) has weight 0 and zero gradients, whatever its
    o contains. `sink` [H] are logits that are added once to each row's denominator, for calls
    without a sink.

    With `normalizer="stick_breaking"`, lse is the logarithm of the remaining mass, and the parts
    are given in order from the nearest: o = o1 + exp(lse1) o2 + ..., lse = lse1 + lse2 + .... A
    part without keys then has lse = 0.

    The function is written in plain PyTorch; it is differentiable and can be compiled. Raises
    `InputError` if shapes do not match.

        o1, lse1 = pe.attention(q, k[:, :, :64], v[:, :, :64], q_start=0, return_lse=True)
        o2, lse2 = pe.attention(q, k[:, :, 64:], v[:, :, 64:], q_start=0, k_start=64,
                                return_lse=True)
        o, lse = pe.merge(o1, lse1, o2, lse2)
    """
    outputs, logs = results[::2], results[1::2]
    _check(outputs, logs, normalizer, sink)
    if normalizer == "softmax":
        weights, lse = softmax_weights(logs, sink)
        kept = [torch.where((log == -torch.inf)[..., None], 0, o)
                for o, log in zip(outputs, logs, strict=True)]
    else:
        weights, lse = stick_breaking_weights(logs)
        kept = list(outputs)
    whole = weighted_sum(kept, weights)
    return whole.to(outputs[0].dtype), lse.to(logs[0].dtype)


def softmax_weights(logs: tuple[torch.Tensor, ...], sink: torch.Tensor | None = None) \
        -> tuple[list[torch.Tensor], torch.Tensor]:
    """Returns the weight of each part per row, and the total log-sum-exp. The computation is in
    float64, because the difference of large logarithms would lose its digits in float32."""
    rows = [log.double() for log in logs]
    if sink is not None:
        rows.append(sink.double()[:, None].expand_as(rows[0]))
    stacked = torch.stack(rows)
    largest = stacked.detach().amax(0)
    # A row without keys in any part gets weights 0; without this, -inf - (-inf) would give NaN.
    empty = largest == -torch.inf
    shift = torch.where(empty, 0, largest)
    shares = torch.exp(stacked - shift)
    total = torch.where(empty, 1, shares.sum(0))
    weights = shares / total
    lse = torch.where(empty, -torch.inf, shift + torch.log(total))
    return list(weights[:len(logs)].unbind(0)), lse


def stick_breaking_weights(logs: tuple[torch.Tensor, ...]) \
        -> tuple[list[torch.Tensor], torch.Tensor]:
    """Returns the mass that nearer parts leave to each part, and the logarithm of the mass that
    remains after all parts."""
    before = torch.zeros_like(logs[0], dtype=torch.float64)
    weights = []
    for log in logs:
        weights.append(torch.exp(before))
        before = before + log.double()
    return weights, before


def weighted_sum(outputs: list[torch.Tensor], weights: list[torch.Tensor]) -> torch.Tensor:
    """Returns the weighted sum, computed in float32 or a wider type."""
    wide = torch.promote_types(outputs[0].dtype, torch.float32)
    terms = [weight.to(wide)[..., None] * o
             for weight, o in zip(weights, outputs, strict=True)]
    whole = terms[0]
    for term in terms[1:]:
        whole = whole + term
    return whole


def _check(outputs: tuple[torch.Tensor, ...], logs: tuple[torch.Tensor, ...], normalizer: str,
           sink: torch.Tensor | None) -> None:
    if normalizer not in NORMALIZERS:
        raise InputError(f"normalizer: expected {' or '.join(map(repr, NORMALIZERS))}, found "
                         f"{normalizer!r}")
    if not outputs or len(outputs) != len(logs):
        raise InputError(f"merge: expected o1, lse1, o2, lse2 and so on, found "
                         f"{len(outputs) + len(logs)} tensors")
    names = [f"{name}{number}" for number in range(1, len(outputs) + 1) for name in ("o", "lse")]
    pairs = [tensor for pair in zip(outputs, logs, strict=True) for tensor in pair]
    for name, tensor in zip(names, pairs, strict=True):
        check_tensor(name, tensor)
        if not tensor.dtype.is_floating_point:
            raise InputError(f"{name}: expected floating numbers, found {tensor.dtype}")
    first = outputs[0]
    if first.dim() != 4:
        raise InputError(f"o1: expected [batch, heads, length, depth], found a shape of "
                         f"{first.dim()} dimensions, {list(first.shape)}")
    for name, tensor in zip(names, pairs, strict=True):
        expected = first.shape if name[0] == "o" else first.shape[:3]
        if tensor.shape != expected:
            raise InputError(f"{name}: expected the shape {list(expected)} by o1, found "
                             f"{list(tensor.shape)}")
        if tensor.device != first.device:
            raise InputError(f"{name}: expected a tensor on {first.device}, like o1, found one "
                             f"on {tensor.device}")
        if name[0] == "o" and tensor.dtype is not first.dtype:
            raise InputError(f"{name}: expected {first.dtype}, the type of o1, found "
                             f"{tensor.dtype}")
    if sink is None:
        return
    if normalizer != "softmax":
        raise InputError("sink: expected none under stick_breaking, which has no denominator, "
                         "found one; omit it")
    check_tensor("sink", sink)
    if not sink.dtype.is_floating_point:
        raise InputError(f"sink: expected floating numbers, found {sink.dtype}")
    if sink.shape != first.shape[1:2]:
        raise InputError(f"sink: expected a logit for each of {first.shape[1]} heads, found the "
                         f"shape {list(sink.shape)}")
