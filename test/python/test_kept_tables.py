"""Tables over distances that are prepared once for a growing cache (pe_attention._tables)."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

import pe_attention as pe
from caches import DEPTH, KV_HEADS, create, poison
from every_encoding import CASES
from pe_attention import _cache_steps
from pe_attention._function import Function, get_function
from pe_attention._growing import Growing
from pe_attention._prepare import options_of, prepare
from pe_attention._run import Call
from pe_attention._tables import Tables

HEADS, CAPACITY = 2, 70
# The cases of `every_encoding` with tables over distances.
WITH_TABLES = [
    "alibi", "alibi_learned", "fire", "fire_2x32", "fire_clamped", "fire_final_activation",
    "fire_fixed_threshold", "fire_gelu", "fire_linear", "fire_no_log", "fire_no_threshold",
    "fire_tanh", "kerple_log", "kerple_power", "music_transformer", "relative_table", "rse",
    "rse_scaled", "sandwich", "t5", "sum"]


def rows(length: int = CAPACITY, batch: int = 1,
         dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(length)
    q = torch.randn(batch, HEADS, length, DEPTH, generator=generator).to(dtype)
    k, v = torch.randn(2, batch, KV_HEADS, length, DEPTH, generator=generator).to(dtype)
    return q, k, v


def call_of(encoding: Any, queries: int, keys: int, mask: pe.Mask | None = pe.causal,
            **places: Any) -> tuple[Function, list[torch.Tensor], Call]:
    """Returns the function, the tensors and the scalars of a call, over the first keys of one
    cache."""
    q, k, v = rows()
    ready = prepare(q[:, :, :queries], k[:, :, :keys], v[:, :, :keys], encoding, mask,
                    options_of(None, 0.0, None, None, False), None, None, None, None)
    call = Call(ready.program.text, ready.target, **places)
    return get_function(call.program, "cpu", DEPTH, DEPTH, "f32", False), ready.tensors, call


def steps_of(cache: pe.Cache) -> list[Growing]:
    return [step for step in cache._steps._known.values() if step is not None]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Returns the capacities of tables in the order in which they are computed, with at least 4
    entries instead of 64."""
    found: list[int] = []
    fill = Tables._fill

    def noted(self: Tables, tensors: Any) -> None:
        found.append(self.capacity)
        fill(self, tensors)

    monkeypatch.setattr(Tables, "_fill", noted)
    monkeypatch.setattr(_cache_steps, "_LEAST_ENTRIES", 4)
    return found


# --- Calls that read tables -----------------------------------------------------------


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("name", ["t5", "kerple_log", "fire", "alibi_learned"])
@torch.no_grad()
def test_calls_have_the_bits_of_calls_without_tables(name: str, queries: int) -> None:
    encoding = CASES[name][0]()
    function, tensors, call = call_of(encoding, queries, queries)
    tables = Tables.of(function, tensors, call, CAPACITY)
    assert tables is not None and len(tables.tensors) == 1
    step = Growing.with_tables(function, tensors, call, tables)
    for keys in range(queries, CAPACITY + 1):
        _, tensors, _ = call_of(encoding, queries, keys)
        results = step.run(tensors, tensors[1].shape[2])
        expected = pe.attention(*tensors[:3], encoding, mask=pe.causal)
        assert results is not None and torch.equal(results[0], expected), keys
    tables.tensors[0].zero_()  # the table is read
    results = step.run(tensors, tensors[1].shape[2])
    assert results is not None and not torch.equal(results[0], expected)


@torch.no_grad()
def test_calls_that_the_tables_do_not_hold_for() -> None:
    encoding = pe.nn.T5(heads=HEADS)
    function, tensors, call = call_of(encoding, 1, 17)
    with pytest.raises(pe.InputError, match="key: expected at most 16 keys, the capacity of the "
                                            "tables, found 17"):
        Tables.of(function, tensors, call, 16)
    with pytest.raises(pe.InputError, match="q_start: expected None .* found 3"):
        Tables.of(function, tensors, call._replace(q_start=3), 32)
    tables = Tables.of(function, tensors, call, 32)
    step = Growing.with_tables(function, tensors, call, tables)
    with pytest.raises(pe.InputError, match=r"'capacity': expected a shape \[n\] of at least 33"):
        step.run(call_of(encoding, 1, 33)[1], 33)
    assert Tables.of(*call_of(pe.nn.RoPE(), 1, 8), 32) is None


