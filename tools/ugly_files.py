"""Make the small ugly files that the tests read: one table as many programs and people write it.

    python tools/ugly_files.py          write them to tests/formats/ugly/

Every file that does not say otherwise in `tests/formats/test_ugly.py` holds the four entries of
`ROWS`, one of them without a value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "formats" / "ugly"
NAMES = ("city", "day", "price")
ROWS = (
    ("Zürich", "2024-01-31", "1234.5"),
    ("Zürich", "2024-02-01", ""),
    ("Bonn", "2024-01-31", "2.5"),
    ("Bonn", "2024-02-01", "93.25"),
)


def text(
    rows: Sequence[Sequence[str]] = ROWS,
    names: Sequence[str] | None = NAMES,
    separator: str = ",",
    end: str = "\n",
) -> str:
    """Return rows under names as lines of text."""
    lines = [separator.join(row) for row in ((names, *rows) if names else rows)]
    return end.join(lines) + end


def with_values(*values: str) -> list[tuple[str, str, str]]:
    """Return the rows with their values written otherwise."""
    return [(city, day, value) for (city, day, _), value in zip(ROWS, values, strict=True)]


def with_days(*days: str) -> list[tuple[str, str, str]]:
    """Return the rows with the two days written otherwise."""
    known = {"2024-01-31": days[0], "2024-02-01": days[1]}
    return [(city, known[day], value) for city, day, value in ROWS]


def readable() -> dict[str, str | bytes]:
    """Return files that are read without an option."""
    return written_otherwise() | with_other_values() | with_other_days() | with_more_around()


def written_otherwise() -> dict[str, str | bytes]:
    """Return files with other signs, other encodings or other ends of lines."""
    plain, european = text(), with_values("1.234,5", "", "2,5", "93,25")
    decomposed = unicodedata.normalize("NFD", "Zürich")
    return {
        "plain": plain,
        "semicolons": text(european, separator=";"),
        "tabs": text(separator="\t"),
        "tabs-decimal-commas": text(european, separator="\t"),
        "bars": text(separator="|"),
        "spaces-between-thousands": text(with_values("1 234,5", "", "2,5", "93,25"), NAMES, ";"),
        "quoted-thousands": text(with_values('"1,234.5"', "", "2.5", "93.25")),
        "latin-1": plain.encode("latin-1"),
        "utf-16": plain.encode("utf-16"),
        "utf-16-without-mark": plain.encode("utf-16-le"),
        "utf-8-with-mark": plain.encode("utf-8-sig"),
        "windows-lines": text(end="\r\n"),
        "blank-lines": plain.replace("Bonn,2024-01-31", "\nBonn,2024-01-31") + "\n\n",
        "padded-labels": plain.replace("Zürich,2024-02-01", "  Zürich ,2024-02-01"),
        "decomposed-accents": plain.replace("Zürich,2024-02-01", f"{decomposed},2024-02-01"),
        "trailing-separators": text([(*row, "") for row in ROWS]),
    }


def with_other_values() -> dict[str, str | bytes]:
    """Return files whose values have units, words, signs or limits."""
    return {
        "percent": text(with_values("1234.5 %", "", "2.5 %", "93.25 %")),
        "yes-and-no": text(with_values("yes", "", "No", "YES")),
        "ja-und-nein": text(with_values("ja", "", "nein", "ja"), separator=";"),
        "y-and-n": text(with_values("Y", "", "N", "y")),
        "currency": text(with_values("EUR 1234.50", "", "EUR 2.50", "EUR 93.25")),
        "unit-column": text([(*row, "mg/L") for row in ROWS], (*NAMES, "unit")),
        "not-available": text(with_values("1234.5", "#N/A", "2.5", "93.25")),
        "limits": text(with_values("1234.5", "<0.5", "2.5", "93.25")),
        "limit-columns": text(
            [(*row, *end) for row, end in zip(ROWS, LIMITS, strict=True)],
            (*NAMES, "lower", "upper"),
        ),
        "unicode-minus": text(with_values("1234.5", "", "2.5", "93.25")).replace(
            "93.25", "\N{MINUS SIGN}93.25"
        ),
    }


def with_other_days() -> dict[str, str | bytes]:
    """Return files whose days are written as other people write them."""
    return {
        "dotted-dates": text(with_days("31.01.2024", "1.2.2024")),
        "slashed-dates": text(with_days("31/01/2024", "01/02/2024")),
        "american-dates": text(with_days("1/31/2024", "2/1/2024")),
        "named-months": text(with_days("31 Jan 2024", "01 Feb 2024")),
        "times": text(with_days("2024-01-31 00:00", "2024-02-01T00:00:00")),
        "time-zone": text(with_days("2024-01-31T02:00+02:00", "2024-02-01T02:00+02:00")),
    }


def with_more_around() -> dict[str, str | bytes]:
    """Return files with lines or columns around the table that are no part of it."""
    plain = text()
    counted = [(str(row), *cells) for row, cells in enumerate(ROWS)]
    named = [(f'"{row + 1}"', *cells) for row, cells in enumerate(ROWS)]
    return {
        "no-header": text(names=None),
        "comments": "# made by hand\n# in 2024\n" + plain,
        "names-in-a-comment": "# " + plain,
        "preamble": "Instrument: X-1\nOperator, Date: Ann, 2024\n\n" + plain,
        "padded-preamble": "Prices of 2024,,\nAll of them,,\n" + plain,
        "remarks-below": plain + "\nSource: city hall, 2024\nPrices may change\n",
        "counted-rows": text(
            [(str(row + 1), *cells) for row, cells in enumerate(ROWS)], ("No", *NAMES)
        ),
        "index-column": text(counted, ("", *NAMES)),
        "row-names": text(named),
        "repeated-header": text([*ROWS[:2], NAMES, *ROWS[2:]]),
        "units-row": text([("", "", "EUR"), *ROWS]),
    }


LIMITS = (("", ""), ("", "0.5"), ("", ""), ("", ""))


def refused() -> dict[str, str | bytes]:
    """Return files that need an option, or a correction."""
    wide = [("Zürich", "1234.5", ""), ("Bonn", "2.5", "93.25")]
    return {
        "mixed-decimals": text(with_values("1234.5", "", "2,5", "93.25"), separator=";"),
        "thousands-or-decimals": text(with_values("1.234", "", "2.500", "93.250"), separator=";"),
        "mixed-units": text(with_values("EUR 1", "", "USD 2", "EUR 3")),
        "day-or-month": text(with_days("02/01/2024", "03/01/2024")),
        "two-orders": text(with_days("31/01/2024", "02/13/2024")),
        "yes-and-numbers": text(with_values("yes", "", "no", "0.5")),
        "answers-and-doubt": text(with_values("yes", "", "no", "?")),
        "dash": text(with_values("1234.5", "-", "2.5", "93.25")),
        "remark-last": text([(*r, n) for r, n in zip(ROWS, "abca", strict=True)], (*NAMES, "note")),
        "some-remarks": text(
            [(*r, n) for r, n in zip(ROWS, ("ok", "", "ok", ""), strict=True)], (*NAMES, "note")
        ),
        "remarks-between": text(
            [(c, n, d, v) for (c, d, v), n in zip(ROWS, ("ok", "", "ok", ""), strict=True)],
            ("city", "note", "day", "price"),
        ),
        "unit-and-remark": text(
            [(*row, "mg/L") for row in with_values("1234.5", "n.d.", "2.5", "<93")],
            (*NAMES, "unit"),
        ),
        "wide-dates": text(wide, ("city", "2024-01-31", "2024-02-01")),
        "values-first": text([(v, c, d[5:7]) for c, d, v in ROWS], ("price", "city", "day")),
        "wide-months": text(wide, ("city", "Jan", "Feb")),
        "wide-sums": text(
            [(*row, "9") for row in wide], ("city", "2024-01-31", "2024-02-01", "Total")
        ),
        "sum-below": text([*ROWS, ("Sum", "", "1330.25")]),
        "wide-units": text([(*row, "7") for row in wide], ("city", "250 nm", "260 nm", "270 nm")),
        "wide-numbers": text(wide, ("city", "250", "260")),
        "matrix": "1234.5,0.5,7\n2.5,93.25,6\n",
        "names-or-data": text([("a", "x", "1"), ("b", "y", "2")], ("country", "year", "2020")),
        "row-too-long": text([*ROWS, ("Bonn", "2024-02-02", "1", "2")]),
    }


def files() -> dict[str, bytes]:
    """Return every file by its name."""
    found = {**readable(), **refused()}
    return {
        f"{name}.csv": content if isinstance(content, bytes) else content.encode()
        for name, content in found.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, content in files().items():
        (FOLDER / name).write_bytes(content)
        print(FOLDER / name)
