import warnings
from functools import reduce

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.inftucker import estimator as inftucker
from vaecp.models.inftucker.covariances import KERNELS
from vaecp.models.inftucker.estimator import InfTucker
from vaecp.models.inftucker.kronecker import (
    KroneckerSystem,
    conditional_draw,
    log_likelihood,
    with_conditional_means,
)
from vaecp.models.inftucker.learning import (
    LatentParameters,
    LatentProcess,
    entries_likelihood,
    evidence_bound,
    first_parameters,
    grid_posterior,
    learn_on_grid,
)

SHAPE = (4, 3, 5)


def kernels_from_formulas(name, rows):
    """Each kernel written out, pair by pair."""
    formulas = {
        "linear": lambda u, v: u @ v,
        "rbf": lambda u, v: np.exp(-(np.linalg.norm(u - v) ** 2) / 2),
        "matern": lambda u, v: (
            (1 + np.sqrt(3) * np.linalg.norm(u - v)) * np.exp(-np.sqrt(3) * np.linalg.norm(u - v))
        ),
    }
    return [np.array([[formulas[name](u, v) for v in mode] for u in mode]) for mode in rows]


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def parameters(random):
    rows = tuple(random.normal(size=(size, 2)) for size in SHAPE)
    return LatentParameters(rows, float(np.log(1.7)), float(np.log(0.2)))


@pytest.fixture
def tensor(random):
    values = random.normal(size=SHAPE)
    values[random.uniform(size=SHAPE) < 0.3] = np.nan
    return values


def dense(name, parameters):
    """The covariance of all cells in row-major order, as one matrix."""
    return parameters.signal * reduce(np.kron, kernels_from_formulas(name, parameters.rows))


