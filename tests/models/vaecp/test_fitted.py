"""What a fitted model says of entries."""

from dataclasses import replace

import numpy as np
import pytest

import vaecp
from vaecp import VAECP, Observations
from vaecp.models.vaecp.neighbours import Correction, Neighbourhood
from vaecp.models.vaecp.relevance import effective_rank, rank_range
from vaecp.models.vaecp.spread import Spread
from vaecp.models.vaecp.stacking import Stack

SHAPE = (8, 9, 10)
CELLS = np.argwhere(np.ones(SHAPE)).astype(np.int32)


def tensor(seed: int = 0) -> Observations:
    random = np.random.default_rng(seed)
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in SHAPE))
    array += 0.2 * random.normal(size=SHAPE)
    array[random.random(SHAPE) < 0.3] = np.nan
    return Observations.from_array(array)


@pytest.fixture(scope="module")
def model() -> VAECP:
    return VAECP(effort="quick", random_state=0).fit_tensor(tensor())


@pytest.fixture(scope="module")
def alone() -> VAECP:
    """One member, and nothing beside it."""
    settings = {"n_members": 1, "neighbours": False, "random_state": 0}
    return VAECP(rank=2, **settings).fit_tensor(tensor())


def test_the_mean_is_the_same_with_and_without_its_spread(model):
    np.testing.assert_array_equal(
        model.fitted_.predict(CELLS).mean, model.fitted_.predict_mean(CELLS)
    )


def test_total_variance_is_noise_plus_ignorance_and_both_are_there(model):
    found = model.fitted_.predict(CELLS)
    np.testing.assert_allclose(found.std**2, found.noise_std**2 + found.ignorance_std**2)
    assert (found.noise_std > 0).all()
    assert (found.ignorance_std > 0).all()


def test_one_member_alone_is_a_sum_of_products(alone):
    weights, factors, offset = alone.fitted_.as_cp()
    dense = offset + np.einsum("r,ir,jr,kr->ijk", weights, *factors)
    np.testing.assert_allclose(alone.fitted_.predict_mean(CELLS), dense.ravel(), atol=1e-5)


def test_several_members_are_no_sum_of_products():
    several = VAECP(rank=2, n_members=2, random_state=0).fit_tensor(tensor())
    assert several.fitted_.as_cp() is None


def test_levelling_a_component_takes_it_away_as_in_cp(alone):
    """Rows of a levelled component are their average: a constant product."""
    _, factors, _ = alone.fitted_.as_cp()
    (found,) = alone.fitted_.components(CELLS)
    rows = [table[CELLS[:, mode]] for mode, table in enumerate(factors)]
    for component in range(2):
        product = np.prod([row[:, component] for row in rows], axis=0)
        level = np.prod([table[:, component].mean() for table in factors])
        np.testing.assert_allclose(found.effects[:, component], level - product, atol=1e-5)


def test_factors_and_their_spread_are_those_of_the_member_that_counts_most(model):
    fitted = model.fitted_
    ordinary = fitted.stack.standard.centre[None]
    main = int(np.argmax(fitted.stack.weights(ordinary)[0]))
    rank = int(fitted.ensemble.ranks[main])
    assert [table.shape for table in fitted.factors] == [(size, rank) for size in SHAPE]
    for mode, (mean, std) in enumerate(zip(fitted.factors, fitted.row_std(), strict=True)):
        np.testing.assert_array_equal(mean, fitted.ensemble.mean[mode][main, :-1, :rank])
        variance = fitted.ensemble.variance[mode][main, :-1, :rank]
        np.testing.assert_allclose(std**2, variance, rtol=1e-5)


def test_the_effective_rank_is_that_of_the_data():
    wide = VAECP(rank=6, n_members=1, random_state=0).fit_tensor(tensor())
    assert wide.effective_rank_ == 2
    assert wide.effective_rank_range_ == (2, 2)


def test_the_range_of_the_effective_rank_grows_with_what_is_unknown_of_rows(alone):
    ensemble = alone.fitted_.ensemble
    noise = [effective_rank(ensemble, 0, away) for away in (-1.645, 0.0, 1.645)]
    assert noise == [2, 2, 2]
    faint = replace(
        ensemble,
        mean=tuple(0.0 * table for table in ensemble.mean),
        variance=tuple(0 * table + 0.05 ** (1 / 3) for table in ensemble.variance),
        noises=np.ones(1),
    )
    low, high = rank_range(faint)
    assert (low, high) == (0, 2)


