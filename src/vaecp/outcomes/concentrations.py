"""From scores of samples to concentrations: calibration with figures of merit.

The samples whose concentrations are asked for take part in the decomposition: so components that
nobody calibrated for do no harm (the second-order advantage).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes.diagnostics.residuals import residuals

DETECTION, QUANTIFICATION = 3.3, 10.0
"""Standard deviations of the noise that a concentration must exceed (IUPAC)."""
FEWEST = 2


@dataclass(frozen=True, eq=False)
class Calibration:
    """Concentrations regressed on scores.

    Attributes
    ----------
    figures : one row per analyte. `component` is the one whose scores follow it (from 0), `r`
        their correlation, `n` the samples with a known concentration; `slope` is in units of
        concentration per score. `rmsec` is the root mean square error of the fit, `rmsecv` that of
        samples left out one by one, both also in per cent of the largest concentration.
        `sensitivity` is the net signal per concentration, `selectivity` its share of the whole
        signal, `detection` and `quantification` are the limits.
    samples : one row per sample and analyte: `known` (NaN where it is asked for), `fitted`, and
        `predicted`, for which a known concentration was left out.
    """

    figures: pd.DataFrame
    samples: pd.DataFrame


def regress_on_scores(
    observations: Observations,
    factors: Sequence[np.ndarray],
    concentrations: pd.DataFrame,
    mode: int = 0,
) -> Calibration:
    """Regress concentrations on the scores of their components, through the origin.

    Parameters
    ----------
    observations, factors : a decomposition, as from `decomposition`.
    concentrations : one row per sample, in the order of the mode's labels, and a column per analyte;
        NaN where the concentration is asked for.
    mode : the mode of the samples.
    """
    known = concentrations.to_numpy(np.float64)
    _check(known, concentrations, observations, mode)
    scores, spectra = _normalised(factors, mode)
    chosen = _components(scores, known, list(map(str, concentrations.columns)))
    noise = float(np.std(residuals(observations, factors)))
    overlap = np.linalg.pinv(np.prod([rows.T @ rows for rows in spectra], axis=0))
    figures, samples = [], []
    for place, analyte in enumerate(concentrations.columns):
        component = chosen[place]
        score, truth = scores[:, component], known[:, place]
        fitted, predicted, slope = _regressed(score, truth)
        selectivity = float(1 / np.sqrt(overlap[component, component]))
        figures.append(
            {
                "analyte": str(analyte),
                "component": int(component),
                **_errors(truth, fitted, predicted),
                "slope": slope,
                "sensitivity": selectivity / abs(slope),
                "selectivity": selectivity,
                "detection": DETECTION * noise * abs(slope) / selectivity,
                "quantification": QUANTIFICATION * noise * abs(slope) / selectivity,
            }
        )
        told = {"known": truth, "fitted": fitted, "predicted": predicted}
        named = {"sample": observations.labels[mode], "analyte": str(analyte)}
        samples.append(pd.DataFrame(named | told))
    return Calibration(pd.DataFrame(figures), pd.concat(samples, ignore_index=True))


def aligned(frame: pd.DataFrame, labels: np.ndarray) -> pd.DataFrame:
    """Put a table of concentrations in the order of samples: by the labels in its first column.

    A table of numbers alone that has as many rows as there are samples is in their order already.
    A sample that the table lacks has unknown concentrations.
    """
    texts = [str(label) for label in labels]
    first = frame.iloc[:, 0].astype(str)
    if first.is_unique and len(frame.columns) > 1 and set(first) & set(texts):
        strangers = [name for name in first if name not in texts]
        if strangers:
            raise ObservationError(
                f"the concentrations have a sample {strangers[0]!r}, which the data do not have: "
                f"the data have {', '.join(texts[:5])}{' ...' if len(texts) > 5 else ''}."
            )
        indexed = frame.iloc[:, 1:].set_axis(first.to_numpy(), axis=0)
        return _numbers(indexed.reindex(texts))
    if len(frame) != len(labels):
        raise ObservationError(
            f"the concentrations have {len(frame)} rows for {len(labels)} samples: give one row per "
            "sample, or the labels of the samples in the first column."
        )
    return _numbers(frame)


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    found: Any = frame.apply(pd.to_numeric, errors="coerce")
    broken = found.isna() & frame.notna() & (frame.astype(str).apply(lambda c: c.str.strip()) != "")
    if broken.to_numpy().any():
        row, column = np.argwhere(broken.to_numpy())[0]
        raise ObservationError(
            f"the concentration of {frame.columns[column]!r} in row {row} is "
            f"{str(frame.iloc[row, column])!r}: give numbers, and leave unknown ones empty."
        )
    return found


def _check(
    known: np.ndarray, concentrations: pd.DataFrame, observations: Observations, mode: int
) -> None:
    if len(known) != observations.shape[mode]:
        raise ObservationError(
            f"there are {len(known)} rows of concentrations for {observations.shape[mode]} samples: "
            "give one row per sample, NaN where they are asked for."
        )
    for place, analyte in enumerate(concentrations.columns):
        values = known[~np.isnan(known[:, place]), place]
        if len(values) < FEWEST or not np.ptp(values):
            raise ObservationError(
                f"analyte {str(analyte)!r} has {len(np.unique(values))} different concentration(s): "
                f"a calibration needs at least {FEWEST}."
            )


def _normalised(factors: Sequence[np.ndarray], mode: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return scores that carry the size of their components, and spectra of length 1."""
    spectra, size = [], np.ones(factors[0].shape[1])
    for place, rows in enumerate(factors):
        if place != mode:
            length = np.linalg.norm(rows, axis=0)
            spectra.append(rows / np.where(length > 0, length, 1.0))
            size = size * length
    return factors[mode] * size, spectra


def _components(scores: np.ndarray, known: np.ndarray, names: list[str]) -> np.ndarray:
    """Return the component that follows each analyte; no two share one while there are enough."""
    strengths = np.zeros((known.shape[1], scores.shape[1]))
    for place, truth in enumerate(known.T):
        seen = ~np.isnan(truth)
        for component, score in enumerate(scores.T):
            if np.ptp(score[seen]):
                strengths[place, component] = abs(_correlation(score[seen], truth[seen]))
    if len(names) > scores.shape[1]:
        return strengths.argmax(axis=1)
    return linear_sum_assignment(-strengths)[1]


def _regressed(score: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the fit through the origin, and each sample's value when it takes no part in it."""
    seen = ~np.isnan(truth)
    products, squares = (
        np.where(seen, score * np.nan_to_num(truth), 0.0),
        np.where(seen, score**2, 0),
    )
    slope = products.sum() / squares.sum()
    left_out = squares.sum() - squares
    slopes = (products.sum() - products) / np.where(left_out > 0, left_out, np.nan)
    return slope * score, slopes * score, float(slope)


def _errors(truth: np.ndarray, fitted: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    seen = ~np.isnan(truth)
    largest = float(np.abs(truth[seen]).max())
    rmsec = float(np.sqrt(np.mean((fitted - truth)[seen] ** 2)))
    rmsecv = float(np.sqrt(np.mean((predicted - truth)[seen] ** 2)))
    return {
        "n": int(seen.sum()),
        "r": _correlation(fitted[seen], truth[seen]),
        "rmsec": rmsec,
        "rmsec_percent": 100 * rmsec / largest,
        "rmsecv": rmsecv,
        "rmsecv_percent": 100 * rmsecv / largest,
    }


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    if not (np.ptp(one) and np.ptp(other)):
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])
