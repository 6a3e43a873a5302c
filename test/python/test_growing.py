"""Calls of pe.attention with a growing number of keys (pe_attention._growing)."""

from __future__ import annotations

import pytest
import torch

import pe_attention as pe
from caches import CASES, HEADS, rows


@pytest.mark.parametrize("name", ["nope", "alibi", "fire", "rope", "stick_breaking"])
@pytest.mark.parametrize("queries", [1, 9])
def test_growing_calls_have_the_bits_of_first_calls(name: str, queries: int) -> None:
    """Descriptors of an earlier call are used for other numbers of keys: concatenated keys, views
    of a cache, longer and shorter ones, and beyond the block of the workspace."""
    from pe_attention import _attention

    make, mask, kv_heads = CASES[name]
    encoding = make()
    q, k, v = rows(kv_heads, length=1100)
    q = q[:, :, :queries]
    lengths = [20, 21, 600, 1100, 513, 10]

    def results(forget: bool, copies: bool) -> list[torch.Tensor]:
        found = []
        for length in lengths:
            if forget:
                _attention.forget()
            key, value = k[:, :, :length], v[:, :, :length]
            if copies:
                key, value = key.contiguous(), value.contiguous()
            found.append(pe.attention(q, key, value, encoding, mask=mask))
        return found

    with torch.inference_mode():
        expected = results(True, False)
        _attention.forget()
        for copies in (False, True):
            for found, wanted in zip(results(False, copies), expected, strict=True):
                assert torch.equal(found, wanted)
        assert _attention._growing and len(_attention._known) <= 2


def test_growing_calls_check_their_tensors() -> None:
    q, k, v = rows(length=40)
    f = torch.zeros(1, HEADS, 40)
    with torch.inference_mode():
        for length in (20, 21):
            pe.attention(q[:, :, :1], k[:, :, :length], v[:, :, :length], mask=pe.causal)
            with pytest.raises(pe.InputError, match="value: expected the heads and length of key"):
                pe.attention(q[:, :, :1], k[:, :, :length], v[:, :, :length + 1], mask=pe.causal)
        encoding = pe.nn.KeyBias()
        with pytest.raises(pe.InputError):
            for length in (40, 39):
                pe.attention(q[:, :, :1], k[:, :, :length], v[:, :, :length],
                             encoding(**{name: f[:, 0] for name in encoding.needed_data()}),
                             mask=pe.causal)
        for entries in (torch.tensor([20]), torch.tensor([41])):
            if int(entries) > 40:
                with pytest.raises(pe.InputError, match="expected lengths from 0 to 39"):
                    pe.attention(q[:, :, :1], k[:, :, :39], v[:, :, :39], kv_len=entries)
            else:
                pe.attention(q[:, :, :1], k, v, kv_len=entries)
