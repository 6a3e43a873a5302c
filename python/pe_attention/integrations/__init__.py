"""Integrations with other libraries. A submodule such as `pe.integrations.transformers` is imported
on first use, and it imports the library if it is installed."""

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
