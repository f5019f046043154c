"""Members that are trained on every fold."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp import Observations
from vaecp.data.limits import Limits
from vaecp.models.vaecp import workshop as workshops
from vaecp.models.vaecp.holdouts import cut_further, folds_for
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
    (expected,) = in_turn.first((Kind(4), 0))
    monkeypatch.setattr(threads, "n_cores", lambda: n_cores)
    (found,) = workshop().first((Kind(4), 0))
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
    workshop().first((Kind(0), 0))
    assert bool(taken) == at_once


def test_members_that_are_trained_side_by_side_have_the_bits_of_members_in_turn(
    workshop, monkeypatch
):
    monkeypatch.setattr(workshops, "n_cores", lambda: 1)
    in_turn = workshop()
    wanted = (Kind(4), 0), (Kind(4), 1), (Kind(2), 0)
    expected = in_turn.first(*wanted)
    monkeypatch.setattr(workshops, "n_cores", lambda: 2)
    monkeypatch.setattr(threads, "n_cores", lambda: 2)
    at_once = workshop()
    for found, other in zip(at_once.first(*wanted), expected, strict=True):
        np.testing.assert_array_equal(found.means, other.means)
    assert at_once.spent == in_turn.spent


@pytest.mark.parametrize("kind", [Kind(0, patient=True), Kind(4, eager=0.0, patient=True)])
def test_patient_members_without_fast_sweeps_have_one_start(kind, workshop):
    made = workshop()
    (found,) = made.first((kind, 0))
    assert np.isfinite(found.loss)
    assert not any(descent.n_elsewhere for descent in found.descents)


def test_a_member_of_all_entries_begins_where_held_out_entries_of_no_cut_fold_are_met_best(random):
    array = random.normal(size=SHAPE)
    low = array < -0.8
    limits = Limits(np.argwhere(low), np.full(low.sum(), -np.inf), np.full(low.sum(), -0.8))
    limited = replace(Observations.from_array(np.where(low, np.nan, array)), limits=limits)
    folds = folds_for(limited, (False,) * 3, np.random.default_rng(0))
    made = Workshop(limited, (*folds, cut_further(limited)), (None,) * 3, GAUSSIAN, 0)
    (found,) = made.first((Kind(2), 0))
    means = np.concatenate([fold.held_out.values + 1.0 for fold in made.folds])
    ends = np.cumsum([0, *(len(fold.held_out) for fold in made.folds)])
    means[ends[2] : ends[3]] -= 0.9  # the third fold is met best,
    means[ends[-2] :] -= 1.0  # but for the one whose values are taken for limited
    assert made._best_of_folds(replace(found, means=means)) is found.descents[2]
