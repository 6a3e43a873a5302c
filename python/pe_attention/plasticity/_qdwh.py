"""Polar factors by the dynamically weighted Halley iteration (Nakatsukasa and Higham 2013).

    X <- (b/c) X + (a - b/c) X (I + c X^T X)^-1

The weights a, b, c follow from a lower bound of the spectrum, in float64. The bound is an estimate,
which only affects the number of steps: any weights move all singular values towards one, and the
iteration continues until |X^T X - I| shows convergence. Newton-Schulz steps, which are cheaper,
compute the last digits. A tall matrix is first divided by the Cholesky factor of its Gram matrix,
so that the iteration works on the small triangular factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

# The smallest singular value, relative to the largest, that is distinguished from zero.
LOWER_BOUND = 1e-8
# Factors for estimates from a few power iterations, which lie inside the spectrum.
MARGIN, LOWER_MARGIN = 1.2, 0.7
POWER_STEPS, INVERSE_STEPS = 8, 4
# The total deviation below which Newton-Schulz steps double the number of digits.
NEAR = 1e-2
# The number of steps after the bound has reached one, each of which triples smaller values: an
# estimate may be off by a factor of a thousand. The smallest distinguished value needs fewer.
FLAT, FLAT_STEPS, FLAT_STEPS_OF_LEAST = 0.999, 8, 2
# The ratio of the triangular factor's diagonal elements above which a tall matrix is divided twice.
# It underestimates the condition number, which enters squared: 1e-16 * (100 * 30)^2 is still 1e-9.
SECOND_PASS = 30.0
# The block width of `gram`; below two blocks, one product is as fast.
BLOCK = 96


def gram(x: Tensor) -> Tensor:
    """Returns x^T x. On CPUs the blocks on and above the diagonal are computed and mirrored."""
    n = x.shape[1]
    if x.device.type != "cpu" or n < 2 * BLOCK:
        return x.mT @ x
    result = torch.empty(n, n, dtype=x.dtype, device=x.device)
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        torch.mm(x[:, begin:end].mT, x[:, begin:], out=result[begin:end, begin:])
        result[end:, begin:end] = result[begin:end, end:].mT
    return result


def squared_bound(g: Tensor) -> Tensor:
    """Returns an upper bound of the largest eigenvalue of a Gram matrix, from two norms."""
    return torch.minimum(torch.linalg.matrix_norm(g), torch.linalg.matrix_norm(g, ord=math.inf))


def deviation(g: Tensor) -> float:
    """Returns |G - I|_F^2."""
    apart = g.clone()
    apart.diagonal().sub_(1)
    return float(apart.square_().sum())


def cubic_step(x: Tensor, g: Tensor) -> Tensor:
    """Returns one Newton-Schulz step, 1.5 x - 0.5 x g with g = x^T x."""
    return torch.addmm(x, x, g, beta=1.5, alpha=-0.5)


def _weights(low: float) -> tuple[float, float, float]:
    """Returns the weights of one step for a spectrum in [low, 1]."""
    square = low * low
    d = (4 * (1 - square) / (square * square))**(1 / 3)
    root = math.sqrt(1 + d)
    a = root + 0.5 * math.sqrt(8 - 4 * d + 8 * (2 - square) / (square * root))
    b = (a - 1)**2 / 4
    return a, b, a + b - 1


def _extent(g: Tensor) -> tuple[float, float]:
    """Estimates the largest eigenvalue of a Gram matrix, and the smallest singular value relative
    to the largest."""
    generator = torch.Generator(device="cpu").manual_seed(0)
    start = torch.randn(g.shape[0], 1, generator=generator, dtype=g.dtype,
                        device="cpu").to(g.device)

    def grow(steps: int, apply: Callable[[Tensor], Tensor]) -> float:
        vector, size = start, torch.linalg.vector_norm(start)
        for _ in range(steps):
            vector = apply(vector / size)
            size = torch.linalg.vector_norm(vector)
        return float(size)

    grown = MARGIN * grow(POWER_STEPS, lambda v: g @ v)
    most = min(float(squared_bound(g)), grown)
    lower, info = torch.linalg.cholesky_ex(g)
    if int(info):
        return most, LOWER_BOUND
    inverse = grow(INVERSE_STEPS, lambda v: torch.cholesky_solve(v, lower))
    least = LOWER_MARGIN / math.sqrt(inverse * most) if math.isfinite(inverse) else 0.0
    return most, max(LOWER_BOUND, min(1.0, least))


def _halley(x: Tensor, g: Tensor, low: float) -> tuple[Tensor, float] | None:
    """Returns the result of one step, and the lower bound after it."""
    a, b, c = _weights(low)
    g.mul_(c).diagonal().add_(1)
    lower, info = torch.linalg.cholesky_ex(g)
    if int(info):
        return None
    solved = torch.linalg.solve_triangular(lower.mT, x, upper=True, left=False)
    solved = torch.linalg.solve_triangular(lower, solved, upper=False, left=False)
    return solved.mul_(a - b / c).add_(x, alpha=b / c), min(
        1.0,
        low * (a + b * low * low) / (1 + c * low * low))


def converge(x: Tensor, g: Tensor, goal: float, low: float = 1.0) -> tuple[Tensor, int] | None:
    """Applies Halley and Newton-Schulz steps to a matrix with its Gram matrix until |x^T x - I|_F^2
    is at most `goal` or at the level of rounding. Returns the result and the number of steps, or
    None if singular values were lost."""
    steps = flat = 0
    allowed = FLAT_STEPS if low > LOWER_BOUND else FLAT_STEPS_OF_LEAST
    near = math.inf
    while True:
        apart = deviation(g)
        if apart <= goal or (apart < NEAR and apart > 0.5 * near):
            return x, steps
        steps += 1
        if apart < NEAR:
            x, near = cubic_step(x, g), apart
            # E = G - I becomes -(3 E^2 + E^3) / 4.
            if apart * apart <= goal:
                return x, steps
        else:
            flat += low >= FLAT
            following = _halley(x, g, low) if math.isfinite(apart) and flat <= allowed else None
            if following is None:
                return None
            x, low = following
        g = gram(x)


def _square(x: Tensor, g: Tensor, goal: float) -> tuple[Tensor, int] | None:
    """Returns the polar factor of a square matrix with its Gram matrix, and the number of steps."""
    most, least = _extent(g)
    return converge(x / math.sqrt(most), g / most, goal, least)


def qdwh(x: Tensor, g: Tensor, goal: float) -> tuple[Tensor, int] | None:
    """Returns the polar factor of a matrix [m, n], m >= n, with its Gram matrix, and the number of
    steps; None if singular values were lost, as for rank-deficient matrices."""
    if x.shape[0] == x.shape[1]:
        return _square(x, g, goal)
    upper, info = torch.linalg.cholesky_ex(g, upper=True)
    if int(info):
        return None
    factor, squared, basis = upper, g, x
    diagonal = upper.diagonal().abs()
    if float(diagonal.max()) > SECOND_PASS * float(diagonal.min()):
        # x = Q R loses the square of R's condition number; factoring Q again restores it.
        basis = torch.linalg.solve_triangular(upper, x, upper=True, left=False)
        again = gram(basis)
        second, info = torch.linalg.cholesky_ex(again, upper=True)
        if int(info) or not deviation(again) < NEAR:
            return None
        factor = second @ upper
        squared, upper = gram(factor), second
    inner = _square(factor, squared, goal)
    if inner is None:
        return None
    return basis @ torch.linalg.solve_triangular(upper, inner[0], upper=True), inner[1]
