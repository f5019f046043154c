"""Files <-> `Observations`: tables, arrays, MATLAB, FROSTT and NetCDF, chosen by suffix.

In every kind a NaN (or an empty cell of a table) is a gap and an infinity is an error.
What each kind can hold is said in its own module. Nothing heavy is imported before a file is
read or written.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vaecp.errors import FormatError, VaecpError
from vaecp.formats.registry import kind_of, listed, suffix_of, supported
from vaecp.runtime.files import check_target, whole_file

if TYPE_CHECKING:
    from vaecp.data.observations import Absent, Duplicates, Observations
    from vaecp.formats.common import Filled, Request
    from vaecp.formats.listing import Listing
    from vaecp.formats.raw import RawTable

__all__ = [
    "Opened",
    "check_holds",
    "check_writable",
    "open_file",
    "read",
    "read_table",
    "write",
    "write_answers",
    "write_completion",
    "write_frame",
]

Cells = Literal["all", "listed"]
TEXT_OPTIONS = (
    *("wide", "header", "separator", "decimal", "thousands", "encoding", "date_format"),
    *("lower", "upper"),
)


@dataclass(frozen=True, eq=False)
class Opened:
    """What a file holds: the observed entries and, of a table, the rows as they stood."""

    observations: Observations
    listing: Listing | None = None

    def with_entries(self, observations: Observations) -> Opened:
        """Return the same rows with these entries observed in place of those that were."""
        listing = self.listing
        return Opened(observations, listing and listing.with_entries(observations))


def read(
    path: str | Path,
    *,
    modes: Sequence[str] | None = None,
    value: str | None = None,
    variable: str | None = None,
    absent: Absent = "unknown",
    duplicates: Duplicates = "error",
    wide: str | None = None,
    missing: Sequence[Any] = (),
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    encoding: str | None = None,
    date_format: str | None = None,
    lower: str | None = None,
    upper: str | None = None,
    saturated_at: float | None = None,
) -> Observations:
    """Read the observed entries of a tensor from a file.

    What was decided while a text table was read stands in `notes` of the result.

    Parameters
    ----------
    path : a file of a known suffix, such as .csv, .xlsx, .parquet, .npy, .mat or .nc.
    modes : the label columns of a table (all but the last by default), or names for the
        axes of an array.
    value : the value column of a table; the last by default.
    variable : which array of a .npz, .mat or .nc file, or which sheet of a .xlsx file, where it
        holds several.
    absent : what an entry that a table or a list of coordinates lacks is.
    duplicates : what to do with coordinates that are listed more than once.
    wide : the name of a mode whose labels are the header of a table, as in one row per sample
        and one column per wavelength; `modes` are then the columns that hold labels, all
        whose names are neither numbers nor dates by default.
    missing : values that stand for an unknown one, such as -999, beside empty cells and NA.
    header : whether the first line of a table names its columns; detected by default.
    separator, decimal, thousands : the signs of a text table; detected by default.
    encoding : of a text table; UTF-8, UTF-16 or Windows-1252 is detected by default.
    date_format : of labels that are dates, such as "%d/%m/%Y"; detected by default.
        "text" keeps dates as texts.
    lower, upper : columns of a table with limits of values that are empty; those of these names by
        default. Limits may also stand in the value column: <0.5, >1000.
    saturated_at : the value at which the detector saturates: of entries that reach it, only that is
        known.
    """
    options: dict[str, Any] = {name: item for name, item in locals().items() if name != "path"}
    return open_file(path, **options).observations


def open_file(path: str | Path, **options: Any) -> Opened:
    """Read a file with the options of `read`, and keep the rows of a table as they stood."""
    path = Path(path).expanduser()
    kind = kind_of(path)
    _check_present(path)
    request = _request(**options)
    with _errors_name(path):
        if kind.table:
            opened = kind.load().open(path, request)
        else:
            request.refuse(path, TEXT_OPTIONS, "tables have rows and columns of text")
            opened = Opened(_without_missing(kind.load().read(path, request), request))
        if request.saturated_at is not None:
            from vaecp.data.limits import saturated

            opened = opened.with_entries(saturated(opened.observations, request.saturated_at))
    from vaecp.data.hints import hints_about

    observations = opened.observations
    hints = hints_about(observations)
    if not hints:
        return opened
    notes = (*observations.notes, *hints)
    return replace(opened, observations=replace(observations, notes=notes))


def write(observations: Observations, path: str | Path) -> None:
    """Write observed entries to a file from which `read` gives them back.

    Tables give labels back in sorted order. `.npy` and `.tns` hold coordinates alone, so
    labels other than 0, 1, 2 ... are refused, and the names of modes and values are not
    kept. `.npy`, `.mat` and `.nc` are dense, so repeated entries are refused.
    """
    kind = check_writable(path)
    with whole_file(path) as temporary:
        kind.write(observations, temporary, Path(path))


def write_completion(
    completion: Filled,
    path: str | Path,
    listing: Listing | None = None,
    cells: Cells = "all",
) -> None:
    """Write every entry with its mean, std and interval, and whether it was observed.

    A table has one row per entry: its labels, the value (the observed one, else the mean),
    `observed`, `mean`, `std`, `low` and `high`. `.npz`, `.mat` and `.nc` hold arrays
    of these names; `.npy` one array whose first axis is mean, std, low, high; `.tns`
    coordinates from 1, then mean, std, low and high.

    Parameters
    ----------
    completion : what `vaecp.complete` returned.
    path : the file to write.
    listing : the table that the entries came from: what is written then has its rows in their
        order, its columns and its width.
    cells : whether a table gets rows for the entries that `listing` does not list.
    """
    kind = check_writable(path)
    with whole_file(path) as temporary:
        if listing is not None and kind_of(Path(path)).table:
            kind.write_listing(listing, completion, temporary, Path(path), every=cells == "all")
        else:
            kind.write_completion(completion, temporary, Path(path))


def read_table(path: str | Path, **options: Any) -> RawTable:
    """Read a table as it stands, cells of text files being text."""
    path = Path(path).expanduser()
    _require_table(path, "queries are read from")
    _check_present(path)
    with _errors_name(path):
        return kind_of(path).load().read_raw(path, _request(**options))


def write_answers(table: RawTable, found: dict[str, Any], path: str | Path) -> None:
    """Write a table that `read_table` gave with columns of predictions added."""
    kind = check_writable(path, tables_only=True)
    with whole_file(path) as temporary:
        kind.write_answers(table, found, temporary)


def write_frame(frame: Any, path: str | Path) -> None:
    """Write a DataFrame to a table."""
    kind = check_writable(path, tables_only=True)
    with whole_file(path) as temporary:
        kind.write_frame(frame, temporary)


def check_writable(path: str | Path, *, tables_only: bool = False) -> Any:
    """Say before any long work whether `path` can be written, and return who writes it."""
    suffix = suffix_of(Path(path))
    if tables_only:
        _require_table(Path(path), "predictions are written to")
    kind = kind_of(Path(path)).load()
    kind.check_installed(suffix)
    check_target(path)
    return kind


def check_holds(
    observations: Observations, path: str | Path, listing: Listing | None = None
) -> None:
    """Say before any long work whether `path` can hold a completion of these entries."""
    kind = check_writable(path)
    if listing is not None and kind_of(Path(path)).table:
        listing.check_names(Path(path))
    else:
        kind.check_completion(observations, Path(path))


def _request(**options: Any) -> Request:
    from vaecp.formats.common import Request

    modes, missing = options.pop("modes", None), options.pop("missing", ())
    return Request(
        modes=tuple(modes) if modes else None, missing=tuple(map(str, missing)), **options
    )


def _without_missing(observations: Observations, request: Request) -> Observations:
    """Leave out entries of an array whose value stands for an unknown one."""
    import numpy as np

    from vaecp.formats.text.numbers import sentinels

    missing = np.isin(observations.values, sentinels(request.missing))
    return observations.take(~missing) if missing.any() else observations


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Begin every error with the name of the file, whatever the file led to."""
    from vaecp.formats.common import damaged_means

    try:
        with damaged_means(path, f"a {suffix_of(path)} file"):
            yield
    except VaecpError as error:
        if isinstance(error, ImportError) or str(error).startswith(str(path)):
            raise
        raise type(error)(f"{path}: {error}") from error
    except MemoryError as error:
        raise FormatError(
            f"{path}: there is not enough memory to read it: write a smaller part of it, or use a "
            "machine with more."
        ) from error


def _check_present(path: Path) -> None:
    if path.is_dir():
        raise FormatError(f"{path}: is a folder: name a file; {supported()}.")
    if not path.exists():
        raise FormatError(f"{path}: no such file: {_advice(path)}")
    if not path.stat().st_size:
        raise FormatError(f"{path}: is empty (0 bytes): check how it was exported or copied.")


def _advice(path: Path) -> str:
    """Name the file beside it that was probably meant."""
    names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    if alike:
        return f"did you mean {path.with_name(alike[0])}?"
    return f"check the name; {supported()}."


def _require_table(path: Path, what: str) -> None:
    if not kind_of(path).table:
        raise FormatError(
            f"{path}: {what} tables, which {suffix_of(path)} is not: use "
            f"{listed(tables_only=True, last='or')}."
        )
