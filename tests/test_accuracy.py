"""Guards of the accuracy that `benchmarks/accuracy.py` measures, with smaller models.

The margins leave room for other seeds and devices, and none for a recipe that has broken: as
published the model stands above 0.3 on amino, and at 0.8 on the synthetic tensor.
"""

from __future__ import annotations

import numpy as np
import pytest

from vaecp import CPALS, VAECP, datasets
from vaecp.errors import DatasetError
from vaecp.metrics import coverage

SPLIT = 2000


def rmse(model, training, held_out) -> float:
    errors = model.predict_at(held_out.indices).mean - held_out.values
    return float(np.sqrt(np.mean(errors**2)) / training.values.std())


def test_one_short_member_fills_amino_better_than_masked_cp():
    try:
        tensor = datasets.load("amino")
    except DatasetError as error:
        pytest.skip(f"amino is not here: {error}")
    training, held_out = tensor.split(0.2, SPLIT)
    model = VAECP(rank=15, n_members=1, max_epochs=60, cp_start=0.0, random_state=0)
    model.fit_tensor(training)
    cp = CPALS(rank=16, random_state=0).fit_tensor(training)
    found = rmse(model, training, held_out)
    assert found < 0.0145  # masked CP is at 0.0130 to 0.0140 on such splits
    assert found < 1.05 * rmse(cp, training, held_out)
    inside = coverage(model.predict_at(held_out.indices), held_out.values, 0.9)
    assert 0.87 < inside < 0.93


def test_a_rank_that_is_too_large_costs_little_on_a_tensor_that_is_cp():
    training, held_out = datasets.load("synthetic", r=10, seed=SPLIT).split(0.2, SPLIT)
    model = VAECP(rank=20, n_members=2, max_epochs=200, random_state=0).fit_tensor(training)
    cp = CPALS(rank=10, random_state=0).fit_tensor(training)
    assert rmse(model, training, held_out) < 1.03 * rmse(cp, training, held_out)
