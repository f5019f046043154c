"""FROSTT's `.tns`: one entry per line, coordinates from 1, then the value; `#` comments.

A comment `# shape: 3 4 5` before the entries, which is written here, gives the sizes of
the modes; without it each mode is as large as its largest coordinate.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from vaecp.data.cells import coordinates
from vaecp.data.checks import MAX_MODES
from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats.common import (
    Filled,
    Request,
    damaged_means,
    named_arrays,
    refuse_empty_rows,
    refuse_labels,
)
from vaecp.runtime.memory import available_memory, refuse_beyond_memory

_SHAPE = re.compile(r"#\s*shape:\s*([1-9]\d{0,17}(?:\s+[1-9]\d{0,17})*)\s*")
_CHUNK = 1_000_000
COPIES = 4
"""Of the text of a file, that the memory must have room for."""


def check_installed(suffix: str) -> None:
    """Nothing beyond pandas is needed."""


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    request.refuse_variable(path)
    refuse_beyond_memory(path, COPIES * path.stat().st_size)
    with damaged_means(path, "a FROSTT .tns file"):
        with _open_to_read(path) as file:
            shape = _shape_comment(file)
        with _open_to_read(path) as file:
            _check_columns(path, file)
        with _open_to_read(path) as file:
            table = pd.read_csv(
                file, sep=r"\s+", comment="#", header=None, dtype=str, keep_default_na=False
            )
    n_modes = table.shape[1] - 1
    if shape is not None and len(shape) != n_modes:
        raise FormatError(
            f"{path}: its comment names the sizes of {len(shape)} modes, but its lines have "
            f"{n_modes} coordinates: mend the comment, or remove it."
        )
    indices = np.stack([_coordinates(table[mode], mode, path) for mode in range(n_modes)], axis=1)
    values = _values(table[n_modes], path)
    known = ~np.isnan(values)
    shape = shape or tuple((indices.max(axis=0) + 1).tolist())
    refuse_empty_rows(path, shape, len(values))
    listed = Observations(indices[known], values[known], shape, request.modes or ())
    return request.settle(listed, indices[~known])


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write observed entries to `path`; errors speak of `shown`."""
    refuse_labels(observations, shown, ".tns")
    with _open(path, "wt") as file:
        file.write(_comment(observations.shape))
        _write_rows(file, observations.indices, observations.values[:, None])


def check_completion(observations: Observations, shown: Path) -> None:
    """Any labels will do: they are comments."""


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    observations, arrays = completion.observations, named_arrays(completion)
    columns = np.stack([arrays[name].ravel() for name in ("mean", "std", "low", "high")], axis=1)
    with _open(path, "wt") as file:
        file.write(_comment(observations.shape))
        for mode, (name, labels) in enumerate(
            zip(observations.mode_names, observations.labels, strict=True)
        ):
            file.write(f"# mode {mode + 1}: {name}: {', '.join(map(repr, labels.tolist()))}\n")
        file.write("# coordinates from 1, then mean, std, low, high\n")
        for start in range(0, len(columns), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(columns)))
            _write_rows(file, coordinates(rows, observations.shape), columns[rows])


def _write_rows(file: IO[str], indices: np.ndarray, columns: np.ndarray) -> None:
    table = pd.concat(
        [pd.DataFrame(indices.astype(np.int64) + 1), pd.DataFrame(columns.astype(np.float64))],
        axis=1,
    )
    table.to_csv(file, sep=" ", header=False, index=False, lineterminator="\n")


def _comment(shape: tuple[int, ...]) -> str:
    return f"# shape: {' '.join(map(str, shape))}\n"


def _open(path: Path, mode: str) -> IO[str]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, mode, encoding="utf-8")  # type: ignore[return-value]


def _open_to_read(path: Path) -> IO[str]:
    """Open a file; a compressed one ends where its text would take more memory than there is."""
    if path.suffix.lower() != ".gz":
        return path.open(encoding="utf-8")
    limited = _Limited(path, available_memory() // COPIES)
    return io.TextIOWrapper(io.BufferedReader(limited), encoding="utf-8")


class _Limited(io.RawIOBase):
    """The contents of a compressed file, up to a limit: a small one can hold any number of zeros."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.left = path, limit
        self.file = gzip.GzipFile(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_read = self.file.readinto(buffer)
        self.left -= n_read
        if self.left < 0:
            raise FormatError(
                f"{self.path}: holds more text than there is memory for: write a smaller part of it."
            )
        return n_read

    def close(self) -> None:
        self.file.close()
        super().close()


def _leading_comments(file: IO[str]) -> Iterator[str]:
    for line in file:
        if not line.startswith("#"):
            return
        yield line


def _shape_comment(file: IO[str]) -> tuple[int, ...] | None:
    for line in _leading_comments(file):
        if found := _SHAPE.fullmatch(line.rstrip("\n")):
            return tuple(int(size) for size in found[1].split())
    return None


def _check_columns(path: Path, file: IO[str]) -> None:
    """Look at the first line of numbers, of whose length the table will be."""
    line = next((line for line in file if line.partition("#")[0].strip()), "")
    columns = line.partition("#")[0].split()
    if line and not 3 <= len(columns) <= MAX_MODES + 1:
        raise FormatError(
            f"{path}: its lines have {len(columns)} column(s), such as {line.strip()!r:.80}: a "
            f".tns file has a coordinate for each of 2 to {MAX_MODES} modes, and then the value, "
            "with spaces between them."
        )


def _coordinates(column: Any, mode: int, path: Path) -> np.ndarray:
    """Return 0-based coordinates, or the place of the first that is not an integer from 1."""
    numbers = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    wrong = ~(numbers >= 1) | (numbers != np.floor(numbers)) | (numbers >= 2**53)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise FormatError(
            f"{path}: entry {row + 1} has the coordinate {column.iloc[row]!r} in column "
            f"{mode + 1}: a .tns file counts from 1, in integers; keep labels in a .csv file."
        )
    return np.asarray(numbers, dtype=np.int64) - 1


def _values(column: Any, path: Path) -> np.ndarray:
    texts = column.to_numpy(dtype=object)
    try:
        return texts.astype(np.float64)
    except ValueError:
        numbers = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
        row = int(np.argmax(np.isnan(numbers) & (column.str.lower() != "nan").to_numpy()))
        raise FormatError(
            f"{path}: entry {row + 1} has the value {texts[row]!r}: each line needs one coordinate "
            "per mode and a number; is the file truncated?"
        ) from None
