"""Tests of pe.integrations.transformers: a tiny Llama and a tiny T5 compared with their eager
attention, with unpadded inputs, decoding compared with one pass, and training."""

from __future__ import annotations

import pytest
import torch

import pe_attention as pe

from tiny_models import (HEADS, TOKENS, close, gradients, llama, padded,
                         same_gradients, still, t5, use)

# --- Against the models' own attention --------------------------------------------


@pytest.mark.parametrize("side", [None, "left", "right"])
def test_llama_without_an_encoding(side):
    """Without an encoding: logits and all gradients, with padding on either side."""
    model = llama()
    tokens, mask = padded(side) if side else (TOKENS, torch.ones_like(TOKENS))
    counts = mask[..., None].float()
    expected = model(tokens, attention_mask=mask).logits * counts
    reference = gradients(model, expected)
    replaced = use(model)
    assert [layer.name for layer in replaced] == ["model.layers.0.self_attn",
                                                  "model.layers.1.self_attn"]
    logits = model(tokens, attention_mask=mask).logits
    assert logits.isfinite().all()
    close(logits * counts, expected)
    same_gradients(gradients(model, logits * counts), reference)
    replaced.restore()
    assert torch.equal(model(tokens, attention_mask=mask).logits * counts, expected)


@pytest.mark.parametrize("replace_rope", [True, False])
def test_bias_equals_a_dense_bias(replace_rope):
    """FIRE instead of the rotation or in addition to it, compared with its dense bias as an
    additive mask of eager attention, including the gradients of its parameters."""
    model = llama()
    fire = pe.nn.FIRE(heads=HEADS, hidden=(8,), initial_length=4.0)
    replaced = use(model, fire, replace_rope=replace_rope)
    logits = model(TOKENS).logits
    found = gradients(model, logits)
    replaced.restore()
    length = TOKENS.shape[1]
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    bias = fire.dense(length, length).expand(2, -1, -1, -1).masked_fill(hidden, -float("inf"))
    if replace_rope:
        with still(model):
            expected = model(TOKENS, attention_mask=bias).logits
    else:
        expected = model(TOKENS, attention_mask=bias).logits
    close(logits, expected)
    weights = torch.linspace(-1, 1, expected.numel()).reshape(expected.shape)
    for parameter in (*model.parameters(), *fire.parameters()):
        parameter.grad = None
    (expected * weights).sum().backward()
    # Softmax cancels the gradient of b2, so it is compared with the size of the canceled terms.
    largest = max(float(parameter.grad.norm()) for parameter in fire.parameters())
    for name, parameter in fire.named_parameters():
        gradient = found["model.layers.0.self_attn.pe_encoding." + name]
        scale = max(float(parameter.grad.norm()), 0.05 * largest)
        assert float((gradient - parameter.grad).norm()) < 1e-4 * scale, name


# --- Padding -----------------------------------------------------------------------

