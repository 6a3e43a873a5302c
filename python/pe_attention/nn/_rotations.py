"""Rotations of queries and keys."""

from __future__ import annotations

from collections.abc import Mapping

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
}


def _scaling(scaling: Mapping[str, float | str]) -> str:
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
            number = float(given[name])
            parts.append(f"{name} = {int(number) if name == 'original_length' else number!r}")
    return f"scaling = #pe.rope_scaling<{', '.join(parts)}>"


def rotary(base: float | None, interleaved: bool, rotary_dims: int | None,
           scaling: Mapping[str, float | str] | None) -> str:
    """Returns the attributes of `pe.rotary`."""
    parts: list[str] = []
    if base is not None:
        if not base > 1:
            raise InputError(f"base: expected a number above 1, found {base}")
        parts.append(f"base = {float(base)!r}")
    if interleaved:
        parts.append("interleaved = true")
    if rotary_dims is not None:
        parts.append(f"rotary_dims = {rotary_dims}")
    if scaling is not None:
        parts.append(_scaling(scaling))
    return f" {{{', '.join(parts)}}}" if parts else ""


class RoPE(Encoding):
    """Rotates pairs of dims of queries and keys by angles i base^(-2 n / dims).

    The pairs are (n, n + dims / 2), or adjacent dims with `interleaved`. Only the first
    `rotary_dims` dims are rotated; the default is all. `scaling` extends the context length, as in
    {"kind": "yarn", "factor": 4.0, "original_length": 2048}; the kinds are linear, ntk,
    dynamic_ntk, yarn and llama3. With `learned`, the base is a parameter of each of `heads` heads.
    """

    def __init__(self, *, base: float = 10000.0, interleaved: bool = False,
                 rotary_dims: int | None = None, scaling: Mapping[str, float | str] | None = None,
                 heads: int | None = None, learned: bool = False) -> None:
        super().__init__(heads)
        self.settings = rotary(None if learned else base, interleaved, rotary_dims, scaling)
        operand = ""
        if learned:
            self.declare("base", per_head(float(base), min=2.0))
            operand = " %{base} : tensor<?xf32>"
        self.define(f"%{{rotation}} = pe.rotary{operand}{self.settings}", "rotate(%{rotation})")

    def extra_repr(self) -> str:
        return self.settings.strip(" {}")


class RotationTable(Encoding):
    """Rotates queries and keys by cosines and sines that each call provides, with gradients:
    `encoding(cos=cos, sin=sin)`.

    The tables have shape [positions, dims / 2], or [batch, positions, dims / 2] for separate tables
    per batch entry. In a sum of encodings, the latter require `per_batch=True`. `rotary_dims` and
    `interleaved` are as in `RoPE`.
    """

    def __init__(self, *, per_batch: bool = False, interleaved: bool = False,
                 rotary_dims: int | None = None) -> None:
        super().__init__()
        self.per_batch = per_batch
        self.settings = rotary(None, interleaved, rotary_dims, None)
        table = "tensor<?x?x?xf32>" if per_batch else "tensor<?x?xf32>"
        self.define(f"%{{rotation}} = pe.rotation_table %{{cos}}, %{{sin}}{self.settings} : "
                    f"{table}, {table}",
                    "rotate(%{rotation})", data={"cos": (table, ""), "sin": (table, "")})
        # The variant with tables per batch entry, hidden from the submodules of this module.
        self.__dict__["batched"] = None if per_batch else RotationTable(
            per_batch=True, interleaved=interleaved, rotary_dims=rotary_dims)

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
                 scaling: Mapping[str, float | str] | None = None) -> None:
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
