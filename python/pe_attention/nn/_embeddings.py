"""Absolute encodings, which are added to tokens before the first layer, in plain PyTorch."""

from __future__ import annotations

import torch
from torch import nn

from .._arguments import checked
from .._errors import InputError


class _Embedding(nn.Module):
    """Adds a vector per position to tokens [batch, length, dim]; the first token is at `start`."""

    @checked(name="encoding")
    def forward(self, x: torch.Tensor, start: int = 0) -> torch.Tensor:
        if x.dim() != 3:
            raise InputError(f"x: expected tokens [batch, length, dim], found {list(x.shape)}")
        length, dim = x.shape[1], x.shape[2]
        p = torch.arange(start, start + length, device=x.device)[:, None]
        d = torch.arange(dim, device=x.device)[None]
        return x + self.table_of(p, d, dim, length).to(x.dtype)

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        """Returns the addend at positions p [length, 1] and dims d [1, dim]."""
        raise NotImplementedError


def _sines(p: torch.Tensor, d: torch.Tensor, dim: int) -> torch.Tensor:
    if dim % 2:
        raise InputError(f"x: expected an even number of dims, found {dim}")
    angle = p / 10000 ** (2 * (d // 2) / dim)
    return torch.where(d % 2 == 0, torch.sin(angle), torch.cos(angle))


class Sinusoidal(_Embedding):
    """Sines and cosines of the position: sin(p / 10000^(2 n / dim)) in dim 2 n, the cosine in dim 2
    n + 1."""

    def __init__(self) -> None:
        super().__init__()

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        return _sines(p, d, dim)


class Learned(_Embedding):
    """A learned vector per position below `length`."""

    def __init__(self, *, length: int, dim: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(length, dim).normal_())

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        first, rows = int(p[0]) if length else 0, self.table.shape[0]
        if first < 0 or first + length > rows or dim != self.table.shape[1]:
            raise InputError(f"x: expected positions from 0 to {rows - 1} and "
                             f"{self.table.shape[1]} dims, found {first} to "
                             f"{first + length - 1} and {dim}")
        return self.table[first:first + length]


class Algebraic(_Embedding):
    """p / (longest - 1)^(d / (dim - 1)); with `normalized`, (p / (longest - 1))^(d / (dim - 1))."""

    def __init__(self, *, longest: int = 5000, normalized: bool = False) -> None:
        super().__init__()
        self.longest, self.normalized = longest, normalized

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        most, share = float(self.longest - 1), d / max(dim - 1, 1)
        return (p / most) ** share if self.normalized else p * most ** -share


class Binary(_Embedding):
    """The lowest `bits` binary digits of the position, least significant first."""

    def __init__(self, *, bits: int = 13) -> None:
        super().__init__()
        self.bits = bits

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        return torch.where(d < self.bits, (p >> d.clamp(max=62)) & 1, 0)


class Mixture(_Embedding):
    """alpha times `Sinusoidal` plus 1 - alpha times a learned vector of the offset from the end."""

    def __init__(self, *, length: int, dim: int, alpha: float = 0.5) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor([float(alpha)]))
        self.rel = nn.Parameter(torch.empty(max(2 * length - 1, 0), dim).normal_())

    def table_of(self, p: torch.Tensor, d: torch.Tensor, dim: int, length: int) -> torch.Tensor:
        rows = self.rel.shape[0]
        if rows < 2 * length - 1 or dim != self.rel.shape[1]:
            raise InputError(f"x: expected at most {(rows + 1) // 2} tokens of {self.rel.shape[1]} "
                             f"dims, found {length} of {dim}")
        own = ((rows - 1) // 2 - (length - 1) + p[:, 0]).clamp(0, rows - 1)
        return self.alpha * _sines(p, d, dim) + (1 - self.alpha) * self.rel[own]
