import numpy as np

from vaecp.models.vaecp.neighbours import (
    DAMPING,
    HALF_WIDTHS,
    Correction,
    Neighbourhood,
    weights_of,
)


def neighbourhood(share=0.6, seed=0):
    random = np.random.default_rng(seed)
    errors = np.full((4, 9), np.nan)
    observed = random.random(errors.shape) < share
    errors[observed] = random.normal(size=observed.sum())
    indices = np.argwhere(observed)
    return errors, Neighbourhood(indices, errors[observed], (1,), errors.shape)


def by_hand(errors, row, column, half_width, *, without_own=False):
    window = errors[row, max(column - half_width, 0) : column + half_width + 1].copy()
    if without_own:
        window[min(column, half_width)] = np.nan
    known = window[~np.isnan(window)]
    return known.sum() / (len(known) + DAMPING)


def test_features_are_averages_of_windows():
    errors, found = neighbourhood()
    every = np.argwhere(np.ones_like(errors))
    missing = every[np.isnan(errors[tuple(every.T)])]
    features = found.features(missing)
    expected = [[by_hand(errors, *entry, width) for width in HALF_WIDTHS] for entry in missing]
    np.testing.assert_allclose(features, expected, atol=1e-12)


def test_an_entry_is_not_its_own_neighbour():
    errors, found = neighbourhood()
    features = found.features(found.indices)
    expected = [
        [by_hand(errors, *entry, width, without_own=True) for width in HALF_WIDTHS]
        for entry in found.indices
    ]
    np.testing.assert_allclose(features, expected, atol=1e-12)


def test_unseen_labels_have_no_neighbours_and_are_not_corrected():
    _, found = neighbourhood()
    unseen = np.array([[-1, 3], [2, -1]])
    assert not found.features(unseen).any()
    assert not Correction(found, np.ones(len(HALF_WIDTHS))).at(unseen).any()


def test_weights_are_found_where_neighbours_tell_and_refused_where_they_do_not():
    random = np.random.default_rng(0)
    features, alike = random.normal(size=(2000, 4)), np.ones(2000)
    errors = 0.5 * features[:, 0] + 0.1 * random.normal(size=2000)
    weights, left = weights_of(features, errors, alike, np.arange(2000))
    np.testing.assert_allclose(weights, [0.5, 0, 0, 0], atol=0.02)
    assert np.std(left) < 0.11
    assert weights_of(features, random.normal(size=2000), alike, np.arange(2000)) is None
    assert weights_of(features[:20], errors[:20], alike[:20], np.arange(20)) is None


def test_entries_that_count_more_have_more_say():
    """Two kinds of gaps whose neighbours tell opposite things: the important kind decides."""
    random = np.random.default_rng(0)
    features = random.normal(size=(2000, 4))
    first = np.arange(2000) < 1000
    errors = np.where(first, 0.5, -0.5) * features[:, 0] + 0.01 * random.normal(size=2000)
    found, _ = weights_of(features, errors, np.where(first, 99.0, 1.0), np.arange(2000))
    np.testing.assert_allclose(found, [0.49, 0, 0, 0], atol=0.03)
