"""Plots of entries: completed slices, predictions against the truth, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from vaecp.data.checks import mode_named
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.outcomes import metrics
from vaecp.outcomes.completion import Completion
from vaecp.runtime.extras import require
from vaecp.show.plots.style import BLUE, ORANGE, axes, show_labels

Shown = Literal["observed", "filled", "std"]
PANELS: dict[str, tuple[str, str]] = {
    "observed": ("observed (grey: unknown)", "viridis"),
    "filled": ("filled", "viridis"),
    "std": ("standard deviation", "cividis"),
}
UNKNOWN = "0.75"


def plot_slice(
    completion: Completion,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, Any] | None = None,
    show: Shown = "filled",
    ax: Any = None,
) -> Any:
    """Draw one slice of a completed tensor as a heat map.

    Parameters
    ----------
    completion : what `vaecp.complete` returned.
    rows, columns : names of the modes along the axes; by default those of the most labels.
    at : the label at which each other mode is held; the first label by default.
    show : "observed", "filled" or "std".
    ax : where to draw; a new figure by default.
    """
    if show not in PANELS:
        raise ObservationError(f"show is {show!r}: use one of {', '.join(map(repr, PANELS))}.")
    down, across, place = _where(completion, rows, columns, at or {})
    arrays = {
        "observed": completion.observations.to_array,
        "filled": lambda: np.asarray(completion.filled),
        "std": lambda: np.asarray(completion.std),
    }
    values = arrays[show]()[place]
    limits = (0.0, None)
    if show != "std":  # the same colours in both panels
        filled = np.asarray(completion.filled)[place]
        limits = (float(filled.min()), float(filled.max()))
    ax = axes(ax)
    title, colours = PANELS[show]
    table = values if down < across else values.T
    image = ax.imshow(table, aspect="auto", cmap=colours, vmin=limits[0], vmax=limits[1])
    ax.set_facecolor(UNKNOWN)
    names, labels = completion.observations.mode_names, completion.observations.labels
    show_labels(ax.xaxis, labels[across], rotation=90)
    show_labels(ax.yaxis, labels[down])
    ax.set_xlabel(names[across])
    ax.set_ylabel(names[down])
    ax.set_title(title)
    name = completion.observations.value_name
    ax.figure.colorbar(image, ax=ax, label=f"std of {name}" if show == "std" else name)
    return ax


def plot_slices(
    completion: Completion,
    rows: str | None = None,
    columns: str | None = None,
    at: Mapping[str, Any] | None = None,
    ax: Sequence[Any] | None = None,
) -> Sequence[Any]:
    """Draw one slice three times, side by side: observed, filled, standard deviation.

    `ax` is a sequence of three axes, which is returned; all else is as in `plot_slice`.
    """
    if ax is None:
        figure = require("matplotlib.figure", "plots", "a plot").Figure(
            figsize=(13, 4.5), layout="constrained"
        )
        ax = figure.subplots(1, 3, sharey=True)
    if len(ax) != 3:  # type: ignore[arg-type]
        raise ObservationError(f"ax has {len(ax)} axes: give three, one per panel.")  # type: ignore[arg-type]
    for panel, show in zip(ax, ("observed", "filled", "std"), strict=True):  # type: ignore[arg-type]
        plot_slice(completion, rows, columns, at, show, panel)
    return ax  # type: ignore[return-value]


def plot_predicted(
    prediction: Prediction, values: Any, value_name: str = "value", ax: Any = None
) -> Any:
    """Draw predicted against held-out values, with the standard deviations as whiskers.

    Parameters
    ----------
    prediction : of the held-out entries, from `predict_at` or `predictive`.
    values : what was measured there.
    value_name : what the values are, with their unit.
    ax : where to draw; a new figure by default.
    """
    values = np.asarray(values, dtype=np.float64)
    rmse = metrics.rmse(prediction, values)  # also refuses what does not match
    ax = axes(ax)
    ends = [min(values.min(), prediction.mean.min()), max(values.max(), prediction.mean.max())]
    ax.plot(ends, ends, color="0.5", linestyle="--", linewidth=1, zorder=0)
    look = {"fmt": "o", "markersize": 3, "elinewidth": 0.6, "alpha": 0.6}
    ax.errorbar(values, prediction.mean, yerr=prediction.std, color=BLUE, **look)
    ax.set_xlabel(f"held-out {value_name}")
    ax.set_ylabel(f"predicted {value_name}")
    ax.set_title(f"RMSE {rmse:.3g} on {len(values):,} entries")
    return ax


def plot_calibration(prediction: Prediction, values: Any, ax: Any = None) -> Any:
    """Draw the share of values inside their intervals against the share that is promised.

    Above the diagonal intervals are wider than need be, below it too narrow. The band is
    where 90 % of well calibrated models would lie with as many entries.
    """
    curve = metrics.calibration(prediction, np.asarray(values, dtype=np.float64))
    ax = axes(ax)
    ax.fill_between(curve["level"], curve["low"], curve["high"], color="0.85", lw=0)
    ax.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1)
    ax.plot(curve["level"], curve["share"], marker="o", color=ORANGE)
    ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal")
    ax.set_xlabel("nominal coverage of the interval")
    ax.set_ylabel("share of values inside")
    return ax


def _where(
    completion: Completion, rows: str | None, columns: str | None, at: Mapping[str, Any]
) -> tuple[int, int, tuple[Any, ...]]:
    """Return the modes along the axes, and an index that holds the others."""
    observations = completion.observations
    names = observations.mode_names
    for name in (*([rows] if rows else []), *([columns] if columns else []), *at):
        mode_named(name, names)
    free = [name for name in names if name not in (rows, columns, *at)]
    free.sort(key=lambda name: -observations.shape[names.index(name)])
    rows = rows or free.pop(0)
    columns = columns or free.pop(0)
    if rows == columns:
        raise ObservationError(f"rows and columns are both {rows!r}: name two modes.")
    down, across = names.index(rows), names.index(columns)
    place: list[Any] = [slice(None)] * len(names)
    for mode, name in enumerate(names):
        if mode not in (down, across):
            place[mode] = _row(observations.labels[mode], name, at)
    return down, across, tuple(place)


def _row(labels: np.ndarray, name: str, at: Mapping[str, Any]) -> int:
    if name not in at:
        return 0
    found = np.flatnonzero(pd.Index(labels) == at[name])
    if not len(found):
        some = ", ".join(str(label) for label in labels[:5])
        raise ObservationError(
            f"mode {name!r} has no label {at[name]!r}: its labels are {some}"
            f"{' ...' if len(labels) > 5 else ''}."
        )
    return int(found[0])
