"""Everything that the page shows, gathered: texts and tables, and the numbers of its figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from vaecp.data.cells import n_cells
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.diagnostics import Diagnosis
from vaecp.outcomes.holdout import HeldOutCheck
from vaecp.show.report.components import component_figures, history_figures
from vaecp.show.report.folded import folded_rows
from vaecp.show.report.grid import Grid
from vaecp.show.report.notable import SURPRISE, Notable, most_surprising, most_uncertain
from vaecp.show.report.numbers import decimals_for, label_texts, share_shown, shown
from vaecp.show.report.overview import data_overview, modes_of
from vaecp.show.report.parafac import parafac
from vaecp.show.report.quality import labels_at, quality_figures, quality_rows
from vaecp.show.report.settings import code_to_repeat, settings_shown, versions_shown
from vaecp.show.report.words import summary_sentences, tiles


@dataclass(frozen=True, eq=False)
class Reported:
    """What the page is about."""

    model: TensorEstimator
    observations: Observations | None
    grid: Grid
    check: HeldOutCheck | None
    coverage: float
    diagnosis: Diagnosis | None = None
    source: str | None = None

    @property
    def decimals(self) -> int | None:
        """With how many decimals values are shown."""
        scaling = self.model.scaling_
        return decimals_for(scaling.scale, abs(scaling.location))


def contents(subject: Reported, title: str | None = None) -> dict[str, Any]:
    """Return what the template needs; `figures` is for the scripts, all else is text."""
    model, check = subject.model, subject.check
    modes = " \N{MULTIPLICATION SIGN} ".join(model.mode_names_)
    section = parafac(model, subject.observations, subject.diagnosis)
    return {
        "title": title or f"{model.value_name_} by {modes}",
        "method": type(model).__name__,
        "made": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
        "value_name": model.value_name_,
        "tiles": tiles(model, subject.observations, check),
        "summary": summary_sentences(model, subject.observations, check, subject.grid),
        "has_data": subject.observations is not None,
        "check": check,
        "quality": [] if check is None else quality_rows(check),
        "parafac": section,
        "thinned": _thinned(subject.grid, model.mode_names_),
        "coverage": share_shown(subject.coverage),
        "surprise": f"{SURPRISE:g}",
        "has_classes": subject.grid.prediction.classes is not None,
        "entries": _entries(subject),
        "folded": folded_rows(model),
        "settings": settings_shown(model),
        "versions": versions_shown(),
        "code": code_to_repeat(model, subject.source),
        "mode_names": model.mode_names_,
        "figures": _figures(subject) | {"influence": section and section["influence"]},
    }


def _figures(subject: Reported) -> dict[str, Any]:
    model, check, observations = subject.model, subject.check, subject.observations
    scaling = model.scaling_
    quality = None
    if check is not None:
        quality = quality_figures(check, subject.coverage) | {"labels": labels_at(check)}
    overview = None if observations is None else data_overview(observations)
    components = component_figures(model)
    used = _used_rows(subject.grid, overview, components)
    return {
        "value_name": model.value_name_,
        "decimals": subject.decimals,
        "coverage": share_shown(subject.coverage),
        "interval_factor": _interval_factor(subject),
        "modes": modes_of(model.labels_, model.mode_names_, used),
        "kept": [rows.tolist() for rows in subject.grid.kept],
        "grid": subject.grid.packed(scaling.location, scaling.scale, subject.coverage),
        "start": _start(subject.grid),
        "overview": overview,
        "quality": quality,
        "components": components,
        "history": history_figures(model),
    }


def _used_rows(
    grid: Grid, overview: dict[str, Any] | None, components: dict[str, Any]
) -> list[np.ndarray]:
    """Return the rows of each mode whose labels some figure shows: a mode may have millions."""
    used = []
    for mode, kept in enumerate(grid.kept):
        rows = [kept, np.array(components["modes"][mode]["rows"], dtype=np.int64)]
        if overview is not None:
            rows += [np.array(overview["missing"][mode][end]) for end in ("first", "last")]
        used.append(np.unique(np.concatenate(rows)))
    return used


def _interval_factor(subject: Reported) -> float:
    """How many standard deviations the interval reaches, where that is the same for every entry."""
    unit = Prediction(np.zeros(1), np.ones(1), np.zeros(1), subject.grid.prediction.shape)
    return float(unit.interval(subject.coverage)[1][0])


def _start(grid: Grid) -> list[int]:
    """Return the place in the grid at which the browser opens: much observed, much filled."""
    sizes = tuple(len(rows) for rows in grid.kept)
    if grid.given is None or not np.isnan(grid.given).any():
        return [0] * len(sizes)
    gaps = np.isnan(grid.given).reshape(sizes)
    two = sorted(np.argsort(sizes, kind="stable")[-2:].tolist())
    unknown, known = (each.sum(axis=tuple(two), keepdims=True) for each in (gaps, ~gaps))
    both = np.minimum(unknown, known)
    return [int(place) for place in np.unravel_index(int(both.argmax()), both.shape)]


def _thinned(grid: Grid, names: tuple[str, ...]) -> str | None:
    """Say what is left out, where something is."""
    if grid.is_whole:
        return None
    parts = [
        f"{len(rows):,} of {size:,} {name}"
        for rows, size, name in zip(grid.kept, grid.shape, names, strict=True)
        if len(rows) < size
    ]
    return (
        f"Thinned out so that the page opens quickly: {grid.n_cells:,} of {n_cells(grid.shape):,} entries are "
        f"in it, at evenly spaced labels ({', '.join(parts)})."
    )


def _entries(subject: Reported) -> dict[str, Any]:
    uncertain = most_uncertain(subject.grid)
    found: dict[str, Any] = {
        "uncertain": _rows(uncertain, subject),
        "n_uncertain": f"{uncertain.n_candidates:,}",
        "whole": subject.grid.is_whole,
    }
    if subject.observations is not None:
        surprising = most_surprising(subject.observations, subject.grid)
        found["surprising"] = _rows(surprising, subject)
        found["n_surprising"] = f"{surprising.n_candidates:,}"
        found["n_beyond"] = f"{surprising.n_beyond:,}"
        found["share_beyond"] = share_shown(surprising.n_beyond / max(surprising.n_candidates, 1))
    return found


def _rows(notable: Notable, subject: Reported) -> list[dict[str, Any]]:
    texts = [label_texts(labels) for labels in subject.model.labels_]
    low, high = notable.prediction.interval(subject.coverage)
    std, mean = notable.prediction.std, notable.prediction.mean
    classes = notable.prediction.class_columns() if len(notable.indices) else {}
    rows = []
    for place, index in enumerate(notable.indices):
        value = notable.values[place]
        off = (value - mean[place]) / std[place] if std[place] > 0 else np.nan
        rows.append(
            {
                "labels": [texts[mode][row] for mode, row in enumerate(index)],
                "value": shown(value, subject.decimals),
                "mean": shown(mean[place], subject.decimals),
                "std": shown(std[place], subject.decimals),
                "interval": f"{shown(low[place], subject.decimals)} to "
                f"{shown(high[place], subject.decimals)}",
                "off": shown(off, 1),
                "classes": ", ".join(
                    f"{name.removeprefix('p_')}: {share_shown(float(column[place]))}"
                    for name, column in classes.items()
                ),
                "place": _place(subject.grid, index),
            }
        )
    return rows


def _place(grid: Grid, index: np.ndarray) -> str | None:
    """Return where the entry stands in the browser, as the script reads it, if it does."""
    places = [np.flatnonzero(rows == row) for rows, row in zip(grid.kept, index, strict=True)]
    if not all(len(place) for place in places):
        return None
    return ",".join(str(int(place[0])) for place in places)
