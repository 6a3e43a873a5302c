"""Keys and values in pages of a pool: `pages=` of pe.attention."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import pe_attention as pe

BATCH, HEADS, KEY_HEADS, DEPTH, PAGES = 2, 4, 2, 16, 24
LENGTHS = torch.tensor([70, 33])


def call(queries: int, page: int, dtype: torch.dtype = torch.float32) -> tuple[Any, ...]:
    """Returns queries, keys and values of 70 rows, the same in pages whose other rows are NaN, and
    the table, whose entries after the lengths are out of range."""
    torch.manual_seed(queries + page)
    query = torch.randn(BATCH, HEADS, queries, DEPTH, dtype=dtype)
    key, value = torch.randn(2, BATCH, KEY_HEADS, 70, DEPTH).to(dtype)
    count = math.ceil(70 / page)
    table = torch.randperm(BATCH * count + 3)[:BATCH * count].reshape(BATCH, count)
    pools = torch.full((2, BATCH * count + 3, page, KEY_HEADS, DEPTH), math.nan, dtype=dtype)
    for entry, length in enumerate(LENGTHS.tolist()):
        for row in range(length):
            at = int(table[entry, row // page]), row % page
            pools[0][at], pools[1][at] = key[entry, :, row], value[entry, :, row]
        table[entry, math.ceil(length / page):] = -1
    return query, key, value, *pools, table


ENCODINGS = {
    "none": lambda: None, "alibi": lambda: pe.nn.ALiBi(HEADS), "fire": lambda: pe.nn.FIRE(HEADS),
    "t5": lambda: pe.nn.T5(HEADS), "stick_breaking": pe.nn.StickBreaking,
    "softpick": pe.nn.Softpick,
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("queries, page", [(1, 16), (3, 64), (20, 7)])
def test_bits_are_those_of_contiguous_keys(name: str, queries: int, page: int) -> None:
    query, key, value, keys, values, table = call(queries, page)
    encoding, mask = ENCODINGS[name](), pe.causal & pe.sliding_window(40)
    with torch.no_grad():
        expected = pe.attention(query, key, value, encoding, mask=mask, kv_len=LENGTHS)
        found = pe.attention(query, keys, values, encoding, mask=mask, kv_len=LENGTHS, pages=table)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_types_of_16_bits(dtype: torch.dtype) -> None:
    query, key, value, keys, values, table = call(1, 16, dtype)
    expected = pe.attention(query, key, value, mask=pe.causal, kv_len=LENGTHS)
    found = pe.attention(query, keys, values, mask=pe.causal, kv_len=LENGTHS, pages=table)
    assert found.dtype is dtype and torch.equal(found, expected)


def test_sink_and_statistic() -> None:
    query, key, value, keys, values, table = call(1, 16)
    sink = torch.randn(HEADS)
    one = pe.attention(query, key, value, sink=sink, kv_len=LENGTHS, return_lse=True)
    two = pe.attention(query, keys, values, sink=sink, kv_len=LENGTHS, return_lse=True, pages=table)
    assert torch.equal(one[0], two[0]) and torch.equal(one[1], two[1])


def test_compiled_code() -> None:
    query, key, value, keys, values, table = call(1, 16)
    encoding = pe.nn.ALiBi(HEADS)

    @torch.compile(backend="eager", fullgraph=True)
    def step(query: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = pe.attention(query, keys, values, encoding, pages=table)
        return result

    table = table.clamp(min=0)
    with torch.no_grad():
        whole = pe.attention(query, keys, values, encoding, pages=table)
        assert torch.allclose(step(query, table), whole, equal_nan=True)


def test_unusual_sizes_and_values() -> None:
    """No pages, no queries, far positions, strided pools and tables, values that are not finite."""
    query, key, value, keys, values, table = call(1, 16)
    table = table.clamp(min=0)
    none = pe.attention(query, keys[:0], values[:0], pages=table[:, :0])
    assert none.shape == query.shape and not none.any()
    assert pe.attention(query[:, :, :0], keys, values, pages=table).shape[2] == 0
    far = {"mask": pe.causal, "kv_len": LENGTHS, "k_start": 2 ** 29}
    alibi = pe.nn.ALiBi(HEADS)
    expected = pe.attention(query, key, value, alibi, **far)
    spread = torch.stack([table, -1 - table], 2).flatten(1)[:, ::2]
    wide = torch.stack([keys, keys], 4)[..., 0]
    for given in ((keys, table), (keys, spread), (wide, table)):
        found = pe.attention(query, given[0], values, alibi, pages=given[1], **far)
        assert torch.equal(found, expected)
    key[0, 0, 3, 0] = keys[table[0, 0], 3, 0, 0] = math.inf
    found = pe.attention(query, keys, values, kv_len=LENGTHS, pages=table)
    expected = pe.attention(query, key, value, kv_len=LENGTHS)
    assert expected[0, :2].isnan().any() and expected[1].isfinite().all()
    assert torch.equal(found.isnan(), expected.isnan())
    stacked = torch.vmap(lambda q: pe.attention(q, keys, values, kv_len=LENGTHS, pages=table))
    assert torch.equal(stacked(torch.stack([query, 2 * query]))[0][1], found[1])


WRONG = [
    (dict(pages=torch.zeros(3, 2, dtype=torch.int32)), r"pages: expected shape \[2, n\]"),
    (dict(pages=torch.zeros(2, 2)), "pages: expected integers, found torch.float32"),
    (dict(pages=[[0], [1]]), r"pages: expected a tensor, found \[\[0\], \[1\]\]"),
    (dict(pages=torch.full((2, 5), PAGES)), "expected values from 0 to 12, found 24 at index 0"),
    (dict(pages=torch.zeros(2, 2, dtype=torch.int32), kv_len=torch.tensor([33, 1])),
     "expected lengths from 0 to 32, the number of keys, found 33 at index 0"),
    (dict(key=torch.zeros(0, 16, KEY_HEADS, DEPTH), value=torch.zeros(0, 16, KEY_HEADS, DEPTH)),
     "expected values from 0 to -1, of which there are none, found"),
    (dict(value=torch.zeros(3, 16, KEY_HEADS, DEPTH)), "value: expected the pages, rows and heads"),
    (dict(key=torch.zeros(13, 16, 3, DEPTH), value=torch.zeros(13, 16, 3, DEPTH)),
     r"query: expected a multiple of the 3 heads of key, \[pages, page, heads, depth\], found 4"),
    (dict(key=torch.zeros(13, 0, KEY_HEADS, DEPTH), value=torch.zeros(13, 0, KEY_HEADS, DEPTH)),
     "key: expected .* with at least one row in a page"),
    (dict(encoding=pe.nn.RoPE()), "pages: expected an encoding that rotates no keys, found a"),
    (dict(query=torch.zeros(2, 4, 1, DEPTH, requires_grad=True)),
     "pages: expected a call without gradients, found a tensor that requires them"),
]


@pytest.mark.parametrize("changes, message", WRONG)
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    query, _, _, keys, values, table = call(1, 16)
    given = {"query": query, "key": keys, "value": values, "pages": table.clamp(min=0), **changes}
    with pytest.raises(pe.Error, match=message):
        pe.attention(**given)
