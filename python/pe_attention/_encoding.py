"""The public names for writing encodings."""

from ._declare import Declaration, per_head, scalar, vector
from ._formula import bias, score_mod
from ._mlir import from_mlir
from ._module import Encoding
from ._rotation_fn import rotation

__all__ = ["Declaration", "Encoding", "bias", "from_mlir", "per_head", "rotation", "scalar",
           "score_mod", "vector"]
