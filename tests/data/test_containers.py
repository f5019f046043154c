"""Tables and arrays of pandas and xarray."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vaecp.data.containers import contents_of
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

NAN = np.nan


def test_a_series_has_a_mode_per_level_and_comes_back_as_one():
    index = pd.MultiIndex.from_tuples([("b", 1), ("a", 1), ("b", 2)], names=["who", None])
    observations, container = contents_of(pd.Series([1.0, 2.0, NAN], index, name="heat"))
    assert observations.mode_names == ("who", "mode 1")
    assert observations.value_name == "heat"
    np.testing.assert_array_equal(observations.to_array(), [[2, NAN], [1, NAN]])
    back = container(np.arange(4.0).reshape(2, 2), "mean")
    assert back.name == "mean"
    assert back[("b", 2)] == 3.0


def test_a_matrix_keeps_the_order_of_its_labels():
    frame = pd.DataFrame([[1, NAN], [3, 4]], index=["z", "a"], columns=[310, 300])
    observations, container = contents_of(frame)
    assert observations.mode_names == ("row", "column")
    assert [mode.tolist() for mode in observations.labels] == [["z", "a"], [310, 300]]
    pd.testing.assert_frame_equal(container(observations.to_array(), "mean"), frame.astype(float))


def test_a_matrix_with_several_levels_has_a_mode_for_each():
    columns = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["kind", "day"])
    frame = pd.DataFrame([[1.0, 2, 3, NAN]], index=pd.Index(["s"], name="sample"), columns=columns)
    observations, _ = contents_of(frame)
    assert observations.mode_names == ("sample", "kind", "day")
    np.testing.assert_array_equal(observations.to_array(), [[[1, 2], [3, NAN]]])


def test_a_table_with_text_has_one_entry_per_row():
    frame = pd.DataFrame({"user": ["b", "a"], "week": [1, 2], "stars": [3.0, NAN]})
    observations, container = contents_of(frame)
    assert observations.mode_names == ("user", "week")
    assert container(np.zeros((2, 2)), "std").index.names == ["user", "week"]


def test_columns_can_be_named():
    frame = pd.DataFrame({"y": [1.0, 2.0], "i": [0, 1], "j": [5, 6], "k": [7, 7]})
    observations, _ = contents_of(frame, modes=["i", "j"], value="y")
    assert observations.shape == (2, 2)
    with pytest.raises(ObservationError, match="modes and value name columns of a DataFrame"):
        contents_of(np.eye(2), modes=["a", "b"])


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (pd.DataFrame({"i": [0, 1], "j": [0, 1], "y": [1.0, 2]}), r"modes=\['i', 'j'\], value='y'"),
        (pd.DataFrame({"s": ["a", "b"], 250: [1.0, 2], 260: [1.0, 2]}), r"set_index\('s'\)"),
        (pd.Series([1.0, 2.0]), "whose index has one level"),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused_with_both(data, line):
    with pytest.raises(ObservationError, match=line):
        contents_of(data)


def test_observations_are_made_of_pandas_too():
    frame = pd.DataFrame([[1.0, NAN]], index=["z"], columns=[1.5, 2.5])
    assert Observations.from_array(frame).shape == (1, 2)
