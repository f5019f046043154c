"""The variables of a MATLAB file as a namespace, from version 5 and from 7.3 (HDF5) alike."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from vaecp.errors import FormatError
from vaecp.formats.common import damaged_means, refuse_vast
from vaecp.formats.hdf5 import (
    MOST_OBJECTS,
    refuse_endless_heaps,
    refuse_other_files,
    refuse_stored_elsewhere,
    refuse_vast_dataset,
    too_many_objects,
)
from vaecp.runtime.extras import require
from vaecp.runtime.memory import available_memory, refuse_beyond_memory

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
DEEPEST = 4
"""Levels of structs and cells that are followed."""
MOST_VARIABLES = 1_000
COPIES = 4
"""Of what a file holds once it is decompressed, while it is read."""


def variables(path: Path) -> dict[str, Any]:
    """Read every variable: arrays of numbers and texts, cells, and structs as namespaces."""
    with path.open("rb") as file:
        head = file.read(1024)
    if head[:8] == HDF5_SIGNATURE or head[512:520] == HDF5_SIGNATURE:
        return _of_hdf5(path)
    from scipy.io import loadmat, whosmat

    with damaged_means(path, "a MATLAB v5 file"):
        refuse_beyond_memory(path, COPIES * size_when_read(path, available_memory()))
        _check_declared(path, whosmat(path))
        loaded = loadmat(path)
        return {
            name: _plain(value, DEEPEST)
            for name, value in loaded.items()
            if not name.startswith("__")
        }


def size_when_read(path: Path, most: float = math.inf) -> int:
    """Return how many bytes a version 5 file holds once it is decompressed, without keeping them.

    Counting stops where there are more than `most`.
    """
    total = 0
    with path.open("rb") as file:
        file.seek(128)  # a header of text
        while total <= most and len(tag := file.read(8)) == 8:
            kind, n_bytes = np.frombuffer(tag, dtype="<u4")
            content = file.read(min(int(n_bytes), path.stat().st_size))
            total += _inflated(content, most) if kind == 15 else len(content)
            if len(content) < n_bytes:
                break
    return total


def _inflated(content: bytes, most: float) -> int:
    engine, total, rest = zlib.decompressobj(), 0, content
    while rest and not engine.eof and total <= most:
        total += len(engine.decompress(rest, 1 << 20))
        rest = engine.unconsumed_tail
    return total


def refuse_many(path: Path, n_variables: int) -> None:
    """Refuse what would take long to look through: any vector may be an axis of any array."""
    if n_variables > MOST_VARIABLES:
        raise FormatError(
            f"{path}: holds {n_variables:,} variables, and {MOST_VARIABLES:,} at most are looked "
            "through: write the one that is meant to a file of its own."
        )


# ---- version 5 -------------------------------------------------------------------------


def _check_declared(path: Path, declared: list[tuple[str, tuple[int, ...], str]]) -> None:
    """Refuse sizes that cannot be, or that memory has no room for, before anything is read."""
    refuse_many(path, len(declared))
    shapes = [shape for _, shape, kind in declared if kind != "sparse"]
    if any(size < 0 for shape in shapes for size in shape):
        raise ValueError("it declares sizes below 0")
    refuse_vast(path, [sum(math.prod(shape) for shape in shapes)])


def _plain(value: Any, depth: int) -> Any:
    """Turn SciPy's structs and objects into namespaces, and strip padded text."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.names is not None:
        if value.size != 1 or not depth:
            return None
        fields = value.ravel()[0]
        return {name: _plain(fields[name], depth - 1) for name in value.dtype.names}
    if value.dtype.kind == "U":
        return np.char.rstrip(np.asarray(value))
    if value.dtype.kind == "O" and depth:
        cells = np.empty(value.shape, dtype=object)
        for place, cell in np.ndenumerate(value):
            cells[place] = _plain(cell, depth - 1)
        return cells
    return np.asarray(value)


# ---- version 7.3 -----------------------------------------------------------------------


def _of_hdf5(path: Path) -> dict[str, Any]:
    h5py = require("h5py", "netcdf", "MATLAB files of version 7.3")
    refuse_endless_heaps(path)
    with damaged_means(path, "a MATLAB v7.3 file"), h5py.File(path, "r") as file:
        refuse_other_files(file, path)
        refuse_many(path, len(file))
        reader = _Hdf5(file, path)
        found = {name: reader.content(item) for name, item in file.items() if name[0] != "#"}
    if not found:
        raise FormatError(f"{path}: is an HDF5 file without variables: is it a MATLAB file?")
    return found


class _Hdf5:
    """Reads every object of a file once, however often and deeply others refer to it."""

    def __init__(self, file: Any, path: Path) -> None:
        self.file, self.path = file, path
        self.known: dict[Any, Any] = {}

    def content(self, item: Any, depth: int = DEEPEST) -> Any:
        """Return a dataset or group as what it is in MATLAB."""
        key = item.id
        if key not in self.known:
            if len(self.known) == MOST_OBJECTS:
                raise too_many_objects(self.path)
            self.known[key] = None  # what leads back to itself holds nothing there
            read = self._group if hasattr(item, "keys") else self._dataset
            self.known[key] = read(item, depth)
        return self.known[key]

    def _group(self, group: Any, depth: int) -> Any:
        if not depth:
            return None
        return {name: self.content(part, depth - 1) for name, part in group.items()}

    def _dataset(self, item: Any, depth: int) -> Any:
        """Axes are stored backwards, texts as numbers, and cells as references."""
        if item.attrs.get("MATLAB_empty", 0):
            return np.empty((0, 0))
        refuse_stored_elsewhere(item, self.path)
        refuse_vast_dataset(self.path, item.shape or (), item.chunks, item.dtype.itemsize)
        array = item[()].T
        if array.dtype.kind == "O":
            cells = np.empty(array.shape, dtype=object)
            for place, reference in np.ndenumerate(array) if depth else ():
                cells[place] = self.content(self.file[reference], depth - 1)
            return cells
        kind = _decoded(item.attrs.get("MATLAB_class", b""))
        if kind == "char":
            rows = np.atleast_2d(array)
            return np.array(["".join(map(chr, row)).rstrip() for row in rows])
        return array.astype(bool) if kind == "logical" else array


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)
