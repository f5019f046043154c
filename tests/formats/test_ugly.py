"""Ugly files: each is read right, or refused with what to type, and then read right."""

from __future__ import annotations

import re

import numpy as np
import pytest
import ugly_files
from ugly_files import FOLDER, NAMES, ROWS

from vaecp.errors import FormatError, ObservationError
from vaecp.formats import open_file, read

DAYS = np.array(["2024-01-31", "2024-02-01"], dtype="datetime64[s]")
EXPECTED = {
    ("Bonn", DAYS[0]): 2.5,
    ("Bonn", DAYS[1]): 93.25,
    ("Zürich", DAYS[0]): 1234.5,
}
ANSWERS = {("Zürich", DAYS[0]): 1.0, ("Bonn", DAYS[0]): 0.0, ("Bonn", DAYS[1]): 1.0}
OTHERWISE = {"unicode-minus": {("Bonn", DAYS[1]): -93.25}} | dict.fromkeys(
    ("yes-and-no", "ja-und-nein", "y-and-n"), ANSWERS
)
SAID = {
    "semicolons": "'price': 1.234,5 is read as 1234.5",
    "tabs": "separated by tabs",
    "latin-1": "read as Windows-1252",
    "no-header": "The first line .* holds data, so the columns are called column 1",
    "comments": "Skipped 2 lines before the table .# made by hand",
    "preamble": "Skipped 2 lines before the table .Instrument: X-1",
    "padded-labels": "'city': spaces around 1 label were removed, such as '  Zürich '",
    "percent": "% is not part of the numbers, 1234.5 % is read as 1234.5",
    "currency": "EUR is not part of the numbers",
    "unit-column": "'unit' holds 'mg/L' in every row, so 'price' holds the values",
    "index-column": "Column 1 has no name and counts the rows",
    "repeated-header": "Left out 1 repeated header, first in line 4",
    "dotted-dates": "'day': 31.01.2024 is read as 31 January 2024",
    "american-dates": "'day': 1/31/2024 is read as 31 January 2024",
    "time-zone": "converted to UTC",
    "yes-and-no": "'price': No is read as 0, and YES is read as 1",
    "remarks-below": "Left out 2 lines below the table .Source: city hall",
    "counted-rows": "'No' counts the rows: it is no mode",
    "units-row": "Left out line 2, which holds units .EUR",
    "limits": "1 value is known only by a limit: .* taken to be 0 or more, as all values are",
    "limit-columns": "1 value is known only by a limit",
}


def entries(observations):
    """The values by their labels."""
    keys = zip(*observations.keys().to_numpy().T, strict=True)
    keys = [tuple(np.datetime64(k, "s") if hasattr(k, "year") else k for k in key) for key in keys]
    return dict(zip(keys, observations.values.tolist(), strict=True))


def test_the_files_are_those_that_the_script_makes():
    found = {path.name: path.read_bytes() for path in FOLDER.glob("*.csv")}
    assert found == ugly_files.files()


@pytest.mark.parametrize("name", ugly_files.readable())
def test_an_ugly_file_gives_what_it_means(name):
    observations = read(FOLDER / f"{name}.csv")
    assert entries(observations) == EXPECTED | OTHERWISE.get(name, {})
    assert observations.shape == (2, 2)
    names = NAMES if name != "no-header" else ("column 1", "column 2", "value")
    assert (*observations.mode_names, observations.value_name) == names


@pytest.mark.parametrize("name", SAID)
def test_what_was_decided_is_said(name):
    notes = read(FOLDER / f"{name}.csv").notes
    assert any(re.search(SAID[name], note) for note in notes), notes


@pytest.mark.parametrize("name", ["plain", "windows-lines", "utf-8-with-mark", "blank-lines"])
def test_nothing_is_said_where_nothing_was_decided(name):
    assert read(FOLDER / f"{name}.csv").notes == ()


REFUSED = {
    "mixed-decimals": ("'1234.5' in line 2 and '2,5' in line 4, .*different decimal", {}, None),
    "thousands-or-decimals": (
        "'1.234' in line 2, which may have decimals or thousands: pass --decimal",
        {"decimal": ","},
        [2500.0, 93250.0, 1234.0],
    ),
    "mixed-units": ("'EUR 1' in line 2 and 'USD 2' in line 4: write all", {}, None),
    "day-or-month": (
        "'02/01/2024', .*--date-format %d/%m/%Y if the day",
        {"date_format": "%d/%m/%Y"},
        [2.5, 93.25, 1234.5],
    ),
    "two-orders": ("'31/01/2024' and '02/13/2024': the month", {}, None),
    "yes-and-numbers": ("'yes' in line 2 and '0.5' in line 5: write all values as yes", {}, None),
    "answers-and-doubt": (
        r"'[?]' means unknown, .*--missing '[?]'",
        {"missing": ["?"]},
        [0.0, 1.0],
    ),
    "dash": ("'-' in line 3: .*--missing '-'", {"missing": ["-"]}, [2.5, 93.25, 1234.5]),
    "remark-last": (
        "last column 'note' has 'a' in line 2, .*--value, such as --value price",
        {"value": "price", "modes": ["city", "day"]},
        [2.5, 93.25, 1234.5],
    ),
    "some-remarks": (
        "last column 'note' has 'ok' in line 2, .*--value, such as --value price",
        {"value": "price", "modes": ["city", "day"]},
        [2.5, 93.25, 1234.5],
    ),
    "remarks-between": (
        "column 'note' is empty in line 3, so it cannot hold .*--modes city,day",
        {"modes": ["city", "day"]},
        [2.5, 93.25, 1234.5],
    ),
    "unit-and-remark": (
        "'price' has 'n.d.' in line 3: .*--missing 'n.d.'",
        {"missing": ["n.d."]},
        [2.5, 1234.5],
    ),
    "wide-dates": ("are called by dates.*--wide date", {"wide": "day"}, [2.5, 93.25, 1234.5]),
    "values-first": (
        "'price' is empty in line 3, .*pass --value price if it holds the values",
        {"value": "price"},
        [2.5, 93.25, 1234.5],
    ),
    "wide-months": ("are called by dates.*--wide date", {"wide": "month"}, [2.5, 93.25, 1234.5]),
    "wide-sums": (
        "called by dates.*--wide date",
        {"wide": "day", "modes": ["city"]},
        [2.5, 93.25, 1234.5],
    ),
    "sum-below": (
        "mode 'day' in line 6 is missing .*delete the row .a sum or a remark",
        {},
        None,
    ),
    "wide-units": (
        "'250 nm', '260 nm', '270 nm' ... are called by numbers with a unit.*--wide time",
        {"wide": "nm"},
        [2.5, 93.25, 7.0, 1234.5, 7.0],
    ),
    "wide-numbers": ("are called by numbers.*--wide wave", {"wide": "nm"}, [2.5, 93.25, 1234.5]),
    "matrix": (
        "holds numbers only: .*--no-header --wide column if all hold values",
        {"header": False, "wide": "column"},
        [1234.5, 0.5, 7, 2.5, 93.25, 6],
    ),
    "names-or-data": (
        r"line 1 \(country, year, 2020\) may hold names or data: pass --header or --no-header",
        {"header": True},
        [1.0, 2.0],
    ),
    "row-too-long": ("Expected 3 fields in line 6, saw 4", {}, None),
}


