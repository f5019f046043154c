"""Shapes of errors against SciPy, integrals and draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from vaecp.data.error_shapes import (
    GAUSSIAN_ERRORS,
    MAX_ERRORS,
    ScaleMixture,
    StudentT,
    fitted_mixture,
)

PEAKED = ScaleMixture((0.5, 0.5), (0.2, np.sqrt(1.96)))
SHAPES = [GAUSSIAN_ERRORS, PEAKED, StudentT(5.0)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_mass_one_and_variance_one(shape):
    def density(z):
        return float(np.exp(shape.log_density(np.array([z]))[0]))

    assert 2 * integrate.quad(density, 0, np.inf)[0] == pytest.approx(1, abs=1e-6)
    variance = 2 * integrate.quad(lambda z: z**2 * density(z), 0, np.inf)[0]
    assert variance == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("error", [0.0, 0.4, -2.5])
def test_crps_is_the_integral_that_defines_it(shape, error):
    grid = np.linspace(-40, 40, 80_001)
    below = integrate.cumulative_trapezoid(np.exp(shape.log_density(grid)), grid, initial=0)
    expected = integrate.trapezoid((below - (grid >= error)) ** 2, grid)
    assert float(shape.crps(np.array([error]))[0]) == pytest.approx(expected, abs=0.002)


def test_one_gaussian_is_scipys():
    assert GAUSSIAN_ERRORS.quantile(0.95) == pytest.approx(stats.norm.ppf(0.95))
    assert GAUSSIAN_ERRORS.quantile(0.5) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("probability", [0.001, 0.3, 0.9, 0.999])
def test_quantiles_of_a_mixture_are_those_of_its_draws(probability):
    draws = PEAKED.sample((400_000,), np.random.default_rng(0))
    share = np.mean(draws <= PEAKED.quantile(probability))
    assert share == pytest.approx(probability, abs=0.002)


@pytest.mark.parametrize("n_errors", [4_000, 3 * MAX_ERRORS])
@pytest.mark.parametrize("truth", SHAPES)
def test_a_fitted_mixture_covers_as_it_promises(truth, n_errors):
    random = np.random.default_rng(1)
    errors = 3.0 * truth.sample((n_errors,), random)
    shape, std = fitted_mixture(errors)
    assert std == pytest.approx(3.0, rel=0.1)
    fresh = np.abs(3.0 * truth.sample((40_000,), random))
    for level in (0.5, 0.9, 0.95):
        inside = np.mean(fresh <= std * shape.quantile((1 + level) / 2))
        assert inside == pytest.approx(level, abs=0.02)


def test_one_large_error_among_many_counts_as_one():
    errors = np.append(np.random.default_rng(2).standard_normal(3 * MAX_ERRORS), 100.0)
    _, std = fitted_mixture(errors)
    assert std == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.05)


def test_errors_that_count_more_make_the_mixture():
    """Importance 3 is the same as being listed three times, but for how much they are worth."""
    random = np.random.default_rng(3)
    small, large = random.normal(size=3_000), 5 * random.normal(size=3_000)
    errors = np.concatenate([small, large])
    weighted = fitted_mixture(errors, np.repeat([1.0, 3.0], 3_000))
    listed = fitted_mixture(np.concatenate([small, large, large, large]))
    assert weighted[1] == pytest.approx(listed[1], rel=0.01)
    assert weighted[0].quantile(0.95) == pytest.approx(listed[0].quantile(0.95), rel=0.01)


def test_a_shape_of_uncertain_scale_is_the_average_over_scales():
    """Against draws whose standard deviation is drawn first."""
    shape, std = PEAKED.of_uncertain_scale(0.3)
    random = np.random.default_rng(4)
    scales = np.exp(0.3 * random.standard_normal(400_000))
    draws = scales * PEAKED.sample((400_000,), random)
    assert std == pytest.approx(draws.std(), rel=0.02)
    for probability in (0.75, 0.95, 0.975):
        assert std * shape.quantile(probability) == pytest.approx(
            np.quantile(draws, probability), rel=0.02
        )


def test_few_errors_give_a_sane_mixture():
    shape, std = fitted_mixture(np.array([0.1, -0.2, 0.05, 0.3, -0.15]))
    assert 0.05 < std < 1
    assert np.isfinite(shape.log_density(np.array([0.0, 10.0]))).all()


def test_errors_that_are_all_zero_do_not_divide_by_zero():
    shape, std = fitted_mixture(np.zeros(50))
    assert 0 <= std < 1e-6
    assert np.isfinite(shape.quantile(0.9))
