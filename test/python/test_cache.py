"""pe.Cache: decoding compared with the full forward pass, ragged batches, growth, and copies."""

from __future__ import annotations

import copy
import inspect
import io
import textwrap
from typing import Any

import pytest
import torch

import pe_attention as pe
from caches import (CASES, DEPTH, HEADS, KV_HEADS, LENGTH, NTK, ROTATED, create, decoded,
                    kerple_power, poison, random_chunks, rows)
from pe_attention._turned import Turned


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("storage")
def test_equals_the_full_forward(name: str) -> None:
    make, mask, kv_heads = CASES[name]
    encoding = make()
    q, k, v = rows(kv_heads)
    with torch.inference_mode():
        expected = pe.attention(q, k, v, encoding, mask=mask)
        for chunks in ([1] * LENGTH, random_chunks(1), [LENGTH]):
            cache = create(1, kv_heads, DEPTH)
            found = decoded(cache, encoding, mask, q, k, v, chunks)
            torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-6)
            assert (cache._rotation is not None) == (name in ROTATED)
        assert torch.equal(cache.values, v)
        assert torch.equal(cache.keys, k) == (name not in ROTATED)


def test_a_formula_equals_its_definition() -> None:
    q, k, v = rows(HEADS)
    encoding = kerple_power(heads=HEADS)
    found = pe.attention(q, k, v, encoding, mask=pe.causal)
    row = torch.arange(float(LENGTH))
    distance = (row[:, None] - row).abs()
    r, p = encoding.r[:, None, None], encoding.p[:, None, None]
    scores = q @ k.mT * DEPTH ** -0.5 - r * distance ** p
    scores = scores.masked_fill(row > row[:, None], -torch.inf)
    expected = scores.softmax(-1) @ v
    torch.testing.assert_close(found, expected, rtol=2e-5, atol=2e-6)
    d_o = torch.ones_like(v) + v
    for one, other in zip(*(torch.autograd.grad(o, [encoding.r, encoding.p], d_o)
                            for o in (found, expected))):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("storage")
def test_steps_have_the_bits_of_pe_attention(name: str) -> None:
    """A step equals pe.attention over all keys, whether their rotation is kept or not."""
    make, mask, kv_heads = CASES[name]
    encoding = make()
    q, k, v = rows(kv_heads)
    cache = create(1, kv_heads, DEPTH)
    cache.append(k[:, :, :50], v[:, :, :50])
    cache.attend(q[:, :, :50], encoding, mask=mask)
    for last in range(50, 60):
        own = slice(last, last + 1)
        cache.append(k[:, :, own], v[:, :, own])
        o = cache.attend(q[:, :, own], encoding, mask=mask)
        assert torch.equal(o, pe.attention(q[:, :, own], k[:, :, :last + 1], v[:, :, :last + 1],
                                           encoding, mask=mask))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("storage")
def test_ragged_entries_equal_each_alone(name: str) -> None:
    """Prompts of different lengths, steps, a sequence that ends, chunks of several rows."""
    make, mask, kv_heads = CASES[name]
    encoding = make()
    prompts = [30, 1, 47]
    q, k, v = rows(kv_heads, batch=3)
    cache = create(3, kv_heads, DEPTH)
    alone = [create(1, kv_heads, DEPTH) for _ in prompts]
    at = 0
    steps = [(47, prompts), (1, None), (1, [1, 0, 1]), (5, None), (3, [0, 3, 2]), (1, None)]
    for size, counts in steps:
        own = slice(at, at + size)
        new = [tensor[:, :, own].clone() for tensor in (q, k, v)]
        for entry, count in enumerate(counts or []):
            for tensor in new:
                tensor[entry, :, count:] = float("nan")
        cache.append(new[1], new[2], None if counts is None else torch.tensor(counts))
        poison(cache)
        o = cache.attend(new[0], encoding, mask=mask)
        for entry, single in enumerate(alone):
            count = size if counts is None else counts[entry]
            assert not o[entry, :, count:].any()
            if count:
                part = [tensor[entry:entry + 1, :, :count] for tensor in new]
                single.append(part[1], part[2])
                assert torch.equal(o[entry:entry + 1, :, :count],
                                   single.attend(part[0], encoding, mask=mask))
        at += size
    assert cache.lengths.tolist() == [len(single) for single in alone]


