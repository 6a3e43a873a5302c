"""Biases that depend on the distance, on the key or on data."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from .._declare import Declaration, geometric_slopes, per_head
from .._dense import Positions, bucket
from .._errors import InputError
from .._module import Bound, Encoding

Tensors = Mapping[str, torch.Tensor]


def pick(tensor: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
    """Returns the number of each head."""
    return tensor[head]


class ALiBi(Encoding):
    """The bias -m_h |i - j| with slopes 2^(-8 (h + 1) / H), or with learned slopes that are
    initialized to these.

    Fixed slopes depend on the head's number in the whole model (`head_start`, `heads_total`).
    """

    def __init__(self, heads: int, *, learned: bool = False) -> None:
        super().__init__(heads)
        self.learned = learned
        slope, rule = "", ", rule = #pe.slope_rule<geometric>"
        if learned:
            self.declare("slopes", per_head("slopes(geometric)"))
            slope, rule = " slope(%{slopes} : tensor<?xf32>)", ""
        self.define(f"%{{distance}} = pe.distance\n"
                    f"%{{bias}} = pe.linear %{{distance}}{slope} {{factor = -1.0{rule}}}",
                    "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        assert self.heads is not None
        slopes = p["slopes"] if self.learned else geometric_slopes(self.heads).to(
            at.h.device, at.dtype)
        return -pick(slopes, at.h) * at.distance

    def extra_repr(self) -> str:
        return f"heads={self.heads}, learned={self.learned}"


class T5(Encoding):
    """A learned number per head and bucket of i - j. Buckets are exact up to half their number,
    then logarithmic up to `max_distance`. With `bidirectional`, keys after the query have separate
    buckets."""

    def __init__(self, heads: int, *, buckets: int = 32, max_distance: int = 128,
                 bidirectional: bool = False) -> None:
        super().__init__(heads)
        self.buckets, self.max_distance, self.bidirectional = buckets, max_distance, bidirectional
        least = 4 if bidirectional else 2
        if buckets < least or (bidirectional and buckets % 2):
            raise InputError(f"T5: buckets: expected {'an even' if bidirectional else 'a'} number "
                             f"of at least {least}, found {buckets}")
        self.declare("table", Declaration((buckets, "heads"), "normal(0.02)", decay=True))
        both = ", bidirectional = true" if bidirectional else ""
        self.define(f"%{{bucket}} = pe.bucket {{buckets = {buckets}, "
                    f"max_distance = {max_distance}{both}}}\n"
                    f"%{{bias}} = pe.table %{{bucket}}, %{{table}} : tensor<{buckets}x?xf32>",
                    "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        number = bucket(at.i - at.j, self.buckets, self.max_distance, self.bidirectional)
        return p["table"][number, at.h]


class KerpleLog(Encoding):
    """The bias -r1_h log(1 + r2_h |i - j|) (Kerple, logarithmic)."""

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        _declare_kerple(self)
        self.define("%{distance} = pe.log_distance c(%{r2} : tensor<?xf32>)\n"
                    "%{bias} = pe.linear %{distance} slope(%{r1} : tensor<?xf32>) {factor = -1.0}",
                    "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        inside = torch.abs(pick(p["r2"], at.h) * at.distance)
        return -pick(p["r1"], at.h) * torch.log1p(inside)


class KerplePower(Encoding):
    """The bias -r1_h |i - j|^(r2_h) (Kerple, power)."""

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        _declare_kerple(self)
        self.define("%{distance} = pe.distance\n"
                    "%{bias} = pe.power %{distance} exponent(%{r2} : tensor<?xf32>) "
                    "slope(%{r1} : tensor<?xf32>) {factor = -1.0}", "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        x = at.distance
        power = torch.where(x > 0, x.clamp(min=1) ** pick(p["r2"], at.h), 0)
        return -pick(p["r1"], at.h) * power


def _declare_kerple(encoding: Encoding) -> None:
    encoding.declare("r1", per_head("uniform(0,2)", min=0.01))
    encoding.declare("r2", per_head("uniform(0,1)", min=0.01))


class Sandwich(Encoding):
    """The bias r1_h sum_k cos((i - j) / base^(k / terms)), with k from 1 to `terms`."""

    def __init__(self, heads: int, *, terms: int = 64, base: float = 10000.0) -> None:
        super().__init__(heads)
        self.terms, self.base = terms, base
        self.declare("r1", per_head(1.0))
        self.define(f"%{{difference}} = pe.relative\n"
                    f"%{{bias}} = pe.cosine_sum %{{difference}} amplitude(%{{r1}} : tensor<?xf32>) "
                    f"{{terms = {terms}, base = {float(base)!r}}}", "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        k = torch.arange(1, self.terms + 1, device=at.i.device, dtype=torch.float64) / self.terms
        x = (at.i - at.j).to(at.dtype)[..., None]
        return pick(p["r1"], at.h) * torch.cos(x / (self.base ** k).to(at.dtype)).sum(-1)


class RelativeTable(Encoding):
    """A learned number per head and difference, `table[clamp(i - j, -clip, clip) + clip, h]`."""

    def __init__(self, heads: int, *, clip: int = 128) -> None:
        super().__init__(heads)
        self.clip, rows = clip, 2 * clip + 1
        self.declare("table", Declaration((rows, "heads"), "normal(0.02)", decay=True))
        self.define(f"%{{bias}} = pe.bias_fn(%{{table}} : tensor<{rows}x?xf32>) "
                    f'expr "${{table}}[clamp(i - j, -{clip}, {clip}) + {clip}, h]"',
                    "bias(%{bias})")

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        return p["table"][(at.i - at.j).clamp(-self.clip, self.clip) + self.clip, at.h]


class KeyBias(Encoding):
    """A number per key, given by each call: `encoding(key_bias=...)` with shape [batch, keys]."""

    def __init__(self) -> None:
        super().__init__()
        self.define('%{b} = pe.bias_fn(%{key_bias} : tensor<?x?xf32>) expr "${key_bias}[b, j]"',
                    "bias(%{b})",
                    data={"key_bias": ("tensor<?x?xf32>", 'pe.axes = ["batch", "key"]')})

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        return p["key_bias"][at.b, at.j - at.j.min()]


class Forgetting(Encoding):
    """The bias f_i - f_j, where f [batch, heads, keys] is the cumulative sum of log forget gates,
    given by each call: `encoding(f=f)`. A query uses the f of the key at its position. If a call
    has no such key, `encoding(f=f, f_q=f_q)` provides f_q [batch, heads, queries]."""

    def __init__(self) -> None:
        super().__init__()
        rows = "tensor<?x?x?xf32>"
        key = (rows, 'pe.axes = ["batch", "head", "key"]')
        query = (rows, 'pe.axes = ["batch", "head", "query"], pe.absent = "f"')
        self.define(f"%{{b}} = pe.bias_fn(%{{f}}, %{{f_q}} : {rows}, {rows}) "
                    f'expr "${{f_q}}[b, h, i] - ${{f}}[b, h, j]"', "bias(%{b})",
                    data={"f": key, "f_q": query})
        self._alone = _OwnForgetting(key)

    def forward(self, **data: torch.Tensor) -> Bound:
        return self._alone.forward(**data) if set(data) == {"f"} else super().forward(**data)

    def needed_data(self) -> tuple[str, ...]:
        return ("f",)

    def expected_data(self) -> str:
        return "f (f_q is optional if there is a key at the position of every query)"

    def heads_of(self, data: Tensors) -> int | None:
        return data["f"].shape[1]

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        return p["f_q"][at.b, at.h, at.i - at.i.min()] - p["f"][at.b, at.h, at.j - at.j.min()]


class _OwnForgetting(Encoding):
    """`Forgetting` for calls with a key at every query's position."""

    def __init__(self, key: tuple[str, str]) -> None:
        super().__init__()
        self.define(f"%{{b}} = pe.bias_fn(%{{f}} : {key[0]}) "
                    'expr "${f}[b, h, i] - ${f}[b, h, j]"', "bias(%{b})", data={"f": key})

    def heads_of(self, data: Tensors) -> int | None:
        return data["f"].shape[1]

    def bias(self, at: Positions, p: Tensors) -> torch.Tensor:
        own = (at.i - at.j.min()).clamp(0, p["f"].shape[-1] - 1)
        return p["f"][at.b, at.h, own] - p["f"][at.b, at.h, at.j - at.j.min()]
