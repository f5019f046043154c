"""Fluorescence landscapes: clean them, name their components, read concentrations off them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from vaecp.data.checks import mode_named
from vaecp.data.eem import Band, find_eem_modes, parse_bands, without_scatter
from vaecp.data.observations import Observations
from vaecp.data.selecting import within
from vaecp.models.base import TensorEstimator
from vaecp.outcomes import concentrations
from vaecp.outcomes.concentrations import Calibration
from vaecp.outcomes.diagnostics.decomposition import decomposition

__all__ = [
    "Band",
    "Calibration",
    "calibrate",
    "parse_bands",
    "peak_names",
    "peaks",
    "within",
    "without_scatter",
]


def peaks(model: TensorEstimator) -> pd.DataFrame | None:
    """Return the excitation and emission at which each component is largest, or None.

    None where the names of the modes do not tell excitation and emission, and where components
    are no spectra because the model is no sum of products.
    """
    check_is_fitted(model)
    modes = find_eem_modes(model.mode_names_)
    if modes is None or model.fitted_.as_cp() is None:
        return None
    found = {
        name: model.labels_[mode][np.abs(model.factors_[mode]).argmax(axis=0)]
        for name, mode in zip(("excitation", "emission"), modes, strict=True)
    }
    return pd.DataFrame(found).rename_axis("component")


def peak_names(model: TensorEstimator) -> list[str] | None:
    """Name every component of a landscape by its peak, such as "280/352 nm"; None for other data."""
    found = peaks(model)
    if found is None:
        return None
    return [f"{excitation:g}/{emission:g} nm" for excitation, emission in found.to_numpy()]


def calibrate(
    model: TensorEstimator,
    observations: Observations,
    known: Any,
    samples: str | None = None,
    analytes: Sequence[str] | None = None,
) -> Calibration:
    """Regress known concentrations on the scores of a fitted CPALS, NCP or FBCP.

    Parameters
    ----------
    model : fitted to `observations`.
    observations : what it was fitted to.
    known : a table or array with one row per sample and a column per analyte, NaN or empty where
        the concentration is asked for; the first column of a table may hold the samples' labels.
    samples : the mode of the samples; the first by default.
    analytes : names of the columns of an array.
    """
    mode = 0 if samples is None else mode_named(samples, observations.mode_names)
    if not isinstance(known, pd.DataFrame):
        array = np.asarray(known, dtype=np.float64)
        columns = analytes or [f"analyte {place + 1}" for place in range(array.shape[1])]
        known = pd.DataFrame(array, columns=pd.Index(columns))
    entries, factors = decomposition(model, observations)
    table = concentrations.aligned(known, observations.labels[mode])
    return concentrations.regress_on_scores(entries, factors, table, mode)
