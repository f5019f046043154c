"""Tests of difference: hand-computed examples, and what they guard against."""

import numpy as np
import pytest
from scipy import stats

from vaecp.study.experiments.statistics import corrected_t, holm


def test_the_corrected_t_of_a_small_example_is_that_computed_by_hand():
    # Mean 2, variance 5/3 with three degrees of freedom; a fifth is tested on, so the variance of
    # the mean is 5/3 (1/4 + 1/4) = 5/6, t = 2 / sqrt(5/6) = 2.190890.
    found = corrected_t(np.array([0.5, 1.5, 2.5, 3.5]), held_out=0.2)
    assert found.mean == 2.0
    assert found.p == pytest.approx(2 * (1 - stats.t.cdf(2.190890, 3)), abs=1e-6)
    half = 3.182446 * np.sqrt(5 / 6)  # the 97.5 % point of t with 3 degrees of freedom
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), abs=1e-5)


def test_without_test_entries_it_is_the_plain_t_test(random):
    differences = random.normal(0.3, 1, 12)
    plain = stats.ttest_1samp(differences, 0)
    found = corrected_t(differences, held_out=1e-12)
    np.testing.assert_allclose(found.p, plain.pvalue, rtol=1e-9)
    np.testing.assert_allclose([found.low, found.high], plain.confidence_interval(0.95), rtol=1e-9)


def test_on_overlapping_splits_of_noise_the_plain_test_errs_often_and_this_one_seldom(random):
    """Two predictors that are equally good; each split draws a fifth of the same entries."""
    plain = corrected = 0
    for _ in range(300):
        losses = random.normal(size=200)
        differences = np.array([losses[random.permutation(200)[:40]].mean() for _ in range(10)])
        plain += stats.ttest_1samp(differences, 0).pvalue < 0.05
        corrected += corrected_t(differences, held_out=0.2).p < 0.05
    assert plain > 60
    assert corrected < 30


def test_equal_or_single_differences_are_no_evidence():
    assert corrected_t(np.zeros(5), 0.2).p == 1.0
    assert corrected_t(np.ones(5), 0.2).p == 0.0
    single = corrected_t(np.ones(1), 0.2)
    assert (single.p, single.low, single.high) == (1.0, -np.inf, np.inf)


def test_holm_adjusts_as_in_a_known_example():
    # Of 0.01, 0.04, 0.03, 0.005: 4 x 0.005, 3 x 0.01, 2 x 0.03, then no less than that.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
