"""The orthogonal polar factor of a matrix, and published Newton-Schulz operators.

In W = U P, U has orthonormal columns (rows, if W is wide), and P is symmetric positive
semidefinite: U is the isometry nearest to W. This file scales and transposes matrices, selects the
engine, and handles rank-deficient matrices: they have many equally near polar factors, of which
seeded noise selects one.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .._arguments import checked, is_number
from .._errors import InputError
from ._qdwh import converge, cubic_step, deviation, gram, qdwh, squared_bound
from ._quintic import extreme_eigenvalues, quintic

ENGINES = ("auto", "qdwh", "quintic", "cubic")
NORMS = ("fro", "spectral")
# The deviation per dimension above which the engine lost singular values: a converged run leaves
# the rounding error of float, and one lost direction 1/n.
CONVERGED = 1e-9
# The remaining deviation per dimension, by the type that stores the factor.
LEFT = {torch.float64: 1e-24}
LEFT_NARROW = 1e-15
JITTER = 1e-5
ATTEMPTS = 4
# The number of steps that compute the largest singular value to about 1e-8.
LANCZOS_STEPS = 200

MUON = ((3.4445, -4.7750, 2.0315), ) * 5
POLAR_EXPRESS = ((8.156554524902461, -22.48329292557795,
                  15.878769915207462), (4.042929935166739, -2.808917465908714, 0.5000178451051316),
                 (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
                 (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
                 (2.3465413258596377, -1.7097828382687081, 0.42323551169305323))
Coefficients = Sequence[tuple[float, float, float]]


@dataclass(frozen=True)
class Method:
    """The parameters of a factorization: the engine, the exact steps and norm of "cubic", and the
    seed of the noise."""

    engine: str = "auto"
    iters: int = 10
    norm: str = "fro"
    seed: int = 0


@dataclass
class PolarFactor:
    """`factor` is float64, or None for a zero matrix; for "cubic" it is the result of its steps."""

    factor: Tensor | None
    iterations: int
    rank: int
    dfi_before: float
    dfi_after: float


def checked_method(engine: str, iters: int | None, norm: str | None, seed: int) -> Method:
    if engine not in ENGINES:
        raise InputError(f"engine: expected one of {', '.join(ENGINES)}, found {engine!r}")
    if engine != "cubic" and (iters is not None or norm is not None):
        argument = "iters" if iters is not None else "norm"
        raise InputError(f"{argument}: expected engine='cubic', the only engine with this option, "
                         f"found engine={engine!r}")
    if iters is not None and (isinstance(iters, bool) or not isinstance(iters, int)
                              or not 1 <= iters <= 1000):
        raise InputError(f"iters: expected an integer from 1 to 1000, found {iters!r}")
    if norm is not None and norm not in NORMS:
        raise InputError(f"norm: expected one of {', '.join(NORMS)}, found {norm!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed: expected an integer, found {seed!r}")
    return Method(engine, 10 if iters is None else iters, norm or "fro", seed)


@contextlib.contextmanager
def exact_products(device: torch.device) -> Iterator[None]:
    """Disables gradients, autocast, and matrix products in TF32 or bfloat16."""
    precision = torch.get_float32_matmul_precision()
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)


def _numerical_rank(g: Tensor) -> int:
    values = torch.linalg.eigvalsh(g)
    return int((values > values[-1] * (g.shape[0] * 2.0**-52)).sum())


def _noisy(x: Tensor, sigma: float, seed: int, attempt: int) -> Tensor:
    generator = torch.Generator(device="cpu").manual_seed(seed * ATTEMPTS + attempt)
    noise = torch.randn(x.shape, generator=generator, dtype=torch.float64, device="cpu")
    return x + noise.to(x.device) * (JITTER * sigma / math.sqrt(x.shape[0]))


def _stored_deviation(x: Tensor, stored: torch.dtype) -> float:
    return deviation(gram(x.to(stored).double()))


def _tall(x: Tensor, g: Tensor, engine: str, stored: torch.dtype) -> tuple[Tensor, int] | None:
    """Returns the polar factor of a matrix [m, n], m >= n, or None if singular values were lost."""
    n = x.shape[1]
    if engine == "quintic":
        found = quintic(x)
        if found is None or not deviation(gram(found[0].double())) < CONVERGED * n:
            return None
        return found[0].double(), found[1]
    goal = LEFT.get(stored, LEFT_NARROW) * n
    found = qdwh(x, g, goal)
    if found is None or x.shape[0] == n or stored != torch.float64:
        return found
    # Division by the triangular factor loses digits, which is only visible in float64.
    polished = converge(found[0], gram(found[0]), goal)
    return None if polished is None else (polished[0], found[1] + polished[1])


def _completed(x: Tensor, g: Tensor, method: Method, engine: str,
               stored: torch.dtype) -> tuple[Tensor, int]:
    """Computes `_tall` for a rank-deficient matrix."""
    sigma = math.sqrt(float(squared_bound(g)))
    for attempt in range(ATTEMPTS):
        noisy = _noisy(x, sigma, method.seed, attempt)
        found = _tall(noisy, gram(noisy), engine, stored)
        if found is not None:
            return found
    # If directions differ greatly in size, only a decomposition separates them.
    u, _, vh = torch.linalg.svd(noisy, full_matrices=False)
    return u @ vh, 1


def _cubic(x: Tensor, g: Tensor, method: Method) -> Tensor:
    square = (extreme_eigenvalues(g, LANCZOS_STEPS)[1]
              if method.norm == "spectral" else float(g.diagonal().sum()))
    x, g = x / math.sqrt(square), g / square
    for step in range(method.iters):
        x = cubic_step(x, gram(x) if step else g)
    return x


def polar_factor(w: Tensor, method: Method, measure: bool = True) -> PolarFactor:
    """Returns the polar factor of one finite matrix, with its deviation after rounding to the
    stored type."""
    with exact_products(w.device):
        rows, cols = w.shape
        n, stored = min(rows, cols), w.dtype
        largest = float(w.abs().max())
        if largest == 0:
            return PolarFactor(None, 0, 0, 1.0, 1.0)
        # A power of two: weights of any magnitude keep all bits in every engine.
        exponent = math.frexp(largest)[1] - 1
        x = torch.ldexp(w.double(), torch.tensor(-exponent, device=w.device))
        x = (x.mT if rows < cols else x).contiguous()
        g = gram(x)
        size = math.ldexp(1.0, max(-1000, min(1000, 2 * exponent)))
        before = deviation(g * size) / n if measure else math.nan
        engine = method.engine
        if engine == "auto":
            engine = "qdwh" if w.device.type == "cpu" or stored == torch.float64 else "quintic"
        rank = n
        if engine == "cubic":
            factor, iterations, rank = _cubic(x, g, method), method.iters, _numerical_rank(g)
        else:
            found = _tall(x, g, engine, stored)
            if found is None:
                rank = _numerical_rank(g)
                found = _completed(x, g, method, engine, stored)
            factor, iterations = found
        after = _stored_deviation(factor, stored) / n if measure else math.nan
        return PolarFactor(factor.mT.contiguous() if rows < cols else factor, iterations, rank,
                           before, after)


def checked_matrices(name: str, w: object) -> Tensor:
    """Checks that the argument is a tensor [..., m, n], and returns it."""
    if not isinstance(w, Tensor):
        raise InputError(f"{name}: expected a tensor, found {type(w).__name__}")
    if w.dim() < 2 or 0 in w.shape:
        raise InputError(
            f"{name}: expected a matrix or a stack of matrices with at least one element, "
            f"found shape {list(w.shape)}")
    if not w.dtype.is_floating_point or w.dtype.itemsize < 2:
        raise InputError(f"{name}: expected float64, float32, bfloat16 or float16, found {w.dtype}")
    if hasattr(w, "full_tensor"):
        raise InputError(f"{name}: expected a tensor of this process, found a DTensor; pass "
                         "tensor.full_tensor(), or the model to reinit")
    if w.is_meta:
        raise InputError(f"{name}: expected values, found a tensor on the meta device")
    place = first_not_finite(w)
    if place is not None:
        raise InputError(
            f"{name}: expected finite values, found {float(w[place])} at {list(place)}")
    return w


def first_not_finite(w: Tensor) -> tuple[int, ...] | None:
    bad = ~torch.isfinite(w.detach())
    if not bool(bad.any()):
        return None
    return tuple(int(index) for index in bad.nonzero()[0])


@checked()
def polar(w: Tensor, engine: str = "auto", *, seed: int = 0) -> Tensor:
    """Returns the isometry nearest to each matrix of w[..., m, n], with w's type and device.

    Engines are "qdwh" (float64, for condition numbers up to a million), "quintic" (float32, only
    products) and "auto": qdwh on CPUs and for float64. A zero matrix has no nearest isometry and is
    returned unchanged.
    """
    method = checked_method(engine, None, None, seed)
    if engine == "cubic":
        raise InputError("engine: expected a converging engine, found 'cubic'; use newton_schulz")
    w = checked_matrices("w", w)
    result = w.detach().clone(memory_format=torch.contiguous_format)
    for matrix in result.view(-1, *w.shape[-2:]):
        found = polar_factor(matrix, method, measure=False)
        if found.factor is not None:
            matrix.copy_(found.factor)
    return result


def _are_coefficients(steps: object) -> bool:
    return isinstance(steps, Sequence) and all(
        isinstance(step, Sequence) and len(step) == 3 and all(map(is_number, step))
        for step in steps)


def _coefficients(steps: str | Coefficients, iters: int | None) -> tuple[Coefficients, float]:
    """Returns the list of steps, and the factor on the norm before the first step."""
    if isinstance(steps, str) and steps == "cubic":
        count = checked_method("cubic", iters, None, 0).iters
        return ((1.5, -0.5, 0.0), ) * count, 1.0
    if iters is not None:
        raise InputError(
            f"iters: expected steps='cubic', the only list of variable length, found {steps!r}")
    if isinstance(steps, str) and steps == "muon":
        return MUON, 1.0
    if isinstance(steps, str) and steps == "polar-express":
        return POLAR_EXPRESS, 1.01  # above one its polynomials grow fast
    if isinstance(steps, str) or not _are_coefficients(steps):
        raise InputError("steps: expected cubic, muon, polar-express or a list of (a, b, c), found "
                         f"{steps!r}")
    return steps, 1.0


@checked()
def newton_schulz(w: Tensor,
                  steps: str | Coefficients = "cubic",
                  *,
                  iters: int | None = None,
                  norm: str = "fro") -> Tensor:
    """Applies published operators, X <- a X + b X X^T X + c (X X^T)^2 X, to each matrix of w[...,
    m, n].

    `steps` is "cubic" (`iters` times 1.5 X - 0.5 X X^T X; 10 by default), "muon", "polar-express"
    or a list of (a, b, c). X is first divided by its Frobenius norm or its largest singular value
    (`norm`). A fixed number of steps may not reach an isometry; use `polar` for that. The
    computation is in float32, or in float64 for float64 inputs; zero matrices are returned
    unchanged.
    """
    chosen, margin = _coefficients(steps, iters)
    checked_method("cubic", None, norm, 0)
    w = checked_matrices("w", w).detach()
    with exact_products(w.device):
        x = w.to(torch.promote_types(w.dtype, torch.float32))
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        # Dividing by the largest element first avoids overflow and underflow of squares.
        largest = x.abs().amax((-2, -1), keepdim=True)
        x = x / torch.where(largest > 0, largest, 1)
        size = torch.linalg.matrix_norm(x, ord=2 if norm == "spectral" else "fro", keepdim=True)
        x = x / torch.where(size > 0, margin * size, 1)
        for a, b, c in chosen:
            g = x.mT @ x
            x = a * x + x @ (b * g + c * (g @ g) if c else b * g)
        return (x.mT if wide else x).to(w.dtype).contiguous()
