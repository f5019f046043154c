"""Plots that people decide by: figures against the number of components, leverage, residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes.diagnostics.congruence import Factors
from vaecp.outcomes.diagnostics.ranks import ALIKE, CONSISTENT, MOSTLY, Diagnosis
from vaecp.outcomes.diagnostics.residuals import influence, residual_map
from vaecp.runtime.extras import require
from vaecp.show.plots.style import BLUE, ORANGE, axes, show_labels

PANELS = (
    ("explained", "explained variation (%)", None),
    ("core_consistency", "core consistency (%)", CONSISTENT),
    ("split_half", "congruence of halves", ALIKE),
    ("starts_alike", "share of starts that end alike", MOSTLY),
)
N_NAMED = 8


def plot_diagnosis(diagnosis: Diagnosis, ax: Sequence[Any] | None = None) -> Sequence[Any]:
    """Draw what speaks for each number of components; dashed lines are what is asked for.

    `ax` is a sequence of four axes, which is returned. A core consistency below 0 is drawn at 0.
    """
    if ax is None:
        figure = require("matplotlib.figure", "plots", "a plot").Figure(
            figsize=(13, 3.6), layout="constrained"
        )
        ax = figure.subplots(1, len(PANELS))
    if len(ax) != len(PANELS):  # type: ignore[arg-type]
        raise ObservationError(f"ax has {len(ax)} axes: give {len(PANELS)}, one per panel.")  # type: ignore[arg-type]
    table = diagnosis.table()
    for panel, (column, title, least) in zip(ax, PANELS, strict=True):  # type: ignore[arg-type]
        values = table[column].to_numpy(float)
        panel.plot(table["rank"], np.maximum(values, 0), marker="o", color=BLUE)
        if least is not None:
            panel.axhline(least, color="0.5", linestyle="--", linewidth=1)
        if diagnosis.rank is not None:
            panel.axvline(diagnosis.rank, color=ORANGE, linewidth=1, zorder=0)
        panel.set_xticks(table["rank"])
        panel.set_ylim(bottom=0, top=None if least is None else 1.05 * max(least, _top(column)))
        panel.set_xlabel("components")
        panel.set_title(title)
    return ax  # type: ignore[return-value]


def plot_influence(
    observations: Observations, factors: Factors, mode: int = 0, ax: Any = None
) -> Any:
    """Draw the residual of every label of a mode against its leverage.

    Labels far to the right have much influence on the model; labels high up are not described by it.
    """
    table = influence(observations, factors, mode)
    leverage, residual = (table[name].to_numpy(float) for name in ("leverage", "residual"))
    ax = axes(ax)
    ax.plot(leverage, residual, "o", color=BLUE)
    far = np.nan_to_num(np.hypot(leverage, residual / (np.nanmax(residual) or 1.0)))
    for row in np.argsort(-far)[:N_NAMED]:
        name = str(observations.labels[mode][row]).replace("$", r"\$")
        at = (leverage[row], residual[row])
        ax.annotate(name, at, xytext=(4, 4), textcoords="offset points")
    ax.set_xlim(0, 1.05)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(f"leverage of {observations.mode_names[mode]}")
    ax.set_ylabel(f"residual {observations.value_name} (root mean square)")
    return ax


def plot_residual_map(
    observations: Observations,
    factors: Factors,
    rows: int | None = None,
    columns: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw the root mean square residual over two modes, by default those of the most labels."""
    first, second = sorted(np.argsort(observations.shape, kind="stable")[-2:].tolist())
    down = first if rows is None else rows
    across = second if columns is None else columns
    ax = axes(ax)
    ax.set_facecolor("0.75")
    found = residual_map(observations, factors, down, across)
    image = ax.imshow(found, aspect="auto", cmap="cividis", vmin=0)
    show_labels(ax.xaxis, observations.labels[across], rotation=90)
    show_labels(ax.yaxis, observations.labels[down])
    ax.set_xlabel(observations.mode_names[across])
    ax.set_ylabel(observations.mode_names[down])
    ax.figure.colorbar(image, ax=ax, label=f"residual {observations.value_name} (root mean square)")
    return ax


def _top(column: str) -> float:
    return 100.0 if column == "core_consistency" else 1.0
