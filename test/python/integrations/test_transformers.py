"""pe.integrations.transformers: tiny models of transformers, built here, against their own eager
attention, against themselves without padding, and decoding against one pass."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import subprocess
import sys

import pytest
import torch

import pe_attention as pe

os.environ.setdefault("HF_HUB_OFFLINE", "1")
INSTALLED = importlib.util.find_spec("transformers") is not None
needs_transformers = pytest.mark.skipif(not INSTALLED, reason="transformers is not installed")

HEADS = 4
TOKENS = torch.randint(3, 60, (2, 13), generator=torch.Generator().manual_seed(1))


def llama(**settings):
    import transformers

    torch.manual_seed(0)
    sizes = {"vocab_size": 61, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": HEADS, "num_key_value_heads": 2,
             "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
             "eos_token_id": None, "initializer_range": 0.2, "attn_implementation": "eager"}
    name = settings.pop("model", "Llama")
    config = getattr(transformers, f"{name}Config")(**{**sizes, **settings})
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()


def t5(**settings):
    import transformers

    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=61, d_model=64, d_kv=16, d_ff=64, num_layers=2, num_heads=HEADS,
        relative_attention_num_buckets=8, relative_attention_max_distance=20, dropout_rate=0.0,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=None, initializer_factor=1.0,
        attn_implementation="eager", **settings)
    model = transformers.T5ForConditionalGeneration(config).eval()
    for name, parameter in model.named_parameters():
        if "relative_attention_bias" in name:
            parameter.data.normal_(0, 1)
    return model


def use(model, *args, **settings):
    return pe.integrations.transformers.use(model, *args, **settings)


def close(found, expected, bound=2e-5):
    error = float((found - expected).detach().norm() / expected.detach().norm())
    assert error < bound, error


def gradients(model, output):
    model.zero_grad()
    weights = torch.linspace(-1, 1, output.numel()).reshape(output.shape)
    (output * weights).sum().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def same_gradients(found, expected):
    assert set(found) == set(expected)
    for name, gradient in expected.items():
        size = max(float(gradient.norm()), 1e-2)
        assert float((found[name] - gradient).norm()) < 1e-4 * size, name


def padded(side, pad=3):
    """Tokens of which the first text has some padding, and the mask."""
    mask = torch.ones_like(TOKENS)
    mask[0, slice(None, pad) if side == "left" else slice(-pad, None)] = 0
    return TOKENS * mask, mask


class still:
    """A Llama model whose rotations turn by nothing."""

    def __init__(self, model):
        self.rotary = model.model.rotary_emb

    def __enter__(self):
        def forward(x, position_ids):
            cos, sin = type(self.rotary).forward(self.rotary, x, position_ids)
            return torch.ones_like(cos), torch.zeros_like(sin)

        self.rotary.forward = forward

    def __exit__(self, *_):
        del self.rotary.forward


# --- Against the models' own attention --------------------------------------------


@needs_transformers
@pytest.mark.parametrize("side", [None, "left", "right"])
def test_llama_computes_what_it_did(side):
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


@needs_transformers
@pytest.mark.parametrize("replace_rope", [True, False])
def test_bias_as_a_matrix(replace_rope):
    """FIRE in place of the rotation or beside it, against its dense bias as an additive mask of
    the model's eager attention; gradients of its parameters too."""
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
    # Softmax cancels the gradient of b2: it is compared with what cancelled.
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


@needs_transformers
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_nothing(name, side):
    """A padded text gives what it gives alone, for encodings of positions too; padding gets no
    gradient from other tokens, and nothing is NaN."""
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


@needs_transformers
@pytest.mark.parametrize("name", ["fire", "alibi"])
def test_packed_texts(name):
    """Texts packed by position_ids give what they give alone."""
    model = llama()
    use(model, lambda layer: ENCODINGS[name](), replace_rope=True)
    ids = torch.cat([torch.arange(5), torch.arange(8)])[None]
    logits = model(TOKENS[:1], position_ids=ids, use_cache=False).logits[0]
    close(logits[:5], model(TOKENS[:1, :5]).logits[0])
    close(logits[5:], model(TOKENS[:1, 5:]).logits[0])


# --- Decoding ----------------------------------------------------------------------


@needs_transformers
@pytest.mark.parametrize("name", ["fire", "rope"])
@pytest.mark.parametrize("static", [False, True])
def test_decoding_is_one_pass(name, static):
    """Token by token behind a first part, with padding in front, against one pass."""
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


@needs_transformers
def test_generate():
    """Greedy tokens with the cache, without one, and with a static one are the same; so are those
    of a beam search with and without a cache."""
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


