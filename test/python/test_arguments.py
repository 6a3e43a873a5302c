"""Tests of calls with unusual tensors, integers, masks and transforms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import functional_call, grad, vmap

import pe_attention as pe

from conftest import close

Q = torch.randn(2, 4, 16, 16, generator=torch.Generator().manual_seed(1))
sdpa = torch.nn.functional.scaled_dot_product_attention


# --- Masks -------------------------------------------------------------------

KEEP = torch.rand(16, 16, generator=torch.Generator().manual_seed(2)) < 0.5
COMPLEMENTS = {
    "causal": (pe.causal, lambda i, j: j <= i),
    "window": (pe.sliding_window(3, 2), lambda i, j: (i - j < 3) & (j - i < 2)),
    "formula": (pe.mask(lambda b, h, i, j: KEEP[i, j]), lambda i, j: KEEP),
    "joined": ((pe.causal & pe.sliding_window(3)) | pe.mask(lambda b, h, i, j: j < 1),
               lambda i, j: ((j <= i) & (i - j < 3)) | (j < 1)),
}


@pytest.mark.parametrize("name", COMPLEMENTS)
def test_complements(name: str) -> None:
    mask, allowed = COMPLEMENTS[name]
    pairs = allowed(torch.arange(16)[:, None], torch.arange(16)[None])
    close(pe.attention(Q, Q, Q, mask=~mask),
          sdpa(Q, Q, Q, attn_mask=~pairs).nan_to_num())  # PyTorch gives NaN in rows without keys
    assert torch.equal(pe.attention(Q, Q, Q, mask=~~mask), pe.attention(Q, Q, Q, mask=mask))


@pytest.mark.parametrize("use", [
    lambda: pe.causal and pe.sliding_window(4), lambda: not pe.causal,
    lambda: 1 if pe.causal else 0, lambda: bool(pe.causal | pe.sliding_window(2))])
def test_masks_have_no_boolean_value(use: Callable[[], Any]) -> None:
    with pytest.raises(pe.InputError, match="write a & b .* a | b .* ~a"):
        use()


@pytest.mark.parametrize("other", [lambda b, h, i, j: j < 3, KEEP, True, None, "causal",
                                   pe.sliding_window])
@pytest.mark.parametrize("join", [operator.and_, operator.or_])
def test_masks_join_only_masks(join: Callable[..., Any], other: Any) -> None:
    for pair in ((pe.causal, other), (other, pe.causal)):
        with pytest.raises(pe.InputError, match="expected two masks, found .*pe\\."):
            join(*pair)


@pytest.mark.parametrize("use", [
    lambda: pe.causal ^ pe.causal, lambda: pe.causal + pe.causal, lambda: -pe.causal,
    lambda: pe.causal - 1])
def test_masks_refuse_other_operators(use: Callable[[], Any]) -> None:
    with pytest.raises(pe.InputError, match="expected one of the operators &, \\| and ~"):
        use()


def test_functions_with_other_inputs() -> None:
    for function in (lambda i, j: j <= i, int, min):
        with pytest.raises(pe.InputError, match="function: expected a function of \\(b, h, i, j"):
            pe.mask(function)


def test_encodings_called_like_layers() -> None:
    with pytest.raises(pe.InputError, match="expected no arguments by position, found 1"):
        pe.nn.ALiBi(4)(Q)
    with pytest.raises(pe.InputError, match="expected no arguments by position, found 1"):
        pe.nn.Forgetting()(Q)
    with pytest.raises(pe.InputError, match="x: expected a tensor, found None"):
        pe.nn.Sinusoidal()(None)


def test_masks_are_neither_callable_nor_tensors() -> None:
    with pytest.raises(pe.InputError, match="write mask=pe.causal"):
        pe.causal()
    with pytest.raises(pe.InputError, match="pass it to pe.attention as mask="):
        sdpa(Q, Q, Q, attn_mask=pe.causal)


# --- Integers ----------------------------------------------------------------


def _documents(numbers: list[float] | torch.Tensor) -> torch.Tensor:
    return pe.attention(Q[:1], Q[:1], Q[:1], documents=torch.as_tensor(numbers), mask=pe.causal)


def _below(lengths: torch.Tensor) -> torch.Tensor:
    return pe.attention(Q, Q, Q, mask=pe.mask(lambda b, h, i, j: j < lengths[b]))


def _at(position: int) -> torch.Tensor:
    encoding = (pe.nn.ALiBi(4) + pe.nn.Positions())(
        q_pos=torch.full((2, 16), position), k_pos=torch.zeros(2, 16, dtype=torch.int64))
    return pe.attention(Q, Q, Q, encoding, mask=pe.causal)


@pytest.mark.parametrize("message, call", [
    ("lengths: expected .* found 4294967299", lambda: _below(torch.full((2,), 2**32 + 3))),
    ("lengths: .* found 2147483651", lambda: _below(
        torch.full((2,), 2**31 + 3).to(torch.uint32))),
    ("lengths: .* found 18446744073709551615", lambda: _below(
        torch.full((2,), -1).view(torch.uint64))),
    ("q_pos: .* found 8589934592", lambda: _at(2**33)),
    ("documents: .* found 4294967301", lambda: _documents([0, 2**32 + 5, 16])),
    ("documents: expected integers, found torch.float32", lambda: _documents([0, 5.5, 16])),
    ("q_start: expected an integer, found 2.5", lambda: pe.attention(Q, Q, Q, q_start=2.5)),
    ("q_start: expected an integer, found '1'", lambda: pe.attention(Q, Q, Q, q_start="1")),
    ("q_start: expected an integer, found nan",
     lambda: pe.attention(Q, Q, Q, q_start=float("nan"))),
    ("k_start: .* found None", lambda: pe.attention(Q, Q, Q, k_start=None)),
    ("head_start: .* found True", lambda: pe.attention(Q, Q, Q, head_start=True)),
    ("heads_total: .* of 32 bits, found 4294967296",
     lambda: pe.attention(Q, Q, Q, heads_total=2**32)),
])
def test_integers_out_of_range(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(pe.InputError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.uint16, torch.uint32,
                                   torch.uint64, torch.int64])
def test_integers_of_every_type(dtype: torch.dtype) -> None:
    assert torch.equal(_below(torch.tensor([3, 9]).to(dtype)),
                       _below(torch.tensor([3, 9], dtype=torch.int32)))


def test_compiled_code_checks_integers() -> None:
    ids = torch.arange(16) % 2
    same = pe.mask(lambda b, h, i, j: ids[i] == ids[j])
    compiled = torch.compile(lambda q: pe.attention(q, q, q, mask=same), fullgraph=True,
                             backend="aot_eager")
    assert torch.equal(compiled(Q), pe.attention(Q, Q, Q, mask=same))
    ids *= 2**32
    with pytest.raises(pe.InputError, match="ids: expected integers of 32 bits"):
        compiled(Q)


# --- Tensors -----------------------------------------------------------------


def _negative(*shape: int) -> torch.Tensor:
    """Returns a tensor with a lazy negation."""
    tensor = torch.randn(*shape, dtype=torch.complex64).conj().imag
    assert tensor.is_neg()
    return tensor


def test_negative_bits() -> None:
    for number in range(3):
        lazy = [_negative(1, 4, 9, 16) if n == number else Q[:1, :, :9] for n in range(3)]
        whole = [t.resolve_neg() for t in lazy]
        pe.attention(*whole)  # caches the layout of this call
        assert torch.equal(pe.attention(*lazy), pe.attention(*whole))
    sink, bias = _negative(4), _negative(2, 16)
    assert torch.equal(pe.attention(Q, Q, Q, sink=sink),
                       pe.attention(Q, Q, Q, sink=sink.resolve_neg()))
    o, other = (pe.attention(Q, Q, Q, pe.nn.KeyBias()(key_bias=b))
                for b in (bias, bias.resolve_neg()))
    assert torch.equal(o, other)
    p, cotangent = Q.clone().requires_grad_(), _negative(2, 4, 16, 16)
    o = pe.attention(p, Q, Q)
    one, two = (torch.autograd.grad(o, p, c, retain_graph=True)[0]
                for c in (cotangent, cotangent.resolve_neg()))
    assert torch.equal(one, two)


def test_tensors_without_memory() -> None:
    zero = torch._efficientzerotensor(2, 4, 16, 16)
    assert torch.equal(pe.attention(Q, Q, zero), torch.zeros_like(Q))
    p = Q.clone().requires_grad_()
    assert not torch.autograd.grad(pe.attention(p, Q, Q), p, zero)[0].any()
    freed = Q.clone()
    freed.untyped_storage().resize_(0)
    with pytest.raises(pe.InputError, match="tensor 'k': .* storage was freed"):
        pe.attention(Q, freed, Q)


@pytest.mark.parametrize("message, make", [
    ("key: expected a dense tensor, found one of layout torch.sparse_coo", Q.to_sparse),
    ("key: expected a dense tensor, found one of layout torch._mkldnn", Q.to_mkldnn),
    ("key: expected a dense tensor, found a nested one",
     lambda: torch.nested.nested_tensor([Q[0], Q[1]])),
    ("key: expected a head dim", lambda: Q[..., :0]),
    ("key: expected a tensor on cpu like query, found one on meta", lambda: Q.to("meta")),
])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_unsupported_kinds_of_tensors(message: str, make: Callable[[], torch.Tensor]) -> None:
    with pytest.raises(pe.InputError, match=message):
        pe.attention(Q, make(), Q)


def test_autocast_converts_query_key_and_value() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        o = pe.attention(Q, Q.bfloat16(), Q.half())
        close(o.float(), sdpa(Q, Q.bfloat16(), Q.half()).float(), 2e-2)
    assert o.dtype is torch.bfloat16


def test_more_rows_than_keys_with_explicit_positions() -> None:
    """The default start would be negative with more rows than keys; an explicit start is not."""
    at = torch.arange(16).expand(2, 16)
    encoding = pe.nn.ALiBi(4) + pe.nn.Positions()
    q = Q.clone().requires_grad_()
    o = pe.attention(q, Q[:, :, :15], Q[:, :, :15], encoding(q_pos=at, k_pos=at[:, :15]),
                     mask=pe.causal, q_start=0)
    other = pe.attention(q, Q[:, :, :15], Q[:, :, :15], pe.nn.ALiBi(4), mask=pe.causal, q_start=0)
    close(o, other)
    close(*(torch.autograd.grad(t.square().sum(), q)[0] for t in (o, other)))


# --- Transforms --------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoding = pe.nn.ALiBi(4, learned=True)

    def forward(self, q: torch.Tensor) -> Any:
        return pe.attention(q, Q, Q, self.encoding, mask=pe.causal)


def _loops(function: Callable[..., torch.Tensor], samples: torch.Tensor) -> torch.Tensor:
    return torch.stack([function(sample) for sample in samples])


def test_vmap() -> None:
    """One folded call, also for gradients; programs with formulas, and gradients per sample."""
    samples = torch.stack([Q, 2 * Q, -Q])
    model = Model()
    assert torch.equal(vmap(model)(samples), _loops(model, samples))
    assert torch.equal(vmap(model, 2, 2)(samples.movedim(0, 2)).movedim(2, 0),
                       _loops(model, samples))
    keep = torch.rand(2, 16, 16) < 0.5
    mask = pe.mask(lambda b, h, i, j: keep[b, i, j])

    def masked(q: torch.Tensor) -> Any:
        return pe.attention(q, q, q, mask=mask)

    assert torch.equal(vmap(masked)(samples), _loops(masked, samples))
    slopes = model.encoding.slopes.detach()

    def loss(slopes: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        o: torch.Tensor = functional_call(model, {"encoding.slopes": slopes}, (q,))
        return o.square().sum()

    each = _loops(lambda q: grad(loss)(slopes, q), samples)
    assert torch.equal(vmap(grad(loss), (None, 0))(slopes, samples), each)
    close(grad(lambda s: vmap(loss, (None, 0))(s, samples).sum())(slopes), each.sum(0), 1e-5)


# --- Compiled code -----------------------------------------------------------


def _mask_inside(q: torch.Tensor) -> Any:
    return pe.attention(q, q, q, mask=pe.mask(lambda b, h, i, j: j <= i))


def _encoding_inside(q: torch.Tensor) -> Any:
    return pe.attention(q, q, q, pe.nn.ALiBi(4), mask=pe.causal)


@pytest.mark.parametrize("function, advice", [
    (_mask_inside, "create the mask outside"), (_encoding_inside, "create the encoding outside")])
def test_construction_in_compiled_code(function: Callable[..., Any], advice: str) -> None:
    """Such a call breaks the graph; with fullgraph=True the message says what to write."""
    torch._dynamo.reset()
    close(torch.compile(function, backend="aot_eager")(Q), function(Q))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="Explanation: .*" + advice):
        torch.compile(function, fullgraph=True, backend="aot_eager")(Q)


def test_wrong_calls_in_compiled_code() -> None:
    for named, message in (({"is_causal": True}, "write mask=pe.causal"),
                           ({"mask": True}, "expected a mask such as pe.causal")):
        torch._dynamo.reset()
        with pytest.raises(pe.InputError, match=message):
            torch.compile(lambda q, named=named: pe.attention(q, q, q, **named),
                          backend="aot_eager")(Q)
    torch._dynamo.reset()  # otherwise later graphs skip code that has raised an error
