"""What a call of an attention takes beside its tensors: encodings, masks, numbers, a target."""

from __future__ import annotations

from typing import Any

import torch

from ._arguments import found, is_number, whole_number
from ._errors import InputError
from ._masks import Mask, advice_of_mask

# What users of PyTorch's and of other attentions write, and what it is here.
HINTS = {
    "is_causal": "write mask=pe.causal",
    "causal": "write mask=pe.causal",
    "attn_mask": "a mask is mask=pe.mask(lambda b, h, i, j: keep[i, j]); one that is added to the "
                 "scores is an encoding, pe.bias",
    "attention_mask": "padding is mask=pe.mask(lambda b, h, i, j: keep[b, j])",
    "key_padding_mask": "padding is mask=pe.mask(lambda b, h, i, j: keep[b, j])",
    "block_mask": "write mask=pe.mask(mask_mod); blocks are found from the formula",
    "mask_mod": "write mask=pe.mask(mask_mod)",
    "score_mod": "write encoding=pe.from_flex(score_mod)",
    "attn_bias": "a bias is an encoding: pe.nn.ALiBi(heads), or a formula under pe.bias",
    "bias": "a bias is an encoding: pe.nn.ALiBi(heads), or a formula under pe.bias",
    "alibi_slopes": "write encoding=pe.nn.ALiBi(heads)",
    "position_bias": "write encoding=pe.nn.T5(heads), or a formula under pe.bias",
    "rope": "write encoding=pe.nn.RoPE()",
    "dropout": "write dropout_p",
    "attn_dropout": "write dropout_p",
    "enable_gqa": "leave it out: key and value may have fewer heads than query",
    "kernel_options": "leave it out: kernels are chosen by the compiler",
    "return_aux": "write return_lse=True",
    "need_weights": "pe.plot.attention draws weights; kernels do not keep them",
    "softmax_scale": "write scale",
    "sm_scale": "write scale",
    "window_size": "write mask=pe.causal & pe.sliding_window(size)",
    "window": "write mask=pe.causal & pe.sliding_window(size)",
    "softcap": "write encoding=pe.nn.Softcap(cap)",
    "logits_soft_cap": "write encoding=pe.nn.Softcap(cap)",
    "cu_seqlens": "write documents=cu_seqlens",
    "cu_seqlens_q": "write documents=cu_seqlens for texts packed into one sequence",
    "s_aux": "write sink",
    "sinks": "write sink",
    "device": "a call runs where its tensors are",
    "dtype": "a call computes in the type of its tensors",
    "q": "write query", "k": "write key", "v": "write value",
    "training": "leave it out: give dropout_p=0.0 where nothing is to be dropped",
}


def check_encoding(encoding: Any) -> None:
    """Refuses what is no encoding, with what to write in its place."""
    if encoding is None or (not isinstance(encoding, (type, Mask)) and (
            hasattr(encoding, "arguments") and hasattr(encoding, "program")
            or isinstance(getattr(encoding, "structure", None), str))):
        return
    raise InputError(f"encoding: expected an encoding such as pe.nn.ALiBi(heads=4), found "
                     f"{found(encoding)}; {_advice_of_encoding(encoding)}")


def _advice_of_encoding(value: Any) -> str:
    if torch.compiler.is_compiling():
        return "pe.nn has the encodings"
    if isinstance(value, Mask):
        return "write mask=... for a mask"
    if isinstance(value, type):
        return f"make one, as in pe.nn.{value.__name__}(...)" if issubclass(
            value, torch.nn.Module) else "pe.nn has the encodings"
    if isinstance(value, torch.Tensor):
        if value.dtype.is_floating_point:
            return ("pe.bias(lambda b, h, i, j: table[h, i, j])(heads) makes one of a tensor that "
                    "is added to the scores")
        return "a mask of a tensor is mask=pe.mask(lambda b, h, i, j: keep[i, j])"
    if isinstance(value, str):
        return "make one, as in pe.nn.RoPE(), or pe.from_mlir(text) of a program"
    if hasattr(value, "declarations") and callable(value):
        return "call the formula with the number of heads, as in formula(4)"
    if isinstance(value, torch.nn.Module):
        if type(value).__module__.startswith("pe_attention."):
            return "this one is added to the tokens, x = encoding(x), before the first layer"
        return "pe.nn has the encodings, and pe.bias makes one of a formula"
    if callable(value):
        return ("pe.bias(f)(heads) makes one of a function f(b, h, i, j), pe.from_flex(f) of a "
                "score_mod of FlexAttention")
    return "pe.nn has the encodings; without one write encoding=None"


def check_mask(mask: Any) -> None:
    """Refuses what is no mask, with what to write in its place."""
    if mask is not None and not isinstance(mask, Mask):
        raise InputError(f"mask: expected a mask such as pe.causal, found {found(mask)}; "
                         f"{advice_of_mask(mask)}")


def whole(name: str, value: Any) -> Any:
    """A whole number of the call, a symbol where PyTorch traces; None stays."""
    if value is None:
        return None
    number = value
    if torch.compiler.is_compiling():
        if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
            return value
    elif isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_meta and \
            value.dtype not in (torch.bool, torch.uint64):
        number = value.item()
    return value if isinstance(value, torch.SymInt) else whole_number(name, number)


def real(name: str, value: Any) -> float | None:
    """A number of the program. `__float__` makes a constant of it where PyTorch traces symbols,
    which must be those of real numbers."""
    if value is None:
        return None
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or is_number(value)):
        raise InputError(f"{name}: expected a finite number, found {found(value)}")
    if not torch.compiler.is_compiling() and not is_number(value):
        raise InputError(f"{name}: expected a finite number, found {value}")
    return float(value).__float__()


def probability(name: str, value: Any) -> float:
    number = real(name, value)
    if number is None or not 0 <= number < 1:
        raise InputError(f"{name}: expected a probability in [0, 1), found {found(value)}")
    return number


def check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise InputError(f"{name}: expected True or False, found {found(value)}")
