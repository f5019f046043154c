"""Excel's `.xlsx`: one sheet, whose cells are read as the text table that they look like."""

from __future__ import annotations

import zipfile
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import Request, choose_array, damaged_means
from vaecp.formats.raw import RawTable, Style, TableFile
from vaecp.formats.tables import Table
from vaecp.formats.text.sniffing import Row, layout_of_rows
from vaecp.runtime.extras import require
from vaecp.runtime.memory import refuse_beyond_memory

MOST_BYTES = 1_000_000_000
"""Larger sheets, once unpacked, are refused."""
COPIES = 4
"""Of what a file holds once it is unpacked, while it is read."""
MOST_ROWS = 1_048_575
MOST_CELLS = 50_000_000
"""Of a sheet, empty ones between others included: a single cell can be far from the others."""


class SpreadsheetFile(TableFile):
    """Cells of a sheet."""

    text = False
    options = ("header", "decimal", "thousands", "date_format")

    def check_installed(self, suffix: str) -> None:
        """Openpyxl is an optional dependency."""
        require("openpyxl", "excel", "a .xlsx file")

    def read(self, path: Path, request: Request) -> RawTable:
        """Read the cells of the one sheet that holds any, or of the one that was named."""
        self.check_installed(path.suffix)
        with damaged_means(path, "an Excel workbook"):
            _check_size(path)
            sheets = _sheets(path)
        filled = [name for name, rows in sheets.items() if rows]
        rows = sheets[choose_array(path, filled, list(sheets), request, "sheets hold cells")]
        layout = layout_of_rows(
            rows, header=request.header, wide=request.wide is not None, separator=","
        )
        width = len(layout.names)
        cells = [row for row in rows if row.line > layout.skip and any(row.cells)]
        if any(len(row.cells) > width for row in cells):
            line = next(row.line for row in cells if len(row.cells) > width)
            raise FormatError(f"{path}: row {line} is longer than the header: name every column.")
        if len(cells) * width > MOST_CELLS:
            raise _too_far(path)
        frame = pd.DataFrame(
            [(*row.cells, *[""] * (width - len(row.cells))) for row in cells],
            index=pd.Index([row.line for row in cells], name="row"),
            columns=pd.Index(layout.names, dtype=object),
            dtype=str,
        )
        return RawTable(frame, text=True, notes=layout.notes, header=layout.header)

    def write(self, frame: pd.DataFrame, path: Path, style: Style) -> None:
        """Write one sheet."""
        if len(frame) > MOST_ROWS:
            raise FormatError(
                f"{path}: {len(frame):,} rows are more than the {MOST_ROWS:,} that a sheet holds: "
                "use .csv or .parquet."
            )
        with pd.ExcelWriter(path, engine="openpyxl") as book:
            frame.to_excel(book, index=False)
            for cell in (cell for row in book.book.active for cell in row):
                if cell.data_type in "fe":  # a text that looks like a formula or an error is a text
                    cell.data_type = "s"


def _check_size(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        size = sum(item.file_size for item in archive.infolist())
    if size > MOST_BYTES:
        raise FormatError(
            f"{path}: unpacks to {size:,} bytes, more than {MOST_BYTES:,}: use .csv or .parquet."
        )
    refuse_beyond_memory(path, COPIES * size)


def _too_far(path: Path) -> FormatError:
    return FormatError(
        f"{path}: its sheets span more than {MOST_CELLS:,} cells, or {MOST_ROWS + 1:,} rows: remove "
        "cells that are far from the others, or use .csv or .parquet."
    )


def _sheets(path: Path) -> dict[str, list[Row]]:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheets, room = {}, MOST_CELLS
        for sheet in book.worksheets:
            if sheet.sheet_state == "visible":
                sheets[sheet.title], room = _rows(sheet, path, room)
        return sheets
    finally:
        book.close()


def _rows(sheet: Any, path: Path, room: int) -> tuple[list[Row], int]:
    """Return rows of text without empty cells at their ends, and the cells that may still follow."""
    rows = []
    sheet.reset_dimensions()  # rows are as long as their cells reach, whatever the sheet declares
    for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        room -= len(cells)
        if room < 0 or line > MOST_ROWS + 1:
            raise _too_far(path)
        texts = [_text(cell) for cell in cells]
        while texts and not texts[-1]:
            texts.pop()
        if texts:
            rows.append(Row(line, tuple(texts)))
    return rows, room


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return (
            cell.isoformat(sep=" ") if cell.time().isoformat() != "00:00:00" else f"{cell:%Y-%m-%d}"
        )
    return cell.isoformat() if isinstance(cell, date) else str(cell)


FORMAT = Table(SpreadsheetFile())
