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


def smooth_tensor(random, noise=0.0):
    """Rank 2, smooth along the second mode of 40 places."""
    places = np.linspace(0, 1, 40)
    curves = np.stack([np.sin(5 * places), np.cos(3 * places)], axis=1)
    array = np.einsum(
        "ir,jr,kr->ijk", random.normal(size=(6, 2)), curves, random.normal(size=(5, 2))
    )
    array += noise * random.normal(size=array.shape)
    return Observations.from_array(array, labels=[list("abcdef"), places, list("vwxyz")])


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def test_a_smoothing_spline_averages_noise_away_where_interpolation_keeps_it(random):
    training, held_out = smooth_tensor(random, noise=0.1).split(0.2, 0)
    errors = {
        name: rms(predicted(name, training, held_out, mode=1).mean - held_out.values)
        for name in ("smoothing spline", "cubic interpolation")
    }
    # The noise of the held-out values stays; a cubic through noisy values adds its own.
    assert errors["smoothing spline"] < 0.115
    assert errors["cubic interpolation"] > 0.125


def test_a_smoothing_spline_is_exact_on_a_line():
    array = np.stack([np.arange(20.0), 3 - 2 * np.arange(20.0)])
    everything = Observations.from_array(array)
    hidden = np.arange(40) % 7 == 3
    found = predicted("smoothing spline", everything.take(~hidden), everything.take(hidden), mode=1)
    np.testing.assert_allclose(found.mean, everything.values[hidden], atol=1e-6)


def test_a_gaussian_process_fills_whole_fibres_from_rows_that_are_alike(random):
    tensor = smooth_tensor(random, noise=0.05)
    array = 2 * np.sin(5 * np.linspace(0, 1, 40))[None, :, None] + 0.1 * tensor.to_array()
    everything = Observations.from_array(array, labels=list(tensor.labels))
    hidden = (everything.indices[:, 0] == 2) & (everything.indices[:, 2] == 1)
    training, held_out = everything.take(~hidden), everything.take(hidden)
    found = predicted("Gaussian process", training, held_out)
    assert rms(found.mean - held_out.values) < 0.25 * held_out.values.std()
    low, high = found.interval(0.9)
    inside = np.mean((low <= held_out.values) & (held_out.values <= high))
    assert 0.6 < inside <= 1


def test_a_gaussian_process_is_that_of_scikit_learn_with_the_same_kernel(random):
    from sklearn.gaussian_process.kernels import Matern

    from vaecp.study.rivals import gaussian_process

    places = np.linspace(0, 1, 12)
    tensor = np.sin(6 * places)[None] * np.array([1.0, -1.0, 0.5])[:, None]
    tensor[random.random(tensor.shape) < 0.3] = np.nan
    rows = [np.eye(3), places[:, None]]
    logs = np.array([0.3, 1.5, 0.2, -3.0])
    parameters = gaussian_process._parameters(logs, rows)
    model = gaussian_process.LatentProcess(gaussian_process.KERNELS["matern"], 1.0)
    mean, _ = gaussian_process.grid_posterior(tensor, model, parameters, 1, 0)
    alike = Matern(np.exp(-0.3), nu=1.5)(np.eye(3))
    along = Matern(np.exp(-1.5), nu=1.5)(places[:, None])
    covariance = np.exp(0.2) * np.kron(alike, along)
    seen = np.isfinite(tensor.ravel())
    noisy = covariance[np.ix_(seen, seen)] + np.exp(-3.0) * np.eye(seen.sum())
    expected = covariance[:, seen] @ np.linalg.solve(noisy, tensor.ravel()[seen])
    np.testing.assert_allclose(mean.ravel(), expected, atol=1e-4)


def test_the_slope_of_the_likelihood_of_a_gaussian_process_is_that_of_differences(random):
    from scipy.optimize import check_grad

    from vaecp.study.rivals import gaussian_process

    rows = [np.eye(4), np.linspace(0, 1, 7)[:, None]]
    model = gaussian_process.LatentProcess(gaussian_process.KERNELS["rbf"], 1.0)
    given = (model, rows, [random.normal(size=(4, 7))])
    logs = np.array([0.1, 1.2, 0.3, -1.0])
    error = check_grad(
        lambda x: gaussian_process._descent(x, *given)[0],
        lambda x: gaussian_process._descent(x, *given)[1],
        logs,
    )
    assert error < 1e-4


def test_smooth_cp_fills_places_that_no_entry_has_where_plain_cp_cannot(random):
    everything = smooth_tensor(random)
    hidden = np.isin(everything.indices[:, 1], [10, 11, 25])
    training, held_out = everything.take(~hidden), everything.take(hidden)
    smooth = predicted("smooth CP", training, held_out, rank=2, strength=0.01)
    plain = predicted("CPALS", training, held_out, rank=2)
    assert rms(smooth.mean - held_out.values) < 0.1 * rms(plain.mean - held_out.values)


def test_residuals_of_neighbours_mend_what_products_leave(random):
    """A ridge that runs across the tensor is no sum of few products, but its residuals are smooth."""
    i, j = np.meshgrid(np.arange(30), np.arange(40), indexing="ij")
    array = np.exp(-0.5 * ((j - i - 5) / 3.0) ** 2)[..., None] * np.array([1.0, 1.2, 0.8])
    training, held_out = Observations.from_array(array).split(0.2, 0)
    with_them = predicted("CP with neighbours", training, held_out, rank=2)
    without = predicted("CPALS", training, held_out, rank=2)
    assert rms(with_them.mean - held_out.values) < 0.5 * rms(without.mean - held_out.values)
    assert with_them.std.mean() < without.std.mean()


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
    plain = build("VAECP", {"recipe__network": False, "smooth": False}, seed=3)
    assert (plain.recipe.network, plain.smooth, plain.random_state) == (False, False, 3)
