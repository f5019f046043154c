"""Plots of what a fitted model learned: rows of components, their relevance, its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.components import Loadings, by_relevance, loadings, relevance, training_history
from vaecp.outcomes.eem import peak_names
from vaecp.show.plots.style import CYCLE, DASHES, MARKERS, axes, is_logarithmic, places, show_labels

N_SHOWN = 3


def plot_loadings(
    model: TensorEstimator,
    mode: str | int,
    components: Sequence[int] | None = None,
    coverage: float = 0.9,
    ax: Any = None,
) -> Any:
    """Draw the rows of one mode against their labels, with credible bands.

    Numbers and dates make a line with a band, categories bars with whiskers. Methods without
    a posterior of the rows are drawn without bands. Components of fluorescence landscapes are
    named by their peak: excitation/emission.

    Parameters
    ----------
    model : fitted, of any method.
    mode : its name, or its number from 0.
    components : which columns of `factors_`; the three most relevant by default.
    coverage : the posterior probability of a band.
    ax : where to draw; a new figure by default.
    """
    number = _mode_number(model, mode)
    rows = loadings(model)[number]
    chosen = _chosen(model, rows, components)
    reach = float(stats.norm.ppf((1 + coverage) / 2))
    ax = axes(ax)
    at, numeric = places(rows.labels)
    draw = _lines if numeric else _bars
    draw(ax, at, rows, chosen, reach, _names(model, rows))
    if not numeric:
        show_labels(ax.xaxis, rows.labels, rotation=40, ha="right")
    elif is_logarithmic(rows.labels):
        ax.set_xscale("log")
    ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_xlabel(rows.mode_name)
    ax.set_ylabel("loading (root mean square 1)")
    if len(chosen) > 1:
        ax.legend()
    return ax


def plot_relevance(model: TensorEstimator, ax: Any = None) -> Any:
    """Draw how far predictions move when a component is levelled, the most relevant first."""
    weights = relevance(model)
    if weights.empty:
        raise ObservationError(
            f"{type(model).__name__} has no components that could be weighed one by one: use a "
            "method that has, such as VAECP or CPALS."
        )
    ax = axes(ax)
    groups = list(weights.groupby("mode", sort=False))
    width = 0.8 / len(groups)
    for place, (mode, group) in enumerate(groups):
        values = np.sort(group["relevance"].to_numpy(float))[::-1]
        at = np.arange(1, len(values) + 1) + (place - (len(groups) - 1) / 2) * width
        hatch = ("", "//", "..", "xx", "\\\\", "--")[place % 6]
        colour = CYCLE[place % len(CYCLE)]
        ax.bar(at, values, width, color=colour, hatch=hatch, edgecolor="white", label=str(mode))
    ax.set_xlabel("component, by relevance")
    ax.set_ylabel(f"RMS change of {model.value_name_} without it")
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(groups) > 1:
        ax.legend()
    return ax


def plot_history(model: TensorEstimator, term: str | None = None, ax: Any = None) -> Any:
    """Draw one term of the objective while the model was fitted, a line per member.

    Parameters
    ----------
    model : fitted.
    term : of `training_history`; by default the RMSE of validation entries, or the method's
        one objective.
    ax : where to draw; a new figure by default.
    """
    history = training_history(model)
    terms = list(dict.fromkeys(history["term"]))
    if not terms:
        raise ObservationError(
            f"{type(model).__name__} kept no history of this fit: it was solved in one step."
        )
    if term is None:
        term = "validation_rmse" if "validation_rmse" in terms else str(terms[0])
    if term not in terms:
        raise ObservationError(f"there is no term {term!r}: use one of {', '.join(terms)}.")
    ax = axes(ax)
    members = list(history[history["term"] == term].groupby("member"))
    for place, (member, line) in enumerate(members):
        look = {"color": CYCLE[place % len(CYCLE)], "linestyle": DASHES[place % len(DASHES)]}
        ax.plot(line["step"], line["value"], label=f"member {member}", **look)
    ax.set_xlabel(model.diagnostics_.step)
    ax.set_ylabel(term.replace("_", " "))
    if len(members) > 1:
        ax.legend()
    return ax


def _mode_number(model: TensorEstimator, mode: str | int) -> int:
    names = model.mode_names_
    if isinstance(mode, str) and mode in names:
        return names.index(mode)
    if isinstance(mode, int | np.integer) and -len(names) <= mode < len(names):
        return int(mode) % len(names)
    raise ObservationError(
        f"there is no mode {mode!r}: use one of {', '.join(map(repr, names))}, or its number."
    )


def _chosen(model: TensorEstimator, rows: Loadings, given: Sequence[int] | None) -> list[int]:
    n_components = rows.mean.shape[1]
    if given is None:
        weights = relevance(model)
        if weights.empty:
            return list(range(min(N_SHOWN, n_components)))
        return by_relevance(weights, rows.mode_name)[:N_SHOWN].tolist()
    for component in given:
        if not 0 <= component < n_components:
            raise ObservationError(
                f"there is no component {component}: use 0 to {n_components - 1}."
            )
    return list(given)


def _names(model: TensorEstimator, rows: Loadings) -> list[str]:
    peaks = peak_names(model)
    numbers = [f"component {component}" for component in range(rows.mean.shape[1])]
    return numbers if peaks is None else [f"{n} ({p})" for n, p in zip(numbers, peaks, strict=True)]


def _lines(
    ax: Any, at: np.ndarray, rows: Loadings, chosen: list[int], reach: float, names: list[str]
) -> None:
    order = np.argsort(at, kind="stable")
    marker_every = max(1, len(at) // 12)
    for place, component in enumerate(chosen):
        colour = CYCLE[place % len(CYCLE)]
        mean = rows.mean[order, component]
        look = {"marker": MARKERS[place % len(MARKERS)], "markevery": marker_every, "markersize": 4}
        ax.plot(at[order], mean, color=colour, label=names[component], **look)
        if rows.std is not None:
            half = reach * rows.std[order, component]
            ax.fill_between(at[order], mean - half, mean + half, color=colour, alpha=0.2, lw=0)


def _bars(
    ax: Any, at: np.ndarray, rows: Loadings, chosen: list[int], reach: float, names: list[str]
) -> None:
    width = 0.8 / len(chosen)
    for place, component in enumerate(chosen):
        shift = (place - (len(chosen) - 1) / 2) * width
        ax.bar(
            at + shift,
            rows.mean[:, component],
            width,
            yerr=None if rows.std is None else reach * rows.std[:, component],
            color=CYCLE[place % len(CYCLE)],
            hatch=("", "//", "..")[place % 3],
            edgecolor="white",
            capsize=2,
            label=names[component],
        )
