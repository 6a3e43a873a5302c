"""Tests of `attn_implementation="pe"` without `use`: models with their own positional parts,
compared with their eager attention, and the argument `position_bias`."""

from __future__ import annotations

import importlib
import importlib.util
import sys

import pytest
import torch

import pe_attention as pe

from tiny_models import (HEADS, TOKENS, close, generated, gradients, inkling, inkling2, llama,
                         padded, qwen3_vl, same_gradients, t5, use)

NAME = "pe_attention.integrations.transformers"


@pytest.fixture(autouse=True, scope="module")
def registered():
    importlib.import_module(NAME)


# --- Models ------------------------------------------------------------------------

MODELS = {
    "T5": t5,
    "Inkling": inkling,
    "Inkling2": inkling2,
    "Gemma3": lambda: llama(model="Gemma3", config="Gemma3TextConfig", sliding_window=6,
                            head_dim=16, layer_types=["sliding_attention", "full_attention"],
                            attn_logit_softcapping=2.0, tie_word_embeddings=False),
    "Llama4": lambda: llama(model="Llama4", config="Llama4TextConfig", head_dim=16,
                            intermediate_size_mlp=64, num_local_experts=2, attention_chunk_size=5,
                            no_rope_layers=[1, 0], floor_scale=4, attn_scale=0.3),
    "Phi": lambda: llama(model="Phi"),
    "Phi3": lambda: llama(model="Phi3"),
    "Qwen3-VL": qwen3_vl,
}
IMAGE = torch.tensor([[57, 58, 58, 58, 58, 56, 3, 4, 5, 6]])


def run(name, model, tokens, mask):
    """Returns the logits; those of Qwen3-VL also depend on an image."""
    if name == "T5":
        return model(input_ids=tokens, attention_mask=mask, decoder_input_ids=TOKENS[:, :9]).logits
    logits = model(tokens, attention_mask=mask).logits * mask[..., None]
    if name == "Qwen3-VL":
        pixels = torch.linspace(-9, 9, 16 * 48).reshape(16, 48).sin()
        seen = model(input_ids=IMAGE, pixel_values=pixels, mm_token_type_ids=(IMAGE == 58).int(),
                     image_grid_thw=torch.tensor([[1, 4, 4]])).logits
        logits = torch.cat([logits.flatten(), seen.flatten()])
    return logits


@pytest.mark.parametrize("name", MODELS)
def test_logits_and_gradients(name):
    """With a padded sequence."""
    model = MODELS[name]()
    tokens, mask = padded("left")
    expected = run(name, model, tokens, mask)
    reference = gradients(model, expected)
    model.set_attn_implementation("pe")
    found = run(name, model, tokens, mask)
    close(found, expected)
    same_gradients(gradients(model, found), reference)


# Inkling keeps states of convolutions in its cache, which a list of static layers lacks.
CACHES = {"Inkling": ["dynamic", "none"], "Inkling2": ["dynamic"], "T5": ["made", "static", "none"],
          "Phi": ["dynamic"]}


@pytest.mark.parametrize("name", MODELS)
def test_greedy_tokens_equal_eager(name):
    model = MODELS[name]()
    if name == "T5":
        model.lm_head.weight = torch.nn.Parameter(torch.randn(61, 64))  # no constant continuation
    mask = torch.ones_like(TOKENS)
    for kind in CACHES.get(name, ["dynamic", "static", "sliding"]):
        results = []
        for implementation in ("eager", "pe"):
            model.set_attn_implementation(implementation)
            if name == "T5":
                settings = {"made": {}, "static": {"cache_implementation": "static"},
                            "none": {"use_cache": False}}[kind]
                results.append(model.generate(TOKENS, attention_mask=mask, max_new_tokens=16,
                                              do_sample=False, **settings))
            else:
                results.append(generated(model, kind, TOKENS, mask))
        assert len(torch.unique(results[0][:, -16:])) > 4
        assert torch.equal(*results), kind


# --- position_bias -------------------------------------------------------------------

LENGTH = TOKENS.shape[1]
SHAPES = {"pairs": (LENGTH, LENGTH), "keys of a batch": (2, 1, 1, LENGTH), "number": (1, 1, 1)}


