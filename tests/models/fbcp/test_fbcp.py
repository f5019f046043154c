import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from vaecp.data.observations import Observations
from vaecp.models.fbcp.estimator import FBCP, FittedFBCP
from vaecp.models.fbcp.posterior import without_component
from vaecp.models.fbcp.search import ArrangedEntries, svd_rows, warmed_up
from vaecp.models.multilinear.fibres import FibreSums
from vaecp.models.multilinear.starts import random_start

LETTERS = "ijkl"


def cp_tensor(random, shape, rank, noise=0.0):
    factors = [random.normal(size=(size, rank)) for size in shape]
    formula = ",".join(f"{letter}r" for letter in LETTERS[: len(shape)])
    clean = np.einsum(f"{formula}->{LETTERS[: len(shape)]}", *factors)
    return clean, clean + noise * random.normal(size=shape)


def with_gaps(tensor, share, random):
    return Observations.from_array(tensor, mask=random.uniform(size=tensor.shape) >= share)


def fitted(model, observations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_tensor(observations)


def relative_error(model, tensor):
    everything = Observations.from_array(tensor)
    error = model.predict_at(everything.indices).mean - everything.values
    return np.sqrt(np.mean(error**2)) / tensor.std()


@pytest.mark.parametrize("shape", [(7, 9), (4, 6, 5), (3, 4, 2, 5)])
@pytest.mark.parametrize("share", [0.2, 0.97])
def test_fibre_sums_equal_sums_entry_by_entry(shape, share):
    random = np.random.default_rng(0)
    observations = with_gaps(random.normal(size=shape), share, random)
    tables = [random.normal(size=(size, 3)) for size in shape]
    for mode in range(len(shape)):
        count, total = np.zeros((shape[mode], 3)), np.zeros((shape[mode], 3))
        for entry, value in zip(observations.indices, observations.values, strict=True):
            product = np.prod([tables[k][row] for k, row in enumerate(entry) if k != mode], axis=0)
            count[entry[mode]] += product
            total[entry[mode]] += value * product
        sums = FibreSums(observations, mode)
        np.testing.assert_allclose(sums.count(tables), count, atol=1e-12)
        np.testing.assert_allclose(sums.total(tables), total, atol=1e-12)


@pytest.mark.parametrize(
    "rows", [lambda o, *rest: random_start(o.shape, *rest), svd_rows], ids=["random", "svd"]
)
@pytest.mark.parametrize("noise", [None, 1e-2])
def test_the_bound_never_falls_in_any_sweep(rows, noise):
    random = np.random.default_rng(1)
    _, tensor = cp_tensor(random, (8, 6, 7), 3, noise=0.5)
    observations = with_gaps(tensor / tensor.std(), 0.3, random)
    entries = ArrangedEntries.of(observations)
    posterior = entries.sweep(warmed_up(entries, rows(observations, 6, random), noise))
    bounds = []
    for _ in range(60):
        posterior = entries.sweep(posterior)
        bounds.append(posterior.bound)
    assert np.diff(bounds).min() > -1e-8


def test_the_gain_of_a_removal_is_the_difference_of_two_bounds():
    random = np.random.default_rng(2)
    _, tensor = cp_tensor(random, (8, 6, 7), 3, noise=0.5)
    observations = with_gaps(tensor, 0.3, random)
    entries = ArrangedEntries.of(observations)
    posterior = entries.sweep(warmed_up(entries, random_start(observations.shape, 5, random), None))
    for component, gain in enumerate(posterior.removal_gains):
        smaller = without_component(posterior, component)
        assert smaller.bound - posterior.bound == pytest.approx(gain, abs=1e-7)
        fit = FittedFBCP.of(smaller).predict(observations.indices)
        residual = np.sum((observations.values - fit.mean) ** 2 + fit.ignorance_std**2)
        assert smaller.residual == pytest.approx(residual)


def test_the_bound_is_the_average_of_log_joint_over_log_posterior():
    """Monte-Carlo estimate of E_q[log p(y, rows) - log q(rows)], precisions held sharp."""
    random = np.random.default_rng(3)
    _, tensor = cp_tensor(random, (4, 3), 1, noise=0.3)
    observations = with_gaps(tensor, 0.2, random)
    entries = ArrangedEntries.of(observations)
    posterior = entries.sweep(warmed_up(entries, random_start(observations.shape, 2, random), None))
    weights, noise = posterior.component_precision, posterior.noise_precision
    n_draws, total = 40_000, 0.0
    product = np.ones((n_draws, len(observations), 2))
    for mode, rows in enumerate(posterior.rows):
        roots = np.linalg.cholesky(rows.covariances)
        standard = random.normal(size=(n_draws, *rows.means.shape))
        draws = rows.means + np.einsum("jrs,njs->njr", roots, standard)
        product *= draws[:, observations.indices[:, mode]]
        prior = 0.5 * (weights.mean_log - weights.mean * draws**2).sum((1, 2))
        log_q = -0.5 * (standard**2).sum((1, 2)) - np.log(np.diagonal(roots, 0, 1, 2)).sum()
        total += prior - log_q
    squares = (observations.values - product.sum(2)) ** 2
    total += (0.5 * (noise.mean_log - np.log(2 * np.pi)) - 0.5 * noise.mean * squares).sum(1)
    expected = total.mean() - weights.divergence().sum() - noise.divergence()
    assert posterior.bound == pytest.approx(expected, abs=5 * total.std() / np.sqrt(n_draws))


def test_twenty_components_shrink_to_the_true_ten_and_reach_the_noise():
    random = np.random.default_rng(4)
    _, tensor = cp_tensor(random, (20, 20, 20), 10, noise=1.0)
    observations, held_out = Observations.from_array(tensor).split(0.2, random_state=0)
    model = fitted(FBCP(20, random_state=0), observations)
    assert 9 <= model.rank_ <= 12
    assert np.diff(model.bound_).min() >= -1e-7
    error = model.predict_at(held_out.indices).mean - held_out.values
    assert np.sqrt(np.mean(error**2)) < 1.1


def test_one_component_of_a_full_matrix_is_its_leading_singular_pair():
    random = np.random.default_rng(5)
    rows, columns = random.normal(size=(30, 1)), random.normal(size=(1, 40))
    matrix = rows @ columns + 1e-3 * random.normal(size=(30, 40))
    centred = matrix - matrix.mean()
    left, strengths, right = np.linalg.svd(centred, full_matrices=False)
    best = strengths[0] * np.outer(left[:, 0], right[0])
    model = fitted(FBCP(1, n_starts=1, random_state=0), Observations.from_array(matrix))
    product = np.outer(*(mode[:, 0] for mode in model.factors_)) * model.scaling_.scale
    assert np.abs(product - best).max() < 1e-3 * np.abs(best).max()


@pytest.mark.parametrize("shape", [(15, 12, 10), (8, 7, 6, 5)])
def test_half_of_a_noiseless_tensor_recovers_the_other_half(shape):
    random = np.random.default_rng(6)
    clean, _ = cp_tensor(random, shape, 2)
    clean -= clean.mean()
    model = fitted(FBCP(5, random_state=0, max_iter=400), with_gaps(clean, 0.5, random))
    assert relative_error(model, clean) < 1e-2


def test_intervals_cover_their_share_of_entries_that_were_not_seen():
    random = np.random.default_rng(7)
    _, tensor = cp_tensor(random, (15, 15, 15), 2, noise=0.7)
    observations, held_out = Observations.from_array(tensor).split(0.5, random_state=0)
    model = fitted(FBCP(5, random_state=0), observations)
    low, high = model.predict_at(held_out.indices).interval(0.9)
    assert np.mean((low <= held_out.values) & (held_out.values <= high)) == pytest.approx(
        0.9, abs=0.03
    )


def test_variance_and_draws_agree():
    random = np.random.default_rng(8)
    _, tensor = cp_tensor(random, (6, 5, 4), 2, noise=0.7)
    model = fitted(FBCP(3, random_state=0), with_gaps(tensor, 0.5, random))
    entries = np.array([[0, 0, 0], [1, 2, 3], [-1, 0, 0], [2, -1, -1]])
    expected = model.fitted_.predict(entries)
    draws = model.fitted_.sample(entries, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(0), expected.mean, atol=0.05)
    np.testing.assert_allclose(draws.std(0), expected.std, rtol=0.1)


def test_a_label_that_was_not_seen_gets_the_mean_and_a_wider_spread():
    random = np.random.default_rng(9)
    _, tensor = cp_tensor(random, (8, 7, 6), 2, noise=0.1)
    observations = with_gaps(tensor, 0.2, random)
    model = fitted(FBCP(4, random_state=0), observations)
    seen, unseen = (model.predict_at(np.array([[row, 3, 3]])) for row in (3, -1))
    assert unseen.mean[0] == pytest.approx(observations.values.mean())
    assert unseen.std[0] > 3 * seen.std[0]


def test_the_order_of_the_modes_does_not_change_a_sweep():
    random = np.random.default_rng(10)
    _, tensor = cp_tensor(random, (6, 5, 7), 2, noise=0.3)
    observations = with_gaps(tensor, 0.3, random)
    order = [2, 0, 1]
    turned = Observations(
        observations.indices[:, order], observations.values, tuple(tensor.shape[k] for k in order)
    )
    start = random_start(observations.shape, 3, random)
    first, second = ArrangedEntries.of(observations), ArrangedEntries.of(turned)
    # Sweeps visit the modes in turn, so only their common limit can agree.
    posterior = warmed_up(first, start, None)
    other = warmed_up(second, [start[k] for k in order], None)
    for _ in range(400):
        posterior, other = first.sweep(posterior), second.sweep(other)
    assert posterior.bound == pytest.approx(other.bound, abs=0.05)


def test_two_equal_entries_count_as_two_measurements():
    random = np.random.default_rng(11)
    _, tensor = cp_tensor(random, (6, 5), 1, noise=0.5)
    once = Observations.from_array(tensor)
    twice = Observations(np.repeat(once.indices, 2, axis=0), np.repeat(once.values, 2), once.shape)
    for mode in range(2):
        tables = [random.normal(size=(size, 2)) for size in once.shape]
        single, double = FibreSums(once, mode), FibreSums(twice, mode)
        np.testing.assert_allclose(double.count(tables), 2 * single.count(tables))
        np.testing.assert_allclose(double.total(tables), 2 * single.total(tables))


@pytest.mark.parametrize("shape", [(1, 1), (1, 4, 1), (2, 2, 2)])
def test_tiny_tensors_give_finite_predictions(shape):
    values = np.random.default_rng(12).normal(size=shape)
    model = fitted(FBCP(random_state=0, max_iter=50), Observations.from_array(values))
    prediction = model.predict_at(np.array([[0] * len(shape), [-1] * len(shape)]))
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.std).all()


def test_too_few_sweeps_warn_once_and_say_so():
    random = np.random.default_rng(13)
    _, tensor = cp_tensor(random, (6, 5, 4), 2, noise=0.3)
    model = FBCP(3, max_iter=2, tol=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        model.fit_tensor(Observations.from_array(tensor))
    assert not model.converged_
