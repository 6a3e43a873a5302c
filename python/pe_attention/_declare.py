"""Declarations of parameters: shape, initial values, lower bound and weight decay."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ._arguments import checked
from ._errors import InputError

if TYPE_CHECKING:
    import torch

# A number, or a size that the constructor of the encoding receives.
Size = int | Literal["heads", "depth", "value_depth"]
Init = float | str | Sequence[float]

_RULES = ("a number, a list of numbers, 'linear', 'linear(fan_in)', 'xavier(gain)', 'normal(std)', "
          "'uniform(a,b)' or 'slopes(geometric)'")
_NUMBER = r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*"
_FORMS = {"linear": r"linear", "fan_in": rf"linear\({_NUMBER}\)", "xavier": rf"xavier\({_NUMBER}\)",
          "normal": rf"normal\({_NUMBER}\)", "uniform": rf"uniform\({_NUMBER},{_NUMBER}\)",
          "slopes": r"slopes\(geometric\)"}


@dataclass(frozen=True)
class Declaration:
    """Declares one parameter. With `as_number` its shape is [1], and the program reads it as a
    number."""

    sizes: tuple[Size, ...]
    init: Init = 0.0
    min: float | None = None
    decay: bool = False
    axes: str = ""
    as_number: bool = False

    def __post_init__(self) -> None:
        _rule(self.init)
        if self.min is not None:
            self._check_min(self.min)

    def _check_min(self, least: object) -> None:
        if isinstance(least, bool) or not isinstance(least, (int, float)) or \
                not math.isfinite(least):
            raise InputError(f"min: expected a finite number, found {least!r}")
        rule, numbers = _rule(self.init)
        below = [n for n in numbers if rule in ("number", "list") and n < least]
        if below:
            raise InputError(f"init: expected at least min={least}, found {below[0]}")

    def shape(self, known: dict[str, int | None]) -> tuple[int, ...]:
        """Returns the shape, with named sizes taken from `known`."""
        sizes: list[int] = []
        for size in self.sizes:
            number = known.get(size) if isinstance(size, str) else size
            if number is None:
                raise InputError(f"{size}: expected a number for the shape of a parameter, "
                                 f"found none; write {size}=8")
            sizes.append(number)
        return tuple(sizes)

    def type(self) -> str:
        sizes = () if self.as_number else self.sizes
        return f"tensor<{''.join(f'{s if isinstance(s, int) else chr(63)}x' for s in sizes)}f32>"

    def attributes(self) -> str:
        """Returns the attributes of the program's argument."""
        parts: list[str] = []
        if isinstance(self.init, str):
            parts.append(f'pe.init = "{self.init}"')
        elif isinstance(self.init, (int, float)):
            parts.append(f"pe.init = {_real(self.init)}")
        if self.min is not None:
            parts.append(f"pe.min = {_real(self.min)}")
        # By default the dialect applies weight decay to arguments with two axes or more. Deviations
        # are written out, and so is the default for fewer axes.
        if not self.decay:
            parts.append("pe.decay = false")
        elif len(self.sizes) < 2:
            parts.append("pe.decay = true")
        if self.axes:
            parts.append(f"pe.axes = {self.axes}")
        return ", ".join(parts)


@checked()
def per_head(init: Init = 0.0, *, size: int | Sequence[int] = (), min: float | None = None,
             decay: bool = False) -> Declaration:
    """Declares a parameter with a number per head, `p[h]`, or with `size` a row per head, `p[h,
    n]`.

    `init` is a number, a list with a number per head, or a rule: "normal(std)", "uniform(a,b)",
    "xavier(gain)", "linear", "linear(fan_in)", "slopes(geometric)". Formulas read max(parameter,
    `min`), and the gradient passes below `min` if it increases the parameter;
    `pe.param_groups(...).keep(optimizer)` also keeps the parameter itself at or above `min`.
    `decay` enables weight decay.
    """
    return Declaration(("heads", *_sizes(size)), init, min, decay)


@checked()
def scalar(init: Init = 0.0, *, min: float | None = None, decay: bool = False) -> Declaration:
    """Declares a parameter of one number for all heads, with shape [1]. `init`, `min` and `decay`
    are as in `pe.per_head`."""
    return Declaration((1,), init, min, decay)


@checked()
def vector(size: int | Sequence[int], init: Init = 0.0, *, min: float | None = None,
           decay: bool = False) -> Declaration:
    """Declares a parameter of the given shape for all heads. `init`, `min` and `decay` are as in
    `pe.per_head`."""
    return Declaration(_sizes(size), init, min, decay)


def _sizes(size: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (size,) if isinstance(size, int) else tuple(size)
    for number in sizes:
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise InputError(f"size: expected integers of at least 1, found {size!r}")
    return sizes


def _real(value: float) -> str:
    text = repr(float(value))
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _rule(init: Init) -> tuple[str, tuple[float, ...]]:
    """Returns the name and the numbers of an initialization rule."""
    if isinstance(init, str):
        for rule, form in _FORMS.items():
            match = re.fullmatch(form, init.strip())
            if match:
                return rule, tuple(float(n) for n in match.groups())
        raise InputError(f"init: expected {_RULES}, found {init!r}")
    if isinstance(init, (int, float)) and not isinstance(init, bool):
        if not math.isfinite(init):
            raise InputError(f"init: expected a finite number, found {init}")
        return "number", (float(init),)
    try:
        values: Any = init
        return "list", tuple(float(n) for n in values)
    except (TypeError, ValueError):
        raise InputError(f"init: expected {_RULES}, found {init!r}") from None


def initialise(tensor: torch.Tensor, init: Init, name: str = "init") -> None:
    """Sets a parameter to its initial values."""
    import torch

    rule, numbers = _rule(init)
    fan_out, fan_in = (tensor.shape[0], tensor.shape[-1]) if tensor.ndim > 1 else \
        (tensor.numel(), 1)
    with torch.no_grad():
        if rule == "number":
            tensor.fill_(numbers[0])
        elif rule == "list":
            if len(numbers) != tensor.numel():
                raise InputError(f"{name}: expected {tensor.numel()} numbers, found {len(numbers)}")
            tensor.copy_(torch.tensor(numbers).reshape(tensor.shape))
        elif rule in ("linear", "fan_in"):
            bound = 1 / math.sqrt(numbers[0] if numbers else fan_in)
            tensor.uniform_(-bound, bound)
        elif rule == "xavier":
            bound = numbers[0] * math.sqrt(6 / (fan_in + fan_out))
            tensor.uniform_(-bound, bound)
        elif rule == "normal":
            tensor.normal_(0, numbers[0])
        elif rule == "uniform":
            tensor.uniform_(*numbers)
        else:
            tensor.copy_(geometric_slopes(len(tensor)).to(tensor))


def geometric_slopes(heads: int) -> torch.Tensor:
    """Returns 2^(-8 (h + 1) / H) for each head h of H."""
    import torch

    return torch.exp2(-8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads)
