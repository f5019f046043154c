"""NetCDF through xarray: dimensions are modes, coordinates are labels, NaN is a gap."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vaecp.errors import FormatError
from vaecp.extras import require
from vaecp.formats.common import (
    RESULTS,
    Filled,
    Request,
    choose,
    damaged_means,
    dense,
    is_text,
    named_arrays,
)
from vaecp.observations import Observations


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
    with (
        damaged_means(path, "a NetCDF file"),
        xarray.open_dataset(path, engine="scipy" if classic else "h5netcdf") as opened,
    ):
        dataset = opened.load()
    tensors = [
        str(name)
        for name, array in dataset.data_vars.items()
        if array.ndim >= 2 and array.dtype.kind in "iufb"
    ]
    name = choose(path, tensors, [str(name) for name in dataset.variables], request)
    array = dataset[name]
    if request.modes:
        if len(request.modes) != array.ndim:
            raise FormatError(
                f"{path}: modes names {len(request.modes)} axes, but variable {name!r} has "
                f"{array.ndim} ({', '.join(map(str, array.dims))}): name each of them."
            )
        array = array.rename(dict(zip(array.dims, request.modes, strict=True)))
    return Observations.from_array(array)


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
    xarray.Dataset(variables, coords).to_netcdf(path, engine="h5netcdf")


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
