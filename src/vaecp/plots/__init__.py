"""Static plots: every function takes `ax=None`, draws there, and returns the axes."""

from __future__ import annotations

from vaecp.plots.entries import plot_calibration, plot_predicted, plot_slice, plot_slices
from vaecp.plots.experiments import plot_collapse, plot_rank_curve, plot_rmse_boxes
from vaecp.plots.models import plot_history, plot_loadings, plot_relevance
from vaecp.plots.style import COLOURS

__all__ = [
    "COLOURS",
    "plot_calibration",
    "plot_collapse",
    "plot_history",
    "plot_loadings",
    "plot_predicted",
    "plot_rank_curve",
    "plot_relevance",
    "plot_rmse_boxes",
    "plot_slice",
    "plot_slices",
]
