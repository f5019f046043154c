"""The rows of a table as they stood in its file, and the same rows with what was filled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from vaecp.data.cells import cell_keys, coordinates, unlisted_cells
from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats.common import Filled
from vaecp.formats.raw import RawTable, Style
from vaecp.formats.text.dates import TEXT
from vaecp.formats.text.digits import as_texts
from vaecp.formats.text.labels import read_labels
from vaecp.formats.text.written import decimal_sign

ADDED = ("observed", "mean", "std", "low", "high")
"""Columns that a completion adds to a table."""
SPREADS = ("std", "low", "high")


@dataclass(frozen=True, eq=False)
class Listing:
    """A table, and which entry of a tensor each of its values is.

    Attributes
    ----------
    frame : the table as it stood.
    text : whether its cells are text.
    style : how it was written.
    modes : its columns of labels.
    columns : its columns of values: one, or where it is wide one for each label of the last mode.
    rows : (n, modes) the code of each row in each mode that has a column.
    header : the code of each column in the last mode, where the table is wide, or None.
    labels, label_texts : per mode with a column, its labels and what they are written as.
    values : (n, columns) numbers, NaN at gaps.
    absent_zero : whether entries that are not listed are zero.
    """

    frame: pd.DataFrame
    text: bool
    style: Style
    modes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: np.ndarray
    header: np.ndarray | None
    labels: tuple[np.ndarray, ...]
    label_texts: tuple[np.ndarray, ...]
    values: np.ndarray
    absent_zero: bool = False

    @property
    def n_gaps(self) -> int:
        """How many of the listed entries have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def indices(self) -> np.ndarray:
        """The coordinates of every listed entry, row by row."""
        return self.indices_of(self.rows)

    def indices_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the coordinates of the entries in rows of these codes."""
        if self.header is None:
            return rows
        repeated = np.repeat(rows, len(self.header), axis=0)
        return np.column_stack([repeated, np.tile(self.header, len(rows))])

    def unlisted_rows(self) -> np.ndarray:
        """Return the codes of the rows that the table lacks, in row-major order."""
        shape = tuple(len(texts) for texts in self.label_texts)
        return coordinates(unlisted_cells(self.rows, shape), shape)

    def with_entries(self, observations: Observations) -> Listing:
        """Leave only these entries a value, which may be another than it was."""
        shape = observations.shape
        known, first = np.unique(cell_keys(observations.indices, shape), return_index=True)
        keys = cell_keys(self.indices, shape)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        found = (known[place] == keys).reshape(self.values.shape)
        now = observations.values[first[place]].reshape(self.values.shape)
        zero = found & (now == 0) & (self.values != 0)
        values = np.where(zero, 0.0, np.where(found, self.values, np.nan))
        frame = self.frame.copy()
        for column, name in enumerate(self.columns):
            cells = frame[name].to_numpy(dtype=object, copy=True)
            cells[zero[:, column]] = "0" if self.text else 0.0
            frame[name] = cells
        return replace(self, frame=frame, values=values)

    def check_names(self, shown: Path) -> None:
        """Refuse a table that has a column with the name of one that is added."""
        taken = [name for name in _added(self) if name in self.frame.columns]
        if taken:
            raise FormatError(
                f"{shown}: {taken[0]!r} has the name of a column of the result "
                f"({', '.join(ADDED)}): rename it."
            )


def completed(listing: Listing, completion: Filled, *, every: bool, as_text: bool) -> pd.DataFrame:
    """Return the rows of a table with its gaps filled, and mean, std and interval of its entries.

    Parameters
    ----------
    listing : the table.
    completion : what was predicted.
    every : whether rows follow for the entries that the table does not list.
    as_text : whether it is to be written as text, with as many digits as the std warrants.
    """
    frame, rows, values = listing.frame, listing.rows, listing.values
    typed = not (listing.text and as_text)
    if listing.text and typed:
        labels = {
            name: listing.labels[mode][listing.rows[:, mode]]
            for mode, name in enumerate(listing.modes)
        }
        frame = _typed(frame).assign(**labels)
    if every:
        further = listing.unlisted_rows()
        unknown = 0.0 if listing.absent_zero else np.nan
        frame = pd.concat([frame, _empty_rows(listing, further, typed)], ignore_index=True)
        rows = np.concatenate([rows, further])
        values = np.concatenate([values, np.full((len(further), values.shape[1]), unknown)])
    found = _results(listing, completion, rows, values)
    if as_text:
        found = _as_text(listing, found, frame, len(listing.rows))
    return _joined(listing, frame, found)


def answered(raw: RawTable, found: dict[str, np.ndarray], *, as_text: bool) -> pd.DataFrame:
    """Return a table with columns of predictions added, `std` among them."""
    if not as_text:
        return (_typed(raw.frame) if raw.text else raw.frame).assign(**found)
    decimal = "."
    if raw.text and raw.style.separator not in (",", None):
        cells = (str(text) for name in raw.frame for text in raw.frame[name].unique())
        decimal = decimal_sign(cells) or ("," if raw.style.separator == ";" else ".")
    texts = {name: as_texts(column, found["std"], decimal) for name, column in found.items()}
    return raw.frame.assign(**texts)


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame of a completion with as many digits as the std warrants.

    Its last columns are the value, those of `ADDED`, and probabilities of classes.
    """
    first = list(frame.columns).index("observed")
    value, shown = frame.columns[first - 1], frame.columns[first + 1 :]
    std = frame["std"].to_numpy()
    texts = {name: as_texts(frame[name].to_numpy(), std) for name in shown}
    known = frame["observed"].to_numpy(dtype=bool)
    return frame.assign(
        **{value: np.where(known, frame[value].astype(object), texts["mean"])}, **texts
    )