ENCODINGS = {
    "fire": lambda: pe.nn.FIRE(heads=HEADS, hidden=(8,), threshold="none"),
    "alibi": lambda: pe.nn.ALiBi(HEADS),
    "rope": lambda: pe.nn.RoPE(),
    "stick_breaking": lambda: pe.nn.StickBreaking(),
    "length_scale": lambda: pe.nn.LengthScale(HEADS) + pe.nn.T5(HEADS),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_does_not_change_results(name, side):
    """A padded sequence gives the same results as alone, also for encodings of positions; padding
    gets no gradient from other tokens, and nothing is NaN."""
    model = llama()
    use(model, lambda layer: ENCODINGS[name](), replace_rope=True)
    tokens, mask = padded(side)
    embedded = model.get_input_embeddings()(tokens).detach().requires_grad_()
    logits = model(inputs_embeds=embedded, attention_mask=mask).logits
    alone = model(TOKENS[:1, mask[0].bool()]).logits[0]
    close(logits[0, mask[0].bool()], alone)
    close(logits[1], model(TOKENS[1:]).logits[0])
    (gradient,) = torch.autograd.grad(logits[mask.bool()].square().sum(), embedded)
    assert gradient.isfinite().all() and logits.isfinite().all()
    assert not gradient[mask == 0].any()


@pytest.mark.parametrize("name", ["fire", "alibi"])
def test_packed_sequences(name):
    """Sequences packed by position_ids give the same results as alone."""
    model = llama()
    use(model, lambda layer: ENCODINGS[name](), replace_rope=True)
    ids = torch.cat([torch.arange(5), torch.arange(8)])[None]
    logits = model(TOKENS[:1], position_ids=ids, use_cache=False).logits[0]
    close(logits[:5], model(TOKENS[:1, :5]).logits[0])
    close(logits[5:], model(TOKENS[:1, 5:]).logits[0])


# --- Decoding ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fire", "rope"])
@pytest.mark.parametrize("static", [False, True])
def test_decoding_equals_one_pass(name, static):
    """Decodes token by token after a prefix, with left padding, and compares with one pass."""
    import transformers

    model = llama()
    use(model, lambda layer: ENCODINGS[name](), replace_rope=True)
    tokens, mask = padded("left")
    expected = model(tokens, attention_mask=mask).logits
    cache = transformers.StaticCache(config=model.config, max_cache_len=20) if static else \
        transformers.DynamicCache(config=model.config)
    parts = []
    with torch.no_grad():
        for begin, end in [(0, 7), (7, 8), (8, 9), (9, 11), (11, 12), (12, 13)]:
            parts.append(model(tokens[:, begin:end], attention_mask=mask[:, :end],
                               past_key_values=cache).logits)
    found = torch.cat(parts, 1)
    close(found[mask.bool()], expected[mask.bool()])


def test_generate():
    """Greedy decoding gives the same tokens with a cache, without one and with a static one; so
    does a beam search with and without a cache."""
    model = llama()
    use(model, lambda layer: pe.nn.ALiBi(HEADS, learned=True), replace_rope=True)
    tokens, mask = padded("left")
    given = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False}
    greedy = model.generate(tokens, **given)
    assert torch.equal(greedy, model.generate(tokens, use_cache=False, **given))
    assert torch.equal(greedy, model.generate(tokens, cache_implementation="static", **given))
    beams = model.generate(tokens, num_beams=3, **given)
    assert torch.equal(beams, model.generate(tokens, num_beams=3, use_cache=False, **given))


# --- T5 ------------------------------------------------------------------------------


def t5_logits(model, tokens, mask, targets, **settings):
    return model(input_ids=tokens, attention_mask=mask, decoder_input_ids=targets,
                 **settings).logits


@pytest.mark.parametrize("side", [None, "left", "right"])
def test_t5_without_an_encoding(side):
    """The model's relative bias from its table, in encoder and decoder, and no bias in
    cross-attention."""
    model = t5()
    tokens, mask = padded(side) if side else (TOKENS, torch.ones_like(TOKENS))
    expected = t5_logits(model, tokens, mask, TOKENS[:, :9])
    reference = gradients(model, expected)
    replaced = use(model)
    assert [layer.kind for layer in replaced] == ["T5Attention"] * 6
    found = t5_logits(model, tokens, mask, TOKENS[:, :9])
    close(found, expected)
    same_gradients(gradients(model, found), reference)
    replaced.restore()
    assert torch.equal(t5_logits(model, tokens, mask, TOKENS[:, :9]), expected)


def t5_bias(layer):
    return pe.nn.T5(HEADS, buckets=8, max_distance=20, bidirectional=not layer.is_decoder)


