"""What chemometricians keep in .mat files: dataset objects, structs, vectors beside arrays."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from matlab_files import cell, write_v5, write_v73
from scipy.io import savemat

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats import read, write
from vaecp.formats.matlab_variables import size_when_read

pytest.importorskip("h5py", reason="version 7.3 is HDF5")
DATA = Path(os.environ.get("VAECP_DATA", "/nonexistent"))
EMPTY = np.empty((0, 0))
EMISSION, EXCITATION = np.arange(250.0, 271.0, 5.0), np.array([[230.0, 235.0, 240.0, 245.5]])
NAMES = np.array(["blank", "tea", "wine"])


def eem():
    """A dataset object of the form that the N-way toolbox keeps fluorescence in."""
    data = np.random.default_rng(0).random(size=(3, 5, 4))
    data[:, 0, 2:] = np.nan
    return {
        "name": "EEM",
        "type": "data",
        "author": "somebody",
        "date": np.array([[2001.0, 5.0, 1.0, 12.0, 0.0, 0.5]]),
        "data": data,
        "label": cell([NAMES, "Code"], [EMPTY, ""], [EMPTY, ""]),
        "axisscale": cell(
            [np.array([[9.0, 1.0, 4.0]]), "Sample Number"],
            [EMISSION[None], "Wavelength/nm"],
            [EXCITATION, "Wavelength/nm"],
        ),
        "title": cell(["Sample", ""], ["Emission", ""], ["Excitation", ""]),
        "class": cell([EMPTY, ""], [EMPTY, ""], [EMPTY, ""]),
        "include": cell([np.array([[1.0, 2.0, 3.0]])], [np.arange(1.0, 6)], [np.arange(1.0, 5)]),
        "description": "fluorescence landscapes",
        "history": EMPTY,
    }


def concentrations():
    table = {"data": np.random.default_rng(1).random(size=(3, 2))}
    return table | {"title": cell(["Sample", ""], ["Concentration", ""]), "axisscale": EMPTY}


WRITERS = {
    "v5 struct": write_v5,
    "v5 object": lambda path, variables: write_v5(path, variables, "dataset"),
    "v7.3": write_v73,
}
every_version = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


@every_version
def test_a_dataset_object_opens_without_an_option_and_shows_its_wavelengths(tmp_path, writer):
    content = eem()
    found = read(writer(tmp_path / "x.mat", {"EEM": content, "Y": concentrations()}))
    assert found.mode_names == ("Sample", "Emission", "Excitation")
    assert found.value_name == "EEM"
    assert found.labels[0].tolist() == ["blank", "tea", "wine"]
    assert found.labels[1].tolist() == [250, 255, 260, 265, 270]
    assert found.labels[2].tolist() == [230.0, 235.0, 240.0, 245.5]
    np.testing.assert_array_equal(found.to_array(), content["data"])


@every_version
def test_another_dataset_object_of_the_file_can_be_asked_for(tmp_path, writer):
    path = writer(tmp_path / "x.mat", {"EEM": eem(), "Y": concentrations()})
    found = read(path, variable="Y")
    assert found.mode_names == ("Sample", "Concentration")
    np.testing.assert_array_equal(found.to_array(), concentrations()["data"])


@every_version
def test_rows_that_are_not_included_are_left_out(tmp_path, writer):
    content = eem()
    content["include"][0, 0] = np.array([[1.0, 3.0]])
    content["include"][1, 0] = np.array([[2.0, 3.0, 4.0]])
    found = read(writer(tmp_path / "x.mat", {"EEM": content}))
    assert found.labels[0].tolist() == ["blank", "wine"]
    assert found.labels[1].tolist() == [255, 260, 265]
    np.testing.assert_array_equal(found.to_array(), content["data"][[0, 2]][:, 1:4])


def test_samples_without_names_have_their_numbers_and_modes_without_titles_their_scale(tmp_path):
    content = eem()
    content["label"][0, 0] = np.array(["a", "a", "b"])  # repeated, so no labels
    content["title"][1, 0] = EMPTY
    content["title"][2, 0] = EMPTY
    found = read(write_v5(tmp_path / "x.mat", {"EEM": content}))
    assert found.labels[0].tolist() == [9, 1, 4]
    assert found.mode_names == ("Sample", "Wavelength/nm", "Wavelength/nm 2")


def test_sets_of_labels_beyond_the_first_are_left_aside(tmp_path):
    content = eem()
    three = np.empty((3, 2, 2), dtype=object)
    three[:, :, 0], three[:, :, 1] = (
        content["axisscale"],
        cell([EMPTY, ""], [EMPTY, ""], [EMPTY, ""]),
    )
    found = read(write_v5(tmp_path / "x.mat", {"EEM": content | {"axisscale": three}}))
    assert found.labels[1].tolist() == EMISSION.tolist()


def dreem():
    """A struct of the form that drEEM keeps: array and axes are fields."""
    array = np.random.default_rng(2).random(size=(3, 5, 4))
    files = cell(["one.csv"], ["two.csv"], ["three.csv"])
    return {"X": array, "Em": EMISSION[:, None], "Ex": EXCITATION.T, "nEm": 5.0, "filelist": files}


@every_version
def test_an_array_and_its_axes_are_found_in_a_struct(tmp_path, writer):
    path = writer(tmp_path / "x.mat", {"data": dreem(), "n": np.array([[3.0]])})
    for asked in (None, "data", "data.X"):
        found = read(path, variable=asked)
        assert found.mode_names == ("filelist", "Em", "Ex")
        assert found.labels[0].tolist() == ["one.csv", "two.csv", "three.csv"]
        assert found.labels[1].tolist() == EMISSION.tolist()
        np.testing.assert_array_equal(found.to_array(), dreem()["X"])


@pytest.mark.parametrize("writer", [write_v5, write_v73])
def test_vectors_of_the_lengths_of_modes_become_axes_and_others_do_not(tmp_path, writer):
    array = np.random.default_rng(3).random(size=(5, 7, 4, 4))
    beside = {
        "time": np.arange(7.0)[::-1],
        "concentration": np.array([0.3, 0.1, 0.7, 0.2, 0.4]),  # no order, so no axis
        "four": np.arange(4.0),  # two modes have this length
        "eleven": np.arange(11.0),
    }
    variables = {name: values[None] for name, values in beside.items()}
    found = read(writer(tmp_path / "x.mat", {"signal": array, **variables}))
    assert found.mode_names == ("mode 0", "time", "mode 2", "mode 3")
    assert found.labels[1].tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert found.labels[0].tolist() == [0, 1, 2, 3, 4]
    assert found.value_name == "signal"


def test_two_vectors_of_one_length_name_no_mode_and_a_note_says_so(tmp_path):
    variables = {"X": np.ones((3, 5)), "first": EMISSION[None], "second": EMISSION[None] + 1}
    found = read(write_v5(tmp_path / "x.mat", variables))
    assert found.mode_names == ("mode 0", "mode 1")
    assert "'first' and 'second' could label mode 1, which has 5 rows" in found.notes[0]
    assert found.notes[0].endswith("Save the right labels as labels_1 in the file.")


def test_an_axis_that_fits_two_modes_is_named_and_labels_of_a_mode_settle_it(tmp_path):
    variables = {"X": np.ones((3, 5, 5)), "nm": EMISSION[None]}
    found = read(write_v5(tmp_path / "x.mat", variables))
    assert "'nm' could label modes 1 and 2, which have 5 rows" in found.notes[0]
    settled = read(write_v5(tmp_path / "y.mat", variables | {"labels_2": EMISSION[None]}))
    assert settled.labels[2].tolist() == EMISSION.tolist()
    assert settled.labels[1].tolist() == [0, 1, 2, 3, 4]
    assert settled.notes == ()


def test_vectors_in_a_npz_file_become_axes_too(tmp_path):
    days = np.array(["2024-01-31", "2024-02-01", "2024-02-02"], dtype="datetime64[D]")
    shared = {"X": np.ones((3, 5)), "day": days}
    np.savez(tmp_path / "x.npz", **shared, nm=EMISSION)
    found = read(tmp_path / "x.npz")
    assert found.mode_names == ("day", "nm")
    assert found.labels[1].tolist() == EMISSION.tolist()
    np.savez(tmp_path / "y.npz", **shared, nm=EMISSION, other=-EMISSION)
    unclear = read(tmp_path / "y.npz")
    assert unclear.mode_names == ("day", "mode 1")
    assert "'nm' and 'other' could label mode 1" in unclear.notes[0]


def test_the_array_of_the_most_modes_is_taken(tmp_path):
    tensor = np.arange(24.0).reshape(2, 3, 4)
    matrices = {"y": np.ones((2, 3)), "X": tensor.reshape(2, 12, order="F")}
    path = write_v5(tmp_path / "x.mat", matrices | {"DimX": np.array([[2, 3, 4]])})
    np.testing.assert_array_equal(read(path).to_array(), tensor)
    assert read(path, variable="y").shape == (2, 3)


def test_names_given_by_the_caller_win(tmp_path):
    found = read(write_v5(tmp_path / "x.mat", {"EEM": eem()}), modes=["s", "em", "ex"])
    assert found.mode_names == ("s", "em", "ex")
    assert found.labels[1].tolist() == EMISSION.tolist()


def test_a_tensor_is_written_back_with_its_names_and_labels(tmp_path):
    found = read(write_v5(tmp_path / "x.mat", {"EEM": eem()}))
    write(found, tmp_path / "back.mat")
    again = read(tmp_path / "back.mat")
    assert again.mode_names == found.mode_names
    assert again.value_name == "EEM"
    for one, other in zip(again.labels, found.labels, strict=True):
        assert one.tolist() == other.tolist()
    np.testing.assert_array_equal(again.to_array(), found.to_array())


@pytest.mark.parametrize("writer", [write_v5, write_v73])
def test_several_structs_with_tensors_ask_for_a_choice(tmp_path, writer):
    path = writer(tmp_path / "x.mat", {"a": dreem(), "b": dreem()})
    with pytest.raises(FormatError, match=r"2 arrays .*'a\.X', 'b\.X'.*variable='a\.X'"):
        read(path)
    assert read(path, variable="b").shape == (3, 5, 4)


def test_structs_that_lead_into_each_other_for_ever_are_left(tmp_path):
    import h5py

    path = write_v73(tmp_path / "x.mat", {"X": np.ones((2, 3))})
    with h5py.File(path, "r+") as file:
        file["loop"] = file["/"]
    assert read(path).shape == (2, 3)


def test_an_hdf5_file_without_variables_is_refused(tmp_path):
    with pytest.raises(FormatError, match="is an HDF5 file without variables"):
        read(write_v73(tmp_path / "x.mat", {}))


def test_the_size_of_a_compressed_file_is_known_before_it_is_read(tmp_path):
    path = write_v5(tmp_path / "x.mat", {"X": np.zeros((1000, 1000))})
    assert path.stat().st_size < 20_000
    assert 8_000_000 <= size_when_read(path) < 8_001_000


def test_the_written_file_is_one_that_observations_came_from(tmp_path):
    original = Observations.from_array(
        np.arange(6.0).reshape(2, 3), mode_names=["a", "b"], labels=[["x", "y"], [1, 2, 3]]
    )
    write(original, tmp_path / "x.mat")
    assert read(tmp_path / "x.mat").labels[1].tolist() == [1, 2, 3]


def test_a_matlab_matrix_is_folded_by_dimx_in_fortran_order(tmp_path):
    tensor = np.arange(24.0).reshape(2, 3, 4)
    unfolded = tensor.reshape(2, 12, order="F")
    savemat(tmp_path / "x.mat", {"X": unfolded, "DimX": np.array([[2, 3, 4]])})
    np.testing.assert_array_equal(read(tmp_path / "x.mat").to_array(), tensor)


def test_matlab_cells_and_structs_are_refused(tmp_path):
    cell = np.empty((2, 2), dtype=object)
    cell[:] = "a"
    savemat(tmp_path / "x.mat", {"X": np.ones((2, 2)), "C": cell, "S": {"field": 1.0}})
    assert read(tmp_path / "x.mat").shape == (2, 2)
    for name, kind in (("C", "a cell"), ("S", "a struct")):
        with pytest.raises(FormatError, match=f"variable '{name}' is {kind}, not a full array"):
            read(tmp_path / "x.mat", variable=name)


def test_a_damaged_matlab_file_of_version_7_3_is_refused(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(FormatError, match=r"truncated or is not a MATLAB v7\.3 file"):
        read(path)


@pytest.mark.skipif(not DATA.is_dir(), reason="VAECP_DATA names no folder with the real tensors")
def test_published_matlab_tensors_have_their_published_sizes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(DATA / "amino" / "claus.mat", variable="X").shape == (5, 201, 61)
        assert read(DATA / "fia" / "fia.mat", variable="X").shape == (12, 100, 89)
        assert read(DATA / "amino" / "claus.mat").shape == (5, 201, 61)
        assert read(DATA / "fia" / "fia.mat").shape == (12, 100, 89)
