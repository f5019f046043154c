"""Plots of fluorescence: landscapes of excitation and emission, and what was calibrated on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from vaecp.data.eem import eem_modes
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes.concentrations import Calibration
from vaecp.runtime.extras import require
from vaecp.show.plots.style import CYCLE, MARKERS, axes

N_LEVELS = 15
UNKNOWN = "0.75"


def plot_landscape(
    observations: Observations,
    sample: Any = None,
    ax: Any = None,
    levels: Sequence[float] | None = None,
) -> Any:
    """Draw the fluorescence of one sample as contours over excitation and emission.

    Parameters
    ----------
    observations : three modes, of which two have names that begin with ex and em.
    sample : its label; the first by default.
    ax : where to draw; a new figure by default. What is missing is grey.
    levels : of the contours; fifteen over the range of the values by default.
    """
    excitation, emission, slab = _slab(observations, sample)
    ax = axes(ax)
    ax.set_facecolor(UNKNOWN)
    shown = np.ma.masked_invalid(slab)
    filled = ax.contourf(
        excitation, emission, shown, levels=levels or N_LEVELS, cmap="viridis", extend="both"
    )
    ax.set_xlabel("excitation (nm)")
    ax.set_ylabel("emission (nm)")
    ax.figure.colorbar(filled, ax=ax, label=observations.value_name)
    return ax


def plot_landscapes(
    before: Observations, after: Observations, sample: Any = None, ax: Sequence[Any] | None = None
) -> Sequence[Any]:
    """Draw one sample before and after its scatter was removed, with the same colours.

    `ax` is a sequence of two axes, which is returned; all else is as in `plot_landscape`.
    """
    if ax is None:
        figure = require("matplotlib.figure", "plots", "a plot").Figure(
            figsize=(11, 4.5), layout="constrained"
        )
        ax = figure.subplots(1, 2, sharey=True)
    left, right = ax  # type: ignore[misc]
    low, high = np.nanpercentile(_slab(after, sample)[2], [0, 100])
    levels = np.linspace(low, high if high > low else low + 1.0, N_LEVELS).tolist()
    for panel, observations, title in ((left, before, "before"), (right, after, "after")):
        plot_landscape(observations, sample, panel, levels)
        panel.set_title(title)
    return ax  # type: ignore[return-value]


def plot_concentrations(calibration: Calibration, ax: Any = None) -> Any:
    """Draw predicted against known concentrations, each in per cent of its analyte's largest.

    A sample's own concentration took no part in its prediction.
    """
    ax = axes(ax)
    ax.plot([0, 100], [0, 100], color="0.5", linestyle="--", linewidth=1, zorder=0)
    errors = calibration.figures.set_index("analyte")["rmsecv_percent"]
    for place, (analyte, group) in enumerate(calibration.samples.groupby("analyte", sort=False)):
        known, predicted = (group[name].to_numpy(float) for name in ("known", "predicted"))
        largest = np.nanmax(np.abs(known))
        ax.plot(
            100 * known / largest,
            100 * predicted / largest,
            MARKERS[place % len(MARKERS)],
            color=CYCLE[place % len(CYCLE)],
            label=f"{analyte} ({errors[analyte]:.2g} %)",
        )
    ax.set_xlabel("known concentration (% of the largest)")
    ax.set_ylabel("predicted, left out (% of the largest)")
    ax.legend(title="error (RMSECV)")
    return ax


def _slab(observations: Observations, sample: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both wavelength axes, sorted, and the values of one sample: (emission, excitation)."""
    if observations.n_modes != 3:
        raise ObservationError(
            f"the tensor has {observations.n_modes} modes: a landscape needs samples, excitation and "
            "emission."
        )
    modes = eem_modes(observations)
    (other,) = {0, 1, 2} - set(modes)
    labels = pd.Index(observations.labels[other])
    row = 0
    if sample is not None:
        places = np.flatnonzero(labels == sample)
        if not len(places):
            raise ObservationError(
                f"mode {observations.mode_names[other]!r} has no label {sample!r}: its labels are "
                f"{', '.join(map(str, labels[:5]))}{' ...' if len(labels) > 5 else ''}."
            )
        row = int(places[0])
    slab = np.moveaxis(observations.to_array(), (other, modes[1], modes[0]), (0, 1, 2))[row]
    excitation, emission = (observations.labels[mode].astype(np.float64) for mode in modes)
    across, down = np.argsort(excitation), np.argsort(emission)
    return excitation[across], emission[down], slab[np.ix_(down, across)]