def test_t5_with_another_bias():
    """pe.nn.T5 with the model's table instead of its bias gives the same results; added to it, the
    bias counts twice."""
    model = t5()
    mask = torch.ones_like(TOKENS)
    expected = t5_logits(model, TOKENS, mask, TOKENS[:, :9])
    shared = {}

    def make(layer):
        own = shared.setdefault(layer.is_decoder, t5_bias(layer))
        if layer.has_relative_attention_bias:
            own.table.data.copy_(layer.relative_attention_bias.weight)
        return own

    replaced = use(model, make, replace_bias=True)
    found = t5_logits(model, TOKENS, mask, TOKENS[:, :9])
    close(found, expected)
    tables = [p for n, p in model.named_parameters() if "relative_attention_bias" in n]
    assert len(tables) == 2 and not any(p.requires_grad for p in tables)
    names = gradients(model, found)
    assert sum("pe_encoding.table" in name for name in names) == 2
    replaced = use(model, make)
    assert all(p.requires_grad for p in tables)
    twice = t5_logits(model, TOKENS, mask, TOKENS[:, :9])
    replaced.restore()
    for table in tables:
        table.data *= 2
    close(twice, t5_logits(model, TOKENS, mask, TOKENS[:, :9]))


def test_t5_decoding_and_padding():
    """Decoding with the cache gives the results of one pass, and a padded source does not change
    them."""
    model = t5()
    use(model, t5_bias, replace_bias=True)
    tokens, mask = padded("right")
    expected = t5_logits(model, tokens, mask, TOKENS[:, :9])
    alone = t5_logits(model, tokens[:1, :-3], mask[:1, :-3], TOKENS[:1, :9])
    close(expected[:1], alone)
    cache, parts = None, []
    with torch.no_grad():
        encoded = model.encoder(input_ids=tokens, attention_mask=mask)
        for place in range(9):
            out = model(encoder_outputs=encoded, attention_mask=mask, past_key_values=cache,
                        decoder_input_ids=TOKENS[:, place:place + 1], use_cache=True)
            cache = out.past_key_values
            parts.append(out.logits)
    close(torch.cat(parts, 1), expected)
    given = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False}
    greedy = model.generate(tokens, **given)
    assert torch.equal(greedy, model.generate(tokens, use_cache=False, **given))
    assert torch.equal(greedy, model.generate(tokens, cache_implementation="static", **given))
    model.generate(tokens, num_beams=2, **given)


# --- Training ------------------------------------------------------------------------


def losses(model, steps, **batch):
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    found = []
    for _ in range(steps):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return found


def test_loss_falls():
    model = llama(initializer_range=0.02)
    use(model, lambda layer: pe.nn.FIRE(heads=HEADS, hidden=(8,)), replace_rope=True)
    before = model.model.layers[1].self_attn.pe_encoding.w1.detach().clone()
    found = losses(model, 12, input_ids=TOKENS, labels=TOKENS)
    assert found[-1] < 0.3 * found[0], found
    assert not torch.equal(model.model.layers[1].self_attn.pe_encoding.w1, before)
    model = t5()
    use(model, t5_bias, replace_bias=True)
    tokens, mask = padded("right")
    labels = TOKENS[:, :9].contiguous()
    found = losses(model, 12, input_ids=tokens, attention_mask=mask, labels=labels)
    assert found[-1] < 0.3 * found[0], found


@pytest.mark.parametrize("make", [llama, t5])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(make, reentrant):
    """Recomputed layers drop the same probabilities and give the same gradients."""
    model = make(attention_dropout=0.3) if make is llama else make()
    model.train()
    use(model, lambda layer: pe.nn.ALiBi(HEADS, learned=True))
    batch = {"input_ids": TOKENS, "labels": TOKENS, "attention_mask": padded("right")[1]}

    def run():
        torch.manual_seed(3)
        model.zero_grad()
        model(**batch, use_cache=False).loss.backward()
        return {name: p.grad.clone() for name, p in model.named_parameters()}

    expected = run()
    model.activation_checkpointing_enable({"use_reentrant": reentrant})
    same_gradients(run(), expected)
    if make is llama:
        model.activation_checkpointing_disable()
        model.eval()
        assert not torch.equal(run()["lm_head.weight"], expected["lm_head.weight"])