@needs_transformers
@pytest.mark.parametrize("side", [None, "left", "right"])
def test_t5_computes_what_it_did(side):
    """The model's own relative bias from its table, in encoder and decoder, no bias across."""
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


@needs_transformers
def test_t5_with_another_bias():
    """pe.nn.T5 with the model's numbers in place of its bias is the model; added, it counts
    twice."""
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


@needs_transformers
def test_t5_decoding_and_padding():
    """Decoding with the cache gives what one pass does; a padded source changes nothing."""
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


@needs_transformers
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
    found = losses(model, 12, input_ids=tokens, attention_mask=mask, labels=TOKENS[:, :9].contiguous())
    assert found[-1] < 0.3 * found[0], found


@needs_transformers
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


# --- Other models ----------------------------------------------------------------------


@needs_transformers
@pytest.mark.parametrize("side", ["left", "right"])
def test_sliding_windows(side):
    """Mistral's window in every layer, in one pass and with the model's cache, which keeps a
    window of keys."""
    model = llama(model="Mistral", sliding_window=4)
    tokens, mask = padded(side)
    expected = model(tokens, attention_mask=mask).logits[mask.bool()]
    use(model)
    close(model(tokens, attention_mask=mask).logits[mask.bool()], expected)
    if side == "left":
        cache, parts = None, []
        for begin, end in [(0, 6), *((n, n + 1) for n in range(6, 13))]:
            out = model(tokens[:, begin:end], attention_mask=mask[:, :end], past_key_values=cache,
                        use_cache=True)
            cache = out.past_key_values
            parts.append(out.logits)
        assert cache.layers[0].keys.shape[2] == 3
        close(torch.cat(parts, 1)[mask.bool()], expected)


@needs_transformers
@pytest.mark.parametrize("name", ["Gemma2", "GptOss"])
def test_softcap_and_sinks(name):
    """Gemma2's softcap and gpt-oss's sinks, with layers that have a window and layers that do not;
    gradients of the sinks too."""
    extra = {"head_dim": 16, "sliding_window": 4}
    extra |= {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 16} if name == "Gemma2" else \
        {"num_local_experts": 2, "num_experts_per_tok": 1, "layer_types": [
            "sliding_attention", "full_attention"]}
    model = llama(model=name, **extra)
    expected = model(TOKENS).logits
    reference = gradients(model, expected)
    replaced = use(model)
    found = model(TOKENS).logits
    close(found, expected)
    same_gradients(gradients(model, found), reference)
    assert (name == "GptOss") == any("sinks" in key for key in reference)
    replaced.restore()


@needs_transformers
def test_bidirectional():
    """BERT's attention, which sees keys behind the query, with padding; an encoding is added."""
    import transformers

    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(
        vocab_size=61, hidden_size=64, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=HEADS, attn_implementation="eager"), add_pooling_layer=False).eval()
    tokens, mask = padded("left")
    expected = model(tokens, attention_mask=mask).last_hidden_state[mask.bool()]
    replaced = use(model)
    close(model(tokens, attention_mask=mask).last_hidden_state[mask.bool()], expected)
    replaced = use(model, lambda layer: pe.nn.ALiBi(HEADS))
    other = model(tokens, attention_mask=mask).last_hidden_state[mask.bool()]
    assert not torch.allclose(other, expected, atol=1e-3)
    replaced.restore()


# --- The change itself --------------------------------------------------------------------


