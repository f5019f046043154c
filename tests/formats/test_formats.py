"""Every file kind: what it gives back, and the one line that bad input gets."""

from __future__ import annotations

import errno
import gzip
import os
import sys
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, MissingExtraError, ObservationError
from vaecp.formats import check_writable, read, write
from vaecp.runtime.files import whole_file

DATA = Path(os.environ.get("VAECP_DATA", "/nonexistent"))
NETCDF = pytest.param(
    ".nc",
    marks=pytest.mark.skipif(find_spec("h5py") is None, reason="h5py is not installed"),
)
TABLES = [".csv", ".tsv", ".parquet"]
DENSE = [".npy", ".mat", NETCDF]
KINDS = [*TABLES, ".npy", ".npz", ".mat", ".tns", ".tns.gz", NETCDF]
UNLABELLED = [".npy", ".tns", ".tns.gz"]

few = settings(deadline=None, max_examples=12)
numbers = st.floats(-1e300, 1e300, allow_nan=False)
words = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=4)
LABELS = {
    "integers": st.integers(-(2**40), 2**40),
    "floats": st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: x + 0.0),
    "text": words.map("t{}".format),
}


@st.composite
def tensors(draw, labelled=True):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=3)))
    n_cells = int(np.prod(shape))
    cells = draw(st.lists(st.integers(0, n_cells - 1), min_size=1, max_size=8, unique=True))
    indices = np.stack(np.unravel_index(cells, shape), axis=1)
    values = draw(st.lists(numbers, min_size=len(cells), max_size=len(cells)))
    if not labelled:
        return Observations(indices, values, shape)
    kinds = [LABELS[draw(st.sampled_from(sorted(LABELS)))] for _ in shape]
    labels = [
        draw(st.lists(kind, min_size=size, max_size=size, unique=True))
        for kind, size in zip(kinds, shape, strict=True)
    ]
    names = [f"mode of {axis}" for axis in "abc"[: len(shape)]]
    return Observations(indices, values, shape, tuple(names), tuple(map(np.array, labels)), "heat")


def entries(observations: Observations) -> Counter:
    """The multiset of (labels, value): what must survive a file, whatever the order."""
    keys = observations.keys().itertuples(index=False, name=None)
    return Counter(zip(keys, observations.values.tolist(), strict=True))


def assert_same(back: Observations, given_: Observations) -> None:
    assert back.mode_names == given_.mode_names
    assert entries(back) == entries(given_)
    for again, before in zip(back.labels, given_.labels, strict=True):
        assert sorted(again.tolist()) == sorted(before.tolist())
        assert isinstance(again.tolist()[0], type(before.tolist()[0]))


@pytest.mark.parametrize("suffix", [kind for kind in KINDS if kind not in UNLABELLED])
@few
@given(observations=tensors())
def test_a_labelled_tensor_comes_back_from_its_file(tmp_path_factory, suffix, observations):
    path = tmp_path_factory.mktemp("files") / f"tensor{suffix}"
    write(observations, path)
    back = read(path)
    assert_same(back, observations)
    assert back.value_name == "heat"


@pytest.mark.parametrize("suffix", KINDS)
@few
@given(observations=tensors(labelled=False))
def test_a_tensor_without_labels_comes_back_from_its_file(tmp_path_factory, suffix, observations):
    path = tmp_path_factory.mktemp("files") / f"tensor{suffix}"
    write(observations, path)
    back = read(path)
    assert back.shape == observations.shape
    assert_same(back, observations)


@pytest.mark.parametrize("suffix", [".npz", ".mat", NETCDF])
def test_array_files_keep_the_order_of_labels(tmp_path, suffix):
    labels = (np.array(["b", "a"]), np.array([2.5, 1.5]))
    given_ = Observations([[0, 0], [1, 1]], [1.0, 2.0], (2, 2), ("x", "y"), labels)
    write(given_, tmp_path / f"t{suffix}")
    back = read(tmp_path / f"t{suffix}")
    assert [mode.tolist() for mode in back.labels] == [["b", "a"], [2.5, 1.5]]
    np.testing.assert_array_equal(back.to_array(), [[1, np.nan], [np.nan, 2]])


@pytest.mark.parametrize("suffix", [".npz", NETCDF, ".parquet"])
def test_dates_come_back_as_dates(tmp_path, suffix):
    days = np.array(["2024-01-31", "2024-02-29"], dtype="datetime64[ns]")
    given_ = Observations([[0, 0], [1, 1]], [1.0, 2.0], (2, 2), labels=(days, np.arange(2)))
    write(given_, tmp_path / f"t{suffix}")
    back = read(tmp_path / f"t{suffix}").labels[0]
    np.testing.assert_array_equal(back.astype("datetime64[D]"), days.astype("datetime64[D]"))
    assert back.dtype.kind == "M"


