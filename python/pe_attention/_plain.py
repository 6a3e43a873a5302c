"""Finds eager calls that need no conversion, so that the checks of an equal call apply to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ._prepare import arguments_of
from ._run import layout_of
from ._tensors import is_seen

if TYPE_CHECKING:
    from ._masks import Mask
    from ._module import Bound, Encoding


class Plain(NamedTuple):
    """An eager call without modes, transforms or tensor subclasses. Its checks depend on `rest` and
    on the layouts of the tensors."""

    tensors: list[torch.Tensor]
    keep: bool
    rest: tuple[Any, ...]

    def key(self) -> tuple[Any, ...] | None:
        """Returns the layouts of the tensors and `rest`, or None if a tensor is not strided or the
        tensors are on several devices."""
        device = self.tensors[0].device
        has_lengths = self.rest[-1]  # which are on the host
        placed = self.tensors[:-1] if has_lengths else self.tensors
        if any([t.is_neg() or t.device != device for t in placed]):
            return None
        try:
            return (layout_of(self.tensors), device, *self.rest)
        except RuntimeError:  # nested tensors have no shape
            return None


def plain_of(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
             encoding: Encoding | Bound | None, mask: Mask | None, numbers: tuple[Any, ...],
             lengths: torch.Tensor | None, pages: torch.Tensor | None = None) -> Plain | None:
    """Returns the call, or None if it may need conversions or raise an error."""
    first = "" if encoding is None else getattr(encoding, "structure", None)
    second = "" if mask is None else getattr(mask, "structure", None)
    # A class has its structure as a property; an encoding with its own masks has none.
    if type(first) is not str or type(second) is not str or torch._C._is_any_autocast_enabled():
        return None
    tensors = [query, key, value]
    if encoding is not None:
        tensors += arguments_of(encoding, False)
    if mask is not None:
        tensors += mask.arguments()
    if pages is not None:
        tensors.append(pages)
    if lengths is not None:
        tensors.append(lengths)
    if is_seen(tensors):
        return None
    keep = torch.is_grad_enabled() and any([t.requires_grad for t in tensors])
    # 1, 1.0 and True are equal, but not all of them are valid numbers.
    return Plain(tensors, keep, (first, second, keep, getattr(encoding, "heads", None), numbers,
                                 tuple(map(type, numbers)), lengths is not None))