@needs_transformers
def test_use_and_restore(tmp_path):
    """Submodules, one shared object, copies, saved files, a second use, restore."""
    from safetensors.torch import load_file

    model = llama()
    names = set(model.state_dict())
    expected = model(TOKENS).logits
    shared = pe.nn.FIRE(heads=HEADS, hidden=(8,))
    first = use(model, lambda layer: shared, replace_rope=True)
    assert all(layer.encoding is shared for layer in first)
    assert "its rotation" in str(first)
    added = {f"model.layers.0.self_attn.pe_encoding.{name}" for name in shared.state_dict()}
    assert set(model.state_dict()) - names == added
    logits = model(TOKENS).logits
    same = copy.deepcopy(model)
    assert torch.equal(same(TOKENS).logits, logits)
    with torch.no_grad():
        shared.w1.mul_(2)
    assert torch.equal(same(TOKENS).logits, logits)
    assert not torch.equal(model(TOKENS).logits, logits)
    same.save_pretrained(tmp_path)
    again = llama(initializer_range=0.1)
    use(again, pe.nn.FIRE(heads=HEADS, hidden=(8,)), replace_rope=True)
    again.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(again(TOKENS).logits, logits)
    torch.save(same, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    assert torch.equal(loaded(TOKENS).logits, logits)
    second = use(model)
    assert set(model.state_dict()) == names
    first.restore()
    assert model.config._attn_implementation == "pe_attention"
    second.restore()
    second.restore()
    assert model.config._attn_implementation == "eager"
    assert torch.equal(model(TOKENS).logits, expected)
    use(same).restore()
    assert torch.equal(same(TOKENS).logits, expected)


@needs_transformers
def test_low_precision_and_compiled_code():
    """bfloat16 weights, and torch.compile, which leaves the making of masks to Python."""
    model = llama()
    use(model, lambda layer: pe.nn.ALiBi(HEADS, learned=True))
    expected = model(TOKENS).logits
    compiled = torch.compile(model, backend="eager")
    tokens, mask = padded("left")
    for given in ({"input_ids": TOKENS}, {"input_ids": tokens, "attention_mask": mask},
                  {"input_ids": TOKENS[:, :7]}, {"input_ids": TOKENS}):
        close(compiled(**given).logits, model(**given).logits)
    low = model.bfloat16()(TOKENS).logits
    assert low.dtype is torch.bfloat16
    close(low.float(), expected, 0.05)


@needs_transformers
def test_refused():
    """One message for each, and nothing has changed."""
    model = llama()
    for given, settings, message in [
            ((pe.nn.ALiBi(3),), {}, "expected one for the 4 heads of model.layers.0.self_attn, "
                                    "found one for 3"),
            ((pe.nn.RoPE(),), {}, "rotates queries and keys itself.*replace_rope=True"),
            ((pe.nn.KeyBias(),), {}, "expected one whose tensors are parameters, found KeyBias"),
            ((lambda layer: 3,), {}, "expected an encoding of pe.nn.*found int"),
            ((pe.nn.ALiBi(4),), {"replace_bias": True}, "found LlamaAttention")]:
        with pytest.raises(pe.InputError, match=message):
            use(model, *given, **settings)
        assert model.config._attn_implementation == "eager"
        assert not any("pe_encoding" in name for name, _ in model.named_modules())
    with pytest.raises(pe.InputError, match="found T5Attention .*replace_bias=True"):
        use(t5(), pe.nn.ALiBi(4), replace_rope=True)
    with pytest.raises(pe.InputError, match="AttentionInterface .*found none in Sequential"):
        use(torch.nn.Sequential(torch.nn.Linear(2, 2)))
    with pytest.raises(pe.InputError, match="expected a model of transformers, found int"):
        use(3)


@needs_transformers
def test_refused_calls():
    import transformers

    model = llama()
    use(model, lambda layer: pe.nn.ALiBi(HEADS))
    for settings, message in [
            ({"output_attentions": True}, "output_attentions: expected none.*eager"),
            ({"attention_mask": torch.ones(2, 1, 13, 13)}, "found a mask .2, 1, 13, 13."),
            ({"cu_seq_lens_q": torch.tensor([0, 13])}, "cu_seq_lens_q.*position_ids alone"),
            ({"strange": 1}, "model.layers.0.self_attn: strange: expected none, found 1")]:
        with pytest.raises(pe.InputError, match=message):
            model(TOKENS, **settings)
    tokens, mask = padded("left")
    use(model, lambda layer: pe.nn.Shaw(16) + pe.nn.LengthScale(HEADS))
    model(tokens, attention_mask=padded("right")[1])
    with pytest.raises(pe.InputError, match="its content takes no positions; pad on the right"):
        model(tokens, attention_mask=mask)
    masks = importlib.import_module("transformers.masking_utils")
    with pytest.raises(pe.InputError, match="attention mask.*found or_masks"):
        masks.create_causal_mask(model.config, torch.zeros(1, 3, 64), None, None,
                                 or_mask_function=lambda b, h, q, k: q == k)
    plain = transformers.T5Model(t5().config)
    plain.set_attn_implementation("pe_attention")
    with pytest.raises(pe.InputError, match=r"position_bias: .*use\(model\)"):
        plain(input_ids=TOKENS, decoder_input_ids=TOKENS)


@needs_transformers
def test_old_library(monkeypatch):
    import transformers

    monkeypatch.setattr(transformers, "__version__", "4.57.1")
    with pytest.raises(pe.InputError, match="expected transformers 5.23 or newer .*found 4.57.1"):
        use(torch.nn.Linear(2, 2))


def test_without_the_library(monkeypatch):
    """Importing pe imports no transformers; use says what is missing."""
    code = "import sys, pe_attention as pe; pe.integrations; assert 'transformers' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(pe.InputError, match="5.23 or newer, found none; pip install"):
        use(torch.nn.Linear(2, 2))
