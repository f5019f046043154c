"""Every file kind: what it gives back, and the one line that bad input gets."""

from __future__ import annotations

import errno
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_files import KINDS, NETCDF, entries, table

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, MissingExtraError, ObservationError
from vaecp.formats import check_writable, read, write
from vaecp.runtime.files import whole_file

DENSE = [".npy", ".mat", NETCDF]


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


@pytest.mark.parametrize("suffix", KINDS)
def test_a_missing_file_gets_one_line_with_the_kinds(tmp_path, suffix):
    with pytest.raises(FormatError, match=r"no such file.*\.csv, \.tsv, \.parquet"):
        read(tmp_path / f"missing{suffix}")


@pytest.mark.parametrize("suffix", KINDS)
def test_an_empty_file_gets_one_line_that_says_what_to_check(tmp_path, suffix):
    (tmp_path / f"empty{suffix}").touch()
    with pytest.raises(FormatError, match=r"is empty \(0 bytes\): check how it was exported"):
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
