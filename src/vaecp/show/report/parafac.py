"""What chemometricians ask of a sum of products: is it one, how many, and which rows pull at it."""

from __future__ import annotations

from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.models.base import TensorEstimator
from vaecp.outcomes import diagnostics
from vaecp.outcomes.components import by_relevance, relevance
from vaecp.outcomes.diagnostics import Diagnosis
from vaecp.outcomes.diagnostics.ranks import consistency_text
from vaecp.outcomes.eem import peak_names
from vaecp.show.report.numbers import few_digits, label_texts

MAX_ROWS = 600


def parafac(
    model: TensorEstimator, observations: Observations | None, diagnosis: Diagnosis | None
) -> dict[str, Any] | None:
    """Return texts, tables and figures of the section; None for what is no sum of products."""
    if observations is None or model.fitted_.as_cp() is None or not model.scaling_.scale:
        return None
    entries, factors = diagnostics.decomposition(model, observations)
    return {
        "words": _words(entries, factors),
        "components": _components(model, entries, factors),
        "verdict": None if diagnosis is None else diagnosis.verdict(),
        "ranks": [] if diagnosis is None else rank_rows(diagnosis),
        "split_mode": None if diagnosis is None else diagnosis.split_mode,
        "influence": _influence(entries, factors),
    }


def _influence(entries: Observations, factors: tuple[np.ndarray, ...]) -> list[dict[str, Any]]:
    """Return leverage and residual of every mode's labels, the most notable of many."""
    found = []
    for mode, name in enumerate(entries.mode_names):
        table = diagnostics.influence(entries, factors, mode).dropna()
        leverage, residual = (table[each].to_numpy(float) for each in ("leverage", "residual"))
        far = leverage / (leverage.max() or 1.0) + residual / (residual.max() or 1.0)
        kept = np.sort(np.argsort(-far, kind="stable")[:MAX_ROWS])
        found.append(
            {
                "mode": name,
                "labels": label_texts(entries.labels[mode][table.index.to_numpy()[kept]]),
                "leverage": few_digits(leverage[kept]),
                "residual": few_digits(residual[kept]),
            }
        )
    return found


def rank_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return one row of text per number of components."""
    return [
        [
            str(check.rank),
            f"{check.explained:.5g} %",
            consistency_text(check.core_consistency),
            "" if np.isnan(check.split_half) else f"{check.split_half:.2f}",
            f"{check.n_alike} of {check.n_starts}",
            "" if check.rank == 1 else f"{check.cancelling:.2f}",
        ]
        for check in diagnosis.checks
    ]


def _words(entries: Observations, factors: tuple[np.ndarray, ...]) -> str:
    words = f"The components explain {diagnostics.explained_variation(entries, factors):.5g} % of the variation."
    if entries.n_modes > 2:
        found = diagnostics.core_consistency(entries, factors)
        if np.isfinite(found):
            words += f" The core consistency is {consistency_text(found)}."
    pairs = diagnostics.degenerate_pairs(factors)
    if pairs:
        words += (
            f" {len(pairs)} pair{'s' if len(pairs) > 1 else ''} of components cancel each other "
            f"(congruence {min(pair[2] for pair in pairs):.2f}): they have no meaning one by one. Use "
            "fewer components, or constraints."
        )
    return words


def _components(
    model: TensorEstimator, entries: Observations, factors: tuple[np.ndarray, ...]
) -> list[list[str]]:
    """Return number, peak and own variation of every component, in the order of the page."""
    order = by_relevance(relevance(model), model.mode_names_[0])
    variation = diagnostics.component_variation(entries, factors)
    peaks = peak_names(model) or [""] * len(variation)
    return [
        [str(place + 1), peaks[component], f"{variation[component]:.3g} %"]
        for place, component in enumerate(order)
    ]
