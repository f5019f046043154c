"""Parquet in parts: one file or a folder of files, read batch by batch by PyArrow's datasets.

Names such as `day=3` of folders are a column `day`. Files and folders whose names begin with a
dot or an underscore are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from vaecp.errors import FormatError
from vaecp.formats.common import damaged_means
from vaecp.runtime.extras import require
from vaecp.runtime.files import whole_file

ROWS_OF_BATCH = 1 << 18
ROWS_OF_UNIT = 1 << 22
"""About so many rows are done between two points from which work can go on."""


@dataclass(frozen=True)
class Unit:
    """Row groups of files, as (file, first, last) in order."""

    pieces: tuple[tuple[int, int, int], ...]
    n_rows: int


@dataclass(frozen=True, eq=False)
class Partitions:
    """One Parquet file, or all of a folder and of the folders in it."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Partitions:
        """Look at the files, or say why none can be read."""
        require("pyarrow", "parquet", "a .parquet file")
        found = cls(Path(path).expanduser())
        with damaged_means(found.path, "Parquet files"):
            if not found._fragments:
                raise FormatError(f"{path}: has no Parquet file: name a folder of .parquet files.")
            if not found.n_rows:
                raise FormatError(f"{path}: has Parquet files without rows: write some entries.")
        return found

    @cached_property
    def _dataset(self) -> Any:
        from pyarrow import dataset

        return dataset.dataset(
            self._files if self.path.is_dir() else str(self.path),
            format="parquet",
            partitioning="hive",
        )

    @cached_property
    def _files(self) -> list[str]:
        """Every Parquet file of the folder, sorted; other files do not matter."""
        inside = (
            path
            for path in self.path.rglob("*.parquet")
            if not any(part.startswith((".", "_")) for part in path.relative_to(self.path).parts)
        )
        return sorted(str(path) for path in inside if path.is_file())

    @cached_property
    def _fragments(self) -> list[Any]:
        if self.path.is_dir() and not self._files:
            return []
        return sorted(self._dataset.get_fragments(), key=lambda fragment: fragment.path)

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns; those of folders come first."""
        names = [name for name in self._dataset.schema.names if not name.startswith("__index_lev")]
        within = set(self._fragments[0].physical_schema.names)
        return sorted(names, key=lambda name: name in within)

    @property
    def folder_columns(self) -> list[str]:
        """Columns that are names of folders."""
        within = set(self._fragments[0].physical_schema.names)
        return [name for name in self.columns if name not in within]

    @cached_property
    def n_rows(self) -> int:
        return sum(fragment.metadata.num_rows for fragment in self._fragments)

    @property
    def files(self) -> list[Path]:
        return [Path(fragment.path) for fragment in self._fragments]

    def describe(self) -> dict[str, Any]:
        """Return what changes when the data do: names, sizes, times and types."""
        home = self.path if self.path.is_dir() else self.path.parent
        states = [(path, path.stat()) for path in self.files]
        return {
            "files": [
                [path.relative_to(home).as_posix(), state.st_size, state.st_mtime_ns]
                for path, state in states
            ],
            "schema": [f"{field.name}: {field.type}" for field in self._dataset.schema],
        }

    @cached_property
    def units(self) -> list[Unit]:
        """Cut the rows into units, at row groups."""
        found: list[Unit] = []
        pieces: list[tuple[int, int, int]] = []
        n_rows = 0
        for number, fragment in enumerate(self._fragments):
            first = 0
            for group in range(fragment.num_row_groups):
                n_rows += fragment.row_groups[group].num_rows
                if n_rows >= ROWS_OF_UNIT:
                    found.append(Unit((*pieces, (number, first, group + 1)), n_rows))
                    pieces, n_rows, first = [], 0, group + 1
            if first < fragment.num_row_groups:
                pieces.append((number, first, fragment.num_row_groups))
        return [*found, Unit(tuple(pieces), n_rows)] if n_rows else found

    def batches(
        self, unit: Unit | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[tuple[Path, int, pd.DataFrame]]:
        """Yield (file, number of the first row counted from its first row group, rows)."""
        units = self.units if unit is None else [unit]
        for number, first, last in (piece for each in units for piece in each.pieces):
            fragment = self._fragments[number]
            path = Path(fragment.path)
            row = sum(fragment.row_groups[group].num_rows for group in range(first))
            part = fragment.subset(row_group_ids=list(range(first, last)))
            with damaged_means(path, "a Parquet file"):
                for batch in part.to_batches(
                    schema=self._dataset.schema,
                    columns=list(columns or self.columns),
                    batch_size=ROWS_OF_BATCH,
                    batch_readahead=2,
                    fragment_readahead=1,
                ):
                    if batch.num_rows:
                        batch.validate(full=True)
                        yield path, row, batch.to_pandas()
                    row += batch.num_rows


def write_batches(frames: Iterable[pd.DataFrame], path: str | Path) -> int:
    """Write one Parquet file batch by batch, whole or not at all; return how many rows it has."""
    pyarrow = require("pyarrow", "parquet", "a .parquet file")
    parquet = require("pyarrow.parquet", "parquet", "a .parquet file")
    n_rows, writer = 0, None
    with whole_file(path) as temporary:
        try:
            for frame in frames:
                schema = writer.schema if writer is not None else None
                table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
                writer = writer or parquet.ParquetWriter(temporary, table.schema)
                writer.write_table(table)
                n_rows += len(frame)
        finally:
            if writer is not None:
                writer.close()
    return n_rows
