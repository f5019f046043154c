"""The pictures of a diagnosis, as files have them."""

from __future__ import annotations

from typing import Any

from vaecp.data.eem import find_eem_modes
from vaecp.data.observations import Observations
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.concentrations import Calibration
from vaecp.outcomes.diagnostics import Diagnosis, decomposition
from vaecp.runtime.extras import require
from vaecp.show.plots.diagnostics import plot_diagnosis, plot_influence, plot_residual_map
from vaecp.show.plots.eem import plot_concentrations, plot_landscape, plot_landscapes
from vaecp.show.plots.models import plot_loadings


def figures(
    diagnosis: Diagnosis,
    model: TensorEstimator,
    raw: Observations | None,
    calibration: Calibration | None,
) -> dict[str, Any]:
    """Return a figure per file name.

    `model` was fitted to the entries of the diagnosis; `raw` are the same before scatter was
    removed, if it was.
    """
    observations = diagnosis.observations
    entries, factors = decomposition(model, observations)
    found = {
        "components.png": plot_diagnosis(diagnosis)[0].figure,
        "loadings.png": _loadings(model),
        "influence.png": plot_influence(entries, factors).figure,
        "residuals.png": plot_residual_map(entries, factors).figure,
    }
    if observations.n_modes == 3 and find_eem_modes(observations.mode_names) is not None:
        shown = (
            plot_landscape(observations) if raw is None else plot_landscapes(raw, observations)[0]
        )
        found["landscapes.png"] = shown.figure
    if calibration is not None:
        found["concentrations.png"] = plot_concentrations(calibration).figure
    return found


def _loadings(model: TensorEstimator) -> Any:
    """Draw all components of every mode, side by side."""
    n_modes = len(model.mode_names_)
    figure = require("matplotlib.figure", "plots", "a plot").Figure(
        figsize=(4.5 * n_modes, 4), layout="constrained"
    )
    everything = range(model.factors_[0].shape[1])
    for mode, ax in enumerate(figure.subplots(1, n_modes)):
        plot_loadings(model, mode, everything, ax=ax)
    return figure
