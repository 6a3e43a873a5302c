"""Masks, which select pairs of a query and a key. `&` and `|` join masks, `~` negates one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from . import _arguments
from ._arguments import checked, found, is_a
from ._assemble import Piece, restore
from ._errors import InputError

if TYPE_CHECKING:
    import torch

_JOIN = ("write a & b for pairs that both masks let through, a | b for those of either, and ~a for "
         "all others")
_MASKS = "pe.causal, pe.sliding_window(128) and pe.mask(f) are masks"


class Mask:
    """A mask. `arguments` are the tensors for the arguments of its text, in order."""

    # The serialized piece (`_assemble.dump`), whose only clause is `mask(%{...})`. It is built by
    # joining strings, so that compiled code can construct and join masks too.
    structure: str

    def piece(self) -> Piece:
        return restore(self.structure)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return ()

    def __and__(self, other: Mask) -> Mask:
        return _Joined("mask_and", self, _operand("&", other))

    def __or__(self, other: Mask) -> Mask:
        return _Joined("mask_or", self, _operand("|", other))

    def __rand__(self, other: object) -> NoReturn:
        raise _not_a_mask("&", other)

    def __ror__(self, other: object) -> NoReturn:
        raise _not_a_mask("|", other)

    def __invert__(self) -> Mask:
        raise InputError(f"~: expected a mask that has a complement, found {self!r}; write "
                         f"pe.mask of the opposite condition")

    def __bool__(self) -> NoReturn:
        raise InputError(f"{self!r}: found a mask in `if`, `and`, `or` or `not`, which need one "
                         f"boolean; {_JOIN}")

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        raise InputError(f"{self!r}: expected a mask, found a call of one; write "
                         f"mask={self!r}")

    def _no_operator(self, *other: object) -> NoReturn:
        raise InputError(f"{self!r}: expected one of the operators &, | and ~, found another; "
                         f"{_JOIN}. Pass an encoding and a mask separately: pe.attention(q, k, "
                         f"v, encoding, mask=mask)")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __xor__ = __rxor__ = _no_operator
    __neg__ = __pos__ = __lt__ = __le__ = __gt__ = __ge__ = _no_operator

    @classmethod
    def __torch_function__(cls, function: Callable[..., Any], types: Sequence[type],
                           arguments: Sequence[Any] = (),
                           named: Mapping[str, Any] | None = None) -> NoReturn:
        """Rejects masks as arguments of PyTorch functions and operators."""
        name = getattr(function, "__name__", str(function)).strip("_")
        others = [value for value in arguments if not isinstance(value, Mask)]
        if name in ("and", "or", "rand", "ror", "bitwise_and", "bitwise_or") and others:
            raise _not_a_mask("&" if "and" in name else "|", others[0])
        raise InputError(f"{name}: expected tensors, found a mask of pe; pass it to pe.attention "
                         f"as mask=, or convert pe.mask(f) by mask.dense(q_len, k_len)")


def _operand(op: str, other: object) -> Mask:
    if isinstance(other, Mask):
        return other
    raise _not_a_mask(op, other)


def _not_a_mask(op: str, other: object) -> InputError:
    return InputError(f"{op}: expected two masks, found {found(other)}; {advice_of_mask(other)}")


def advice_of_mask(value: object) -> str:
    """Returns advice for a value that is not a mask."""
    if _arguments.is_compiling():
        return _MASKS
    if is_a(value, "torch", "Tensor") or hasattr(value, "__array__"):
        return ("pe.mask(lambda b, h, i, j: keep[i, j]) makes a mask from a boolean tensor; a "
                "tensor that is added to the scores is an encoding, pe.bias")
    name = getattr(value, "__name__", "")
    if name == "sliding_window":
        return "call it, as in pe.sliding_window(128)"
    if name == "mask" and getattr(value, "__module__", "").startswith("pe_attention"):
        return "call it with a function, as in pe.mask(lambda b, h, i, j: j <= i)"
    if isinstance(value, type) and issubclass(value, Mask):
        return _MASKS
    if type(value).__name__ == "BlockMask":
        return "pe.mask(mask_mod) makes a mask from its mask_mod"
    if hasattr(value, "structure") or is_a(value, "torch.nn", "Module"):
        return "pass an encoding to pe.attention as encoding=, before mask="
    if callable(value):
        return "pe.mask(f) makes a mask from a function f(b, h, i, j)"
    if value is True or isinstance(value, str):
        return "a causal mask is pe.causal"
    return _MASKS


class _Named(Mask):
    """A mask that is one op without tensors, and its complement."""

    def __init__(self, text: str, shown: str, opposite: str) -> None:
        self.text, self.shown, self.opposite = text, shown, opposite
        self.structure = (f'{{"definitions": "%{{mask}} = {text}", "clauses": ["mask(%{{mask}})"], '
                          f'"arguments": []}}')

    def __invert__(self) -> Mask:
        shown = self.shown.removeprefix("~") if self.shown[0] == "~" else f"~{self.shown}"
        return _Named(self.opposite, shown, self.text)

    def __repr__(self) -> str:
        return self.shown


class _Joined(Mask):
    def __init__(self, op: str, first: Mask, second: Mask) -> None:
        self.op, self.masks = op, (first, second)
        self.structure = f'["{op}", {first.structure}, {second.structure}]'

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return tuple([value for mask in self.masks for value in mask.arguments()])

    def __invert__(self) -> Mask:
        first, second = self.masks
        return _Joined("mask_or" if self.op == "mask_and" else "mask_and", ~first, ~second)

    def __repr__(self) -> str:
        return "(" + (" & " if self.op == "mask_and" else " | ").join(map(repr, self.masks)) + ")"


def _formula(text: str) -> str:
    """Returns the `structure` of a mask defined by a formula."""
    return f'pe.mask_fn expr \\"{text}\\"'


causal: Mask = _Named("pe.causal", "pe.causal", _formula("j > i"))


@checked()
def sliding_window(left: int | None = None, right: int | None = None) -> Mask:
    """Selects keys fewer than `left` positions before the query and fewer than `right` after it.

    If only one is given, the other side is unbounded: `pe.causal & pe.sliding_window(128)`.
    """
    sides = {"left": left, "right": right}
    given = {name: size for name, size in sides.items() if size is not None}
    if not given:
        raise InputError("sliding_window: expected left, right or both, found neither")
    for name, size in given.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"sliding_window: {name}: expected an integer of at least 1, "
                             f"found {size!r}")
    # `__float__` specializes a symbolic size to a constant.
    given = {name: int(float(size).__float__()) for name, size in given.items()}
    inside = ", ".join(f"{name} = {size}" for name, size in given.items())
    shown = ", ".join(f"{name}={size}" for name, size in given.items())
    outside = " or ".join(f"{'i - j' if name == 'left' else 'j - i'} >= {size}"
                          for name, size in given.items())
    return _Named(f"pe.sliding_window {{{inside}}}", f"pe.sliding_window({shown})",
                  _formula(outside))
