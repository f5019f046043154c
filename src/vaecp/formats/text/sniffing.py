"""How a text table is laid out: separator, lines before the table, and whether it has a header.

Only the standard library is used here, so that the shell's completion answers at once.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from vaecp.errors import FormatError
from vaecp.formats.text.dates import is_date
from vaecp.formats.text.decoding import first_text
from vaecp.formats.text.written import GAPS, is_no_name, is_number, is_value, taken_apart

SAMPLE = 262_144
"""Characters from which the layout is told."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
USUAL = {".csv": ",", ".tsv": "\t"}
"""What separates the columns in files of these suffixes, unless it is seen not to."""
COMMENT = "#"
MOST_COLUMNS = 6
"""More columns of numbers without names are taken for a matrix rather than for modes."""


@dataclass(frozen=True)
class TextLayout:
    """How a text table is laid out.

    Attributes
    ----------
    separator : between columns.
    skip : how many lines stand before the first row of data.
    names : of the columns.
    header : whether the file names them.
    notes : what was decided, in sentences.
    """

    separator: str
    skip: int
    names: tuple[str, ...]
    header: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """The cells of a row, and the number of its line, from 1."""

    line: int
    cells: tuple[str, ...]


def layout_of_file(path: Path, encoding: str, **known: Any) -> TextLayout:
    """Tell the layout of a .csv or .tsv file; `known` are the options of `sniff`."""
    sample = first_text(path, encoding, SAMPLE)
    if len(sample) == SAMPLE:  # the last line may be cut
        sample = sample[: sample.rfind("\n") + 1] or sample
    return sniff(sample, USUAL[path.suffix.lower()], **known)


def sniff(
    sample: str,
    usual: str,
    *,
    separator: str | None = None,
    header: bool | None = None,
    wide: bool = False,
) -> TextLayout:
    """Tell the layout from the beginning of a file.

    Parameters
    ----------
    sample : whole lines.
    usual : the separator that files of this suffix have.
    separator, header : as a person named them, or None.
    wide : whether the header holds labels.

    Examples
    --------
    >>> layout = sniff("# a comment\\nwho;nm;y\\nann;290,5;1\\n", ",")
    >>> layout.separator, layout.skip, layout.names
    (';', 2, ('who', 'nm', 'y'))
    """
    chosen = separator or separator_of(sample, usual)
    layout = layout_of_rows(rows_of(sample, chosen), separator=chosen, header=header, wide=wide)
    if chosen == usual or separator is not None:
        return layout
    note = f"The columns are separated by {SEPARATORS[chosen]}."
    return replace(layout, notes=(note, *layout.notes))


def layout_of_rows(
    rows: Sequence[Row], *, separator: str, header: bool | None = None, wide: bool = False
) -> TextLayout:
    """Tell where the table begins among the rows of a file, and whether it has a header."""
    start = _first_row(rows)
    before, table = rows[:start], rows[start:]
    if not table:
        return TextLayout(separator, 0, ())
    notes = []
    found = has_header(table, wide) if header is None else header
    names = _fitting(table) if found else _numbered(len(table[0].cells), wide)
    comment = None if found else _commented_names(before, len(names))
    if comment is not None:
        names, before = comment, before[:-1]
    elif not found:
        shown = ", ".join(table[0].cells)
        notes.append(
            f"The first line ({_short(shown)}) holds data, so the columns are called "
            f"{_short(', '.join(names))}."
        )
    skipped = [row for row in before if any(row.cells)]
    if skipped:
        text = separator.join(skipped[0].cells).strip()
        number = "1 line" if len(skipped) == 1 else f"{len(skipped)} lines"
        notes.append(f"Skipped {number} before the table ({_short(text)}).")
    return TextLayout(separator, table[0].line - 1 + found, names, found, tuple(notes))


def separator_of(sample: str, usual: str) -> str:
    """Return what separates the columns.

    That is the separator with which most lines have the same number of columns, more than one.
    Commas between semicolons or tabs may be decimal signs, and then they separate nothing.
    """
    scores = {each: _agreement(rows_of(sample, each)) for each in SEPARATORS}
    best = max(scores.values())
    if not best:
        return usual
    for each in ("\t", ";"):
        if scores[each] >= 0.9 * best and (each == "\t" or _commas_are_decimal(sample)):
            return each
    return max(SEPARATORS, key=lambda each: (scores[each], each == usual))


def rows_of(sample: str, separator: str) -> list[Row]:
    """Return the rows of a text."""
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    rows, line = [], 0
    try:
        for cells in reader:
            rows.append(Row(line + 1, tuple(cells)))
            line = reader.line_num
    except csv.Error:
        pass  # what was read so far is enough here, and the parser will name the line
    return rows


