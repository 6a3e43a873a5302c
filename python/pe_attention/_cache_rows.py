"""The storage of a cache: rows of keys and values in two tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class Rows:
    """Keys [batch, heads, capacity, head_dim] and values [batch, heads, capacity, value_dim]. Rows
    that were not written are undefined.

    Another storage, such as pages, implements the same methods.
    """

    def __init__(self, batch: int, heads: int, depths: tuple[int, int], capacity: int,
                 dtype: torch.dtype, device: torch.device) -> None:
        self.fixed = (batch, heads, depths, dtype, device)
        self.keys, self.values = self._allocate(capacity)

    def _allocate(self, capacity: int) -> tuple[torch.Tensor, torch.Tensor]:
        batch, heads, depths, dtype, device = self.fixed
        # Tensors of inference mode could not be written outside it.
        with torch.inference_mode(False):
            key, value = [torch.empty(batch, heads, capacity, depth, dtype=dtype, device=device)
                          for depth in depths]
        return key, value

    @property
    def capacity(self) -> int:
        return self.keys.shape[2]

    def grow(self, needed: int, used: int) -> None:
        """Allocates rows for `needed` per entry, at least twice as many as before, and copies the
        `used` rows. Views of the old rows remain valid."""
        old = (self.keys, self.values)
        self.keys, self.values = self._allocate(max(needed, 2 * self.capacity, 64))
        if used:
            for to, source in zip((self.keys, self.values), old, strict=True):
                to[:, :, :used].copy_(source[:, :, :used])

    def views(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.keys.narrow(2, 0, length), self.values.narrow(2, 0, length)

    def write(self, k: torch.Tensor, v: torch.Tensor, starts: Sequence[int],
              counts: Sequence[int] | None) -> None:
        """Writes the rows of each entry from its start on: all of them, or the first
        `counts[entry]`."""
        if counts is None and min(starts) == max(starts):
            self.keys.narrow(2, starts[0], k.shape[2]).copy_(k)
            self.values.narrow(2, starts[0], k.shape[2]).copy_(v)
            return
        for to, source in ((self.keys, k), (self.values, v)):
            for entry, start in enumerate(starts):
                count = source.shape[2] if counts is None else counts[entry]
                to[entry].narrow(1, start, count).copy_(source[entry].narrow(1, 0, count))

    def reorder(self, index: torch.Tensor, length: int) -> None:
        for rows in self.views(length):
            rows.copy_(rows.index_select(0, index))
