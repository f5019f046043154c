"""What the file kinds share: requests, choosing a variable, labels as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from vaecp.data.cells import distinct_cells
from vaecp.data.observations import Absent, Duplicates, Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import FormatError, ObservationError, VaecpError
from vaecp.formats.registry import supported
from vaecp.formats.text.numbers import sentinels
from vaecp.runtime.memory import refuse_beyond_memory

SIGNS = {
    "decimal": (".", ","),
    "thousands": (".", ",", " ", "'"),
    "separator": (",", ";", "\t", "|"),
}
"""What each sign of a text table may be."""


MOST_NAMES = 20
"""That an error lists."""
MOST_EMPTY_ROWS = 1_000_000
BYTES_OF_CELL = 16
"""What a cell of a dense array takes while it is read, if it is a gap; more, if it is not."""


@dataclass(frozen=True)
class Request:
    """What the caller of `read` asked for; see there."""

    modes: tuple[str, ...] | None = None
    value: str | None = None
    variable: str | None = None
    absent: Absent = "unknown"
    duplicates: Duplicates = "error"
    wide: str | None = None
    missing: tuple[str, ...] = ()
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    date_format: str | None = None
    lower: str | None = None
    upper: str | None = None
    saturated_at: float | None = None

    def __post_init__(self) -> None:
        for option, signs in SIGNS.items():
            if getattr(self, option) not in (None, *signs):
                raise FormatError(
                    f"{option} is {getattr(self, option)!r}: use one of {' '.join(map(repr, signs))}."
                )
        if self.decimal is not None and self.decimal == self.thousands:
            raise FormatError(
                f"decimal and thousands are both {self.decimal!r}: they have to differ."
            )

    def refuse(self, path: Path, options: Iterable[str], holder: str) -> None:
        """Refuse options that mean nothing for a kind of file."""
        for option in options:
            if getattr(self, option) is not None:
                raise FormatError(
                    f"{path}: {option} is {getattr(self, option)!r}, but only {holder}: leave it "
                    "out."
                )

    def refuse_value(self, path: Path) -> None:
        if self.value is not None:
            raise FormatError(
                f"{path}: value is {self.value!r}, but only tables have a value column: leave it "
                "out, or use variable to choose an array."
            )

    def refuse_variable(self, path: Path) -> None:
        if self.variable is not None:
            raise FormatError(
                f"{path}: variable is {self.variable!r}, but this kind of file holds a single "
                "tensor: leave it out; value chooses the column of a table."
            )

    def settle(self, listed: Observations, unknown: np.ndarray | None = None) -> Observations:
        """Apply `duplicates`, `missing` and `absent` to a list of coordinates."""
        missing = np.isin(listed.values, sentinels(self.missing))
        if missing.any():
            parts = [] if unknown is None else [unknown]
            unknown = np.concatenate([*parts, listed.indices[missing]])
            listed = listed.take(~missing)
        settled = listed.settle_duplicates(self.duplicates)
        return settled if self.absent == "unknown" else settled.with_absent_zero(unknown)


class Filled(Protocol):
    """What `write_completion` needs of a completion."""

    @property
    def observations(self) -> Observations: ...
    @property
    def mean(self) -> Any: ...
    @property
    def std(self) -> Any: ...
    @property
    def filled(self) -> Any: ...
    @property
    def observed(self) -> Any: ...
    def interval(self) -> tuple[Any, Any]: ...
    def to_frame(self) -> Any: ...
    def at(self, indices: np.ndarray) -> Prediction: ...
    @property
    def coverage(self) -> float: ...


RESULTS = ("value", "observed", "mean", "std", "low", "high")
"""What a completion says of each entry."""


def named_arrays(completion: Filled) -> dict[str, np.ndarray]:
    """Return the arrays of a completion under the names that every kind uses."""
    low, high = completion.interval()
    arrays = {
        "value": completion.filled,
        "mean": completion.mean,
        "std": completion.std,
        "low": low,
        "high": high,
        "observed": completion.observed,
    }
    return {name: np.asarray(array) for name, array in arrays.items()}


@contextmanager
def damaged_means(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a parser raises on a damaged or foreign file into one line."""
    try:
        yield
    except (VaecpError, MemoryError, PermissionError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FormatError(
            f"{path}: is truncated or is not {kind} ({reason.rstrip('.')}): write it again, or "
            f"give it the suffix of its kind; {supported()}."
        ) from error


def choose_array(
    path: Path,
    candidates: Sequence[str],
    every: Sequence[str],
    request: Request,
    what: str = "arrays have two or more modes",
) -> str:
    """Return the name of the one array to read, or list the names to choose from."""
    if request.variable is not None:
        if request.variable not in every:
            raise FormatError(
                f"{path}: has no variable {request.variable!r}: it has {_listed(every)}."
            )
        return request.variable
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        raise FormatError(
            f"{path}: no array of numbers has two or more modes: it has {_listed(every)}."
        )
    raise FormatError(
        f"{path}: {len(candidates)} {what} ({_listed(candidates)}): choose "
        f"one with variable={candidates[0]!r} (--variable {candidates[0]})."
    )


def _listed(names: Sequence[str]) -> str:
    shown = [f"{name!r:.80}" for name in names[:MOST_NAMES]]
    more = [f"and {len(names) - len(shown):,} more"] if len(names) > len(shown) else []
    return ", ".join(shown + more) or "nothing"


# ---- sizes that a file declares --------------------------------------------------------


def refuse_vast(path: Path, shape: Sequence[int]) -> None:
    """Refuse a dense array that would not fit in memory."""
    refuse_beyond_memory(path, BYTES_OF_CELL * float(np.prod([float(size) for size in shape])))


def refuse_empty_rows(path: Path, shape: Sequence[int], n_entries: int) -> None:
    """Refuse modes that are far larger than entries could fill: rows take memory, and time."""
    most = max(MOST_EMPTY_ROWS, 10 * n_entries)
    for mode, size in enumerate(shape):
        if size > most:
            raise FormatError(
                f"{path}: mode {mode + 1} has {size:,} rows for {n_entries:,} entries: a list of "
                f"coordinates may have {most:,}; number its rows without holes, or keep them as "
                "labels in a .csv or .parquet file."
            )


def sizes_of(array: Any, name: str, path: Path) -> tuple[int, ...]:
    """Return the sizes of modes that a variable of a file holds."""
    sizes = np.ravel(np.asarray(array))
    if sizes.dtype.kind not in "iuf" or not len(sizes) or not np.all(sizes == np.floor(sizes)):
        raise FormatError(f"{path}: {name} holds {_shown(sizes)}: it must hold the sizes of modes.")
    if not (sizes.min() >= 1 and sizes.max() < 2**53):
        raise FormatError(f"{path}: {name} holds {_shown(sizes)}: sizes are integers from 1.")
    return tuple(int(size) for size in sizes)


def _shown(array: np.ndarray) -> str:
    return f"{array[:5].tolist()!s:.100}"


# ---- labels and names beside an array --------------------------------------------------


def is_text(labels: np.ndarray) -> bool:
    """Whether every label is a text."""
    return labels.dtype.kind == "U" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    )


