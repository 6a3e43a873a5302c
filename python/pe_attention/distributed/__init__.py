"""One attention over several processes, on PyTorch's process groups: a sequence that is split over
them (`context_parallel_attention`), and heads and batches of DTensors, which `pe.attention` takes.
"""

from ._context import context_parallel_attention
from ._gather import shard, unshard

__all__ = ["context_parallel_attention", "shard", "unshard"]
