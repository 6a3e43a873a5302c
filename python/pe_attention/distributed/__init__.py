"""Attention over several processes with PyTorch's process groups. `context_parallel_attention`
splits the sequence; `pe.attention` accepts DTensors that split batches and heads."""

from ._context import context_parallel_attention
from ._gather import shard, unshard

__all__ = ["context_parallel_attention", "shard", "unshard"]
