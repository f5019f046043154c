"""Rows that were folded in after the fit, and how sure their entries are beside those of others."""

from __future__ import annotations

import numpy as np

from vaecp.models.base import TensorEstimator
from vaecp.show.report.numbers import label_texts, size_shown

MOST_ROWS = 50
N_CELLS = 300
"""Cells of a row by which it is judged."""


def folded_rows(model: TensorEstimator) -> list[tuple[str, str, str, str]]:
    """Return mode, label, mean std of cells, and that of rows of the fit, of each row."""
    found = []
    random = np.random.default_rng(0)
    for mode, folded in enumerate(getattr(model, "folded_rows_", ())):
        rows = np.flatnonzero(folded)
        if not len(rows):
            continue
        known = np.flatnonzero(model.observed_rows_[mode] & ~folded)
        usual = _mean_std(model, mode, known, random) if len(known) else np.nan
        labels = label_texts(model.labels_[mode][rows[:MOST_ROWS]])
        for row, label in zip(rows[:MOST_ROWS], labels, strict=True):
            own = _mean_std(model, mode, np.array([row]), random)
            found.append((model.mode_names_[mode], label, size_shown(own), size_shown(usual)))
    return found


def _mean_std(
    model: TensorEstimator, mode: int, rows: np.ndarray, random: np.random.Generator
) -> float:
    columns = [random.choice(np.flatnonzero(seen), N_CELLS) for seen in model.observed_rows_]
    columns[mode] = random.choice(rows, N_CELLS)
    return float(model.predict_at(np.stack(columns, axis=1)).std.mean())