@pytest.mark.parametrize("name", SHAPES)
def test_bias_broadcasts(name):
    """Together with a causal mask, a softcap and sinks, without a copy along broadcast axes."""
    from pe_attention.integrations._hf_attention import attend
    from pe_attention.integrations._hf_bias import pairs_of

    generator = torch.Generator().manual_seed(2)

    def draw(*shape):
        return torch.randn(shape, generator=generator).requires_grad_()

    q, k, v = (draw(2, HEADS, LENGTH, 16) for _ in range(3))
    bias, sink = draw(*SHAPES[name]), draw(HEADS)
    _, passed = pairs_of("", bias, (2, HEADS, LENGTH, LENGTH), LENGTH)
    assert passed.data_ptr() == bias.data_ptr()
    o, _ = attend(torch.nn.Identity(), q, k, v, None, scaling=0.3, softcap=1.5, s_aux=sink,
                  position_bias=bias)
    scores = 1.5 * torch.tanh(q.double() @ k.double().transpose(2, 3) * 0.3 / 1.5) + bias
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, -float("inf"))
    sinks = sink.double().reshape(1, -1, 1, 1).expand(2, -1, LENGTH, 1)
    weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
    expected = (weights @ v.double()).transpose(1, 2)
    close(o, expected)
    wanted = (q, k, v, bias, sink)
    d_o = draw(*o.shape).detach()
    for one, two in zip(torch.autograd.grad(o, wanted, d_o),
                        torch.autograd.grad(expected, wanted, d_o.double()), strict=True):
        close(one, two)


@pytest.mark.parametrize("make", [inkling, inkling2])
def test_use_computes_inklings_bias_in_the_kernel(make):
    """No layer makes a bias per pair then; its rank of 4 is padded."""
    from pe_attention.integrations._hf_attention import attend

    model = make()
    tokens, mask = padded("left")
    expected = run(make.__name__, model, tokens, mask)
    reference = gradients(model, expected)
    replaced = use(model)
    shapes = []
    library = importlib.import_module("transformers.modeling_utils")

    def recorded(*args, position_bias, **settings):
        shapes.append(tuple(position_bias.shape[2:]))
        return attend(*args, position_bias=position_bias, **settings)

    library.AttentionInterface.register("pe_attention", recorded)
    try:
        found = run(make.__name__, model, tokens, mask)
    finally:
        library.AttentionInterface.register("pe_attention", attend)
    assert set(shapes) == {(LENGTH, 4)}
    close(found, expected)
    same_gradients(gradients(model, found), reference)
    replaced.restore()
    model.set_attn_implementation("eager")
    close(run(make.__name__, model, tokens, mask), expected)
    replaced = use(model, lambda layer: pe.nn.KerpleLog(HEADS), replace_bias=True)
    assert all("instead of its relative bias" in str(layer) for layer in replaced)
    assert not torch.allclose(run(make.__name__, model, tokens, mask), expected, atol=1e-3)


@torch.no_grad()
def test_use_generates_with_inkling():
    model = inkling()
    mask = torch.ones_like(TOKENS)
    expected = generated(model, "dynamic", TOKENS, mask)
    use(model)
    assert torch.equal(generated(model, "dynamic", TOKENS, mask), expected)


