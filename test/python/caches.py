"""Caches, encodings and rows of the tests of pe.Cache."""

from __future__ import annotations

import random
from typing import Any

import torch

import pe_attention as pe
from every_encoding import rope_formula

HEADS, KV_HEADS, DEPTH, LENGTH = 4, 2, 16, 90
WINDOW = pe.causal & pe.sliding_window(17)
NTK = {"kind": "dynamic_ntk", "factor": 4.0, "original_length": 32}



@pe.bias(r=pe.per_head(0.5, min=0.0), p=pe.per_head(0.7, min=1e-3))
def kerple_power(b: Any, h: Any, i: Any, j: Any, r: Any, p: Any) -> Any:
    """The power form of KERPLE (Chi et al., arXiv 2205.09921)."""
    return -r[h] * abs(i - j) ** p[h]


# Encoding, mask, and key heads.
CASES: dict[str, tuple[Any, pe.Mask, int]] = {
    "nope": (lambda: None, pe.causal, KV_HEADS),
    "alibi": (lambda: pe.nn.ALiBi(HEADS), pe.causal, KV_HEADS),
    "fire": (lambda: pe.nn.FIRE(HEADS), pe.causal, KV_HEADS),
    "t5": (lambda: pe.nn.T5(HEADS), pe.causal, KV_HEADS),
    "rope": (pe.nn.RoPE, pe.causal, KV_HEADS),
    "rope_interleaved": (lambda: pe.nn.RoPE(interleaved=True, rotary_dims=8), pe.causal, KV_HEADS),
    "rope_learned": (lambda: pe.nn.RoPE(heads=HEADS, learned=True), pe.causal, HEADS),
    "rope_formula": (lambda: rope_formula(heads=HEADS), pe.causal, HEADS),
    "rope_and_fire": (lambda: pe.nn.RoPE() + pe.nn.FIRE(HEADS), pe.causal, KV_HEADS),
    "rse": (lambda: pe.nn.RSE(HEADS), pe.causal, KV_HEADS),
    "sinks": (lambda: pe.nn.AttentionSink(HEADS), pe.causal, KV_HEADS),
    "stick_breaking": (pe.nn.StickBreaking, pe.causal, KV_HEADS),
    "window": (lambda: pe.nn.RoPE(), WINDOW, KV_HEADS),
    "kerple_power": (lambda: kerple_power(heads=HEADS), pe.causal, KV_HEADS),
    "softpick": (pe.nn.Softpick, pe.causal, KV_HEADS),
}
ROTATED = {name for name in CASES if name.startswith(("ro", "rse", "window"))}


def rows(kv_heads: int = KV_HEADS, batch: int = 1, length: int = LENGTH,
         dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(length)
    k, v = torch.randn(2, batch, kv_heads, length, DEPTH, generator=generator).to(dtype)
    return torch.randn(batch, HEADS, length, DEPTH, generator=generator).to(dtype), k, v


PAGE: int | None = None  # set by the fixture `storage`


def create(*sizes: int, **options: Any) -> pe.Cache:
    return pe.Cache(*sizes, page=PAGE, **options)


def poison(cache: pe.Cache) -> None:
    """Makes the spare rows of a cache NaN."""
    if cache.page is not None:
        pages = cache._rows
        unused = torch.ones(pages.keys.shape[:2].numel(), dtype=torch.bool)
        for entry, length in enumerate(cache._lengths):
            unused[pages._rows_of(entry, 0, length)] = False
        for pool in (pages.keys, pages.values):
            pool.flatten(0, 1)[unused] = float("nan")
        return
    for tensor in (cache._rows.keys, cache._rows.values):
        for entry, length in enumerate(cache._lengths):
            tensor[entry, :, length:] = float("nan")


def decoded(cache: pe.Cache, encoding: Any, mask: pe.Mask, q: torch.Tensor, k: torch.Tensor,
            v: torch.Tensor, chunks: list[int]) -> torch.Tensor:
    parts, first = [], 0
    for size in chunks:
        own = slice(first, first + size)
        cache.append(k[:, :, own], v[:, :, own])
        poison(cache)
        parts.append(cache.attend(q[:, :, own], encoding, mask=mask))
        first += size
    assert len(cache) == first
    return torch.cat(parts, 2)


def random_chunks(seed: int, total: int = LENGTH) -> list[int]:
    chosen, chunks = random.Random(seed), [20]
    while sum(chunks) < total:
        chunks.append(min(chosen.randint(1, 8), total - sum(chunks)))
    return chunks