@pytest.mark.parametrize(
    ("name", "line", "options", "values"), [(k, *v) for k, v in REFUSED.items()]
)
def test_what_cannot_be_told_is_refused_with_the_option_that_tells(name, line, options, values):
    path = FOLDER / f"{name}.csv"
    with pytest.raises((FormatError, ObservationError), match=line) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    if values is not None:
        observations = read(path, **options)
        order = np.lexsort(observations.indices.T[::-1])
        assert observations.values[order].tolist() == values


def test_every_file_is_asked_for():
    asked = {*ugly_files.readable(), *REFUSED}
    assert asked == {path.stem for path in FOLDER.glob("*.csv")}


@pytest.mark.parametrize("name", ugly_files.readable())
def test_the_rows_are_kept_as_they_stood(name):
    listing = open_file(FOLDER / f"{name}.csv").listing
    assert len(listing.rows) == len(ROWS)
    assert listing.n_gaps == 1
    assert np.isnan(listing.values[:, 0]).tolist() == [False, True, False, False]


def test_a_column_after_the_values_of_a_wide_table_is_asked_about_and_left_out():
    path = FOLDER / "wide-sums.csv"
    with pytest.raises(FormatError, match=r"'Total' stands after .*or sums: .*--modes city\)"):
        read(path, wide="day")
    notes = read(path, wide="day", modes=["city"]).notes
    assert notes == ("Left out the columns 'Total', whose names are no numbers or dates.",)


# ---- spreadsheets ----------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Write rows of cells to sheets of a workbook."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra vaecp[excel]")

    def write(**sheets):
        found = openpyxl.Workbook()
        found.remove(found.active)
        for name, rows in sheets.items():
            sheet = found.create_sheet(name)
            for row in rows:
                sheet.append(row)
        found.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return write


CELLS = [
    (city, DAYS[int(day == "2024-02-01")].astype(object), float(value) if value else None)
    for city, day, value in ROWS
]


def test_a_sheet_is_read_with_its_numbers_and_dates(book):
    assert entries(read(book(prices=[NAMES, *CELLS]))) == EXPECTED


def test_a_sheet_may_have_lines_before_the_table_and_an_empty_sheet_beside_it(book):
    rows = [("Prices in EUR",), (), NAMES, *CELLS]
    observations = read(book(prices=rows, empty=[]))
    assert entries(observations) == EXPECTED
    assert any("Skipped 1 line" in note for note in observations.notes)


def test_several_sheets_ask_for_a_choice(book):
    path = book(one=[NAMES, *CELLS], two=[NAMES, *CELLS])
    with pytest.raises(FormatError, match=r"2 sheets hold cells \('one', 'two'\).*--variable one"):
        read(path)
    assert entries(read(path, variable="two")) == EXPECTED


def test_an_error_in_a_sheet_names_the_row(book):
    with pytest.raises(FormatError, match="'price' has 'high' in row 4"):
        read(book(prices=[NAMES, *CELLS[:2], ("Bonn", "2024-01-31", "high")]))


def test_codes_with_leading_zeros_stay_text_in_a_sheet(book):
    observations = read(book(a=[("zip", "day", "y"), ("007", 1, 2.0), ("7", 2, 3.0)]))
    assert observations.labels[0].tolist() == ["007", "7"]


@pytest.mark.parametrize("name", ["limits", "limit-columns"])
def test_a_limit_is_known_of_an_entry_without_a_value(name):
    limits = read(FOLDER / f"{name}.csv").limits
    assert limits is not None
    assert (limits.lower.tolist(), limits.upper.tolist()) == ([0.0], [0.5])


def test_a_limit_that_means_missing_is_a_gap():
    assert read(FOLDER / "limits.csv", missing=["<0.5"]).limits is None


def test_units_in_the_header_are_no_part_of_the_labels():
    observations = read(FOLDER / "wide-units.csv", wide="wavelength")
    assert observations.labels[1].tolist() == [250, 260, 270]
    assert "'wavelength': the column '250 nm' is read as 250." in observations.notes
