"""Tests of pe.attention in eager mode: values and all gradients against a float64 matrix."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import pytest
import torch
from conftest import Alibi, close, dense_attention, multiplies
from torch.utils.checkpoint import checkpoint

import pe_attention as pe


def make(batch: int, heads: int, key_heads: int, queries: int, keys: int, depth: int = 32,
         dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [torch.randn(batch, h, n, depth, dtype=dtype, requires_grad=True)
            for h, n in ((heads, queries), (key_heads, keys), (key_heads, keys))]


def compare(inputs: list[torch.Tensor], found: torch.Tensor, expected: torch.Tensor,
            bound: float = 2e-6) -> None:
    close(found, expected, bound)
    cotangent = torch.randn(expected.shape, dtype=torch.float64)
    one = torch.autograd.grad(found, inputs, cotangent.to(found.dtype))
    other = torch.autograd.grad(expected, inputs, cotangent)
    for a, b, x in zip(one, other, inputs, strict=True):
        assert a.dtype == x.dtype and a.shape == x.shape
        close(a, b, 10 * bound)


@pytest.mark.parametrize("queries, keys", [(1, 1), (37, 37), (200, 200), (5, 37), (37, 5),
                                           (1, 200)])
@pytest.mark.parametrize("heads, key_heads", [(2, 2), (4, 2), (3, 1)])
def test_sizes(queries: int, keys: int, heads: int, key_heads: int) -> None:
    inputs = make(2, heads, key_heads, queries, keys)
    encoding = Alibi(heads)
    compare([*inputs, encoding.slopes], pe.attention(*inputs, encoding, mask=pe.causal),
            dense_attention(*inputs, encoding)[0])


def test_cached_calls_are_distinguished() -> None:
    """Calls with a known layout are not checked again: the cache key must contain everything that
    the checks depend on."""
    inputs = make(1, 4, 2, 9, 9)
    encoding, other = Alibi(4), Alibi(4)
    other.slopes.data *= 2
    window = pe.causal & pe.sliding_window(3)
    calls: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}), ({"scale": 0.1}, {"scale": 0.1}), ({"mask": window}, {"window": 3}),
        ({"q_start": 0, "k_start": 1}, {"q_start": 0, "k_start": 1}),
        ({"mask": None}, {"causal": False})]
    for _ in range(2):
        for ours, theirs in calls:
            for one in (encoding, other):
                expected = dense_attention(*inputs, one, **theirs)
                found = pe.attention(*inputs, one, **{"mask": pe.causal, **ours})
                compare([*inputs, one.slopes], found, expected[0])
                with torch.no_grad():
                    o, lse = pe.attention(*inputs, one, **{"mask": pe.causal, **ours},
                                          return_lse=True)
                close(o, expected[0])
                close(lse, expected[1])
    assert pe.attention(*(t.double() for t in inputs), encoding.double(),
                        target="reference").dtype is torch.float64
    assert pe.attention(*(t.bfloat16() for t in inputs), mask=pe.causal).dtype is torch.bfloat16
    wrong: list[dict[str, Any]] = [{"scale": [1.0]}, {"target": "cuda"},
                                   {"value": inputs[1][:, :1]}]
    for given in wrong:
        with pytest.raises(pe.InputError):
            pe.attention(**{"query": inputs[0], "key": inputs[1], "value": inputs[2],
                            "mask": pe.causal, **given})


def test_saved_tensors_may_return_in_another_layout() -> None:
    x = torch.randn(1, 9, 3, 2, 16, requires_grad=True)

    def attend() -> torch.Tensor:
        o = pe.attention(*x.transpose(1, 3).unbind(2), mask=pe.causal)
        gradient, = torch.autograd.grad(o.square().sum(), x)
        return gradient

    expected = attend()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.contiguous(), lambda t: t):
        assert torch.equal(attend(), expected)


@pytest.mark.parametrize("depth", [16, 64, 80])
def test_packed_views_are_used_and_keep_the_layout(depth: int) -> None:
    x = torch.randn(2, 33, 3, 4, depth, requires_grad=True)
    q, k, v = x.transpose(1, 3).unbind(2)
    encoding = Alibi(4)
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    assert o.transpose(1, 2).is_contiguous()
    compare([x, encoding.slopes], o, dense_attention(q, k, v, encoding)[0])


def test_other_value_dims_and_scales() -> None:
    q = torch.randn(2, 33, 3, 16, requires_grad=True)
    k, v = (torch.randn(2, 3, 40, depth, requires_grad=True) for depth in (16, 24))
    o = pe.attention(q.transpose(1, 2), k, v, mask=pe.causal, scale=0.3)
    assert o.shape == (2, 3, 33, 24) and o.transpose(1, 2).is_contiguous()
    compare([q, k, v], o, dense_attention(q.transpose(1, 2), k, v, scale=0.3)[0])


@pytest.mark.parametrize("q_start, k_start", [(0, 0), (3, 0), (10, 4), (100, 90)])
def test_starts(q_start: int, k_start: int) -> None:
    inputs = make(1, 2, 2, 9, 20)
    encoding = Alibi(2)
    o, lse = pe.attention(*inputs, encoding, mask=pe.causal, q_start=q_start, k_start=k_start,
                          return_lse=True)
    expected, rows = dense_attention(*inputs, encoding, q_start=q_start, k_start=k_start)
    compare([*inputs, encoding.slopes], o, expected)
    close(lse, rows)


def test_parts_of_the_heads_equal_the_heads_of_the_whole() -> None:
    class Slopes(torch.nn.Module):
        def __init__(self) -> None:
            from pe_attention._assemble import Piece, dump
            super().__init__()
            self.structure = dump(Piece(
                "%{d} = pe.distance\n%{b} = pe.linear %{d} {factor = -1.0, "
                "rule = #pe.slope_rule<geometric>}", ("bias(%{b})",)))

        def arguments(self) -> tuple[torch.Tensor, ...]:
            return ()

    q, k, v = make(1, 4, 4, 20, 20)
    whole = pe.attention(q, k, v, Slopes(), mask=pe.causal)
    part = pe.attention(q[:, 2:], k[:, 2:], v[:, 2:], Slopes(), mask=pe.causal, head_start=2,
                        heads_total=4)
    assert torch.equal(whole[:, 2:], part)


def test_masks_join() -> None:
    inputs = make(2, 2, 2, 50, 50)
    both = pe.attention(*inputs, mask=pe.causal & pe.sliding_window(7))
    compare(inputs, both, dense_attention(*inputs, window=7)[0])
    either = pe.attention(*inputs, mask=pe.sliding_window(7) | pe.causal)
    i, j = torch.arange(50)[:, None], torch.arange(50)[None]
    seen = (i - j < 7) | (j <= i)
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(t.double() for t in inputs), attn_mask=seen)
    compare(inputs, either, expected)


def test_without_mask_and_encoding_is_plain_attention() -> None:
    inputs = make(2, 2, 2, 9, 30)
    compare(inputs, pe.attention(*inputs), dense_attention(*inputs, causal=False)[0])


def test_sinks() -> None:
    inputs = make(2, 3, 3, 20, 20)
    sink = torch.randn(3, requires_grad=True)
    o, lse = pe.attention(*inputs, mask=pe.causal, sink=sink, return_lse=True)
    expected, rows = dense_attention(*inputs, sink=sink)
    compare([*inputs, sink], o, expected)
    close(lse, rows)


def test_the_logarithm_has_gradients() -> None:
    inputs = make(1, 2, 2, 20, 20)
    _, lse = pe.attention(*inputs, mask=pe.causal, return_lse=True)
    compare(inputs[:2], lse, dense_attention(*inputs)[1])


def test_documents_equal_separate_calls() -> None:
    q, k, v = make(1, 2, 2, 30, 30)
    encoding = Alibi(2)
    packed = pe.attention(q, k, v, encoding, mask=pe.causal,
                          documents=torch.tensor([0, 11, 12, 30]))
    parts = [pe.attention(*(t[:, :, a:b] for t in (q, k, v)), encoding, mask=pe.causal)
             for a, b in ((0, 11), (11, 12), (12, 30))]
    compare([q, k, v, encoding.slopes], packed, torch.cat(parts, 2).double())


def test_dropout_follows_the_generator() -> None:
    q, k, v = make(1, 2, 2, 64, 64)
    torch.manual_seed(5)
    first = pe.attention(q, k, v, mask=pe.causal, dropout_p=0.5)
    second = pe.attention(q, k, v, mask=pe.causal, dropout_p=0.5)
    torch.manual_seed(5)
    again = pe.attention(q, k, v, mask=pe.causal, dropout_p=0.5)
    assert torch.equal(first, again) and not torch.equal(first, second)
    ones = torch.ones_like(v)
    mean = pe.attention(q, k, ones, mask=pe.causal, dropout_p=0.5).mean()
    assert abs(float(mean.detach()) - 1) < 0.1


def test_gradients_only_where_needed() -> None:
    q, k, v = make(1, 2, 2, 9, 9)
    encoding = Alibi(2)
    encoding.slopes.requires_grad_(False)
    k = k.detach()
    o = pe.attention(q, k, v, encoding, mask=pe.causal)
    o.sum().backward()
    assert q.grad is not None and v.grad is not None and k.grad is None
    assert encoding.slopes.grad is None


def test_expanded_tensors_and_cotangents() -> None:
    q, k, v = make(2, 2, 2, 9, 9)
    one = torch.randn(1, 1, 9, 32, requires_grad=True)
    o = pe.attention(one.expand(2, 2, 9, 32), k, v, mask=pe.causal)
    expected = dense_attention(one.expand(2, 2, 9, 32), k, v)[0]
    found = torch.autograd.grad(o.sum(), (one, k, v))
    for a, b in zip(found, torch.autograd.grad(expected.sum(), (one, k, v)), strict=True):
        close(a, b, 2e-5)


def test_gradients_canceled_by_softmax_are_zero() -> None:
    from pe_attention._assemble import Argument, Piece, dump

    class Constant(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.c = torch.nn.Parameter(torch.ones(2))
            self.structure = dump(Piece(
                '%{b} = pe.bias_fn(%{c} : tensor<?xf32>) expr "${c}[h] * i"', ("bias(%{b})",),
                (Argument("c", "tensor<?xf32>"),)))

        def arguments(self) -> tuple[torch.Tensor, ...]:
            return (self.c,)

    encoding = Constant()
    pe.attention(*make(1, 2, 2, 9, 9), encoding, mask=pe.causal).sum().backward()
    assert encoding.c.grad is not None and float(encoding.c.grad.abs().max()) <= 1e-5


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_low_precision_is_computed_in_f32(dtype: torch.dtype) -> None:
    inputs = make(1, 2, 2, 20, 20, dtype=dtype)
    encoding = Alibi(2, dtype)
    o = pe.attention(*inputs, encoding, mask=pe.causal)
    assert o.dtype == dtype
    exact = dense_attention(*inputs, encoding)[0]
    if not multiplies(dtype):
        assert torch.equal(o, pe.attention(*(t.float() for t in inputs), encoding,
                                           mask=pe.causal).to(dtype))
    close(o, exact, 8e-3)
    o.sum().backward()
    assert encoding.slopes.grad is not None and encoding.slopes.grad.dtype == dtype
    assert inputs[0].grad is not None and inputs[0].grad.dtype == dtype
    text = "added in float32" if multiplies(dtype) else "computed in float32"
    assert text in pe.explain(encoding, mask=pe.causal, dtype=dtype)


def test_autocast_as_in_scaled_dot_product_attention() -> None:
    inputs = make(1, 2, 2, 20, 20)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = pe.attention(*inputs, mask=pe.causal)
        other = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
    assert o.dtype == other.dtype == torch.bfloat16
    o.sum().backward()
    assert inputs[0].grad is not None and inputs[0].grad.dtype == torch.float32


def test_checkpointing_repeats_the_dropout() -> None:
    def run(use: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        inputs = make(1, 2, 2, 20, 20)
        encoding = Alibi(2)

        def block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = pe.attention(q, k, v, encoding, mask=pe.causal, dropout_p=0.3)
            return result

        torch.manual_seed(1)
        o = checkpoint(block, *inputs, use_reentrant=False) if use else block(*inputs)
        return [o, *torch.autograd.grad(o.square().sum(), [*inputs, encoding.slopes])]

    assert all(torch.equal(a, b) for a, b in zip(run(True), run(False), strict=True))


def test_the_reference_passes_gradcheck() -> None:
    inputs = [t.detach().double().requires_grad_() for t in make(1, 2, 1, 5, 6, depth=8)]
    encoding = Alibi(2, torch.float64)

    def f(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = pe.attention(q, k, v, encoding, mask=pe.causal, target="reference")
        return result

    assert torch.autograd.gradcheck(f, (*inputs, encoding.slopes))


def test_check_and_reference() -> None:
    report = pe.check(Alibi(2), mask=pe.causal)
    assert report.ok and set(report.errors) >= {"o", "gradient of slopes"}, str(report)
    inputs = make(1, 2, 2, 9, 9)
    found = pe.reference(*inputs, Alibi(2), mask=pe.causal)
    assert found.dtype == torch.float64


def test_other_derivatives_raise_an_error() -> None:
    q, k, v = make(1, 2, 2, 9, 9)
    g, = torch.autograd.grad(pe.attention(q, k, v, mask=pe.causal).sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="second backward"):
        torch.autograd.grad(g.square().sum(), q)
    with pytest.raises(NotImplementedError, match="forward mode"):
        x = q.detach()
        torch.func.jvp(lambda y: pe.attention(y, k, v, mask=pe.causal), (x,), (x,))
    with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError):
        dual = torch.autograd.forward_ad.make_dual(q.detach(), q.detach())
        pe.attention(dual, k, v, mask=pe.causal)


def test_func_grad() -> None:
    q, k, v = (t.detach() for t in make(1, 2, 2, 9, 9))
    found = torch.func.grad(lambda x: pe.attention(x, k, v, mask=pe.causal).square().sum())(q)
    x = q.clone().requires_grad_()
    expected, = torch.autograd.grad(dense_attention(x, k, v)[0].square().sum(), x)
    close(found, expected, 2e-5)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    inputs = make(2, 4, 2, 150, 150, depth=64)
    encoding = Alibi(4)

    def run() -> list[torch.Tensor]:
        o = pe.attention(*inputs, encoding, mask=pe.causal)
        return [o, *torch.autograd.grad(o.square().sum(), [*inputs, encoding.slopes])]

    before = torch.get_num_threads()
    try:
        runs = []
        for threads in (1, 2, 3, 1):
            torch.set_num_threads(threads)
            runs.append(run())
    finally:
        torch.set_num_threads(before)
    for other in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], other, strict=True))


def test_four_threads_and_copies() -> None:
    inputs = make(1, 2, 2, 60, 60)
    encoding = Alibi(2)
    copies = [encoding, copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding)), encoding]
    found: list[torch.Tensor | None] = [None] * 4

    def run(index: int) -> None:
        for _ in range(20):
            found[index] = pe.attention(*inputs, copies[index], mask=pe.causal)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f is not None and torch.equal(f, found[0]) for f in found)


def test_a_forked_child() -> None:
    inputs = make(2, 4, 4, 200, 200, depth=64)
    encoding = Alibi(4)
    expected = pe.attention(*inputs, encoding, mask=pe.causal).detach()
    child = os.fork()
    if child == 0:
        same = False
        try:
            import signal
            signal.alarm(60)
            o = pe.attention(*inputs, encoding, mask=pe.causal)
            o.sum().backward()
            new = pe.attention(*inputs, encoding, mask=pe.causal & pe.sliding_window(9))
            same = torch.equal(o, expected) and not torch.equal(new, expected)
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_emulator_of_gpu_kernels_in_bf16() -> None:
    inputs = make(1, 2, 1, 20, 20, dtype=torch.bfloat16)
    encoding = Alibi(2)
    o = pe.attention(*inputs, encoding, mask=pe.causal, target="gpu-emulator")
    assert o.dtype == torch.bfloat16
    expected = dense_attention(*inputs, encoding)[0]
    close(o, expected, 1e-2)
    found = torch.autograd.grad(o.sum(), [*inputs, encoding.slopes])
    other = torch.autograd.grad(expected.sum(), [*inputs, encoding.slopes])
    for a, b in zip(found, other, strict=True):
        close(a, b, 3e-2)


def test_what_backward_keeps() -> None:
    inputs = make(1, 2, 2, 256, 256, depth=64)
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        o = pe.attention(*inputs, Alibi(2), mask=pe.causal)
    base = sum(t.numel() * 4 for t in (*inputs, o)) + 2 * 256 * 4
    assert sum(kept.values()) <= 1.02 * base


def test_empty_calls() -> None:
    q, k, v = make(1, 2, 2, 0, 5)
    assert pe.attention(q, k, v, mask=pe.causal).shape == (1, 2, 0, 32)
    q, k, v = make(1, 2, 2, 3, 0)
    assert not pe.attention(q, k, v).any()


def test_eager_calls_do_not_import_the_compiler_of_torch() -> None:
    """Its import takes seconds."""
    text = ("import sys, torch, pe_attention as pe; q = torch.randn(1, 1, 4, 16); "
            "before = 'torch._dynamo' in sys.modules; "
            "pe.attention(q, q, q, pe.nn.ALiBi(1), mask=pe.causal); "
            "assert before or 'torch._dynamo' not in sys.modules")
    subprocess.run([sys.executable, "-c", text], check=True)
