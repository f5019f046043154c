"""Predictive distributions against SciPy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from vaecp.data.error_shapes import GAUSSIAN_ERRORS, ScaleMixture, StudentT
from vaecp.data.families import Bernoulli, Counts, Logarithm, LogOdds, Ordinal, RootOfCounts
from vaecp.data.prediction import LatentPrediction, Prediction, join
from vaecp.data.standardising import Standardiser
from vaecp.data.transformed import TransformedPrediction
from vaecp.errors import ObservationError

PEAKED = ScaleMixture((0.5, 0.5), (0.2, np.sqrt(1.96)))
SHAPES = [GAUSSIAN_ERRORS, StudentT(3.0), StudentT(10.0), PEAKED]


def prediction(shape=GAUSSIAN_ERRORS) -> Prediction:
    return Prediction(np.array([0.0, 5.0]), np.array([3.0, 0.6]), np.array([4.0, 0.8]), shape)


def test_noise_and_ignorance_add_in_squares():
    np.testing.assert_allclose(prediction().std, [5, 1])


def test_a_normal_interval_has_the_known_width():
    low, high = prediction().interval(0.9)
    np.testing.assert_allclose(high - low, 2 * 1.6448536269514722 * np.array([5, 1]))
    np.testing.assert_allclose((low + high) / 2, [0, 5], atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_standard_deviation_of_draws_is_std(shape):
    draws = prediction(shape).sample(200_000, np.random.default_rng(0))
    assert draws.shape == (200_000, 2)
    np.testing.assert_allclose(draws.mean(axis=0), [0, 5], atol=0.05)
    np.testing.assert_allclose(
        draws.std(axis=0), [5, 1], rtol=0.1 if shape == StudentT(3.0) else 0.02
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interval_holds_the_share_of_draws_that_it_promises(shape):
    low, high = prediction(shape).interval(0.8)
    draws = prediction(shape).sample(50_000, np.random.default_rng(1))
    np.testing.assert_allclose(((low <= draws) & (draws <= high)).mean(axis=0), 0.8, atol=0.01)


def test_the_log_density_is_that_of_scipy():
    values = np.array([1.0, 4.0])
    np.testing.assert_allclose(
        prediction().log_density(values), stats.norm([0, 5], [5, 1]).logpdf(values)
    )
    scale = np.array([5, 1]) / np.sqrt(4 / 2)  # a t of 4 degrees has variance 2
    np.testing.assert_allclose(
        prediction(StudentT(4.0)).log_density(values), stats.t(4, [0, 5], scale).logpdf(values)
    )


def test_the_density_integrates_to_one():
    grid = np.linspace(-400, 400, 80_001)
    single = Prediction(np.zeros(1), np.full(1, 3.0), np.full(1, 4.0), StudentT(5.0))
    assert np.exp(single.log_density(grid)).sum() * 0.01 == pytest.approx(1, abs=1e-4)


def test_units_shift_the_mean_and_stretch_the_spread():
    units = Standardiser(location=10.0, scale=2.0)
    scaled = prediction(StudentT(7.0)).in_units_of(units, np.zeros((2, 2), dtype=int))
    np.testing.assert_allclose(scaled.mean, [10, 20])
    np.testing.assert_allclose(scaled.std, [10, 2])
    assert scaled.shape == StudentT(7.0)
    assert len(scaled) == 2


@pytest.mark.parametrize("coverage", [0, 1, 90, -0.1])
def test_a_coverage_outside_zero_to_one_is_refused(coverage):
    with pytest.raises(ValueError, match=f"coverage is {coverage}: use a number between 0 and 1"):
        prediction().interval(coverage)


STARS = Ordinal(np.arange(1.0, 6.0), np.array([-2.0, -0.5, 0.7, 3.0]))
FAMILIES = [Bernoulli(), STARS, Counts(), Counts(2.5)]


def latent(family) -> LatentPrediction:
    return LatentPrediction.of(np.array([-0.5, 1.5]), np.array([0.8, 0.3]), family)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_family_is_averaged_over_what_its_parameter_may_be(family):
    """Against adaptive quadrature."""
    found = latent(family)
    value = np.array([1.0])
    for place, (mean, std) in enumerate([(-0.5, 0.8), (1.5, 0.3)]):

        def average(function, mean=mean, std=std):
            weight = stats.norm(mean, std).pdf
            ends = mean - 12 * std, mean + 12 * std
            return integrate.quad(lambda u: function(np.array([u])).item() * weight(u), *ends)[0]

        probability = average(lambda u: np.exp(family.log_prob(value, u)))
        centre = average(lambda u: family.moments(u)[0])
        square = average(lambda u: family.moments(u)[1] + family.moments(u)[0] ** 2)
        assert np.exp(found.log_density(np.ones(2)))[place] == pytest.approx(probability, rel=1e-5)
        assert found.cdf(np.ones(2))[place] == pytest.approx(
            average(lambda u: family.cdf(value, u)), rel=1e-5
        )
        assert found.mean[place] == pytest.approx(centre, rel=1e-5)
        assert found.std[place] ** 2 == pytest.approx(square - centre**2, rel=1e-4)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_intervals_of_a_family_hold_what_they_promise_and_no_less_wide_ones_do(family):
    found = latent(family)
    draws = found.sample(50_000, np.random.default_rng(0))
    low, high = found.interval(0.8)
    assert (((low <= draws) & (draws <= high)).mean(axis=0) >= 0.79).all()
    assert ((draws > high).mean(axis=0) <= 0.11).all()
    assert ((draws < low).mean(axis=0) <= 0.11).all()
    np.testing.assert_array_equal([low, high], np.round([low, high]))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_crps_of_a_family_is_the_integral_of_its_definition(family):
    found, values = latent(family), np.array([1.0, 1.0])
    below = np.array([found.cdf(np.full(2, step)) for step in np.arange(0.0, 400.0)])
    reached = np.arange(400)[:, None] >= values
    by_definition = np.sum((below - reached) ** 2, axis=0)
    np.testing.assert_allclose(found.crps(values), by_definition, rtol=0.15, atol=0.01)


@pytest.mark.parametrize("family", [Bernoulli(), STARS], ids=str)
def test_probabilities_of_classes_add_to_one_and_give_the_mean_and_the_mode(family):
    found = latent(family)
    probabilities = found.point("probabilities")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities @ family.classes, found.mean, rtol=1e-6)
    np.testing.assert_array_equal(found.point("mode"), family.classes[probabilities.argmax(axis=1)])


@pytest.mark.parametrize("family", [Counts(), Counts(2.5)], ids=str)
def test_the_mode_of_counts_is_the_most_probable_one(family):
    mean = np.array([-2.0, 0.3, 2.0, 5.0])
    found = LatentPrediction.of(mean, np.array([0.1, 0.5, 0.6, 0.4]), family)
    counts = np.arange(1_000.0)
    each = np.array([found.log_density(np.full(4, count)) for count in counts])
    np.testing.assert_array_equal(found.point("mode"), counts[each.argmax(axis=0)])


def test_the_logarithm_of_a_log_normal_value_is_normal():
    inner = Prediction(np.array([0.2, -1.0]), np.array([0.3, 0.1]), np.array([0.4, 0.0]))
    found = TransformedPrediction.of(inner, Logarithm(2.0, 1.5))
    known = stats.lognorm(1.5 * inner.std, scale=np.exp(2.0 + 1.5 * inner.mean))
    values = np.array([9.0, 2.0])
    np.testing.assert_allclose(found.log_density(values), known.logpdf(values))
    np.testing.assert_allclose(found.cdf(values), known.cdf(values))
    np.testing.assert_allclose(found.quantile(0.9), known.ppf(0.9))
    np.testing.assert_allclose(found.point("median"), known.median())
    np.testing.assert_allclose(found.mean, known.mean(), rtol=0.01)
    np.testing.assert_allclose(found.std, known.std(), rtol=0.05)
    scores = [
        integrate.quad(lambda x, p=p, v=v: (p.cdf(x) - (x >= v)) ** 2, 0, 200, points=[v])[0]
        for p, v in zip(
            [stats.lognorm(0.75, scale=np.exp(2.3)), stats.lognorm(0.15, scale=np.exp(0.5))],
            values,
            strict=True,
        )
    ]
    np.testing.assert_allclose(found.crps(values), scores, rtol=0.02)


def test_large_counts_with_an_unsure_rate_have_a_smooth_distribution():
    """A Poisson's rate that is log-normal and wide: counts are log-normal too, nearly."""
    found = LatentPrediction.of(np.full(3, 8.0), np.array([0.5, 0.5, 0.0]), Counts())
    values = np.array([2_000.0, 4_000.0, 3_000.0])
    rates = stats.lognorm(0.5, scale=np.exp(8.0))
    np.testing.assert_allclose(
        np.exp(found.log_density(values))[:2], rates.pdf(values[:2]), rtol=0.01
    )
    np.testing.assert_allclose(found.cdf(values)[:2], rates.cdf(values[:2]), atol=0.05)
    known = stats.poisson(np.exp(8.0))
    np.testing.assert_allclose(found.log_density(values)[2], known.logpmf(3_000))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_predictions_of_a_family_are_taken_apart_and_joined(family):
    found = latent(family)
    joined = join([found.take([0]), found.take([1])])
    np.testing.assert_array_equal(joined.quantile(0.7), found.quantile(0.7))
    np.testing.assert_array_equal(joined.log_density(np.ones(2)), found.log_density(np.ones(2)))


