"""MATLAB files of version 5 (`save -v7` or older).

Written here, a file holds the dense array `X` (NaN where unknown), `labels_0`,
`labels_1` ..., `mode_names` and `value_name`. Chemometric files often hold a tensor
unfolded to a matrix, and its sizes in `DimX`: where `DimX` multiplies to the size of the
chosen matrix, the matrix is folded back in Fortran order, the first mode running fastest.
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
    is_text,
    label_arrays,
    named_arrays,
)
from vaecp.observations import Observations

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def check_installed(suffix: str) -> None:
    """SciPy is always there."""


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    arrays = _load(path)
    tensors = [
        name for name, array in arrays.items() if _is_numeric(array) and not is_reserved(name)
    ]
    # MATLAB has no vectors: 1 x n is one, unless there is nothing else to read.
    wide = [name for name in tensors if sum(size > 1 for size in arrays[name].shape) >= 2]
    name = choose(path, wide or tensors, list(arrays), request)
    array = arrays[name]
    if not _is_numeric(array):
        raise FormatError(
            f"{path}: variable {name!r} is {_kind_of(array)}, not a full array of numbers: save "
            "it as one (cell2mat, full), or name another variable."
        )
    array = _folded(array, arrays.get("DimX"))
    return Observations.from_array(array, **described(arrays, array.ndim, request))


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write observed entries to `path`; errors speak of `shown`."""
    _save(path, {"X": dense(observations, shown)}, observations, shown)


def check_completion(observations: Observations, shown: Path) -> None:
    """Refuse labels and names that .mat cannot hold."""
    _labels(observations, shown)


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    _save(path, named_arrays(completion), completion.observations, shown)


def _load(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    with path.open("rb") as file:
        head = file.read(1024)
    if head[:8] == HDF5_SIGNATURE or head[512:520] == HDF5_SIGNATURE:
        raise FormatError(
            f"{path}: is a MATLAB v7.3 (HDF5) file, which is not read: save it in MATLAB with "
            "save(name, 'X', '-v7')."
        )
    with damaged_means(path, "a MATLAB v5 file"):
        loaded = loadmat(path)
    return {
        name: np.char.rstrip(array)
        if getattr(array, "dtype", None) and array.dtype.kind == "U"
        else array
        for name, array in loaded.items()
        if not name.startswith("__")
    }


def _save(
    path: Path, arrays: dict[str, np.ndarray], observations: Observations, shown: Path
) -> None:
    from scipy.io import savemat

    savemat(path, {**arrays, **_labels(observations, shown)}, do_compression=True)


def _labels(observations: Observations, shown: Path) -> dict[str, np.ndarray]:
    labels = label_arrays(observations, shown)
    for name, array in labels.items():
        if array.dtype.kind == "M":
            raise FormatError(
                f"{shown}: {name} are dates, which .mat cannot hold: use .nc, .npz or .parquet."
            )
        if is_text(array):
            _check_text(array, name, shown)
    return labels


def _check_text(texts: np.ndarray, name: str, shown: Path) -> None:
    """MATLAB pads text of one array with spaces to a common width, in 16-bit characters."""
    for text in texts.tolist():
        if not text or text != text.rstrip() or not all(" " <= c <= "~" for c in text):
            raise FormatError(
                f"{shown}: {name} has the text {text!r}, and .mat holds only ASCII text that does "
                "not end in a space: use .nc, .npz or .parquet."
            )


def _is_numeric(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype.kind in "iufbc"


def _kind_of(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return "sparse or an object"
    return "text" if array.dtype.kind == "U" else "a cell, a struct or an object"


def _folded(array: np.ndarray, sizes: Any) -> np.ndarray:
    if array.ndim != 2 or not _is_numeric(sizes):
        return array
    shape = tuple(int(size) for size in np.ravel(sizes))
    return array.reshape(shape, order="F") if np.prod(shape) == array.size else array