def test_a_table_depends_on_its_parameters_and_the_capacity() -> None:
    with torch.no_grad():
        function = call_of(pe.nn.FIRE(heads=HEADS), 1, 8)[0]
    tables = [table for table in function.prepared if table.holds_for_all_keys]
    [shape] = [text for table in tables for text in table.shape]
    assert re.search(r"\bcapacity\b", shape) and not re.search(r"\bc\b", shape)
    others = [table for table in function.prepared if not table.holds_for_all_keys]
    assert all("capacity" not in text for table in others for text in table.shape)


# --- Steps of caches ------------------------------------------------------------------


@torch.no_grad()
def test_all_encodings_with_tables_are_listed() -> None:
    found = []
    for name, (make, mask) in CASES.items():
        if mask is not None and not make().needed_data():
            function = call_of(make(), 1, 8, mask)[0]
            if any(table.holds_for_all_keys for table in function.prepared):
                found.append(name)
    assert found == WITH_TABLES


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", WITH_TABLES)
@pytest.mark.usefixtures("storage")
def test_steps_have_the_bits_of_pe_attention(name: str, dtype: torch.dtype,
                                             computed: list[int]) -> None:
    """Steps of one and of three queries, before and after the tables grow."""
    make, mask = CASES[name]
    encoding = make()
    q, k, v = rows(dtype=dtype)
    turns = dtype is not torch.float32 and name in ("rse", "rse_scaled", "sum")
    cache = create(1, KV_HEADS, DEPTH, dtype=dtype)
    cache.append(k[:, :, :14], v[:, :, :14])
    with torch.inference_mode():
        for rest in (1, 1, 3, 1, 3, 30, 1, 3, 1):
            own = slice(len(cache), len(cache) + rest)
            cache.append(k[:, :, own], v[:, :, own])
            poison(cache)
            o = cache.attend(q[:, :, own], encoding, mask=mask)
            expected = pe.attention(q[:, :, own], k[:, :, :own.stop], v[:, :, :own.stop],
                                    encoding, mask=mask)
            if turns:  # keys are rounded when they are kept turned
                torch.testing.assert_close(o, expected, rtol=5e-2, atol=5e-2)
            else:
                assert torch.equal(o, expected)
    assert computed and sorted(set(computed)) == [16, 32, 64]
    assert all(step.tables is not None for step in steps_of(cache))


@pytest.mark.parametrize("name", ["t5", "fire", "sum"])
@pytest.mark.usefixtures("storage")
def test_steps_of_sequences_of_different_lengths(name: str, computed: list[int]) -> None:
    encoding = CASES[name][0]()
    lengths = [40, 3, 17]
    q, k, v = rows(batch=3)
    cache = create(3, KV_HEADS, DEPTH)
    cache.append(k[:, :, :40], v[:, :, :40], torch.tensor(lengths))
    keys, values = [[rows[entry:entry + 1, :, :length] for entry, length in enumerate(lengths)]
                    for rows in (k, v)]
    for last in range(40, CAPACITY):
        own = slice(last, last + 1)
        cache.append(k[:, :, own], v[:, :, own])
        poison(cache)
        o = cache.attend(q[:, :, own], encoding)
        for entry in range(3):
            part = slice(entry, entry + 1)
            keys[entry] = torch.cat([keys[entry], k[part, :, own]], 2)
            values[entry] = torch.cat([values[entry], v[part, :, own]], 2)
            with torch.no_grad():
                alone = pe.attention(q[part, :, own], keys[entry], values[entry], encoding,
                                     mask=pe.causal)
            assert torch.equal(o[part], alone)
    assert computed == [64, 128]


