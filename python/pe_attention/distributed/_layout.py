"""Assigns the positions of a sequence to ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._errors import InputError

LAYOUTS = ("contiguous", "zigzag")


class Chunk(NamedTuple):
    """Consecutive positions: their start in the sequence and in the rank's tensor."""

    start: int
    length: int
    offset: int

    @property
    def stop(self) -> int:
        return self.start + self.length


def chunks_of(lengths: Sequence[int], layout: str) -> list[tuple[Chunk, ...]]:
    """Returns the chunks of every rank. With "zigzag", rank r of W holds the chunks r and 2 W - 1 -
    r of 2 W, which balances the work under a causal mask."""
    world = len(lengths)
    if layout == "contiguous":
        return [(Chunk(sum(lengths[:rank]), lengths[rank], 0),) for rank in range(world)]
    if layout != "zigzag":
        raise InputError(f"layout: expected {' or '.join(map(repr, LAYOUTS))}, found {layout!r}")
    if len(set(lengths)) > 1 or lengths[0] % 2:
        raise InputError(f"layout: expected the same even length on every rank for 'zigzag', found "
                         f"{list(lengths)}; pad the sequence to a multiple of {2 * world}, or use "
                         f"layout='contiguous'")
    half = lengths[0] // 2
    return [(Chunk(rank * half, half, 0), Chunk((2 * world - 1 - rank) * half, half, half))
            for rank in range(world)]


def in_order(chunks: Sequence[tuple[Chunk, ...]]) -> list[tuple[int, Chunk]]:
    """Returns all chunks with their ranks, in the order of the sequence. Two chunks have the same
    start if one is empty."""
    return sorted(((rank, chunk) for rank, own in enumerate(chunks) for chunk in own),
                  key=lambda pair: (pair[1].start, pair[1].stop))