@torch.no_grad()
def test_bias_and_encoding():
    """An encoding of pe is added to the bias; a padded sequence gives the results of the sequence
    alone, although the encoding reads positions and the bias rows."""
    model = inkling()
    before = model(TOKENS).logits
    replaced = use(model)
    close(model(TOKENS).logits, before)
    use(model, lambda layer: pe.nn.LengthScale(HEADS))
    tokens, mask = padded("right")
    logits = model(tokens, attention_mask=mask).logits
    close(logits[0, :10], model(TOKENS[:1, :10]).logits[0])
    assert not torch.allclose(logits[1], before[1], atol=1e-3)
    from pe_attention.integrations._hf_attention import attend, attached
    from pe_attention.integrations._hf_masks import make_mask

    layer = model.model.layers[0].self_attn
    q, k, v = (torch.randn(1, HEADS, 6, 16) for _ in range(3))
    keep = torch.tensor([[0, 0, 1, 1, 1, 1]]).bool()
    rule = make_mask(1, 6, 6, attention_mask=keep)
    with pytest.raises(pe.InputError, match="its content does not support explicit positions"):
        attend(layer, q, k, v, rule, position_bias=torch.randn(1, HEADS, 6, 4))
    here = attached(layer)
    here.own = None  # as for a bias that pe does not know
    here._sums.clear()
    bias = torch.randn(1, HEADS, 6, 6)
    o, _ = attend(layer, q, k, v, rule, position_bias=bias)
    alone, _ = attend(layer, q[:, :, 2:], k[:, :, 2:], v[:, :, 2:], make_mask(1, 4, 4),
                      position_bias=bias[:, :, 2:, 2:])
    assert here.reads_positions
    close(o[:, 2:], alone)
    replaced.restore()


def test_compiled_to_one_graph():
    """Compiled code finds the encodings that it needs, also before any other call."""
    from pe_attention.integrations import _hf_attention

    _hf_attention._BARE._sums.clear()
    pe.integrations.transformers.register()
    model = t5().encoder
    batch = {"input_ids": TOKENS, "attention_mask": torch.ones_like(TOKENS)}
    expected = model(**batch).last_hidden_state
    model.set_attn_implementation("pe")
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    close(compiled(**batch).last_hidden_state, expected)


@pytest.mark.parametrize("change, message", [
    (lambda bias: bias[..., :7], r"expected a shape that broadcasts to \[2, 4, 13, 13\] \(batch, "
                                 r"heads, queries, keys\), found \[2, 4, 13, 7\]"),
    (lambda bias: bias[:, :3], r"found \[2, 3, 13, 13\]"),
    (lambda bias: bias[None], r"found \[1, 2, 4, 13, 13\]"),
    (lambda bias: bias > 0, "expected a floating type, found torch.bool; pass a mask as")])
def test_refused_biases(change, message):
    """The message names the layer."""
    model = inkling(log_scaling_n_floor=None)
    model.set_attn_implementation("pe")
    layer = model.model.layers[1].self_attn
    layer.rel_logits_proj.register_forward_hook(lambda *given: change(given[-1]))
    with pytest.raises(pe.InputError, match="InklingAttention 1: position_bias: .*" + message):
        model(TOKENS)


def test_refused_sinks():
    from pe_attention.integrations._hf_attention import attend

    q = torch.randn(2, HEADS, 5, 16)
    with pytest.raises(pe.InputError, match=r"Identity: sinks: expected \[2, 4, 5, 1\] \(batch, "
                                            r"heads, queries, 1\), found \[2, 4, 5\]"):
        attend(torch.nn.Identity(), q, q, q, None, sinks=torch.randn(2, HEADS, 5))


# --- Registration ----------------------------------------------------------------------


def imported():
    """Executes the module again, as the first import does."""
    spec = importlib.util.find_spec(NAME)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_import_registers(monkeypatch):
    from transformers import AttentionInterface, AttentionMaskInterface

    for registry in (AttentionInterface, AttentionMaskInterface):
        monkeypatch.setattr(registry, "_global_mapping", {
            name: value for name, value in registry._global_mapping.items() if "pe" not in name})
    with pytest.raises(ValueError, match='implementation="pe"` is not supported'):
        llama(attn_implementation="pe")
    imported()
    for name in ("pe", "pe_attention"):
        model = llama(attn_implementation=name)
        assert model.config._attn_implementation == name
    close(model(TOKENS).logits, llama()(TOKENS).logits)


def test_import_without_the_library(monkeypatch):
    """The import succeeds, and `register` and `use` say which version they need."""
    import transformers

    monkeypatch.setattr(transformers, "__version__", "4.57.1")
    with pytest.raises(pe.InputError, match="expected transformers 5.23 or newer .*found 4.57.1"):
        imported().register()
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(pe.InputError, match="5.23 or newer, found none; pip install"):
        imported().register()
