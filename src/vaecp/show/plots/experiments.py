"""Plots of experiments: methods compared, ranks compared, a course of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vaecp.errors import ObservationError
from vaecp.models import registry
from vaecp.show.plots.style import BLUE, CYCLE, MARKERS, ORANGE, axes, colour_of

RMSE = "RMSE of held-out entries (standard deviations)"
WIDE = 20.0
"""From this ratio of the largest to the smallest RMSE on, the axis is logarithmic."""


def plot_rmse_boxes(results: Any, ax: Any = None) -> Any:
    """Draw a box of the repeats' RMSE per method, with every repeat as a dot.

    Parameters
    ----------
    results : rows of one dataset and one comparison, with columns `method`, `rmse` and
        `repeat`; rows without an RMSE are left out.
    ax : where to draw; a new figure by default.
    """
    measured = results[results["rmse"].notna()]
    _refuse_empty(measured, "a box plot")
    ax = axes(ax)
    methods = _in_order(measured["method"])
    values = [measured.loc[measured["method"] == m, "rmse"].to_numpy(float) for m in methods]
    boxes = ax.boxplot(values, patch_artist=True, showfliers=False, widths=0.6)
    for name, box, median in zip(methods, boxes["boxes"], boxes["medians"], strict=True):
        box.set(facecolor=colour_of(name), alpha=0.6)
        median.set_color("black")
    for place, found in enumerate(values, start=1):
        spread = place + np.linspace(-0.12, 0.12, len(found)) * (len(found) > 1)
        ax.plot(spread, found, ".", color="black", markersize=3)
    ax.set_xticks(range(1, len(methods) + 1), methods, rotation=40, ha="right")
    _scale(ax, np.concatenate(values))
    ax.set_ylabel(RMSE)
    return ax


def plot_rank_curve(results: Any, ax: Any = None, effective: tuple[int, ...] | None = None) -> Any:
    """Draw the median RMSE over the folds against the rank, with its range, per method.

    Parameters
    ----------
    results : rows with columns `rank`, `rmse`, and `method` (or `dataset`, where there are
        several): one curve each.
    ax : where to draw; a new figure by default.
    effective : an effective rank, its lowest and its highest likely value, shown as a band.
    """
    measured = results[results["rmse"].notna() & results["rank"].notna()]
    _refuse_empty(measured, "a rank curve")
    ax = axes(ax)
    by = "dataset" if measured["dataset"].nunique() > 1 else "method"
    for place, (name, group) in enumerate(measured.groupby(by, sort=False)):
        found = group.astype({"rank": int}).groupby("rank")["rmse"].agg(["median", "min", "max"])
        colour = colour_of(str(name)) if by == "method" else CYCLE[place % len(CYCLE)]
        marker = MARKERS[place % len(MARKERS)]
        ax.plot(found.index, found["median"], marker=marker, color=colour, label=str(name))
        ax.fill_between(found.index, found["min"], found["max"], color=colour, alpha=0.2)
    if effective is not None:
        count, low, high = effective
        ax.axvspan(low, high, color="0.5", alpha=0.15, linewidth=0)
        ax.axvline(count, color="0.5", linestyle="--", label=f"{count} components above the noise")
    _scale(ax, measured["rmse"].to_numpy(float))
    ax.set_xlabel("rank (width of the latent rows)")
    ax.set_ylabel("cross-validated RMSE (standard deviations)")
    ax.legend()
    return ax


def plot_training(elbo: Sequence[float], rmse: Sequence[float], ax: Any = None) -> Any:
    """Draw the evidence bound and the RMSE of validation entries, epoch by epoch."""
    ax = axes(ax)
    epochs = np.arange(1, len(rmse) + 1)
    ax.plot(epochs, rmse, color=ORANGE, label="validation RMSE")
    ax.set_xlabel("epoch")
    ax.set_ylabel("validation RMSE (standard deviations)", color=ORANGE)
    ax.set_ylim(bottom=0)
    other = ax.twinx()
    other.plot(epochs, elbo, color=BLUE, linestyle="--", label="ELBO")
    other.set_ylabel("ELBO (nats, dashed)", color=BLUE)
    return ax


def _scale(ax: Any, values: np.ndarray) -> None:
    """From zero, so that sizes can be compared; by factors where one method dwarfs the rest."""
    if values.min() > 0 and values.max() / values.min() >= WIDE:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)


def _in_order(methods: Any) -> list[str]:
    found = list(dict.fromkeys(methods))
    known = registry.methods()
    return [m for m in known if m in found] + [m for m in found if m not in known]


def _refuse_empty(measured: Any, what: str) -> None:
    if measured.empty:
        raise ObservationError(f"there is no measured RMSE for {what}: run the methods first.")
