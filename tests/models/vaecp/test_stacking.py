import numpy as np
import pytest
from scipy import optimize

from vaecp.models.vaecp.stacking import PRIOR_STD, Stack, learn_stack


def held_out(random, sizes, n_entries=400, n_features=2):
    """Means of members whose errors have these standard deviations, and features of no meaning."""
    values = random.normal(size=n_entries)
    errors = random.normal(size=(n_entries, len(sizes))) * sizes
    features = random.uniform(0, 4, size=(n_entries, n_features))
    return values[:, None] + errors, values, features


def learned(means, values, features, importance=None, **settings):
    alike = np.ones(len(values)) if importance is None else importance
    return learn_stack(means, values, features, alike, np.arange(len(values)), **settings)


def test_weights_sum_to_one_and_none_is_negative(random):
    means, values, features = held_out(random, [0.2, 0.5, 1.0])
    means[features[:, 0] > 2, 0] += 3.0
    weights = learned(means, values, features).weights(10 * features - 5)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights >= 0).all()


def test_a_member_that_is_far_off_has_no_weight(random):
    means, values, features = held_out(random, [0.2, 0.2, 5.0])
    weights = learned(means, values, features).weights(features)
    assert weights[:, 2].max() < 0.01


def test_members_that_say_the_same_share(random):
    means, values, features = held_out(random, [0.3])
    weights = learned(np.repeat(means, 4, axis=1), values, features).weights(features)
    np.testing.assert_allclose(weights, 0.25, atol=1e-3)


def test_members_with_independent_errors_are_weighed_by_their_precision(random):
    """The best blend of unbiased members has weights proportional to 1 / variance."""
    means, values, features = held_out(random, [1.0, 0.5], n_entries=5000)
    weights = learned(means, values, features, slopes=False).weights(features[:1])
    np.testing.assert_allclose(weights, [[0.2, 0.8]], atol=0.02)


def test_one_weight_is_the_exact_minimum_of_squared_errors_and_prior(random):
    """Two members and no slopes leave one number, which a search on a line finds too."""
    means, values, features = held_out(random, [1.0, 0.6], n_entries=60)
    found = learned(means, values, features, slopes=False).weights(features[:1])[0, 0]

    def cost(half):  # intercepts are opposite: the prior is symmetric
        weight = 1 / (1 + np.exp(-2 * half))
        errors = values - weight * means[:, 0] - (1 - weight) * means[:, 1]
        best = np.min(np.mean((values[:, None] - means) ** 2, axis=0))
        return 0.5 * np.sum(errors**2) / best + half**2 / PRIOR_STD**2

    expected = optimize.minimize_scalar(cost, bounds=(-5, 5), method="bounded").x
    assert found == pytest.approx(1 / (1 + np.exp(-2 * expected)), abs=1e-3)


def test_weights_follow_support_where_members_differ_by_it(random):
    """One member is right where much is known, the other where little is."""
    means, values, features = held_out(random, [0.2, 0.2], n_entries=2000)
    much = features[:, 0] > 2
    means[~much, 0] += 2 * random.normal(size=(~much).sum())
    means[much, 1] += 2 * random.normal(size=much.sum())
    weights = learned(means, values, features).weights(np.array([[0.2, 2.0], [3.8, 2.0]]))
    assert weights[0, 1] > 0.9
    assert weights[1, 0] > 0.9


def test_few_entries_leave_the_weights_the_same_everywhere(random):
    means, values, features = held_out(random, [0.2, 0.2], n_entries=60)
    much = features[:, 0] > 2
    means[~much, 0] += 2 * random.normal(size=(~much).sum())
    assert not learned(means, values, features).slopes.any()


def test_features_that_tell_nothing_get_no_slopes():
    kept = []
    for seed in range(10):
        means, values, features = held_out(np.random.default_rng(seed), [0.3, 0.4])
        kept.append(learned(means, values, features).slopes.any())
    assert np.mean(kept) <= 0.3


def test_entries_that_count_more_decide(random):
    means, values, features = held_out(random, [0.0, 0.0])
    first = np.arange(len(values)) < 200
    means[first, 0] += 1.0  # the second is right here, the first elsewhere
    means[~first, 1] += 1.0
    stack = learned(means, values, features, np.where(first, 9.0, 1.0), slopes=False)
    np.testing.assert_allclose(stack.weights(features[:1]), [[0.1, 0.9]], atol=0.02)


def test_beyond_what_was_held_out_the_weights_are_those_at_the_end(random):
    means, values, features = held_out(random, [0.2, 0.2], n_entries=2000)
    means[features[:, 0] < 2, 0] += 2.0
    stack = learned(means, values, features)
    low, high = np.quantile(features, [0.02, 0.98], axis=0)
    ends, beyond = np.stack([low, high]), np.stack([low - 100, high + 100])
    np.testing.assert_allclose(stack.weights(beyond), stack.weights(ends))


def test_many_entries_are_thinned_out_evenly(random):
    means, values, features = held_out(random, [1.0, 0.5], n_entries=12_000)
    found = learned(means, values, features, slopes=False).weights(features[:1])
    np.testing.assert_allclose(found, [[0.2, 0.8]], atol=0.03)


def test_one_member_or_one_entry_needs_no_learning(random):
    means, values, features = held_out(random, [0.5])
    np.testing.assert_array_equal(learned(means, values, features).weights(features), 1.0)
    means, values, features = held_out(random, [0.1, 9.0], n_entries=1)
    np.testing.assert_array_equal(learned(means, values, features).weights(features), 0.5)
    assert Stack.equal(3, 2).weights(np.zeros((0, 2))).shape == (0, 3)
