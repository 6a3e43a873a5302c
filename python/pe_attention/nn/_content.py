"""Relative attention: products of queries with vectors that depend on the distance."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from .._declare import Declaration, Size
from .._dense import Positions
from .._errors import InputError
from .._module import Encoding

_SINES = ("let w = 10000 ^ (-2 * (d // 2) / dim) in "
          "select(d % 2 == 0, sin((i - j) * w), cos((i - j) * w))")


class Shaw(Encoding):
    """Adds <q_i, rel_k[clamp(i - j, -clip, clip)]> to each score; with `values`, also adds a vector
    rel_v of the distance to each value."""

    def __init__(self, *, head_dim: int, clip: int = 16, values: bool = False,
                 value_dim: int | None = None) -> None:
        super().__init__(None, head_dim, value_dim)
        rows = 2 * clip + 1
        index = f"clamp(i - j, -{clip}, {clip}) + {clip}, d"
        text, clauses = [], []
        for name, depth, value, clause in (("rel_k", "depth", "content", "content"),
                                           ("rel_v", "value_depth", "values", "value_content")):
            if name == "rel_v" and not values:
                continue
            size: tuple[Size, ...] = (rows, "depth" if depth == "depth" else "value_depth")
            self.declare(name, Declaration(size, "normal(0.02)", decay=True,
                                           axes=f'["offset", "{depth}"]'))
            text.append(f"%{{{value}}} = pe.content_fn(%{{{name}}} : tensor<{rows}x?xf32>) "
                        f'expr "${{{name}}}[{index}]"')
            clauses.append(f"{clause}(%{{{value}}})")
        self.define("\n".join(text), *clauses)


class MusicTransformer(Encoding):
    """Adds <q_i, er[length - 1 - (i - j)]> to each score, for distances below `length`."""

    def __init__(self, *, head_dim: int, length: int = 2048) -> None:
        super().__init__(None, head_dim)
        self.declare("er", Declaration((length, "depth"), "normal(1)", decay=True,
                                       axes='["offset", "depth"]'))
        self.define(f"%{{content}} = pe.content_fn(%{{er}} : tensor<{length}x?xf32>) "
                    f'expr "${{er}}[{length - 1} - (i - j), d]"', "content(%{content})")


class TransformerXL(Encoding):
    """The score <q_i + u_h, k_j> + <q_i + v_bias_h, r_(i-j)>, where r is a sinusoidal vector of the
    distance, multiplied by a learned matrix with `projected`."""

    def __init__(self, heads: int, *, head_dim: int, projected: bool = False) -> None:
        super().__init__(heads, head_dim)
        for name in ("u", "v_bias"):
            self.declare(name, Declaration(("heads", "depth"), "normal(0.02)", decay=True,
                                           axes='["head", "depth"]'))
        project = ""
        if projected:
            self.declare("w_r", Declaration(("depth", "depth"), "linear", decay=True,
                                            axes='["depth", "depth"]'))
            project = " project(%{w_r} : tensor<?x?xf32>)"
        self.define("%{shift} = pe.query_shift %{u} : tensor<?x?xf32>\n"
                    f"%{{content}} = pe.content_fn shift(%{{v_bias}} : tensor<?x?xf32>){project} "
                    f'expr "{_SINES}"', "prologue(%{shift})", "content(%{content})")


class Inkling(Encoding):
    """Adds sum_c r[b, h, i, c] p[c, i - j] to each score with 0 <= i - j < `extent`, where p [rank,
    extent] is learned, and r [batch, heads, queries, rank], a projection of the tokens, is given by
    each call: `encoding(r=r)`. It is not scaled.

    With `n_floor`, scores and biases are multiplied by 1 + `alpha` log(max(1, (i + 1) / n_floor)).
    With `normalized`, for queries and keys that are normalized, the scale defaults to 1 / D. With
    `sink`, each call also gives a logit without a value per query, `encoding(r=r, sink=sink)`, with
    sink [batch, heads, queries].
    """

    def __init__(self, *, rank: int = 16, extent: int = 1024, n_floor: int | None = None,
                 alpha: float = 0.1, normalized: bool = False, sink: bool = False) -> None:
        super().__init__()
        for name, size in {"rank": rank, "extent": extent, "n_floor": n_floor or 1}.items():
            if type(size) is not int or size < 1:
                raise InputError(f"{name}: expected an integer of at least 1, found {size!r}")
        if rank % 8 or rank > 64:
            raise InputError(f"rank: expected a multiple of 8 from 8 to 64, found {rank}; pad r "
                             f"and p with zeros")
        if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or \
                not math.isfinite(alpha):
            raise InputError(f"alpha: expected a finite number, found {alpha!r}")
        self.rank, self.extent = rank, extent
        self.is_bias = n_floor is None and not sink
        self.declare("p", Declaration((rank, extent), "normal(0.02)", decay=True,
                                      axes='["rank", "distance"]'))
        rows, table = f"tensor<?x?x?x{rank}xf32>", f"tensor<{rank}x{extent}xf32>"
        data = {"r": (rows, 'pe.axes = ["batch", "head", "query", "rank"]')}
        text, clauses, times = [], [], ""
        if n_floor is not None:
            factor = f"1 + {float(alpha)} * log(max(1, (i + 1) / {n_floor}))"
            text += [f'%{{score}} = pe.score_fn expr "s * ({factor})"',
                     f'%{{factor}} = pe.factor_fn expr "{factor}"']
            clauses.append("score(%{score})")
            times = " times(%{factor})"
        text.append(f"%{{content}} = pe.content_fn(%{{p}} : {table}){times} extent({extent}) "
                    f'expr "${{p}}[d, i - j]"')
        clauses += ["content(%{content})", f"query(%{{r}} : {rows})"]
        if sink:
            logits = "tensor<?x?x?xf32>"
            data["sink"] = (logits, 'pe.axes = ["batch", "head", "query"]')
            text.append(f"%{{logits}} = pe.sink_fn(%{{sink}} : {logits}) "
                        f'expr "${{sink}}[b, h, i]"')
            clauses.append("sink(%{logits})")
        if normalized:
            clauses.append("scale_by_depth")
        self.define("\n".join(text), *clauses, data=data)

    def heads_of(self, data: Mapping[str, torch.Tensor]) -> int | None:
        return data["r"].shape[1] if "r" in data else None

    def bias(self, at: Positions, p: Mapping[str, torch.Tensor]) -> torch.Tensor:
        if not self.is_bias:  # the scores change too, or the denominator
            return super().bias(at, p)
        distance = (at.i - at.j).expand(*p["r"].shape[:2], -1, -1)
        inside = (distance >= 0) & (distance < self.extent)
        profiles = p["r"] @ p["p"]
        return profiles.gather(-1, distance.clamp(0, self.extent - 1)) * inside

    def extra_repr(self) -> str:
        return f"rank={self.rank}, extent={self.extent}"
