"""Checks the arguments of an attention other than its tensors: encodings, masks, numbers, the
target."""

from __future__ import annotations

from typing import Any

import torch

from ._arguments import found, is_number, whole_number
from ._errors import InputError
from ._masks import Mask, advice_of_mask

# Arguments of PyTorch's attention and other libraries, and their equivalents here.
HINTS = {
    "is_causal": "write mask=pe.causal",
    "causal": "write mask=pe.causal",
    "attn_mask": "write mask=pe.mask(lambda b, h, i, j: keep[i, j]); a tensor that is added to the "
                 "scores is an encoding, pe.bias",
    "attention_mask": "for padding write mask=pe.mask(lambda b, h, i, j: keep[b, j])",
    "key_padding_mask": "for padding write mask=pe.mask(lambda b, h, i, j: keep[b, j])",
    "block_mask": "write mask=pe.mask(mask_mod); blocks are derived from the formula",
    "mask_mod": "write mask=pe.mask(mask_mod)",
    "score_mod": "write encoding=pe.from_flex(score_mod)",
    "attn_bias": "a bias is an encoding: pe.nn.ALiBi(heads), or a formula with pe.bias",
    "bias": "a bias is an encoding: pe.nn.ALiBi(heads), or a formula with pe.bias",
    "alibi_slopes": "write encoding=pe.nn.ALiBi(heads)",
    "position_bias": "write encoding=pe.nn.T5(heads), or a formula with pe.bias",
    "rope": "write encoding=pe.nn.RoPE()",
    "dropout": "write dropout_p",
    "attn_dropout": "write dropout_p",
    "enable_gqa": "omit it: key and value may have fewer heads than query",
    "kernel_options": "omit it: the compiler chooses kernels",
    "return_aux": "write return_lse=True",
    "need_weights": "use pe.plot.attention; kernels do not store the weights",
    "softmax_scale": "write scale",
    "sm_scale": "write scale",
    "window_size": "write mask=pe.causal & pe.sliding_window(size)",
    "window": "write mask=pe.causal & pe.sliding_window(size)",
    "softcap": "write encoding=pe.nn.Softcap(cap)",
    "logits_soft_cap": "write encoding=pe.nn.Softcap(cap)",
    "cu_seqlens": "write documents=cu_seqlens",
    "cu_seqlens_q": "write documents=cu_seqlens for documents packed into one sequence",
    "s_aux": "write sink",
    "sinks": "write sink",
    "device": "move the tensors; a call runs on their device",
    "dtype": "convert the tensors; a call computes in their type",
    "q": "write query", "k": "write key", "v": "write value",
    "training": "omit it: pass dropout_p=0.0 for inference",
}


def check_encoding(encoding: Any) -> None:
    """Raises `InputError` for a value that is not an encoding, with advice."""
    if encoding is None or (not isinstance(encoding, (type, Mask)) and (
            hasattr(encoding, "arguments") and hasattr(encoding, "program")
            or isinstance(getattr(encoding, "structure", None), str))):
        return
    raise InputError(f"encoding: expected an encoding such as pe.nn.ALiBi(heads=4), found "
                     f"{found(encoding)}; {advice_of_encoding(encoding)}")


def advice_of_encoding(value: Any) -> str:
    """Returns advice for a value that is not an encoding."""
    if torch.compiler.is_compiling():
        return "see pe.nn for encodings"
    if isinstance(value, Mask):
        return "pass a mask as mask=..."
    if isinstance(value, type):
        return f"construct one, as in pe.nn.{value.__name__}(...)" if issubclass(
            value, torch.nn.Module) else "see pe.nn for encodings"
    if isinstance(value, torch.Tensor):
        if value.dtype.is_floating_point:
            return ("pe.bias(lambda b, h, i, j: table[h, i, j])(heads) makes one from a tensor "
                    "that is added to the scores")
        return "for a mask write mask=pe.mask(lambda b, h, i, j: keep[i, j])"
    if isinstance(value, str):
        return "construct one, as in pe.nn.RoPE(), or use pe.from_mlir(text) for a program"
    if hasattr(value, "declarations") and callable(value):
        return "call the formula with the number of heads, as in formula(4)"
    if isinstance(value, torch.nn.Module):
        if type(value).__module__.startswith("pe_attention."):
            return "add this one to the tokens, x = encoding(x), before the first layer"
        return "see pe.nn for encodings, or use pe.bias with a formula"
    if callable(value):
        return ("use pe.bias(f)(heads) for a function f(b, h, i, j), or pe.from_flex(f) for a "
                "score_mod of FlexAttention")
    return "see pe.nn for encodings, or pass encoding=None"


def check_mask(mask: Any) -> None:
    """Raises `InputError` for a value that is not a mask, with advice."""
    if mask is not None and not isinstance(mask, Mask):
        raise InputError(f"mask: expected a mask such as pe.causal, found {found(mask)}; "
                         f"{advice_of_mask(mask)}")


def whole(name: str, value: Any) -> Any:
    """Checks an integer argument; None passes, and so do symbolic integers under torch.compile."""
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
    """Checks a number that becomes part of the program. Under torch.compile, `__float__`
    specializes a symbolic number, which must be real."""
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
