"""Steps of a cache that repeat the last one (pe_attention._cache_steps)."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import pe_attention as pe
from caches import DEPTH, HEADS, KV_HEADS, create, rows
from pe_attention import _cache_steps
from pe_attention._growing import Growing


@torch.no_grad()
def test_steps_without_a_change_run_in_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    run = Growing.run

    def noted(self: Growing, tensors: Any, keys: int) -> Any:
        left.append(keys)
        return run(self, tensors, keys)

    monkeypatch.setattr(Growing, "run", noted)
    q, k, v = rows(length=16)
    r = torch.randn(2, 1, HEADS, 1, 16)
    encoding = pe.nn.Inkling()
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    for one in (*r, *r):
        cache.attend(q[:, :, -1:], encoding(r=one))
    assert not left
    encoding.p.data.mul_(2.0)
    expected = pe.attention(q[:, :, -1:], k, v, encoding(r=r[1]), mask=pe.causal)
    assert torch.equal(cache.attend(q[:, :, -1:], encoding(r=r[1])), expected) and left == [16]
    negative = torch.complex(torch.zeros_like(r[1]), -r[1]).conj().imag
    assert negative.is_neg()
    assert torch.equal(cache.attend(q[:, :, -1:], encoding(r=negative)), expected)
    wide = r[1].expand(2, HEADS, 1, 16).transpose(0, 1).contiguous().transpose(0, 1)[:1]
    assert torch.equal(cache.attend(q[:, :, -1:], encoding(r=wide)), expected)
    with pytest.raises(pe.InputError):
        cache.attend(q[:, :, -1:], encoding(r=r[1, ..., :8]))


@torch.no_grad()
def test_views_of_parameters_follow_them() -> None:
    """Numbers are views of parameters, which steps keep."""
    q, k, v = rows(length=16)
    encoding = pe.nn.FIRE(HEADS)
    number = next(name for name, view in encoding._order if view == "number")
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)

    def check() -> torch.Tensor:
        o: torch.Tensor = cache.attend(q[:, :, -1:], encoding)
        assert torch.equal(o, pe.attention(q[:, :, -1:], k, v, encoding, mask=pe.causal))
        return o

    found = [check(), check()]
    assert torch.equal(*found) and set(cache._steps._views) >= {number}
    value = encoding.parameter(number)
    value.mul_(2.0)
    found.append(check())
    value.data = value.data * 2.0
    found.append(check())
    setattr(encoding, number, torch.nn.Parameter(value * 2.0))
    found.append(check())
    assert len({o.sum().item() for o in found}) == 4
    value = torch.nn.Parameter(torch.stack((value, value * 4.0), -1)[..., 1])  # a stride
    setattr(encoding, number, value)
    check()


def test_steps_are_checked_after_an_equal_one() -> None:
    q, k, v = rows(length=16)
    r, encoding = torch.randn(1, HEADS, 3, 16), pe.nn.Inkling()
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    q = q[:, :, -3:]

    def attend(**given: Any) -> Any:
        used = {"q": q, "encoding": encoding(r=r), **given}
        return cache.attend(used.pop("q"), used.pop("encoding"), **used)

    with torch.no_grad():
        o = attend()
        assert torch.equal(attend(), o)
        assert attend(return_lse=True)[1].shape == (1, HEADS, 3)
        for wrong in ({"encoding": encoding}, {"encoding": "inkling"}, {"q": q[:, :, :, :8]},
                      {"q": q.double()}, {"q": "q"}, {"mask": "causal"}, {"q": q.tile(2, 1, 1, 1)}):
            attend()
            with pytest.raises(pe.InputError):
                attend(**wrong)
        attend()
        cache.crop(2)
        with pytest.raises(pe.InputError, match="at most 2 rows"):
            attend()
        cache.append(k[:, :, 2:], v[:, :, 2:])
        assert torch.equal(attend(), o)
    with pytest.raises(pe.InputError, match="without gradients"):
        attend(q=q.clone().requires_grad_())
    assert torch.equal(attend(), o)
    with torch.autocast("cpu"), torch.no_grad():
        assert torch.equal(attend(), o)


@torch.no_grad()
def test_steps_with_a_rotation_turn_the_keys_of_a_cache_that_was_reset() -> None:
    q, k, v = rows(length=16)
    rope = pe.nn.RoPE()
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    for _ in range(2):
        cache.append(k, v)
        for _ in range(2):
            o = cache.attend(q[:, :, -1:], rope)
            assert torch.equal(o, pe.attention(q[:, :, -1:], k, v, rope, mask=pe.causal))
        cache.reset()


@pytest.mark.usefixtures("storage")
def test_repeated_steps_follow_their_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that equals the last one is not checked again; all others are."""
    repeated: list[bool] = []

    def note(name: str) -> None:
        repeat = getattr(_cache_steps.Steps, name)

        def noted(*arguments: Any) -> Any:
            found = repeat(*arguments)
            repeated.append(found is not None)
            return found

        monkeypatch.setattr(_cache_steps.Steps, name, noted)

    note("repeat_directly")
    note("repeat")
    _, k, v = rows(length=40)
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    keep = torch.arange(40) % 3 > 0
    t5, rope_and_t5 = pe.nn.T5(HEADS), pe.nn.RoPE() + pe.nn.T5(HEADS)
    mask = pe.causal & pe.mask(lambda b, h, i, j: keep[j])

    def check(repeats: bool, query: torch.Tensor, encoding: Any, **options: Any) -> None:
        o = cache.attend(query, encoding, **options)
        expected = pe.attention(query, k, v, encoding, **{"mask": pe.causal, **options})
        assert any(repeated) is repeats and torch.equal(o, expected)
        repeated.clear()

    one, three = torch.randn(1, HEADS, 1, DEPTH), torch.randn(1, HEADS, 3, DEPTH)
    with torch.inference_mode():
        for encoding, options in ((None, {}), (t5, {}), (t5, {"mask": mask}), (t5, {"scale": 0.3}),
                                  (rope_and_t5, {})):
            grows = "mask" not in options  # a mask with a tensor is checked again
            check(False, one, encoding, **options)
            check(grows, one, encoding, **options)
            check(grows, one * 2, encoding, **options)
            keep.logical_not_()
            check(grows, one, encoding, **options)
            check(False, three, encoding, **options)
            check(grows, three, encoding, **options)
            check(False, torch.randn(1, 2 * HEADS, 1, DEPTH)[:, ::2], encoding, **options)
            # A view with a lazy sign, and an address that is not a multiple of 16 bytes.
            signs = torch.randn(1, HEADS, 1, DEPTH, dtype=torch.complex64).conj().imag
            check(False, signs, encoding, **options)
            check(False, torch.randn(HEADS * DEPTH + 1)[1:].view(one.shape), encoding, **options)
        cache.reset()
        cache.append(k, v)
        for converted in (t5.half(), t5.float()):
            o = cache.attend(one, converted)
            assert torch.equal(o, pe.attention(one, k, v, converted, mask=pe.causal))
        with pytest.raises(pe.InputError, match="encoding: expected an encoding"):
            cache.attend(one, pe.nn.T5)
    with pytest.raises(pe.InputError, match="q: expected a tensor without gradients"):
        cache.attend(one.clone().requires_grad_(), t5)
