"""The compiled operator that repeats calls (_repeats.py) has the bits of the path through Python,
and leaves every other call to it."""

import math
import os
import random
import threading

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import pe_attention as pe
from pe_attention import _attention, _growing, _library, _repeats

HEADS, DEPTH = 4, 16
ENCODINGS = {
    "nope": lambda: None,
    "alibi": lambda: pe.nn.ALiBi(HEADS, learned=True),
    "t5": lambda: pe.nn.T5(HEADS),
    "fire": lambda: pe.nn.FIRE(HEADS),
    "rope": lambda: pe.nn.RoPE(),
    "stick_breaking": lambda: pe.nn.StickBreaking(),
}


def operands(queries=1, keys=40, dtype=torch.float32, batch=2, kv_heads=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, heads, length, DEPTH, generator=generator).to(dtype)
            for heads, length in ((HEADS, queries), (kv_heads, keys), (kv_heads, keys))]


@pytest.fixture
def uses(monkeypatch):
    """Counts the calls that the operator ran and those that it left to Python."""
    counts = {"repeated": 0, "left": 0}
    results_of = _repeats.results_of

    def counted(*arguments):
        results = results_of(*arguments)
        counts["left" if results is None else "repeated"] += 1
        return results

    monkeypatch.setattr(_repeats, "results_of", counted)
    return counts


@pytest.fixture
def through_python(monkeypatch):
    """Returns a function that runs a call without the operator."""

    def run(call):
        with monkeypatch.context() as without:
            without.setattr(_repeats, "_operator", None)
            return call()

    return run


def test_pytorch_has_the_operator():
    assert _repeats.failure() == ""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ENCODINGS)
@torch.no_grad()
def test_bits_are_those_of_the_path_through_python(name, dtype, uses, through_python):
    encoding = ENCODINGS[name]()
    for queries, lengths in ((1, (40, 41, 40, 600, 513)), (9, (40, 77))):
        for number, keys in enumerate(lengths):
            q, k, v = operands(queries, keys, dtype, seed=number)

            def call():
                return pe.attention(q, k, v, encoding, mask=pe.causal)

            found, again = call(), call()
            expected = through_python(call)
            assert torch.equal(found, expected) and torch.equal(again, expected)
    # Of 14 calls, the first with one query and the first with 9 are checked.
    assert uses["repeated"] == 12


@torch.no_grad()
def test_log_sum_exp_lengths_and_layouts(uses, through_python):
    q, k, v = operands()
    strided = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    kv_len = torch.tensor([7, 40], dtype=torch.int32)
    for tensors in ((q, k, v), strided):
        for options in ({"return_lse": True}, {"kv_len": kv_len}, {"scale": 0.5}, {"k_start": 3}):

            def call():
                found = pe.attention(*tensors, ENCODINGS["t5"](), mask=pe.causal, **options)
                return found if isinstance(found, tuple) else (found,)

            torch.manual_seed(0)
            call()
            torch.manual_seed(0)
            found = call()
            torch.manual_seed(0)
            for one, other in zip(found, through_python(call), strict=True):
                assert torch.equal(one, other) and one.stride() == other.stride()
    assert uses["repeated"] == 8


@torch.no_grad()
def test_other_calls_are_left_to_python(uses):
    q, k, v = operands()
    expected = pe.attention(q, k, v)
    unaligned = torch.empty(v.numel() + 1)[1:].view(v.shape).copy_(v)
    assert torch.equal(pe.attention(q, k, unaligned), expected)
    negative = torch.complex(torch.zeros_like(q), -q).conj().imag
    assert negative.is_neg() and torch.equal(pe.attention(negative, k, v), expected)
    assert torch.equal(pe.attention(q[:1], k[:1], v[:1]), expected[:1])
    assert pe.attention(q, k.narrow(2, 0, 0), v.narrow(2, 0, 0)).abs().max() == 0
    assert pe.attention(q.bfloat16(), k.bfloat16(), v.bfloat16()).dtype == torch.bfloat16
    with pytest.raises(pe.InputError, match="value: expected the heads and length of key"):
        pe.attention(q, k, v[:, :, :-1])
    nested = torch.nested.nested_tensor([k[0], k[1]])
    for wrong in (k.double(), k.to_sparse(), nested, k.to("meta")):
        with pytest.raises(pe.InputError):
            pe.attention(q, wrong, v)


