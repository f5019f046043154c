"""Data files that no one would write: what Hypothesis chooses from, kind by kind."""

import gzip
import io
import warnings
from datetime import datetime, time
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fuzzing.installed import possible

NAMES = ("a", "X", "indices", "values", "shape", "labels_0", "labels_1", "mode_names", "value_name")
NUMBERS = (0, 1, 2, -1, 3, 7, 1000, 2**31, 2**53, -(2**40), 0.5, np.nan, np.inf, 1e300, 1e-320)
TYPES = ("f8", "f4", "f2", "i8", "i4", "i1", "u8", "u2", "?", "c16", "U3", "S3", "M8[ns]", "m8[s]")
TOKENS = (
    *("", " ", "a", "b", "1", "2", "3", "-1", "0", "1.5", "1e3", "1e999", "nan", "NA", "inf", "-"),
    *("007", "1,5", "1_000", "9" * 5000, "8000000000000000", "2024-01-01", "é", '"', '"a,b"', "#"),
    *(
        "<0.5",
        ">1000",
        "< 3",
        "<",
        "<<1",
        "<-1e999",
        "\u2264 2",
        "n.d.",
        "LOD",
        "1\u00b10.5",
        "mg/l",
    ),
    *("\0", "=1", "'", "\ufeff", "x" * 300, "True", "None", "0x10", "1/2", "٣"),
)
HEADS = (
    "a,b,lower,upper,y\n",
    "sample,nm,minute,y\n",
    "sample,long\n",
    "remark\n\na,b,y\ns,m,mg\n",
)
SEPARATORS = (",", ";", "\t", " ", "  ", "|")


@st.composite
def arrays(draw: Any, most_axes: int = 4) -> np.ndarray:
    """An array of any kind, of few numbers that mean trouble; or a good one with one of them."""
    if draw(st.booleans()):
        return _nearly_good(draw, most_axes)
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=most_axes)))
    dtype = draw(st.sampled_from(TYPES))
    numbers = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=8))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = np.resize(np.array(numbers, dtype=np.float64), int(np.prod(shape)))
        if dtype[0] in "US":
            return flat.astype("U9").astype(dtype).reshape(shape)
        if dtype[0] in "Mm":
            return flat.astype(np.int64).astype(dtype).reshape(shape)
        return flat.astype(dtype).reshape(shape)


def _nearly_good(draw: Any, most_axes: int) -> np.ndarray:
    shape = draw(st.lists(st.integers(1, 5), min_size=min(2, most_axes), max_size=most_axes))
    array = np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape)
    array *= draw(st.sampled_from([1.0, 1.0, 1e-300, 1e150, 1e300]))
    if array.size:
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from((*NUMBERS, np.nan)))
    return array


def npy(draw: Any, path: Path) -> None:
    np.save(path, draw(arrays()))


def npz(draw: Any, path: Path) -> None:
    names = draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=6))
    save = draw(st.sampled_from([np.savez, np.savez_compressed]))
    save(path, **{name: draw(arrays()) for name in sorted(names)})


def mat(draw: Any, path: Path) -> None:
    from scipy.io import savemat

    names = draw(st.sets(st.sampled_from((*NAMES, "DimX")), min_size=1, max_size=6))
    contents: dict[str, Any] = {}
    for name in sorted(names):
        array = draw(arrays())
        if array.dtype.kind in "Mm":
            array = array.astype(np.int64)
        cell = draw(st.integers(0, 5)) == 0
        contents[name] = np.array([array, "x", 1.0], dtype=object) if cell else array
    try:
        savemat(path, contents, do_compression=draw(st.booleans()))
    except (TypeError, ValueError):
        savemat(path, {"a": np.ones(1)})


def lines(draw: Any) -> bytes:
    """Lines of tokens, of one width or of several."""
    separator = draw(st.sampled_from(SEPARATORS))
    width = draw(st.integers(1, 5))
    rows = draw(
        st.lists(
            st.lists(st.sampled_from(TOKENS), min_size=width, max_size=width),
            min_size=1,
            max_size=6,
        )
    )
    if draw(st.integers(0, 3)) == 0:
        rows.append(draw(st.lists(st.sampled_from(TOKENS), max_size=7)))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(separator.join(row) for row in rows)
    head = draw(
        st.sampled_from(["", "# shape: 2 3\n", "a,b,y\n", "a b y\n", "a;b;y\n", "1,2\n", *HEADS])
    )
    return (head + text).encode(draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])), "replace")


