"""The storage of a cache: rows of keys and values, contiguous or in pages."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import torch


class Storage(abc.ABC):
    """Rows of keys and values of `batch` entries. Rows that were not written are undefined."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, batch: int, heads: int, depths: tuple[int, int], dtype: torch.dtype,
                 device: torch.device) -> None:
        self.batch, self.heads, self.depths = batch, heads, depths
        self.dtype, self.device = dtype, device

    def allocate(self, *sizes: int) -> tuple[torch.Tensor, torch.Tensor]:
        # Tensors of inference mode could not be written outside it.
        with torch.inference_mode(False):
            key, value = [torch.empty(*sizes, depth, dtype=self.dtype, device=self.device)
                          for depth in self.depths]
        return key, value

    @abc.abstractmethod
    def reserve(self, needed: int, used: int) -> None:
        """Allocates memory for `needed` rows per entry, of which `used` contain data."""

    @abc.abstractmethod
    def write(self, k: torch.Tensor, v: torch.Tensor, starts: Sequence[int],
              counts: Sequence[int]) -> None:
        """Writes the first `counts[entry]` rows of each entry from its start on."""

    @abc.abstractmethod
    def gathered(self, start: int, end: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns rows of keys and values of some entries, [B, heads, rows, depth]."""

    @abc.abstractmethod
    def gathered_keys(self, start: int, end: int, entries: slice) -> torch.Tensor:
        """Returns the keys of `gathered`."""

    @abc.abstractmethod
    def replace_keys(self, rows: torch.Tensor, start: int, entries: slice) -> None:
        """Writes the keys [B, heads, rows, head_dim] of some entries from row `start` on."""

    @abc.abstractmethod
    def keys_at(self, entries: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        """Returns one key of each of these entries, [entries, heads, 1, head_dim]."""

    @abc.abstractmethod
    def replace_keys_at(self, rows: torch.Tensor, entries: Sequence[int],
                        positions: Sequence[int]) -> None:
        """Writes one key of each of these entries."""

    @abc.abstractmethod
    def operands(self, length: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor,
                                                             torch.Tensor | None]:
        """Returns the keys, values and pages of a call over the first `length` rows. The last pages
        may have more rows."""

    @abc.abstractmethod
    def pools(self, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Returns the memory of keys and values, whose rows may be more than `length`, and the
        pages of a call over these rows."""

    @abc.abstractmethod
    def crop(self, lengths: Sequence[int]) -> None:
        """Releases memory of rows after the lengths."""

    @abc.abstractmethod
    def reorder(self, index: torch.Tensor, length: int) -> None:
        """Replaces entry b by entry `index[b]`, of which `length` rows contain data."""


class Rows(Storage):
    """Keys [batch, heads, capacity, head_dim] and values [batch, heads, capacity, value_dim]."""

    def __init__(self, batch: int, heads: int, depths: tuple[int, int], capacity: int,
                 dtype: torch.dtype, device: torch.device) -> None:
        super().__init__(batch, heads, depths, dtype, device)
        self.keys, self.values = self.allocate(batch, heads, capacity)

    @property
    def capacity(self) -> int:
        return self.keys.shape[2]

    def reserve(self, needed: int, used: int) -> None:
        """Allocates at least twice as many rows as before. Views of the old rows remain valid."""
        if needed <= self.capacity:
            return
        old = (self.keys, self.values)
        self.keys, self.values = self.allocate(self.batch, self.heads,
                                               max(needed, 2 * self.capacity, 64))
        if used:
            for to, source in zip((self.keys, self.values), old, strict=True):
                to[:, :, :used].copy_(source[:, :, :used])

    def write(self, k: torch.Tensor, v: torch.Tensor, starts: Sequence[int],
              counts: Sequence[int]) -> None:
        if min(starts) == max(starts) and min(counts) == k.shape[2]:
            self.keys.narrow(2, starts[0], k.shape[2]).copy_(k)
            self.values.narrow(2, starts[0], k.shape[2]).copy_(v)
            return
        if min(counts) == max(counts) == 1:
            every = self._places(range(self.batch), starts)
            self.keys[every] = k[:, :, 0]
            self.values[every] = v[:, :, 0]
            return
        for to, source in ((self.keys, k), (self.values, v)):
            for entry, (start, count) in enumerate(zip(starts, counts, strict=True)):
                to[entry].narrow(1, start, count).copy_(source[entry].narrow(1, 0, count))

    def gathered(self, start: int, end: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor]:
        return (self._of(self.keys, entries).narrow(2, start, end - start),
                self._of(self.values, entries).narrow(2, start, end - start))

    def gathered_keys(self, start: int, end: int, entries: slice) -> torch.Tensor:
        return self._of(self.keys, entries).narrow(2, start, end - start)

    def _of(self, rows: torch.Tensor, entries: slice) -> torch.Tensor:
        return rows if entries == slice(0, self.batch) else rows[entries]

    def replace_keys(self, rows: torch.Tensor, start: int, entries: slice) -> None:
        self._of(self.keys, entries).narrow(2, start, rows.shape[2]).copy_(rows)

    def _places(self, entries: Sequence[int], positions: Sequence[int]) -> tuple[Any, ...]:
        """Returns the index of one row of each of these entries."""
        return (torch.tensor(entries, device=self.device), slice(None),
                torch.tensor(positions, device=self.device))

    def keys_at(self, entries: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        return self.keys[self._places(entries, positions)].unsqueeze(2)

    def replace_keys_at(self, rows: torch.Tensor, entries: Sequence[int],
                        positions: Sequence[int]) -> None:
        self.keys[self._places(entries, positions)] = rows.squeeze(2).to(self.dtype)

    def operands(self, length: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor,
                                                             torch.Tensor | None]:
        return (*self.gathered(0, length, entries), None)

    def pools(self, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        return self.keys, self.values, None

    def crop(self, lengths: Sequence[int]) -> None:
        """Memory is kept for later rows."""

    def reorder(self, index: torch.Tensor, length: int) -> None:
        for rows in self.gathered(0, length, slice(0, self.batch)):
            rows.copy_(rows.index_select(0, index))
