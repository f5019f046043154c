"""NumPy's own files. Objects are never unpickled, so reading a file cannot run code.

`.npy` is one dense array, NaN where unknown. `.npz`, as written here, lists entries:
`indices` (n, D) from 0, `values`, `shape`, and beside them `labels_0`, `labels_1` ...,
`mode_names` and `value_name`; so it keeps repeated entries, their order, and tensors that
would be vast if dense. A `.npz` with dense arrays is read too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vaecp.errors import FormatError
from vaecp.formats.common import (
    Filled,
    Request,
    choose,
    damaged_means,
    dense,
    described,
    is_reserved,
    label_arrays,
    named_arrays,
    refuse_labels,
)
from vaecp.observations import Observations


def check_installed(suffix: str) -> None:
    """NumPy is always there."""


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    if path.suffix.lower() == ".npz":
        return _read_npz(path, request)
    request.refuse_variable(path)
    _refuse_objects(path)
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


def _refuse_objects(path: Path) -> None:
    with damaged_means(path, "a .npy array"), path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version, np.lib.format.read_array_header_2_0)
        dtype = read_header(file)[2]
    if dtype.hasobject:
        raise _holds_objects(path, "the array")


def _holds_objects(path: Path, what: str) -> FormatError:
    return FormatError(
        f"{path}: {what} holds Python objects, which are never loaded, because loading them could "
        "run code: save an array of numbers."
    )


def _read_npz(path: Path, request: Request) -> Observations:
    arrays: dict[str, np.ndarray] = {}
    with (
        damaged_means(path, "a .npz archive"),
        path.open("rb") as file,  # np.load leaves a file that it opened itself open on failure
        np.load(file, allow_pickle=False) as archive,
    ):
        every = list(archive.files)
        for name in every:
            try:
                arrays[name] = archive[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
    if request.variable is None and {"indices", "values", "shape"} <= arrays.keys():
        return _from_coordinates(arrays, request)
    tensors = [
        name
        for name, array in arrays.items()
        if array.ndim >= 2 and array.dtype.kind in "iufb" and not is_reserved(name)
    ]
    name = choose(path, tensors, every, request)
    if name not in arrays:
        raise _holds_objects(path, f"variable {name!r}")
    array = arrays[name]
    return Observations.from_array(array, **described(arrays, array.ndim, request))


def _from_coordinates(arrays: dict[str, np.ndarray], request: Request) -> Observations:
    shape = tuple(np.ravel(arrays["shape"]).tolist())
    listed = Observations(
        arrays["indices"], arrays["values"], shape, **described(arrays, len(shape), request)
    )
    return request.settle(listed)
