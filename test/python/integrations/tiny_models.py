"""Tiny models of transformers, built from configurations, and helpers for their tests."""

from __future__ import annotations

import os

import torch

import pe_attention as pe

os.environ.setdefault("HF_HUB_OFFLINE", "1")

HEADS = 4
TOKENS = torch.randint(3, 60, (2, 13), generator=torch.Generator().manual_seed(1))


def llama(**settings):
    """Returns a model of the family `model`. `config` and `kind` are the names of its configuration
    and class if they do not follow from it."""
    import transformers

    torch.manual_seed(0)
    sizes = {"vocab_size": 61, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
             "num_attention_heads": HEADS, "num_key_value_heads": 2,
             "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
             "eos_token_id": None, "initializer_range": 0.2, "attn_implementation": "eager"}
    name = settings.pop("model", "Llama")
    config = settings.pop("config", f"{name}Config")
    kind = settings.pop("kind", f"{name}ForCausalLM")
    made = getattr(transformers, config)(**{**sizes, **settings})
    return getattr(transformers, kind)(made).eval()


def inkling(**settings):
    """Two layers with a window and one without; the bias ends at a distance of 9."""
    sizes = {"num_hidden_layers": 3, "local_layer_ids": [0, 1], "sliding_window_size": 5,
             "head_dim": 16, "swa_num_attention_heads": HEADS, "swa_num_key_value_heads": 2,
             "swa_head_dim": 16, "d_rel": 4, "rel_extent": 9, "log_scaling_n_floor": 4,
             "moe_intermediate_size": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
             "n_shared_experts": 1}
    model = llama(model="Inkling", config="InklingTextConfig", **{**sizes, **settings})
    for name, parameter in model.named_parameters():
        if "rel_logits_proj" in name:
            parameter.data.normal_(0, 1)
    return model


def inkling2():
    model = llama(model="Inkling2", config="Inkling2TextConfig", sliding_window_size=5, head_dim=16,
                  swa_num_attention_heads=HEADS, swa_num_key_value_heads=2, swa_head_dim=16,
                  d_rel=4, rel_extent=9, log_scaling_n_floor=4, moe_intermediate_size=16,
                  n_routed_experts=4, num_experts_per_tok=2,
                  layer_types=["hybrid_sliding", "hybrid"])
    for name, parameter in model.named_parameters():
        if "rel_logits_proj" in name or "sink_proj" in name:
            parameter.data.normal_(0, 1)
    return model


def qwen3_vl():
    import transformers

    torch.manual_seed(0)
    text = {"vocab_size": 61, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2,
            "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": 16,
            "initializer_range": 0.2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                                "mrope_section": [4, 2, 2]}}
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2,
              "out_hidden_size": 64, "patch_size": 4, "spatial_merge_size": 2,
              "temporal_patch_size": 1, "num_position_embeddings": 16,
              "deepstack_visual_indexes": [0], "initializer_range": 0.2}
    config = transformers.Qwen3VLConfig(
        text_config=text, vision_config=vision, image_token_id=58, video_token_id=59,
        vision_start_token_id=57, vision_end_token_id=56, attn_implementation="eager")
    return transformers.Qwen3VLForConditionalGeneration(config).eval()


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


# --- Generation ----------------------------------------------------------------------


def make_cache(kind, model):
    """Returns a new cache. "sliding" is a static cache whose layers keep a window, like those of
    dynamic caches, if the model has one; "static" keeps all tokens in every layer."""
    import transformers

    config = model.config.get_text_config(decoder=True)
    if kind == "dynamic":
        return transformers.DynamicCache(config=config)
    if kind == "sliding":
        return transformers.StaticCache(config=config, max_cache_len=48)
    from transformers.cache_utils import StaticLayer

    layers = [StaticLayer(max_cache_len=48) for _ in range(config.num_hidden_layers)]
    return transformers.Cache(layers=layers)


def generated(model, kind, tokens, mask, **settings):
    given = {"attention_mask": mask, "max_new_tokens": 16, "do_sample": False, **settings}
    if kind == "none":
        return model.generate(tokens, use_cache=False, **given)
    return model.generate(tokens, past_key_values=make_cache(kind, model), **given)
