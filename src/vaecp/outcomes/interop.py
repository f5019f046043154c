"""Results in the forms of other libraries: TensorLy, ArviZ, xarray."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.labels import columns_of
from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator
from vaecp.runtime.extras import require


def to_tensorly(model: TensorEstimator) -> Any:
    """Return a fitted CP model (such as CPALS, NCP or FBCP) as a TensorLy `CPTensor`.

    It gives the model's predictions in the units of the data, without the bound on means that lie
    far outside the observed values. Where values were centred before the fit, a last component of
    ones carries what was taken off.

    Examples
    --------
    >>> import numpy as np, tensorly, vaecp
    >>> model = vaecp.CPALS(rank=2, random_state=0).fit([(i, j) for i in "abc" for j in "xyz"],
    ...                                                 [2, 4, 6, 3, 6, 9, 4, 8, 12])
    >>> float(np.round(tensorly.cp_to_tensor(to_tensorly(model))[2, 1]))
    8.0
    """
    check_is_fitted(model)
    cp = model.fitted_.as_cp()
    if cp is None:
        raise ObservationError(
            f"{type(model).__name__} is not a sum of products: a CPTensor can hold CP models, such "
            "as CPALS, NCP and FBCP."
        )
    scaling = model.scaling_
    if not scaling.uniform:
        raise ObservationError(
            f"{type(model).__name__} was fitted to values that were centred or scaled entry by "
            "entry: a CPTensor can hold models with one mean and one scale."
        )
    from tensorly.cp_tensor import CPTensor

    factors, weights = list(cp.factors), scaling.scale * cp.weights
    taken_off = scaling.location + scaling.scale * cp.offset
    if taken_off:
        factors = [np.column_stack([rows, np.ones(len(rows))]) for rows in factors]
        weights = np.append(weights, taken_off)
    return CPTensor((weights, factors))


def to_inference_data(
    model: TensorEstimator, X: Any, y: Any = None, n: int = 1000, random_state: int | None = None
) -> Any:
    """Return draws from the predictive distribution as ArviZ's `InferenceData`.

    Parameters
    ----------
    model : fitted, of any method.
    X : the entries, one column of labels per mode, as in `predict`.
    y : measured values of these entries, where there are any: they become `observed_data`.
    n : how many draws.
    random_state : seed of the draws.
    """
    with warnings.catch_warnings():
        # ArviZ announces its own future once a day.
        warnings.simplefilter("ignore", FutureWarning)
        arviz = require("arviz", "arviz", "InferenceData")
    draws = model.sample(X, n, random_state)
    name = model.value_name_
    entries = np.arange(draws.shape[1])
    labels = {
        mode: ("entry", np.asarray(column))
        for mode, column in zip(model.mode_names_, columns_of(X), strict=True)
    }
    observed = None if y is None else {name: np.asarray(y, dtype=np.float64)}
    found = arviz.from_dict(
        posterior_predictive={name: draws[None]},
        observed_data=observed,
        coords={"entry": entries},
        dims={name: ["entry"]},
        attrs={"inference_library": "vaecp"},
    )
    return found.map(lambda group: group.assign_coords(labels), groups=found.groups())
