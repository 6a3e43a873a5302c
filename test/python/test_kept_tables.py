"""Tables over distances that are prepared once for a capacity (pe_attention._tables)."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import pe_attention as pe
from pe_attention import _tables
from pe_attention._function import get_function
from pe_attention._prepare import options_of, prepare
from pe_attention._run import Call

HEADS, KV_HEADS, DEPTH, CAPACITY = 4, 2, 16, 70
ENCODINGS: dict[str, Any] = {
    "T5": pe.nn.T5, "KerpleLog": pe.nn.KerpleLog, "FIRE": pe.nn.FIRE, "ALiBi": pe.nn.ALiBi}


def call_of(encoding: Any, queries: int, keys: int,
            **places: Any) -> tuple[list[torch.Tensor], Call]:
    """Returns the tensors of a call, with the first keys of one cache, and the call."""
    generator = torch.Generator().manual_seed(queries)
    q = torch.randn(1, HEADS, queries, DEPTH, generator=generator)
    k, v = torch.randn(2, 1, KV_HEADS, CAPACITY, DEPTH, generator=generator)
    ready = prepare(q, k[:, :, :keys], v[:, :, :keys], encoding, pe.causal,
                    options_of(None, 0.0, None, None, False), None, None, None, None)
    return ready.tensors, Call(ready.program.text, ready.target, **places)


@pytest.mark.parametrize("queries", [1, 3])
@pytest.mark.parametrize("name", ENCODINGS)
@torch.no_grad()
def test_steps_have_the_bits_of_calls_without_tables(name: str, queries: int) -> None:
    encoding = ENCODINGS[name](heads=HEADS)
    tables = _tables.prepare(*call_of(encoding, queries, queries), capacity=CAPACITY)
    assert len(tables.tensors) == 1
    for keys in range(queries, CAPACITY + 1):
        tensors, call = call_of(encoding, queries, keys)
        [found] = _tables.forward(tensors, call, tables)
        expected = pe.attention(*tensors[:3], encoding, mask=pe.causal)
        assert torch.equal(found, expected), keys
    for table in tables.tensors:  # they are read
        table.zero_()
        assert not torch.equal(_tables.forward(tensors, call, tables)[0], expected)


@torch.no_grad()
def test_calls_that_the_tables_do_not_hold_for() -> None:
    encoding = pe.nn.T5(heads=HEADS)
    tables = _tables.prepare(*call_of(encoding, 1, 8), capacity=16)
    with pytest.raises(pe.InputError, match="key: expected at most 16 keys, the capacity of the "
                                            "tables, found 17"):
        _tables.forward(*call_of(encoding, 1, 17), tables)
    with pytest.raises(pe.InputError, match="query: expected length 1, .* found 2"):
        _tables.forward(*call_of(encoding, 2, 8), tables)
    with pytest.raises(pe.InputError, match="q_start: expected None .* found 3"):
        _tables.forward(*call_of(encoding, 1, 8, q_start=3), tables)
    with pytest.raises(pe.InputError, match="tables: expected those of this encoding"):
        _tables.forward(*call_of(pe.nn.FIRE(heads=HEADS), 1, 8), tables)


def test_a_table_depends_on_its_parameters_and_the_capacity() -> None:
    _, call = call_of(pe.nn.FIRE(heads=HEADS), 1, 8)
    function = get_function(call.program, "cpu", DEPTH, DEPTH, "f32", False)
    tables = [table for table in function.prepared if table.holds_for_all_keys]
    [shape] = [text for table in tables for text in table.shape]
    assert re.search(r"\bcapacity\b", shape) and not re.search(r"\bc\b", shape)
    others = [table for table in function.prepared if not table.holds_for_all_keys]
    assert all("capacity" not in text for table in others for text in table.shape)
