"""Observations: ways in, ways out, and the line that each broken rule gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

NAN = np.nan
DENSE = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=4, max_side=4),
    elements=st.one_of(st.just(NAN), st.floats(-1e9, 1e9)),
).filter(lambda array: not np.isnan(array).all())
few = settings(deadline=None, max_examples=30)


@few
@given(array=DENSE)
def test_an_array_comes_back_with_its_gaps(array):
    observations = Observations.from_array(array)
    np.testing.assert_array_equal(observations.to_array(), array)
    np.testing.assert_array_equal(observations.gaps(), np.argwhere(np.isnan(array)))
    assert len(observations) + len(observations.gaps()) == observations.n_cells


@few
@given(array=DENSE)
def test_a_table_of_the_entries_gives_the_same_tensor(array):
    given_ = Observations.from_array(array)
    table = given_.keys().assign(y=given_.values)
    back = Observations.from_table(table, given_.mode_names, "y")
    assert dict(zip(map(tuple, back.keys().to_numpy()), back.values, strict=True)) == dict(
        zip(map(tuple, given_.keys().to_numpy()), given_.values, strict=True)
    )


def test_a_mask_and_a_masked_array_say_the_same_in_opposite_words():
    array, observed = np.arange(4.0).reshape(2, 2), np.array([[True, False], [True, True]])
    by_mask = Observations.from_array(array, mask=observed)
    by_masked = Observations.from_array(np.ma.masked_array(array, mask=~observed))
    assert by_mask.gaps().tolist() == by_masked.gaps().tolist() == [[0, 1]]


def test_a_dataarray_brings_its_names_and_labels():
    xr = pytest.importorskip("xarray")
    array = xr.DataArray([[1.0, NAN]], dims=("a", "b"), coords={"b": ["x", "y"]}, name="heat")
    observations = Observations.from_array(array)
    assert observations.mode_names == ("a", "b")
    assert observations.labels[1].tolist() == ["x", "y"]
    assert observations.value_name == "heat"


def test_integers_are_values_too():
    assert Observations.from_array([[1, 2]]).values.dtype == np.float64


def test_entries_cannot_be_written_to_and_the_callers_array_stays_writable():
    values = np.array([1.0, 2.0])
    observations = Observations(np.array([[0, 0], [0, 1]]), values, (1, 2))
    with pytest.raises(ValueError, match="read-only"):
        observations.values[0] = 9
    values[0] = 1.0


def test_a_row_without_value_keeps_its_labels():
    table = pd.DataFrame({"a": ["p", "q"], "b": [1, 2], "y": [1.0, NAN]})
    observations = Observations.from_table(table, ["a", "b"], "y")
    assert observations.shape == (2, 2)
    assert len(observations) == 1


def test_absent_zero_observes_what_is_not_listed_but_not_the_gaps():
    table = pd.DataFrame({"a": ["p", "q"], "b": [1, 2], "y": [5.0, NAN]})
    observations = Observations.from_table(table, ["a", "b"], "y", absent="zero")
    np.testing.assert_array_equal(observations.to_array(), [[5, 0], [0, NAN]])


def test_duplicates_are_refused_kept_or_averaged():
    table = pd.DataFrame({"a": ["p", "p", "q"], "b": [1, 1, 2], "y": [1.0, 3.0, 5.0]})
    with pytest.raises(
        ObservationError, match=r"a=p, b=1 is listed .*row 0 and row 1\).*duplicates="
    ):
        Observations.from_table(table, ["a", "b"], "y")
    kept = Observations.from_table(table, ["a", "b"], "y", duplicates="keep")
    assert kept.values.tolist() == [1, 3, 5]
    mean = Observations.from_table(table, ["a", "b"], "y", duplicates="mean")
    assert mean.values.tolist() == [2, 5]
    np.testing.assert_array_equal(kept.to_array(), mean.to_array())


def test_repeated_entries_with_weights_have_their_weighted_mean_and_their_mean_weight():
    repeated = Observations(
        [[0, 0], [0, 1], [0, 0]], [1.0, 7.0, 4.0], (1, 2), weights=np.array([1.0, 5.0, 2.0])
    )
    once = repeated.settle_duplicates("mean")
    assert once.indices.tolist() == [[0, 0], [0, 1]]
    assert once.values.tolist() == [3.0, 7.0]
    assert once.weights is not None
    assert once.weights.tolist() == [1.5, 5.0]


@few
@given(n_folds=st.integers(2, 6), seed=st.integers(0, 99))
def test_folds_hold_every_entry_out_exactly_once(n_folds, seed):
    observations = Observations.from_array(np.arange(12.0).reshape(3, 4))
    held_out = []
    for training, held in observations.folds(n_folds, seed):
        assert sorted([*training.values, *held.values]) == list(range(12))
        held_out.extend(held.values)
    assert sorted(held_out) == list(range(12))


def test_a_split_is_repeatable_and_complete():
    observations = Observations.from_array(np.arange(10.0).reshape(2, 5))
    (first, held), (again, _) = (observations.split(0.3, random_state=1) for _ in range(2))
    assert len(held) == 3
    np.testing.assert_array_equal(first.values, again.values)
    assert sorted([*first.values, *held.values]) == list(range(10))


ONE = np.array([[0, 0]])
BROKEN = {
    "one mode": (lambda: Observations.from_array([1.0]), r"1 mode\(s\).*at least two"),
    "no mode": (lambda: Observations.from_array(1.0), r"0 mode\(s\)"),
    "a coordinate too many": (
        lambda: Observations([[0, 0, 0]], [1.0], (1, 1)),
        r"indices has shape \(1, 3\)",
    ),
    "fractions": (lambda: Observations([[0.5, 0]], [1.0], (1, 1)), "dtype float64: use integers"),
    "lengths": (lambda: Observations(ONE, [1.0, 2.0], (1, 1)), r"values has shape \(2,\)"),
    "beyond the shape": (
        lambda: Observations([[0, 0], [0, 5]], [1.0, 2.0], (1, 5)),
        r"indices\[1, 1\] is 5, but mode 1 has size 5: use 0 to 4",
    ),
    "negative": (lambda: Observations([[-1, 0]], [1.0], (1, 1)), r"indices\[0, 0\] is -1"),
    "nothing observed": (
        lambda: Observations.from_array([[NAN, NAN]]),
        "no entry of the 1 x 2 tensor is observed",
    ),
    "infinite": (
        lambda: Observations.from_array([[1.0, np.inf]]),
        r"values\[1\] at \(0, 1\) is inf",
    ),
    "complex": (lambda: Observations.from_array([[1j]]), "the array is complex"),
    "text": (lambda: Observations.from_array([["a"]]), "has dtype .*: use numbers"),
    "mask of another shape": (
        lambda: Observations.from_array([[1.0]], mask=[True]),
        r"mask has shape \(1,\)",
    ),
    "repeated mode names": (
        lambda: Observations(ONE, [1.0], (1, 1), ("a", "a")),
        "repeat a name: make them distinct",
    ),
    "too few labels": (
        lambda: Observations(ONE, [1.0], (1, 1), labels=([], [0])),
        r"labels\[0\] has 0 labels",
    ),
    "labels of some modes": (
        lambda: Observations(ONE, [1.0], (1, 1), labels=([0],)),
        r"labels has 1 item\(s\), but there are 2 modes",
    ),
    "repeated labels": (
        lambda: Observations(ONE, [1.0], (1, 3), labels=([0], ["x", "y", "x"])),
        r"labels\[1\] repeats x \(rows 0 and 2\)",
    ),
    "a vast array": (
        lambda: Observations(ONE, [1.0], (10**5, 10**5), labels=()).to_array(),
        "10,000,000,000 entries, more than the 500,000,000",
    ),
    "an empty split": (
        lambda: Observations.from_array([[1.0, 2.0]]).split(0.01),
        "leaves 0 of 2 entries",
    ),
    "too many folds": (
        lambda: list(Observations.from_array([[1.0, 2.0]]).folds(3)),
        "n_folds is 3: use 2 to 2",
    ),
}


@pytest.mark.parametrize(("build", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_gets_one_line(build, line):
    with pytest.raises(ObservationError, match=line) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "line"),
    [([1.0, np.inf], "'y' is inf in row 1"), (["1", "two"], "'y' has 'two' in row 1")],
)
def test_values_of_a_table_must_be_finite_numbers(values, line):
    table = pd.DataFrame({"a": ["p", "q"], "b": [1, 2], "y": values})
    with pytest.raises(ObservationError, match=line):
        Observations.from_table(table, ["a", "b"], "y")


def test_a_missing_column_is_answered_with_those_that_exist():
    with pytest.raises(ObservationError, match="no column 'c': it has 'a', 'y'"):
        Observations.from_table(pd.DataFrame({"a": [1], "y": [1.0]}), ["a", "c"], "y")


@pytest.mark.parametrize("option", [{"absent": "Zero"}, {"duplicates": "sum"}])
def test_an_unknown_choice_is_refused(option):
    table = pd.DataFrame({"a": ["p"], "b": [1], "y": [1.0]})
    with pytest.raises(ObservationError, match=r"(absent|duplicates) is '\w+': use '"):
        Observations.from_table(table, ["a", "b"], "y", **option)


def test_values_of_single_precision_are_taken_without_a_warning(recwarn):
    values = np.array([1.0, 2.0], dtype=np.float32)
    Observations(np.array([[0, 0], [1, 1]]), values, (2, 2))
    assert not recwarn.list


def test_none_is_a_gap_of_an_array_of_objects():
    found = Observations.from_array([[1, None, 3.5], [True, 5, 6]])
    np.testing.assert_array_equal(found.values, [1, 3.5, 1, 5, 6])
    assert found.indices.tolist() == [[0, 0], [0, 2], [1, 0], [1, 1], [1, 2]]


def test_a_text_in_an_array_of_objects_is_refused_with_its_place():
    with pytest.raises(ObservationError, match=r"'x' \(str\) at \(1, 0\)"):
        Observations.from_array(np.array([[1, None], ["x", 2]], dtype=object))
