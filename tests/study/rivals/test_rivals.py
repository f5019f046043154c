"""Rivals: each is exact where algebra says that it must be, and names the extra that it needs."""

import sys

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.errors import MissingExtraError
from vaecp.models.registry import MethodError
from vaecp.study.rivals import build, find


def predicted(name, training, held_out, **settings):
    model = find(name).build(**settings, random_state=0)
    return model.fit_tensor(training).predict_at(held_out.indices)


def test_the_mean_predicts_mean_and_spread_of_the_training_values(random):
    training, held_out = Observations.from_array(random.normal(3, 2, (5, 4, 3))).split(0.2, 0)
    found = predicted("mean", training, held_out)
    np.testing.assert_allclose(found.mean, training.values.mean())
    np.testing.assert_allclose(found.std, training.values.std())


def test_row_effects_recover_an_additive_tensor(random):
    parts = [random.normal(size=size) for size in (8, 7, 6)]
    array = 5 + parts[0][:, None, None] + parts[1][:, None] + parts[2]
    training, held_out = Observations.from_array(array).split(0.3, 0)
    found = predicted("row effects", training, held_out, ridge=1e-9)
    np.testing.assert_allclose(found.mean, held_out.values, atol=1e-6)


def test_row_effects_solve_the_normal_equations_of_ridge_regression(random):
    training, held_out = Observations.from_array(random.normal(size=(5, 4))).split(0.3, 0)
    design = np.zeros((20, 9))
    cells = np.concatenate([training.indices, held_out.indices])
    design[np.arange(20), cells[:, 0]] = 1
    design[np.arange(20), 5 + cells[:, 1]] = 1
    known, asked = design[: len(training)], design[len(training) :]
    values = training.values - training.values.mean()
    effects = np.linalg.solve(known.T @ known + 2.0 * np.eye(9), known.T @ values)
    found = predicted("row effects", training, held_out, ridge=2.0)
    np.testing.assert_allclose(found.mean, training.values.mean() + asked @ effects, atol=1e-8)
    residuals = values - known @ effects
    np.testing.assert_allclose(found.std, np.sqrt(np.mean(residuals**2)), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "power"), [("linear interpolation", 1), ("cubic interpolation", 3)]
)
def test_interpolation_is_exact_on_polynomials_of_its_degree_with_uneven_places(name, power):
    places = np.array([0.0, 1.0, 2.5, 3.0, 4.0, 7.0, 8.0, 9.5])
    array = np.stack([2 + places**power, -(places**power)])
    hidden = np.zeros(array.shape, dtype=bool)
    hidden[0, [2, 5]] = hidden[1, [1, 3]] = True
    everything = Observations.from_array(array, labels=[["a", "b"], places])
    held_out = everything.take(hidden.ravel())
    found = predicted(name, everything.take(~hidden.ravel()), held_out, mode=1)
    np.testing.assert_allclose(found.mean, held_out.values, atol=1e-9)
    assert np.isnan(found.std).all()


@pytest.mark.parametrize("name", ["linear interpolation", "cubic interpolation"])
def test_interpolation_keeps_the_last_value_and_falls_back_on_the_mean(name):
    array = np.array([[np.nan, 1.0, 2.0, 4.0, 7.0, np.nan], [np.nan] * 6])
    training = Observations.from_array(array)
    cells = Observations.from_array(np.zeros((2, 6)))
    found = predicted(name, training, cells, mode=1).mean.reshape(2, 6)
    assert (found[0, 0], found[0, 5]) == (1.0, 7.0)
    np.testing.assert_allclose(found[1], 3.5)


def test_repeated_measurements_are_averaged_before_interpolating():
    training = Observations(
        np.array([[0, 0], [0, 2], [0, 2], [1, 0]]), np.array([0.0, 1.0, 3.0, 9.0]), (2, 3)
    )
    held_out = Observations(np.array([[0, 1]]), np.zeros(1), (2, 3))
    assert predicted("linear interpolation", training, held_out, mode=1).mean == [1.0]


def test_boosted_trees_find_levels_of_sets_of_rows(random):
    pytest.importorskip("lightgbm")
    level = np.where(np.arange(40) % 3 == 0, 5.0, -1.0)
    array = level[:, None] + np.where(np.arange(30) < 15, 1.0, 2.0)
    training, held_out = Observations.from_array(array).split(0.2, 0)
    found = predicted("LightGBM", training, held_out, trees=300)
    np.testing.assert_allclose(found.mean, held_out.values, atol=0.05)


def test_smurff_fills_a_tensor_of_rank_one_and_answers_in_the_order_asked(random):
    pytest.importorskip("smurff")
    array = np.einsum("i,j,k->ijk", *(1 + random.random(size) for size in (8, 7, 6)))
    training, held_out = Observations.from_array(array).split(0.2, 0)
    held_out = held_out.take(random.permutation(len(held_out)))
    found = predicted("SMURFF", training, held_out, rank=2, burn_in=50, samples=50)
    error = np.sqrt(np.mean((found.mean - held_out.values) ** 2))
    assert error < 0.1 * array.std()


@pytest.mark.parametrize(("name", "package"), [("SMURFF", "smurff"), ("LightGBM", "lightgbm")])
def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch, random, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    training, held_out = Observations.from_array(random.normal(size=(5, 4))).split(0.3, 0)
    with pytest.raises(MissingExtraError, match=rf"{name} needs {package}.*vaecp\[rivals\]"):
        predicted(name, training, held_out)


def test_rivals_are_found_by_name_beside_the_methods_of_the_library():
    assert find("smurff").name == "SMURFF"
    assert find("parafac").name == "CPALS"
    with pytest.raises(MethodError, match=r"no method 'magic'.*InfTucker, mean, row effects"):
        find("magic")


def test_settings_of_a_part_reach_that_part():
    model = build("VAECP.paper", {"rank": 2, "recipe__held_out": True}, seed=3)
    assert (model.rank, model.random_state, model.recipe.held_out) == (2, 3, True)
    assert model.recipe.batch_size == 30
