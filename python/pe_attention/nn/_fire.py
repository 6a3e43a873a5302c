"""FIRE: a network of the distance, normalized by the query's position."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from .._activations import ACTIVATIONS
from .._declare import Declaration, Size, per_head
from .._dense import Positions, network
from .._errors import InputError
from .._module import Encoding

Tensors = Mapping[str, torch.Tensor]


def _check_activation(name: str, value: str) -> None:
    if value not in ACTIVATIONS:
        raise InputError(f"{name}: expected one of {', '.join(ACTIVATIONS)}, found {value!r}")


def _layers(name: str, hidden: int | Sequence[int]) -> tuple[int, ...]:
    """Returns the sizes of the hidden layers; a number is one layer of that size."""
    sizes = hidden if isinstance(hidden, (list, tuple)) else (hidden,)
    if not all(type(size) is int and size > 0 for size in sizes):
        raise InputError(f"{name}: hidden: expected integers of at least 1, as in "
                         f"hidden=(32, 32), found {hidden!r}")
    return tuple(sizes)


class FIRE(Encoding):
    """The bias f_h(log(|c (i - j)| + 1) / (log(|c max(i, L)| + 1) + epsilon)) with a network f.

    `hidden` is a list of the sizes of the hidden layers, or the size of a single one. `threshold`
    is "learned" (L = |L_multiplier initial_length|), "fixed" (L = initial_length) or "none" (i
    instead of max(i, L)). With `log=False` the input of f is |i - j| divided by max(i, L) or i. To
    get FIRE-S, use one object in several layers.
    """

    def __init__(self, heads: int, *, hidden: int | Sequence[int] = (32,),
                 activation: str = "relu", final_activation: str = "identity",
                 threshold: str = "learned", log: bool = True, initial_length: float = 512.0,
                 epsilon: float = 1e-6) -> None:
        super().__init__(heads)
        _check_activation("activation", activation)
        _check_activation("final_activation", final_activation)
        if threshold not in ("learned", "fixed", "none"):
            raise InputError(f"threshold: expected 'learned', 'fixed' or 'none', found "
                             f"{threshold!r}")
        self.hidden = _layers("FIRE", hidden)
        self.activation, self.final_activation = activation, final_activation
        self.threshold, self.log = threshold, log
        self.initial_length, self.epsilon = float(initial_length), float(epsilon)
        if log:
            self.declare("c", Declaration((1,), 0.1, as_number=True))
        if threshold == "learned":
            self.declare("L_multiplier", Declaration((1,), 1.0, as_number=True))
        layers = _declare_layers(self, [1, *self.hidden], "heads")
        self._layers = layers
        lines, limit = _threshold_text(threshold)
        c = " c(%{c} : tensor<f32>)" if log else ""
        length = f"initial_length = {self.initial_length!r}, " if threshold != "none" else ""
        lines.append(f"%{{t}} = pe.progressive{c}{limit} "
                     f"{{{length}epsilon = {_decimal(self.epsilon)}}}")
        lines.append(_network_text(self, layers, activation, final_activation))
        self.define("\n".join(lines), "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        i, d = at.i.to(at.dtype), at.distance
        if self.threshold != "none":
            multiplier = p["L_multiplier"] if self.threshold == "learned" else torch.ones_like(i)
            i = torch.maximum(i, torch.abs(multiplier * self.initial_length))
        if self.log:
            top, bottom = torch.log(torch.abs(p["c"] * d) + 1), torch.log(torch.abs(p["c"] * i) + 1)
        else:
            top, bottom = d, i
        return network(top / (bottom + self.epsilon), at.h, [p[name] for name in self._layers],
                       self.activation if self.hidden else "identity", self.final_activation)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, hidden={self.hidden}, activation={self.activation!r}"


class ClampedFIRE(Encoding):
    """The bias f(clamp(log(1 + |i - j|) / log(1 + L_h), 0, 1)) with a threshold L_h =
    exp(log_threshold_h) per head and one network for all heads."""

    def __init__(self, heads: int, *, hidden: int | Sequence[int] = (32,),
                 activation: str = "gelu", length: float = 8192.0) -> None:
        if length <= 0:
            raise InputError(f"length: expected a number above 0, found {length!r}")
        super().__init__(heads)
        _check_activation("activation", activation)
        self.hidden, self.activation = _layers("ClampedFIRE", hidden), activation
        self.declare("log_threshold", per_head(math.log(length)))
        self._layers = _declare_layers(self, [1, *self.hidden], 1, "xavier(0.1)", 0.0)
        self.define("%{t} = pe.clamped_log threshold(%{log_threshold} : tensor<?xf32>)\n"
                    + _network_text(self, self._layers, activation), "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        limit = torch.log1p(torch.exp(p["log_threshold"][at.h]))
        t = torch.clamp(torch.log1p(at.distance) / limit, 0, 1)
        return network(t, at.h, [p[name] for name in self._layers], self.activation)


def _declare_layers(encoding: Encoding, sizes: Sequence[int], last: Size,
                    weight: str = "linear", bias: float | str = "linear") -> list[str]:
    """Declares parameters w1, b1, w2, b2, ... of a network whose layers have these numbers of
    inputs."""
    names: list[str] = []
    for number, inputs in enumerate(sizes, 1):
        outputs: Size = sizes[number] if number < len(sizes) else last
        shape: tuple[Size, ...] = (outputs,) if number == 1 else (outputs, inputs)
        first = bias if bias != "linear" or number == 1 else f"linear({inputs})"
        encoding.declare(f"w{number}", Declaration(shape, weight, decay=len(shape) > 1))
        encoding.declare(f"b{number}", Declaration((outputs,), first))
        names += [f"w{number}", f"b{number}"]
    return names


def _threshold_text(threshold: str) -> tuple[list[str], str]:
    if threshold == "none":
        return [], ""
    if threshold == "learned":
        return [], " threshold(%{L_multiplier} : tensor<f32>)"
    return ["%{one} = arith.constant dense<1.0> : tensor<f32>"], " threshold(%{one} : tensor<f32>)"


def _network_text(encoding: Encoding, layers: Sequence[str], activation: str,
                  final_activation: str = "identity") -> str:
    values = ", ".join(f"%{{{name}}}" for name in layers)
    types = ", ".join(encoding.declarations[name].type() for name in layers)
    parts = [f"activation = #pe.activation<{activation}>"] if len(layers) > 2 else []
    if final_activation != "identity":
        parts.append(f"final_activation = #pe.activation<{final_activation}>")
    attributes = f" {{{', '.join(parts)}}}" if parts else ""
    return f"%{{bias}} = pe.mlp %{{t}} layers({values} : {types}){attributes}"


def _decimal(value: float) -> str:
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
