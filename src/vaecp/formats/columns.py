"""Which columns of a table hold labels, and which hold values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import Request
from vaecp.formats.raw import RawTable
from vaecp.formats.text.dates import is_date
from vaecp.formats.text.labels import FEWEST_WITH_UNIT
from vaecp.formats.text.numbers import gaps_among
from vaecp.formats.text.sniffing import SEPARATORS
from vaecp.formats.text.units import without_units
from vaecp.formats.text.written import is_number, is_value, taken_apart

FIRST = "row"
"""What a first column of labels without a name is called."""

FEWEST_COUNTED = 4
"""Fewer rows may have the labels 1, 2, 3 by chance."""
MOSTLY = 0.5
"""From this share of values on, a column holds values, with a few remarks among them."""
MOST_NAMES = 20
"""How many columns a message names."""


@dataclass(frozen=True, eq=False)
class Columns:
    """What the columns of a table are.

    Attributes
    ----------
    frame : the table; every column but one that only counts the rows has a name.
    modes : the columns of labels.
    values : the column of values; where the table is wide, one for each label of `wide`.
    value_name : what the values are called.
    wide : the mode whose labels are the header, or None.
    notes : what was decided, in sentences.
    lower, upper : the columns of limits of unknown values, or None.
    header_labels : the labels of `wide`, without a unit that all of them have.
    """

    frame: pd.DataFrame
    modes: tuple[str, ...]
    values: tuple[str, ...]
    value_name: str
    wide: str | None = None
    notes: tuple[str, ...] = ()
    lower: str | None = None
    upper: str | None = None
    header_labels: tuple[str, ...] = ()


LIMITS = ("lower", "upper")


def choose_columns(raw: RawTable, request: Request) -> Columns:
    """Tell labels from values by what was asked for, else by place and contents."""
    frame, notes = _without_repeated_header(raw.frame, raw)
    frame, notes = without_units(frame, raw, notes)
    names = [str(name) for name in frame.columns if name != ""]
    if not names:
        raise FormatError("has no column with a name: name the columns in the first line.")
    asked = filter(None, [request.value, request.lower, request.upper])
    check_columns(names, (*(request.modes or ()), *asked), request)
    if request.wide is not None:
        if request.lower or request.upper:
            raise FormatError("lower and upper name columns of limits, which a wide table has not.")
        return _wide(frame, names, request, notes)
    _refuse_wide_layout(names, request)
    limits = _limit_columns(frame, names, request)
    names = [name for name in names if name not in limits.values()]
    if len(names) < 3:
        raise _too_few(names, request.value or names[-1], len(names) - 1, raw)
    value, units, more = _value_column(frame, names, raw, request)
    counting = _counting(frame, names, value) if request.modes is None and raw.text else []
    more += [f"{name!r} counts the rows: it is no mode." for name in counting]
    modes = request.modes or tuple(n for n in names if n not in (value, *units, *counting))
    repeated = [name for name in {*modes, value} if (*modes, value).count(name) > 1]
    if repeated:
        raise FormatError(
            f"column {repeated[0]!r} is asked for twice (modes {', '.join(modes)}; value "
            f"{value}): name each column once."
        )
    if len(modes) < 2:
        raise _too_few(names, value, len(modes), raw)
    if request.modes is None and raw.text:
        _refuse_remarks(frame, modes)
    ends = limits.get("lower"), limits.get("upper")
    return Columns(frame, modes, (value,), value, None, (*notes, *more), *ends)


def _limit_columns(frame: pd.DataFrame, names: Sequence[str], request: Request) -> dict[str, str]:
    """Return the columns of limits, those called lower and upper by default."""
    taken = (*(request.modes or ()), request.value)
    found = {}
    for which in LIMITS:
        asked = getattr(request, which)
        alike = [name for name in names if name.lower() == which and name not in taken]
        if asked or (alike and len(names) > 3):
            found[which] = asked or alike[0]
    return found


def check_columns(names: Sequence[str], wanted: Sequence[str], request: Request) -> None:
    """Refuse names that the table does not have, except that `value` names those of a wide one."""
    for name in wanted:
        if name not in names and not (request.wide and name == request.value):
            raise FormatError(f"has no column {name!r}: it has {named(names)}.")


def named(names: Sequence[str]) -> str:
    """Return names as they stand in a message."""
    shown = [repr(name if len(name) <= 40 else f"{name[:40]}...") for name in names[:MOST_NAMES]]
    return ", ".join(shown) + (" ..." if len(names) > MOST_NAMES else "")


def quantities(names: Sequence[str]) -> dict[str, str]:
    """Return the names that are numbers or dates, and so labels of a mode, and these labels.

    Numbers may have a unit, if several have the same one: "0 min", "10 min", "20 min".

    Examples
    --------
    >>> quantities(["Well", "0 min", "10 min", "20 min"])
    {'0 min': '0', '10 min': '10', '20 min': '20'}
    """
    found = {name: name for name in names if is_number(name) or is_date(name)}
    if found:
        return found
    units: dict[str, dict[str, str]] = {}
    for name in names:
        number = taken_apart(name)
        if number is not None and number.after and not number.before:
            units.setdefault(number.after, {})[name] = number.minus + number.digits
    most = max(units.values(), key=len, default={})
    return most if len(most) >= FEWEST_WITH_UNIT else {}


def _refuse_remarks(frame: pd.DataFrame, modes: Sequence[str]) -> None:
    """A column with empty cells holds remarks or values rather than labels."""
    others = [name for name in modes if not (frame[name].str.strip() == "").any()]
    empty = [name for name in modes if name not in others]
    if not empty or not others:
        return
    first, advice = empty[0], []
    if len(others) > 1:
        advice.append(f"name those that do (--modes {','.join(others)})")
    if _may_hold_values(frame[first]):
        advice.append(f"pass --value {first} if it holds the values")
        advice.append(f"pass --wide NAME --modes {others[0]} if several columns do")
    if not advice:
        return
    row = int((frame[first].str.strip() == "").to_numpy().argmax())
    raise FormatError(
        f"column {first!r} is empty in {frame.index.name} {frame.index[row]}, so it cannot hold the "
        f"labels of a mode: {', '.join(advice)}, or fill it in."
    )


def _too_few(names: Sequence[str], value: str, n_modes: int, raw: RawTable) -> FormatError:
    separated = SEPARATORS.get(raw.style.separator or "")
    return FormatError(
        f"has the column(s) {named(names)}, which leaves {n_modes} mode(s) beside the value "
        f"{value[:40]!r}: a tensor needs two or more"
        f"{f', separated by {separated}' if separated else ''}."
    )


def tidy_columns(raw: RawTable) -> RawTable:
    """Give the columns tidy names; one without a name may count the rows, or hold labels."""
    frame, notes = raw.frame, list(raw.notes)
    names = [str(name).strip() for name in frame.columns]
    kept = []
    for place, name in enumerate(names):
        cells = frame.iloc[:, place]
        if name or not raw.text:
            kept.append(place)
        elif (cells == "").all():
            continue
        elif _counts_rows(cells):
            notes.append(f"Column {place + 1} has no name and counts the rows: it is no mode.")
            kept.append(place)
        elif place == 0:
            notes.append(f"Column 1 has no name: it is called {FIRST!r}.")
            names[0] = FIRST
            kept.append(place)
        else:
            raise FormatError(f"column {place + 1} has no name: name it in the first line.")
    frame = frame.iloc[:, kept]
    frame.columns = pd.Index([names[place] for place in kept], dtype=object)
    _check_names([str(name) for name in frame.columns if name != ""])
    return replace(raw, frame=frame, notes=tuple(notes))


def _counting(frame: pd.DataFrame, names: Sequence[str], value: str) -> list[str]:
    """Return the first column if it numbers the rows from 1, and the others tell rows apart."""
    first, others = names[0], [name for name in names[1:] if name != value]
    if first == value or len(others) < 2 or len(frame) < FEWEST_COUNTED:
        return []
    counts = _counts_rows(frame[first], (1,)) and not frame.duplicated(others).any()
    return [first] if counts and all(frame[name].duplicated().any() for name in others) else []


def _counts_rows(cells: Any, starts: Sequence[int] = (0, 1)) -> bool:
    return any(
        cells.tolist() == [str(first + row) for row in range(len(cells))] for first in starts
    )


def _check_names(names: Sequence[str]) -> None:
    for column, name in enumerate(names):
        if name in names[:column]:
            raise FormatError(
                f"columns {names.index(name) + 1} and {column + 1} are both called {name!r}: give "
                "them different names."
            )


def _without_repeated_header(frame: Any, raw: RawTable) -> tuple[pd.DataFrame, list[str]]:
    """Leave out rows that repeat the names, as files have that were put one after another."""
    if not (raw.text and raw.header and len(frame.columns)):
        return frame, list(raw.notes)
    again = frame.iloc[:, -1].str.strip() == frame.columns[-1]
    if again.any():
        again &= (frame[again].apply(lambda cells: cells.str.strip()) == frame.columns).all(axis=1)
    if not again.any():
        return frame, list(raw.notes)
    line = f"{frame.index.name} {frame.index[again.to_numpy()][0]}"
    note = f"Left out {int(again.sum())} repeated header, first in {line}."
    return frame[~again], [*raw.notes, note]


def _refuse_wide_layout(names: Sequence[str], request: Request) -> None:
    """Two or more columns called by numbers or dates are labels of a mode, not modes themselves."""
    labels = list(quantities(names))
    if request.modes is None and len(labels) > 1:
        kind, mode = ("dates", "date") if is_date(labels[0]) else ("numbers", "wavelength")
        if not (is_date(labels[0]) or is_number(labels[0])):
            kind, mode = "numbers with a unit", "time"
        raise FormatError(
            f"the columns {', '.join(map(repr, labels[:3]))} ... are called by {kind}, as in one "
            f'row per sample and one column per {mode}: pass --wide {mode} (wide="{mode}") to read '
            "it so, or --modes to name the label columns."
        )


def _wide(frame: pd.DataFrame, names: Sequence[str], request: Request, notes: list[str]) -> Columns:
    """Take the header as labels of a mode."""
    name, value = str(request.wide), request.value or "value"
    labels = quantities([each for each in names if each not in (request.modes or ())])
    modes = request.modes or tuple(each for each in names if each not in labels)
    _refuse_late_labels(names, labels, request)
    header = tuple(labels) or tuple(each for each in names if each not in modes)
    if others := [each for each in names if each not in (*modes, *header)]:
        notes = [
            *notes,
            f"Left out the columns {named(others)}, whose names are no numbers or dates.",
        ]
    if not header or name in (*modes, value) or value in modes:
        raise FormatError(
            f"wide is {name!r}, but the columns {named(names)} leave "
            f"{len(modes)} for labels and {len(header)} for values: name the label columns with "
            f"modes, such as modes={names[0]!r} (--modes {names[0]}), and choose a name that none of them has."
        )
    if not modes:
        notes = [*notes, f"No column holds labels: the rows are numbered from 1, as {FIRST!r}."]
    shown = next((each for each in header if labels.get(each, each) != each), None)
    if shown is not None:
        notes = [*notes, f"{name!r}: the column {shown!r} is read as {labels[shown]}."]
    labelled = tuple(labels.get(each, each) for each in header)
    return Columns(frame, modes, header, value, name, tuple(notes), header_labels=labelled)


def _refuse_late_labels(names: Sequence[str], labels: dict[str, str], request: Request) -> None:
    """A column after those of values may hold labels, or sums, which a person has to say."""
    if request.modes is not None or not labels:
        return
    first = names.index(next(iter(labels)))
    late = [name for name in names[first:] if name not in labels]
    if late:
        raise FormatError(
            f"the column {late[0]!r} stands after columns of values, and may hold labels or sums: "
            f"name the label columns (--modes {','.join(names[:first]) or late[0]}), and others are "
            "left out."
        )


def _value_column(
    frame: pd.DataFrame, names: Sequence[str], raw: RawTable, request: Request
) -> tuple[str, list[str], list[str]]:
    """Return the column of values, columns of units beside it, and notes."""
    last = names[-1]
    if request.value or not raw.text or _share_of_values(frame[last], request):
        return request.value or last, [], []
    texts = frame[last].str.strip()
    others = [
        name
        for name in names[:-1]
        if name not in (request.modes or ()) and _share_of_values(frame[name], request) >= MOSTLY
    ]
    if others and others[-1] == names[-2] and texts.nunique() == 1:
        note = f"{last!r} holds {texts.iloc[0]!r} in every row, so {others[-1]!r} holds the values."
        return others[-1], [last], [note]
    row = int((texts != "").to_numpy().argmax())
    place = f"{frame.index.name} {frame.index[row]}"
    advice = f", such as --value {others[-1]}" if others else ""
    raise FormatError(
        f"the last column {last!r} has {texts.iloc[row]!r} in {place}, but values must be numbers: "
        f"name the column of values with --value{advice}; write classes as numbers in their order, "
        "such as 1, 2, 3."
    )


def _may_hold_values(cells: Any) -> bool:
    """Whether a column with gaps is empty, or what is there may be values: numbers, yes and no."""
    texts = [str(text).strip() for text in cells.unique()]
    return not any(texts) or _share_of_values(cells, Request()) >= MOSTLY


def _share_of_values(cells: Any, request: Request) -> float:
    """Return how many of the texts of a column that are no gaps are values or limits."""
    texts = [str(text).strip() for text in cells.unique()]
    gaps = gaps_among(texts, request.missing)
    known = [text for text, gap in zip(texts, gaps, strict=True) if not gap]
    if not known:
        return 1.0
    return sum(is_value(text) or text.startswith(("<", ">")) for text in known) / len(known)
