"""What encodings are written with."""

from ._declare import Declaration, per_head, scalar, vector
from ._formula import bias, score_mod
from ._mlir import from_mlir
from ._module import Encoding

__all__ = ["Declaration", "Encoding", "bias", "from_mlir", "per_head", "scalar", "score_mod",
           "vector"]
