"""Parts that threads take: together they are everything, and no row is cut."""

import itertools

import numpy as np
import pytest

from vaecp.models.vaecp.sweeps.cuts import cuts_by_entries, even_cuts


def joined(cuts):
    assert all(before[1] == after[0] for before, after in itertools.pairwise(cuts))
    assert all(first < last for first, last in cuts)
    return cuts[0][0], cuts[-1][1]


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_even_parts_are_all_entries_and_of_about_one_size(n):
    cuts = even_cuts(n)
    assert joined(cuts) == (0, n)
    sizes = [last - first for first, last in cuts]
    assert max(sizes) - min(sizes) <= 1


def test_rows_are_cut_by_their_entries(random):
    counts = random.integers(0, 50, 400)
    start = np.concatenate([[0], np.cumsum(counts)])
    cuts = cuts_by_entries(start)
    assert joined(cuts) == (0, 400)
    n_entries = [start[last] - start[first] for first, last in cuts]
    assert max(n_entries) <= start[-1] / len(cuts) + counts.max()


def test_one_row_with_all_entries_stays_whole():
    assert joined(cuts_by_entries(np.array([0, 0, 900, 900]))) == (0, 3)
