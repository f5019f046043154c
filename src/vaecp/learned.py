"""What a fitted model learned, in a form that can be drawn: rows, relevance, history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from vaecp.errors import ObservationError
from vaecp.models.base import Fitted, TensorEstimator
from vaecp.models.cp_fitted import CPFitted
from vaecp.models.fbcp import FittedFBCP
from vaecp.models.tucker import TuckerFitted
from vaecp.models.vaecp_fitted import FittedVAECP

ALL_MODES = "all modes"
N_ENTRIES = 2048
"""Entries over which the effect of a component is averaged."""

HISTORY = pd.Index(["step", "term", "member", "value"])
OBJECTIVES = {"history_": "sum of squares", "bound_": "evidence bound"}


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
    means, stds = model.fitted_.factors, _row_stds(model.fitted_)
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


@singledispatch
def _row_stds(fitted: Fitted) -> tuple[np.ndarray, ...] | None:
    """Return the standard deviation of every row, where the method has a posterior of it."""
    return None


@_row_stds.register
def _(fitted: FittedVAECP) -> tuple[np.ndarray, ...]:
    member = int(np.argmax(fitted.member_weights))
    return tuple(np.exp(0.5 * rows[member, :-1]) for rows in fitted.row_log_variance)


@_row_stds.register
def _(fitted: FittedFBCP) -> tuple[np.ndarray, ...]:
    return tuple(
        np.sqrt(np.diagonal(covariance[:-1], axis1=1, axis2=2)) for covariance in fitted.covariances
    )


@_row_stds.register
def _(fitted: CPFitted) -> tuple[np.ndarray, ...]:
    modes = zip(fitted.counts, fitted.axes, fitted.information, strict=True)
    return tuple(
        np.sqrt((1 / (1 + np.outer(count[:-1], information))) @ axes**2)
        for count, axes, information in modes
    )


# ---- relevance -------------------------------------------------------------------------


def relevance(model: TensorEstimator, random_state: int = 0) -> pd.DataFrame:
    """Say how much each component matters, in the units of the values.

    A component is levelled, every row taking its average over the rows, and the relevance is the
    root mean square by which predictions at random coordinates move. Of VAECP the member that
    counts most is asked. Components of Tucker methods belong to one mode each; those of the
    others run through all modes.

    Returns
    -------
    A table with the columns `mode`, `component` (from 0, as in `factors_`) and `relevance`.
    """
    check_is_fitted(model)
    fitted = _one_member(model.fitted_)
    random = np.random.default_rng(random_state)
    indices = model._known(random.integers(0, model.shape_, (N_ENTRIES, len(model.shape_))))
    rows: list[tuple[str, int, float]] = []
    with model._on_device():
        before = fitted.predict_mean(indices)
        for mode, component, levelled in _levelled(model, fitted):
            moved = np.asarray(levelled.predict_mean(indices) - before, dtype=np.float64)
            rows.append((mode, component, model.standardiser_.scale * _rms(moved)))
    return pd.DataFrame(rows, columns=pd.Index(["mode", "component", "relevance"]))


def by_relevance(weights: pd.DataFrame, mode_name: str) -> np.ndarray:
    """Return the components of a mode, the most relevant first, from what `relevance` found."""
    here = weights["mode"].isin([ALL_MODES, mode_name]).to_numpy()
    found = weights["relevance"].to_numpy(float)[here]
    return weights["component"].to_numpy()[here][np.argsort(-found, kind="stable")]


def has_components(model: TensorEstimator) -> bool:
    """Whether `relevance` can weigh the components of this method."""
    return _tables_field(model.fitted_) is not None


def _levelled(model: TensorEstimator, fitted: Fitted) -> Iterator[tuple[str, int, Fitted]]:
    field = _tables_field(fitted)
    if field is None:
        raise ObservationError(
            f"{type(model).__name__} has no components that could be weighed one by one: use "
            "VAECP, CPALS, NCP, FBCP, HOSVD or TuckerALS."
        )
    tables = getattr(fitted, field)
    if isinstance(fitted, TuckerFitted):
        for mode, table in enumerate(tables):
            for component in range(table.shape[-1]):
                levelled = tuple(
                    _level(other, component) if place == mode else other
                    for place, other in enumerate(tables)
                )
                yield model.mode_names_[mode], component, replace(fitted, **{field: levelled})
        return
    for component in range(tables[0].shape[-1]):
        levelled = tuple(_level(table, component) for table in tables)
        yield ALL_MODES, component, replace(fitted, **{field: levelled})


def _level(table: np.ndarray, component: int) -> np.ndarray:
    table = np.array(table)
    column = table[..., component]
    column[...] = column[..., :-1].mean(axis=-1, keepdims=True)
    return table


def _tables_field(fitted: Fitted) -> str | None:
    for kind, field in (
        (FittedVAECP, "row_mean"),
        (FittedFBCP, "means"),
        ((CPFitted, TuckerFitted), "tables"),
    ):
        if isinstance(fitted, kind):
            return field
    return None


def _one_member(fitted: Any) -> Any:
    if not isinstance(fitted, FittedVAECP):
        return fitted
    weights = np.zeros_like(fitted.member_weights)
    weights[int(np.argmax(fitted.member_weights))] = 1
    return replace(fitted, member_weights=weights)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


# ---- history ---------------------------------------------------------------------------


def training_history(model: TensorEstimator) -> pd.DataFrame:
    """Return how the fit went: one row per step, term and member of an ensemble.

    Columns are `step`, `term`, `member` and `value`. Methods that are solved without
    iterating have no rows.
    """
    check_is_fitted(model)
    found = getattr(model, "history_", None)
    if isinstance(found, pd.DataFrame):
        long = found.melt(id_vars=["epoch", "member"], var_name="term", value_name="value")
        return long.rename(columns={"epoch": "step"}).reindex(columns=HISTORY)
    parts = [
        pd.DataFrame(
            {"step": np.arange(1, len(values) + 1), "term": term, "member": 0, "value": values}
        )
        for attribute, term in OBJECTIVES.items()
        if (values := getattr(model, attribute, None)) is not None and len(values)
    ]
    return pd.concat(parts) if parts else pd.DataFrame(columns=HISTORY)