def test_transformed_predictions_are_taken_apart_and_joined():
    inner = Prediction(np.array([0.2, -1.0]), np.array([0.3, 0.1]), np.array([0.4, 0.0]))
    found = TransformedPrediction.of(inner, LogOdds(0.0, 1.0))
    joined = join([found.take([0]), found.take([1])])
    np.testing.assert_array_equal(joined.quantile(0.7), found.quantile(0.7))


def test_real_numbers_have_no_probabilities_of_classes():
    with pytest.raises(ObservationError, match="these values are no classes"):
        prediction().point("probabilities")
    with pytest.raises(ValueError, match="kind is 'best': use 'mean', 'median'"):
        prediction().point("best")


def test_counts_behind_a_root_share_out_the_gaussian_between_whole_numbers():
    mean = np.array([0.3, 2.0, 12.0])
    transform = RootOfCounts(1.0, 0.5)
    inner = Prediction((mean - 1.0) / 0.5, np.full(3, 0.4), np.full(3, 0.3))
    found = TransformedPrediction.of(inner, transform)
    truth = stats.norm(mean, 0.25)
    for count in (0.0, 1.0, 7.0, 150.0):
        edge = np.sqrt(count + 0.875)
        below = truth.cdf(np.sqrt(count - 0.125)) if count else 0.0
        values = np.full(3, count)
        np.testing.assert_allclose(found.cdf(values), truth.cdf(edge), atol=1e-12)
        probability = np.exp(found.log_density(values))
        np.testing.assert_allclose(probability, truth.cdf(edge) - below, atol=2e-9)
    every = np.stack([np.exp(found.log_density(np.full(3, k))) for k in np.arange(400.0)])
    np.testing.assert_allclose(every.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(found.mean, np.arange(400.0) @ every, rtol=0.01, atol=0.01)
    for level in (0.05, 0.5, 0.95):
        counts = found.quantile(level)
        assert (found.cdf(counts) >= level).all()
        assert ((counts == 0) | (found.cdf(counts - 1) < level)).all()
    impossible = [-1.0, 1.5, -0.2]
    np.testing.assert_array_equal(found.log_density(np.array(impossible)), -np.inf)
    assert found.discrete
