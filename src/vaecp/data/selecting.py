"""Keep some labels of a mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vaecp.data.checks import mode_named
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

Range = tuple[float | None, float | None]


def select(observations: Observations, mode: int, rows: np.ndarray) -> Observations:
    """Keep these rows of a mode, in this order, with their labels."""
    places = np.full(observations.shape[mode], -1)
    places[rows] = np.arange(len(rows))
    moved = places[observations.indices[:, mode]]
    indices = np.array(observations.indices[moved >= 0])
    indices[:, mode] = moved[moved >= 0]
    labels = list(observations.labels)
    labels[mode] = labels[mode][rows]
    features = list(observations.features)
    if features and (own := features[mode]) is not None:
        features[mode] = own[rows]
    weights, limits = observations.weights, observations.limits
    return replace(
        observations,
        indices=indices,
        values=observations.values[moved >= 0],
        weights=None if weights is None else weights[moved >= 0],
        limits=None if limits is None else limits.in_rows(mode, places),
        features=tuple(features),
        shape=tuple(len(each) for each in labels),
        labels=tuple(labels),
    )


def within(observations: Observations, **ranges: Range) -> Observations:
    """Keep the labels of modes between two ends, both included; None leaves an end open.

    Examples
    --------
    >>> spectra = Observations.from_array(
    ...     np.ones((2, 5)), mode_names=["sample", "nm"], labels=[["a", "b"], [250, 260, 270, 280, 290]]
    ... )
    >>> within(spectra, nm=(260, 280)).labels[1].tolist()
    [260, 270, 280]
    """
    for name, (low, high) in ranges.items():
        mode = mode_named(name, observations.mode_names)
        labels = observations.labels[mode]
        kept = np.ones(len(labels), dtype=bool)
        if low is not None:
            kept &= labels >= low
        if high is not None:
            kept &= labels <= high
        if not kept.any():
            raise ObservationError(
                f"mode {name!r} has no label from {low} to {high}: its labels run from "
                f"{labels.min()} to {labels.max()}."
            )
        observations = select(observations, mode, np.flatnonzero(kept))
    return observations
