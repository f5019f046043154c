"""NumPy's own files. Objects are never unpickled, so reading a file cannot run code.

`.npy` is one dense array, NaN where unknown. `.npz`, as written here, lists entries:
`indices` (n, D) from 0, `values`, `shape`, and beside them `labels_0`, `labels_1` ...,
`mode_names` and `value_name`; so it keeps repeated entries, their order, and tensors that
would be vast if dense. A `.npz` with dense arrays is read too.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats.axes import axes_beside
from vaecp.formats.common import (
    Filled,
    Request,
    choose_array,
    damaged_means,
    dense,
    described,
    is_reserved,
    label_arrays,
    named_arrays,
    refuse_empty_rows,
    refuse_labels,
    refuse_vast,
    sizes_of,
)
from vaecp.runtime.memory import refuse_beyond_memory

COORDINATES = {"indices", "values", "shape"}
"""The arrays of a .npz file that lists entries."""
COPIES = 4
"""Of what such a file holds, while it is read."""
MOST_ARRAYS = 10_000
LONGEST_HEADER = 2**17


def check_installed(suffix: str) -> None:
    """NumPy is always there."""


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    if path.suffix.lower() == ".npz":
        return _read_npz(path, request)
    request.refuse_variable(path)
    with damaged_means(path, "a .npy array"), path.open("rb") as file:
        header = _header(file)
    if header.dtype.hasobject:
        raise _holds_objects(path, "the array")
    with damaged_means(path, "a .npy array"):
        array = np.lib.format.open_memmap(path, mode="r")
    return Observations.from_array(array, mode_names=request.modes or ())


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write observed entries to `path`; errors speak of `shown`."""
    if path.suffix.lower() == ".npy":
        refuse_labels(observations, shown, ".npy")
        np.save(path, dense(observations, shown), allow_pickle=False)
        return
    arrays: dict[str, Any] = {
        "indices": observations.indices,
        "values": observations.values,
        "shape": np.asarray(observations.shape),
        **label_arrays(observations, shown),
    }
    np.savez_compressed(path, **arrays)


def check_completion(observations: Observations, shown: Path) -> None:
    """Refuse labels that .npz cannot hold; .npy holds none."""
    if shown.suffix.lower() == ".npz":
        label_arrays(observations, shown)


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    arrays = named_arrays(completion)
    if path.suffix.lower() == ".npy":
        stacked = np.stack([arrays[name] for name in ("mean", "std", "low", "high")])
        np.save(path, stacked, allow_pickle=False)
        return
    named: dict[str, Any] = {**arrays, **label_arrays(completion.observations, shown)}
    np.savez_compressed(path, **named)


class _Header(NamedTuple):
    """What a .npy array says of itself before its numbers, and where these begin."""

    shape: tuple[int, ...]
    dtype: np.dtype
    length: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_tensor(self) -> bool:
        return len(self.shape) >= 2 and self.dtype.kind in "iufb"


def _header(archive: IO[bytes]) -> _Header:
    file = io.BytesIO(archive.read(LONGEST_HEADER))  # one can declare to be 4 GB long
    version = np.lib.format.read_magic(file)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(file)
    if any(size < 0 for size in shape):
        raise ValueError(f"its shape is {shape}")
    return _Header(shape, dtype, file.tell())


def _holds_objects(path: Path, what: str) -> FormatError:
    return FormatError(
        f"{path}: {what} holds Python objects, which are never loaded, because loading them could "
        "run code: save an array of numbers."
    )


def _read_npz(path: Path, request: Request) -> Observations:
    with damaged_means(path, "a .npz archive"), zipfile.ZipFile(path) as archive:
        headers = _headers(archive, path)
        names = COORDINATES if request.variable is None and headers.keys() >= COORDINATES else None
        if names is None:
            tensors = [n for n, h in headers.items() if h.is_tensor and not is_reserved(n)]
            names = {choose_array(path, tensors, list(headers), request)}
        for name in names:
            if headers[name].dtype.hasobject:
                raise _holds_objects(path, f"variable {name!r}")
        wanted = names | {n for n, h in headers.items() if is_reserved(n) and not h.dtype.hasobject}
        if names != COORDINATES:
            wanted |= _vectors(headers, headers[min(names)].shape)
        refuse_beyond_memory(path, COPIES * sum(headers[name].n_bytes for name in wanted))
        arrays = {name: _array(archive, name) for name in headers if name in wanted}
    if names == COORDINATES:
        return _from_coordinates(arrays, request, path)
    refuse_vast(path, headers[min(names)].shape)
    return _from_dense(arrays.pop(min(names)), arrays, request)


def _vectors(headers: Mapping[str, _Header], shape: tuple[int, ...]) -> set[str]:
    """Return the names of arrays that may be axes of an array of this shape."""
    return {
        name
        for name, header in headers.items()
        if len(header.shape) == 1 and header.shape[0] in shape and header.dtype.kind in "iufUM"
    }


def _from_dense(array: np.ndarray, others: Mapping[str, Any], request: Request) -> Observations:
    """Take the entries of an array, with what the others of its file say of its modes."""
    plain = {name: other for name, other in others.items() if not is_reserved(name)}
    axes = axes_beside(array.shape, plain)
    own = [
        np.arange(size) if axis is None else axis
        for size, axis in zip(array.shape, axes.labels, strict=True)
    ]
    stated = described(others, own, request)
    if not stated["mode_names"]:
        stated["mode_names"] = [name or f"mode {mode}" for mode, name in enumerate(axes.names)]
    notes = () if any(name.startswith("labels_") for name in others) else axes.notes
    return replace(Observations.from_array(array, **stated), notes=notes)


def _headers(archive: zipfile.ZipFile, path: Path) -> dict[str, _Header]:
    """Return what the arrays say of themselves; one that declares more than it holds is refused."""
    headers = {}
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if len(members) > MOST_ARRAYS:
        raise FormatError(
            f"{path}: holds {len(members):,} arrays: save the one that is meant in a file of its own."
        )
    for info in members:
        name = info.filename.removesuffix(".npy")
        with archive.open(info) as file:
            header = _header(file)
        if not header.dtype.hasobject and header.length + header.n_bytes != info.file_size:
            raise FormatError(
                f"{path}: the array {name!r:.80} declares {header.n_bytes:,} bytes of numbers, but "
                f"the archive has {info.file_size - header.length:,}: write it again."
            )
        headers[name] = header
    return headers


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _from_coordinates(arrays: dict[str, np.ndarray], request: Request, path: Path) -> Observations:
    shape = sizes_of(arrays["shape"], "shape", path)
    refuse_empty_rows(path, shape, len(arrays["values"]) if arrays["values"].ndim else 0)
    listed = Observations(
        arrays["indices"],
        arrays["values"],
        shape,
        **described(arrays, [np.arange(size) for size in shape], request),
    )
    return request.settle(listed)
