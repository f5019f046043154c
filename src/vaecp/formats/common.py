"""What the file kinds share: requests, choosing a variable, labels as plain arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vaecp.errors import FormatError, VaecpError
from vaecp.observations import Absent, Duplicates, Observations

SUPPORTED = (
    "vaecp reads and writes .csv, .tsv, .parquet, .npy, .npz, .mat, .tns, .tns.gz and .nc files"
)


@dataclass(frozen=True)
class Request:
    """What the caller of `read` asked for."""

    modes: tuple[str, ...] | None
    value: str | None
    variable: str | None
    absent: Absent
    duplicates: Duplicates
    wide: str | None = None

    def refuse_wide(self, path: Path) -> None:
        if self.wide is not None:
            raise FormatError(
                f"{path}: wide is {self.wide!r}, but only tables have a header to take labels "
                "from: leave it out."
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
        """Apply `duplicates` and `absent` to entries that came as a list of coordinates."""
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


RESULTS = ("observed", "value", "mean", "std", "low", "high")
"""What a completion says of each entry; no mode of a table may be called so."""


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
            f"give it the suffix of its kind; {SUPPORTED}."
        ) from error


def choose(path: Path, candidates: Sequence[str], every: Sequence[str], request: Request) -> str:
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
        f"{path}: {len(candidates)} arrays have two or more modes ({_listed(candidates)}): choose "
        f"one with variable={candidates[0]!r} (--variable {candidates[0]})."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"


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


def described(arrays: Mapping[str, np.ndarray], n_modes: int, request: Request) -> dict[str, Any]:
    """Return the names and labels that stand beside a tensor, as arguments of Observations."""
    result: dict[str, Any] = {"mode_names": request.modes or ()}
    names = np.ravel(arrays.get("mode_names", ()))
    if not request.modes and names.dtype.kind == "U" and len(names) == n_modes:
        result["mode_names"] = tuple(map(str, names))
    if "value_name" in arrays and arrays["value_name"].dtype.kind == "U":
        result["value_name"] = str(np.ravel(arrays["value_name"])[0])
    labels = [arrays.get(f"labels_{mode}") for mode in range(n_modes)]
    if all(label is not None for label in labels):
        result["labels"] = tuple(np.ravel(np.asarray(label)) for label in labels)
    return result


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
    if len(np.unique(observations.indices, axis=0)) < len(observations):
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
