"""Names and arguments of other libraries, for the messages of the constructors of `pe.nn`."""

from __future__ import annotations

from .._arguments import Words

_ALIASES = {
    "num_heads": "heads", "n_heads": "heads", "n_head": "heads", "nhead": "heads",
    "nheads": "heads", "num_attention_heads": "heads", "total_num_heads": "heads", "h": "heads",
    "num_buckets": "buckets", "n_buckets": "buckets", "relative_attention_num_buckets": "buckets",
    "max_dist": "max_distance", "relative_attention_max_distance": "max_distance",
    "is_bidirectional": "bidirectional", "learnable": "learned", "trainable": "learned",
    "theta": "base", "rope_theta": "base", "rotary_base": "base", "rotary_emb_base": "base",
    "freq_base": "base", "rotary_dim": "rotary_dims", "rope_dim": "rotary_dims",
    "rope_scaling": "scaling", "interleave": "interleaved", "is_neox_style": "interleaved",
    "dim_head": "head_dim", "dim": "head_dim", "d_head": "head_dim", "head_size": "head_dim",
    "v_dim": "value_dim", "v_head_dim": "value_dim", "mlp_width": "hidden", "width": "hidden",
    "hidden_dim": "hidden", "hidden_size": "hidden", "hidden_features": "hidden",
    "init_L": "initial_length", "init_c": "c", "eps": "epsilon",
    "max_relative_position": "clip", "max_relative_positions": "clip", "k": "clip",
    "max_len": "length", "max_length": "length", "max_seq_len": "length", "seq_len": "length",
    "max_position_embeddings": "length", "num_embeddings": "length", "context_length": "length",
    "embedding_dim": "dim", "embed_dim": "dim", "d_model": "dim", "softcap": "cap",
    "logit_softcap": "cap", "num_terms": "terms", "activation_fn": "activation",
}
_HEAD_DIM = "omit it: the head dim is taken from the query"
_TOKENS = "omit it: the width is taken from the tokens"
_HINTS = {
    "head_dim": _HEAD_DIM,
    "dim": _HEAD_DIM,
    "length": "omit it: any length works",
    "heads": "omit it: the number of heads is taken from the query",
    "device": "omit it: move the module afterwards, with .to(device)",
    "dtype": "omit it: convert the module afterwards, with .to(dtype)",
    "causal": "omit it: the mask belongs to the call, pe.attention(..., mask=pe.causal)",
}
_OF_TOKENS = {"head_dim": _TOKENS, "dim": _TOKENS}
_OF_CLASS = {
    "RoPE": {"*": "the head dim is taken from the query; the base is base=10000.0"},
    "MRoPE": {"mrope_section": "write sections=(16, 24, 24)"},
    "Softcap": {"*": "write cap=30.0"},
    "Shaw": {"*": "write head_dim=64"},
    "MusicTransformer": {"*": "write head_dim=64, and length=2048 for the longest distance"},
    "TransformerXL": {"*": "write head_dim=64"},
    "Learned": {"*": "write Learned(length=512, dim=768)"},
    "Mixture": {"*": "write Mixture(length=512, dim=768)"},
    "Algebraic": {"*": "write longest=5000 for the number of positions", **_OF_TOKENS},
    "Binary": _OF_TOKENS,
    "Sinusoidal": _OF_TOKENS,
}


def words_of(name: str) -> Words:
    """Returns the vocabulary for the class `name` of `pe.nn`."""
    return Words({**_HINTS, **_OF_CLASS.get(name, {})}, _ALIASES)
