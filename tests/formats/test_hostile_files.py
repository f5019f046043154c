"""Files that lie about their sizes, or hold what no tensor has: one line, and little memory."""

import gzip
import io
import resource
import struct
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from vaecp import Observations
from vaecp.errors import FormatError, ObservationError, VaecpError
from vaecp.formats import read, read_table
from vaecp.formats.features import with_listed_features
from vaecp.runtime import memory

DIGITS = "9" * 5000
MEGABYTES = 2**20


def refused(path, match, error=FormatError, **asked):
    """Reading must fail in one line that names the file, and take little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(error, match=match) as caught:
            read(path, **asked)
        assert tracemalloc.get_traced_memory()[1] < 200 * MEGABYTES
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


# ---- FROSTT ----------------------------------------------------------------------------

TNS = {
    "one column": ("1\n2\n3\n", "have 1 column"),
    "two columns": ("1 1\n2 2\n", "have 2 column"),
    "commas": ("1,1,1,3.5\n1,2,2,4.5\n", "have 1 column"),
    "seventy modes": (" ".join(["1"] * 71) + "\n", "have 71 column"),
    "a huge coordinate": ("1 1 3\n1 8000000000000000 4\n", "mode 2 has 8,000,000,000,000,000 rows"),
    "a coordinate of 5,000 digits": (f"1 {DIGITS} 4\n", "entry 1 has the coordinate"),
    "a value of 5,000 digits": (f"1 1 1\n1 2 {DIGITS}\n", "inf"),
    "a huge size": ("# shape: 2 8000000000000000\n1 1 3\n1 2 4\n", "mode 2 has 8,000,000,000,000"),
    "sizes of other modes": ("# shape: 2 3 4\n1 1 3\n1 2 4\n", "the sizes of 3 modes"),
    "an endless coordinate": ("1 inf 4\n", "entry 1 has the coordinate 'inf'"),
}


@pytest.mark.parametrize(("text", "match"), TNS.values(), ids=TNS)
def test_a_tns_file_is_refused(tmp_path, text, match):
    (tmp_path / "x.tns").write_text(text)
    refused(tmp_path / "x.tns", match, VaecpError)


def test_a_size_of_5_000_digits_is_a_comment_like_any_other(tmp_path):
    (tmp_path / "x.tns").write_text(f"# shape: {DIGITS} 2\n1 1 3\n1 2 4\n")
    assert read(tmp_path / "x.tns").shape == (1, 2)


def test_a_compressed_file_may_not_hold_more_text_than_there_is_memory(tmp_path, monkeypatch):
    path = tmp_path / "x.tns.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"1 1 1\n" * 170_000)
    assert path.stat().st_size < MEGABYTES
    monkeypatch.setattr("vaecp.formats.frostt.available_memory", lambda: 40 * MEGABYTES)
    refused(path, "holds more text than there is memory for")


# ---- NumPy -----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_value_of_5_000_digits_in_a_table_is_refused(tmp_path, suffix):
    path = listed(tmp_path / f"x{suffix}", ("1", "2", DIGITS))
    refused(path, "column 'y' is inf in line 3", ObservationError)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("digits", ["9" * 20, "-" + "9" * 20, DIGITS])
def test_a_label_of_more_digits_than_64_bits_hold_is_text(tmp_path, suffix, digits):
    path = listed(tmp_path / f"x{suffix}", (digits, "2", "4"))
    assert sorted(read(path).labels[0]) == sorted(["1", "2", digits])


@pytest.mark.parametrize("row", [f"{DIGITS},1", f"3,{DIGITS}"], ids=["label", "feature"])
def test_5_000_digits_in_a_table_of_features_are_text(tmp_path, row):
    path = tmp_path / "features.csv"
    path.write_text(f"a,z\n1,one\n2,one\n{row}\n")
    tensor = Observations.from_table(
        pd.DataFrame({"a": list("112233"), "b": [1, 2] * 3, "y": 1.0}), ["a", "b"], "y"
    )
    found = with_listed_features(tensor, {"a": path})
    assert len(found.features[0]) == found.shape[0] == (4 if row.endswith(",1") else 3)


def listed(path, row):
    """Write a table with this row in the middle."""
    rows = [("a", "b", "y"), ("1", "1", "2"), row, ("2", "1", "3")]
    path.write_text("\n".join(map(("," if path.suffix == ".csv" else "\t").join, rows)))
    return path


def coordinates(**changes):
    return {
        "indices": np.array([[0, 0], [1, 1]]),
        "values": np.array([1.0, 2.0]),
        "shape": np.array([2, 2]),
    } | changes


SHAPES = {
    "NaN": np.array([np.nan, 2.0]),
    "text": np.array(["two", "2"]),
    "negative": np.array([-2, 2]),
    "endless": np.array([np.inf, 2]),
    "half": np.array([2.5, 2]),
    "complex": np.array([2j, 2]),
    "empty": np.array([], dtype=int),
}
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@each_shape
def test_a_shape_of_npz_that_is_none_is_refused(tmp_path, shape):
    np.savez(tmp_path / "x.npz", **coordinates(shape=shape))
    refused(tmp_path / "x.npz", "shape holds")


def test_a_shape_of_npz_that_asks_for_petabytes_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", **coordinates(shape=np.array([2, 2**50])))
    refused(tmp_path / "x.npz", "mode 2 has 1,125,899,906,842,624 rows for 2 entries")


def npy(shape, n_bytes=48):
    """An array that declares a shape, and the bytes that it has."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(n_bytes)


