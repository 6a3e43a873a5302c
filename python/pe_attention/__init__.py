"""Fused attention kernels with positional encodings, for PyTorch and NumPy, with all gradients.

The package resolves names on first use: importing it is fast and requires neither PyTorch, NumPy
nor the library libpe.
"""

from __future__ import annotations

import importlib
import sys

from ._version import __version__ as __version__

# The same constant as in `typing`, whose import would dominate the import time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._attention import attention as attention
    from ._cache import Cache as Cache
    from ._check import check as check, reference as reference
    from ._compiled import compile as compile, load as load
    from ._encoding import (Encoding as Encoding, bias as bias, from_mlir as from_mlir,
                            per_head as per_head, rotation as rotation, scalar as scalar,
                            score_mod as score_mod, vector as vector)
    from ._errors import (CompileError as CompileError, DeviceError as DeviceError, Error as Error,
                          InputError as InputError)
    from ._explain import explain as explain
    from ._flex import from_flex as from_flex
    from ._mask_fn import mask as mask
    from ._masks import Mask as Mask, causal as causal, sliding_window as sliding_window
    from ._merge import merge as merge
    from ._param_groups import param_groups as param_groups
    from ._reinit import reinit as reinit

# Public names and the modules of this package that define them.
_NAMES = {
    "attention": "_attention",
    "Cache": "_cache",
    "explain": "_explain",
    "compile": "_compiled",
    "load": "_compiled",
    "check": "_check",
    "reference": "_check",
    "Error": "_errors",
    "InputError": "_errors",
    "CompileError": "_errors",
    "DeviceError": "_errors",
    "Mask": "_masks",
    "causal": "_masks",
    "sliding_window": "_masks",
    "mask": "_mask_fn",
    "Encoding": "_encoding",
    "bias": "_encoding",
    "rotation": "_encoding",
    "score_mod": "_encoding",
    "per_head": "_encoding",
    "scalar": "_encoding",
    "vector": "_encoding",
    "from_mlir": "_encoding",
    "from_flex": "_flex",
    "param_groups": "_param_groups",
    "reinit": "_reinit",
    "merge": "_merge",
}
# Submodules that are public names themselves.
_MODULES = frozenset({"distributed", "integrations", "nn", "plasticity", "plot"})

__all__ = sorted([*_NAMES, *_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    if name not in _MODULES and name not in _NAMES:
        raise AttributeError(f"module 'pe_attention' has no attribute '{name}'")
    try:
        module = importlib.import_module(f".{_NAMES.get(name, name)}", __name__)
    except ModuleNotFoundError as error:
        extra = {"torch": "torch", "numpy": "numpy", "matplotlib": "plot"}.get(error.name or "")
        if extra is None:
            raise
        raise ModuleNotFoundError(f"pe_attention.{name}: expected the package {error.name}, found "
                                  f"none; install pe-attention[{extra}]", name=error.name) from None
    value: object = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if hasattr(sys.modules.get("torch"), "library"):
    # Registers the operators for `torch.export.load`. If PyTorch is imported later, the first use
    # of a public name registers them.
    importlib.import_module("._ops", __name__)
