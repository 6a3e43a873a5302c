"""Tiny models of transformers, built from configurations, and helpers for their tests."""

from __future__ import annotations

import os

import torch

import pe_attention as pe

os.environ.setdefault("HF_HUB_OFFLINE", "1")

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
    """Returns tokens whose first sequence is padded, and the mask."""
    mask = torch.ones_like(TOKENS)
    mask[0, slice(None, pad) if side == "left" else slice(-pad, None)] = 0
    return TOKENS * mask, mask


class still:
    """A Llama model with identity rotations."""

    def __init__(self, model):
        self.rotary = model.model.rotary_emb

    def __enter__(self):
        def forward(x, position_ids):
            cos, sin = type(self.rotary).forward(self.rotary, x, position_ids)
            return torch.ones_like(cos), torch.zeros_like(sin)

        self.rotary.forward = forward

    def __exit__(self, *_):
        del self.rotary.forward
