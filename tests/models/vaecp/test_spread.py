import numpy as np
import pytest
from scipy import stats

from vaecp.models.vaecp.spread import Spread, learn_spread
from vaecp.models.vaecp.standard_features import StandardFeatures


def errors_of(random, n_entries, log_variance):
    """Errors whose log-variance is a function of the first of two features."""
    features = random.uniform(0, 4, size=(n_entries, 2))
    errors = random.normal(size=n_entries) * np.exp(0.5 * log_variance(features[:, 0]))
    return errors, features


def learned(errors, features, variances=1.0, importance=None):
    n_entries = len(errors)
    alike = np.ones(n_entries) if importance is None else importance
    return learn_spread(
        errors, np.full(n_entries, variances), features, alike, np.arange(n_entries)
    )


def test_errors_that_grow_along_a_feature_are_found_to(random):
    errors, features = errors_of(random, 4000, lambda f: 1.0 - 0.8 * f)
    asked = np.column_stack([np.linspace(0.3, 3.7, 9), np.full(9, 2.0)])
    found = learned(errors, features).log_factor(asked)
    np.testing.assert_allclose(found, 1.0 - 0.8 * asked[:, 0], atol=0.2)


def test_a_wrong_level_is_put_right_and_what_members_expect_is_kept(random):
    """Only the ratio to the expected variances is learned."""
    expected = np.exp(random.normal(size=3000))
    features = random.uniform(0, 4, size=(3000, 2))
    errors = 3 * np.sqrt(expected) * random.normal(size=3000)
    spread = learn_spread(errors, expected, features, np.ones(3000), np.arange(3000))
    np.testing.assert_allclose(spread.log_factor(features[:5]), np.log(9), atol=0.15)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_do_not_matter(scale, random):
    errors, features = errors_of(random, 2000, lambda f: -f)
    once = learned(errors, features).log_factor(features)
    again = learned(scale * errors, features).log_factor(features)
    np.testing.assert_allclose(again - 2 * np.log(scale), once, atol=0.02)


def test_fewer_errors_than_can_tell_change_nothing(random):
    errors, features = errors_of(random, 3, lambda f: 4 - f)
    np.testing.assert_array_equal(learned(errors, features).log_factor(features), 0.0)


def test_few_errors_change_little_but_the_overall_scale():
    slopes = []
    for seed in range(20):
        errors, features = errors_of(np.random.default_rng(seed), 25, lambda f: 2 + 0 * f)
        spread = learned(errors, features)
        slopes.append(np.abs(spread.slopes).max())
        assert np.mean(spread.log_factor(features)) == pytest.approx(2.0, abs=1.3)
    assert np.median(slopes) < 0.4


def test_outliers_are_left_to_the_shape_of_the_errors(random):
    errors, features = errors_of(random, 3000, lambda f: 0 * f)
    few = random.random(3000) < 0.02
    spread = learned(np.where(few, 30 * errors, errors), features)
    assert np.abs(spread.slopes).max() < 0.3
    assert spread.shape.quantile(0.999) > 2 * stats.norm.ppf(0.999)


@pytest.mark.parametrize("draw", [stats.norm.rvs, stats.laplace.rvs, stats.t(3).rvs])
def test_half_of_the_errors_lie_within_the_middle_half(draw, random):
    errors = draw(size=4000, random_state=random)
    features = random.uniform(0, 4, size=(4000, 2))
    spread = learned(errors, features)
    std = np.exp(0.5 * spread.log_factor(features))
    for share in (0.5, 0.9):
        inside = np.abs(errors) < std * spread.shape.quantile(0.5 + share / 2)
        assert inside.mean() == pytest.approx(share, abs=0.03)


def test_beyond_what_was_held_out_errors_are_as_large_as_at_the_end(random):
    errors, features = errors_of(random, 3000, lambda f: 1.5 * f)
    spread = learned(errors, features)
    ends = np.quantile(features, [0.02, 0.98], axis=0)
    beyond = ends + np.array([[-50.0], [50.0]])
    np.testing.assert_allclose(spread.log_factor(beyond), spread.log_factor(ends))


def test_believing_the_members_is_a_factor_of_one():
    np.testing.assert_array_equal(Spread.plain(3).log_factor(np.ones((4, 3))), 0.0)


def test_standard_features_have_mean_zero_and_unit_size_unless_they_hardly_differ(random):
    features = np.column_stack([5 + 3 * random.normal(size=5000), 7 + 0.01 * random.random(5000)])
    unit = StandardFeatures.of(features)(features)
    np.testing.assert_allclose(unit.mean(axis=0), 0, atol=0.01)
    assert unit[:, 0].std() == pytest.approx(1, abs=0.05)
    assert np.abs(unit[:, 1]).max() < 0.02  # differences by chance stay small


def test_errors_of_two_blocks_alone_do_not_tell_how_errors_depend_on_support(random):
    """The same errors do, where every entry was held out by itself."""
    features = np.repeat([[0.0, 1.0], [4.0, 1.0]], 500, axis=0)
    errors = random.normal(size=1000) * np.repeat([1.0, 3.0], 500)
    given = errors, np.ones(1000), features, np.ones(1000)
    assert learn_spread(*given, np.arange(1000)).slopes[0] > 0.1
    assert not learn_spread(*given, np.repeat([0, 1], 500)).slopes.any()


def test_errors_of_asked_gaps_make_the_scale_however_many_others_there_are(random):
    """Easy entries are ten times as many, and count a hundredth."""
    hard, easy = 3.0 * random.normal(size=400), 0.3 * random.normal(size=4_000)
    errors = np.concatenate([hard, easy])
    importance = np.repeat([1.0, 0.001], [400, 4_000])
    units, features = np.arange(4_400), np.zeros((4_400, 1))
    spread = learn_spread(errors, np.ones(4_400), features, importance, units)
    std = np.exp(0.5 * spread.log_factor(features[:1])[0])
    inside = np.mean(np.abs(hard) < std * spread.shape.quantile(0.95))
    assert inside == pytest.approx(0.9, abs=0.03)


def test_few_units_make_wider_intervals_than_many(random):
    """Their errors are the same: what differs is how many were held out together."""
    errors, features = random.normal(size=600), np.zeros((600, 1))
    ends = []
    for per_unit in (1, 100):
        units = np.arange(600) // per_unit
        spread = learn_spread(errors, np.ones(600), features, np.ones(600), units)
        std = np.exp(0.5 * spread.log_factor(features[:1])[0])
        ends.append(std * spread.shape.quantile(0.95))
    assert ends[0] == pytest.approx(1.645, rel=0.07)
    assert ends[1] > 1.05 * ends[0]


def test_a_table_too_small_to_hold_entries_out_has_wide_intervals():
    """Of the eight entries of a 4 x 2 table, two effects leave three degrees of freedom."""
    few, many = (Spread.of_few(np.argwhere(np.ones(shape)), 2) for shape in ((4, 2), (80, 80)))
    assert few.log_factor(np.zeros((1, 2)))[0] > np.log(8 / 3)
    assert many.log_factor(np.zeros((1, 2)))[0] == pytest.approx(0, abs=0.05)
    assert few.shape.quantile(0.99) > many.shape.quantile(0.99)