@pytest.mark.usefixtures("storage")
def test_tables_grow_geometrically(computed: list[int]) -> None:
    q, k, v = rows()
    encodings = [pe.nn.T5(HEADS), pe.nn.FIRE(HEADS)]
    cache = create(1, KV_HEADS, DEPTH)
    for _ in range(300):
        cache.append(k[:, :, :1], v[:, :, :1])
        for encoding in encodings:
            cache.attend(q[:, :, :1], encoding)
    assert len(computed) <= 2 * 8 and max(computed) == 512
    computed.clear()
    fixed = create(1, KV_HEADS, DEPTH, capacity=96)
    for length in (50, 96):
        fixed.append(k[:, :, :length - len(fixed)], v[:, :, :length - len(fixed)])
        fixed.attend(q[:, :, :1], encodings[0])
    assert computed == [64, 96]


CHANGES: dict[str, Callable[[pe.nn.T5], Any]] = {
    "optimizer": lambda t5: t5.table.add_(0.25),
    "data": lambda t5: t5.table.data.mul_(2.0),  # without a new version
    "NumPy": lambda t5: t5.table.numpy().__imul__(3.0),
    "another parameter": lambda t5: setattr(t5, "table", torch.nn.Parameter(t5.table * 4.0)),
    "a loaded state": lambda t5: t5.load_state_dict({"table": t5.table + 5.0}),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.usefixtures("storage")
def test_tables_follow_their_parameters(change: str, computed: list[int]) -> None:
    q, k, v = rows(16)
    encoding = pe.nn.T5(HEADS)
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k, v)

    def check() -> None:
        o = cache.attend(q[:, :, -1:], encoding)
        assert torch.equal(o, pe.attention(q[:, :, -1:], k, v, encoding, mask=pe.causal))

    with torch.no_grad():
        check()
        check()
        assert computed == [16]
        before = encoding.table.clone()
        CHANGES[change](encoding)
        assert not torch.equal(before, encoding.table)
        check()
        check()
    assert computed == [16, 16]


@torch.no_grad()
def test_sources_that_are_not_contiguous_are_compared_by_value() -> None:
    q, k, v = rows(16)
    encoding = pe.nn.T5(HEADS)
    memory = torch.randn(encoding.table.T.shape)
    encoding.table = torch.nn.Parameter(memory.T)
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    for _ in range(3):
        o = cache.attend(q[:, :, -1:], encoding)
        assert torch.equal(o, pe.attention(q[:, :, -1:], k, v, encoding, mask=pe.causal))
        memory.copy_(memory.T.reshape(memory.shape))  # the bytes of its contiguous copy


