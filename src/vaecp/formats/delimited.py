"""Text tables: `.csv` and `.tsv`, as spreadsheets, instruments and people write them.

Separator, decimal sign, header, comment lines and encoding are told from the file; what was
decided is said in notes. Labels that all look like numbers become numbers, except codes with
leading zeros ("007"), which stay text; dates become dates. An empty value (or NA, NaN, null,
None) is a gap.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp.formats.common import Request, damaged_means
from vaecp.formats.raw import OPTIONS, RawTable, Style, TableFile
from vaecp.formats.tables import Table
from vaecp.formats.text.decoding import (
    FALLBACK,
    checked_encoding,
    encoding_of,
    refuse_short_lines,
)
from vaecp.formats.text.sniffing import SEPARATORS, USUAL, TextLayout, layout_of_file


class DelimitedFile(TableFile):
    """Rows of cells in a text file, between separators."""

    text = True
    options = OPTIONS

    def check_installed(self, suffix: str) -> None:
        """Nothing beyond pandas is needed."""

    def read(self, path: Path, request: Request) -> RawTable:
        """Read all cells as text."""
        request.refuse_variable(path)
        usual = USUAL[path.suffix.lower()]
        with damaged_means(path, f"a table in text, separated by {SEPARATORS[usual]}"):
            encoding = checked_encoding(request.encoding or encoding_of(path))
            layout = layout_of_file(
                path,
                encoding,
                separator=request.separator,
                header=request.header,
                wide=request.wide is not None,
            )
            refuse_short_lines(path, encoding, len(layout.names))
            frame, after = _without_remarks(_cells(path, encoding, layout))
        notes = [*layout.notes, *after]
        if encoding == FALLBACK and request.encoding is None:
            notes.insert(0, "The text is not UTF-8: it is read as Windows-1252 (--encoding).")
        # Errors name the place as an editor shows it.
        frame.index = pd.RangeIndex(layout.skip + 1, layout.skip + len(frame) + 1, name="line")
        frame = frame.loc[(frame != "").any(axis=1)]
        style = Style(layout.separator, encoding)
        return RawTable(frame, True, style, tuple(notes), layout.header)

    def write(self, frame: pd.DataFrame, path: Path, style: Style) -> None:
        """Write a table as the one was written that it came from; tabs in a .tsv."""
        usual = USUAL[path.suffix.lower()]
        separator = style.separator or usual if usual == "," else usual
        frame.to_csv(path, sep=separator, index=False, lineterminator="\n", encoding=style.encoding)


def _cells(path: Path, encoding: str, layout: TextLayout) -> pd.DataFrame:
    columns: list[Any] = list(range(len(layout.names)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(
            path,
            sep=layout.separator,
            header=None,
            names=columns,
            skiprows=layout.skip,
            dtype=str,
            index_col=False,
            keep_default_na=False,
            skip_blank_lines=False,
            low_memory=False,
            encoding=encoding,
        )
    frame.columns = pd.Index(layout.names, dtype=object)
    return frame.fillna("")


def _without_remarks(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Leave out what stands below the table: lines after an empty one that are no entries of it.

    They have no last cell, and begin with what no line above begins with.
    """
    empty = np.flatnonzero((frame == "").all(axis=1))
    table = frame.iloc[: empty[-1]] if len(empty) else frame
    below = frame.iloc[len(table) + 1 :]
    entries = (below.iloc[:, -1] != "") | below.iloc[:, 0].isin(table.iloc[:, 0])
    if not len(below) or entries.any():
        return frame, []
    number = "1 line" if len(below) == 1 else f"{len(below)} lines"
    return table, [f"Left out {number} below the table ({below.iloc[0, 0][:60]})."]


FORMAT = Table(DelimitedFile())
