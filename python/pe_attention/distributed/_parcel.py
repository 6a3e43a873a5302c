"""Packs several tensors into one message."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

# Kernels need rows at multiples of 16 bytes to use them in place; a cache line has 64.
_ALIGNMENT = 64


class Parcel:
    """The layout of tensors with these shapes and types in one buffer."""

    def __init__(self, shapes: Sequence[Sequence[int]], dtypes: Sequence[torch.dtype]) -> None:
        self.shapes, self.dtypes = [tuple(shape) for shape in shapes], list(dtypes)
        self.offsets: list[int] = []
        self.size = 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            self.offsets.append(self.size)
            used = math.prod(shape) * dtype.itemsize
            self.size += -(-used // _ALIGNMENT) * _ALIGNMENT

    def empty(self, device: torch.device) -> torch.Tensor:
        return torch.empty(self.size, dtype=torch.uint8, device=device)

    def zeros(self, device: torch.device) -> torch.Tensor:
        return torch.zeros(self.size, dtype=torch.uint8, device=device)

    def views(self, buffer: torch.Tensor) -> list[torch.Tensor]:
        """Returns the tensors in a buffer."""
        return [buffer[offset:offset + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)
                for offset, shape, dtype in zip(self.offsets, self.shapes, self.dtypes,
                                                strict=True)]

    def pack(self, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
        # Zeros, so that no message contains uninitialized bytes.
        buffer = self.zeros(tensors[0].device)
        for view, tensor in zip(self.views(buffer), tensors, strict=True):
            view.copy_(tensor)
        return buffer


def resized(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1:])
