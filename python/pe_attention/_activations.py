"""The activations of networks: the only list of their names in Python."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

# By name, in the order of runtime/plan/Activations.h.
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda x: x, "relu": torch.relu, "gelu": F.gelu, "tanh": torch.tanh,
    "silu": F.silu, "cos": torch.cos,
    "step": lambda x: (x > 0).to(x.dtype),
}
