"""Held-out entries choose ranks, lengths and numbers of members."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.models.vaecp.effort import EFFORTS, effort_of
from vaecp.models.vaecp.held_out import HeldOut
from vaecp.models.vaecp.holdouts import folds_for
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.portfolio import (
    Search,
    choose_members,
)
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import Candidate, Workshop

QUICK = EFFORTS["quick"]


class Watched(Workshop):
    """Keeps the members that were tried, and their seeds."""

    tried: list[tuple[int, int]]

    def first(self, *wanted):
        self.tried += [(kind.rank, seed) for kind, seed in wanted if not kind.patient]
        return super().first(*wanted)


def workshop(array: np.ndarray, seed: int = 0) -> Watched:
    values = (array - np.nanmean(array)) / np.nanstd(array)
    tensor = Observations.from_array(values)
    none = (None,) * tensor.n_modes
    folds = folds_for(tensor, (False,) * tensor.n_modes, np.random.default_rng(seed))
    found = Watched(tensor, folds, none, GAUSSIAN, seed)
    found.tried = []
    return found


def row_effects(seed: int) -> np.ndarray:
    """A sparse matrix in which rows and columns have levels, and nothing else is to be found."""
    random = np.random.default_rng(seed)
    array = random.normal(size=(60, 1)) + random.normal(size=(1, 50))
    array = array + random.normal(size=array.shape)
    array[random.random(array.shape) > 0.2] = np.nan
    return array


def cp(rank: int, seed: int = 0, shape=(14, 13, 12), noise=0.3) -> np.ndarray:
    random = np.random.default_rng(seed)
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, rank)) for n in shape))
    return array / array.std() + noise * random.normal(size=shape)


@pytest.mark.parametrize("seed", range(4))
def test_row_effects_alone_are_chosen_where_there_is_nothing_else(seed):
    made = workshop(row_effects(seed), seed)
    chosen = choose_members(made, QUICK, None, None)
    (alone,) = made.first((Kind(0), 0))
    assert 0 in {candidate.kind.rank for candidate in chosen}
    average = np.mean([candidate.means for candidate in chosen], axis=0)
    assert np.std(average - alone.means) < 0.15 * np.std(alone.means)


def test_the_ladder_stops_where_larger_ranks_gain_nothing():
    made = workshop(row_effects(0))
    choose_members(made, EFFORTS["normal"], None, None)
    assert {rank for rank, _ in made.tried} == {0, 2, 4}


@pytest.mark.parametrize("seed", range(3))
def test_components_are_chosen_where_there_are_four(seed):
    made = workshop(cp(4, seed), seed)
    chosen = choose_members(made, QUICK, None, None)
    assert chosen[0].kind.rank >= 4
    assert chosen[0].loss < made.first((Kind(2), 0))[0].loss - 1


def test_no_rank_is_tried_with_far_more_numbers_than_entries():
    array = cp(4, shape=(20, 20, 10), noise=0.01)
    array[np.random.default_rng(0).random(array.shape) > 0.06] = np.nan
    made = workshop(array)
    choose_members(made, EFFORTS["normal"], None, None)
    n_entries, n_rows = len(made.observations), 50
    assert max(rank for rank, _ in made.tried) <= 3 * n_entries / n_rows


def test_a_stated_rank_is_tried_beside_row_effects_alone():
    made = workshop(cp(4))
    chosen = choose_members(made, QUICK, 3, None)
    assert {rank for rank, _ in made.tried} == {0, 3}
    assert chosen[0].kind.rank == 3


def test_a_stated_number_of_members_differ_by_their_seeds():
    chosen = choose_members(workshop(cp(4)), QUICK, 4, 5)
    assert len(chosen) == 5
    assert len({(candidate.kind, candidate.seed) for candidate in chosen}) == 5


def test_what_is_longer_is_kept_only_where_it_is_better():
    made = workshop(cp(4))
    (first,) = made.first((Kind(4), 0))
    (longer,) = made.longer(first)
    assert longer.n_rounds == 2
    chosen = choose_members(made, replace(QUICK, n_rounds=3), 4, None)
    assert chosen[0].loss <= first.loss + 1e-4


def test_without_folds_members_are_plain_fits_of_all_entries():
    made = workshop(cp(2, shape=(3, 3, 1)))
    assert made.folds == ()
    chosen = choose_members(made, QUICK, 2, 2)
    assert [candidate.descents for candidate in chosen] == [(), ()]
    solver, descent = made.finished(chosen[0])
    assert len(solver.values) == 9
    assert np.isfinite(descent.tables.mean).all()


def test_held_out_entries_are_taken_in_at_the_end():
    made = workshop(cp(4))
    (candidate,) = made.first((Kind(4), 0))
    held_out = made.folds[0].held_out
    ids = held_out.indices + made.solver(0, candidate.kind).offsets[:-1].astype(np.int32)
    judged, _ = made.solver(0, candidate.kind).moments(candidate.descents[0].tables, ids)
    solver, final = made.finished(candidate)
    after, _ = solver.moments(final.tables, ids)
    assert np.std(held_out.values - after) < 0.95 * np.std(held_out.values - judged)


def test_kinds_that_differ_in_what_entries_count_for_share_their_fast_sweeps():
    made = workshop(cp(4))
    (plain,) = made.first((Kind(4), 0))
    spent = made.spent
    (tempered,) = made.first((Kind(4, counts=0.1), 0))
    shared = [descent.n_shared for descent in plain.descents]
    assert [descent.n_shared for descent in tempered.descents] == shared
    for first, second in zip(plain.descents, tempered.descents, strict=True):
        n = first.n_shared - first.n_elsewhere  # other starts leave no history
        assert n > 0
        assert first.history[:n] == second.history[:n]
    alone = workshop(cp(4))
    alone.first((Kind(4, counts=0.1), 0))
    assert made.spent - spent < alone.spent


def test_more_effort_never_means_less():
    efforts = [EFFORTS[name] for name in ("quick", "normal", "thorough")]
    for name in ("max_rank", "n_members", "n_rounds", "multiplications", "per_entry"):
        amounts = [getattr(effort, name) for effort in efforts]
        assert amounts == sorted(amounts)


def test_few_entries_a_number_are_no_trap_for_the_search():
    """Held back by priors from the first sweep, all components would stay at zero here."""
    array = cp(6, shape=(20, 20, 20))
    random = np.random.default_rng(0)
    hidden = random.random(array.shape) > 0.2
    truth = array.copy()
    array[hidden] = np.nan
    made = workshop(array)
    best = choose_members(made, EFFORTS["normal"], None, None)[0]
    solver, final = made.finished(best)
    cells = np.argwhere(hidden)
    found, _ = solver.moments(final.tables, cells + solver.offsets[:-1].astype(np.int32))
    expected = (truth[hidden] - np.nanmean(array)) / np.nanstd(array)
    assert np.std(found - expected) < 0.45


def test_a_flat_mode_adds_effects_and_takes_no_part_in_the_products():
    random = np.random.default_rng(0)
    array = np.einsum("ir,jr->ij", *random.normal(size=(2, 40, 3)))[..., None]
    array = array + random.normal(size=12) + 0.1 * random.normal(size=(40, 40, 12))
    array[random.random(array.shape) > 0.1] = np.nan
    made = workshop(array)
    (found,) = made.first((Kind(3, flat=(2,)), 0))
    rows = found.descents[0].tables.mean[80:]
    np.testing.assert_array_equal(rows[:, :3], 1.0)
    assert np.std(rows[:, -1]) > 0.1
    assert np.exp(0.5 * found.loss) < 1.5 * 0.1 / np.nanstd(array)


def test_the_search_ends_where_what_may_be_spent_is_spent():
    made = workshop(cp(8))
    little = replace(EFFORTS["normal"], multiplications=1e9, per_entry=0.0)
    choose_members(made, little, None, None)
    assert made.spent < 1.2 * little.multiplications


def test_seconds_end_the_search():
    made = workshop(cp(8))
    chosen = choose_members(made, effort_of(1e-9), None, None)
    assert {rank for rank, _ in made.tried} == {0, 2}  # what is always tried
    assert chosen


@pytest.mark.parametrize("wrong", ["fast", -1, 0, float("nan"), float("inf"), True, None])
def test_an_effort_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"effort is .*: use 'quick', .* or a number of seconds"):
        effort_of(wrong)


class Told:
    """A workshop that trains nothing: it is told the loss of every kind."""

    observations = Observations.from_array(np.random.default_rng(0).normal(size=(30, 30, 30)))
    likelihood, chains, keeps_starts, spent = GAUSSIAN, (None,) * 3, False, 0.0

    def __init__(self, losses):
        self.losses, self.tried = losses, []
        folds = folds_for(self.observations, (False,) * 3, np.random.default_rng(0))
        self.held_out = HeldOut.of(folds)

    def first(self, *wanted):
        self.tried += [kind for kind, _ in wanted]
        none = np.empty(0)
        return [Candidate(kind, seed, (), none, none, self.losses(kind)) for kind, seed in wanted]

    def cost(self, kind):
        return 1e9  # one seed has room


def test_of_kinds_that_are_equally_good_the_narrowest_leads():
    losses = {8: 0.0, 16: -0.5, 32: -0.504, 64: -0.509}
    search = Search(Told(lambda kind: losses[kind.rank]), EFFORTS["normal"])
    for rank in losses:
        search.tried(Kind(rank))
    assert search.best.kind.rank == 16


def test_what_was_useless_beside_one_kind_is_not_tried_beside_the_next():
    """Another share of the noise gains, so that there is a next kind; a flat mode never does."""

    def loss(kind):
        return (3.0 if kind.flat else 0.0) - (0.1 if kind.eager == 0.5 else 0.0)

    told = Told(loss)
    search = Search(told, EFFORTS["normal"], 16)
    search.tried(Kind(16))
    search.move_around()
    assert search.best.kind.eager == 0.5
    assert [kind.eager for kind in told.tried if kind.flat] == [0.2, 0.2, 0.2]


def test_a_kind_that_is_too_dear_keeps_no_cheaper_one_from_further_seeds():
    class Priced(Told):
        def took(self, candidate):
            return {16: 80.0, 2: 10.0}[candidate.kind.rank]

    search = Search(Priced(lambda kind: 0.0), EFFORTS["normal"])
    search.workshop.spent, search.budget = 950.0, 1000.0
    teams = [search.tried(Kind(rank)) for rank in (16, 2)]
    search._gained = lambda before, after: False
    found = search.with_seeds(teams, 4, False)
    assert [each.kind.rank for each in found] == [16, 2, 2]


def test_as_many_members_as_asked_for_are_trained_where_row_effects_lead():
    chosen = choose_members(workshop(row_effects(0)), EFFORTS["normal"], None, 5)
    assert chosen[0].kind.rank == 0
    assert len(chosen) == 5


@pytest.mark.parametrize("seed", range(2))
def test_a_stated_rank_leads_where_row_effects_are_better(seed):
    chosen = choose_members(workshop(row_effects(seed), seed), EFFORTS["normal"], 8, 4)
    assert [candidate.kind.rank for candidate in chosen].count(8) >= 3


def sparse(seed: int) -> np.ndarray:
    """Two components without an order, of which a row has some twenty-five entries."""
    random = np.random.default_rng(seed)
    array = cp(2, seed, shape=(40, 50, 30), noise=0.05)
    array[random.random(array.shape) > 0.02] = np.nan
    return array


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_patient_members_find_components_that_others_do_not(seed):
    """Most starts end in places that fit the few entries of each row, and nothing else."""
    made = workshop(sparse(seed))
    plain, patient = made.first((Kind(2), 0), (Kind(4, eager=0.5, patient=True), 0))
    errors, others = (
        np.mean((each.means - made.held_out.values) ** 2) for each in (patient, plain)
    )
    assert errors < 0.5 * others


def test_patient_members_are_tried_only_where_others_miss_what_they_did_not_learn_from():
    made = workshop(cp(4))
    choose_members(made, QUICK, None, None)
    assert not any(kind.patient for _, kind in made._solvers)
    lost = workshop(sparse(6))
    chosen = choose_members(lost, EFFORTS["normal"], None, None)
    assert chosen[0].kind.patient
