import numpy as np
import pytest

from vaecp.models.vaecp.sweeps import loops


def moments(ids, mean, second, last=None, places=None):
    out_mean, out_variance = np.zeros((2, len(ids) if places is None else places))
    last = len(ids) if last is None else last
    loops.moments_of_entries(0, last, ids, mean, second, False, out_mean, out_variance)
    return out_mean


@pytest.fixture
def tables(random):
    mean = random.normal(size=(9, 3))
    return random.integers(9, size=(20, 2)).astype(np.int32), mean, mean**2


def test_the_mean_of_an_entry_is_the_sum_of_the_products_of_its_rows(tables):
    ids, mean, _ = tables
    expected = np.sum(mean[ids[:, 0]] * mean[ids[:, 1]], axis=1)
    np.testing.assert_allclose(moments(*tables), expected)


@pytest.mark.parametrize("row", [-1, 9, 2**31 - 1, -(2**31)])
def test_a_row_that_is_not_in_the_tables_is_refused(tables, row):
    ids, mean, second = tables
    ids[7, 1] = row
    with pytest.raises(ValueError, match="a row that is not in the tables"):
        moments(ids, mean, second)


def test_tables_of_different_sizes_are_refused(tables):
    ids, mean, second = tables
    for wrong in (second[:-1], second[:, :-1].copy(), np.repeat(second, 2, axis=1)):
        with pytest.raises(ValueError, match="differ in size"):
            moments(ids, mean, wrong)


def test_more_entries_than_there_are_cannot_be_asked_for(tables):
    with pytest.raises(ValueError, match="fewer entries than are asked for"):
        moments(*tables, last=21, places=21)
    with pytest.raises(ValueError, match="more entries than places"):
        moments(*tables, places=19)


def sums(tables, **changes):
    ids, mean, second = tables
    order = np.argsort(ids[:, 0], kind="stable")
    arrays = {
        "order": order,
        "start": np.searchsorted(ids[order, 0], np.arange(10)),
        "others": ids[order, 1:],
        "mean": mean,
        "second": second,
        "values": np.ones(20),
        "weights": np.ones(20),
        "gram": np.zeros((9, 3, 3)),
        "right": np.zeros((9, 3)),
    } | changes
    loops.sum_over_rows(0, 9, *arrays.values(), False)
    return arrays["right"]


def test_normal_equations_are_summed_over_the_entries_of_a_row(tables):
    ids, mean, _ = tables
    expected = np.zeros((9, 3))
    np.add.at(expected, ids[:, 0], mean[ids[:, 1]])
    np.testing.assert_allclose(sums(tables), expected)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("start", np.zeros(5, dtype=np.int64)),
        ("start", np.full(10, 21)),
        ("values", np.ones(19)),
        ("weights", np.ones(19)),
        ("second", np.ones((8, 3))),
        ("gram", np.zeros((8, 3, 3))),
        ("right", np.zeros((8, 3))),
    ],
)
def test_arrays_of_wrong_sizes_are_refused(tables, name, array):
    with pytest.raises(ValueError, match=r"there are|differ in size"):
        sums(tables, **{name: array})