def has_header(table: Sequence[Row], wide: bool = False) -> bool:
    """Tell whether the first row names the columns, or ask where that cannot be told.

    It holds data where one of its texts occurs again below it, as labels do, or where all its
    cells are values.
    """
    first = table[0].cells
    below = [row.cells for row in table[1:] if row.cells != first]
    filled = [cell for cell in first if cell.strip().lower() not in GAPS]
    numbers = [cell for cell in filled if is_number(cell)]
    if filled and len(numbers) == len(filled) and below:
        if wide and _in_order(numbers):
            return True
        if wide or len(first) > MOST_COLUMNS or not _are_labels([first, *below]):
            raise _matrix(table[0])
        return False
    quantities = {cell for cell in filled if is_number(cell) or is_date(cell)}
    names = set(filled) - quantities
    pairs = (zip(first, cells, strict=False) for cells in below)
    if any(name in names and cell == name for row in pairs for name, cell in row):
        return False
    alone = len(quantities) == 1 and first[-1] in quantities and len(first) > 2
    if alone or (len(numbers) > 2 and not _in_order(numbers)):
        raise FormatError(
            f"line {table[0].line} ({_short(', '.join(first))}) may hold names or data: pass "
            "--header or --no-header (header=True or header=False)."
        )
    return not (filled and all(is_no_name(cell) for cell in filled) and below)


def _matrix(row: Row) -> FormatError:
    return FormatError(
        f"line {row.line} ({_short(', '.join(row.cells))}) holds numbers only: pass --no-header if "
        "the last column holds values and the others labels, --no-header --wide column if all hold "
        "values, or --header --wide NAME if the line holds the labels of the mode NAME."
    )


def _are_labels(rows: Sequence[Sequence[str]]) -> bool:
    """Whether all columns but the last hold integers."""
    return all(cell.strip().lstrip("+-").isdecimal() for cells in rows for cell in cells[:-1])


def _in_order(cells: Sequence[str]) -> bool:
    """Whether numbers only rise or only fall."""
    numbers = [taken_apart(cell) for cell in cells]
    values = [n.value((",", "") if "," in n.signs else (".", "")) for n in numbers if n]
    steps = [after - before for before, after in pairwise(values)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _numbered(n_columns: int, wide: bool) -> tuple[str, ...]:
    if wide:
        return tuple(str(column + 1) for column in range(n_columns))
    return (*(f"column {column + 1}" for column in range(n_columns - 1)), "value")


def _fitting(table: Sequence[Row]) -> tuple[str, ...]:
    """Return the names in the first row; where they are one too few, add an empty one.

    Some programs number the rows and leave the name of that column out; others end every row of
    data with a separator.
    """
    names, below = table[0].cells, [row.cells for row in table[1:] if any(row.cells)]
    if not below or any(len(cells) != len(names) + 1 for cells in below):
        return names
    if not any(cells[-1].strip() for cells in below):
        return (*names, "")
    counted = [str(number + 1) for number in range(len(below))]
    return ("", *names) if [cells[0] for cells in below] == counted else names


def _commented_names(before: Sequence[Row], n_columns: int) -> tuple[str, ...] | None:
    """Return the names in the last comment before a table without header, if they fit it."""
    if not before or not before[-1].cells or not before[-1].cells[0].startswith(COMMENT):
        return None
    names = tuple(cell.lstrip(COMMENT).strip() for cell in before[-1].cells)
    return names if len(names) == n_columns and all(names) else None


def _usual_width(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the most frequent number of cells above one, and how many rows have it."""
    widths = Counter(len(row.cells) for row in rows if len(row.cells) > 1 and any(row.cells))
    return max(widths.items(), key=lambda item: (item[1], item[0]), default=(0, 0))


def _agreement(rows: Sequence[Row]) -> float:
    """Return the share of rows that have the most frequent number of cells above one."""
    return _usual_width(rows)[1] / max(sum(any(row.cells) for row in rows), 1)


def _first_row(rows: Sequence[Row]) -> int:
    """Return where the table begins: comments and lines of another width may stand before it."""
    start = 0
    while start < len(rows) and (
        not any(rows[start].cells) or rows[start].cells[0].startswith(COMMENT)
    ):
        start += 1
    width, _ = _usual_width(rows)
    fits = [len(row.cells) == width and any(row.cells) for row in rows]
    begin = start
    while begin + 1 < len(rows) and not (
        fits[begin] and fits[begin + 1] and _n_filled(rows[begin]) > 0.5 * width
    ):
        begin += 1
    # A header that is one name too short is no preamble: then the next row holds data, not names.
    far_too_short = all(_n_filled(row) <= 0.5 * width for row in rows[start:begin])
    preamble = far_too_short or _names_columns(rows[begin : begin + 2])
    return begin if begin > start and preamble else start


def _n_filled(row: Row) -> int:
    return sum(bool(cell.strip()) for cell in row.cells)


def _names_columns(rows: Sequence[Row]) -> bool:
    """Whether the first of two rows has a text where the second has a value."""
    return len(rows) == 2 and any(
        is_value(below) and not is_no_name(above) and above.strip().lower() not in GAPS
        for above, below in zip(rows[0].cells, rows[1].cells, strict=False)
    )


def _commas_are_decimal(sample: str) -> bool:
    """Whether every comma outside quotation marks is the decimal sign of a cell."""
    rows = rows_of(re.sub('"[^"]*"', "", sample), ";")
    return all(
        "," not in cell or taken_apart(cell) is not None for row in rows for cell in row.cells
    )


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60].rstrip()} ..."