def _added(listing: Listing) -> list[str]:
    if listing.header is None:
        return list(ADDED)
    return [f"{column} {name}" for name in SPREADS for column in listing.columns]


def _results(
    listing: Listing, completion: Filled, rows: np.ndarray, values: np.ndarray
) -> dict[str, np.ndarray]:
    """Return arrays of rows x columns: value, and what was predicted."""
    prediction = completion.at(listing.indices_of(rows))
    low, high = prediction.interval(completion.coverage)
    flat = {"mean": prediction.mean, "std": prediction.std, "low": low, "high": high}
    if listing.header is None:
        flat |= prediction.class_columns()
    found = {name: np.asarray(array).reshape(values.shape) for name, array in flat.items()}
    found["observed"] = ~np.isnan(values)
    found["value"] = np.where(found["observed"], values, found["mean"])
    return found


def _as_text(
    listing: Listing, found: dict[str, np.ndarray], frame: pd.DataFrame, n_listed: int
) -> dict[str, np.ndarray]:
    """Write what was predicted as the input writes numbers; keep its own cells as they are."""
    style, std = listing.style, found["std"]
    shown = [name for name in found if name not in ("observed", "value")]
    texts = {name: as_texts(found[name], std, style.decimal) for name in shown}
    before = f"{style.before} " if style.before.isalpha() else style.before
    filled = np.frompyfunc(lambda text: f"{before}{text}{style.after}", 1, 1)(texts["mean"])
    if style.answers is not None:  # the probability stands in a column of its own
        filled = np.array(style.answers, dtype=object)[(found["mean"] >= 0.5).astype(int)]
    given = frame[list(listing.columns)].to_numpy(dtype=object, copy=True)
    if not listing.text:
        given = np.array([[f"{v:.15g}" for v in row] for row in found["value"]], dtype=object)
    given[n_listed:] = "0"
    return {
        **texts,
        "observed": found["observed"],
        "value": np.where(found["observed"], given, filled),
    }


def _joined(listing: Listing, frame: pd.DataFrame, found: dict[str, np.ndarray]) -> pd.DataFrame:
    parts = {name: frame[name] for name in frame.columns}
    for place, column in enumerate(listing.columns):
        parts[column] = found["value"][:, place]
    if listing.header is None:
        classes = [name for name in found if name not in (*ADDED, "value")]
        parts |= {name: found[name][:, 0] for name in (*ADDED, *classes)}
    else:
        for name in SPREADS:
            for place, column in enumerate(listing.columns):
                parts[f"{column} {name}"] = found[name][:, place]
    return pd.DataFrame(parts, index=frame.index)


def _empty_rows(listing: Listing, rows: np.ndarray, typed: bool) -> pd.DataFrame:
    """Return rows that have labels alone."""
    names, empty = listing.frame.columns, None if typed else ""
    parts = {name: np.full(len(rows), empty, dtype=object) for name in names}
    labels = listing.labels if typed else listing.label_texts
    for mode, name in enumerate(listing.modes):
        parts[name] = labels[mode][rows[:, mode]]
    return pd.DataFrame(parts, columns=names)


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts whose columns are numbers where all their cells are."""
    columns = {
        name: read_labels(frame[name].to_numpy(dtype=object), str(name), date_format=TEXT).values
        for name in frame
    }
    return pd.DataFrame(columns, index=frame.index)
