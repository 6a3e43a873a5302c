"""Changes of scores: functions, sinks, normalizers and explicit positions."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from .._declare import Declaration, per_head
from .._dense import Positions as At
from .._errors import InputError
from .._module import Encoding


class NoPE(Encoding):
    """No positional encoding: only the mask provides order."""

    def __init__(self) -> None:
        super().__init__()
        self.define("")

    def bias(self, at: At, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return torch.zeros((1, 1, 1, 1), dtype=at.dtype)


class Softcap(Encoding):
    """Replaces the score s by cap tanh(s / cap)."""

    def __init__(self, *, cap: float = 30.0) -> None:
        super().__init__()
        if not cap > 0:
            raise InputError(f"cap: expected a number above 0, found {cap}")
        text = f"{cap:g}"
        self.define(f'%{{s}} = pe.score_fn expr "{text} * tanh(s / {text})"', "score(%{s})")


class LengthScale(Encoding):
    """Replaces the score s by s log(1 + i) g_h, which keeps attention sharp at long lengths."""

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        self.declare("g", per_head(1.0))
        self.define('%{s} = pe.score_fn(%{g} : tensor<?xf32>) expr "s * log(1 + i) * ${g}[h]"',
                    "score(%{s})")


class AttentionSink(Encoding):
    """A learned logit per head that is added to each row's denominator and has no value."""

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        self.declare("sink", per_head(0.0))
        self.define("", "sink(%{sink} : tensor<?xf32>)")


class StickBreaking(Encoding):
    """Stick-breaking instead of softmax: starting at the query and going backward, each key takes
    the fraction sigmoid(s) of the remaining mass.

    With `attend_current` the key at the query's position takes part. With `remainder` the remaining
    mass goes to the value at the query's position. With `bidirectional` the result is the mean of a
    pass over earlier keys and one over later keys.
    """

    def __init__(self, *, attend_current: bool = False, remainder: bool = False,
                 bidirectional: bool = False) -> None:
        super().__init__()
        clauses = ["normalizer = #pe.normalizer<stick_breaking>"]
        if attend_current:
            clauses.append("attend_current")
        if remainder:
            clauses.append("remainder = #pe.remainder<value>")
        if bidirectional:
            clauses.append("direction = #pe.direction<both>")
        self.define("", *clauses)


class Sigmoid(Encoding):
    """Sigmoid attention: the weight of a key is sigmoid(s + offset), whatever the other keys are.

    The offset is a learned scalar. About -log(keys) keeps outputs as small as those of softmax at
    the start of training. Add further biases as usual, as in `Sigmoid() + ALiBi(8)`.
    """

    def __init__(self, *, offset: float = -7.0) -> None:
        super().__init__()
        if not math.isfinite(offset):
            raise InputError(f"offset: expected a finite number, found {offset}")
        self.declare("offset", Declaration((1,), offset, as_number=True))
        self.define('%{shift} = pe.bias_fn(%{offset} : tensor<f32>) expr "${offset}"',
                    "bias(%{shift})", "normalizer = #pe.normalizer<sigmoid>")

    def bias(self, at: At, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return p["offset"].reshape(1, 1, 1, 1)


class Softpick(Encoding):
    """Softpick attention: max(exp(s) - 1, 0) over the sum of |exp(s) - 1| instead of softmax. Keys
    with s <= 0 have no weight at all."""

    def __init__(self) -> None:
        super().__init__()
        self.define("", "normalizer = #pe.normalizer<softpick>")

    def bias(self, at: At, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return torch.zeros((1, 1, 1, 1), dtype=at.dtype)


class Positions(Encoding):
    """Positions that each call provides instead of consecutive ones: integers q_pos [batch,
    queries] and k_pos [batch, keys], as in `(alibi + Positions())(q_pos=..., k_pos=...)`."""

    def __init__(self) -> None:
        super().__init__()
        rows = "tensor<?x?xi32>"
        self.define("", f"positions(%{{q_pos}}, %{{k_pos}} : {rows}, {rows})",
                    data={"q_pos": (rows, ""), "k_pos": (rows, "")})