@pytest.mark.parametrize("suffix", [".npz", ".tns", ".csv", ".parquet"])
def test_repeated_entries_come_back_when_kept(tmp_path, suffix):
    given_ = Observations([[0, 0], [0, 0], [1, 1]], [1.0, 2.0, 3.0], (2, 2))
    write(given_, tmp_path / f"t{suffix}")
    assert entries(read(tmp_path / f"t{suffix}", duplicates="keep")) == entries(given_)
    mean = read(tmp_path / f"t{suffix}", duplicates="mean")
    np.testing.assert_array_equal(mean.to_array(), [[1.5, np.nan], [np.nan, 3.0]])
    with pytest.raises(ObservationError, match=r"t\.\w+: the entry at .* more than once"):
        read(tmp_path / f"t{suffix}")


@pytest.mark.parametrize("suffix", DENSE)
def test_dense_files_refuse_repeated_entries(tmp_path, suffix):
    given_ = Observations([[0, 0], [0, 0], [1, 1]], [1.0, 2.0, 3.0], (2, 2))
    with pytest.raises(FormatError, match="more than once, which a dense array cannot hold"):
        write(given_, tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", UNLABELLED)
def test_files_of_coordinates_refuse_labels(tmp_path, suffix):
    given_ = Observations([[0, 0]], [1.0], (1, 1), labels=(np.array(["a"]), np.array([0])))
    with pytest.raises(FormatError, match=r"label a, and .* holds coordinates alone: use \.npz"):
        write(given_, tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("suffix", "label"),
    [(".csv", "12"), (".csv", ""), (".tsv", True), (".mat", "ends in space "), (".mat", "é")],
)
def test_labels_that_would_change_in_the_file_are_refused(tmp_path, suffix, label):
    given_ = Observations([[0, 0]], [1.0], (1, 1), labels=(np.array([label]), np.array([0])))
    with pytest.raises(FormatError, match=r"use .*\.parquet"):
        write(given_, tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".npz", NETCDF, ".parquet", ".mat"])
def test_labels_that_are_tuples_are_refused(tmp_path, suffix):
    labels = np.empty(1, dtype=object)
    labels[0] = (1, 2)
    given_ = Observations([[0, 0]], [1.0], (1, 1), labels=(labels, np.array([0])))
    with pytest.raises(FormatError, match=r"has the label \(1, 2\) \(tuple\)"):
        write(given_, tmp_path / f"t{suffix}")
    assert not list(tmp_path.iterdir())


# ---- tables ----------------------------------------------------------------------------


def table(tmp_path: Path, text: str, suffix: str = ".csv") -> Path:
    path = tmp_path / f"table{suffix}"
    path.write_text(text, encoding="utf-8")
    return path


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


def test_a_misspelt_name_is_answered_with_the_file_beside_it(tmp_path):
    table(tmp_path, "a,b,y\np,q,1\n")
    with pytest.raises(FormatError, match=r"no such file: did you mean .*table\.csv\?$"):
        read(tmp_path / "tabel.csv")


def test_a_spreadsheet_and_a_folder_are_told_apart_from_unknown_files(tmp_path):
    with pytest.raises(FormatError, match=r"is a spreadsheet: save it as \.xlsx or \.csv"):
        read(tmp_path / "book.ods")
    with pytest.raises(FormatError, match="is a folder: name a file"):
        read(tmp_path)


def test_an_error_while_writing_names_the_file_that_was_asked_for(tmp_path):
    target = tmp_path / "out.csv"
    with pytest.raises(OSError, match="No space left") as caught, whole_file(target) as temporary:
        raise OSError(errno.ENOSPC, "No space left on device", str(temporary))
    assert caught.value.filename == str(target)


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


# ---- arrays, MATLAB, FROSTT, NetCDF ----------------------------------------------------


def test_nan_marks_the_gaps_of_an_array(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, np.nan], [3, 4]]))
    back = read(tmp_path / "a.npy", modes=["row", "column"])
    assert back.mode_names == ("row", "column")
    assert back.gaps().tolist() == [[0, 1]]


def test_an_infinity_in_an_array_is_refused_with_its_place(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, np.inf], [3, 4]]))
    with pytest.raises(ObservationError, match=r"a\.npy: values\[1\] at \(0, 1\) is inf"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2), dtype=complex), np.array([["a"]])])
def test_arrays_that_are_no_tensor_of_numbers_are_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ObservationError, match=r"a\.npy: .*(mode\(s\)|complex|dtype)"):
        read(tmp_path / "a.npy")


