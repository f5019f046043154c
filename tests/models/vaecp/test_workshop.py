"""Members that are trained on every fold."""

import numpy as np
import pytest

from vaecp import Observations
from vaecp.models.vaecp import workshop as workshops
from vaecp.models.vaecp.holdouts import folds_for
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import Workshop
from vaecp.runtime import threads

SHAPE = (12, 11, 10)


@pytest.fixture
def workshop(random):
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in SHAPE))
    tensor = Observations.from_array(array / array.std() + 0.3 * random.normal(size=SHAPE))
    folds = folds_for(tensor, (False,) * 3, np.random.default_rng(0))
    assert len(folds) > 1
    return lambda: Workshop(tensor, folds, (None,) * 3, GAUSSIAN, 0)


@pytest.mark.parametrize("n_cores", [1, 4])
def test_folds_that_are_trained_on_at_once_give_the_bits_of_folds_in_turn(
    n_cores, workshop, monkeypatch
):
    in_turn = workshop()
    monkeypatch.setattr(in_turn, "_on_folds", lambda train: tuple(map(train, range(4))))
    expected = in_turn.first(Kind(4), 0)
    monkeypatch.setattr(threads, "n_cores", lambda: n_cores)
    found = workshop().first(Kind(4), 0)
    np.testing.assert_array_equal(found.means, expected.means)
    np.testing.assert_array_equal(found.variances, expected.variances)


@pytest.mark.parametrize(("some", "n_cores", "at_once"), [(2000, 16, 1), (100, 16, 0), (100, 2, 1)])
def test_all_cores_work_on_one_fold_where_entries_are_many(
    some, n_cores, at_once, workshop, monkeypatch
):
    taken = []

    def in_threads(function, items):
        taken.append(len(items))
        return list(map(function, items))

    monkeypatch.setattr(workshops, "SOME", some)
    monkeypatch.setattr(workshops, "n_cores", lambda: n_cores)
    monkeypatch.setattr(workshops, "in_threads", in_threads)
    workshop().first(Kind(0), 0)
    assert bool(taken) == at_once
