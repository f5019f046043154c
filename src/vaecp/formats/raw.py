"""A table as it stands in its file, before labels and values are made of its cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pandas as pd

from vaecp.formats.common import Request

OPTIONS = ("header", "separator", "decimal", "thousands", "encoding", "date_format")
"""What may be said of how a text table is written."""


@dataclass(frozen=True)
class Style:
    """How a text table is written, so that another can be written like it."""

    separator: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    before: str = ""
    after: str = ""
    answers: tuple[str, str] | None = None  # no and yes


@dataclass(frozen=True, eq=False)
class RawTable:
    """The cells of a table.

    Attributes
    ----------
    frame : named columns; the name and the labels of its index say where a row is found.
    text : whether all cells are text, of which labels and values are still to be made.
    style : how the file was written.
    notes : what was decided, in sentences.
    header : whether the file names its columns.
    """

    frame: pd.DataFrame
    text: bool
    style: Style = field(default_factory=Style)
    notes: tuple[str, ...] = ()
    header: bool = True


class TableFile(Protocol):
    """Who reads and writes the cells of one kind of table."""

    text: bool
    """Whether cells are written as text."""
    options: tuple[str, ...]
    """Which of `OPTIONS` it understands."""

    def read(self, path: Path, request: Request) -> RawTable: ...
    def write(self, frame: pd.DataFrame, path: Path, style: Style) -> None: ...
    def check_installed(self, suffix: str) -> None: ...
