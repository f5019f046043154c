import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.data.observations import Observations
from vaecp.models.vaecp.holdouts import folds_for, patterns_to_hold_out

NO_ORDER = (False, False, False)


def with_gaps(missing: np.ndarray, seed: int = 0) -> Observations:
    """Values of no meaning where nothing is missing."""
    array = np.random.default_rng(seed).normal(size=missing.shape)
    return Observations.from_array(array, mask=~missing)


def scattered(seed: int, shape=(14, 13, 12), share=0.4) -> Observations:
    return with_gaps(np.random.default_rng(seed).random(shape) < share, seed)


def cells(observations: Observations) -> set[tuple[int, ...]]:
    return {tuple(row) for row in observations.indices.tolist()}


@given(seed=st.integers(0, 2**32 - 1), missing=st.floats(0.05, 0.97), last_has_order=st.booleans())
@settings(deadline=None, max_examples=25)
def test_entries_are_learned_from_or_held_out_and_no_row_without_order_is_emptied(
    seed, missing, last_has_order
):
    tensor = scattered(seed, share=missing)
    ordered = (False, False, last_has_order)
    for fold in folds_for(tensor, ordered, np.random.default_rng(seed)):
        train, held_out = cells(fold.train), cells(fold.held_out)
        assert not train & held_out
        assert train | held_out == cells(tensor)
        assert len(fold.train) + len(fold.held_out) == len(tensor)
        for mode in np.flatnonzero(~np.array(ordered)):
            assert set(fold.train.indices[:, mode]) == set(tensor.indices[:, mode])


def test_the_only_entry_of_a_row_is_never_held_out():
    random = np.random.default_rng(0)
    dense = np.argwhere(np.ones((20, 15)))
    single = np.column_stack([np.arange(20, 80), random.integers(15, size=60)])
    indices = np.concatenate([dense, single])
    tensor = Observations(indices, random.normal(size=len(indices)), (80, 15))
    folds = folds_for(tensor, (False, False), random)
    assert len(folds) == 4
    for fold in folds:
        assert len(np.unique(fold.train.indices[:, 0])) == 80
        assert fold.held_out.indices[:, 0].max() < 20


def test_whole_rows_of_an_ordered_mode_are_held_out(random):
    tensor = with_gaps(np.zeros((6, 60, 10), dtype=bool))
    fold = folds_for(tensor, (False, True, False), random)[0]
    emptied = set(range(60)) - set(fold.train.indices[:, 1])
    assert 1 <= len(emptied) <= 6


@pytest.mark.parametrize(("shape", "n_folds"), [((9, 9, 9), 4), ((14, 14, 14), 2), ((26,) * 3, 1)])
def test_few_entries_are_held_out_in_more_rounds(shape, n_folds, random):
    folds = folds_for(with_gaps(np.zeros(shape, dtype=bool)), NO_ORDER, random)
    assert len(folds) == n_folds
    assert all(0.03 < len(f.held_out) / np.prod(shape) < 0.35 for f in folds)


def test_very_few_entries_have_no_folds(random):
    tensor = Observations.from_array(np.arange(11.0)[:, None] + np.arange(1.0))
    assert folds_for(tensor, (False, False), random) == ()


def test_a_table_in_which_every_row_has_one_entry_has_no_folds(random):
    rows = np.arange(60)
    tensor = Observations(np.column_stack([rows, rows]), rows.astype(float), (60, 60))
    assert folds_for(tensor, (False, False), random) == ()


def test_a_tensor_that_is_one_fibre_has_folds_of_scattered_cells(random):
    tensor = Observations.from_array(np.arange(400.0)[None])
    assert all(len(fold.held_out) > 20 for fold in folds_for(tensor, (False, False), random))


def counted(tensor: Observations, ordered=NO_ORDER) -> dict[str, float]:
    patterns, asked = patterns_to_hold_out(tensor, ordered, np.random.default_rng(0))
    return {str(pattern): float(part) for pattern, part in zip(patterns, asked, strict=True)}


def most_counted(tensor: Observations, ordered=NO_ORDER) -> str:
    found = counted(tensor, ordered)
    return max(found, key=lambda name: found[name])


def test_where_gaps_are_scattered_so_is_what_counts():
    assert most_counted(scattered(0)) == "scattered"
    assert most_counted(scattered(0), (False, False, True)) == "scattered"


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_where_whole_fibres_are_missing_fibres_count_most(mode, random):
    shape = (14, 13, 12)
    hidden = random.random([1 if m == mode else n for m, n in enumerate(shape)]) < 0.3
    tensor = with_gaps(np.broadcast_to(hidden, shape))
    assert most_counted(tensor) == f"fibres:{mode}"
    fold = folds_for(tensor, NO_ORDER, random)[0]
    patterns = patterns_to_hold_out(tensor, NO_ORDER, random)[0]
    of_kind = np.bincount(fold.kind, fold.importance, minlength=len(patterns))
    assert str(patterns[np.argmax(of_kind)]) == f"fibres:{mode}"
    assert fold.importance.mean() == pytest.approx(1)


def test_where_rows_of_an_ordered_mode_are_missing_rows_count_most(random):
    missing = np.zeros((8, 60, 7), dtype=bool)
    missing[:, random.choice(60, 15, replace=False)] = True
    assert most_counted(with_gaps(missing), (False, True, False)) == "slabs:1"


def test_far_from_entries_blocks_count_more(random):
    near, far = np.zeros((2, 8, 60, 7), dtype=bool)
    near[random.random(near.shape) < 0.2] = True
    for sample, time in np.ndindex(8, 7):
        first = random.integers(40)
        far[sample, first : first + 18, time] = True
    order = (False, True, False)
    assert (
        counted(with_gaps(far), order)["blocks:1"] > 5 * counted(with_gaps(near), order)["blocks:1"]
    )


def test_every_kind_of_gap_counts_a_little():
    assert min(counted(scattered(0), (False, False, True)).values()) >= 0.03
