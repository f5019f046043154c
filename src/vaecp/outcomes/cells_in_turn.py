"""Every entry of a tensor in turn, predicted piece by piece: however many there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from vaecp.data.cells import cell_keys, coordinates, distinct_cells
from vaecp.data.observations import Observations
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import (
    CHUNK,
    predict_entries,
    refuse_taken_names,
    result_frame,
)


def completed_cells(
    fitted: TensorEstimator, observations: Observations, coverage: float = 0.9
) -> Iterator[pd.DataFrame]:
    """Yield the rows of `Completion.to_frame`, some at a time, in row-major order."""
    refuse_taken_names((*observations.mode_names, observations.value_name))
    shape = observations.shape
    first, group = distinct_cells(observations.indices, shape)
    known = cell_keys(observations.indices[first], shape)
    values = np.bincount(group, weights=observations.values) / np.bincount(group)
    for start in range(0, observations.n_cells, CHUNK):
        numbers = np.arange(start, min(start + CHUNK, observations.n_cells))
        indices = coordinates(numbers, shape)
        prediction = predict_entries(fitted, indices)
        filled, observed = prediction.mean.copy(), np.zeros(len(numbers), dtype=bool)
        here = slice(*np.searchsorted(known, [numbers[0], numbers[-1] + 1]))
        places = known[here] - numbers[0]
        filled[places], observed[places] = values[here], True
        given = {"value": filled, "observed": observed}
        yield result_frame(observations, indices, given | prediction.columns(coverage))
