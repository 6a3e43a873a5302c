"""Implements `param_groups`, which applies declarations of parameters to an optimizer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._arguments import checked
from ._module import Encoding


class ParamGroups(list[dict[str, Any]]):
    """Parameter groups for an optimizer, with the lower bounds of parameters."""

    def __init__(self, groups: list[dict[str, Any]], encodings: list[Encoding]) -> None:
        super().__init__(groups)
        self.encodings = encodings

    def clamp_(self) -> None:
        """Raises values below the declared `min` to `min`."""
        for encoding in self.encodings:
            encoding.clamp_()

    def keep(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """Calls `clamp_` after every step of the optimizer, and returns the optimizer."""
        optimizer.register_step_post_hook(lambda *_: self.clamp_())
        return optimizer


@checked()
def param_groups(model: nn.Module, **options: Any) -> ParamGroups:
    """Returns the parameters of a model as groups, with `weight_decay` 0 for parameters of
    encodings that do not decay. `options`, such as `lr=3e-4`, apply to all groups.

    Parameters of `pe.per_head`, `pe.scalar` and `pe.vector` decay with `decay=True`. In `pe.nn`,
    and among tensors captured by a formula, parameters with two axes or more decay (tables, the
    matrices of FIRE's network), and slopes, scales and biases do not. All other parameters of the
    model are in the first group. `groups = pe.param_groups(model)` followed by
    `groups.keep(torch.optim.AdamW(groups, lr=3e-4))` also enforces each `min`.
    """
    encodings = [module for module in model.modules() if isinstance(module, Encoding)]
    still = {id(parameter) for encoding in encodings
             for name, parameter in encoding.named_parameters(recurse=False)
             if not encoding.decays(name)}
    parameters = list(model.parameters())
    decayed = [p for p in parameters if id(p) not in still]
    others = [p for p in parameters if id(p) in still]
    groups = [{"params": decayed, **options}] if decayed else []
    if others:
        groups.append({"params": others, **options, "weight_decay": 0.0})
    return ParamGroups(groups, encodings)
