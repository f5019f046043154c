"""Arrays in `.npy` files, of which pieces are read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from vaecp.errors import FormatError


@dataclass(frozen=True)
class ArrayFile:
    """A file with one array, and where its numbers begin."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype
    start: int

    @classmethod
    def at(cls, path: Path, n_rows: int) -> ArrayFile:
        """Look at a file of so many rows, or say that it is damaged."""
        try:
            with path.open("rb") as file:
                if npy.read_magic(file) != (1, 0):
                    raise ValueError("it is of another version")
                shape, in_columns, dtype = npy.read_array_header_1_0(file)
                found = cls(path, shape, dtype, file.tell())
            if in_columns or dtype.hasobject or shape[:1] != (n_rows,):
                raise ValueError(f"it has {shape} numbers of {dtype}, and not {n_rows} rows")
            if path.stat().st_size != found.start + n_rows * found.row_bytes:
                raise ValueError(f"it has {path.stat().st_size} bytes")
        except (OSError, ValueError) as error:
            raise found_damaged(path, error) from error
        return found

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))

    def mapped(self) -> np.ndarray:
        """Return the array, of which those pages are read that are looked at."""
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def read_into(self, array: np.ndarray, spans: Iterable[tuple[int, int, int]]) -> None:
        """Copy rows: each span is the first row here, the first one there, and how many."""
        if (array.dtype, array.shape[1:]) != (self.dtype, self.shape[1:]):
            raise found_damaged(self.path, f"it has {self.shape} numbers of {self.dtype}")
        there = array.data.cast("B")
        width = self.row_bytes
        try:
            with self.path.open("rb", buffering=0) as file:
                for first, to, n_rows in spans:
                    file.seek(self.start + first * width)
                    _fill(file, there[to * width : (to + n_rows) * width])
        except OSError as error:
            raise found_damaged(self.path, error) from error


def _fill(file, there: memoryview) -> None:
    """Read until there is no more room: one call may give less than was asked for."""
    while len(there):
        n_bytes = file.readinto(there)
        if not n_bytes:
            raise OSError("it ends too early")
        there = there[n_bytes:]


def found_damaged(path: Path, why: object) -> FormatError:
    """Return the error that names a damaged file, and the remedy."""
    return FormatError(
        f"{path}: is damaged ({why}): remove the folder {path.parent}, and it is written anew."
    )
