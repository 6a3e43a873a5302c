"""The storage of a cache in pages of two pools."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ._cache_rows import Storage


class Pages(Storage):
    """Pools of keys [pages, page, heads, head_dim] and values [pages, page, heads, value_dim]: row
    j of entry b is row j % page of page `_lists[b][j // page]`.

    Entries share pages after `reorder`. A page that several entries share is copied before one of
    them writes to it.
    """

    def __init__(self, batch: int, heads: int, depths: tuple[int, int], capacity: int,
                 dtype: torch.dtype, device: torch.device, page: int) -> None:
        super().__init__(batch, heads, depths, dtype, device)
        self.page = page
        self.keys, self.values = self.allocate(0, page, heads)
        self._lists: list[list[int]] = [[] for _ in range(batch)]
        self._uses: list[int] = []  # the number of entries that read each page
        self._free: list[int] = []
        self._table: torch.Tensor | None = None
        self._extend(batch * -(-capacity // page))

    def _extend(self, count: int) -> None:
        """Adds free pages to the pools."""
        old = (self.keys, self.values)
        first = len(self._uses)
        self.keys, self.values = self.allocate(first + count, self.page, self.heads)
        for to, source in zip((self.keys, self.values), old, strict=True):
            to[:first].copy_(source)
        self._uses += [0] * count
        self._free += range(first + count - 1, first - 1, -1)

    def _take(self) -> int:
        if not self._free:
            self._extend(max(len(self._uses), self.batch, 4))
        page = self._free.pop()
        self._uses[page] = 1
        return page

    def _drop(self, page: int) -> None:
        self._uses[page] -= 1
        if not self._uses[page]:
            self._free.append(page)

    def _own(self, entry: int, start: int, end: int) -> None:
        """Gives an entry separate pages for the rows from `start` to `end`."""
        pages = self._lists[entry]
        if start == end:
            return
        for number in range(start // self.page, -(-end // self.page)):
            if number == len(pages):
                pages.append(self._take())
            elif self._uses[pages[number]] > 1:
                shared, pages[number] = pages[number], self._take()
                for pool in (self.keys, self.values):
                    pool[pages[number]].copy_(pool[shared])
                self._drop(shared)
            else:
                continue
            self._table = None

    def _rows_of(self, entry: int, start: int, end: int) -> list[int]:
        """Returns the numbers of rows in the pools."""
        pages, page = self._lists[entry], self.page
        rows: list[int] = []
        for number in range(start // page, -(-end // page)):
            shift = (pages[number] - number) * page
            rows += range(max(start, number * page) + shift, min(end, (number + 1) * page) + shift)
        return rows

    def _index(self, rows: list[int]) -> torch.Tensor:
        return torch.tensor(rows, dtype=torch.int64, device=self.device)

    def _read(self, pool: torch.Tensor, rows: list[int]) -> torch.Tensor:
        return pool.flatten(0, 1).index_select(0, self._index(rows))

    def _put(self, pool: torch.Tensor, index: torch.Tensor, rows: torch.Tensor) -> None:
        """Writes the rows [n, heads, depth]."""
        pool.flatten(0, 1).index_copy_(0, index, rows)

    def reserve(self, needed: int, used: int) -> None:
        """Pages are allocated when they are written."""

    def write(self, k: torch.Tensor, v: torch.Tensor, starts: Sequence[int],
              counts: Sequence[int]) -> None:
        ends = [start + count for start, count in zip(starts, counts, strict=True)]
        for entry, (start, end) in enumerate(zip(starts, ends, strict=True)):
            self._own(entry, start, end)
        index = self._index([row for entry, (start, end) in enumerate(zip(starts, ends,
                                                                          strict=True))
                             for row in self._rows_of(entry, start, end)])
        is_whole = min(counts) == k.shape[2]
        for pool, new in ((self.keys, k), (self.values, v)):
            rows = new.transpose(1, 2)
            self._put(pool, index, rows.flatten(0, 1) if is_whole else torch.cat(
                [each[:count] for each, count in zip(rows, counts, strict=True)]))

    def gathered(self, start: int, end: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor]:
        key, value = [self._gathered(pool, start, end, entries)
                      for pool in (self.keys, self.values)]
        return key, value

    def gathered_keys(self, start: int, end: int, entries: slice) -> torch.Tensor:
        return self._gathered(self.keys, start, end, entries)

    def _gathered(self, pool: torch.Tensor, start: int, end: int, entries: slice) -> torch.Tensor:
        numbers = [row for entry in range(self.batch)[entries]
                   for row in self._rows_of(entry, start, end)]
        rows = self._read(pool, numbers)
        return rows.view(-1, end - start, *rows.shape[1:]).transpose(1, 2)

    def replace_keys(self, rows: torch.Tensor, start: int, entries: slice) -> None:
        end = start + rows.shape[2]
        chosen = range(self.batch)[entries]
        for entry in chosen:
            self._own(entry, start, end)
        index = self._index([row for entry in chosen for row in self._rows_of(entry, start, end)])
        self._put(self.keys, index, rows.transpose(1, 2).flatten(0, 1).to(self.dtype))

    def keys_at(self, entries: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
        numbers = [row for entry, at in zip(entries, positions, strict=True)
                   for row in self._rows_of(entry, at, at + 1)]
        return self._read(self.keys, numbers).unsqueeze(2)

    def replace_keys_at(self, rows: torch.Tensor, entries: Sequence[int],
                        positions: Sequence[int]) -> None:
        for entry, at in zip(entries, positions, strict=True):
            self._own(entry, at, at + 1)
        index = self._index([row for entry, at in zip(entries, positions, strict=True)
                             for row in self._rows_of(entry, at, at + 1)])
        self._put(self.keys, index, rows.squeeze(2).to(self.dtype))

    def operands(self, length: int, entries: slice) -> tuple[torch.Tensor, torch.Tensor,
                                                             torch.Tensor | None]:
        if self._table is None:
            most = max(map(len, self._lists))
            self._table = torch.tensor([pages + [-1] * (most - len(pages))
                                        for pages in self._lists], dtype=torch.int32)
        columns = -(-length // self.page)
        table = self._table if entries == slice(0, self.batch) else self._table[entries]
        return self.keys, self.values, table.narrow(1, 0, columns)

    def pools(self, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        return self.operands(length, slice(0, self.batch))

    def crop(self, lengths: Sequence[int]) -> None:
        for pages, length in zip(self._lists, lengths, strict=True):
            while len(pages) > -(-length // self.page):
                self._drop(pages.pop())
                self._table = None

    def reorder(self, index: torch.Tensor, length: int) -> None:
        lists = [list(self._lists[entry]) for entry in index.tolist()]
        for page in [page for pages in lists for page in pages]:
            self._uses[page] += 1
        for page in [page for pages in self._lists for page in pages]:
            self._drop(page)
        self._lists, self._table = lists, None
