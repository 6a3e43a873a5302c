"""Traces Python formulas by overloading operators and PyTorch functions."""

from .emit import Region
from .graph import REAL, TRUTH, WHOLE, Graph, Place, Source
from .place import refuse
from .recording import refuse_compiled, trace

__all__ = ["REAL", "TRUTH", "WHOLE", "Graph", "Place", "Region", "Source", "refuse",
           "refuse_compiled", "trace"]
