"""Lengths per batch entry: pe.attention(..., kv_len=), pe.reference and compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

import pe_attention as pe

BATCH, HEADS, KV_HEADS, CAPACITY, DEPTH = 4, 4, 2, 70, 16
LENGTHS = [37, 0, 70, 1]


def cache(seed: int, grad: bool = False) -> torch.Tensor:
    """Returns keys or values that are NaN beyond the lengths."""
    generator = torch.Generator().manual_seed(seed)
    data = torch.randn(BATCH, KV_HEADS, CAPACITY, DEPTH, generator=generator)
    for entry, length in enumerate(LENGTHS):
        data[entry, :, length:] = float("nan")
    return data.requires_grad_(grad)


def inputs(queries: int = 2, grad: bool = False) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(queries)
    query = torch.randn(BATCH, HEADS, queries, DEPTH, generator=generator).requires_grad_(grad)
    return [query, cache(1, grad), cache(2, grad)]


def gradients_of(o: torch.Tensor, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(3))
    return torch.autograd.grad((o * weights.to(o.dtype)).sum(), tensors)


ENCODINGS: dict[str, Any] = {
    "none": lambda: None,
    "ALiBi": lambda: pe.nn.ALiBi(heads=HEADS),
    "RoPE": lambda: pe.nn.RoPE(),
    "T5": lambda: pe.nn.T5(heads=HEADS),
    "FIRE": lambda: pe.nn.FIRE(heads=HEADS),
    "KerpleLog": lambda: pe.nn.KerpleLog(heads=HEADS),
    "StickBreaking": lambda: pe.nn.StickBreaking(),
    "TransformerXL": lambda: pe.nn.TransformerXL(heads=HEADS, head_dim=DEPTH),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("queries", [1, 3])
def test_entries_equal_single_calls(name: str, queries: int) -> None:
    encoding = ENCODINGS[name]()
    query, key, value = inputs(queries, grad=True)
    parameters = [] if encoding is None else list(encoding.parameters())
    lengths = torch.tensor(LENGTHS)
    o = pe.attention(query, key, value, encoding, mask=pe.causal, kv_len=lengths)
    found = gradients_of(o, [query, key, value, *parameters])
    sums = [torch.zeros_like(p, dtype=torch.float64) for p in parameters]
    weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(3))
    for entry, length in enumerate(LENGTHS):
        parts = [query[entry:entry + 1], key[entry:entry + 1, :, :length],
                 value[entry:entry + 1, :, :length]]
        own = [part.detach().clone().requires_grad_() for part in parts]
        single = pe.attention(own[0], own[1], own[2], encoding, mask=pe.causal)
        assert torch.equal(o[entry:entry + 1], single)
        expected = torch.autograd.grad((single * weights[entry:entry + 1]).sum(),
                                       [*own, *parameters])
        assert torch.equal(found[0][entry:entry + 1], expected[0])
        for all_keys, own_keys in zip(found[1:3], expected[1:3], strict=True):
            assert torch.equal(all_keys[entry:entry + 1, :, :length], own_keys)
            assert not all_keys[entry, :, length:].any()
        for total, part in zip(sums, expected[3:], strict=True):
            total += part
    for gradient, total in zip(found[3:], sums, strict=True):
        assert torch.equal(gradient, total.to(gradient.dtype))


@pytest.mark.parametrize("name", ENCODINGS)
def test_agrees_with_the_reference(name: str) -> None:
    encoding = ENCODINGS[name]()
    query, key, value = inputs(2, grad=True)
    lengths = torch.tensor(LENGTHS, dtype=torch.int16)
    tensors = [query, key, value] + ([] if encoding is None else list(encoding.parameters()))
    for found, expected in zip(
            *[[o, *gradients_of(o, tensors)] for o in (
                call(query, key, value, encoding, mask=pe.causal, kv_len=lengths)
                for call in (pe.attention, pe.reference))], strict=True):
        torch.testing.assert_close(found.double(), expected.double(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["ALiBi", "StickBreaking", "TransformerXL"])
def test_compiled_code(name: str) -> None:
    encoding = ENCODINGS[name]()
    query, key, value = inputs(2, grad=True)
    tensors = [query, key, value, *encoding.parameters()]

    def call(lengths: torch.Tensor) -> list[torch.Tensor]:
        o = pe.attention(query, key, value, encoding, mask=pe.causal, kv_len=lengths)
        return [o, *gradients_of(o, tensors)]

    compiled = torch.compile(lambda lengths: pe.attention(
        query, key, value, encoding, mask=pe.causal, kv_len=lengths), fullgraph=True)
    lengths = torch.tensor(LENGTHS)
    o = compiled(lengths)
    for found, expected in zip([o, *gradients_of(o, tensors)], call(lengths), strict=True):
        assert torch.equal(found, expected)
    shorter = torch.tensor([5, 0, 70, 1])
    assert torch.equal(compiled(shorter), call(shorter)[0])
    with pytest.raises(pe.InputError, match="expected lengths from 0 to 70, .* found 71 at"):
        compiled(torch.tensor([5, 0, 71, 1]))


def test_data_of_keys() -> None:
    """FoX reads a value per key, which does not exist beyond a length either."""
    query, key, value = inputs(1)
    gates = torch.rand(BATCH, HEADS, CAPACITY, generator=torch.Generator().manual_seed(7))
    f = -gates.cumsum(-1)
    for entry, length in enumerate(LENGTHS):
        f[entry, :, length:] = float("nan")
    f.requires_grad_()
    encoding = pe.nn.Forgetting()
    o = pe.attention(query, key, value, encoding(f=f), mask=pe.causal,
                     kv_len=torch.tensor(LENGTHS))
    gradient, = gradients_of(o, [f])
    for entry, length in enumerate(LENGTHS):
        single = pe.attention(query[entry:entry + 1], key[entry:entry + 1, :, :length],
                              value[entry:entry + 1, :, :length],
                              encoding(f=f[entry:entry + 1, :, :length]), mask=pe.causal)
        assert torch.equal(o[entry:entry + 1], single)
        assert not gradient[entry, :, length:].any()
        assert bool(gradient[entry, :, :length].any()) == (length > 1)


def test_repeated_calls_with_other_lengths() -> None:
    query, key, value = inputs(1)
    encoding = pe.nn.ALiBi(heads=HEADS)
    for length in (3, 70, 0, 64, 65):
        lengths = torch.full((BATCH,), length, dtype=torch.int32)
        key = torch.randn(BATCH, KV_HEADS, CAPACITY, DEPTH)
        o = pe.attention(query, key, key, encoding, mask=pe.causal, kv_len=lengths)
        assert torch.equal(o, pe.attention(query, key[:, :, :length], key[:, :, :length], encoding,
                                           mask=pe.causal))


def test_log_sum_exp_of_an_empty_entry() -> None:
    query, key, value = inputs(1)
    o, lse = pe.attention(query, key, value, kv_len=torch.tensor(LENGTHS), return_lse=True)
    assert not o[1].any() and bool((lse[1] == -torch.inf).all())


def test_emulated_gpu() -> None:
    query, key, value = inputs(2, grad=True)
    found, expected = ([o, *gradients_of(o, [query, key, value])] for o in (
        pe.attention(query, key, value, mask=pe.causal, kv_len=torch.tensor(LENGTHS),
                     target=target) for target in ("gpu-emulator", None)))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_vmap_calls_each_sample() -> None:
    query, key, value = inputs(1)
    queries = torch.stack([query, 2 * query])
    lengths = torch.tensor(LENGTHS, dtype=torch.int32)
    o = torch.vmap(lambda q: pe.attention(q, key, value, kv_len=lengths))(queries)
    assert torch.equal(o[1], pe.attention(2 * query, key, value, kv_len=lengths))


@pytest.mark.parametrize("arguments, message", [
    ({"kv_len": torch.tensor([1, 2])},
     r"kv_len: expected shape \[4\], a length for each batch entry, found \[2\]"),
    ({"kv_len": torch.ones(4, 1, dtype=torch.int32)},
     r"kv_len: expected shape \[4\], a length for each batch entry, found \[4, 1\]"),
    ({"kv_len": torch.tensor([1, 2, 71, 3])},
     "tensor 'kv_len': expected lengths from 0 to 70, the number of keys, found 71 at index 2"),
    ({"kv_len": torch.tensor([1, 2, 3, -1])},
     "tensor 'kv_len': expected lengths from 0 to 70, the number of keys, found -1 at index 3"),
    ({"kv_len": torch.tensor([1, 2, 3, 2 ** 40])}, "kv_len: expected integers of 32 bits"),
    ({"kv_len": torch.ones(4)}, "kv_len: expected integers, found torch.float32"),
    ({"kv_len": LENGTHS}, "kv_len: expected a tensor, found"),
    ({"kv_len": torch.tensor(LENGTHS), "q_start": 3},
     "q_start: expected None in a call with kv_len, .* found 3; omit it"),
    ({"kv_len": torch.tensor(LENGTHS), "dropout_p": 0.5},
     "dropout_p: expected 0.0 in a call with kv_len"),
])
def test_errors(arguments: dict[str, Any], message: str) -> None:
    query, key, value = inputs(1)
    for call in (pe.attention, pe.reference):
        with pytest.raises(pe.InputError, match=message) as raised:
            call(query, key, value, **arguments)
        assert "\n" not in str(raised.value)


def test_formulas_with_the_index_of_an_entry() -> None:
    by_entry = pe.mask(lambda b, h, i, j: j <= i + b)
    query, key, value = inputs(1)
    with pytest.raises(pe.InputError, match="uses the index of the batch entry"):
        pe.attention(query, key, value, mask=by_entry, kv_len=torch.tensor(LENGTHS))


TEXT = """
!qkv = tensor<?x?x?x?xf32>
func.func @attention(%q: !qkv {pe.name = "q"}, %k: !qkv {pe.name = "k"}, %v: !qkv {pe.name = "v"},
                     %slopes: tensor<?xf32> {pe.name = "slopes", pe.init = 0.5})
    -> (!qkv {pe.name = "o"}) {
  %distance = pe.distance
  %bias = pe.linear %distance slope(%slopes : tensor<?xf32>)
  %mask = pe.causal
  %o = pe.attention %q, %k, %v bias(%bias) mask(%mask) : (!qkv, !qkv, !qkv) -> !qkv
  return %o : !qkv
}
"""


def test_compiled_functions() -> None:
    function = pe.compile(TEXT)
    query, key, value = [tensor.numpy() for tensor in inputs(2)]
    slopes = np.full(HEADS, -0.1, np.float32)
    lengths = np.array(LENGTHS, np.int32)
    results = function(q=query, k=key, v=value, slopes=slopes, kv_len=lengths)
    gradients = results.backward(d_o=query)
    total = np.zeros(HEADS, np.float64)
    for entry, length in enumerate(LENGTHS):
        own = slice(entry, entry + 1)
        single = function(q=query[own], k=key[own, :, :length], v=value[own, :, :length],
                          slopes=slopes)
        assert np.array_equal(results["o"][own], single["o"])
        part = single.backward(d_o=query[own])
        assert np.array_equal(gradients["d_k"][own, :, :length], part["d_k"])
        assert not gradients["d_k"][entry, :, length:].any()
        total += part["d_slopes"]
    assert np.array_equal(gradients["d_slopes"], total.astype(np.float32))
    with pytest.raises(pe.InputError, match="kv_len: expected numbers of i32, found i64"):
        function(q=query, k=key, v=value, slopes=slopes, kv_len=lengths.astype(np.int64))
    with pytest.raises(pe.InputError, match="q_start: expected none in a call with 'kv_len'"):
        function(q=query, k=key, v=value, slopes=slopes, kv_len=lengths, q_start=1)
