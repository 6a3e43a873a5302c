"""Errors of pe.Cache."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import pe_attention as pe
from caches import DEPTH, HEADS, KV_HEADS, LENGTH, NTK, create, rows


def full() -> pe.Cache:
    cache = pe.Cache(1, KV_HEADS, DEPTH, capacity=LENGTH + 4)
    _, k, v = rows()
    cache.append(k, v)
    return cache


def step(n: int = 1) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = rows(length=8)
    return q[:, :, :n], k[:, :, :n], v[:, :, :n]


Q, K, V = step()
MISTAKES: dict[str, tuple[Any, str]] = {
    "empty pages": (lambda c: pe.Cache(1, 2, 16, page=0),
                    "page: expected an integer of at least 1, found 0"),
    "rotation of all keys in pages": (lambda c: (
        pe_cache := pe.Cache(1, KV_HEADS, DEPTH, page=16), pe_cache.append(K, V),
        pe_cache.attend(Q, pe.nn.RoPE(scaling=NTK))), "encoding: expected one whose keys are kept "
        "as they are or turned once in a cache in pages, found RoPE; create the cache without"),
    "no sizes": (lambda c: pe.Cache(1, 2), "Cache: expected head_dim, found"),
    "zero": (lambda c: pe.Cache(1, 0, 16), "kv_heads: expected an integer of at least 1, found 0"),
    "capacity by position": (lambda c: pe.Cache(1, 2, 16, 100), "expected at most .* found 4"),
    "float64": (lambda c: pe.Cache(1, 2, 16, dtype=torch.float64),
                "dtype: expected float32, bfloat16 or float16, found torch.float64"),
    "device": (lambda c: pe.Cache(1, 2, 16, device="gpu"),
               "device: expected a device such as 'cpu' or 'cuda', found 'gpu'"),
    "attend first": (lambda c: pe.Cache(1, KV_HEADS, DEPTH).attend(Q),
                     r"attend: expected a cache with rows, found an empty one; call append\(k, v"),
    "forgot to append": (lambda c: (pe_cache := pe.Cache(1, KV_HEADS, DEPTH),
                                    pe_cache.append(K, V), pe_cache.attend(step(3)[0])),
                         "q: expected the queries of at most 1 rows, .* found 3; append"),
    "order of axes": (lambda c: c.append(step(5)[1].transpose(1, 2), step(5)[2].transpose(1, 2)),
                      r"k: expected shape \[1, 2, rows, 16\] of this cache, found \[1, 5, 2, 16\]; "
                      r"write k.transpose\(1, 2\)"),
    "heads of queries": (lambda c: c.append(Q, Q), r"found \[1, 4, 1, 16\]; append the heads of "
                         "keys, which are not repeated for those of queries"),
    "one token without its axis": (lambda c: c.append(K[:, :, 0], V[:, :, 0]),
                                   r"found \[1, 2, 16\]; write k.unsqueeze\(2\) for one token"),
    "rows of v": (lambda c: c.append(K, step(2)[2]), "v: expected the 1 rows of k, found 2"),
    "type": (lambda c: c.append(K.bfloat16(), V), "k: expected torch.float32, the type of this "
             "cache, found torch.bfloat16; create it with dtype=torch.bfloat16, or convert k"),
    "unsupported type": (lambda c: c.append(K.double(), V), "k: expected torch.float32, the type "
                         "of this cache, found torch.float64; convert k"),
    "type of q": (lambda c: c.attend(Q.half()), "q: expected torch.float32, the type of this"),
    "batch": (lambda c: c.append(K.repeat(3, 1, 1, 1), V.repeat(3, 1, 1, 1)),
              r"k: expected shape \[1, 2, rows, 16\] of this cache, found \[3, 2, 1, 16\]"),
    "heads of q": (lambda c: c.attend(Q[:, :3]), "q: expected a multiple of the 2 heads of keys, "
                   "found 3"),
    "no tensor": (lambda c: c.append([[1.0]], V), "k: expected a tensor, found"),
    "capacity": (lambda c: c.append(*step(5)[1:]), r"append: expected at most 94 rows per "
                 r"sequence, the capacity of this cache, found 90 \+ 5 of batch entry 0; create"),
    "gradients": (lambda c: c.append(K.clone().requires_grad_(), V), "k: expected a tensor without "
                  r"gradients, .* found one that requires grad; run the model under torch.infer"),
    "gradients of q": (lambda c: c.attend(Q.clone().requires_grad_()), "q: expected a tensor with"),
    "lengths": (lambda c: c.append(K, V, torch.tensor([2])),
                "lengths: expected numbers from 0 to 1, the rows of k, found 2 at index 0"),
    "shape of lengths": (lambda c: c.append(K, V, torch.tensor([1, 1])),
                         r"lengths: expected shape \[1\], a number of rows .* found \[2\]"),
    "type of lengths": (lambda c: c.append(K, V, torch.tensor([0.5])),
                        "lengths: expected integers, found torch.float32"),
    "list of lengths": (lambda c: c.append(K, V, [1]), "lengths: expected a tensor, found"),
    "another rotation": (lambda c: (c.attend(Q, pe.nn.RoPE()),
                                    c.attend(Q, pe.nn.RoPE(base=5e5))),
                         "encoding: expected the rotation that turned the keys of this cache, "
                         "found RoPE; use one encoding per cache"),
    "no rotation": (lambda c: (c.attend(Q, pe.nn.RoPE()), c.attend(Q)),
                    "encoding: expected the rotation that turned .* found None"),
    "class": (lambda c: c.attend(Q, pe.nn.RoPE), "encoding: expected an encoding such as"),
    "mask": (lambda c: c.attend(Q, mask="causal"), "mask: expected a mask such as pe.causal"),
    "mask as encoding": (lambda c: c.attend(Q, pe.causal), "encoding: expected an encoding"),
    "is_causal": (lambda c: c.attend(Q, is_causal=True), "Cache.attend: expected no argument "
                  "is_causal, found True; write mask=pe.causal"),
    "kv_len": (lambda c: c.attend(Q, kv_len=torch.tensor([3])), "omit it: a cache knows its len"),
    "key": (lambda c: c.append(key=K, value=V), "expected no argument key, found .*; write k"),
    "crop": (lambda c: c.crop(91), "length: expected a number of rows from 0 to 90, found 91"),
    "crop by a tensor": (lambda c: c.crop(1.5), "length: expected an integer, found 1.5"),
    "reorder": (lambda c: c.reorder(torch.tensor([1])), "index: expected indices from 0 to 0, "
                "found 1"),
    "shape of reorder": (lambda c: c.reorder(torch.tensor([0, 0])), r"index: expected shape \[1\]"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    cache = full()
    call, message = MISTAKES[name]
    with pytest.raises(pe.InputError, match=message) as raised:
        call(cache)
    assert "\n" not in str(raised.value)
    assert len(cache) == LENGTH
    torch.testing.assert_close(cache.values, rows()[2])


@pytest.mark.usefixtures("storage")
def test_changed_parameters_of_a_rotation() -> None:
    q, k, v = rows(HEADS)
    rope = pe.nn.RoPE(heads=HEADS, learned=True)
    cache = create(1, HEADS, DEPTH)
    cache.append(k, v)
    before = cache.attend(q, rope)
    rope.base.data.mul_(2)  # without a new version of the parameter
    with pytest.raises(pe.InputError, match="encoding: expected the value of base that turned the "
                                            "keys of this cache, found another; reset"):
        cache.attend(q, rope)
    rope.base.data.mul_(0.5)
    assert torch.equal(cache.attend(q, copy.deepcopy(rope)), before)


def test_lengths_with_tensors_per_entry() -> None:
    """A formula that computes with the index of an entry would see 0 in each single call."""
    q, k, v = rows(batch=2, length=9)
    cache = pe.Cache(2, KV_HEADS, DEPTH)
    cache.append(k, v, torch.tensor([9, 4]))
    for mask in (pe.mask(lambda b, h, i, j: j <= i + b),):
        with pytest.raises(pe.InputError, match="uses the index of the batch entry"):
            cache.attend(q, mask=mask)