@pytest.mark.parametrize("name, wrong", [
    ("q_start", 1.0), ("q_start", True), ("k_start", 1.0), ("k_start", True), ("head_start", 1.0),
    ("head_start", True), ("scale", True)])
@torch.no_grad()
def test_numbers_of_other_types_are_refused_after_an_equal_call(name, wrong):
    q, k, v = operands()
    options = {"heads_total": 8} if name == "head_start" else {}
    for _ in range(2):
        pe.attention(q, k, v, **options, **{name: 1})
    with pytest.raises(pe.InputError, match=f"{name}: expected"):
        pe.attention(q, k, v, **options, **{name: wrong})


def test_gradients_are_recorded(uses):
    q, k, v = operands()
    encoding = pe.nn.ALiBi(HEADS, learned=True)
    with torch.no_grad():
        expected = [pe.attention(q, k, v, encoding) for _ in range(2)][1]
    assert uses["repeated"] == 1
    o = pe.attention(q, k, v, encoding)
    o.sum().backward()
    assert encoding.slopes.grad is not None and torch.allclose(o, expected)
    assert uses["repeated"] == 1


@torch.no_grad()
def test_parameters_are_read_in_every_call(uses):
    q, k, v = operands()
    encoding = pe.nn.FIRE(HEADS)
    first = [pe.attention(q, k, v, encoding) for _ in range(2)][1]
    for parameter in encoding.parameters():
        parameter.mul_(1.5)
    assert uses["repeated"] == 1
    second = pe.attention(q, k, v, encoding)
    assert uses["repeated"] == 2
    assert not torch.equal(first, second)
    assert torch.allclose(second.double(), pe.reference(q, k, v, encoding), atol=1e-5)


@torch.no_grad()
def test_modes_and_transforms_see_the_operator_of_attention(uses):
    q, k, v = operands()
    expected = [pe.attention(q, k, v) for _ in range(2)][1]
    seen = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    count = dict(uses)
    with Recorder():
        assert torch.equal(pe.attention(q, k, v), expected)
    assert any("pe.attention" in name for name in seen), seen
    assert not any("pe.repeat" in name for name in seen), seen
    mapped = torch.vmap(lambda q, k, v: pe.attention(q[None], k[None], v[None])[0])(q, k, v)
    assert torch.allclose(mapped, expected, atol=1e-6)
    assert uses == count


@torch.no_grad()
def test_many_layouts_and_families(monkeypatch, uses):
    _attention.forget()
    monkeypatch.setattr(_repeats, "_MOST_FAMILIES", 3)
    first = operands(batch=70, keys=8)
    expected = pe.attention(*first)
    for batch in range(1, 67):  # more than a family holds
        q, k, v = operands(batch=batch, keys=8)
        assert torch.equal(pe.attention(q, k, v), pe.attention(q, k, v))
    assert uses["repeated"] == 66
    for repeated in (66, 67):  # the first call was replaced, and is added again
        assert torch.equal(pe.attention(*first), expected)
        assert uses["repeated"] == repeated
    for scale in (0.1, 0.2, 0.3, 0.4, 0.5):
        assert torch.equal(pe.attention(q, k, v, scale=scale), pe.attention(q, k, v, scale=scale))
    assert uses["repeated"] == 72 and len(_repeats._families) == 3


@torch.no_grad()
def test_threads():
    q, k, v = operands(keys=300)
    expected = pe.attention(q, k, v, mask=pe.causal)
    wrong = []

    def work():
        for keys in (300, 20, 300, 299) * 20:
            found = pe.attention(q, k[:, :, -keys:], v[:, :, -keys:], mask=pe.causal)
            if keys == 300 and not torch.equal(found, expected):
                wrong.append(keys)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@torch.no_grad()