def is_reserved(name: str) -> bool:
    """Whether a variable of this name describes the modes, rather than being a tensor."""
    return name in {"mode_names", "value_name", "DimX"} or name.startswith("labels_")


def label_arrays(observations: Observations, path: Path) -> dict[str, np.ndarray]:
    """Return labels and names as arrays of numbers, dates or fixed-width text, never objects."""
    arrays = {
        "mode_names": _plain(np.asarray(observations.mode_names), "mode_names", path),
        "value_name": _plain(np.asarray([observations.value_name]), "value_name", path),
    }
    for mode, labels in enumerate(observations.labels):
        arrays[f"labels_{mode}"] = _plain(labels, observations.mode_names[mode], path)
    return arrays


def described(
    arrays: Mapping[str, np.ndarray], labels: Sequence[np.ndarray], request: Request
) -> dict[str, Any]:
    """Return the names and labels that stand beside a tensor, as arguments of Observations.

    `labels` are those of modes for which the file has no array labels_0, labels_1 ...
    """
    result: dict[str, Any] = {"mode_names": request.modes or ()}
    names = _texts(arrays.get("mode_names"))
    if not request.modes and len(names) == len(labels):
        result["mode_names"] = names
    if value_names := _texts(arrays.get("value_name")):
        result["value_name"] = value_names[0]
    keys = {f"labels_{mode}": each for mode, each in enumerate(labels)}
    result["labels"] = tuple(
        _labels(arrays[key], key) if key in arrays else each for key, each in keys.items()
    )
    return result


def _texts(array: Any) -> tuple[str, ...]:
    names = np.ravel(np.asarray(array))
    return tuple(map(str, names)) if names.dtype.kind == "U" else ()


def _labels(array: Any, name: str) -> np.ndarray:
    labels = np.ravel(np.asarray(array))
    if labels.dtype.kind not in "iufbUM" or pd.isna(labels).any():
        raise ObservationError(
            f"{name} holds {_shown(labels)}: use one number, text or date per row of the mode."
        )
    return labels


def refuse_labels(observations: Observations, path: Path, kind: str) -> None:
    """Refuse labels in a kind of file that holds coordinates alone."""
    for name, labels in zip(observations.mode_names, observations.labels, strict=True):
        if labels.dtype.kind not in "iu" or not np.array_equal(labels, np.arange(len(labels))):
            raise FormatError(
                f"{path}: mode {name!r} has the label {labels[0]!s}, and {kind} holds coordinates "
                "alone: use .npz, .nc, .parquet or .csv to keep labels."
            )


def dense(observations: Observations, path: Path) -> np.ndarray:
    """Return the dense array, or refuse repeated entries, which it cannot hold."""
    if len(distinct_cells(observations.indices, observations.shape)[0]) < len(observations):
        raise FormatError(
            f"{path}: some entries are listed more than once, which a dense array cannot hold: "
            "average them first, or use .npz, .tns, .csv or .parquet."
        )
    return observations.to_array()


def _plain(labels: np.ndarray, name: str, path: Path) -> np.ndarray:
    if not is_text(labels):
        if labels.dtype.kind in "iufbM":
            return labels
        raise FormatError(
            f"{path}: mode {name!r} has the label {labels[0]!r} ({type(labels[0]).__name__}), "
            "which no file kind holds: use numbers, text or dates as labels."
        )
    plain = labels.astype(str)
    for given, kept in zip(labels, plain, strict=True):
        if given != kept:
            raise FormatError(
                f"{path}: mode {name!r} has the label {given!r}, whose last character fixed-width "
                "text loses: remove it, or use .parquet."
            )
    return plain
