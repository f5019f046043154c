"""A column of texts as labels: integers, numbers, dates, or texts without spaces around them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from vaecp.formats.text.dates import Dates, in_format, nearly_dates, read_dates
from vaecp.formats.text.written import decimal_sign, taken_apart

FEWEST_WITH_UNIT = 3
"""Fewer numbers may have the same unit by chance."""
LONGEST_INTEGER = len(str(-(2**63)))
"""Longer ones stay texts: 64 bits do not hold them, and Python does not read more than 4,300 digits."""
_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of texts read as labels.

    Attributes
    ----------
    values : one label per row; None where there is none.
    notes : what was decided, in sentences.
    """

    values: np.ndarray
    notes: tuple[str, ...] = ()


def read_labels(
    texts: np.ndarray,
    name: str,
    decimal: str | None = None,
    date_format: str | None = None,
) -> Labels:
    """Read a column of texts as labels.

    Spaces around a label are removed. Texts that are all numbers become numbers, except codes
    with leading zeros; those that are all dates become dates.

    Examples
    --------
    >>> read_labels(np.array([" Oslo", "Bonn", "Oslo"], dtype=object), "city").values
    array(['Oslo', 'Bonn', 'Oslo'], dtype=object)
    """
    codes, distinct = pd.factorize(texts, use_na_sentinel=False)
    clean = [tidied(text) if isinstance(text, str) else "" for text in distinct]
    notes = []
    changed = [row for row, text in enumerate(clean) if text and text != distinct[row]]
    if changed:
        notes.append(
            f"{name!r}: spaces around {len(changed)} label{'s' if len(changed) > 1 else ''} were "
            f"removed, such as {distinct[changed[0]]!r}."
        )
    filled = [text for text in clean if text]
    labels, note = typed(filled, name, decimal, date_format)
    found = np.full(len(clean), None, dtype=object)
    if len(filled) == len(clean):
        found = labels
    else:
        found[[bool(text) for text in clean]] = list(labels)
    return Labels(found[codes], (*notes, *([note] if note else [])))


def typed(
    texts: Sequence[str],
    name: str,
    decimal: str | None = None,
    date_format: str | None = None,
) -> tuple[np.ndarray, str | None]:
    """Return distinct tidy texts as integers, numbers or dates where all are, else as they are.

    Examples
    --------
    >>> typed(["10", "9"], "day")[0]
    array([10,  9])
    >>> typed(["007", "10"], "code")[0]
    array(['007', '10'], dtype=object)
    """
    numbers = _numbers(texts, decimal)
    if numbers is not None:
        # Only a format that is named tells a date such as 20240131 from a number.
        dates = in_format(texts, date_format) if date_format else None
        return (numbers, None) if dates is None else (_days(dates), None)
    dates = read_dates(texts, name, date_format)
    if dates is None:
        note = (
            (nearly_dates(texts, name) or _unit_note(texts, name)) if date_format is None else None
        )
        return np.array(texts, dtype=object), note
    return _days(dates), dates.note


def _days(dates: Dates) -> np.ndarray:
    days = np.array(dates.days, dtype="datetime64[us]")
    whole = all(day == day.replace(microsecond=0) for day in dates.days)
    return days.astype("datetime64[s]") if whole else days


def _unit_note(texts: Sequence[str], name: str) -> str | None:
    """Say that numbers with a unit are texts, which have no order."""
    numbers = [taken_apart(text) for text in texts]
    units = {number.after if number else "" for number in numbers}
    if len(texts) < FEWEST_WITH_UNIT or len(units) > 1 or "" in units:
        return None
    return (
        f"{name!r}: labels such as {texts[0]!r} stay text, without order or distance: write the "
        "numbers without their unit if these count."
    )


def tidied(text: str) -> str:
    """Return a text without spaces around it, its accents composed."""
    return unicodedata.normalize("NFC", text.strip())


def _numbers(texts: Sequence[str], decimal: str | None) -> np.ndarray | None:
    if (decimal_sign(texts) or decimal) == ",":
        texts = [_with_point(text) for text in texts]
    if texts and all(_INTEGER.fullmatch(text) for text in texts):
        if max(map(len, texts)) > LONGEST_INTEGER:
            return None
        whole = [int(text) for text in texts]
        return np.array(whole) if max(map(abs, whole)) < 2**63 else None
    if texts and all(_NUMBER.fullmatch(text) for text in texts):
        numbers = np.array([float(text) for text in texts])
        return numbers if np.isfinite(numbers).all() else None
    return None


def _with_point(text: str) -> str:
    """Write a number that has a decimal comma with a decimal point."""
    number = taken_apart(text)
    if number is None or number.before or number.after or (",", ".") not in number.pairs:
        return text
    return number.minus + number.digits.replace(".", "").replace(",", ".")
