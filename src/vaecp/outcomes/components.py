"""What a fitted model learned, in a form that can be drawn: rows, relevance, history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from vaecp.models.base import TensorEstimator
from vaecp.runtime.blas import one_thread

ALL_MODES = "all modes"
N_ENTRIES = 2048
"""Entries over which the effect of a component is averaged."""

HISTORY = pd.Index(["step", "term", "member", "value"])


@dataclass(frozen=True, eq=False)
class Loadings:
    """The rows of one mode, one column per component, and how sure the model is of them.

    Attributes
    ----------
    mode_name, labels : of the mode; one row per label.
    mean : (rows, components), scaled to a root mean square of 1 per component.
    std : the posterior standard deviations on that scale, or None where the method gives
        points alone.
    """

    mode_name: str
    labels: np.ndarray
    mean: np.ndarray
    std: np.ndarray | None


def loadings(model: TensorEstimator) -> tuple[Loadings, ...]:
    """Return the rows of every mode, scaled for reading.

    The size of a column can be moved from one mode to another without any change to the
    fit, so each is divided by its root mean square. The largest row of every mode but
    the last is made positive, and the last mode takes the sign, so that a product over the modes
    keeps its own. The components of VAECP are those of the member that counts most.
    """
    check_is_fitted(model)
    means, stds = model.fitted_.factors, model.fitted_.row_std()
    scales = _signed_scales(means)
    return tuple(
        Loadings(
            name,
            labels,
            mean / scale,
            None if stds is None else stds[mode] / np.abs(scale),
        )
        for mode, (name, labels, mean, scale) in enumerate(
            zip(model.mode_names_, model.labels_, means, scales, strict=True)
        )
    )


def _signed_scales(means: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    scales = []
    for mean in means:
        size = np.sqrt(np.mean(mean**2, axis=0))
        peak = np.take_along_axis(mean, np.abs(mean).argmax(axis=0)[None], axis=0)[0]
        scales.append(np.where(size > 0, size, 1.0) * np.where(peak < 0, -1.0, 1.0))
    if len({mean.shape[1] for mean in means}) == 1:
        scales[-1] = np.abs(scales[-1]) * np.prod([np.sign(s) for s in scales[:-1]], axis=0)
    return scales


# ---- relevance -------------------------------------------------------------------------


def relevance(model: TensorEstimator, random_state: int = 0) -> pd.DataFrame:
    """Say how much each component matters, in the units of the values.

    A component is levelled, every row taking its average over the rows, and the relevance is the
    root mean square by which the decomposition's predictions at random coordinates move. Of VAECP
    the member that counts most is asked, without the errors of neighbours. Components of Tucker
    methods belong to one mode each; those of the others run through all modes.

    Returns
    -------
    A table with the columns `mode`, `component` (from 0, as in `factors_`) and `relevance`; it has
    no rows where a method has no components.
    """
    check_is_fitted(model)
    random = np.random.default_rng(random_state)
    indices = model._known(random.integers(0, model.shape_, (N_ENTRIES, len(model.shape_))))
    with one_thread(), model._on_device():
        found = model.fitted_.components(indices)
    rows = [
        (
            ALL_MODES if mode is None else model.mode_names_[mode],
            component,
            _rms(model.scaling_.stretch(effect, indices)),
        )
        for mode, effects in found
        for component, effect in enumerate(effects.T)
    ]
    return pd.DataFrame(rows, columns=pd.Index(["mode", "component", "relevance"]))


def by_relevance(weights: pd.DataFrame, mode_name: str) -> np.ndarray:
    """Return the components of a mode, the most relevant first, from what `relevance` found."""
    here = weights["mode"].isin([ALL_MODES, mode_name]).to_numpy()
    found = weights["relevance"].to_numpy(float)[here]
    return weights["component"].to_numpy()[here][np.argsort(-found, kind="stable")]


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# ---- history ---------------------------------------------------------------------------


def training_history(model: TensorEstimator) -> pd.DataFrame:
    """Return how the fit went: one row per step, term and member of an ensemble.

    Columns are `step`, `term`, `member` and `value`. Methods that are solved without
    iterating have no rows.
    """
    check_is_fitted(model)
    parts = []
    for term, values in model.diagnostics_.history.items():
        table = values.reshape(len(values), -1)
        step, member = np.indices(table.shape).reshape(2, -1)
        parts.append(
            pd.DataFrame({"step": step + 1, "term": term, "member": member, "value": table.ravel()})
        )
    return pd.concat(parts) if parts else pd.DataFrame(columns=HISTORY)