def test_a_forked_process_takes_the_path_through_python():
    q, k, v = operands()
    expected = [pe.attention(q, k, v) for _ in range(2)][1]
    child = os.fork()
    if child == 0:
        same = torch.equal(pe.attention(q, k, v), expected)
        os._exit(0 if same and "forked" in _repeats.failure() else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("missing", ["library", "function"])
@torch.no_grad()
def test_without_the_operator(missing, tmp_path, monkeypatch):
    q, k, v = operands()
    expected = pe.attention(q, k, v)
    for name in ("_operator", "_loaded", "_failure"):
        monkeypatch.setattr(_repeats, name, None)
    if missing == "library":
        monkeypatch.setattr(_library, "path", lambda: tmp_path / "libpe.so")
    else:  # a library that is loaded and has none of the functions
        monkeypatch.setattr(_repeats, "_TORCH", _library.path())
    monkeypatch.setattr(_repeats, "_families", type(_repeats._families)())
    assert all(torch.equal(pe.attention(q, k, v), expected) for _ in range(3))
    assert ("libpe-torch.so" if missing == "library" else "aoti_torch") in _repeats.failure()


@torch.no_grad()
def test_a_removed_family_runs_nothing():
    q, k, v = operands(keys=24)
    growing = _growing_of(q, k, v)
    family = _repeats.family_of(growing, [q, k, v])
    assert len(_repeats.results_of(family, [q, k, v], 24)) == 1
    assert len(_repeats.results_of(family, [q, k, v], 10)) == 1
    assert _repeats.results_of(family, [q, k, v], 25) is None
    assert _repeats.results_of(family, [q, k], 10) is None
    _repeats.forget(family)
    assert _repeats.results_of(family, [q, k, v], 24) is None


def _growing_of(q, k, v):
    pe.attention(q, k, v, scale=0.25)
    found = [each for each in _attention._growing.values()
             if isinstance(each, _growing.Growing) and each.outputs[0][0] == q.shape]
    return found[-1]


def drawn(generator, heads, length, batch, dtype):
    """Returns a tensor with one of four layouts, and in some of them infinities and NaN."""
    kind = generator.randrange(4)
    if kind == 0:
        tensor = torch.randn(batch, length, heads, DEPTH).transpose(1, 2)
    elif kind == 1:
        tensor = torch.randn(batch, heads, length + 3, DEPTH)[:, :, :length]
    else:
        tensor = torch.randn(batch, heads, length, DEPTH + 4 * kind - 8)[..., :DEPTH]
    if generator.random() < 0.2 and tensor.numel():
        tensor[..., 0] = generator.choice([math.nan, math.inf, -math.inf, 1e30])
    return tensor.to(dtype)


@torch.no_grad()
def test_random_calls(uses, through_python):
    """Empty and odd sizes, far positions, values that are not finite."""
    generator = random.Random(5)
    torch.manual_seed(5)
    encodings = [make() for make in ENCODINGS.values()]
    for _ in range(300):
        batch, queries = generator.choice([0, 1, 2, 3]), generator.choice([0, 1, 1, 2, 7, 9])
        keys = generator.choice([0, 1, 2, 31, 33, 511, 512, 513])
        dtype = generator.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
        kv_heads = generator.choice([1, 2, HEADS])
        tensors = [drawn(generator, heads, length, batch, dtype)
                   for heads, length in ((HEADS, queries), (kv_heads, keys), (kv_heads, keys))]
        encoding = generator.choice(encodings)
        mask = generator.choice([pe.causal, pe.causal & pe.sliding_window(9)])
        options = {name: generator.choice([0, 5, -7, 10**6, 2**29])
                   for name in ("k_start", "q_start") if generator.random() < 0.3}

        def call():
            return pe.attention(*tensors, encoding, mask=mask, **options)

        found, again, expected = call(), call(), through_python(call)
        for one in (found, again):
            torch.testing.assert_close(one, expected, rtol=0, atol=0, equal_nan=True)
            assert one.stride() == expected.stride()
    assert uses["repeated"] > 100
