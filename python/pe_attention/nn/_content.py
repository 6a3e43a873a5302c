"""Relative attention: products of queries with vectors that depend on the distance."""

from __future__ import annotations

from .._declare import Declaration, Size
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
