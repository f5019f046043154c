"""Tables with one entry per row (a column of labels per mode, and a column of values), or wide:
one row per sample, and one column per label of a further mode.

This is what all kinds of tables share; `delimited`, `parquet` and `spreadsheets` read and write
their cells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, VaecpError
from vaecp.formats import Opened
from vaecp.formats.columns import choose_columns, tidy_columns
from vaecp.formats.common import Filled, Request, is_text
from vaecp.formats.entries import entries_of
from vaecp.formats.listing import ADDED, Listing, answered, completed, rounded
from vaecp.formats.raw import OPTIONS, RawTable, Style, TableFile
from vaecp.formats.text.labels import tidied, typed


class Table:
    """A format whose files have rows and columns."""

    def __init__(self, file: TableFile) -> None:
        self.file = file

    def check_installed(self, suffix: str) -> None:
        """Refuse where an optional dependency is missing."""
        self.file.check_installed(suffix)

    def read_raw(self, path: Path, request: Request) -> RawTable:
        """Read the cells under tidy names of columns."""
        others = [option for option in OPTIONS if option not in self.file.options]
        request.refuse(path, others, "text tables have it")
        return tidy_columns(self.file.read(path, request))

    def open(self, path: Path, request: Request) -> Opened:
        """Read the observed entries, and keep the rows as they stood."""
        raw = self.read_raw(path, request)
        columns = choose_columns(raw, request)
        if not len(columns.frame):
            raise FormatError(f"{path}: has a header but no rows: at least one entry is needed.")
        return entries_of(raw, columns, request)

    def read(self, path: Path, request: Request) -> Observations:
        """Read the observed entries."""
        return self.open(path, request).observations

    def write(self, observations: Observations, path: Path, shown: Path) -> None:
        """Write the entries, and a row without value for each label that has no entry."""
        for name, labels in zip(observations.mode_names, observations.labels, strict=True):
            if self.file.text:
                _check_comes_back(labels, name, shown)
            elif labels.dtype.kind not in "iufbM" and not is_text(labels):
                raise FormatError(
                    f"{shown}: mode {name!r} has the label {labels[0]!r} "
                    f"({type(labels[0]).__name__}), which {shown.suffix} cannot hold: use numbers, "
                    "text or dates."
                )
        _check_names((*observations.mode_names, observations.value_name), shown)
        indices, values = _with_unseen_labels(observations)
        frame = observations.keys(indices)
        frame[observations.value_name] = values
        self.write_frame(frame, path)

    def check_completion(self, observations: Observations, shown: Path) -> None:
        """Refuse names of modes and values that are those of columns that are added."""
        for name in (*observations.mode_names, observations.value_name):
            if name in ADDED:
                raise FormatError(
                    f"{shown}: {name!r} has the name of a column of the result "
                    f"({', '.join(ADDED)}): rename it."
                )

    def write_completion(self, completion: Filled, path: Path, shown: Path) -> None:
        """Write one row per entry, in the order of labels."""
        self.check_completion(completion.observations, shown)
        frame = completion.to_frame()
        _check_names(tuple(map(str, frame.columns)), shown)
        self.write_frame(rounded(frame) if self.file.text else frame, path)

    def write_listing(
        self, listing: Listing, completion: Filled, path: Path, shown: Path, *, every: bool
    ) -> None:
        """Write the rows of the input with what was filled; `every` adds the other entries."""
        listing.check_names(shown)
        frame = completed(listing, completion, every=every, as_text=self.file.text)
        self.write_frame(frame, path, listing.style)

    def write_answers(self, raw: RawTable, found: dict[str, np.ndarray], path: Path) -> None:
        """Write a table with columns of predictions added."""
        self.write_frame(answered(raw, found, as_text=self.file.text), path, raw.style)

    def write_frame(self, frame: pd.DataFrame, path: Path, style: Style | None = None) -> None:
        """Write a DataFrame without its index."""
        self.check_installed(path.suffix)
        self.file.write(frame, path, style or Style())


def _check_names(names: tuple[str, ...], shown: Path) -> None:
    for column, name in enumerate(names):
        if not name or name != tidied(name) or name in names[:column]:
            raise FormatError(
                f"{shown}: column {column + 1} would be called {name!r}: give every mode a name of "
                "its own, without spaces around it."
            )


def _check_comes_back(labels: np.ndarray, name: str, shown: Path) -> None:
    """Refuse labels that would be others when they are read from text."""
    is_date = labels.dtype.kind == "M"
    texts = [str(label) for label in (labels.astype(str) if is_date else labels.tolist())]
    try:
        back, _ = typed([tidied(text) for text in texts], name)
    except VaecpError:
        back = np.full(len(texts), None, dtype=object)
    same_kind = is_text(labels) if back.dtype.kind == "O" else back.dtype.kind == labels.dtype.kind
    for label, text, again in zip(labels, texts, back, strict=True):
        if not same_kind or not text or again != label or "\0" in text or "\r" in text:
            raise FormatError(
                f"{shown}: mode {name!r} has the label {label!r}, which would come back as "
                f"{again!r} from text: use .parquet or .npz to keep it."
            )


def _with_unseen_labels(observations: Observations) -> tuple[np.ndarray, np.ndarray]:
    unseen = [
        np.setdiff1d(np.arange(size), observations.indices[:, mode])
        for mode, size in enumerate(observations.shape)
    ]
    extra = np.zeros((max(map(len, unseen)), observations.n_modes), dtype=np.int64)
    for mode, rows in enumerate(unseen):
        extra[: len(rows), mode] = rows
    return (
        np.concatenate([observations.indices, extra]),
        np.concatenate([observations.values.astype(np.float64), np.full(len(extra), np.nan)]),
    )
