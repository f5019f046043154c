"""Every likelihood by itself: gradients, bounds, what it refuses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawn_values import small_vaecp
from scipy import special, stats

from vaecp.data.error_shapes import GAUSSIAN_ERRORS
from vaecp.data.prediction import LatentPrediction
from vaecp.errors import ObservationError
from vaecp.models.vaecp.likelihoods import (
    Bernoulli,
    Gaussian,
    LogitNormal,
    LogNormal,
    NegativeBinomial,
    NonNegative,
    Ordinal,
    Poisson,
    StudentT,
    find,
    kinds,
)
from vaecp.models.vaecp.likelihoods.choice import plausible
from vaecp.models.vaecp.likelihoods.discrete import EAGER

STARS = Ordinal(classes=np.arange(1.0, 6.0), thresholds=np.array([-2.0, -0.5, 0.7, 3.0]))
COUNTS = np.array([0.0, 1.0, 3.0, 12.0, 2.0])
DISCRETE = [
    (Bernoulli(), np.array([0.0, 1.0, 1.0, 0.0, 1.0])),
    (Poisson(), COUNTS),
    (NegativeBinomial(size=2.5), COUNTS),
    (STARS, np.array([1.0, 2.0, 3.0, 5.0, 4.0])),
]
BOUNDED = [pair for pair in DISCRETE if type(pair[0]) is not Poisson]
LATENT = np.array([-1.5, -0.2, 0.4, 2.0, 1.1])


def name_of(given):
    return getattr(given, "name", None)


@pytest.mark.parametrize(("likelihood", "values"), DISCRETE, ids=name_of)
def test_the_log_density_for_gradients_is_that_for_predictions(likelihood, values):
    second = np.full(5, -np.log(getattr(likelihood, "size", 1.0)), dtype=np.float32)
    found = likelihood.log_prob((jnp.asarray(LATENT), jnp.asarray(second)), jnp.asarray(values))
    np.testing.assert_allclose(found, likelihood.family.log_prob(values, LATENT), rtol=2e-4)


@pytest.mark.parametrize(
    ("likelihood", "known"),
    [(Gaussian(), stats.norm), (StudentT(), stats.t(4))],
    ids=["gaussian", "student-t"],
)
def test_the_log_density_of_real_numbers_is_that_of_scipy(likelihood, known):
    values, log_variance = np.array([0.3, -2.0, 1.0, 2.5, 4.0]), np.linspace(-2, 1, 5)
    scale = np.exp(log_variance / 2)
    found = likelihood.log_prob((jnp.asarray(LATENT), jnp.asarray(log_variance)), values)
    expected = known.logpdf((values - LATENT) / scale) - np.log(scale)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize(("likelihood", "values"), DISCRETE, ids=name_of)
def test_slopes_are_those_of_differences_and_of_automatic_differentiation(likelihood, values):
    step = 1e-5
    above, below = (likelihood.family.log_prob(values, LATENT + s) for s in (step, -step))
    slope = likelihood.slope(values, LATENT)
    np.testing.assert_allclose(slope, (above - below) / (2 * step), rtol=1e-5, atol=1e-8)
    second = jnp.full(5, -np.log(getattr(likelihood, "size", 1.0)))
    gradient = jax.grad(lambda u: likelihood.log_prob((u, second), jnp.asarray(values)).sum())
    np.testing.assert_allclose(gradient(jnp.asarray(LATENT)), slope, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("likelihood", "values"), DISCRETE, ids=name_of)
def test_the_working_values_have_the_slope_of_the_log_density(likelihood, values):
    """What sweeps fit rests where the log-density does."""
    working = likelihood.working(values, LATENT, np.zeros(5))
    np.testing.assert_allclose(
        working.weights * (working.values - LATENT), likelihood.slope(values, LATENT), atol=1e-6
    )


@pytest.mark.parametrize(("likelihood", "values"), BOUNDED, ids=name_of)
def test_the_working_quadratic_is_a_lower_bound_that_touches(likelihood, values):
    working = likelihood.eager(values, LATENT, share=1 / EAGER)  # weighs the values as they are
    here = likelihood.family.log_prob(values, LATENT)

    def quadratic(latent):
        before, after = ((working.values - u) ** 2 for u in (LATENT, latent))
        return here - 0.5 * working.weights * (after - before)

    for latent in np.linspace(-8, 8, 33):
        elsewhere = np.full(5, latent)
        bound = quadratic(elsewhere)
        assert (bound <= likelihood.family.log_prob(values, elsewhere) + 1e-9).all()


@pytest.mark.parametrize(("likelihood", "values"), DISCRETE, ids=name_of)
def test_repeated_working_steps_find_the_most_probable_latent_number(likelihood, values):
    """Of values at a few entries that share one number; SciPy's search finds the same."""
    latent = np.zeros(5)
    for _ in range(300):
        working = likelihood.working(values, latent, np.zeros(5))
        latent = np.full(5, np.average(working.values, weights=working.weights))
    assert likelihood.slope(values, latent).sum() == pytest.approx(0, abs=1e-5)


def test_the_size_of_counts_is_learned():
    random = np.random.default_rng(0)
    mean = random.normal(1.5, 0.5, 20_000)
    values = stats.nbinom.rvs(3.0, 3 / (3 + np.exp(mean)), random_state=random).astype(float)
    assert NegativeBinomial().learned(values, mean, 0 * mean).size == pytest.approx(3, rel=0.3)


