"""Families and transforms against SciPy and algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from vaecp.data.families import Bernoulli, Counts, Floor, Logarithm, LogOdds, Ordinal

LATENT = np.array([-3.0, -0.4, 0.0, 1.2, 4.0])
STARS = Ordinal(np.arange(1.0, 6.0), np.array([-2.0, -0.5, 0.7, 3.0]))
FAMILIES = [Bernoulli(), STARS, Counts(), Counts(2.5)]
TRANSFORMS = [Logarithm(0.3, 2.0), LogOdds(-0.1, 0.5, 0.0, 100.0), LogOdds(0.0, 1.0)]


def of_scipy(family, latent):
    if isinstance(family, Bernoulli):
        return stats.bernoulli(special.expit(latent))
    rate = np.exp(latent)
    if np.isinf(family.size):
        return stats.poisson(rate)
    return stats.nbinom(family.size, family.size / (family.size + rate))


@pytest.mark.parametrize("family", [Bernoulli(), Counts(), Counts(2.5)], ids=str)
def test_probabilities_moments_and_distribution_are_those_of_scipy(family):
    known = of_scipy(family, LATENT)
    for value in (0.0, 1.0) if isinstance(family, Bernoulli) else (0.0, 1.0, 7.0, 40.0):
        values = np.full(len(LATENT), value)
        np.testing.assert_allclose(family.log_prob(values, LATENT), known.logpmf(values), rtol=1e-9)
        np.testing.assert_allclose(family.cdf(values, LATENT), known.cdf(values), rtol=1e-9)
    mean, variance = family.moments(LATENT)
    np.testing.assert_allclose(mean, known.mean())
    np.testing.assert_allclose(variance, known.var())


def test_classes_are_where_a_logistic_variable_falls_between_thresholds():
    ends = np.concatenate([[-np.inf], STARS.thresholds, [np.inf]])
    for place, stars in enumerate(STARS.classes):
        lower, upper = (stats.logistic.cdf(end, loc=LATENT) for end in ends[place : place + 2])
        values = np.full(len(LATENT), stars)
        np.testing.assert_allclose(np.exp(STARS.log_prob(values, LATENT)), upper - lower)
        np.testing.assert_allclose(STARS.cdf(values, LATENT), upper)
        np.testing.assert_allclose(STARS.probabilities(LATENT)[:, place], upper - lower)


def test_an_unlikely_class_keeps_its_precision():
    """log P(1 star) is the threshold less the latent number, far out."""
    found = STARS.log_prob(np.array([1.0]), np.array([200.0]))
    np.testing.assert_allclose(found, -202.0)


@pytest.mark.parametrize(
    ("family", "value"),
    [(STARS, 2.5), (STARS, 6.0), (STARS, 0.0), (Counts(), -1.0), (Counts(3.0), 1.5)],
)
def test_what_is_no_value_of_the_family_has_no_probability(family, value):
    assert family.log_prob(np.array([value]), np.zeros(1)) == -np.inf


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_draws_have_the_moments_of_the_family_and_are_whole_numbers(family):
    draws = family.sample(np.tile(LATENT[:4], (40_000, 1)), np.random.default_rng(0))
    mean, variance = family.moments(LATENT[:4])
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5 * np.sqrt(variance.max() / 40_000))
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.15, atol=0.01)
    np.testing.assert_array_equal(draws, np.round(draws))


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("probability", [0.05, 0.5, 0.9])
def test_a_quantile_is_the_smallest_value_that_reaches_the_probability(family, probability):
    mean, variance = family.moments(LATENT)
    found = family.quantile(
        probability, lambda values, rows: family.cdf(values, LATENT[rows]), mean, np.sqrt(variance)
    )
    assert (family.cdf(found, LATENT) >= probability - 1e-9).all()
    lowest = 0.0 if family.classes is None else family.classes[0]
    above = found > lowest
    assert (family.cdf(found - 1, LATENT)[above] < probability).all()


@pytest.mark.parametrize("transform", TRANSFORMS, ids=str)
def test_a_transform_is_undone_and_knows_its_derivative(transform):
    values = np.array([0.01, 0.2, 0.5, 0.99])
    np.testing.assert_allclose(transform.back(transform(values)), values)
    step = 1e-6
    slope = (transform(values + step) - transform(values - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(transform.log_slope(values)), slope, rtol=1e-5)


def test_a_floor_takes_what_is_lower_for_zero():
    floor = Floor(1.0, 2.0)
    np.testing.assert_allclose(floor.back(np.array([-3.0, 0.5])), [0.0, 2.0])
