"""Positional encodings as modules, for the `encoding` argument of `pe.attention`."""

from .._arguments import check_constructor
from ._biases import (ALiBi, Forgetting, KerpleLog, KerplePower, KeyBias, RelativeTable, Sandwich,
                      T5)
from ._content import Inkling, MusicTransformer, Shaw, TransformerXL
from ._embeddings import Algebraic, Binary, Learned, Mixture, Sinusoidal
from ._fire import FIRE, ClampedFIRE
from ._rotations import RSE, MRoPE, RoPE, RotationTable
from ._scores import (AttentionSink, LengthScale, NoPE, Positions, Sigmoid, Softcap, Softpick,
                      StickBreaking)
from ._words import words_of

__all__ = ["ALiBi", "Algebraic", "AttentionSink", "Binary", "ClampedFIRE", "FIRE", "Forgetting",
           "Inkling", "KerpleLog", "KerplePower", "KeyBias", "Learned", "LengthScale", "MRoPE",
           "Mixture", "MusicTransformer", "NoPE", "Positions", "RSE", "RelativeTable", "RoPE",
           "RotationTable", "Sandwich", "Shaw", "Sigmoid", "Sinusoidal", "Softcap", "Softpick",
           "StickBreaking", "T5", "TransformerXL"]

for _name in __all__:
    check_constructor(globals()[_name], words_of(_name))
