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
    def at(cls, path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> ArrayFile:
        """Look at a file that must hold such an array, or say that it is damaged."""
        try:
            with path.open("rb") as file:
                if npy.read_magic(file) != (1, 0):
                    raise ValueError("it is of another version")
                held, in_columns, of_type = npy.read_array_header_1_0(file)
                found = cls(path, shape, dtype, file.tell())
            if in_columns or (of_type, held) != (dtype, shape):
                raise ValueError(f"it holds {of_type} {held}, not {dtype} {shape}")
            if path.stat().st_size != found.start + shape[0] * found.row_bytes:
                raise ValueError(f"it has {path.stat().st_size} bytes")
        except Exception as error:
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


def opened_array(path: Path) -> np.ndarray:
    """Map an array that was saved: one that declares more than its file holds cannot be."""
    return npy.open_memmap(path, mode="r")
