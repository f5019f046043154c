"""NetCDF through xarray: dimensions are modes, coordinates are labels, NaN is a gap."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats.common import (
    RESULTS,
    Filled,
    Request,
    choose_array,
    damaged_means,
    dense,
    is_text,
    named_arrays,
)
from vaecp.formats.hdf5 import (
    refuse_endless_heaps,
    refuse_other_files,
    refuse_stored_elsewhere,
    refuse_vast_dataset,
)
from vaecp.runtime.extras import require
from vaecp.runtime.memory import refuse_beyond_memory

MOST_VARIABLES = 1_000
BYTES_OF_LABEL = 64


def check_installed(suffix: str) -> Any:
    """Import xarray and the library beneath it, and return xarray."""
    xarray = require("xarray", "netcdf", "a .nc file")
    require("h5netcdf", "netcdf", "a .nc file")
    require("h5py", "netcdf", "a .nc file")
    return xarray


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    with path.open("rb") as file:
        classic = file.read(3) == b"CDF"
    xarray = require("xarray", "netcdf", "a .nc file") if classic else check_installed(path.suffix)
    with damaged_means(path, "a NetCDF file"):
        shapes = _shapes_of_classic(path) if classic else _shapes_of_hdf5(path)
        _refuse_many(path, shapes)
        with xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf") as dataset:
            array = _chosen(dataset, path, request).load()
    if request.modes:
        if len(request.modes) != array.ndim:
            raise FormatError(
                f"{path}: modes names {len(request.modes)} axes, but variable {array.name!r} has "
                f"{array.ndim} ({', '.join(map(str, array.dims))}): name each of them."
            )
        array = array.rename(dict(zip(array.dims, request.modes, strict=True)))
    return Observations.from_array(array)


def _shapes_of_classic(path: Path) -> list[tuple[int, ...]]:
    from scipy.io import netcdf_file

    # A file object takes the memory for all that the header declares; a map takes what the file holds.
    with (
        path.open("rb") as held,
        mmap.mmap(held.fileno(), 0, access=mmap.ACCESS_READ) as content,
        netcdf_file(content) as file,
    ):
        return [tuple(variable.shape) for variable in file.variables.values()]


def _shapes_of_hdf5(path: Path) -> list[tuple[int, ...]]:
    import h5py

    refuse_endless_heaps(path)
    with h5py.File(path) as file:
        refuse_other_files(file, path)
        found = [item for item in file.values() if isinstance(item, h5py.Dataset)]
        for item in found:
            refuse_stored_elsewhere(item, path)
        return [item.shape or () for item in found]


def _refuse_many(path: Path, shapes: list[tuple[int, ...]]) -> None:
    """Refuse what would take long, or memory without end, when the file is opened.

    Labels are read then, whichever variable is chosen.
    """
    if len(shapes) > MOST_VARIABLES:
        raise FormatError(
            f"{path}: holds {len(shapes):,} variables, and {MOST_VARIABLES:,} at most are looked "
            "through: write the one that is meant to a file of its own."
        )
    labels = sum(float(shape[0]) for shape in shapes if len(shape) == 1)
    refuse_beyond_memory(path, BYTES_OF_LABEL * labels)


def _chosen(dataset: Any, path: Path, request: Request) -> Any:
    tensors = [
        str(name)
        for name, array in dataset.data_vars.items()
        if array.ndim >= 2 and array.dtype.kind in "iufb"
    ]
    array = dataset[choose_array(path, tensors, [str(name) for name in dataset.variables], request)]
    chunks = array.encoding.get("chunksizes")
    refuse_vast_dataset(path, array.shape, chunks, array.dtype.itemsize)
    return array


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write observed entries to `path`; errors speak of `shown`."""
    _save({observations.value_name: dense(observations, shown)}, observations, path, shown)


def check_completion(observations: Observations, shown: Path) -> None:
    """Refuse labels and names that .nc cannot hold."""
    _coords(RESULTS, observations, shown)


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    _save(named_arrays(completion), completion.observations, path, shown)


def _save(arrays: dict[str, Any], observations: Observations, path: Path, shown: Path) -> None:
    xarray = check_installed(path.suffix)
    coords = _coords(arrays, observations, shown)
    dims = observations.mode_names
    variables = {name: (dims, array) for name, array in arrays.items()}
    # In memory first: on a full disk the HDF5 library complains of every object that it closes.
    content = xarray.Dataset(variables, coords).to_netcdf(engine="h5netcdf")
    path.write_bytes(content)


def _coords(arrays: Iterable[str], observations: Observations, shown: Path) -> dict[str, Any]:
    """Return the labels of every mode, or say which name or label a .nc file cannot hold."""
    for name in (*observations.mode_names, *arrays):
        if not name or "/" in name or name != name.strip() or "\0" in name:
            raise FormatError(
                f"{shown}: {name!r} cannot be a name in a .nc file: rename it without slashes and "
                "outer spaces."
            )
    for name in observations.mode_names:
        if name in arrays:
            raise FormatError(
                f"{shown}: {name!r} is the name of a mode and of the values, which a .nc file "
                "cannot hold: rename the mode."
            )
    coords = {}
    for name, labels in zip(observations.mode_names, observations.labels, strict=True):
        if labels.dtype.kind not in "iufbM" and not is_text(labels):
            raise FormatError(
                f"{shown}: mode {name!r} has the label {labels[0]!r} "
                f"({type(labels[0]).__name__}), which a .nc file cannot hold: use numbers, text or "
                "dates as labels."
            )
        coords[name] = labels.astype(object) if is_text(labels) else labels
    return coords