@torch.no_grad()
def test_repeated_steps_apply_the_lower_bounds_of_parameters(computed: list[int]) -> None:
    q, k, v = rows(16)
    encoding = pe.nn.KerpleLog(HEADS)
    cache = pe.Cache(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    direct: list[bool] = []
    repeat = cache._steps.repeat_directly

    def noted(*arguments: Any) -> Any:
        results = repeat(*arguments)
        direct.append(results is not None)
        return results

    cache._steps.repeat_directly = noted  # type: ignore[method-assign]
    for value in (0.5, 0.5, 0.001, -1.0):  # the least is 0.01
        encoding.r1.fill_(value)
        o = cache.attend(q[:, :, -1:], encoding)
        assert torch.equal(o, pe.attention(q[:, :, -1:], k, v, encoding, mask=pe.causal))
    assert direct == [False, True, False, True] and computed == [16, 16]


# Counts the queries of the operator, which takes the functions of the library once per process.
QUERIES = '''
import ctypes, torch, pe_attention as pe
from pe_attention import _library
library, found = _library.library(), []
query = library.pe_workspace
kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p,
                        ctypes.c_int32, ctypes.c_void_p)
original = ctypes.cast(query, kind)
counted = kind(lambda *given: (found.append(1), original(*given))[1])
library.pe_workspace = counted
cache, encoding = pe.Cache(1, 2, 16, capacity=70), pe.nn.T5(2)
with torch.no_grad():
    for _ in range(70):
        cache.append(*torch.randn(2, 1, 2, 1, 16))
        cache.attend(torch.randn(1, 2, 1, 16), encoding)
print(len(found))
'''


def test_workspaces_are_queried_once_per_capacity() -> None:
    done = subprocess.run([sys.executable, "-c", QUERIES], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert 0 < int(done.stdout) <= 10  # those of two capacities, and of computing their tables


def test_encodings_of_one_class_have_different_tables(computed: list[int]) -> None:
    """Encodings of equal text share a step, whose tables follow the values of each call."""
    q, k, v = rows(16)
    encodings = [pe.nn.T5(HEADS), pe.nn.T5(HEADS)]
    torch.nn.init.normal_(encodings[1].table)
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    with torch.inference_mode():
        for encoding in (*encodings, *encodings):
            assert torch.equal(cache.attend(q[:, :, -1:], encoding),
                               pe.attention(q[:, :, -1:], k, v, encoding, mask=pe.causal))
    assert len(computed) == 4


@pytest.mark.usefixtures("storage")
def test_crop_reorder_and_copies() -> None:
    q, k, v = rows(40, batch=2)
    encoding = pe.nn.T5(HEADS)
    cache = create(2, KV_HEADS, DEPTH)
    cache.append(k[:, :, :30], v[:, :, :30])
    cache.attend(q[:, :, 29:30], encoding)
    assert [step.tables is not None for step in steps_of(cache)] == [True]
    copies = [copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))]
    assert [steps_of(each) for each in copies] == [[], []]
    for each in (cache, *copies):
        each.crop(20)
        each.reorder(torch.tensor([1, 1]))
        each.append(k[:, :, 20:21], v[:, :, 20:21])
        o = each.attend(q[:, :, 20:21], encoding)
        for entry in range(2):
            own = slice(entry, entry + 1)
            key, value = [torch.cat([t[1:, :, :20], t[own, :, 20:21]], 2) for t in (k, v)]
            with torch.no_grad():
                assert torch.equal(o[own], pe.attention(q[own, :, 20:21], key, value, encoding,
                                                        mask=pe.causal))


@pytest.mark.usefixtures("storage")
def test_arguments_of_steps() -> None:
    """Masks with tensors, a scale, heads of a shard, the lse, and calls that steps do not cover."""
    q, k, v = rows(40)
    keep = torch.arange(40) % 3 > 0
    window = pe.causal & pe.sliding_window(9)
    encoding, whole = pe.nn.T5(HEADS), pe.nn.ALiBi(2 * HEADS)
    cache = create(1, KV_HEADS, DEPTH)
    cache.append(k, v)
    cases: list[tuple[Any, dict[str, Any]]] = [
        (encoding, {"scale": 0.3, "return_lse": True}), (encoding, {"mask": window}),
        (encoding, {"mask": pe.causal & pe.mask(lambda b, h, i, j: keep[j])}),
        (encoding, {"mask": None}), (encoding, {"sink": torch.tensor([0.5, -1.0])}),
        (pe.nn.ALiBi(HEADS), {"head_start": 1, "heads_total": 2 * HEADS}), (whole, {
            "heads_total": 2 * HEADS})]
    with torch.inference_mode():
        for queries in (1, 8, 9):
            for each, options in cases:
                given = q[:, :, -queries:]
                found = cache.attend(given, each, **options)
                expected = pe.attention(given, k, v, each, **{"mask": pe.causal, **options})
                if not isinstance(found, tuple):
                    found, expected = (found,), (expected,)
                assert all(map(torch.equal, found, expected))
        assert {step.outputs[0][0][2] for step in steps_of(cache)} == {1, 8}
        with pytest.raises(pe.InputError, match="encoding: expected one for 4 heads"):
            cache.attend(q[:, :1, -1:].expand(1, 4, 1, DEPTH), pe.nn.ALiBi(HEADS))
