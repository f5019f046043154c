"""Arrays of NumPy, and the choice among several arrays of a file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from tensor_files import NETCDF

from vaecp.errors import FormatError, ObservationError
from vaecp.formats import read


def test_nan_marks_the_gaps_of_an_array(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, np.nan], [3, 4]]))
    back = read(tmp_path / "a.npy", modes=["row", "column"])
    assert back.mode_names == ("row", "column")
    assert back.gaps().tolist() == [[0, 1]]


def test_an_infinity_in_an_array_is_refused_with_its_place(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1, np.inf], [3, 4]]))
    with pytest.raises(ObservationError, match=r"a\.npy: values\[1\] at \(0, 1\) is inf"):
        read(tmp_path / "a.npy")


@pytest.mark.parametrize("array", [np.ones(3), np.ones((2, 2), dtype=complex), np.array([["a"]])])
def test_arrays_that_are_no_tensor_of_numbers_are_refused(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ObservationError, match=r"a\.npy: .*(mode\(s\)|complex|dtype)"):
        read(tmp_path / "a.npy")


class Bomb:
    """An object whose unpickling would be noticed."""

    def __reduce__(self):
        return (sys.exit, ("unpickled",))


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_objects_are_never_unpickled(tmp_path, suffix):
    array = np.empty((2, 2), dtype=object)
    array[:] = Bomb()
    path = tmp_path / f"bomb{suffix}"
    if suffix == ".npy":
        np.save(path, array, allow_pickle=True)
    else:
        np.savez(path, X=array, numbers=np.ones((2, 2)))
    with pytest.raises(FormatError, match="holds Python objects, which are never loaded"):
        read(path, variable="X" if suffix == ".npz" else None)


def several(tmp_path: Path, suffix: str) -> Path:
    path = tmp_path / f"several{suffix}"
    arrays = {"first": np.ones((2, 3)), "second": np.full((2, 3), 2.0), "line": np.ones(3)}
    if suffix == ".npz":
        np.savez(path, **arrays)
    elif suffix == ".mat":
        savemat(path, arrays)
    else:
        import xarray as xr

        xr.Dataset(
            {"first": (("a", "b"), arrays["first"]), "second": (("a", "b"), arrays["second"])}
        ).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("suffix", [".npz", ".mat", NETCDF])
def test_several_arrays_ask_for_a_choice(tmp_path, suffix):
    path = several(tmp_path, suffix)
    with pytest.raises(FormatError, match=r"2 arrays .*'first', 'second'.*variable='first'"):
        read(path)
    assert read(path, variable="second").values.tolist() == [2.0] * 6
    with pytest.raises(FormatError, match=r"no variable 'third': it has .*'first'"):
        read(path, variable="third")


def test_wide_is_refused_where_there_is_no_header(tmp_path):
    path = tmp_path / "array.npy"
    np.save(path, np.ones((2, 2)))
    with pytest.raises(FormatError, match="only tables have rows and columns"):
        read(path, wide="wavelength")
