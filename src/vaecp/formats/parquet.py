"""Parquet tables, which keep the type of every column."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import BYTES_OF_CELL, Request, damaged_means
from vaecp.formats.raw import RawTable, Style, TableFile
from vaecp.formats.tables import Table
from vaecp.runtime.extras import require
from vaecp.runtime.memory import available_memory, refuse_beyond_memory

TEXTS = ("string", "large_string", "binary", "large_binary")
COPIES = 3
"""Of the texts of a column, while it is read."""
FEW_BYTES = 100_000_000


class ParquetFile(TableFile):
    """Columns with types of their own."""

    text = False
    options = ()

    def check_installed(self, suffix: str) -> None:
        """PyArrow is an optional dependency."""
        require("pyarrow", "parquet", "a .parquet file")

    def read(self, path: Path, request: Request) -> RawTable:
        """Read the columns; an index with names counts as columns."""
        request.refuse_variable(path)
        self.check_installed(path.suffix)
        frame = read_columns(path)
        named = [name for name in frame.index.names if name is not None]
        _check_columns(path, [*map(str, named), *map(str, frame.columns)])
        return RawTable(frame.reset_index(level=named) if named else frame, text=False)

    def write(self, frame: pd.DataFrame, path: Path, style: Style) -> None:
        """Write the columns."""
        frame.to_parquet(path, engine="pyarrow", index=False)


def read_columns(path: Path) -> pd.DataFrame:
    """Read a file whole, unless it holds more than there is memory for."""
    with damaged_means(path, "a Parquet file"):
        _refuse_vast(path)
        frame = pd.read_parquet(path, engine="pyarrow")
        for _, column in frame.items():
            if isinstance(column.dtype, pd.StringDtype):
                # Bytes that are no text are found when they are first shown, which may be late.
                column.to_numpy(dtype=object)
        return frame


def _refuse_vast(path: Path) -> None:
    """Ask what the file declares before any of it is read."""
    from pyarrow import parquet

    refuse_beyond_memory(path, _size_in_memory(path))
    with parquet.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
    for name in [field.name for field in schema if str(field.type) in TEXTS]:
        refuse_beyond_memory(path, COPIES * _n_bytes_of_texts(path, name, metadata))


def is_vast(path: Path) -> bool:
    """Whether a file would take more than half of the memory that is free."""
    ParquetFile().check_installed(path.suffix)
    with damaged_means(path, "a Parquet file"):
        return 2 * _size_in_memory(path) > available_memory()


def _size_in_memory(path: Path) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return BYTES_OF_CELL * file.metadata.num_rows * max(len(file.schema_arrow.names), 1)


def _n_bytes_of_texts(path: Path, name: str, metadata: Any) -> int:
    """Return what the texts of a column take; a long one is stored once, however often it occurs."""
    from pyarrow import parquet

    compute: Any = importlib.import_module("pyarrow.compute")  # made at run time
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = max((group.total_byte_size for group in groups), default=0)
    if stored * metadata.num_rows < FEW_BYTES:
        return 0
    column = parquet.read_table(path, columns=[name], read_dictionary=[name]).column(name)
    total = 0
    for chunk in column.chunks:
        lengths = compute.binary_length(chunk.dictionary)
        total += compute.sum(compute.take(lengths, chunk.indices)).as_py() or 0
    return total


def _check_columns(path: Path, columns: list[str]) -> None:
    repeated = pd.Index(columns)[pd.Index(columns).duplicated()]
    if len(repeated):
        raise FormatError(
            f"{path}: two columns are called {repeated[0]!r:.80}, or a column and the index: give "
            "them different names."
        )
    if not columns:
        raise FormatError(f"{path}: has no columns: a table has one per mode, and one of values.")


FORMAT = Table(ParquetFile())
