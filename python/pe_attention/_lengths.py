"""Checks lengths per batch entry, the argument `kv_len` of calls."""

from __future__ import annotations

from typing import Any

import torch

from ._arguments import found
from ._errors import InputError
from ._tensors import as_int32, check_tensor, is_dtensor


def lengths_of(kv_len: Any, query: torch.Tensor, q_start: Any, dropout_p: float) -> torch.Tensor:
    """Returns the lengths as int32 on the host, where libpe reads them and checks their values. On
    a GPU this synchronizes."""
    check_tensor("kv_len", kv_len)
    if is_dtensor(query) or is_dtensor(kv_len):
        raise InputError("kv_len: expected plain tensors in a call with lengths, found a DTensor")
    if q_start is not None:
        raise InputError(f"q_start: expected None in a call with kv_len, which places the last "
                         f"query of each batch entry at its last key, found {found(q_start)}; "
                         f"omit it")
    if dropout_p:
        raise InputError("dropout_p: expected 0.0 in a call with kv_len, whose batch entries "
                         "cannot share a seed; omit it")
    if kv_len.dim() != 1 or (query.dim() > 0 and kv_len.shape[0] != query.shape[0]):
        raise InputError(f"kv_len: expected shape [{query.shape[0]}], a length for each batch "
                         f"entry, found {list(kv_len.shape)}")
    return as_int32("kv_len", kv_len).cpu()
