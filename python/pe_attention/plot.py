"""Plots encodings as matplotlib figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from ._arguments import checked, found
from ._attention import attention as _attention
from ._errors import InputError
from ._explain import program_for
from ._function import get_function
from ._program import Options
from ._tensors import check_tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._module import Encoding
    from ._masks import Mask

__all__ = ["attention", "bias", "distance"]

_VALUE_DIMS = 64  # columns of weights per call; kernels take multiples of 8

# The same values as in `pe plot` (docs/plot.md).
_HEADS = 8
_LENGTH = 64
_QUERY = 8192
_SHOWN_LOGITS = 30.0
_MASKED, _INFINITE = "#d3d3d8", "#7d7d86"
_DISTANCE_CLASSES = {"affine", "distance", "segments"}
_OTHER_CLASSES = {"row", "column", "row_column", "general"}


@checked(least={"length": 1})
def bias(encoding: Encoding, length: int = _LENGTH, *, heads: Sequence[int] | None = None,
         causal: bool = True, shared_scale: bool = False) -> Figure:
    """Plots the bias over query (down) and key position (right), with a heatmap per head; heads
    with equal values share one.

    `heads` selects heads; by default the first eight are drawn, and the figure notes if there are
    more. With `causal`, keys after their query are masked. Signed values use a diverging color map
    around 0. Each head has a separate scale, unless `shared_scale` is true.
    """
    values = _dense(encoding, length, length)
    chosen = _heads(heads, len(values))
    if causal:
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        values = values.masked_fill(later, float("nan"))
    return _heatmaps(values, chosen, "bias (logits)", signed=True, shared=shared_scale,
                     limited=heads is None)


@checked()
def distance(encoding: Encoding, length: int | None = None, *, query: int | None = None,
             heads: Sequence[int] | None = None, full_range: bool = False) -> Figure:
    """Plots the bias of one query over the distance, with a line per head; heads with equal values
    share one.

    The query is at position 8192, or at the end of `length`. Values more than 30 logits below a
    head's maximum have no visible effect on the weights: they are clipped, and the title says so,
    unless `full_range` is true. -inf is marked. If the bias is not a function of the distance (see
    `pe.explain`), the figure shows the mean and the range of all pairs at each distance, over
    `length` positions (64 by default).
    """
    _check_encoding(encoding)
    if length is not None and length < 2:
        raise InputError(f"length: expected at least 2, found {length}")
    last = _QUERY if length is None else length - 1
    at = last if query is None else query
    if not 0 < at <= (last if length is not None else at):
        raise InputError(f"query: expected a position from 1 to {last}, found {at}")
    if not _is_of_distance(encoding):
        return _mean_by_distance(encoding, length or _LENGTH, heads, full_range)
    values = _dense(encoding, 1, at + 1)[:, 0].flip(-1)
    chosen = _heads(heads, len(values))
    figure, (axes,) = _figure(1)
    for group in _grouped(values, chosen):
        _draw_line(axes, values[group[0]], _name(group))
    axes.set_xscale("symlog", base=2, linthresh=1)
    axes.set(xlabel=f"distance |i - j| from query {at}", ylabel="bias (logits)")
    _finish(axes, values, chosen, full_range, limited=heads is None)
    return figure


@checked()
def attention(query: torch.Tensor, key: torch.Tensor, encoding: Encoding | None = None, *,
              mask: Mask | None = None, batch: int = 0, heads: Sequence[int] | None = None,
              shared_scale: bool = False, **options: Any) -> Figure:
    """Plots the weights of `pe.attention` for short inputs, with a heatmap per query head.

    The weights are computed by the kernel itself, as its output for an identity matrix of values.
    `heads` and `shared_scale` are as in `bias`; `options` are passed to `pe.attention`.
    """
    for name, tensor in (("query", query), ("key", key)):
        check_tensor(name, tensor)
        if tensor.dim() != 4:
            raise InputError(f"{name}: expected [batch, heads, length, depth], found "
                             f"{tensor.dim()} dimensions, {list(tensor.shape)}")
    keys, key_heads = key.shape[2], key.shape[1]
    identity = torch.eye(keys, -(-keys // 8) * 8, dtype=query.dtype, device=query.device)
    parts = []
    with torch.no_grad():
        for columns in identity.split(_VALUE_DIMS, dim=1):
            values = columns.expand(1, key_heads, keys, columns.shape[1])
            parts.append(_attention(query[batch:batch + 1], key[batch:batch + 1], values, encoding,
                                    mask=mask, **options)[0])
    weights = torch.cat(parts, dim=-1)[..., :keys].float().cpu()
    return _heatmaps(weights, _heads(heads, len(weights)), "weight", signed=False,
                     shared=shared_scale, limited=heads is None)


def _check_encoding(encoding: Encoding) -> None:
    if isinstance(encoding, type) or not hasattr(encoding, "dense"):
        raise InputError(f"encoding: expected an encoding such as pe.nn.ALiBi(heads=4), found "
                         f"{found(encoding)}")


def _dense(encoding: Encoding, queries: int, keys: int) -> torch.Tensor:
    _check_encoding(encoding)
    with torch.no_grad():
        values: torch.Tensor = encoding.dense(queries, keys)[0].float().cpu()
    return values


def _is_of_distance(encoding: Encoding) -> bool:
    """Returns whether, for one query, every term of the bias is a function of the distance,
    according to the classes that the compiler stores with the compiled function."""
    program = program_for(encoding, None, Options())
    structure = get_function(program.text, "cpu", 64, 64, "f32", True).info["structure"]
    classes = set(structure.split()) & (_DISTANCE_CLASSES | _OTHER_CLASSES)
    return bool(classes) and classes <= _DISTANCE_CLASSES


def _mean_by_distance(encoding: Encoding, length: int, heads: Sequence[int] | None,
                      full_range: bool) -> Figure:
    values = _dense(encoding, length, length)
    chosen = _heads(heads, len(values))
    figure, (axes,) = _figure(1)
    means = torch.full((len(values), length), float("nan"))
    for group in _grouped(values, chosen):
        diagonals = [values[group[0]].diagonal(-n) for n in range(length)]
        means[group] = torch.stack([each.mean() for each in diagonals])
        line = _draw_line(axes, means[group[0]], _name(group))
        axes.fill_between(range(length), [each.min().item() for each in diagonals],
                          [each.max().item() for each in diagonals], alpha=0.2,
                          color=line.get_color(), linewidth=0)
    axes.set(xlabel="distance i - j", ylabel="bias (logits)")
    _finish(axes, means, chosen, full_range, limited=heads is None,
            note=f"not a function of the distance: mean and range over {length} positions")
    return figure


def _heads(chosen: Sequence[int] | None, count: int) -> list[int]:
    heads = list(range(min(count, _HEADS))) if chosen is None else list(chosen)
    for head in heads:
        if not 0 <= head < count:
            raise InputError(f"heads: expected numbers from 0 to {count - 1}, found {head}")
    return heads


def _grouped(values: torch.Tensor, heads: Sequence[int]) -> list[list[int]]:
    """Groups heads with equal values; NaN equals NaN."""
    groups: list[list[int]] = []
    for head in heads:
        for group in groups:
            if torch.equal(values[head].nan_to_num(math.pi), values[group[0]].nan_to_num(math.pi)):
                group.append(head)
                break
        else:
            groups.append([head])
    return groups


def _name(heads: Sequence[int]) -> str:
    """Returns "head 3", "heads 0–7" or "heads 0, 2"."""
    if len(heads) == 1:
        return f"head {heads[0]}"
    if len(heads) > 2 and list(heads) == list(range(heads[0], heads[-1] + 1)):
        return f"heads {heads[0]}–{heads[-1]}"
    return "heads " + ", ".join(map(str, heads))


def _note_of_heads(heads: Sequence[int], count: int, limited: bool) -> str:
    return f"{_name(heads)} of {count}" if limited and len(heads) < count else ""


def _draw_line(axes: Any, numbers: torch.Tensor, name: str) -> Any:
    """Draws values over the distance. If they are -inf beyond some distance, the label says so."""
    finite = numbers.isfinite().nonzero().flatten()
    infinite = numbers.isneginf()
    if len(finite) and infinite.any() and infinite[finite[-1] + 1:].any():
        name += f", −inf beyond {finite[-1].item()}"
    (line,) = axes.plot(range(len(numbers)), numbers.masked_fill(infinite, math.nan).tolist(),
                        label=name)
    where = infinite.nonzero().flatten().tolist()
    if where:
        axes.plot([where[0], where[-1]], [0, 0], marker="x", linestyle="--", linewidth=1,
                  color=line.get_color(), transform=axes.get_xaxis_transform(), clip_on=False)
    return line


def _finish(axes: Any, values: torch.Tensor, heads: Sequence[int], full_range: bool, limited: bool,
            note: str = "") -> None:
    """Sets the limits of the axes, and lists in the title what is not shown."""
    notes = [text for text in (_note_of_heads(heads, len(values), limited), note) if text]
    drawn = [values[head][values[head].isfinite()] for head in heads]
    drawn = [numbers for numbers in drawn if numbers.numel()]
    if drawn and not full_range:
        limit = min(numbers.max().item() for numbers in drawn) - _SHOWN_LOGITS
        if min(numbers.min().item() for numbers in drawn) < limit:
            top = max(numbers.max().item() for numbers in drawn)
            axes.set_ylim(limit, top + 0.05 * (top - limit))
            notes.append(f"clipped at {limit:.4g} (full_range=True draws all)")
    axes.set_title("; ".join(notes), fontsize="small")
    axes.legend(frameon=False, fontsize="small")


def _figure(count: int) -> tuple[Figure, list[Any]]:
    """Returns a figure with `count` axes, without pyplot's global state."""
    from matplotlib.figure import Figure

    columns = min(count, 4)
    rows = -(-count // columns)
    figure = Figure(figsize=(2.6 * columns + 1.2, 2.6 * rows) if count > 1 else (6.0, 4.0),
                    layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten().tolist()
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def _range(picture: torch.Tensor) -> tuple[float, float]:
    finite = picture[picture.isfinite()]
    return (finite.min().item(), finite.max().item()) if finite.numel() else (0.0, 0.0)


def _is_near_zero(low: float, high: float) -> bool:
    """Returns whether a color map around 0 resolves the values."""
    return max(low, -high) <= high - low or low == high == 0


def _heatmaps(values: torch.Tensor, heads: Sequence[int], what: str, *, signed: bool, shared: bool,
              limited: bool) -> Figure:
    """Draws a heatmap per group of equal heads. `signed` selects a diverging color map if it
    resolves the values."""
    from matplotlib import colormaps
    from matplotlib.patches import Patch

    groups = _grouped(values, heads)
    figure, axes = _figure(len(groups))
    ranges = [_range(values[list(group)]) for group in groups]
    if shared:
        ranges = [(min(low for low, _ in ranges), max(high for _, high in ranges))] * len(groups)
    signed = signed and all(_is_near_zero(low, high) for low, high in ranges)
    colors = colormaps["RdBu_r" if signed else "viridis"].with_extremes(bad=_MASKED,
                                                                        under=_INFINITE)
    for place, group, (low, high) in zip(axes, groups, ranges):
        used = low, max(high, low + 1e-9)
        if signed:
            low, high = -max(-low, high), max(-low, high)
        picture = values[group[0]]
        picture = picture.masked_fill(picture.isneginf(), low - 1 - (high - low))
        drawn = place.imshow(picture.numpy(), vmin=low, vmax=max(high, low + 1e-9), cmap=colors,
                             interpolation="nearest")
        place.set_title(_name(group), fontsize="small")
        place.tick_params(labelsize="x-small")
        if not shared or place is axes[-1]:
            bar = figure.colorbar(drawn, ax=axes if shared else place, label=what)
            bar.ax.set_ylim(*used)
    if len(axes) == 1:  # labels next to the image, which is square
        axes[0].set_xlabel("key", fontsize="small")
        axes[0].set_ylabel("query", fontsize="small")
    else:
        figure.supxlabel("key", fontsize="small")
        figure.supylabel("query", fontsize="small")
    shown = values[list(heads)]
    patches = [Patch(color=color, label=name)
               for color, name, there in ((_MASKED, "masked", shown.isnan().any()),
                                          (_INFINITE, "−inf", shown.isneginf().any())) if there]
    if patches:
        figure.legend(handles=patches, loc="outside upper right", frameon=False,
                      fontsize="x-small", ncols=2)
    if note := _note_of_heads(heads, len(values), limited):
        figure.suptitle(note, fontsize="small")
    return figure
