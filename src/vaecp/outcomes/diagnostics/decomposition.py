"""A fitted model as what the figures are computed from: values, and factors that make them up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator


def decomposition(
    model: TensorEstimator, observations: Observations
) -> tuple[Observations, tuple[np.ndarray, ...]]:
    """Return entries and factors of a sum of products that models them.

    `observations` have the coordinates of those that the model was fitted to. Where it was fitted
    to the values as they are, so are the entries; where to centred or scaled ones, the entries
    are what its products stand for.
    """
    check_is_fitted(model)
    cp = model.fitted_.as_cp()
    if cp is None:
        raise ObservationError(
            f"{type(model).__name__} is not a sum of products: use CPALS, NCP or FBCP."
        )
    if observations.shape != model.shape_:
        raise ObservationError(
            f"the data are {observations.shape}, but the model was fitted to {model.shape_}: give "
            "the data that it was fitted to."
        )
    scaling = model.scaling_
    values = scaling.apply(observations.values, observations.indices) - cp.offset
    unit = scaling.scale if scaling.uniform else 1.0
    sizes = np.abs(unit * cp.weights) ** (1 / len(cp.factors))
    factors = [sizes * rows for rows in cp.factors]
    factors[0] = np.sign(cp.weights) * factors[0]
    return replace(observations, values=unit * values), tuple(factors)