def fitted(model, observations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_tensor(observations)


def drawn_from_the_model(random, shape, noise, name="rbf"):
    rows = [random.laplace(size=(size, 2)) for size in shape]
    system = KroneckerSystem.of(kernels_from_formulas(name, rows), 1.0, noise**2)
    return system.draw(random) + noise * random.normal(size=shape)


# ---- the algebra, against dense matrices -----------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_their_formulas(name, parameters):
    model = LatentProcess(KERNELS[name], 1.0)
    for matrix, expected, rows in zip(
        model.kernels(parameters),
        kernels_from_formulas(name, parameters.rows),
        parameters.rows,
        strict=True,
    ):
        np.testing.assert_allclose(matrix, expected, atol=1e-12)
        np.testing.assert_allclose(KERNELS[name].variances(rows), np.diag(expected), atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_grid_posterior_is_the_dense_gaussian_process(name, parameters, tensor):
    covariance = dense(name, parameters)
    seen = np.isfinite(tensor).ravel()
    inner = covariance[np.ix_(seen, seen)] + parameters.noise * np.eye(seen.sum())
    gain = covariance[:, seen] @ np.linalg.inv(inner)
    expected = (gain @ tensor.ravel()[seen]).reshape(SHAPE)
    variance = np.diag(covariance - gain @ covariance[seen]).reshape(SHAPE)
    mean, found = grid_posterior(
        tensor, LatentProcess(KERNELS[name], 1.0), parameters, 1_500, seed=0
    )
    np.testing.assert_allclose(mean, expected, atol=1e-4)
    np.testing.assert_allclose(found, variance, rtol=0.2, atol=1e-3)


@pytest.mark.parametrize("name", KERNELS)
def test_entries_likelihood_is_the_dense_normal_density(name, parameters, tensor):
    observations = Observations.from_array(tensor)
    seen = np.isfinite(tensor).ravel()
    covariance = dense(name, parameters)[np.ix_(seen, seen)] + parameters.noise * np.eye(seen.sum())
    expected = multivariate_normal(cov=covariance).logpdf(tensor.ravel()[seen])
    kernels = kernels_from_formulas(name, parameters.rows)
    value, *_ = entries_likelihood(observations, kernels, parameters.signal, parameters.noise)
    assert value == pytest.approx(expected)


def test_grid_likelihood_of_a_full_tensor_is_the_entries_likelihood(random, parameters):
    full = random.normal(size=SHAPE)
    kernels = kernels_from_formulas("rbf", parameters.rows)
    system = KroneckerSystem.of(kernels, parameters.signal, parameters.noise)
    exact = entries_likelihood(
        Observations.from_array(full), kernels, parameters.signal, parameters.noise
    )
    found = log_likelihood(system, [full])
    assert found[0] == pytest.approx(exact[0])
    for mine, theirs in zip(found[1], exact[1], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    np.testing.assert_allclose(found[2:], exact[2:], atol=1e-9)
    assert evidence_bound(system, full, np.isfinite(full)) == pytest.approx(exact[0])


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_agree_with_finite_differences(name, parameters, tensor, monkeypatch):
    """The first call that L-BFGS makes is enough to see value and slope."""
    observations, model = Observations.from_array(tensor), LatentProcess(KERNELS[name], 0.7)
    functions = []
    monkeypatch.setattr(
        "vaecp.models.inftucker.learning.minimize",
        lambda function, start, **_: functions.append(function) or _Stopped(start),
    )

    def likelihood(here):
        return entries_likelihood(observations, model.kernels(here), here.signal, here.noise)

    model.maximise(likelihood, parameters, 1)
    (function,) = functions
    flat = parameters.flat()
    error = check_grad(lambda x: function(x)[0], lambda x: function(x)[1], flat)
    assert error < 1e-5 * np.linalg.norm(function(flat)[1])


class _Stopped:
    fun, success = 0.0, True

    def __init__(self, start):
        self.x = start


def test_the_bound_is_below_the_likelihood_and_close_to_it(parameters, tensor):
    kernels = kernels_from_formulas("rbf", parameters.rows)
    system = KroneckerSystem.of(kernels, parameters.signal, parameters.noise)
    observed = np.isfinite(tensor)
    values = np.where(observed, tensor, 0.0)
    bound = evidence_bound(
        system, with_conditional_means(system, values, observed, values, 1e-8), observed
    )
    exact, *_ = entries_likelihood(
        Observations.from_array(tensor), kernels, parameters.signal, parameters.noise
    )
    assert exact - 3 < bound < exact


def test_draws_of_the_gaps_have_their_conditional_covariance(random, parameters, tensor):
    covariance = dense("rbf", parameters) + parameters.noise * np.eye(tensor.size)
    observed = np.isfinite(tensor)
    gaps = ~observed.ravel()
    expected = np.linalg.inv(np.linalg.inv(covariance)[np.ix_(gaps, gaps)])
    system = LatentProcess(KERNELS["rbf"], 1.0).grid(parameters)
    draws = [conditional_draw(system, observed, random, 1e-6).ravel()[gaps] for _ in range(3_000)]
    np.testing.assert_allclose(np.cov(np.array(draws).T), expected, atol=0.15)


def test_linear_kernels_are_ridge_regression_on_a_tucker_core(parameters, tensor):
    """With rows U_d, a Gaussian core g has the design matrix U_1 x U_2 x U_3."""
    design = reduce(np.kron, parameters.rows)
    seen = np.isfinite(tensor).ravel()
    ridge = parameters.noise / parameters.signal * np.eye(design.shape[1])
    core = np.linalg.solve(
        design[seen].T @ design[seen] + ridge, design[seen].T @ tensor.ravel()[seen]
    )
    mean, _ = grid_posterior(tensor, LatentProcess(KERNELS["linear"], 1.0), parameters, 1, seed=0)
    np.testing.assert_allclose(mean.ravel(), design @ core, atol=1e-4)


# ---- learning --------------------------------------------------------------------------


def test_rounds_never_lower_the_bound(random):
    values = drawn_from_the_model(random, (12, 10, 8), 0.3)
    values[random.uniform(size=values.shape) < 0.3] = np.nan
    model = LatentProcess(KERNELS["rbf"], 1.0)
    start = first_parameters(Observations.from_array(values), 2, random)
    learned = learn_on_grid(values, model, start, max_iter=8, tol=-np.inf, seed=0)
    assert np.diff(learned.bounds).min() >= 0
    assert learned.bounds[-1] > learned.bounds[0] + 50


def test_linear_kernels_recover_a_tucker_tensor_from_half_of_it(random):
    core = random.normal(size=(2, 2, 2))
    rows = [random.normal(size=(size, 2)) for size in (14, 12, 10)]
    tensor = np.einsum("abc,ia,jb,kc->ijk", core, *rows)
    observations, held_out = Observations.from_array(tensor).split(0.5, 0)
    # One more than the tensor's own 2, for the mean that standardising takes off.
    model = fitted(InfTucker(3, kernel="linear", random_state=0), observations)
    error = model.predict_at(held_out.indices).mean - held_out.values
    assert np.sqrt(np.mean(error**2)) < 0.05 * tensor.std()


def test_intervals_cover_their_share_on_data_drawn_from_the_model(random):
    values = drawn_from_the_model(random, (20, 16, 14), 0.5)
    observations, held_out = Observations.from_array(values).split(0.4, random_state=0)
    model = fitted(InfTucker(2, random_state=0, max_iter=10), observations)
    low, high = model.predict_at(held_out.indices).interval(0.9)
    covered = np.mean((low <= held_out.values) & (held_out.values <= high))
    assert covered == pytest.approx(0.9, abs=0.03)


def test_grid_and_entries_predict_alike(random, monkeypatch):
    observations = Observations.from_array(drawn_from_the_model(random, (7, 6, 5), 0.3))
    part, held_out = observations.split(0.3, random_state=0)
    means = []
    for few in (0, 10_000):
        monkeypatch.setattr(inftucker, "FEW_ENTRIES", few)
        model = fitted(InfTucker(2, random_state=0), part)
        means.append(model.predict_at(held_out.indices).mean)
    assert np.sqrt(np.mean((means[0] - means[1]) ** 2)) < 0.15 * part.values.std()


def test_turning_the_modes_turns_the_posterior(parameters, tensor):
    order = [2, 0, 1]
    turned = LatentParameters(
        tuple(parameters.rows[mode] for mode in order), parameters.log_signal, parameters.log_noise
    )
    model = LatentProcess(KERNELS["rbf"], 1.0)
    mean, _ = grid_posterior(tensor, model, parameters, 1, seed=0)
    other, _ = grid_posterior(tensor.transpose(order), model, turned, 1, seed=0)
    np.testing.assert_allclose(mean.transpose(order), other, atol=1e-4)


# ---- the estimator ---------------------------------------------------------------------


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_label_that_was_not_seen_gets_the_mean_and_a_wider_spread(
    random, monkeypatch, few, kernel
):
    monkeypatch.setattr(inftucker, "FEW_ENTRIES", few)
    observations = Observations.from_array(drawn_from_the_model(random, (7, 6, 5), 0.1))
    model = fitted(InfTucker(2, kernel=kernel, random_state=0, max_iter=5), observations)
    seen, unseen = (model.predict_at(np.array([[row, 3, 3]])) for row in (3, -1))
    assert unseen.mean[0] == pytest.approx(observations.values.mean())
    assert unseen.std[0] > seen.std[0]


def test_an_entry_that_is_listed_twice_counts_once(random):
    once = Observations.from_array(random.normal(size=(4, 5)))
    twice = once.take(np.tile(np.arange(len(once)), 2))
    means = [
        fitted(InfTucker(2, random_state=0, max_iter=3), data).predict_at(once.indices).mean
        for data in (once, twice)
    ]
    np.testing.assert_allclose(*means)


@pytest.mark.parametrize("few", [0, 500])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4, 1), (2, 3, 2)])
def test_tiny_tensors_give_finite_predictions(monkeypatch, random, shape, few):
    monkeypatch.setattr(inftucker, "FEW_ENTRIES", few)
    values = random.normal(size=shape)
    model = fitted(InfTucker(6, random_state=0, max_iter=3), Observations.from_array(values))
    prediction = model.predict_at(np.array([[0] * len(shape), [-1] * len(shape)]))
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.std).all()