class Bomb:
    """An object whose unpickling would be noticed."""

    def __reduce__(self):
        return (sys.exit, ("unpickled",))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_objects_are_never_unpickled(tmp_path, suffix):
    array = np.empty((2, 2), dtype=object)
    array[:] = Bomb()
    path = tmp_path / f"bomb{suffix}"
    if suffix == ".npy":
        np.save(path, array, allow_pickle=True)
    else:
        np.savez(path, X=array, numbers=np.ones((2, 2)))
    with pytest.raises(FormatError, match="holds Python objects, which are never loaded"):
        read(path, variable="X" if suffix == ".npz" else None)


def several(tmp_path: Path, suffix: str) -> Path:
    path = tmp_path / f"several{suffix}"
    arrays = {"first": np.ones((2, 3)), "second": np.full((2, 3), 2.0), "line": np.ones(3)}
    if suffix == ".npz":
        np.savez(path, **arrays)
    elif suffix == ".mat":
        savemat(path, arrays)
    else:
        import xarray as xr

        xr.Dataset(
            {"first": (("a", "b"), arrays["first"]), "second": (("a", "b"), arrays["second"])}
        ).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("suffix", [".npz", ".mat", NETCDF])
def test_several_arrays_ask_for_a_choice(tmp_path, suffix):
    path = several(tmp_path, suffix)
    with pytest.raises(FormatError, match=r"2 arrays .*'first', 'second'.*variable='first'"):
        read(path)
    assert read(path, variable="second").values.tolist() == [2.0] * 6
    with pytest.raises(FormatError, match=r"no variable 'third': it has .*'first'"):
        read(path, variable="third")


def test_a_matlab_matrix_is_folded_by_dimx_in_fortran_order(tmp_path):
    tensor = np.arange(24.0).reshape(2, 3, 4)
    unfolded = tensor.reshape(2, 12, order="F")
    savemat(tmp_path / "x.mat", {"X": unfolded, "DimX": np.array([[2, 3, 4]])})
    np.testing.assert_array_equal(read(tmp_path / "x.mat").to_array(), tensor)


def test_matlab_cells_and_structs_are_refused(tmp_path):
    cell = np.empty((2, 2), dtype=object)
    cell[:] = "a"
    savemat(tmp_path / "x.mat", {"X": np.ones((2, 2)), "C": cell, "S": {"field": 1.0}})
    assert read(tmp_path / "x.mat").shape == (2, 2)
    for name, kind in (("C", "a cell"), ("S", "a struct")):
        with pytest.raises(FormatError, match=f"variable '{name}' is {kind}, not a full array"):
            read(tmp_path / "x.mat", variable=name)


