"""Support, against brute force over all entries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.data.support import BOXES, Support

SHAPE = (4, 6, 5)
ORDERED = (1, 2)


def entries(seed: int, share: float) -> np.ndarray:
    """Coordinates of some cells, a few of them measured twice, in any order."""
    random = np.random.default_rng(seed)
    cells = np.argwhere(random.random(SHAPE) < share)
    return random.permutation(np.concatenate([cells, cells[:3]]))


def by_hand(indices: np.ndarray, cell: np.ndarray) -> list[float]:
    """Count and measure one entry after the other."""
    others = [tuple(entry) for entry in indices.tolist() if tuple(entry) != tuple(cell)]
    rows = [sum(entry[mode] == cell[mode] for entry in others) for mode in range(len(SHAPE))]
    fibres = [
        [e[mode] for e in others if all(e[m] == cell[m] for m in range(len(SHAPE)) if m != mode)]
        for mode in range(len(SHAPE))
    ]
    distances = [
        min((abs(place - cell[mode]) for place in fibres[mode]), default=SHAPE[mode])
        for mode in ORDERED
    ]
    counts = [*np.log1p(rows), *np.log1p([len(fibre) for fibre in fibres])]
    return [*counts, *np.log(distances), np.log(smallest_box(others, cell))]


def smallest_box(others: list[tuple[int, ...]], cell: np.ndarray) -> int:
    """Look into boxes along the ordered modes, of every side and with two origins."""
    for side in BOXES:
        for shift in (0, side // 2):
            box = [
                (place + shift) // side if m in ORDERED else place for m, place in enumerate(cell)
            ]
            for entry in others:
                found = [(e + shift) // side if m in ORDERED else e for m, e in enumerate(entry)]
                if found == box:
                    return side
    return 2 * BOXES[-1]


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.3, 0.9))
@settings(deadline=None, max_examples=20)
def test_features_are_counts_and_distances_of_the_other_entries(seed, share):
    indices = entries(seed, share)
    support = Support.of(indices, SHAPE, ORDERED)
    cells = np.argwhere(np.ones(SHAPE))  # observed ones and gaps
    assert len(support.names) == 9
    expected = [by_hand(indices, cell) for cell in cells]
    np.testing.assert_allclose(support.features(cells), expected, atol=1e-12)


def test_names_say_what_the_columns_are():
    support = Support.of(entries(0, 0.6), SHAPE, (2,))
    assert support.names[:3] == ("row 0", "row 1", "row 2")
    assert support.names[3:] == ("fibre 0", "fibre 1", "fibre 2", "distance 2")


def test_a_cell_has_the_same_features_whether_it_is_observed_or_not():
    indices = np.unique(entries(1, 0.6), axis=0)
    for place in range(0, len(indices), 7):
        without = Support.of(np.delete(indices, place, axis=0), SHAPE, ORDERED)
        cell = indices[place : place + 1]
        np.testing.assert_allclose(
            Support.of(indices, SHAPE, ORDERED).features(cell), without.features(cell)
        )


def test_an_unseen_label_has_no_row_no_fibres_and_the_greatest_distance():
    indices = entries(2, 0.7)
    support = Support.of(indices, SHAPE, ORDERED)
    found = support.features(np.array([[-1, 2, 3], [-1, -1, -1]]))
    rows = [0.0, np.log1p(np.sum(indices[:, 1] == 2)), np.log1p(np.sum(indices[:, 2] == 3))]
    nothing = [0.0, 0.0, 0.0, np.log(SHAPE[1]), np.log(SHAPE[2]), np.log(2 * BOXES[-1])]
    np.testing.assert_allclose(found, [[*rows, *nothing], [0.0, 0.0, 0.0, *nothing]])


@pytest.mark.parametrize(
    "shape",
    [(40, 50, 60), (2**21,) * 3],
    ids=["fibres of single entries", "more cells than 64 bits number"],
)
def test_where_fibres_tell_nothing_rows_are_all_there_is(shape, random):
    indices = np.stack([random.integers(30, size=200) for _ in shape], axis=1)
    support = Support.of(indices, shape, (0,))
    assert support.names == ("row 0", "row 1", "row 2")
    gap = np.array([[35, 2, 3]])
    rows = [np.log1p(np.sum(indices[:, mode] == gap[0, mode])) for mode in range(3)]
    np.testing.assert_allclose(support.features(gap), [rows])


def test_the_same_features_are_counted_among_other_entries():
    """Even where these alone would have too few entries to count fibres."""
    whole, few = Support.of(entries(0, 0.9), SHAPE, ORDERED), np.array([[0, 1, 2], [3, 1, 2]])
    assert Support.of(few[:1], SHAPE, ORDERED).names == ("row 0", "row 1", "row 2")
    cells = np.argwhere(np.ones(SHAPE))
    expected = [by_hand(few, cell) for cell in cells]
    np.testing.assert_allclose(whole.among(few).features(cells), expected, atol=1e-12)


def test_nothing_asked_is_nothing_told():
    support = Support.of(entries(0, 0.6), SHAPE, ORDERED)
    assert support.features(np.empty((0, 3), dtype=np.int32)).shape == (0, 9)