def test_thresholds_of_classes_are_learned():
    random = np.random.default_rng(0)
    mean = random.normal(0, 2, 20_000)
    cuts = np.array([-1.0, 0.5, 2.0])
    values = 1.0 + np.searchsorted(cuts, mean + random.logistic(size=mean.size))
    found = Ordinal.of(values)
    for _ in range(5):
        found = found.learned(values, mean, 0 * mean)
    np.testing.assert_allclose(found.thresholds, cuts, atol=0.2)
    assert found.settled().learned(values, 0 * mean, mean).thresholds is found.thresholds


def test_calibration_finds_how_latent_numbers_were_shrunk_and_shifted():
    random = np.random.default_rng(0)
    true = random.normal(0, 2, 3_000)
    values = (random.random(3_000) < special.expit(true)).astype(float)
    found = Bernoulli().calibrated(values, (true - 0.5) / 2, 0 * true, np.ones(3_000))
    assert found.stretch == pytest.approx(2, rel=0.15)
    assert found.shift == pytest.approx(0.5, abs=0.15)


def test_the_mean_of_counts_is_bounded_where_nothing_is_known():
    likelihood = Poisson.of(COUNTS)
    wide = likelihood.predict(np.array([1.0, 9.0]), np.zeros(2), np.full(2, 50.0), GAUSSIAN_ERRORS)
    assert isinstance(wide, LatentPrediction)
    assert (wide.mean <= 2.001 * (COUNTS.max() + 1)).all()


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Bernoulli, [0.0, 1.0, 0.5], r"value 0.5 \(entry 2\).*they are 0 or 1"),
        (Bernoulli, [1.0, 1.0], "all values are 1: to tell yes from no, both must be among them"),
        (Poisson, [1.0, -2.0], r"value -2 \(entry 1\).*whole numbers from 0"),
        (NegativeBinomial, [1.5, 2.0], r"value 1.5 \(entry 0\).*whole numbers from 0"),
        (Poisson, [1.0, 1e18], r"value 1e\+18 \(entry 1\).*from 0 to 1e\+12"),
        (Ordinal, [3.0, 3.0], "1 different levels: ordinal values have 2 to 21"),
        (Ordinal, np.arange(30.0), "30 different levels"),
        (LogNormal, [1.0, 0.0], r"value 0 \(entry 1\).*larger than 0"),
        (LogitNormal, [0.5, 101.0], r"value 101 \(entry 1\).*between 0 and 1, or 0 and 100"),
        (NonNegative, [-5.0, 4.0], r"value -5 \(entry 0\).*0 or larger"),
    ],
)
def test_values_of_another_kind_are_refused(kind, values, message):
    with pytest.raises(ObservationError, match=message):
        kind.of(np.array(values))


def test_every_likelihood_is_found_by_its_name_and_aliases():
    for name, kind in kinds().items():
        assert kind.words
        assert all(find(each) is kind for each in (name, name.upper(), *kind.aliases))
    with pytest.raises(ValueError, match="likelihood is 'stairs': use 'auto', 'gaussian'"):
        find("stairs")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (np.tile([0.0, 1.0], 50), ("bernoulli",)),
        (np.tile([0.0, 1.0], 6), ("bernoulli",)),
        (np.tile(np.arange(1.0, 6.0), 20), ("ordinal",)),
        (np.tile(np.arange(0.5, 5.5, 0.5), 20), ("ordinal",)),
        (np.arange(100.0) % 12, ("negative-binomial", "poisson")),
        (1_000 + np.arange(100.0), ("large-counts", "negative-binomial", "gaussian")),
        (np.exp(np.linspace(-3, 3, 100)), ("gaussian", "log-normal")),
        (np.linspace(-1, 1, 100), ("gaussian",)),
        (np.array([0.0, 1.0]), ("gaussian",)),
        (np.ones(100), ("gaussian",)),
    ],
)
def test_what_values_may_be_shows(values, names):
    assert plausible(values).names == names


def test_numbers_beyond_the_range_of_rates_are_not_taken_for_counts():
    assert plausible(1e18 + 1e12 * np.arange(50)).names == ("gaussian",)


@pytest.mark.parametrize("name", ["negative-binomial", "poisson"])
def test_a_row_of_counts_that_is_folded_in_has_its_counts(name):
    keys = [(f"row {i}", j) for i in range(1, 15) for j in range(5)]
    by_column = np.array([2, 4, 7, 3, 5])
    model = small_vaecp(likelihood=name).fit(keys, np.outer(range(1, 15), by_column).ravel())
    new = [("row 8.0", j) for j in range(5)]
    found = model.fold_in(new[:3], 8 * by_column[:3]).predict(new)
    np.testing.assert_allclose(found, 8 * by_column, rtol=0.06)


@pytest.mark.parametrize("size", [0.5, 20.0, 1e4])
def test_working_responses_of_counts_are_at_rest_where_the_expected_log_density_is_largest(size):
    likelihood, variance = NegativeBinomial(size=size), np.full(1, 0.04)
    value, mean = np.array([16.0]), np.zeros(1)
    for _ in range(60):
        mean = likelihood.working(value, mean, variance).values
    around = mean + np.linspace(-0.3, 0.3, 601)
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    latent = around[:, None] + 0.2 * nodes
    expected = likelihood.family.log_prob(np.full(latent.shape, 16.0), latent) @ weights
    assert around[np.argmax(expected)] == pytest.approx(mean[0], abs=2e-3)