def test_a_damaged_matlab_file_of_version_7_3_is_refused(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(FormatError, match=r"truncated or is not a MATLAB v7\.3 file"):
        read(path)


def test_frostt_counts_from_one_and_skips_comments(tmp_path):
    path = tmp_path / "x.tns"
    path.write_text("# a comment\n1 1 1.5\n2 3 -2\n")
    np.testing.assert_array_equal(
        read(path).to_array(), [[1.5, np.nan, np.nan], [np.nan, np.nan, -2]]
    )
    np.testing.assert_array_equal(read(path, absent="zero").to_array(), [[1.5, 0, 0], [0, 0, -2]])


BAD_FROSTT = {
    "0 1 2.0\n": r"entry 1 has the coordinate '0' in column 1: a \.tns file counts from 1",
    "1 1 1\n1.5 1 2.0\n": "entry 2 has the coordinate '1.5'",
    "1 1 1 1\n1 1 2\n": "entry 2 has the value '': each line",
    "# shape: 2 2\n3 1 1.0\n": r"indices\[0, 0\] is 2, but mode 0 has size 2",
    "1 1 inf\n": r"values\[0\] at \(0, 0\) is inf",
    "# only a comment\n": r"is truncated or is not a FROSTT",
}


@pytest.mark.parametrize(("text", "line"), BAD_FROSTT.items())
def test_a_bad_frostt_file_gets_one_line(tmp_path, text, line):
    path = tmp_path / "x.tns"
    path.write_text(text)
    with pytest.raises((FormatError, ObservationError), match=rf"x\.tns: {line}"):
        read(path)


def test_a_classic_netcdf_file_is_read_too(tmp_path):
    import xarray as xr

    array = xr.DataArray([[1.0, np.nan]], dims=("a", "b"), coords={"b": [7, 9]}, name="t")
    array.to_netcdf(tmp_path / "old.nc", engine="scipy")
    back = read(tmp_path / "old.nc")
    assert back.labels[1].tolist() == [7, 9]
    assert back.value_name == "t"


# ---- files that are not what they should be --------------------------------------------


@pytest.mark.parametrize("suffix", KINDS)
def test_a_missing_file_gets_one_line_with_the_kinds(tmp_path, suffix):
    with pytest.raises(FormatError, match=r"no such file.*\.csv, \.tsv, \.parquet"):
        read(tmp_path / f"missing{suffix}")


@pytest.mark.parametrize("suffix", KINDS)
def test_an_empty_file_gets_one_line_with_the_kinds(tmp_path, suffix):
    (tmp_path / f"empty{suffix}").touch()
    with pytest.raises(FormatError, match=r"is empty.*\.csv, \.tsv, \.parquet"):
        read(tmp_path / f"empty{suffix}")


@pytest.mark.parametrize("suffix", KINDS)
def test_a_file_of_the_wrong_kind_gets_one_line_with_the_kinds(tmp_path, suffix):
    path = tmp_path / f"wrong{suffix}"
    path.write_bytes(b"\xff\xfe\x00\x01 not that kind at all \x80" * 40)
    with pytest.raises(FormatError, match=r"wrong\..*is not .*\.csv, \.tsv, \.parquet") as caught:
        read(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz", ".mat", ".tns.gz", NETCDF])
@pytest.mark.parametrize("part", [0.3, 0.8])
def test_a_truncated_file_gets_one_line_with_the_kinds(tmp_path, suffix, part):
    values = np.random.default_rng(0).normal(size=(20, 30))
    path = tmp_path / f"cut{suffix}"
    write(Observations.from_array(values), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(FormatError, match=r"cut\..*is truncated.*\.csv, \.tsv, \.parquet"):
        read(path)


@pytest.mark.parametrize("name", ["data.txt", "data", "data.gz", ".csv"])
def test_an_unknown_suffix_is_answered_with_the_kinds(tmp_path, name):
    for act in (read, check_writable):
        with pytest.raises(FormatError, match=r"suffix.*\.csv, \.tsv, \.parquet"):
            act(tmp_path / name)


def test_an_option_that_does_not_fit_the_kind_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    with pytest.raises(FormatError, match="only tables have a value column"):
        read(tmp_path / "a.npy", value="y")
    with pytest.raises(FormatError, match="holds a single tensor"):
        read(table(tmp_path, "a,b,y\np,q,1\n"), variable="y")


@pytest.mark.parametrize(
    ("suffix", "module", "extra"),
    [
        (".parquet", "pyarrow", "parquet"),
        (".nc", "xarray", "netcdf"),
        (".nc", "h5netcdf", "netcdf"),
        (".nc", "h5py", "netcdf"),
    ],
)
def test_an_optional_dependency_that_is_absent_is_named_with_its_extra(
    tmp_path, monkeypatch, suffix, module, extra
):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"something")
    monkeypatch.setitem(sys.modules, module, None)
    for act in (read, check_writable):
        with pytest.raises(MissingExtraError, match=rf"{module}.*vaecp\[{extra}\]"):
            act(path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.npy"
    path.write_bytes(b"old")
    labels = (np.array(["a"]), np.array([0]))
    with pytest.raises(FormatError, match="coordinates alone"):
        write(Observations([[0, 0]], [1.0], (1, 1), labels=labels), path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["t.npy"]


def test_a_folder_that_does_not_exist_is_named_before_any_work(tmp_path):
    with pytest.raises(FormatError, match=r"the folder .*nowhere does not exist: create it"):
        check_writable(tmp_path / "nowhere" / "t.csv")


def test_a_gzipped_frostt_file_is_really_compressed(tmp_path):
    write(Observations.from_array(np.ones((2, 2))), tmp_path / "t.tns.gz")
    assert gzip.decompress((tmp_path / "t.tns.gz").read_bytes()).startswith(b"# shape: 2 2\n")


# ---- real files ------------------------------------------------------------------------


@pytest.mark.skipif(not DATA.is_dir(), reason="VAECP_DATA names no folder with the real tensors")
def test_published_matlab_tensors_have_their_published_sizes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(DATA / "amino" / "claus.mat", variable="X").shape == (5, 201, 61)
        assert read(DATA / "fia" / "fia.mat", variable="X").shape == (12, 100, 89)
        assert read(DATA / "amino" / "claus.mat").shape == (5, 201, 61)
        assert read(DATA / "fia" / "fia.mat").shape == (12, 100, 89)


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


def test_wide_is_refused_where_there_is_no_header(tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, np.ones((2, 2)))
    with pytest.raises(FormatError, match="only tables have rows and columns"):
        read(path, wide="wavelength")
