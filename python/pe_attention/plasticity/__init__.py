"""Methods that keep networks able to learn: isometries, optimizer resets, dormant neurons,
shrinking."""

from ._dash import dash_
from ._dormancy import Dormancy, Recycled
from ._measure import measure_dfi, measure_sfe
from ._optimizers import reset_optimizer_states
from ._polar import newton_schulz, polar
from ._report import MatrixReport, Report

__all__ = [
    "Dormancy", "MatrixReport", "Recycled", "Report", "dash_", "measure_dfi", "measure_sfe",
    "newton_schulz", "polar", "reset_optimizer_states"
]
