"""Static plots: every function takes `ax=None`, draws there, and returns the axes."""

from __future__ import annotations

from vaecp.show.plots.diagnostics import plot_diagnosis, plot_influence, plot_residual_map
from vaecp.show.plots.eem import plot_concentrations, plot_landscape, plot_landscapes
from vaecp.show.plots.entries import plot_calibration, plot_predicted, plot_slice, plot_slices
from vaecp.show.plots.experiments import plot_rank_curve, plot_rmse_boxes, plot_training
from vaecp.show.plots.models import plot_history, plot_loadings, plot_relevance

__all__ = [
    "plot_calibration",
    "plot_concentrations",
    "plot_diagnosis",
    "plot_history",
    "plot_influence",
    "plot_landscape",
    "plot_landscapes",
    "plot_loadings",
    "plot_predicted",
    "plot_rank_curve",
    "plot_relevance",
    "plot_residual_map",
    "plot_rmse_boxes",
    "plot_slice",
    "plot_slices",
    "plot_training",
]
