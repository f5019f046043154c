"""Runs: which entries they train on and are measured on, and what their records say."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.study.experiments import (
    BEST,
    PUBLISHED,
    Protocol,
    Results,
    Run,
    Tensor,
    carry_out,
    execute,
    fold_runs,
    repeat_runs,
    runs,
)
from vaecp.study.experiments.execution import MEASURES, measures_of

PROTOCOL = Protocol(repeats=3, folds=2)


def test_seeds_are_derived_reproducibly_and_differ_by_purpose_repeat_and_fold():
    places = [("split", 0), ("split", 1), ("folds", 0), ("model", 0), ("model", 0, 0), ("model", 1)]
    first = [runs.derived_seed(7, *place) for place in places]
    assert first == [runs.derived_seed(7, *place) for place in places]
    assert len(set(first)) == len(places)
    assert first != [runs.derived_seed(8, *place) for place in places]


def test_methods_share_splits_and_folds_partition_the_training_entries(case_of, tensor):
    case = case_of(tensor, methods=("HOSVD", "CPALS"))
    listed = fold_runs(case, PROTOCOL)
    parts = [runs.parts(run, case.tensor) for run in listed if run.rank == 1]
    by_method = np.split(np.array([held_out.indices for _, held_out in parts]), 2)
    np.testing.assert_array_equal(*by_method)
    repeat = replace(listed[0], fold=None, n_folds=None)
    training, test = runs.parts(repeat, case.tensor)
    held_out = np.concatenate(by_method[0])
    assert {tuple(i) for i in held_out} == {tuple(i) for i in training.indices}
    assert not {tuple(i) for i in held_out} & {tuple(i) for i in test.indices}


def test_a_fit_gets_the_same_seed_whichever_settings_it_has(shifted, case_of, tensor):
    carry_out(fold_runs(case_of(tensor), PROTOCOL), [case_of(tensor).tensor], Results())
    assert len(set(shifted.fits)) == PROTOCOL.folds


def test_scores_are_in_standard_deviations_of_the_training_entries(shifted, case_of, tensor):
    run = repeat_runs(case_of(tensor), PROTOCOL, [{BEST: {"Shifted": (("rank", 3),)}}])[0]
    record = execute(run, Tensor(tensor))
    training, test = runs.parts(run, Tensor(tensor))
    scaled = (test.values - training.values.mean()) / training.values.std()
    np.testing.assert_allclose(record["rmse"], np.sqrt(np.mean((scaled - 1) ** 2)))
    nll = np.mean(0.5 * (scaled - 1) ** 2 + 0.5 * np.log(2 * np.pi))
    np.testing.assert_allclose(record["nll"], nll)
    np.testing.assert_allclose(record["coverage_50"], np.mean(np.abs(scaled - 1) < 0.67449))


def run_of(tensor, **fields):
    return Run("toy", tensor.fingerprint, "HOSVD", (("rank", 1),), BEST, **fields)


@pytest.mark.parametrize("fold", [None, 1])
def test_repeated_measurements_of_a_cell_are_on_one_side_of_a_split(random, fold):
    cells = random.integers(6, size=(40, 3))
    tensor = Tensor(Observations(np.tile(cells, (5, 1)), random.normal(size=200), (6, 6, 6)))
    run = run_of(tensor, fold=fold, n_folds=None if fold is None else 3)
    training, held_out = runs.parts(run, tensor)
    trained, asked = (set(map(tuple, part.indices.tolist())) for part in (training, held_out))
    assert not trained & asked
    assert len(asked) > 3


def test_gaps_and_folds_lie_as_the_run_says(random):
    tensor = Tensor(Observations.from_array(random.normal(size=(6, 5, 4))))
    for fold in (None, 0):
        run = run_of(tensor, gaps="fibres:2", fold=fold, n_folds=None if fold is None else 2)
        training, held_out = runs.parts(run, tensor)
        fibres = [set(map(tuple, part.indices[:, :2].tolist())) for part in (training, held_out)]
        assert not set.intersection(*fibres)


def test_a_published_split_is_kept_as_it_is(random):
    test = random.random(120) < 0.3
    observations = Observations.from_array(random.normal(size=(6, 5, 4)))
    tensor = Tensor(observations, test)
    assert tensor.fingerprint != Tensor(observations).fingerprint
    training, held_out = runs.parts(run_of(tensor, gaps=PUBLISHED), tensor)
    np.testing.assert_array_equal(held_out.indices, observations.indices[test])
    assert len(training) + len(held_out) == 120
    with pytest.raises(ObservationError, match="no test entries were published"):
        runs.parts(run_of(tensor, gaps=PUBLISHED), Tensor(observations))


def test_a_method_without_spread_has_no_measures_of_spread():
    prediction = Prediction(np.zeros(200), np.full(200, np.nan), np.zeros(200))
    found = measures_of(prediction, np.append(np.ones(198), [-3, 100.0]))
    assert list(found) == list(MEASURES)
    np.testing.assert_allclose(found["trimmed_rmse"], 1.0)
    np.testing.assert_allclose(found["rmse"], np.sqrt((198 + 9 + 10_000) / 200))
    assert all(np.isnan(found[name]) for name in ("nll", "crps", "coverage_90"))


def test_measures_in_another_unit_are_those_of_values_in_that_unit(random):
    values, mean, std = random.normal(size=50), random.normal(size=50), 0.1 + random.random(50)
    inside = measures_of(Prediction(mean, std, std), values, scale=4.0)
    rescaled = measures_of(Prediction(mean / 4, std / 4, std / 4), values / 4)
    np.testing.assert_allclose(list(inside.values()), list(rescaled.values()))


def test_a_record_says_by_which_code_and_machine_it_was_made(random):
    tensor = Tensor(Observations.from_array(random.normal(size=(6, 5, 4))))
    record = execute(run_of(tensor), tensor)
    training, _ = runs.parts(run_of(tensor), tensor)
    np.testing.assert_allclose(record["scale"], training.values.std())
    assert len(record["code"]) == 12
    assert "cores" in record["device"]
    assert {"vaecp", "numpy"} <= set(record["versions"])
