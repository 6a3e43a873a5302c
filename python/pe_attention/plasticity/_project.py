"""Projects one matrix onto a scaled isometry, with a report."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import torch
from torch import Tensor

from .._errors import InputError
from ._polar import Method, exact_products, first_not_finite, polar_factor
from ._report import MatrixReport
from ._select import Unit

SCALES = ("muon", "none", "mean-sigma", "fro")


def scale_of(scale: str, w: Tensor, factor: Tensor, out_axis: int, taps: int) -> float:
    rows, cols = w.shape
    if scale == "muon":
        # The sum of all taps is then at most that of a single matrix.
        return math.sqrt(cols / rows if out_axis else rows / cols) / taps
    if scale == "none":
        return 1.0
    if scale == "mean-sigma":
        return float((w * factor).sum()) / min(rows, cols)
    return float(torch.linalg.matrix_norm(w)) / math.sqrt(min(rows, cols))


def project_matrix(name: str,
                   w: Tensor,
                   method: Method,
                   scale: str,
                   out_axis: int = 0,
                   taps: int = 1) -> MatrixReport:
    """Replaces w, which is finite, by its scaled polar factor, rounded once."""
    # The noise of a rank-deficient matrix must not depend on the order of processing.
    method = replace(method, seed=(method.seed * 0x9E3779B1 + zlib.crc32(name.encode())) % 2**60)
    found = polar_factor(w, method)
    report = MatrixReport(name,
                          list(w.shape),
                          found.factor is not None,
                          "projected",
                          found.dfi_before,
                          found.dfi_after,
                          iterations=found.iterations,
                          rank=found.rank)
    with exact_products(w.device):
        before = w.double()
        report.norm = float(torch.linalg.matrix_norm(before))
        if found.factor is None:
            report.why, report.sfe, report.scale = "zero", 0.0, 0.0
            return report
        if found.rank < min(w.shape):
            report.why = "rank deficient" + ("" if method.engine == "cubic" else ", completed")
        report.scale = scale_of(scale, before, found.factor, out_axis, taps)
        w.copy_(found.factor * report.scale)
        report.sfe = float((before - w.double()).square().sum())
    return report


def project_unit(unit: Unit, values: Tensor, method: Method, scale: str) -> list[MatrixReport]:
    """Projects each matrix of a unit with these values, in place."""
    taps = math.prod(values.shape[2:]) if unit.taps else 1
    return [
        project_matrix(name, matrix, method, scale, unit.out_axis, taps)
        for name, matrix in unit.matrices(values)
    ]


def check_finite(name: str, values: Tensor, offset: tuple[int, ...] = ()) -> None:
    """Raises an error for non-finite values. `offset` is the start of the values in the
    parameter."""
    place = first_not_finite(values)
    if place is not None:
        there = [a + b for a, b in zip(place, offset or (0, ) * len(place))]
        raise InputError(
            f"parameter '{name}': expected finite weights, found {float(values[place])} at {there}")
