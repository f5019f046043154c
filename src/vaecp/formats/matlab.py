"""MATLAB files: version 5 (`save -v7` or older), and version 7.3, which is HDF5.

Written here, a file is of version 5 and holds the dense array `X` (NaN where unknown),
`labels_0`, `labels_1` ..., `mode_names` and `value_name`. What other programs put beside an array
is read as `matlab_structs` says. Of several arrays the one of the most modes is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats.axes import cell_texts, is_numeric
from vaecp.formats.common import (
    Filled,
    Request,
    choose_array,
    dense,
    described,
    is_reserved,
    is_text,
    label_arrays,
    named_arrays,
    sizes_of,
)
from vaecp.formats.matlab_structs import NamedArray, most_modes, tensors
from vaecp.formats.matlab_variables import variables

DIMX = "DimX"


def check_installed(suffix: str) -> None:
    """SciPy is always there."""


def read(path: Path, request: Request) -> Observations:
    """Read a file of this kind; see the module."""
    request.refuse_value(path)
    found = _with_texts(variables(path))
    if DIMX in found:
        sizes_of(found[DIMX], DIMX, path)
    known = tensors(
        {name: value for name, value in found.items() if name == DIMX or not is_reserved(name)}
    )
    name = _chosen(path, found, known, request)
    if name in known:
        tensor = known[name]
    else:
        array = found.get(name)
        if not is_numeric(array):
            raise FormatError(
                f"{path}: variable {name!r} is {_kind_of(array)}, not a full array of numbers: save "
                "it as one (cell2mat, full), or name another variable."
            )
        tensor = NamedArray(array, (None,) * array.ndim, (None,) * array.ndim)
    stated = tensor.described()
    said = described(found, stated["labels"], request)
    stated |= {key: part for key, part in said.items() if part}
    notes = () if any(name.startswith("labels_") for name in found) else tensor.notes
    return replace(Observations.from_array(stated.pop("array"), **stated), notes=notes)


def _with_texts(found: dict[str, Any]) -> dict[str, Any]:
    """Take labels and names out of the cells that hold one text each."""
    cells = {
        name: cell_texts(value)
        for name, value in found.items()
        if is_reserved(name) and isinstance(value, np.ndarray) and value.dtype.kind == "O"
    }
    return found | {name: np.array(texts) for name, texts in cells.items() if texts}


def _chosen(
    path: Path, found: dict[str, Any], known: dict[str, NamedArray], request: Request
) -> str:
    """Return the name of the one tensor to read; one in a struct is called by both names."""
    if request.variable is not None:
        inside = [name for name in known if name.startswith(f"{request.variable}.")]
        if request.variable not in known and inside:
            return choose_array(
                path, _most(known, inside), list(known), replace(request, variable=None)
            )
        return choose_array(path, [], [*found, *known], request)
    # MATLAB has no vectors: 1 x n is one, unless there is nothing else to read.
    vectors = [name for name, value in found.items() if is_numeric(value) and not is_reserved(name)]
    return choose_array(path, most_modes(known) or vectors, list(found), request)


def _most(known: dict[str, NamedArray], names: list[str]) -> list[str]:
    return most_modes({name: known[name] for name in names})


def write(observations: Observations, path: Path, shown: Path) -> None:
    """Write observed entries to `path`; errors speak of `shown`."""
    _save(path, {"X": dense(observations, shown)}, observations, shown)


def check_completion(observations: Observations, shown: Path) -> None:
    """Refuse labels and names that .mat cannot hold."""
    _labels(observations, shown)


def write_completion(completion: Filled, path: Path, shown: Path) -> None:
    """Write every entry of a completion to `path`; errors speak of `shown`."""
    _save(path, named_arrays(completion), completion.observations, shown)


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


def _kind_of(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a struct"
    if not isinstance(value, np.ndarray):
        return "sparse or an object"
    return "text" if value.dtype.kind == "U" else "a cell"