@pytest.mark.usefixtures("storage")
def test_keys_of_a_ragged_step_are_turned_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if some sequences have ended, or have two new rows; the others are turned separately."""
    calls = []
    turn, turn_each = Turned.turn, Turned.turn_each
    monkeypatch.setattr(Turned, "turn", lambda self, keys, start, given: (
        calls.append([start]), turn(self, keys, start, given))[1])
    monkeypatch.setattr(Turned, "turn_each", lambda self, keys, positions, given: (
        calls.append(positions), turn_each(self, keys, positions, given))[1])
    q, k, v = rows(batch=4)
    rope = pe.nn.RoPE()
    cache = create(4, KV_HEADS, DEPTH)
    cache.append(k[:, :, :40], v[:, :, :40], torch.tensor([40, 3, 17, 0]))
    cache.attend(q[:, :, :40], rope)
    for counts, expected in (([1, 1, 1, 1], [[40, 3, 17, 0]]), ([1, 0, 1, 0], [[41, 18]]),
                             ([1, 0, 0, 0], [[42]]), ([1, 2, 1, 0], [[43, 19], [4]])):
        calls.clear()
        n = max(counts)
        cache.append(k[:, :, 50:50 + n], v[:, :, 50:50 + n], torch.tensor(counts))
        cache.attend(q[:, :, 50:50 + n], rope)
        assert calls == expected


@pytest.mark.usefixtures("storage")
def test_last_rows_of_ragged_prompts() -> None:
    """One query per sequence after a ragged prompt is that of its last row."""
    q, k, v = rows(batch=2, length=9)
    cache = create(2, KV_HEADS, DEPTH)
    cache.append(k, v, torch.tensor([9, 4]))
    o, lse = cache.attend(q[:, :, :1], pe.nn.RoPE(), return_lse=True)
    expected = pe.attention(q[1:, :, :1], k[1:, :, :4], v[1:, :, :4], pe.nn.RoPE(), mask=pe.causal)
    assert torch.equal(o[1:], expected) and lse.shape == (2, HEADS, 1)
    full, lse = cache.attend(q, pe.nn.RoPE(), return_lse=True)
    assert not full[1, :, 4:].any() and bool(torch.isinf(lse[1, :, 4:]).all())
    assert torch.equal(lse[:1], pe.attention(q[:1], k[:1], v[:1], pe.nn.RoPE(), mask=pe.causal,
                                             return_lse=True)[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["nope", "rope", "fire"])
@pytest.mark.usefixtures("storage")
def test_16_bits(name: str, dtype: torch.dtype) -> None:
    encoding = CASES[name][0]()
    q, k, v = rows(dtype=dtype)
    cache = create(1, KV_HEADS, DEPTH, dtype=dtype)
    found = decoded(cache, encoding, pe.causal, q, k, v, random_chunks(2))
    assert found.dtype is dtype and cache.keys.dtype is dtype
    expected = pe.attention(q.float(), k.float(), v.float(), encoding, mask=pe.causal).detach()
    bound = 2e-2 if dtype is torch.bfloat16 else 3e-3
    torch.testing.assert_close(found.float(), expected, rtol=bound, atol=bound)


def test_growth() -> None:
    q, k, v = rows(length=3)
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    capacities = set()
    for _ in range(400):
        cache.append(k, v)
        capacities.add(cache._rows.capacity)
    assert len(capacities) <= 6 and cache._rows.capacity < 3000
    assert torch.equal(cache.keys, k.repeat(1, 1, 400, 1))
    before, address = cache.keys, cache._rows.keys.data_ptr()
    kept = before.clone()
    cache.append(k.repeat(1, 1, 2000, 1), v.repeat(1, 1, 2000, 1))
    assert cache._rows.keys.data_ptr() != address and torch.equal(before, kept)
    fixed = pe.Cache(1, KV_HEADS, DEPTH, capacity=6)
    fixed.append(k, v)
    address = fixed.keys.data_ptr()
    fixed.append(k, v)
    assert fixed.keys.data_ptr() == address and fixed._rows.capacity == 6
    with pytest.raises(pe.InputError, match=r"at most 6 rows per sequence, .* found 6 \+ 3 of"):
        fixed.append(k, v)
    assert len(fixed) == 6


def test_pages_are_shared_and_released() -> None:
    _, k, v = rows(batch=3, length=33)
    cache = pe.Cache(3, KV_HEADS, DEPTH, page=16, capacity=48)
    pages = cache._rows
    assert len(pages._free) == 9
    cache.append(k, v, torch.tensor([33, 20, 1]))
    assert [len(each) for each in pages._lists] == [3, 2, 1] and len(pages._free) == 3
    cache.reorder(torch.tensor([0, 0, 0]))
    assert len(pages._free) == 6 and pages._lists[0] == pages._lists[2]
    cache.append(k[:, :, :1], v[:, :, :1])  # every sequence writes to its last page
    assert len(pages._free) == 4 and [pages._uses[each[0]] for each in pages._lists] == [3, 3, 3]
    assert torch.equal(cache.keys[:, :, :33], k[:1].expand(3, -1, -1, -1))
    assert torch.equal(cache.keys[:, :, 33:], k[:, :, :1])
    cache.crop(16)
    assert len(pages._free) == 8
    cache.reset()
    assert len(pages._free) == 9 and not any(pages._uses)
    assert pages.keys.shape == (9, 16, KV_HEADS, DEPTH)


def test_attend_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = rows()
    cache = pe.Cache(1, KV_HEADS, DEPTH, capacity=200)
    cache.append(k, v)
    given = []
    module = __import__("pe_attention._cache", fromlist=["attention"])

    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any,
                  **named: Any) -> torch.Tensor:
        given.extend([key, value])
        assert named["kv_len"] is None
        return query

    monkeypatch.setattr(module, "attention", attention)
    cache.attend(q)
    assert [t.data_ptr() for t in given] == [cache.keys.data_ptr(), cache.values.data_ptr()]
    assert given[0].stride() == cache._rows.keys.stride()


@pytest.mark.usefixtures("storage")
def test_crop_and_reset() -> None:
    """Rejected tokens of a draft are removed; a new sequence may have another rotation."""
    q, k, v = rows()
    rope = pe.nn.RoPE()
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k[:, :, :40], v[:, :, :40])
    cache.attend(q[:, :, :40], rope)
    cache.append(q[:, :KV_HEADS, :8], v[:, :, :8])
    cache.attend(q[:, :, :8], rope)
    cache.crop(40)
    own = slice(40, 43)
    cache.append(k[:, :, own], v[:, :, own])
    o = cache.attend(q[:, :, own], rope)
    assert torch.equal(o, pe.attention(q[:, :, own], k[:, :, :43], v[:, :, :43], rope,
                                       mask=pe.causal))
    cache.reset()
    assert len(cache) == 0 and cache
    cache.append(k, v)
    half = pe.nn.RoPE(rotary_dims=8)
    assert torch.equal(cache.attend(q, half), pe.attention(q, k, v, half, mask=pe.causal))


@pytest.mark.usefixtures("storage")
def test_beams() -> None:
    """Sequences are reordered with their lengths and rotated keys."""
    q, k, v = rows(batch=3)
    rope = pe.nn.RoPE()
    cache = create(3, KV_HEADS, DEPTH)
    cache.append(k[:, :, :20], v[:, :, :20], torch.tensor([20, 7, 12]))
    cache.attend(q[:, :, :20], rope)
    index = torch.tensor([2, 0, 2])
    cache.reorder(index)
    assert cache.lengths.tolist() == [12, 20, 12]
    own = slice(20, 21)
    cache.append(k[:, :, own], v[:, :, own])
    o = cache.attend(q[:, :, own], rope)
    for entry, (source, length) in enumerate(zip(index, [12, 20, 12], strict=True)):
        key, value = [torch.cat([t[source:source + 1, :, :length], t[entry:entry + 1, :, own]], 2)
                      for t in (k, v)]
        assert torch.equal(o[entry:entry + 1], pe.attention(q[entry:entry + 1, :, own], key, value,
                                                            rope, mask=pe.causal))


@pytest.mark.usefixtures("storage")
def test_copies_and_files() -> None:
    q, k, v = rows()
    rope = pe.nn.RoPE(heads=HEADS, learned=True)
    cache = create(1, HEADS, DEPTH, value_dim=8)
    k, v = q.clone(), q[..., :8].clone()
    cache.append(k[:, :, :30], v[:, :, :30])
    cache.attend(q[:, :, :30], rope)
    file = io.BytesIO()
    torch.save(cache, file)
    file.seek(0)
    copies = [copy.deepcopy(cache), torch.load(file, weights_only=False)]
    own = slice(30, 31)
    cache.append(q[:, :, own], q[:, :, own, :8] * 0)
    for other in copies:
        assert len(other) == 30
        other.append(k[:, :, own], v[:, :, own])
        assert torch.equal(other.attend(q[:, :, own], rope),
                           pe.attention(q[:, :, own], k[:, :, :31], v[:, :, :31], rope,
                                        mask=pe.causal))


@pytest.mark.usefixtures("storage")
def test_inference_mode_and_outside() -> None:
    """One cache is used in and outside inference mode; results have no gradients."""
    q, k, v = rows()
    fire = pe.nn.FIRE(HEADS)
    with torch.inference_mode():
        cache = create(1, KV_HEADS, DEPTH)
        inner = k[:, :, :20] * 1
        cache.append(inner, v[:, :, :20])
    cache.append(k[:, :, 20:], v[:, :, 20:])
    o = cache.attend(q, fire)
    assert not o.requires_grad
    with torch.inference_mode():
        assert torch.equal(o, cache.attend(q, fire))
    with torch.no_grad():
        cache.append(k.clone().requires_grad_(), v)


def test_autocast_does_not_convert_the_cache() -> None:
    q, k, v = rows()
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = cache.attend(q)
    assert torch.equal(o, pe.attention(q, k, v, mask=pe.causal))


@pytest.mark.usefixtures("storage")
def test_tensors_of_calls_and_masks() -> None:
    """Gates of FoX, which have an entry per key, a mask with a tensor, and no mask."""
    q, k, v = rows()
    f = -torch.rand(1, HEADS, LENGTH, generator=torch.Generator().manual_seed(5)).cumsum(-1)
    keep = torch.arange(LENGTH) % 3 > 0
    kept = pe.causal & pe.mask(lambda b, h, i, j: keep[j])
    both = pe.nn.RoPE() + pe.nn.Forgetting()
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    data = {name: f if name == "f" else f[:, :, -2:] for name in both.needed_data()}
    for mask in (kept, None):
        o = cache.attend(q[:, :, -2:], both(**data), mask=mask)
        torch.testing.assert_close(o, pe.attention(q[:, :, -2:], k, v, both(**data), mask=mask))
    assert cache._rotation is not None


def test_rotations_that_are_not_kept() -> None:
    """Frequencies that depend on the number of keys, and tables of each call: keys stay as they
    are, and every call turns them."""
    q, k, v = rows()
    angles = torch.arange(LENGTH)[:, None] * torch.linspace(1, 0.1, DEPTH // 2)
    table = pe.nn.RotationTable()(cos=angles.cos(), sin=angles.sin())
    for encoding in (pe.nn.RoPE(scaling=NTK), table):
        cache = pe.Cache(1, KV_HEADS, DEPTH)
        for end in (60, 61, LENGTH):
            own = slice(len(cache), end)
            cache.append(k[:, :, own], v[:, :, own])
            o = cache.attend(q[:, :, own], encoding)
            expected = pe.attention(q[:, :, own], k[:, :, :end], v[:, :, :end], encoding,
                                    mask=pe.causal)
            assert torch.equal(o, expected)
        assert torch.equal(cache.keys, k)


def test_targets() -> None:
    q, k, v = rows(length=12)
    rope = pe.nn.RoPE()
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    o = cache.attend(q[:, :, -1:], rope, scale=0.3)
    for target in ("reference", "gpu-emulator"):
        torch.testing.assert_close(cache.attend(q[:, :, -1:], rope, scale=0.3, target=target), o)


def test_compiled_code_breaks_its_graph() -> None:
    q, k, v = rows(length=4)
    cache = pe.Cache(1, KV_HEADS, DEPTH)

    def step(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        cache.append(k * 1, v)
        result: torch.Tensor = cache.attend(q, pe_rope)
        return result + 1

    pe_rope = pe.nn.RoPE()
    compiled = torch.compile(step)
    with torch.no_grad():
        for _ in range(3):
            o = compiled(q, k, v)
    assert len(cache) == 12
    keys, values = k.repeat(1, 1, 3, 1), v.repeat(1, 1, 3, 1)
    assert torch.equal(o, pe.attention(q, keys, values, pe_rope, mask=pe.causal) + 1)


@pytest.mark.parametrize("place", [pe.Cache, pe.Cache.append, pe.Cache.attend])
def test_examples_of_docstrings(place: Any) -> None:
    _, _, example = inspect.cleandoc(place.__doc__).partition("Example:\n\n")
    exec(textwrap.dedent(example), {"torch": torch, "pe": pe})
    assert example
