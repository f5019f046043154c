"""Files <-> `Observations`: tables, arrays, MATLAB, FROSTT and NetCDF, chosen by suffix.

In every kind a NaN (or an empty cell of a table) is a gap and an infinity is an error.
What each kind can hold is said in its own module.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaecp.errors import FormatError, VaecpError
from vaecp.files import check_target, whole_file
from vaecp.formats.common import SUPPORTED, Filled, Request
from vaecp.observations import Absent, Duplicates, Observations

__all__ = [
    "check_holds",
    "check_writable",
    "read",
    "read_frame",
    "write",
    "write_completion",
    "write_frame",
]

_HOMES = {
    ".csv": "tables",
    ".tsv": "tables",
    ".parquet": "tables",
    ".npy": "arrays",
    ".npz": "arrays",
    ".mat": "matlab",
    ".tns": "frostt",
    ".tns.gz": "frostt",
    ".nc": "netcdf",
}
SPREADSHEETS = (".xlsx", ".xls", ".ods")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")


def read(
    path: str | Path,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    absent: Absent = "unknown",
    duplicates: Duplicates = "error",
    wide: str | None = None,
) -> Observations:
    """Read the observed entries of a tensor from a file.

    Parameters
    ----------
    path : a .csv, .tsv, .parquet, .npy, .npz, .mat, .tns, .tns.gz or .nc file.
    modes : the label columns of a table (all but the last by default), or names for the
        axes of an array.
    value : the value column of a table; the last by default.
    variable : which array of a .npz, .mat or .nc file, where it holds several.
    absent : what an entry that a table or a list of coordinates lacks is.
    duplicates : what to do with coordinates that are listed more than once.
    wide : the name of a mode whose labels are the header of a table, as in one row per sample
        and one column per wavelength; `modes` are then the columns that hold labels, all
        whose names are no numbers by default.
    """
    path = Path(path).expanduser()
    kind = importlib.import_module(f"vaecp.formats.{_HOMES[suffix_of(path)]}")
    _check_present(path)
    request = Request(tuple(modes) if modes else None, value, variable, absent, duplicates, wide)
    if kind.__name__ != "vaecp.formats.tables":
        request.refuse_wide(path)
    try:
        return kind.read(path, request)
    except FormatError:
        raise
    except VaecpError as error:
        if isinstance(error, ImportError):
            raise
        raise type(error)(f"{path}: {error}") from error


def write(observations: Observations, path: str | Path) -> None:
    """Write observed entries to a file from which `read` gives them back.

    Tables give labels back in sorted order. `.npy` and `.tns` hold coordinates alone, so
    labels other than 0, 1, 2 ... are refused, and the names of modes and values are not
    kept. `.npy`, `.mat` and `.nc` are dense, so repeated entries are refused.
    """
    kind = check_writable(path)
    with whole_file(path) as temporary:
        kind.write(observations, temporary, Path(path))


def write_completion(completion: Filled, path: str | Path) -> None:
    """Write every entry with its mean, std and interval, and whether it was observed.

    A table has one row per entry: its labels, `observed`, `value` (the observed value,
    else the mean), `mean`, `std`, `low` and `high`. `.npz`, `.mat` and `.nc` hold arrays
    of these names; `.npy` one array whose first axis is mean, std, low, high; `.tns`
    coordinates from 1, then mean, std, low and high.
    """
    kind = check_writable(path)
    with whole_file(path) as temporary:
        kind.write_completion(completion, temporary, Path(path))


def read_frame(path: str | Path) -> Any:
    """Read a table as it stands: text for .csv and .tsv, columns as stored for .parquet."""
    path = Path(path).expanduser()
    _require_table(path, "queries are read from")
    _check_present(path)
    from vaecp.formats import tables

    return tables.read_frame(path)


def write_frame(frame: Any, path: str | Path) -> None:
    """Write a DataFrame to a .csv, .tsv or .parquet file."""
    check_writable(path, tables_only=True)
    from vaecp.formats import tables

    with whole_file(path) as temporary:
        tables.write_frame(frame, temporary)


def check_writable(path: str | Path, *, tables_only: bool = False) -> Any:
    """Say before any long work whether `path` can be written, and return who writes it."""
    suffix = suffix_of(Path(path))
    if tables_only:
        _require_table(Path(path), "predictions are written to")
    kind = importlib.import_module(f"vaecp.formats.{_HOMES[suffix]}")
    kind.check_installed(suffix)
    check_target(path)
    return kind


def check_holds(observations: Observations, path: str | Path) -> None:
    """Say before any long work whether `path` can hold a completion of these entries."""
    check_writable(path).check_completion(observations, Path(path))


def suffix_of(path: Path) -> str:
    """Return the known suffix of a path in lower case, `.tns.gz` being one suffix."""
    name = path.name.lower()
    for suffix in _HOMES:
        if name.endswith(suffix) and name != suffix:
            return suffix
    if path.is_dir():
        raise FormatError(f"{path}: is a folder: name a file; {SUPPORTED}.")
    if path.suffix.lower() in SPREADSHEETS:
        raise FormatError(
            f"{path}: is a spreadsheet: use .csv, which they open and save; {SUPPORTED}."
        )
    found = f"the suffix {path.suffix!r} is unknown" if path.suffix else "there is no suffix"
    raise FormatError(f"{path}: {found}: {SUPPORTED}.")


def _check_present(path: Path) -> None:
    if path.is_dir():
        raise FormatError(f"{path}: is a folder: name a file; {SUPPORTED}.")
    if not path.exists():
        raise FormatError(f"{path}: no such file: {_advice(path)}")
    if not path.stat().st_size:
        raise FormatError(f"{path}: is empty: write it again; {SUPPORTED}.")


def _advice(path: Path) -> str:
    """Name the file beside it that was probably meant."""
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    if alike:
        return f"did you mean {path.with_name(alike[0])}?"
    return f"check the name; {SUPPORTED}."


def _require_table(path: Path, what: str) -> None:
    if suffix_of(path) not in TABLE_SUFFIXES:
        raise FormatError(
            f"{path}: {what} tables, which {suffix_of(path)} is not: use "
            f"{', '.join(TABLE_SUFFIXES[:-1])} or {TABLE_SUFFIXES[-1]}."
        )
