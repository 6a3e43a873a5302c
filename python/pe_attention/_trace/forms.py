"""Functions of PyTorch that a formula does not have, and the formulas that compute them."""

from __future__ import annotations

_ASINH = "s * torch.log(s * x + torch.sqrt(x * x + 1)), where s = torch.where(x < 0, -1.0, 1.0)"
# Formulas in x, or in x and y. If several are equal in exact arithmetic, this is the one with small
# rounding errors and finite gradients.
FORMS = {
    "acosh": "torch.log(x + torch.sqrt(x * x - 1))",
    "arccosh": "torch.log(x + torch.sqrt(x * x - 1))",
    "asinh": _ASINH,
    "arcsinh": _ASINH,
    "atanh": "(torch.log1p(x) - torch.log1p(-x)) / 2",
    "arctanh": "(torch.log1p(x) - torch.log1p(-x)) / 2",
    "sinc": "torch.sin(y) / y, where y = torch.clamp(abs(math.pi * x), min=1e-4)",
    "logit": "torch.log(x) - torch.log1p(-x)",
    "logaddexp": "torch.maximum(x, y) + torch.nn.functional.softplus(-abs(x - y))",
    "xlogy": "x * torch.log(y)",
    "fmax": "torch.maximum(x, y)",
    "fmin": "torch.minimum(x, y)",
    "lerp": "x + weight * (y - x)",
    "frac": "x - torch.trunc(x)",
    "deg2rad": "x * (math.pi / 180)",
    "rad2deg": "x * (180 / math.pi)",
    "heaviside": "torch.where(x == 0, y, torch.where(x < 0, 0.0, 1.0))",
    "isinf": "abs(x) == math.inf",
    "isfinite": "abs(x) < math.inf",
    "mish": "x * torch.tanh(torch.nn.functional.softplus(x))",
    "hardsigmoid": "torch.clamp(x / 6 + 0.5, 0, 1)",
    "hardswish": "x * torch.clamp(x / 6 + 0.5, 0, 1)",
    "tanhshrink": "x - torch.tanh(x)",
}

_SPECIAL = "compute its values outside of the formula, and read them as table[i - j]"
_ROW = ("a formula computes one number per pair; compute this outside, or use .sum() of a small "
        "tensor")
_SOFTMAX = "attention takes the softmax of the scores itself"
_RANDOM = "formulas cannot draw random numbers; use dropout of attention, or pass noise as a tensor"

# Advice on functions that no formula computes.
SENTENCES = {
    **dict.fromkeys(("lgamma", "gammaln", "digamma", "polygamma", "mvlgamma", "erfinv", "ndtri",
                     "i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "zeta"), _SPECIAL),
    **dict.fromkeys(("mean", "prod", "amax", "amin", "argmax", "argmin", "std", "var", "median",
                     "sort", "topk", "cumsum", "cumprod", "logsumexp", "norm"), _ROW),
    **dict.fromkeys(("softmax", "log_softmax"), _SOFTMAX),
    **dict.fromkeys(("dropout", "rand_like", "randn_like", "bernoulli"), _RANDOM),
}


def advice_on(name: str) -> str:
    """Returns what to write instead of a function, or "" for an unknown name."""
    if name in FORMS:
        return f"write {FORMS[name]}"
    return SENTENCES.get(name, "")
