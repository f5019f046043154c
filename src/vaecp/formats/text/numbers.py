"""A column of texts as numbers; what a point or a comma means is decided by the whole column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.text.written import BOOLEANS, GAPS, PAIRS, Pair, WrittenNumber, taken_apart

Place = Callable[[int], str]
_LIMIT = re.compile(r"(?P<sign>[<>≤≥]=?)\s*(?P<number>[^\s<>≤≥=].*)")


@dataclass(frozen=True)
class Signs:
    """What is known of how the numbers of a file are written.

    Attributes
    ----------
    decimal, thousands : as a person named them, or None.
    separator : of the columns, which tells which decimal sign to expect.
    seen : the decimal sign that another column of the file shows beyond doubt.
    """

    decimal: str | None = None
    thousands: str | None = None
    separator: str = ","
    seen: str | None = None

    def allowed(self) -> set[Pair]:
        """Return the pairs that do not contradict what a person said."""
        found = set(PAIRS)
        if self.decimal is not None:
            found = {pair for pair in found if pair[0] == self.decimal}
        if self.thousands is not None:
            group = self.thousands if self.thousands in (".", ",") else ""
            found = {pair for pair in found if pair[1] == group}
        return found

    def expected(self, used: set[str]) -> str | None:
        """Return the decimal sign where the numbers alone do not tell, or None to ask.

        Between commas a decimal comma is rare. Semicolons are used where the comma is the decimal
        sign, so that a comma is one there, and a point may group thousands.
        """
        if self.seen or self.separator == ",":
            return self.seen or "."
        usual = "," if self.separator == ";" else "."
        return usual if used == {usual} else None


@dataclass(frozen=True, eq=False)
class Column:
    """A column of texts read as numbers.

    Attributes
    ----------
    values : NaN where the text is a gap.
    decimal : the decimal sign; None where no number shows one.
    before, after : what every number had around it, such as EUR or %.
    answers : what no and yes are written as; None where numbers are, or only one of them.
    notes : what was decided, in sentences.
    lower, upper : of values that are written as limits (>1000, <0.5), NaN elsewhere; None where
        there are none.
    """

    values: np.ndarray
    decimal: str | None = None
    before: str = ""
    after: str = ""
    notes: tuple[str, ...] = ()
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    answers: tuple[str, str] | None = None


def read_numbers(
    texts: np.ndarray,
    name: str,
    place: Place,
    signs: Signs | None = None,
    missing: Iterable[str] = (),
) -> Column:
    """Read a column of texts, or say which line is no number, or which two contradict each other.

    Parameters
    ----------
    texts : one text per row.
    name : of the column, for errors.
    place : says where a row is found.
    signs : what is known of how the file writes numbers.
    missing : texts or numbers that stand for an unknown value, beside an empty cell, NA and such.

    Examples
    --------
    >>> column = read_numbers(np.array(["1.234", "2,5", ""], dtype=object), "y", str)
    >>> column.values.tolist(), column.decimal
    ([1234.0, 2.5, nan], ',')
    """
    codes, distinct = pd.factorize(texts, use_na_sentinel=False)
    stripped = [text.strip() if isinstance(text, str) else "" for text in distinct]
    known = np.flatnonzero(~gaps_among(stripped, missing))
    values = np.full(len(distinct), np.nan)

    def where(position: int) -> str:
        """Name the first line that has this distinct text."""
        return place(int(np.argmax(codes == known[position])))

    limits = [_LIMIT.fullmatch(stripped[row]) for row in known]
    bare = [
        limit["number"] if limit else stripped[row]
        for row, limit in zip(known, limits, strict=True)
    ]
    column = _read(bare, name, where, signs or Signs())
    values[known] = column.values
    values[np.isin(values, sentinels(missing))] = np.nan
    sides = np.zeros(len(distinct))
    sides[known] = [
        0 if limit is None else 1 if limit["sign"][0] in ">≥" else -1 for limit in limits
    ]
    return _with_limits(replace(column, values=values[codes]), sides[codes])


def _with_limits(column: Column, sides: np.ndarray) -> Column:
    """Take what is above (1) or below (-1) a number for limits of unknown values."""
    if not sides.any():
        return column
    values = column.values
    return replace(
        column,
        values=np.where(sides == 0, values, np.nan),
        lower=np.where(sides > 0, values, np.nan),
        upper=np.where(sides < 0, values, np.nan),
    )


def gaps_among(stripped: Sequence[str], missing: Iterable[str] = ()) -> np.ndarray:
    """Tell which texts stand for an unknown value."""
    named = {text.strip() for text in missing}
    return np.array([text.lower() in GAPS or text in named for text in stripped], dtype=bool)


def sentinels(missing: Iterable[str]) -> list[float]:
    """Return the numbers among texts that stand for an unknown value."""
    found = []
    for text in missing:
        try:
            found.append(float(text))
        except ValueError:
            continue
    return [number for number in found if not np.isnan(number)]


def _read(texts: list[str], name: str, where: Place, signs: Signs) -> Column:
    """Read distinct texts, none of them a gap."""
    column = _plain(texts, name, signs)
    if column is not None:
        return column
    if any(text.lower() in BOOLEANS for text in texts):
        return _answers(texts, name, where)
    numbers = []
    for position, text in enumerate(texts):
        number = taken_apart(text)
        if number is None:
            raise _no_number(text, name, where(position))
        numbers.append(number)
    _check_units(numbers, name, where)
    pair = _pair(numbers, name, where, signs)
    values = np.array([number.value(pair) for number in numbers])
    shown = pair[0] if any(number.signs for number in numbers) else None
    notes = _notes(numbers, name, pair)
    return Column(values, shown, numbers[0].before, numbers[0].after, notes)


def _answers(texts: list[str], name: str, where: Place) -> Column:
    """Read yes and no, TRUE and FALSE as 1 and 0."""
    known = [text.lower() in BOOLEANS for text in texts]
    if not all(known):
        answer, other = known.index(True), known.index(False)
        raise FormatError(
            f"column {name!r} has {texts[answer]!r} in {where(answer)} and {texts[other]!r} in "
            f"{where(other)}: write all values as yes or no, or all as numbers; if "
            f"{texts[other]!r} means unknown, pass --missing '{texts[other]}' "
            f"(missing=[{texts[other]!r}])."
        )
    values = np.array([BOOLEANS[text.lower()] for text in texts])
    shown = dict(zip(values, texts, strict=True))
    read = ", and ".join(f"{text} is read as {value:.0f}" for value, text in sorted(shown.items()))
    both = (shown[0.0], shown[1.0]) if len(shown) == 2 else None
    return Column(values, notes=(f"{name!r}: {read}.",), answers=both)


def _plain(texts: list[str], name: str, signs: Signs) -> Column | None:
    """Read bare numbers with one decimal sign at once; None where they may be others."""
    used = {sign for sign in ".," if any(sign in text for text in texts)}
    if signs.thousands is not None or len(used) > 1:
        return None
    decimal = next(iter(used), ".")
    if used and decimal != (signs.decimal or decimal):
        return None
    grouped = PAIRS["," if decimal == "." else ".", decimal]
    doubtful = signs.decimal is None and all(
        grouped.fullmatch(text.lstrip("+-")) for text in texts if decimal in text
    )
    if used and doubtful and signs.expected(used) != decimal:
        return None
    try:
        values = np.array([text.replace(",", ".") for text in texts], dtype=object).astype(float)
    except ValueError:
        return None
    shown = next((text for text in texts if "," in text), None)
    notes = () if shown is None else (_as_read(name, shown, values[texts.index(shown)]),)
    return Column(values, decimal if used else None, notes=notes)


def _check_units(numbers: list[WrittenNumber], name: str, where: Place) -> None:
    first = numbers[0]
    for position, number in enumerate(numbers):
        if (number.before, number.after) != (first.before, first.after):
            raise FormatError(
                f"column {name!r} has {first.text!r} in {where(0)} and {number.text!r} in "
                f"{where(position)}: write all values in one unit, and in the same way."
            )


def _pair(numbers: list[WrittenNumber], name: str, where: Place, signs: Signs) -> Pair:
    """Choose the signs that read every number, or ask."""
    admitted = signs.allowed()
    for position, number in enumerate(numbers):
        if not admitted & number.pairs:
            raise _contradiction(numbers[: position + 1], name, where, signs)
        admitted &= number.pairs
    used = set().union(*(number.signs for number in numbers))
    if used and len({decimal for decimal, _ in admitted}) > 1:
        expected = signs.expected(used)
        admitted = {pair for pair in admitted if pair[0] == expected}
        if not admitted:
            position = next(i for i, number in enumerate(numbers) if number.signs)
            raise FormatError(
                f"column {name!r} has {numbers[position].text!r} in {where(position)}, which may "
                "have decimals or thousands: pass --decimal . or --decimal , "
                '(decimal="." or decimal=",").'
            )
    return min(admitted)  # the one without grouping, where that reads them all


def _contradiction(
    numbers: list[WrittenNumber], name: str, where: Place, signs: Signs
) -> FormatError:
    """Say why the last number cannot be read like those before it."""
    last, position = numbers[-1], len(numbers) - 1
    here = f"{last.text!r} in {where(position)}"
    if not last.pairs & signs.allowed():
        return FormatError(
            f"column {name!r} has {here}, which is no number with the decimal sign "
            f"{signs.decimal or '. or ,'} and {signs.thousands or 'nothing'} between thousands: "
            "correct --decimal and --thousands, or leave them out."
        )
    other = next((i for i, number in enumerate(numbers) if not number.pairs & last.pairs), 0)
    return FormatError(
        f"column {name!r} has {numbers[other].text!r} in {where(other)} and {here}, which have "
        "different decimal signs: write all values in the same way."
    )


def _no_number(text: str, name: str, place: str) -> FormatError:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    return FormatError(
        f"column {name!r} has {shown!r} in {place}: values must be numbers, and empty where "
        f"unknown; if it means unknown, pass --missing '{shown}' (missing=[{shown!r}]); if it means "
        "too large or too small, write the limit, such as >1000."
    )


def _notes(numbers: list[WrittenNumber], name: str, pair: Pair) -> tuple[str, ...]:
    """Say what is not obvious: a unit that was left out, a decimal comma, grouped thousands."""
    decimal, group = pair
    first, found = numbers[0], []
    if mark := first.before or first.after:
        found.append(
            f"{name!r}: {mark} is not part of the numbers, {first.text} is read as "
            f"{first.value(pair):.15g}."
        )
    shown = next((n for n in numbers if group and group in n.digits), None)
    shown = shown or next((n for n in numbers if decimal == "," and "," in n.digits), None)
    if shown is not None:
        found.append(_as_read(name, shown.text, shown.value(pair)))
    return tuple(found)


def _as_read(name: str, text: str, value: float) -> str:
    return f"{name!r}: {text} is read as {value:.15g}."
