"""Patterns of gaps: shares, whole units, replicates together, and nothing held out twice."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.data.gaps import (
    GapPattern,
    fold_numbers,
    held_out,
    held_out_by,
    patterns_for,
)
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

SHAPE = (7, 9, 8)
UNIT_MODES = {"scattered": (0, 1, 2), "fibres:2": (0, 1), "fibres:0": (1, 2), "slabs:1": (1,)}
"""Entries that share their rows in these modes belong to one unit."""
patterns = st.sampled_from(sorted(UNIT_MODES))
seeds = st.integers(0, 2**32 - 1)
shares = st.floats(0.05, 0.95)


def tensor(seed, density=0.6, n_replicates=30):
    """A tensor with gaps and with repeated measurements of some cells, in any order."""
    random = np.random.default_rng(seed)
    cells = np.argwhere(random.random(SHAPE) < density)
    rows = np.append(np.arange(len(cells)), random.integers(len(cells), size=n_replicates))
    indices = cells[random.permutation(rows)]
    return Observations(indices, random.normal(size=len(indices)), SHAPE)


def units_of(text, indices):
    return [tuple(row) for row in indices[:, UNIT_MODES[text]].tolist()]


@settings(deadline=None, max_examples=60)
@given(patterns, seeds, shares)
def test_units_are_held_out_whole_and_their_share_is_near_the_wanted_one(text, seed, share):
    observations = tensor(seed)
    mask = held_out(GapPattern.parse(text, share), observations, np.random.default_rng(seed))
    units = np.array([hash(unit) for unit in units_of(text, observations.indices)])
    assert not set(units[mask]) & set(units[~mask])
    assert mask.any()
    assert not mask.all()
    largest = np.unique(units, return_counts=True)[1].max()
    assert abs(mask.sum() - share * len(mask)) <= largest + 0.5


@settings(deadline=None, max_examples=40)
@given(patterns, seeds, st.integers(2, 5))
def test_folds_partition_the_entries_without_cutting_a_unit(text, seed, n_folds):
    observations = tensor(seed)
    pattern, random = GapPattern.parse(text), np.random.default_rng(seed)
    folds = fold_numbers(pattern, observations, n_folds, random)
    assert set(folds) == set(range(n_folds))
    by_unit = {}
    for unit, fold in zip(units_of(text, observations.indices), folds, strict=True):
        assert by_unit.setdefault(unit, fold) == fold
    sizes = np.bincount([int(fold) for fold in by_unit.values()])
    assert sizes.max() - sizes.min() <= 1


def test_scattered_cells_without_replicates_are_those_of_a_plain_split():
    observations = tensor(0, n_replicates=0)
    mask = held_out(GapPattern(share=0.3), observations, np.random.default_rng(5))
    _, expected = observations.split(0.3, 5)
    np.testing.assert_array_equal(observations.indices[mask], expected.indices)


def test_blocks_are_consecutive_rows_of_ordered_modes_and_one_row_of_the_others():
    full = Observations.from_array(np.ones((6, 40, 20)))
    mask = held_out(GapPattern("blocks", (1, 2)), full, np.random.default_rng(1))
    hidden = mask.reshape(full.shape)
    assert 0.1 < hidden.mean() < 0.3
    # A border between hidden and seen runs along whole sides of blocks, 10 x 5 rows each, so
    # that the places along a mode where any border lies are few and equally far apart.
    for axis, length in ((1, 10), (2, 5)):
        borders = np.unique(np.nonzero(np.diff(hidden, axis=axis))[axis])
        assert len(borders)
        assert set(borders % length) == {borders[0] % length}


def test_moved_gaps_have_the_form_of_the_tensors_own():
    # Two rows of mode 0 lack one row of mode 1, whatever their row of mode 2.
    array = np.ones((10, 4, 6))
    array[[2, 7], 1] = np.nan
    observations = Observations.from_array(array)
    mask = held_out(GapPattern("moved"), observations, np.random.default_rng(3))
    hidden = np.zeros(array.shape, dtype=bool)
    hidden[tuple(observations.indices[mask].T)] = True
    fibres = hidden.all(axis=2)
    np.testing.assert_array_equal(fibres, hidden.any(axis=2))
    assert fibres.any(axis=0).sum() == 1
    assert 1 <= fibres.sum() <= 2


def test_moved_gaps_of_ordered_modes_stay_next_to_each_other():
    array = np.ones((3, 50))
    array[:, 10:20] = np.nan
    observations = Observations.from_array(array)
    for seed in range(10):
        pattern = GapPattern("moved", (1,), share=0.9)
        mask = held_out(pattern, observations, np.random.default_rng(seed))
        columns = np.zeros(50, dtype=bool)
        columns[observations.indices[mask, 1]] = True
        columns[10:20] |= columns[9] & columns[20]  # hidden on both sides of the real gap
        assert np.abs(np.diff(np.append(columns, columns[0]).astype(int))).sum() == 2


def test_moved_gaps_of_a_sparse_tensor_stay_within_the_share():
    observations = tensor(2, density=0.3, n_replicates=0)
    mask = held_out(GapPattern("moved", share=0.2), observations, np.random.default_rng(0))
    assert 0.05 < mask.mean() < 0.35


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_several_patterns_share_out_the_entries_and_leave_no_unit_half_seen(seed):
    observations = tensor(seed)
    given_patterns = [GapPattern.parse(text, 0.1) for text in UNIT_MODES]
    found, _ = held_out_by(given_patterns, observations, np.random.default_rng(seed))
    assert set(found) <= {-1, 0, 1, 2, 3}
    again = np.random.default_rng(seed)
    for place, pattern in enumerate(given_patterns):
        mask = held_out(pattern, observations, again)
        assert (found[mask] >= 0).all()
        assert (found[mask] <= place).all()
        assert mask[found == place].all()


def test_a_pattern_of_one_unit_holds_nothing_out_beside_others():
    row = Observations.from_array(np.ones((1, 30)))
    given_patterns = [GapPattern("fibres", (1,)), GapPattern(share=0.2)]
    found, _ = held_out_by(given_patterns, row, np.random.default_rng(0))
    assert np.bincount(found + 1).tolist() == [24, 0, 6]


def test_the_patterns_of_a_tensor_are_those_that_differ_on_it(random):
    full = Observations.from_array(np.ones((6, 20, 5)))
    names = [str(pattern) for pattern in patterns_for(full, (False, True, False))]
    fibres, slabs = ([f"{kind}:{mode}" for mode in range(3)] for kind in ("fibres", "slabs"))
    assert names == ["scattered", *fibres, *slabs, "blocks:1"]
    with_gaps = full.take(random.random(len(full)) < 0.7)
    assert str(patterns_for(with_gaps, (False, True, False))[-1]) == "moved:1"
    diagonal = Observations(np.stack([np.arange(50)] * 3, axis=1), np.ones(50), (50, 50, 50))
    assert [str(pattern) for pattern in patterns_for(diagonal, (False,) * 3)] == ["scattered"]
    matrix = Observations.from_array(np.ones((5, 4)))
    names = [str(pattern) for pattern in patterns_for(matrix, (False, False))]
    assert names == ["scattered", "fibres:0", "fibres:1"]


def test_cells_beyond_64_bits_are_told_apart():
    # 10,000 to the sixth is 1e24; a number of 64 bits would run over, and mix cells up.
    random = np.random.default_rng(0)
    cells = random.integers(10_000, size=(50, 6))
    observations = Observations(np.tile(cells, (2, 1)), np.ones(100), (10_000,) * 6)
    folds = fold_numbers(GapPattern(), observations, 50, random)
    np.testing.assert_array_equal(folds[:50], folds[50:])
    assert len(set(folds)) == 50


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: GapPattern("holes"), "use one of scattered, fibres, slabs, blocks, moved"),
        (lambda: GapPattern(share=1.0), "share is 1.0: use a number between 0 and 1"),
        (lambda: GapPattern("slabs"), "slabs need a mode: write slabs:0"),
        (lambda: GapPattern.parse("fibres:x"), "such as fibres:2"),
        (lambda: _mask("fibres:3"), "but the tensor has 3 modes: use 0 to 2"),
        (lambda: _mask("moved"), "hides no observed entry"),
        (lambda: _mask("slabs:0", (1, 3, 3)), "are one unit of the pattern 'slabs:0'"),
        (lambda: _folds("slabs:0", 5), "n_folds is 5: use 2 to 3, the number of units"),
    ],
)
def test_what_cannot_be_is_refused_with_the_rule(make, line):
    with pytest.raises(ObservationError, match=line):
        make()


def _mask(text, shape=(3, 3, 3)):
    full = Observations.from_array(np.ones(shape))
    return held_out(GapPattern.parse(text), full, np.random.default_rng(0))


def _folds(text, n_folds):
    full = Observations.from_array(np.ones((3, 3, 3)))
    return fold_numbers(GapPattern.parse(text), full, n_folds, np.random.default_rng(0))


def test_entries_that_are_held_out_together_have_one_unit():
    cube = Observations.from_array(np.ones((6, 6, 6)))
    patterns = [GapPattern("fibres", (2,), 0.2), GapPattern(share=0.1)]
    place, unit = held_out_by(patterns, cube, np.random.default_rng(0))
    fibres = cube.indices[place == 0][:, :2]
    assert len(np.unique(unit[place == 0])) == len(np.unique(fibres, axis=0))
    assert len(np.unique(unit[place == 1])) == (place == 1).sum()
