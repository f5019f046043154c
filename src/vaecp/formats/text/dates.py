"""Texts that are dates or times; the order of day and month is decided by the whole column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from vaecp.errors import FormatError

TEXT = "text"
"""As a date format: dates stay the texts that they are."""
_TIME = r"(?:[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?"
_ISO = re.compile(rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}{_TIME}\s*(?:Z|[+-]\d{{2}}:?\d{{2}})?")
_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d)?( ?[AaPp][Mm])?")
_WEEK = re.compile(r"\d{4}-?W(0[1-9]|[1-4]\d|5[0-3])")
_YEAR = re.compile(r"(?<!\d)(19|20)\d\d(?!\d)")
_QUARTER = re.compile(r"\d{4}[ -]?Q[1-4]|Q[1-4][ /-]?\d{4}")
_DAY_OR_MONTH = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_TIME}")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_NAMED = ("%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%b %Y", "%B %Y")
FEWEST = 3
"""Fewer labels that look like dates may do so by chance."""
_LETTERS = re.compile(r"(\d{1,2}[ .-]+)?[A-Za-z]{3,9}[ .,-]+(\d{1,2}[ .,-]+)?\d{4}")


@dataclass(frozen=True)
class Dates:
    """Dates without a time zone, and what was decided on the way."""

    days: list[datetime]
    note: str | None = None


def read_dates(texts: Sequence[str], name: str, date_format: str | None = None) -> Dates | None:
    """Return distinct texts as dates where all of them are, else None.

    Examples
    --------
    >>> read_dates(["31.01.2024", "1.2.2024"], "day").days[1]
    datetime.datetime(2024, 2, 1, 0, 0)
    """
    if not texts or date_format == TEXT:
        return None
    if date_format is not None:
        return _named_format(texts, name, date_format)
    if all(_ISO.fullmatch(text) for text in texts):
        return _iso(texts)
    if all(_MONTH.fullmatch(text) for text in texts):
        return Dates([datetime.strptime(text, "%Y-%m") for text in texts])
    if all(_CLOCK.fullmatch(text) for text in texts):
        return _clock(texts, name)
    if all(_WEEK.fullmatch(text) for text in texts):
        return _weeks(texts, name)
    if all(_month_of(text) for text in texts):
        return _months(texts, name)
    if all(_QUARTER.fullmatch(text) for text in texts):
        return _quarters(texts, name)
    if all(_DAY_OR_MONTH.fullmatch(text) for text in texts):
        return _ordered(texts, name)
    if all(_LETTERS.fullmatch(text) for text in texts):
        return _named(texts)
    return None


def nearly_dates(texts: Sequence[str], name: str) -> str | None:
    """Say which label keeps a column from being dates, where at least half of the others are."""
    alone = [text for text in texts if is_date(text)]
    if len(alone) < max(FEWEST, 0.5 * len(texts)):
        return _with_years(texts, name)
    odd = next((text for text in texts if not _is_possible(text)), None)
    reason = "and the dates are not written alike" if odd is None else f"but {odd!r} is no date"
    return (
        f"{name!r}: {len(alone)} of {len(texts)} labels look like dates, {reason}: all stay text, "
        "without order or distance. Correct that, or pass --date-format text if it is meant."
    )


def _with_years(texts: Sequence[str], name: str) -> str | None:
    """Say that labels with a year in them are texts, if they may be dates of another language."""
    if len(texts) < FEWEST or not all(_YEAR.search(text) for text in texts):
        return None
    return (
        f"{name!r}: labels such as {texts[0]!r} have a year in them, and stay text, without order "
        "or distance: if they are dates, write them as 2024-01-31, or pass --date-format."
    )


def _is_possible(text: str) -> bool:
    """Whether a text is a date of the calendar, however day and month are ordered."""
    try:
        return read_dates([text], "") is not None
    except FormatError:
        return True


def is_date(text: str) -> bool:
    """Whether a text looks like a date."""
    text = text.strip()
    patterns = (_ISO, _MONTH, _WEEK, _CLOCK, _QUARTER, _DAY_OR_MONTH, _LETTERS)
    return bool(_month_of(text)) or any(pattern.fullmatch(text) for pattern in patterns)


def _named_format(texts: Sequence[str], name: str, date_format: str) -> Dates | None:
    """Read a column in the format that a person named, None where it holds no dates at all."""
    dates = in_format(texts, date_format)
    if dates is None and all(_ISO.fullmatch(text) for text in texts):
        dates = _iso(texts)  # another column, which cannot be mistaken
    if dates is not None:
        return dates
    others = [text for text in texts if in_format([text], date_format) is None]
    if len(others) < len(texts) or all(map(is_date, texts)):
        raise FormatError(
            f"column {name!r} has {others[0]!r}, which does not have the format {date_format}: "
            "correct the date, or --date-format (31.01.2024 has %d.%m.%Y); --date-format "
            f"{TEXT} keeps the texts."
        )
    return None


def in_format(texts: Sequence[str], date_format: str) -> Dates | None:
    """Return texts as dates where all are of a format, else None."""
    try:
        return Dates([_naive(datetime.strptime(text, date_format)) for text in texts])
    except (ValueError, re.error):  # a directive that stands twice is an error of `re`
        return None


def _iso(texts: Sequence[str]) -> Dates | None:
    days, zones = [], False
    for text in texts:
        try:
            day = datetime.fromisoformat(text)
        except ValueError:
            try:
                day = datetime.fromisoformat(_strict(text))
            except ValueError:
                return None
        zones |= day.tzinfo is not None
        days.append(_naive(day))
    return Dates(days, "Times with a time zone were converted to UTC." if zones else None)


def _clock(texts: Sequence[str], name: str) -> Dates | None:
    """Read times of day, as moments of one day."""
    plain = [text.replace(" ", "") for text in texts]
    forms = ("%H:%M", "%H:%M:%S", "%I:%M%p", "%I:%M:%S%p")
    dates = next((found for each in forms if (found := in_format(plain, each))), None)
    return dates and Dates(dates.days, f"{name!r}: {texts[0]} is read as a time of day.")


def _weeks(texts: Sequence[str], name: str) -> Dates | None:
    """Read ISO weeks as their Mondays."""
    dates = in_format([f"{text.replace('-', '')}1" for text in texts], "%GW%V%u")
    note = f"{name!r}: {texts[0]} is read as a week of the year."
    return dates and Dates(dates.days, note)


def _months(texts: Sequence[str], name: str) -> Dates:
    """Read names of months, as first days of them in one year."""
    days = [datetime(1900, _month_of(text), 1) for text in texts]
    return Dates(days, f"{name!r}: {texts[0]} is read as a month of the year.")


def _month_of(text: str) -> int:
    """Return which month an English name is, from 1; 0 for another text."""
    plain = text.strip(" .").lower()
    return next((n for n, month in enumerate(_MONTHS, 1) if plain in (month, month[:3])), 0)


def _quarters(texts: Sequence[str], name: str) -> Dates:
    """Read quarters of a year as their first days."""
    parts = [sorted(re.findall(r"\d+", text), key=len) for text in texts]
    days = [datetime(int(year), 3 * int(quarter) - 2, 1) for quarter, year in parts]
    return Dates(days, f"{name!r}: {texts[0]} is read as {days[0]:%B %Y}.")


def _strict(text: str) -> str:
    """Return a date with dashes, and with two digits for the month, the day and the hour."""
    found = re.match(r"(\d{4})\D(\d{1,2})\D(\d{1,2})[T ]?\s*(?:(\d{1,2}):)?", text)
    if found is None:
        return text
    date = f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}"
    hour = f"T{int(found[4]):02}:" if found[4] else ""
    return date + hour + text[found.end() :].replace(" ", "")


def _naive(day: datetime) -> datetime:
    return day if day.tzinfo is None else day.astimezone(UTC).replace(tzinfo=None)


def _ordered(texts: Sequence[str], name: str) -> Dates | None:
    """Read day.month.year or month/day/year, whichever the column admits."""
    found = [_DAY_OR_MONTH.fullmatch(text) for text in texts]
    first = [int(match[1]) for match in found if match]
    second = [int(match[3]) for match in found if match]
    signs = {match[2] for match in found if match}
    years = {len(match[4]) for match in found if match}
    if len(signs) > 1 or len(years) > 1:
        return None
    sign, year = signs.pop(), "%Y" if years == {4} else "%y"
    day_first, month_first = max(second) <= 12, max(first) <= 12
    if not (day_first or month_first):
        place = [first.index(max(first)), second.index(max(second))]
        raise FormatError(
            f"column {name!r} has the dates {texts[place[0]]!r} and {texts[place[1]]!r}: the month "
            "is not in the same place in both, so write them alike, such as 2024-01-31."
        )
    formats = {f"%d{sign}%m{sign}{year}": day_first, f"%m{sign}%d{sign}{year}": month_first}
    admitted = [each for each, fits in formats.items() if fits]
    if sign != "." and (len(admitted) > 1 or year == "%y"):
        raise FormatError(
            f"column {name!r} has the date {texts[0]!r}, which can be read in several ways: pass "
            f"--date-format %d{sign}%m{sign}{year} if the day comes first, --date-format "
            f"%m{sign}%d{sign}{year} if the month does, or --date-format {TEXT} to keep the texts."
        )
    return _with_times(texts, admitted[0], name)


def _with_times(texts: Sequence[str], date_format: str, name: str) -> Dates | None:
    for time in ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f"):
        dates = in_format([re.sub(r"[T ]\s*", " ", text) for text in texts], date_format + time)
        if dates is not None:
            shown = dates.days[0]
            return Dates(dates.days, f"{name!r}: {texts[0]} is read as {shown.day} {shown:%B %Y}.")
    return None


def _named(texts: Sequence[str]) -> Dates | None:
    """Read months that are written in English letters."""
    plain = [re.sub(r"[ .,-]+", " ", text) for text in texts]
    return next((dates for each in _NAMED if (dates := in_format(plain, each))), None)
