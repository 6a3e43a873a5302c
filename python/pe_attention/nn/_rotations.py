"""Rotations of queries and keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from .._declare import per_head
from .._errors import InputError
from .._module import Bound, Encoding

# The required and the optional numbers of each kind of scaling, as in
# runtime/reference/RopeKinds.h.
SCALINGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "linear": (("factor",), ()),
    "ntk": (("factor",), ()),
    "dynamic_ntk": (("factor", "original_length"), ()),
    "yarn": (("factor", "original_length"), ("beta_fast", "beta_slow")),
    "llama3": (("factor", "original_length"), ("low", "high")),
    "longrope": (("factor", "original_length", "short_factor", "long_factor"),
                 ("attention_factor",)),
    "proportional": (("factor",), ("partial_rotary_factor",)),
}

# The kind of a scaling, its numbers, and for longrope its lists with a factor per pair.
Value = float | str | Sequence[float]


def _number(name: str, value: Value) -> str:
    """Returns a number of a scaling, or a list of them, as text."""
    if name in ("short_factor", "long_factor"):
        if isinstance(value, (str, float, int)):
            raise InputError(f"scaling: expected {name} to be a list with a number for each pair, "
                             f"found {value!r}")
        return f"[{', '.join(repr(float(number)) for number in value)}]"
    if not isinstance(value, (str, float, int)):
        raise InputError(f"scaling: expected {name} to be a number, found {value!r}")
    return str(int(value)) if name == "original_length" else repr(float(value))


def _scaling(scaling: Mapping[str, Value]) -> str:
    """Returns the attribute for a scaling such as {"kind": "yarn", "factor": 4.0,
    "original_length": 2048}."""
    given = dict(scaling)
    kind = str(given.pop("kind", ""))
    if kind not in SCALINGS:
        raise InputError(f"scaling: expected a kind, one of {', '.join(SCALINGS)}, as in "
                         f"{{'kind': 'ntk', 'factor': 4.0}}; found {kind!r}")
    needed, others = SCALINGS[kind]
    if set(needed) - set(given) or set(given) - {*needed, *others}:
        raise InputError(f"scaling: expected {', '.join(needed)}"
                         f"{' and perhaps ' + ', '.join(others) if others else ''} of kind {kind}, "
                         f"found {', '.join(given) or 'none'}")
    parts = [kind]
    for name in (*needed, *others):
        if name in given:
            parts.append(f"{name} = {_number(name, given[name])}")
    return f"scaling = #pe.rope_scaling<{', '.join(parts)}>"


def rotary(base: float | None, interleaved: bool, rotary_dims: int | None,
           scaling: Mapping[str, Value] | None, *others: str, trailing: bool = False) -> str:
    """Returns the attributes of `pe.rotary`, and `others` after them."""
    if trailing and rotary_dims is None:
        raise InputError("trailing: expected rotary_dims, the number of dims at the end of a head, "
                         "found none")
    parts: list[str] = []
    if base is not None:
        if not base > 1:
            raise InputError(f"base: expected a number above 1, found {base}")
        parts.append(f"base = {float(base)!r}")
    if interleaved:
        parts.append("interleaved = true")
    if rotary_dims is not None:
        parts.append(f"rotary_dims = {rotary_dims}")
    if trailing:
        parts.append("trailing = true")
    if scaling is not None:
        parts.append(_scaling(scaling))
    parts += others
    return f" {{{', '.join(parts)}}}" if parts else ""


class RoPE(Encoding):
    """Rotates pairs of dims of queries and keys by angles i base^(-2 n / dims).

    The pairs are (n, n + dims / 2), or adjacent dims with `interleaved`. Only the first
    `rotary_dims` dims are rotated, or the last ones with `trailing`; the default is all. `scaling`
    extends the context length, as in {"kind": "yarn", "factor": 4.0, "original_length": 2048}; the
    kinds are linear, ntk, dynamic_ntk, yarn, llama3, longrope and proportional. With `learned`, the
    base is a parameter of each of `heads` heads. With `values`, the value at position j is also
    rotated by +j, and the output of the query at position i by -i.
    """

    def __init__(self, *, base: float = 10000.0, interleaved: bool = False,
                 rotary_dims: int | None = None, trailing: bool = False,
                 scaling: Mapping[str, Value] | None = None, heads: int | None = None,
                 learned: bool = False, values: bool = False) -> None:
        super().__init__(heads)
        if learned and values:
            raise InputError("values: expected a fixed base of a rotation of values, found "
                             "learned=True; add RoPE(values=True) without learned")
        self.settings = rotary(None if learned else base, interleaved, rotary_dims, scaling,
                               trailing=trailing)
        operand = ""
        if learned:
            self.declare("base", per_head(float(base), min=2.0))
            operand = " %{base} : tensor<?xf32>"
        clauses = ("rotate(%{rotation})", "rotate_values(%{rotation})")
        self.define(f"%{{rotation}} = pe.rotary{operand}{self.settings}",
                    *clauses[:2 if values else 1])

    def extra_repr(self) -> str:
        return self.settings.strip(" {}")


class MRoPE(Encoding):
    """Rotates each pair of dims of queries and keys by one of several positions of their token:
    `encoding(positions=positions)`, integers [axes, batch, length].

    `sections` has the number of pairs of each axis, as (16, 24, 24) of Qwen2-VL's time, height and
    width. The pairs of the first axis come first. With `interleaved`, axes take turns, as in
    Qwen3-VL. The sections add up to the pairs of a head; with `scaled`, they are shares of any
    number of pairs. With `restart`, the frequencies begin again with every axis, as in 2-D RoPE,
    which is MRoPE(sections=(1, 1), scaled=True, restart=True).

    Queries and keys of one call have equal positions. If they differ, as in decoding, pass
    `encoding(q_positions=new, k_positions=all)`; in a sum of encodings, that requires
    `separate=True`. Masks and biases do not read these positions. `base`, `rotary_dims` and
    `trailing` are as in `RoPE`.
    """

    def __init__(self, *, sections: Sequence[int] = (16, 24, 24), interleaved: bool = False,
                 scaled: bool = False, restart: bool = False, separate: bool = False,
                 base: float = 10000.0, rotary_dims: int | None = None,
                 trailing: bool = False) -> None:
        super().__init__()
        self.axes, self.separate = len(sections), separate
        if not sections or any(size < 1 for size in sections):
            raise InputError(f"sections: expected a positive number of pairs for every axis, found "
                             f"{tuple(sections)}")
        if interleaved and restart:
            raise InputError("restart: expected interleaved=False, found both")
        attributes = [f"sections = [{', '.join(map(str, sections))}]"]
        attributes += [f"sections_of = {sum(sections)}"] * scaled
        attributes += ["alternating = true"] * interleaved + ["restart = true"] * restart
        self.settings = rotary(base, False, rotary_dims, None, *attributes, trailing=trailing)
        names = ("q_positions", "k_positions") if separate else ("positions",)
        type_ = f"tensor<{len(sections)}x?x?xi32>"
        init = 'pe.init = "integers(0,256)"'
        operands = ", ".join(f"%{{{name}}}" for name in names)
        types = ", ".join([type_] * len(names))
        self.define(f"%{{rotation}} = pe.rotary positions({operands} : {types}){self.settings}",
                    "rotate(%{rotation})", data=dict.fromkeys(names, (type_, init)))
        # The variant with separate positions, hidden from the submodules of this module.
        self.__dict__["apart"] = None if separate else MRoPE(
            sections=sections, interleaved=interleaved, scaled=scaled, restart=restart,
            separate=True, base=base, rotary_dims=rotary_dims, trailing=trailing)

    def forward(self, **data: torch.Tensor) -> Bound:
        apart: MRoPE | None = self.__dict__["apart"]
        if apart is not None and set(data) == {"q_positions", "k_positions"}:
            return Bound(apart, data)
        return super().forward(**data)

    def own_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        for name in self.needed_data():
            shape = list(data[name].shape)
            if len(shape) != 3 or shape[0] != self.axes:
                raise InputError(f"MRoPE: {name}: expected [{self.axes}, batch, length], a "
                                 f"position for each section of every token, found {shape}")
        return super().own_arguments(data)

    def extra_repr(self) -> str:
        return self.settings.strip(" {}")


class RotationTable(Encoding):
    """Rotates queries and keys by cosines and sines that each call provides, with gradients:
    `encoding(cos=cos, sin=sin)`.

    The tables have shape [positions, dims / 2], or [batch, positions, dims / 2] for separate tables
    per batch entry. In a sum of encodings, the latter require `per_batch=True`. `rotary_dims`,
    `trailing` and `interleaved` are as in `RoPE`.
    """

    def __init__(self, *, per_batch: bool = False, interleaved: bool = False,
                 rotary_dims: int | None = None, trailing: bool = False) -> None:
        super().__init__()
        self.per_batch = per_batch
        self.settings = rotary(None, interleaved, rotary_dims, None, trailing=trailing)
        table = "tensor<?x?x?xf32>" if per_batch else "tensor<?x?xf32>"
        self.define(f"%{{rotation}} = pe.rotation_table %{{cos}}, %{{sin}}{self.settings} : "
                    f"{table}, {table}",
                    "rotate(%{rotation})", data={"cos": (table, ""), "sin": (table, "")})
        # The variant with tables per batch entry, hidden from the submodules of this module.
        self.__dict__["batched"] = None if per_batch else RotationTable(
            per_batch=True, interleaved=interleaved, rotary_dims=rotary_dims, trailing=trailing)

    def forward(self, **data: torch.Tensor) -> Bound:
        batched: RotationTable | None = self.__dict__["batched"]
        if batched is not None and data and all(tensor.ndim == 3 for tensor in data.values()):
            return Bound(batched, data)
        return super().forward(**data)

    def own_arguments(self, data: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        rank = 3 if self.per_batch else 2
        for name in ("cos", "sin"):
            if data[name].ndim != rank:
                shape = "[batch, positions, pairs]" if self.per_batch else "[positions, pairs]"
                raise InputError(f"RotationTable: {name}: expected {shape}, found "
                                 f"{list(data[name].shape)}; per_batch={not self.per_batch} takes "
                                 f"{2 if self.per_batch else 3} axes")
        return super().own_arguments(data)

    def extra_repr(self) -> str:
        return "per_batch=True" if self.per_batch else ""


class RSE(Encoding):
    """Rotary stick-breaking: the weights of `StickBreaking`, a decay -decay_h (i - j) and a
    rotation.

    With `bidirectional`, the result is the mean of a pass over earlier keys and one over later
    keys, without a mask.
    """

    def __init__(self, heads: int, *, base: float = 10000.0, bidirectional: bool = False,
                 scaling: Mapping[str, Value] | None = None) -> None:
        super().__init__(heads)
        self.declare("decay", per_head(0.01))
        coordinate = "pe.distance" if bidirectional else "pe.relative"
        clauses = ["bias(%{bias})", "rotate(%{rotation})",
                   "normalizer = #pe.normalizer<stick_breaking>"]
        if bidirectional:
            clauses.append("direction = #pe.direction<both>")
        self.define(f"%{{difference}} = {coordinate}\n"
                    f"%{{bias}} = pe.linear %{{difference}} slope(%{{decay}} : tensor<?xf32>) "
                    f"{{factor = -1.0}}\n"
                    f"%{{rotation}} = pe.rotary{rotary(base, False, None, scaling)}", *clauses)
