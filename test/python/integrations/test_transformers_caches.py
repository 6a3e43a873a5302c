"""Tests of generation with transformers' caches: the tokens of pe's kernels equal those of eager
attention, and unused rows of static caches are not read."""

from __future__ import annotations

import pytest
import torch

import pe_attention as pe

from tiny_models import HEADS, TOKENS, close, generated, llama, make_cache, padded, use

# RoPE is applied by the models, outside the attention. Windows are shorter than the prompt.
MODELS = {
    "Llama": {},
    "Mistral": {"model": "Mistral", "sliding_window": 5},
    "Gemma2": {"model": "Gemma2", "sliding_window": 6, "head_dim": 16,
               "tie_word_embeddings": False},
}
CACHES = ["dynamic", "static", "sliding", "none"]


def layer_kinds(cache):
    return {type(layer).__name__ for layer in cache.layers}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", CACHES)
@pytest.mark.parametrize("side", [None, "left"])
def test_greedy_tokens_equal_eager(name, kind, side):
    model = llama(**MODELS[name])
    tokens, mask = padded(side) if side else (TOKENS, torch.ones_like(TOKENS))
    expected = generated(model, kind, tokens, mask)
    assert expected.shape == (2, TOKENS.shape[1] + 16)
    assert len(torch.unique(expected[:, TOKENS.shape[1]:])) > 4  # not a constant continuation
    use(model)
    assert torch.equal(generated(model, kind, tokens, mask), expected)


def test_kinds_of_layers():
    """The caches of these tests have the layers that their names say."""
    mistral, gemma = llama(**MODELS["Mistral"]), llama(**MODELS["Gemma2"])
    assert layer_kinds(make_cache("dynamic", mistral)) == {"DynamicSlidingWindowLayer"}
    assert layer_kinds(make_cache("sliding", mistral)) == {"StaticSlidingWindowLayer"}
    assert layer_kinds(make_cache("sliding", gemma)) == {"StaticSlidingWindowLayer", "StaticLayer"}
    assert layer_kinds(make_cache("static", mistral)) == {"StaticLayer"}
    assert layer_kinds(make_cache("dynamic", llama())) == {"DynamicLayer"}


ENCODINGS = {
    "fire": lambda: pe.nn.FIRE(HEADS, hidden=(8,), threshold="none"),
    "rope": lambda: pe.nn.RoPE(),
    "stick_breaking": lambda: pe.nn.StickBreaking(),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("kind", ["dynamic", "static", "sliding"])
def test_encodings_of_pe(name, kind):
    """Instead of the model's rotation, with every cache: the tokens are those without a cache."""
    model = llama()
    use(model, lambda layer: ENCODINGS[name](), replace_rope=True)
    mask = torch.ones_like(TOKENS)
    assert torch.equal(generated(model, kind, TOKENS, mask),
                       generated(model, "none", TOKENS, mask))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["static", "sliding"])
@pytest.mark.parametrize("side", [None, "left"])
def test_unused_rows_are_not_read(name, kind, side):
    """NaN after the last token of a static cache changes nothing, in steps of one and nine
    tokens."""
    model = llama(**MODELS[name])
    tokens, mask = padded(side) if side else (TOKENS, torch.ones_like(TOKENS))
    expected = model(tokens, attention_mask=mask).logits
    use(model)
    cache, parts, last = make_cache(kind, model), [], 0
    with torch.no_grad():
        for end in (2, 3, 4, 13):
            parts.append(model(tokens[:, last:end], attention_mask=mask[:, :end],
                               past_key_values=cache).logits)
            for layer in cache.layers:
                for rows in (layer.keys, layer.values):
                    if end < rows.shape[2]:
                        rows[:, :, end:] = float("nan")
            last = end
    close(torch.cat(parts, 1)[mask.bool()], expected[mask.bool()])


@pytest.mark.parametrize("side", [None, "left"])
def test_unused_rows_cost_nothing(side, monkeypatch):
    """Kernels get the used rows of a static cache, so tables of biases are as small as they."""
    from pe_attention.integrations import _hf_attention

    lengths = []

    def attention(query, key, value, *rest, **named):
        lengths.append(key.shape[2])
        return pe.attention(query, key, value, *rest, **named)

    monkeypatch.setattr(_hf_attention, "attention", attention)
    model = llama()
    use(model, lambda layer: ENCODINGS["fire"](), replace_rope=True)
    tokens, mask = padded(side) if side else (TOKENS, torch.ones_like(TOKENS))
    generated(model, "static", tokens, mask, max_new_tokens=4)
    assert lengths == [length for length in (13, 14, 15, 16) for _ in range(2)]


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_steps_are_calls_of_one_family(kind):
    """The steps of a decoder differ only in the number of keys: they reuse the first one."""
    from pe_attention import _attention

    model = llama()
    use(model, lambda layer: ENCODINGS["fire"](), replace_rope=True)
    _attention.forget()
    with torch.inference_mode():
        generated(model, kind, TOKENS, torch.ones_like(TOKENS))
    # The prompt, which has another number of queries, and the first step.
    assert len(_attention._known) == len(_attention._growing) == 2


def test_beams_and_samples():
    model = llama()
    mask = torch.ones_like(TOKENS)
    given = [{"num_beams": 3}, {"do_sample": True, "top_k": 20, "temperature": 1.5}]
    results = []
    for attach in (False, True):
        if attach:
            use(model)
        for settings in given:
            torch.manual_seed(3)
            results.append(generated(model, "dynamic", TOKENS, mask, **settings))
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])