@pytest.mark.parametrize("shape", [(2**16, 2**16), (2**40, 2**40), (2, 4)])
def test_an_npz_that_declares_more_than_it_holds_is_refused(tmp_path, shape):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", npy(shape))
    refused(tmp_path / "x.npz", "declares .* bytes of numbers, but the archive has 48")


def test_an_npz_that_swells_beyond_memory_is_refused(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros((1024, 1024)))
    assert (tmp_path / "x.npz").stat().st_size < MEGABYTES / 64
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * MEGABYTES)
    refused(tmp_path / "x.npz", "needs about .* of memory")


@pytest.mark.parametrize("shape", [(2**16, 2**16), (-1, 6), (-6, -1), (2**63, 2), ()])
def test_a_npy_that_declares_what_it_does_not_hold_is_refused(tmp_path, shape):
    (tmp_path / "x.npy").write_bytes(npy(shape))
    refused(tmp_path / "x.npy", r"truncated|has 0 mode", VaecpError)


def test_a_npy_whose_header_declares_gigabytes_is_refused(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**32 - 1) + b"{}")
    refused(tmp_path / "x.npy", "truncated")


def test_a_member_of_an_npz_that_is_no_array_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", b"no array")
    refused(tmp_path / "x.npz", "is truncated or is not a .npz archive")


@pytest.mark.parametrize("name", ["labels_0", "mode_names"])
def test_objects_beside_a_tensor_are_never_loaded(tmp_path, name):
    np.savez(tmp_path / "x.npz", **coordinates(**{name: np.array([print, 1], dtype=object)}))
    assert read(tmp_path / "x.npz").shape == (2, 2)


# ---- MATLAB ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [s for n, s in SHAPES.items() if n != "complex"])
def test_sizes_in_a_mat_file_that_are_none_are_refused(tmp_path, shape):
    savemat(tmp_path / "x.mat", {"X": np.ones((2, 6)), "DimX": shape})
    refused(tmp_path / "x.mat", "DimX holds")


def test_labels_of_a_mat_file_that_are_arrays_are_refused(tmp_path):
    labels = np.empty(2, dtype=object)
    labels[:] = [np.ones(3), np.ones(4)]
    savemat(
        tmp_path / "x.mat", {"X": np.ones((2, 2)), "labels_0": labels, "labels_1": np.arange(2)}
    )
    refused(tmp_path / "x.mat", "labels_0 holds", ObservationError)


def test_labels_in_cells_of_text_are_read(tmp_path):
    labels = np.array(["a", "bcd"], dtype=object)
    savemat(
        tmp_path / "x.mat", {"X": np.ones((2, 2)), "labels_0": labels, "labels_1": np.arange(2)}
    )
    assert read(tmp_path / "x.mat").labels[0].tolist() == ["a", "bcd"]


def test_a_mat_file_that_declares_petabytes_is_refused(tmp_path):
    savemat(tmp_path / "x.mat", {"X": np.ones((1234, 7))})
    content = (tmp_path / "x.mat").read_bytes()
    sizes = struct.pack("<ii", 1234, 7)
    assert content.count(sizes) == 1
    (tmp_path / "x.mat").write_bytes(content.replace(sizes, struct.pack("<ii", 2**31 - 1, 2**20)))
    refused(tmp_path / "x.mat", "needs about .* of memory")


