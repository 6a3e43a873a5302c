"""Rules of the operators for torch.vmap.

A batched call with plain queries, keys and values is folded into the batch dimension, unless the
program has formulas, which may depend on the batch index b, or the call has integers, which may be
lengths per batch entry. All other calls, including gradients per sample, run once per sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch

Dims = Sequence[int | None]

_FORMULA = re.compile(r"_fn\b|\bpe\.documents\b|\bpositions\(")


def _select(tensors: Sequence[torch.Tensor | None], dims: Dims, sample: int) -> list[Any]:
    return [tensor if tensor is None or dim is None else tensor.select(dim, sample)
            for tensor, dim in zip(tensors, dims, strict=True)]


def _stacked(results: Sequence[Sequence[torch.Tensor]]) -> tuple[list[torch.Tensor], list[int]]:
    stacked = [torch.stack(list(parts)) for parts in zip(*results, strict=True)]
    return stacked, [0] * len(stacked)


def _each(operator: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a rule that calls an operator once per sample. Its arguments are lists of tensors
    followed by numbers and strings."""

    def rule(info: Any, dims: Sequence[Any], *arguments: Any) -> Any:
        results = [operator(*[_select(value, dim, sample) if isinstance(dim, (list, tuple))
                              else value for value, dim in zip(arguments, dims, strict=True)])
                   for sample in range(info.batch_size)]
        return _stacked(results)

    return rule


def _attention(info: Any, dims: Sequence[Any], tensors: Sequence[torch.Tensor], program: str,
               *call: Any) -> Any:
    own, rest = dims[0][:3], dims[0][3:]
    if (_FORMULA.search(program) or any([dim is not None for dim in rest])
            or any([tensor.dtype is torch.int32 for tensor in tensors[3:]])):
        return _each(torch.ops.pe.attention.default)(info, dims, tensors, program, *call)
    samples = info.batch_size
    folded = [(tensor.unsqueeze(0).expand(samples, *tensor.shape) if dim is None
               else tensor.movedim(dim, 0)).flatten(0, 1)
              for tensor, dim in zip(tensors[:3], own, strict=True)]
    batch = folded[0].shape[0] // samples if samples else 0
    results = torch.ops.pe.attention.default([*folded, *tensors[3:]], program, *call)
    return [t.unflatten(0, (samples, batch)) for t in results], [0] * len(results)


def register(library: torch.library.Library) -> None:
    """Registers the rules of the operators of `library`."""
    operators = torch.ops.pe
    for name, rule in (("attention", _attention),
                       ("attention_forward", _each(operators.attention_forward.default)),
                       ("attention_backward", _each(operators.attention_backward.default))):
        torch.library.register_vmap(f"pe::{name}", rule, lib=library)
