"""Numbers as people write them: 12.4, 12,4, 1.234,5, 1 234.5, 45 %, EUR 93.21.

A number admits some pairs of a decimal sign and a sign that groups thousands: 1.234 may be read
in two ways, 2,5 in one. Only the standard library is used here, so that the shell's completion
answers at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

GAPS = frozenset({"", "na", "n/a", "#n/a", "#na", "<na>", "nan", "null", "none"})
"""What an unknown value is written as, in lower case."""
YES = ("true", "yes", "y", "ja", "wahr", "oui", "vrai", "sí", "si", "verdadero", "sim")
NO = ("false", "no", "n", "nein", "falsch", "non", "faux", "falso", "não", "nee", "nej")
BOOLEANS: dict[str, float] = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
"""Answers, in lower case, and the numbers that they are read as."""

Pair = tuple[str, str]
PAIRS: dict[Pair, re.Pattern[str]] = {
    (".", ""): re.compile(r"\d+(\.\d*)?|\.\d+"),
    (".", ","): re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?|\d+(\.\d*)?|\.\d+"),
    (",", ""): re.compile(r"\d+(,\d*)?|,\d+"),
    (",", "."): re.compile(r"[1-9]\d{0,2}(\.\d{3})+(,\d*)?|\d+(,\d*)?|,\d+"),
}
"""Decimal sign and sign between thousands, and the numbers that can be written with them."""

_PARTS = re.compile(
    r"(?P<sign>[+\-\u2212]?)\s*(?P<before>[$€£¥₹₽₩₺₪฿₫₴₦]|[A-Z]{3}\s)?\s*(?P<minus>[+\-\u2212]?)"
    r"(?P<digits>\d[\d.,'\u2019 \u00a0\u202f]*|[.,]\d+)(?P<power>[eE][+-]?\d+)?"
    r"\s*(?P<after>[^\d\s.,:;/+\-\u2212'\u2019][^\d]*)?"
)
_SPACES = re.compile(r"[ \u00a0\u202f'\u2019]")
_SPACED = re.compile(r"\d{1,3}([ \u00a0\u202f'\u2019]\d{3})+([.,]\d*)?")
_INFINITE = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class WrittenNumber:
    """A text that is a number, taken apart.

    Attributes
    ----------
    text : as it was written.
    digits : without sign, unit and spaces.
    minus : "-" or "".
    before, after : a currency or a unit.
    pairs : the decimal and grouping signs with which it can be read.
    """

    text: str
    digits: str
    minus: str
    before: str
    after: str
    pairs: frozenset[Pair]

    @property
    def signs(self) -> set[str]:
        """The points and commas in it."""
        return set(self.digits) & {".", ","}

    def value(self, pair: Pair) -> float:
        """Read it with these signs."""
        decimal, group = pair
        digits = self.digits.replace(group, "") if group else self.digits
        return float(self.minus + digits.replace(decimal, "."))


def taken_apart(text: str) -> WrittenNumber | None:
    """Return the parts of a number, None where the text is none.

    Examples
    --------
    >>> sorted(taken_apart("1.234").pairs)
    [(',', '.'), ('.', ''), ('.', ',')]
    >>> taken_apart("EUR -1.234,50").value((",", "."))
    -1234.5
    """
    text = text.strip()
    if found := _INFINITE.fullmatch(text):
        return WrittenNumber(text, "inf", found[1].strip("+"), "", "", frozenset(PAIRS))
    found = _PARTS.fullmatch(text)
    if found is None or (found["sign"] and found["minus"]):
        return None
    digits = found["digits"].strip()
    if _SPACED.fullmatch(digits):
        digits = _SPACES.sub("", digits)
    pairs = frozenset(pair for pair, pattern in PAIRS.items() if pattern.fullmatch(digits))
    if not pairs:
        return None
    minus = "-" if (found["sign"] or found["minus"]) in ("-", "\N{MINUS SIGN}") else ""
    before, after = ((found[part] or "").strip() for part in ("before", "after"))
    return WrittenNumber(text, digits + (found["power"] or ""), minus, before, after, pairs)


def decimal_sign(texts: Iterable[str]) -> str | None:
    """Return the decimal sign that texts show beyond doubt; None where they show none.

    Examples
    --------
    >>> decimal_sign(["1.234", "2,5"]), decimal_sign(["1.234", "7"])
    (',', None)
    """
    admitted = set(PAIRS)
    for text in texts:
        number = taken_apart(text) if "." in text or "," in text else None
        if number is not None:
            admitted &= number.pairs
        found = {decimal for decimal, _ in admitted}
        if len(found) < 2:
            return next(iter(found), None)
    return None


def is_number(text: str) -> bool:
    """Whether a text is a bare number, without a unit."""
    number = taken_apart(text)
    return number is not None and not (number.before or number.after)


def is_value(text: str) -> bool:
    """Whether a text is a measured value."""
    return text.strip().lower() in BOOLEANS or taken_apart(text) is not None


def is_no_name(text: str) -> bool:
    """Whether a text is a value that no column is called by: y is an answer, and a name too."""
    return is_value(text) and text.strip().lower() not in ("y", "n")
