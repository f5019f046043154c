"""From the cells of a table to the entries of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaecp.data.checks import check_finite, numbers_of
from vaecp.data.labels import Place, encode, place_in
from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats import Opened
from vaecp.formats.columns import FIRST, LIMITS, Columns
from vaecp.formats.common import Request
from vaecp.formats.listing import Listing
from vaecp.formats.raw import RawTable, Style
from vaecp.formats.text.dates import TEXT
from vaecp.formats.text.labels import read_labels, tidied
from vaecp.formats.text.numbers import Column, Signs, read_numbers, sentinels
from vaecp.formats.text.written import decimal_sign


@dataclass(frozen=True, eq=False)
class _Mode:
    """The labels of one mode, the code of every row, and what each label is written as."""

    name: str
    codes: np.ndarray
    labels: np.ndarray
    texts: np.ndarray
    notes: tuple[str, ...] = ()


def entries_of(raw: RawTable, columns: Columns, request: Request) -> Opened:
    """Return the observed entries of a table, and the rows that they came from."""
    frame, place = columns.frame, place_in(columns.frame.index)
    signs = _signs(raw, columns, request)
    values = _values(raw, columns, signs, request, place)
    modes = [
        _mode(frame[name].to_numpy(), name, raw.text, signs, request, place)
        for name in columns.modes
    ] or [_counted(len(frame))]
    header = None
    if columns.wide is not None:
        names = np.array(columns.header_labels, dtype=object)
        header = _mode(names, columns.wide, True, signs, request, lambda n: f"column {names[n]}")
    every = [*modes, header] if header is not None else modes
    _check_dates(every, request)
    listing = Listing(
        frame=frame,
        text=raw.text,
        style=_style(raw.style, values, signs),
        modes=columns.modes,
        columns=columns.values,
        rows=np.stack([mode.codes for mode in modes], axis=1),
        header=None if header is None else header.codes,
        labels=tuple(mode.labels for mode in modes),
        label_texts=tuple(mode.texts for mode in modes),
        values=values.values.reshape(len(frame), -1),
        absent_zero=request.absent == "zero",
    )
    observations = Observations.from_listed(
        listing.indices,
        values.values,
        [mode.labels for mode in every],
        [mode.name for mode in every],
        columns.value_name,
        duplicates=request.duplicates,
        absent=request.absent,
        place=lambda entry: place(entry // len(columns.values)),
        **_limits(raw, columns, values, signs, request, place),
    )
    notes = [*columns.notes, *values.notes]
    notes += [note for mode in every for note in mode.notes]
    return Opened(replace(observations, notes=tuple(notes)), listing)


def _signs(raw: RawTable, columns: Columns, request: Request) -> Signs:
    """Say what is known of how numbers are written; one column may show what another does not."""
    signs = Signs(request.decimal, request.thousands, raw.style.separator or ",")
    if not raw.text or signs.separator == "," or signs.decimal:
        return signs
    for name in (*columns.values, *columns.modes):
        texts = columns.frame[name].unique()
        if seen := decimal_sign(str(text) for text in texts):
            return replace(signs, seen=seen)
    return replace(signs, seen=decimal_sign(columns.values) if columns.wide else None)


def _values(
    raw: RawTable, columns: Columns, signs: Signs, request: Request, place: Place
) -> Column:
    """Return the values row by row."""
    n_columns, names = len(columns.values), columns.values

    def where(entry: int) -> str:
        line = place(entry // n_columns)
        return line if columns.wide is None else f"{line}, column {names[entry % n_columns]!r}"

    if raw.text:
        texts = columns.frame[list(names)].to_numpy(dtype=object).ravel()
        column = read_numbers(texts, columns.value_name, where, signs, request.missing)
        check_finite(column.values, columns.value_name, where)
        return column
    found = np.stack([numbers_of(columns.frame[name], name, place) for name in names], axis=1)
    found[np.isin(found, sentinels(request.missing))] = np.nan
    return Column(found.ravel())


def _limits(
    raw: RawTable, columns: Columns, values: Column, signs: Signs, request: Request, place: Place
) -> dict[str, Any]:
    """Return limits of unknown values: those in the column of values, and in columns of their own."""
    found = {"lower": values.lower, "upper": values.upper}
    for which in LIMITS:
        name = getattr(columns, which)
        if name is None:
            continue
        own = replace(columns, values=(name,), value_name=name)
        ends = _values(raw, own, signs, request, place).values
        before = found[which]
        found[which] = ends if before is None else np.where(np.isnan(before), ends, before)
    return _from_zero(found, values.values)


def _from_zero(limits: dict[str, Any], values: np.ndarray) -> dict[str, Any]:
    """Take what lies below a limit of detection for 0 or more, where all values are."""
    lower, upper = limits["lower"], limits["upper"]
    if upper is None or not (values >= 0).any() or (values < 0).any():
        return limits
    lower = np.full(len(values), np.nan) if lower is None else lower
    return {"upper": upper, "lower": np.where(np.isnan(lower) & (upper > 0), 0.0, lower)}


def _mode(
    cells: np.ndarray, name: str, text: bool, signs: Signs, request: Request, place: Place
) -> _Mode:
    if not text:
        codes, labels = encode(cells, name, place)
        return _Mode(name, codes, labels, labels)
    cells = cells.astype(object)
    read = read_labels(cells, name, signs.decimal or signs.seen, request.date_format)
    codes, labels = encode(read.values, name, place)
    first = np.unique(codes, return_index=True)[1]
    texts = np.array([tidied(str(cells[row])) for row in first], dtype=object)
    return _Mode(name, codes, labels, texts, read.notes)


def _counted(n_rows: int) -> _Mode:
    labels = np.arange(1, n_rows + 1)
    return _Mode(FIRST, np.arange(n_rows, dtype=np.int32), labels, labels)


def _check_dates(modes: Sequence[_Mode], request: Request) -> None:
    if request.date_format in (None, TEXT) or any(mode.labels.dtype.kind == "M" for mode in modes):
        return
    shown = ", ".join(f"{mode.name} has {mode.texts[0]!s}" for mode in modes)
    raise FormatError(
        f"date_format is {request.date_format!r}, but no column of labels is written so ({shown}): "
        "correct it, such as %d.%m.%Y for 31.01.2024, or leave it out."
    )


def _style(style: Style, values: Column, signs: Signs) -> Style:
    """Write numbers as the input does; where it shows no decimal sign, as is usual between its
    separators."""
    usual = "," if signs.separator == ";" else "."
    decimal = signs.decimal or values.decimal or signs.seen or usual
    around = {"before": values.before, "after": values.after, "answers": values.answers}
    return replace(style, decimal=decimal, **around)
