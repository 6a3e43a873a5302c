"""Polar factors by matrix products in float32: odd quintics that adapt to the spectrum.

    X <- X (a I + b G + c G^2),     G = X^T X

Each step uses the polynomial nearest to one on the part of the spectrum that Lanczos iterations
find and that the previous steps guarantee. The guarantee ends the iteration: once it has reached
one, any remaining deviation is a direction that float32 cannot resolve.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ._qdwh import deviation, gram, squared_bound

# test/scripts/test_plasticity_constants.py compares the constants with those in C++.
LANCZOS_STEPS = 12
# Ritz values lie inside the spectrum, farther inside before the first step.
FIRST_MARGIN, MARGIN, LOWER_MARGIN = 1.02, 1.005, 0.9
CUSHION = 0.1
# Deviations: per dimension at convergence, and in total where the Taylor polynomial takes over.
CONVERGED, NEAR = 1e-12, 0.25
FLAT = 0.99
MOST_STEPS = 24
EPSILON = 2.0**-23
Polynomial = tuple[float, float, float]
TAYLOR: Polynomial = (15 / 8, -10 / 8, 3 / 8)


def value(p: Polynomial, x: float) -> float:
    return x * (p[0] + x * x * (p[1] + x * x * p[2]))


def nearest_to_one(low: float) -> Polynomial:
    """Returns the odd quintic nearest to one on [low, 1], by the Remez exchange algorithm: its
    error alternates at low, at two extrema between, and at one."""
    if low >= 1 - 5e-6:
        return TAYLOR
    first, second, error = (3 * low + 1) / 4, (low + 3) / 4, 0.0
    a, b, c = TAYLOR
    for _ in range(50):
        rows = [[x, x**3, x**5, -1.0 if i % 2 else 1.0]
                for i, x in enumerate((low, first, second, 1.0))]
        system = torch.tensor(rows, dtype=torch.float64, device="cpu")
        ones = torch.ones(4, dtype=torch.float64, device="cpu")
        a, b, c, level = torch.linalg.solve(system, ones).tolist()
        root = math.sqrt(max(9 * b * b - 20 * a * c, 0.0))
        first = math.sqrt((-3 * b - root) / (10 * c))
        second = math.sqrt((-3 * b + root) / (10 * c))
        if abs(level - error) <= 1e-15:
            break
        error = level
    return a, b, c


def cushioned(low: float) -> Polynomial:
    """Returns the best polynomial on at least [0.1, 1], with values on [low, 1] around one. A
    smaller lower end would amplify rounding errors by the size of the polynomial."""
    p = nearest_to_one(max(low, CUSHION))
    if low >= CUSHION:
        return p
    scale = 2 / (value(p, low) + value(p, 1.0))
    return scale * p[0], scale * p[1], scale * p[2]


def extreme_eigenvalues(g: Tensor, steps: int) -> tuple[float, float]:
    """Returns the smallest and the largest Ritz value of a symmetric matrix after `steps` Lanczos
    steps."""
    n = g.shape[0]
    wide = g.double()
    generator = torch.Generator(device="cpu").manual_seed(0)
    following = torch.randn(n, generator=generator, dtype=torch.float64, device="cpu").to(g.device)
    basis = torch.empty(min(n, steps), n, dtype=torch.float64, device=g.device)
    diagonal: list[Tensor] = []
    norms: list[Tensor] = []
    for k in range(basis.shape[0]):
        norm = torch.linalg.vector_norm(following)
        # An exhausted Krylov space leaves only rounding errors, which must not be normalized to a
        # direction.
        known = torch.stack([*diagonal, *norms[1:]]).abs().max() if diagonal else norm
        alive = (norm > 1e-14 * known).to(norm.dtype)
        norms.append(norm * alive)
        basis[k] = following * (alive / norm.clamp(min=1e-300))
        following = wide @ basis[k]
        diagonal.append(following @ basis[k] + (1 - alive) * (diagonal[0] if diagonal else 0))
        for _ in range(2):
            following = following - basis[:k + 1].mT @ (basis[:k + 1] @ following)
    off = torch.stack(norms[1:]) if len(norms) > 1 else basis.new_empty(0)
    tridiagonal = torch.diag(torch.stack(diagonal)) + torch.diag(off, 1) + torch.diag(off, -1)
    found = torch.linalg.eigvalsh(tridiagonal.cpu())
    return float(found[0]), float(found[-1])


def _apply(x: Tensor, g: Tensor, p: Polynomial) -> Tensor:
    polynomial = gram(g).mul_(p[2]).add_(g, alpha=p[1])  # g is symmetric: g^T g = g^2
    return torch.addmm(x, x, polynomial, beta=p[0])


def quintic(start: Tensor) -> tuple[Tensor, int] | None:
    """Returns the polar factor of a matrix [m, n], m >= n, and the number of steps; None if
    singular values were too small for float32."""
    x = start.float()
    floor = 10 * EPSILON
    for step in range(MOST_STEPS):
        g = gram(x)
        apart = deviation(g.double())
        if apart < CONVERGED * x.shape[1]:
            return x, step
        if apart < NEAR:
            x = _apply(x, g, TAYLOR)
            continue
        if not math.isfinite(apart) or floor >= FLAT:
            return None
        least, most = extreme_eigenvalues(g, LANCZOS_STEPS)
        square = min((MARGIN if step else FIRST_MARGIN) * most, float(squared_bound(g)))
        u = math.sqrt(square)
        if not step:
            floor *= u
        lowest = LOWER_MARGIN * math.sqrt(max(least, 0.0))
        p = cushioned(min(max(lowest, floor) / u, 1.0))
        floor = min(value(p, min(floor / u, 1.0)), 1.0)
        x = _apply(x, g, (p[0] / u, p[1] / (u * square), p[2] / (u * square * square)))
    return None