def test_members_that_disagree_are_ignorance(alone):
    """Two members that are sure, one standard deviation above and below."""
    known = alone.fitted_
    one = known.ensemble
    twice = {
        name: tuple(np.repeat(table, 2, axis=0) for table in getattr(one, name))
        for name in ("mean", "variance", "correlation")
    }
    two = replace(
        one,
        **twice | {"variance": tuple(0 * table for table in twice["variance"])},
        ranks=np.repeat(one.ranks, 2),
        levels=one.levels + np.array([-1.0, 1.0]),
        noises=np.repeat(one.noises, 2),
        multilinear=np.repeat(one.multilinear, 2),
        prior_variance=np.repeat(one.prior_variance, 2, axis=0),
    )
    n_features = len(known.support.names)
    split = replace(
        known,
        ensemble=two,
        stack=Stack.equal(2, n_features),
        spread=Spread.plain(n_features),
        row_log_noise=tuple(0 * table for table in known.row_log_noise),
    )
    found = split.predict(CELLS)
    inside = two.doubt_beyond(found.mean) == 0
    assert inside.mean() > 0.99
    np.testing.assert_allclose(found.ignorance_std[inside], 1.0, rtol=1e-5)
    np.testing.assert_allclose(found.noise_std**2, one.noises[0], rtol=1e-5)


def test_predictions_stay_within_the_stated_range_whatever_neighbours_say(alone):
    known = alone.fitted_
    vast = np.where(np.arange(len(CELLS)) % 2, 1e3, -1e3)
    correction = Correction(Neighbourhood(CELLS, vast, (2,), SHAPE), np.full(4, 5.0))
    moved = replace(known, correction=correction)
    for mean in (moved.predict_mean(CELLS), moved.predict(CELLS).mean):
        assert mean.min() >= known.ensemble.lowest
        assert mean.max() <= known.ensemble.highest


def test_the_range_is_that_of_the_values_and_as_much_on_either_side(model):
    values = model.scaling_.apply(tensor().values)
    low, high = values.min(), values.max()
    assert model.fitted_.ensemble.lowest == pytest.approx(2 * low - high)
    assert model.fitted_.ensemble.highest == pytest.approx(2 * high - low)


def test_draws_spread_as_the_intervals_say(model):
    some = CELLS[::40]
    draws = model.fitted_.sample(some, 1000, np.random.default_rng(0))
    assert draws.shape == (1000, len(some))
    prediction = model.fitted_.predict(some)
    for coverage in (0.5, 0.9):
        low, high = prediction.interval(coverage)
        inside = np.mean((low <= draws) & (draws <= high))
        assert inside == pytest.approx(coverage, abs=0.03)


def test_entries_that_share_an_uncertain_row_are_drawn_together():
    """A row with two entries: what it makes of the others is one question, not many."""
    array = tensor().to_array()
    array[3].ravel()[2:] = np.nan
    fitted = VAECP(rank=2, n_members=1, random_state=0).fit_tensor(Observations.from_array(array))
    own, other = CELLS[CELLS[:, 0] == 3], CELLS[CELLS[:, 0] == 4]
    strength = []
    for cells in (own, other):
        draws = fitted.fitted_.sample(cells, 400, np.random.default_rng(0))
        together = np.abs(np.corrcoef(draws.T)[np.triu_indices(len(cells), 1)])
        strength.append(together.mean())
    assert strength[0] > 1.5 * strength[1]


def test_an_unseen_label_is_wider_and_several_are_widest(model):
    fitted = model.fitted_
    seen = fitted.predict(CELLS).std.mean()
    one = np.array(CELLS)
    one[:, 0] = -1
    assert fitted.predict(one).std.mean() > 1.5 * seen
    nowhere = fitted.predict(np.full((1, 3), -1)).std[0]
    assert 0.7 < nowhere < 3  # the values have a standard deviation of 1


def test_rows_with_few_entries_are_less_certain():
    array = tensor().to_array()
    few = np.random.default_rng(1).random(SHAPE[1:]) > 0.12
    array[3][few] = np.nan
    fitted = VAECP(effort="quick", random_state=0).fit_tensor(Observations.from_array(array))
    found = fitted.fitted_.predict(CELLS)
    rare = CELLS[:, 0] == 3
    assert found.ignorance_std[rare].mean() > 1.5 * found.ignorance_std[~rare].mean()


def test_what_was_chosen_is_told(alone):
    found = alone.diagnostics_.found
    assert (found["rank"], found["n_members"], found["likelihood"]) == (2, 1, "gaussian")


@pytest.mark.slow
@pytest.mark.parametrize("rank", [9, 10, 11, 12])
def test_the_effective_rank_of_the_papers_tensors_is_theirs_or_one_more(rank):
    observations = vaecp.datasets.load("synthetic", r=rank)
    found = VAECP(effort="quick", random_state=0).fit_tensor(observations)
    assert rank <= found.effective_rank_ <= rank + 1
    low, high = found.effective_rank_range_
    assert low <= rank <= high
