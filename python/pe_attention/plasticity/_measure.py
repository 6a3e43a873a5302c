"""Measures deviations of matrices from isometries and from earlier values."""

from __future__ import annotations

import torch
from torch import Tensor

from .._arguments import checked
from .._errors import InputError
from ._polar import checked_matrices, exact_products


@checked()
def measure_dfi(w: Tensor, scale: float | Tensor = 1.0) -> Tensor:
    """Returns the deviation from isometry |X^T X - I|_F^2 per dimension of the smaller side, where
    X = w / scale, for each matrix of w[..., m, n], in float64."""
    w = checked_matrices("w", w)
    with exact_products(w.device):
        x = w.detach().double() / scale
        x = x if x.shape[-2] >= x.shape[-1] else x.mT
        n = x.shape[-1]
        g = x.mT @ x - torch.eye(n, dtype=x.dtype, device=x.device)
        return g.square().sum((-2, -1)) / n


@checked()
def measure_sfe(w: Tensor, old: Tensor) -> Tensor:
    """Returns the squared Frobenius distance |W - W_old|_F^2 of each matrix of w[..., m, n], in
    float64."""
    w, old = checked_matrices("w", w), checked_matrices("old", old)
    if w.shape != old.shape:
        raise InputError(f"old: expected shape {list(w.shape)} like w, found {list(old.shape)}")
    return (w.detach().double() - old.detach().double()).square().sum((-2, -1))
