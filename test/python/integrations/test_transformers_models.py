"""Tests of pe.integrations.transformers: other models, the effects of `use` on a model, and
errors."""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys

import pytest
import torch

import pe_attention as pe

from conftest import Conversions
from tiny_models import HEADS, TOKENS, close, gradients, llama, padded, same_gradients, t5, use


# --- Other models ----------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
def test_sliding_windows(side):
    """Mistral's window in every layer, in one pass and with the model's cache, which stores a
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


@pytest.mark.parametrize("name", ["Gemma2", "GptOss"])
def test_softcap_and_sinks(name):
    """Gemma2's softcap and gpt-oss's sinks, with layers that have a window and layers that do not,
    and gradients of the sinks."""
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


def test_bidirectional():
    """BERT's bidirectional attention, with padding and an added encoding."""
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


def test_use_and_restore(tmp_path):
    """Submodules, one shared object, copies, saved files, a second use, and restore."""
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


def test_low_precision_and_compiled_code():
    """bfloat16 weights, and torch.compile in one graph with an encoding that reads positions; masks
    that graphs cannot read give an error that names them."""
    model = llama(num_hidden_layers=1)
    use(model, lambda layer: pe.nn.FIRE(HEADS))
    expected = model(TOKENS).logits
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    tokens, mask = padded("left")
    found, plain = (f(tokens, attention_mask=mask, use_cache=False).logits
                    for f in (compiled, model))
    close(found[mask.bool()], plain[mask.bool()])
    for one, two in zip(*(torch.autograd.grad(logits[mask.bool()].square().sum(),
                                              list(model.parameters()))
                          for logits in (found, plain)), strict=True):
        close(one, two)
    close(compiled(TOKENS).logits, expected)
    with pytest.raises(Exception, match="pass attention_mask=torch.ones_like"):
        compiled(TOKENS, use_cache=False)
    with Conversions() as mode:
        low = model.bfloat16()(TOKENS).logits
    assert low.dtype is torch.bfloat16 and mode.calls == 1 and mode.copies == 0
    close(low.float(), expected, 0.05)


def test_refused():
    """Each error has one message and leaves the model unchanged."""
    model = llama()
    for given, settings, message in [
            ((pe.nn.ALiBi(3),), {}, "expected one for the 4 heads of model.layers.0.self_attn, "
                                    "found one for 3"),
            ((pe.nn.RoPE(),), {}, "rotates queries and keys.*replace_rope=True"),
            ((pe.nn.KeyBias(),), {}, "expected one whose tensors are parameters, found KeyBias"),
            ((lambda layer: 3,), {}, "expected None or an encoding such as pe.nn.*found int"),
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


def test_refused_calls():
    model = llama()
    use(model, lambda layer: pe.nn.ALiBi(HEADS))
    for settings, message in [
            ({"output_attentions": True}, "output_attentions: expected none.*eager"),
            ({"attention_mask": torch.ones(2, 1, 13, 13)}, "found a mask .2, 1, 13, 13."),
            ({"cu_seq_lens_q": torch.tensor([0, 13])}, "cu_seq_lens_q.*position_ids"),
            ({"strange": 1}, "model.layers.0.self_attn: strange: expected none, found 1")]:
        with pytest.raises(pe.InputError, match=message):
            model(TOKENS, **settings)
    tokens, mask = padded("left")
    use(model, lambda layer: pe.nn.Shaw(head_dim=16) + pe.nn.LengthScale(HEADS))
    model(tokens, attention_mask=padded("right")[1])
    with pytest.raises(pe.InputError, match="its content does not support explicit positions; pad"):
        model(tokens, attention_mask=mask)
    masks = importlib.import_module("transformers.masking_utils")
    with pytest.raises(pe.InputError, match="attention mask.*found or_masks"):
        masks.create_causal_mask(model.config, torch.zeros(1, 3, 64), None, None,
                                 or_mask_function=lambda b, h, q, k: q == k)


def test_old_library(monkeypatch):
    import transformers

    monkeypatch.setattr(transformers, "__version__", "4.57.1")
    with pytest.raises(pe.InputError, match="expected transformers 5.23 or newer .*found 4.57.1"):
        use(torch.nn.Linear(2, 2))


def test_without_the_library(monkeypatch):
    """Importing pe does not import transformers; `use` reports the missing package."""
    code = ("import sys, pe_attention as pe; pe.integrations; "
            "assert 'transformers' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(pe.InputError, match="5.23 or newer, found none; pip install"):
        use(torch.nn.Linear(2, 2))