# ---- Parquet ---------------------------------------------------------------------------


def test_parquet_labels_of_16_bits_are_read(tmp_path):
    labels = np.array([0.5, 1.5, 0.5, 1.5], dtype=np.float16)
    frame = pd.DataFrame({"a": labels, "b": [1, 1, 2, 2], "y": np.arange(4.0)})
    frame.to_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet").labels[0].tolist() == [0.5, 1.5]


def test_a_parquet_file_without_columns_is_refused(tmp_path):
    pd.DataFrame(index=pd.RangeIndex(3)).to_parquet(tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", "has no columns")


def test_a_parquet_index_that_is_named_like_a_column_is_refused(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "y": [1.0, 2.0]})
    frame.index = pd.Index([7, 8], name="a")
    frame.to_parquet(tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", "called 'a'")
    with pytest.raises(FormatError, match="called 'a'"):
        read_table(tmp_path / "x.parquet")


def test_parquet_values_that_are_lists_are_refused(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "y": [[1.0], [2.0]]})
    frame.to_parquet(tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", "column 'y' has", ObservationError)


def test_a_parquet_file_of_more_rows_than_memory_is_refused(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": np.zeros(10**6, dtype=np.int64)}).assign(b=0, y=0.0)
    frame.to_parquet(tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < MEGABYTES / 16
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * MEGABYTES)
    refused(tmp_path / "x.parquet", "needs about .* of memory")


# ---- NetCDF ----------------------------------------------------------------------------


@pytest.fixture
def netcdf(tmp_path):
    h5py, xarray = pytest.importorskip("h5py"), pytest.importorskip("xarray")
    coords = {"x": list("abcde"), "y": np.arange(4.0)}
    dataset = xarray.Dataset({"v": (("x", "y"), np.ones((5, 4)))}, coords)
    dataset.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    return h5py, tmp_path / "x.nc"


def test_zeroed_bytes_in_the_text_of_a_netcdf_file_do_not_hang(netcdf):
    _, path = netcdf
    content = path.read_bytes()
    heap = content.index(b"GCOL")
    for first in range(heap + 16, heap + 200, 24):
        path.write_bytes(content[:first] + bytes(64) + content[first + 64 :])
        refused(path, "damaged in the block of text|truncated")


def test_a_netcdf_file_of_many_variables_is_refused(netcdf):
    h5py, path = netcdf
    with h5py.File(path, "a") as file:
        for number in range(1500):
            file.create_dataset(f"column {number}", data=np.ones(2))
    refused(path, "holds 1,503 variables")


def test_a_netcdf_variable_of_nothing_but_a_fill_value_is_refused(netcdf):
    _, path = netcdf
    h5netcdf = pytest.importorskip("h5netcdf")
    with h5netcdf.File(path, "a") as file:
        for name, size in (("p", 10**6), ("q", 10**6), ("r", 10)):
            file.dimensions[name] = size
        file.create_variable("vast", ("p", "q", "r"), "f8", chunks=(10, 10, 10))
    refused(path, "needs about .* of memory", variable="vast")
    assert read(path, variable="v").shape == (5, 4)


def test_netcdf_labels_of_nothing_but_a_fill_value_are_refused(netcdf):
    h5py, path = netcdf
    with h5py.File(path, "a") as file:
        file.create_dataset("z", shape=(10**12,), dtype="f8", chunks=(10,)).make_scale("z")
    refused(path, "needs about .* of memory")


# ---- all -------------------------------------------------------------------------------


def test_seventy_modes_are_refused():
    from vaecp import Observations

    with pytest.raises(ObservationError, match="has 70 modes, more than 32"):
        Observations(np.zeros((1, 70), dtype=int), [1.0], (1,) * 70)
    table = pd.DataFrame({f"m{mode}": [1, 2] for mode in range(70)}).assign(y=1.0)
    with pytest.raises(ObservationError, match="has 70 modes, more than 32"):
        Observations.from_table(table, [f"m{mode}" for mode in range(70)], "y")


def test_the_limit_of_a_process_counts_as_its_memory(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**40, 2**40))
    assert memory.available_memory() < 2**40
    monkeypatch.setattr(resource, "getrlimit", lambda _: (0, 0))
    assert memory.available_memory() == 0