def text(draw: Any, path: Path) -> None:
    path.write_bytes(lines(draw))


def compressed(draw: Any, path: Path) -> None:
    path.write_bytes(gzip.compress(lines(draw)))


def parquet(draw: Any, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    n_rows, width = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    columns, names = [], []
    makers = (
        lambda: pa.array(np.resize(draw(arrays(1)), n_rows)),
        lambda: pa.array([draw(st.sampled_from(TOKENS)) for _ in range(n_rows)]),
        lambda: pa.array([[1.0]] * n_rows, pa.list_(pa.float64())),
        lambda: pa.array([{"a": 1}] * n_rows, pa.struct([("a", pa.int64())])),
        lambda: pa.array([None] * n_rows),
        lambda: pa.array([b"x"] * n_rows),
        lambda: pa.array(np.arange(n_rows, dtype=np.float16)),
    )
    for _ in range(width):
        try:
            columns.append(draw(st.sampled_from(makers))())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns.append(pa.array([None] * n_rows))
        names.append(draw(st.sampled_from(["a", "b", "y", "1", "", "index", "__index_level_0__"])))
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(columns, names), file)
    path.write_bytes(file.getvalue())


def netcdf(draw: Any, path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name in sorted(draw(st.sets(st.sampled_from(("x", "y", "v", "w")), min_size=1))):
            array = draw(arrays())
            if array.dtype.kind in "UMm":
                array = array.astype("S40")
            item = file.create_dataset(name, data=array)
            if draw(st.booleans()) and array.ndim == 1:
                item.make_scale(draw(st.sampled_from(["x", "", "This is a netCDF dimension but"])))
            for key in draw(st.sets(st.sampled_from(ATTRIBUTES), max_size=3)):
                item.attrs[key] = draw(st.sampled_from(VALUES))


ATTRIBUTES = (
    "_FillValue",
    "missing_value",
    "scale_factor",
    "units",
    "calendar",
    "dtype",
    "coordinates",
)
VALUES = (0, -1.0, np.nan, "x", "days since 0001-01-01", "seconds since 2024-13-45", "bool", [1, 2])


def xlsx(draw: Any, path: Path) -> None:
    """Cells of any type, some of them far away."""
    import openpyxl

    book = openpyxl.Workbook()
    cells = st.sampled_from((*TOKENS, *NUMBERS, True, None, datetime(2024, 1, 31), time(3, 4)))
    for row in draw(st.lists(st.lists(cells, max_size=5), max_size=6)):
        book.active.append([None if _illegal(cell) else cell for cell in row])
    if draw(st.integers(0, 4)) == 0:
        book.active.cell(draw(st.sampled_from([9, 3000, 1_048_576])), 40).value = 1.5
    if draw(st.integers(0, 4)) == 0:
        book.create_sheet("other").append([1, 2])
    book.save(path)


def _illegal(cell: Any) -> bool:
    return (isinstance(cell, str) and "\0" in cell) or (isinstance(cell, float) and cell != cell)


def v73(draw: Any, path: Path) -> None:
    """HDF5 with groups, references and attributes that MATLAB might have meant."""
    import h5py

    with h5py.File(path, "w") as file:
        homes = [file, file.create_group("s"), file.create_group("#refs#")]
        made = []
        for name in sorted(draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=5))):
            array = draw(arrays())
            if array.dtype.kind in "UMm":
                array = array.astype("S40")
            item = draw(st.sampled_from(homes)).create_dataset(name, data=array)
            made.append(item.ref)
            for key in draw(st.sets(st.sampled_from(("MATLAB_class", "MATLAB_empty")))):
                item.attrs[key] = draw(
                    st.sampled_from([b"char", b"logical", b"\xff", 1, [1, 2], "x"])
                )
        if draw(st.booleans()):
            file["cell"] = np.array(made, dtype=h5py.ref_dtype)


MAKERS = {
    ".npy": npy,
    ".npz": npz,
    ".mat": mat,
    ".v73.mat": v73,
    ".xlsx": xlsx,
    ".csv": text,
    ".tsv": text,
    ".tns": text,
    ".tns.gz": compressed,
    ".parquet": parquet,
    ".nc": netcdf,
}
KINDS = {name: MAKERS[name] for name in possible(MAKERS)}
