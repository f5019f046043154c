"""Effects of pairs of rows, against Bayesian regression, draws and data that have them."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import OneHotEncoder

import vaecp
from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.members import Ensemble, member_of
from vaecp.models.vaecp.pairs import PairEffects, Pairing
from vaecp.models.vaecp.sweeps.descent import Kind, begin, settle, solver_for, take_in

SHAPE = (6, 7, 5)
MODES = [(0, 1), (0, 2), (1, 2)]


@pytest.fixture
def random():
    return np.random.default_rng(0)


def entries(random, n: int = 150) -> np.ndarray:
    return np.stack([random.integers(size, size=n) for size in SHAPE], axis=1).astype(np.int32)


def test_effects_of_one_pair_of_modes_are_those_of_ridge_regression(random):
    indices, residuals = entries(random), random.normal(size=150)
    pairing, prior = Pairing.of(indices), np.zeros((3, 3))
    prior[0, 2] = 0.7
    found = pairing.solved(pairing.start(prior), residuals, np.full(150, 2.0))
    design = OneHotEncoder().fit_transform(indices[:, [0, 2]] @ [[10], [1]])
    ridge = Ridge(alpha=1 / 0.7 / 2.0, fit_intercept=False).fit(design, residuals)
    np.testing.assert_allclose(pairing.moments(found)[0], ridge.predict(design), atol=1e-6)


def test_repeated_solving_ends_at_the_posterior_of_all_pairs_of_modes(random):
    indices, values = entries(random), random.normal(size=150)
    pairing, prior = Pairing.of(indices), np.zeros((3, 3))
    prior[0, 1] = prior[0, 2] = prior[1, 2] = 0.5
    effects = pairing.start(prior)
    for _ in range(500):
        effects = pairing.solved(effects, values - pairing.moments(effects)[0], np.ones(150))
    keys = np.stack([indices[:, a] * 10 + indices[:, b] for a, b in MODES], axis=1)
    design = OneHotEncoder().fit_transform(keys)
    ridge = Ridge(alpha=2.0, fit_intercept=False, tol=1e-12).fit(design, values)
    np.testing.assert_allclose(pairing.moments(effects)[0], ridge.predict(design), atol=1e-5)


def effects_of(random, n: int = 60) -> tuple[np.ndarray, PairEffects]:
    indices = entries(random, n)
    pairing, prior = Pairing.of(indices), np.zeros((3, 3))
    prior[0, 1], prior[1, 2] = 0.5, 2.0
    return indices, pairing.solved(pairing.start(prior), random.normal(size=n), np.ones(n))


def test_known_pairs_are_found_again_and_unknown_ones_have_the_prior(random):
    indices, effects = effects_of(random)
    mean, variance = Pairing.of(indices).moments(effects)
    found, spread = np.zeros((2, 60))
    effects.in_use().add_to(indices, found, spread)
    np.testing.assert_allclose(found, mean)
    np.testing.assert_allclose(spread, variance)
    unseen = np.full((1, 3), -1)
    found, spread = np.zeros((2, 1))
    effects.add_to(unseen, found, spread)
    assert (found[0], spread[0]) == (0.0, 2.5)


def test_draws_have_the_moments_and_share_what_entries_have_in_common(random):
    indices, effects = effects_of(random, 20)
    both = PairEffects.stacked([effects.in_use(), None], 3)
    cells = np.array([[*indices[0, :2], 0], [*indices[0, :2], 1], [-1, -1, -1]])
    mean, variance = np.zeros((2, 2, 3))
    both.add_to(cells, mean, variance)
    draws = np.stack([both.draw(0, cells, random) for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), mean[0], atol=0.1)
    np.testing.assert_allclose(draws.var(axis=0), variance[0], rtol=0.1)
    assert np.corrcoef(draws[:, 0], draws[:, 1])[0, 1] > 0.05
    np.testing.assert_array_equal(mean[1], 0.0)  # the second member has none
    np.testing.assert_array_equal(variance[1], 0.0)


def test_rows_that_move_take_their_effects_along(random):
    indices, effects = effects_of(random)
    places = tuple(random.permutation(size) for size in SHAPE)
    moved = np.stack([place[column] for place, column in zip(places, indices.T, strict=True)], 1)
    before, after, spread = np.zeros((3, 60))
    effects.add_to(indices, before, spread)
    effects.moved(places).add_to(moved, after, spread)
    np.testing.assert_array_equal(after, before)


def test_a_member_keeps_what_sweeps_gave_it_and_takes_in_further_entries(random):
    indices, values = entries(random), random.normal(size=150)
    kind, chains = Kind(2, pairs=(0.3, 0.0, 1.0)), (None,) * 3
    part = solver_for(Observations(indices[:100], values[:100], SHAPE), kind, chains)
    descent = settle(part, begin(part, GAUSSIAN, random, kind.pairs), 5)
    ensemble = Ensemble.of([member_of(part, descent)], -99, 99)
    ids = (indices + part.offsets[:-1]).astype(np.int32)
    mean, _ = part.moments(descent.tables, ids)
    found = ensemble.moments(indices)
    np.testing.assert_allclose(found.mean[:, 0], mean, atol=1e-5)
    whole = solver_for(Observations(indices, values, SHAPE), kind, chains)
    later = take_in(whole, descent, 3)
    errors = [
        np.mean((values[100:] - each) ** 2)
        for each in (mean[100:], whole.moments(later.tables)[0][100:])
    ]
    assert errors[1] < errors[0], "pairs of the further entries are known now"


@pytest.fixture(scope="module")
def pairs_matter():
    """Yes or no by what two rows of the first and last mode have in common."""
    random, shape = np.random.default_rng(1), (30, 30, 20)
    likes = random.normal(size=(30, 1, 20)) > 0
    indices = np.stack([random.integers(size, size=3000) for size in shape], axis=1)
    values = likes[indices[:, 0], 0, indices[:, 2]].astype(float)
    flipped = random.random(3000) < 0.05
    return Observations(indices, np.where(flipped, 1 - values, values), shape).split(0.3, 0)


def test_yes_or_no_by_pairs_is_learned_and_survives_a_file(pairs_matter, tmp_path):
    train, test = pairs_matter
    model = vaecp.VAECP(effort="quick", random_state=0).fit_tensor(train)
    prediction = model.predict_at(test.indices)
    assert vaecp.metrics.auc(prediction, test.values) > 0.85  # 0.5 without pair effects
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    np.testing.assert_array_equal(again.predict_at(test.indices).mean, prediction.mean)
    draws = model.fitted_.sample(test.indices[:20], 30, np.random.default_rng(0))
    assert set(np.unique(draws)) <= {0.0, 1.0}


def test_rows_fold_in_beside_pair_effects(pairs_matter):
    train, test = pairs_matter
    model = vaecp.VAECP(effort="quick", random_state=0).fit_tensor(train)
    keys = [[31, 1, 2], [31, 2, 3]]
    grown = model.fold_in(keys, [1.0, 1.0])
    before, after = (each.predict(test.keys().to_numpy()[:50]) for each in (model, grown))
    np.testing.assert_allclose(after, before, atol=0.01)  # support has grown a little


def test_a_damaged_record_is_refused(random):
    _, effects = effects_of(random)
    stacked = PairEffects.stacked([effects], 3)
    stacked.validate(1, SHAPE)
    with pytest.raises(ValueError, match="rows that are not there"):
        stacked.validate(1, (2, 2, 2))
    with pytest.raises(ValueError, match="one for each member"):
        stacked.validate(2, SHAPE)
