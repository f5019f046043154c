"""Results in the forms of other libraries: TensorLy, ArviZ, xarray."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.errors import ObservationError
from vaecp.extras import require
from vaecp.labels import columns_of
from vaecp.models.base import TensorEstimator
from vaecp.models.cp_fitted import CPFitted
from vaecp.models.fbcp import FittedFBCP


def to_tensorly(model: TensorEstimator) -> Any:
    """Return a fitted CP model (CPALS, NCP or FBCP) as a TensorLy `CPTensor`.

    It gives the model's predictions in the units of the data: values are centred before a fit,
    so a last component of ones carries what was taken off.

    Examples
    --------
    >>> import numpy as np, tensorly, vaecp
    >>> model = vaecp.CPALS(rank=2, random_state=0).fit([(i, j) for i in "abc" for j in "xyz"],
    ...                                                 [2, 4, 6, 3, 6, 9, 4, 8, 12])
    >>> float(np.round(tensorly.cp_to_tensor(to_tensorly(model))[2, 1]))
    8.0
    """
    check_is_fitted(model)
    fitted = model.fitted_
    if isinstance(fitted, CPFitted):
        tables, offset = fitted.tables, fitted.offset
    elif isinstance(fitted, FittedFBCP):
        tables, offset = fitted.means, 0.0
    else:
        raise ObservationError(
            f"{type(model).__name__} is not a sum of products: a CPTensor can hold CPALS, NCP and "
            "FBCP."
        )
    from tensorly.cp_tensor import CPTensor

    standardiser = model.standardiser_
    factors = [np.column_stack([table[:-1], np.ones(len(table) - 1)]) for table in tables]
    weights = np.full(factors[0].shape[1], standardiser.scale, dtype=np.float64)
    weights[-1] = standardiser.location + standardiser.scale * offset
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
