"""Pictures of encodings, as figures of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import checked, found
from ._attention import attention as _attention
from ._errors import InputError
from ._tensors import check_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._encoding import Encoding
    from ._masks import Mask

__all__ = ["attention", "bias", "distance"]

_VALUE_DIMS = 64  # columns of weights that one call computes; kernels take multiples of 8


@checked(least={"length": 1})
def bias(encoding: Encoding, length: int = 256, *, heads: Sequence[int] | None = None,
         causal: bool = True) -> Figure:
    """The bias of every head over query (down) and key position (right), one scale for all.

    `heads` chooses some; with `causal` keys behind their query stay blank.
    """
    values = _dense(encoding, length, length)
    chosen = _heads(heads, len(values))
    if causal:
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        values = values.masked_fill(later, float("nan"))
    return _heatmaps([values[h] for h in chosen], [f"head {h}" for h in chosen], "bias")


@checked()
def distance(encoding: Encoding, length: int = 1024, *, query: int | None = None,
             heads: Sequence[int] | None = None) -> Figure:
    """The bias of one query, by default the last of `length`, by distance: a line per head."""
    if length < 2:
        raise InputError(f"length: expected at least 2, found {length}")
    at = length - 1 if query is None else query
    if not 0 < at < length:
        raise InputError(f"query: expected a position from 1 to {length - 1}, found {at}")
    values = _dense(encoding, 1, at + 1)[:, 0].flip(-1)
    figure, axes = _figure(1)
    for h in _heads(heads, len(values)):
        axes[0].plot(range(1, at + 1), values[h, 1:].tolist(), label=f"head {h}")
    axes[0].set(xscale="log", xlabel="distance i - j", ylabel="bias")
    axes[0].legend(frameon=False, fontsize="small")
    return figure


@checked()
def attention(query: torch.Tensor, key: torch.Tensor, encoding: Encoding | None = None, *,
              mask: Mask | None = None, batch: int = 0, heads: Sequence[int] | None = None,
              **options: Any) -> Figure:
    """The weights that `pe.attention` gives the keys of short inputs, a heatmap per query head.

    They are what the kernel itself computes: its output for values that are an identity matrix.
    `options` go to `pe.attention`.
    """
    for name, tensor in (("query", query), ("key", key)):
        check_tensor(name, tensor)
        if tensor.dim() != 4:
            raise InputError(f"{name}: expected [batch, heads, length, depth], found a shape of "
                             f"{tensor.dim()} dimensions, {list(tensor.shape)}")
    keys, key_heads = key.shape[2], key.shape[1]
    identity = torch.eye(keys, -(-keys // 8) * 8, dtype=query.dtype, device=query.device)
    parts = []
    with torch.no_grad():
        for columns in identity.split(_VALUE_DIMS, dim=1):
            values = columns.expand(1, key_heads, keys, columns.shape[1])
            parts.append(_attention(query[batch:batch + 1], key[batch:batch + 1], values, encoding,
                                    mask=mask, **options)[0])
    weights = torch.cat(parts, dim=-1)[..., :keys]
    chosen = _heads(heads, len(weights))
    return _heatmaps([weights[h] for h in chosen], [f"head {h}" for h in chosen], "weight")


def _dense(encoding: Encoding, queries: int, keys: int) -> torch.Tensor:
    if isinstance(encoding, type) or not hasattr(encoding, "dense"):
        raise InputError(f"encoding: expected an encoding such as pe.nn.ALiBi(heads=4), found "
                         f"{found(encoding)}")
    with torch.no_grad():
        values: torch.Tensor = encoding.dense(queries, keys)[0].float().cpu()
    return values


def _heads(chosen: Sequence[int] | None, count: int) -> list[int]:
    heads = list(range(count)) if chosen is None else list(chosen)
    for head in heads:
        if not 0 <= head < count:
            raise InputError(f"heads: expected numbers from 0 to {count - 1}, found {head}")
    return heads


def _figure(count: int) -> tuple[Figure, list[Any]]:
    """As many axes, without any state of pyplot."""
    from matplotlib.figure import Figure

    columns = min(count, 4)
    rows = -(-count // columns)
    figure = Figure(figsize=(2.6 * columns + 1.2, 2.6 * rows) if count > 1 else (6.0, 4.0),
                    layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def _heatmaps(pictures: Sequence[torch.Tensor], titles: Sequence[str], what: str) -> Figure:
    figure, axes = _figure(len(pictures))
    finite = torch.cat([picture[picture.isfinite()] for picture in pictures])
    low, high = (finite.min().item(), finite.max().item()) if finite.numel() else (0.0, 1.0)
    drawn = None
    for place, picture, title in zip(axes, pictures, titles):
        drawn = place.imshow(picture.cpu().numpy(), vmin=low, vmax=high, interpolation="nearest")
        place.set_title(title, fontsize="small")
        place.tick_params(labelsize="x-small")
    if len(axes) == 1:  # beside the picture, which is square
        axes[0].set_xlabel("key", fontsize="small")
        axes[0].set_ylabel("query", fontsize="small")
    else:
        figure.supxlabel("key", fontsize="small")
        figure.supylabel("query", fontsize="small")
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, label=what)
    return figure
