"""Checks what the classes of `pe.nn` are made with: unknown, misplaced and mistyped arguments."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any

import torch

from .._errors import InputError

# Names of other libraries, and the arguments here that mean the same.
_ALIASES = {
    "num_heads": "heads", "n_heads": "heads", "n_head": "heads", "nhead": "heads",
    "nheads": "heads", "num_attention_heads": "heads", "total_num_heads": "heads", "h": "heads",
    "num_buckets": "buckets", "n_buckets": "buckets", "relative_attention_num_buckets": "buckets",
    "max_dist": "max_distance", "relative_attention_max_distance": "max_distance",
    "is_bidirectional": "bidirectional", "learnable": "learned", "trainable": "learned",
    "theta": "base", "rope_theta": "base", "rotary_base": "base", "rotary_emb_base": "base",
    "freq_base": "base", "rotary_dim": "rotary_dims", "rope_dim": "rotary_dims",
    "rope_scaling": "scaling", "interleave": "interleaved", "is_neox_style": "interleaved",
    "dim_head": "head_dim", "dim": "head_dim", "d_head": "head_dim", "head_size": "head_dim",
    "v_dim": "value_dim", "v_head_dim": "value_dim", "mlp_width": "hidden", "width": "hidden",
    "hidden_dim": "hidden", "hidden_size": "hidden", "hidden_features": "hidden",
    "init_L": "initial_length", "init_c": "c", "eps": "epsilon",
    "max_relative_position": "clip", "max_relative_positions": "clip", "k": "clip",
    "max_len": "length", "max_length": "length", "max_seq_len": "length", "seq_len": "length",
    "max_position_embeddings": "length", "num_embeddings": "length", "context_length": "length",
    "embedding_dim": "dim", "embed_dim": "dim", "d_model": "dim", "softcap": "cap",
    "logit_softcap": "cap", "num_terms": "terms", "activation_fn": "activation",
}
# Why an argument that other libraries have is not needed.
_NEEDLESS = {
    "head_dim": "the head dim is taken from the query",
    "length": "any length works",
    "heads": "the number of heads is taken from the query",
    "device": "move the module afterwards, with .to(device)",
    "dtype": "convert the module afterwards, with .to(dtype)",
    "causal": "the mask belongs to the call, pe.attention(..., mask=pe.causal)",
}
_OF_TOKENS = ("Algebraic", "Binary", "Sinusoidal")
# What a number without a name is likely to have meant.
_MISPLACED = {
    "RoPE": "the head dim is taken from the query; the base is base=10000.0",
    "Softcap": "the cap is cap=30.0",
    "Shaw": "the head dim is head_dim=64",
    "MusicTransformer": "the head dim is head_dim=64, the longest distance length=2048",
    "TransformerXL": "the head dim is head_dim=64",
    "Learned": "write Learned(length=512, dim=768)",
    "Mixture": "write Mixture(length=512, dim=768)",
    "Algebraic": "the number of positions is longest=5000",
}


# By class: torch.compile cannot trace a function with a signature among its variables.
_signatures: dict[str, inspect.Signature] = {}


def check_arguments(cls: type) -> None:
    """Makes the constructor of `cls` refuse wrong arguments with an `InputError` that says what to
    write."""
    plain = cls.__init__  # type: ignore[misc]
    name = cls.__name__
    _signatures[name] = inspect.signature(plain)

    @functools.wraps(plain)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if not torch.compiler.is_compiling():
            _check(name, _signatures[name], args, kwargs)
        plain(self, *args, **kwargs)

    cls.__init__ = __init__  # type: ignore[misc]


def _check(name: str, signature: inspect.Signature, args: tuple[Any, ...],
           kwargs: Mapping[str, Any]) -> None:
    known = {key: p for key, p in list(signature.parameters.items())[1:]}
    plain = [key for key, p in known.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    problems = [_unknown(name, key, value, known) for key, value in kwargs.items()
                if key not in known]
    if len(args) > len(plain):
        problems.append(_misplaced(name, args, plain, known))
    problems += [f"{key}: found twice, {value!r} without its name and {kwargs[key]!r}"
                 for key, value in zip(plain, args, strict=False) if key in kwargs]
    given = {**dict(zip(plain, args, strict=False)), **kwargs}
    if not problems:
        problems = [f"expected {key}={_example(key)}, found none" for key, p in known.items()
                    if p.default is p.empty and key not in given]
    if not problems:
        problems = [text for key, value in given.items()
                    if (text := _mistyped(key, value, known[key].default))]
    if problems:
        raise InputError(f"{name}: {'; '.join(problems)}")


def _example(key: str) -> str:
    return {"heads": "8", "head_dim": "64", "length": "512", "dim": "768"}.get(key, "...")


def _misplaced(name: str, args: tuple[Any, ...], plain: list[str],
               known: Mapping[str, inspect.Parameter]) -> str:
    extra = args[len(plain)]
    expected = f"{plain[0]} alone" if plain else "no argument"
    others = [key for key in known if key not in plain]
    advice = _MISPLACED.get(name) or (f"write {others[0]}={extra!r}" if others else "leave it out")
    return f"expected {expected} without its name, found {extra!r}; {advice}"


def _unknown(name: str, key: str, value: Any, known: Mapping[str, inspect.Parameter]) -> str:
    own = _ALIASES.get(key, key)
    if own in known:
        return f"unknown argument {key}; write {own}={value!r}"
    needless = _NEEDLESS.get(key) or _NEEDLESS.get(own)
    if name in _OF_TOKENS and own in ("head_dim", "dim"):
        needless = "the width is taken from the tokens"
    if needless:
        return f"unknown argument {key}; leave it out: {needless}"
    close = difflib.get_close_matches(key, known, 1)
    if close:
        return f"unknown argument {key}; did you mean {close[0]}?"
    return f"unknown argument {key}; expected {', '.join(known) or 'none'}"


def _optional(key: str, value: Any) -> str:
    """What is expected of an argument whose default is None, if the value is something else."""
    if key == "scaling":
        return "" if isinstance(value, Mapping) else "a mapping such as {'kind': 'ntk', " \
            "'factor': 4.0}"
    return "" if type(value) is int and value > 0 else "a whole number of at least 1"


def _mistyped(key: str, value: Any, default: Any) -> str:
    """What is wrong with the kind of a value, judged by that of the default; "" if nothing is."""
    wanted = ""
    if default is None:
        wanted = "" if value is None else _optional(key, value)
    elif isinstance(default, bool):
        wanted = "" if isinstance(value, bool) else "True or False"
    elif isinstance(default, int) or default is inspect.Parameter.empty:
        wanted = "" if type(value) is int and value > 0 else "a whole number of at least 1"
    elif isinstance(default, float):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        wanted = "" if number and math.isfinite(value) else "a finite number"
    elif isinstance(default, str):
        wanted = "" if isinstance(value, str) else f"a text such as {default!r}"
    return wanted and f"{key}: expected {wanted}, found {value!r}"