def test_rows_without_entries_are_predicted_with_doubt(random, monkeypatch):
    monkeypatch.setattr(inftucker, "FEW_ENTRIES", 0)
    values = drawn_from_the_model(random, (8, 7, 6), 0.1)
    values[2] = np.nan
    model = fitted(InfTucker(2, random_state=0, max_iter=5), Observations.from_array(values))
    empty, full = (model.predict_at(np.array([[row, 3, 3]])).std[0] for row in (2, 3))
    assert empty > 2 * full


def test_a_vast_tensor_with_many_entries_is_refused_in_one_line(random):
    indices = random.integers(0, 1_000, size=(5_000, 3))
    observations = Observations(indices, random.normal(size=5_000), (1_000,) * 3)
    with pytest.raises(ObservationError, match=r"1,000,000,000 cells .* up to 5,000,000 cells"):
        InfTucker().fit_tensor(observations)


def test_a_vast_tensor_with_few_entries_is_learned_from_them(random):
    indices = random.integers(0, 1_000, size=(60, 4))
    observations = Observations(indices, random.normal(size=60), (1_000,) * 4)
    model = fitted(InfTucker(2, random_state=0, max_iter=1), observations)
    assert np.isfinite(model.predict_at(indices).std).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"kernel": "cubic"}, "kernel is 'cubic': use one of linear, rbf, matern"),
        ({"sparsity": 0}, "sparsity is 0: use a positive number"),
    ],
)
def test_settings_out_of_range_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        InfTucker(**settings).fit([(0, 0), (1, 1)], [1.0, 2.0])
