"""Tables: which columns are modes and values, and the one line that bad ones get."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tensor_files import entries, table

from vaecp.errors import FormatError, ObservationError
from vaecp.formats import read


def test_the_last_column_is_the_value_and_the_others_are_modes(tmp_path):
    back = read(table(tmp_path, "user,week,stars\nann,1,5\nbob,2,\nann,10,3.5\n"))
    assert back.mode_names == ("user", "week")
    assert back.value_name == "stars"
    assert [mode.tolist() for mode in back.labels] == [["ann", "bob"], [1, 2, 10]]
    np.testing.assert_array_equal(
        back.to_array(), [[5, np.nan, 3.5], [np.nan, np.nan, np.nan]], strict=True
    )


def test_columns_can_be_chosen_by_name(tmp_path):
    path = table(tmp_path, "y\tb\tnote\ta\n1\tq\tx\tp\n", ".tsv")
    back = read(path, modes=["a", "b"], value="y")
    assert entries(back) == {(("p", "q"), 1.0): 1}


def test_codes_with_leading_zeros_stay_text(tmp_path):
    back = read(table(tmp_path, "zip,day,y\n01234,1,5\n1234,2,6\n"))
    assert back.labels[0].tolist() == ["01234", "1234"]


def test_a_label_that_spells_na_is_a_label(tmp_path):
    back = read(table(tmp_path, "country,day,y\nNA,1,5\nDE,2,6\n"))
    assert back.labels[0].tolist() == ["DE", "NA"]


@pytest.mark.parametrize("gap", ["", "NA", "nan", "NaN", "null", "None", " "])
def test_an_empty_value_is_a_gap_whose_labels_stay(tmp_path, gap):
    back = read(table(tmp_path, f"a,b,y\np,q,1\nr,s,{gap}\n"))
    assert back.shape == (2, 2)
    assert len(back) == 1


def test_absent_zero_fills_what_the_table_does_not_list_but_keeps_its_gaps(tmp_path):
    path = table(tmp_path, "a,b,y\np,q,1\nr,s,\n")
    np.testing.assert_array_equal(read(path, absent="zero").to_array(), [[1, 0], [0, np.nan]])


def test_a_parquet_index_with_names_counts_as_columns(tmp_path):
    frame = pd.DataFrame({"a": ["p", "q"], "b": [1, 2], "y": [1.0, 2.0]}).set_index(["a", "b"])
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").mode_names == ("a", "b")


@pytest.mark.parametrize(
    ("european", "same"),
    [
        ("who;nm;y\nann;290,5;-1,25\nbob;300;\n", "who,nm,y\nann,290.5,-1.25\nbob,300,\n"),
        ('"a, b";"c";"y"\np;q;1\n', '"a, b",c,y\np,q,1\n'),
        ("a;b;y\np;q;1.5\n", "a,b,y\np,q,1.5\n"),
    ],
)
def test_semicolons_and_decimal_commas_are_read_as_spreadsheets_write_them(
    tmp_path, european, same
):
    given_ = read(table(tmp_path, european))
    expected = read(table(tmp_path, same))
    assert entries(given_) == entries(expected)
    assert given_.mode_names == expected.mode_names
    assert [mode.tolist() for mode in given_.labels] == [mode.tolist() for mode in expected.labels]


def test_a_wide_european_header_holds_numbers_with_decimal_commas(tmp_path):
    back = read(table(tmp_path, "who;290,5;300,5\nann;1,5;2\nbob;;3\n"), wide="nm")
    assert back.labels[1].tolist() == [290.5, 300.5]
    np.testing.assert_array_equal(back.to_array(), [[1.5, 2], [np.nan, 3]])


def test_semicolons_in_the_names_of_columns_do_not_separate(tmp_path):
    assert read(table(tmp_path, "a;x,b;y,v\np,q,1\n")).mode_names == ("a;x", "b;y")


def test_a_wide_table_names_the_line_of_a_bad_value(tmp_path):
    path = table(tmp_path, "who,290,300\nann,1,2\nbob,3,high\n")
    with pytest.raises(FormatError, match="has 'high' in line 3, column '300'"):
        read(path, wide="nm")


def test_gaps_do_not_shift_the_lines_of_duplicates(tmp_path):
    path = table(tmp_path, "a,b,y\nr,s,\np,q,1\nr,q,\np,q,2\n")
    with pytest.raises(ObservationError, match="line 3 and line 5"):
        read(path)


BAD_TABLES = {
    "a value that is no number": ("a,b,y\np,q,1\np,r,high\n", "'y' has 'high' in line 3: values"),
    "an infinite value": ("a,b,y\np,q,inf\n", "'y' is inf in line 2: values must be finite"),
    "a duplicate": (
        "a,b,y\np,q,1\np,q,2\n",
        "a=p, b=q is listed more than once .line 2 and line 3.: .*--duplicates mean",
    ),
    "a missing label": ("a,b,y\np,q,1\n,q,2\n", "label of mode 'a' in line 3 is missing"),
    "no observed entry": ("a,b,y\np,q,\n", "no entry of the 1 x 1 tensor is observed"),
    "no rows": ("a,b,y\n", "has a header but no rows"),
    "one mode": ("a,y\np,1\n", r"leaves 1 mode\(s\) beside the value 'y'"),
    "another separator": ("a b y\np q 1\n", "needs two or more, separated by commas"),
    "numbers only": ("1.5,2.5,3\n4.5,5.5,6\n", "holds numbers only: pass --no-header"),
    "columns of one name": ("a,a,y\np,q,1\n", "columns 1 and 2 are both called 'a'"),
    "a column without a name": ("a,,b,y\np,x,q,1\n", "column 2 has no name"),
    "a row that is too long": ("a,b,y\np,q,1\np,r,2,9\n", "Expected 3 fields in line 3, saw 4"),
    "rows that are all too long": ("a,b,y\np,q,1,9\n", "Length of header"),
    "an open quotation mark": ('a,b,y\np,"q,1\n', "EOF inside string"),
}


@pytest.mark.parametrize(("text", "line"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_gets_one_line_that_names_the_file(tmp_path, text, line):
    with pytest.raises((FormatError, ObservationError), match=line) as caught:
        read(table(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "table.csv"))
    assert "\n" not in str(caught.value)


def test_a_column_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    with pytest.raises(FormatError, match="no column 'z': it has 'a', 'b', 'y'"):
        read(table(tmp_path, "a,b,y\np,q,1\n"), modes=["a", "z"], value="y")


@pytest.mark.parametrize("option", [{"absent": "none"}, {"duplicates": "sum"}])
def test_an_unknown_choice_is_answered_with_the_choices(tmp_path, option):
    with pytest.raises(ObservationError, match=r"(absent|duplicates) is '.*': use '"):
        read(table(tmp_path, "a,b,y\np,q,1\n"), **option)


def test_a_wide_table_is_refused_with_the_option_that_reads_it(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("sample,250,260.5\na,1,2\nb,3,\n")
    with pytest.raises(FormatError, match=r"called by numbers.*--wide"):
        read(path)
    observations = read(path, wide="wavelength")
    assert observations.mode_names == ("sample", "wavelength")
    np.testing.assert_array_equal(observations.labels[1], [250.0, 260.5])
    np.testing.assert_array_equal(observations.to_array(), [[1, 2], [3, np.nan]])


@pytest.mark.parametrize("modes", [("a", "v"), ("a", "a")])
def test_a_column_that_is_asked_for_twice_is_refused(tmp_path, modes):
    path = tmp_path / "table.csv"
    path.write_text("a,b,v\nx,y,1\nx,z,2\n")
    with pytest.raises(FormatError, match="is asked for twice"):
        read(path, modes=modes)
