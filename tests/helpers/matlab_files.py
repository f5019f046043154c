"""Write MATLAB files as MATLAB does: version 5 with SciPy, version 7.3 as HDF5 with h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat
from scipy.io.matlab import MatlabObject


def cell(*rows: Any) -> np.ndarray:
    """Return a cell array: a row per argument, which is a list of its columns."""
    found = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, row in enumerate(rows):
        for column, content in enumerate(row):
            found[place, column] = content
    return found


def write_v5(path: Path, variables: dict[str, Any], class_name: str | None = None) -> Path:
    """Write variables; structs are objects of a class where one is named."""
    if class_name is not None:
        variables = {
            name: _object(value, class_name) if isinstance(value, dict) else value
            for name, value in variables.items()
        }
    savemat(path, variables, do_compression=True)
    return path


def _object(fields: dict[str, Any], class_name: str) -> MatlabObject:
    record = np.empty((1, 1), dtype=[(name, object) for name in fields])
    for name, value in fields.items():
        record[name][0, 0] = value
    return MatlabObject(record, class_name)


def write_v73(path: Path, variables: dict[str, Any]) -> Path:
    """Write variables as MATLAB's `save -v7.3`: HDF5 behind a header of 512 bytes."""
    import h5py

    with h5py.File(path, "w", userblock_size=512) as file:
        heap = file.create_group("#refs#")
        for name, value in variables.items():
            _put(file, name, value, heap)
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, written for a test".ljust(116))
    return path


def _put(group: Any, name: str, value: Any, heap: Any) -> None:
    import h5py

    if isinstance(value, dict):
        inner = group.create_group(name)
        inner.attrs["MATLAB_class"] = np.bytes_("struct")
        for field, content in value.items():
            _put(inner, field, content, heap)
        return
    if isinstance(value, str):
        value = np.array([value])
    value = np.asarray(value)
    if value.dtype.kind == "O":
        references = np.empty(value.shape, dtype=h5py.ref_dtype)
        for place, content in np.ndenumerate(value):
            key = f"r{len(heap)}"
            _put(heap, key, content, heap)
            references[place] = heap[key].ref
        item, kind = group.create_dataset(name, data=references.T, dtype=h5py.ref_dtype), "cell"
    elif not value.size:
        item = group.create_dataset(name, data=np.array(value.shape or (0, 0), dtype="u8"))
        item.attrs["MATLAB_empty"], kind = np.uint8(1), "double"
    elif value.dtype.kind == "U":
        width = max(map(len, value.ravel()))
        codes = np.array([[ord(letter) for letter in text.ljust(width)] for text in value.ravel()])
        item, kind = group.create_dataset(name, data=codes.T.astype("u2")), "char"
    else:
        item, kind = group.create_dataset(name, data=value.T), "double"
    item.attrs["MATLAB_class"] = np.bytes_(kind)
