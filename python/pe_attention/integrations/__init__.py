"""Integrations with other libraries. Submodules such as `pe.integrations.transformers` are imported
on first use, and the library itself when one of their functions is called."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import transformers as transformers

__all__ = ["transformers"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'pe_attention.integrations' has no attribute '{name}'")
    return importlib.import_module(f".{name}", __name__)
