"""Completing arrays: what is kept, what is filled, and in which container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from row_means import RowMeanModel

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, ObservationError
from vaecp.formats import read, write_completion
from vaecp.outcomes import completion as completion_module
from vaecp.outcomes.completion import Completion, complete, fill

xr = pytest.importorskip("xarray")
NAN = np.nan
TABLE = np.array([[1.0, 2.0, NAN], [4.0, NAN, 6.0]])


SCALE = np.nanstd(TABLE)
MEANS = np.array([[1.5] * 3, [5.0] * 3])


def test_gaps_take_the_mean_and_observed_values_stay():
    result = complete(TABLE, RowMeanModel())
    np.testing.assert_allclose(result.mean, MEANS)
    np.testing.assert_allclose(result.filled, [[1, 2, 1.5], [4, 5, 6]])
    np.testing.assert_array_equal(result.observed, ~np.isnan(TABLE))


def test_spreads_are_in_the_units_of_the_data_and_add_in_squares():
    result = complete(TABLE, RowMeanModel())
    np.testing.assert_allclose(result.noise_std, 0.6 * SCALE)
    np.testing.assert_allclose(result.ignorance_std, 0.8 * SCALE)
    np.testing.assert_allclose(result.std, SCALE)


def test_the_interval_is_that_of_a_normal_distribution():
    result = complete(TABLE, RowMeanModel(), coverage=0.5)
    low, high = result.interval(0.9)
    np.testing.assert_allclose(high - low, 2 * 1.6448536269514722 * SCALE)
    low, high = result.interval()
    np.testing.assert_allclose(high - low, 2 * 0.6744897501960817 * SCALE)


def test_a_masked_array_hides_what_it_masks():
    masked = np.ma.masked_array(np.where(np.isnan(TABLE), 1e9, TABLE), mask=np.isnan(TABLE))
    np.testing.assert_allclose(complete(masked, RowMeanModel()).mean, MEANS)


def test_a_dataarray_comes_back_as_one_with_its_coordinates():
    array = xr.DataArray(
        TABLE,
        dims=("row", "day"),
        coords={"row": ["b", "a"], "day": [3, 1, 2]},
        attrs={"unit": "K"},
    )
    result = complete(array, RowMeanModel())
    xr.testing.assert_identical(
        result.filled.round(9), array.copy(data=[[1, 2, 1.5], [4, 5, 6]]).rename("filled")
    )
    assert result.mean.sel(row="a", day=1).item() == pytest.approx(5.0)
    assert result.observed.dtype == bool


def test_observations_complete_as_their_array_does():
    result = complete(Observations.from_array(TABLE), RowMeanModel())
    np.testing.assert_allclose(result.mean, MEANS)


def test_the_given_model_stays_unfitted_and_the_result_holds_a_fitted_one():
    model = RowMeanModel()
    result = complete(TABLE, model)
    assert not hasattr(model, "fitted_")
    np.testing.assert_allclose(result.model.predict([[1, 0]]), 5.0)


def test_chunks_do_not_change_the_result(monkeypatch):
    whole = complete(TABLE, RowMeanModel()).mean
    monkeypatch.setattr(completion_module, "CHUNK", 4)
    np.testing.assert_array_equal(complete(TABLE, RowMeanModel()).mean, whole)


def test_a_fitted_model_fills_entries_that_it_did_not_see():
    training = Observations.from_array([[1.0, 2.0, NAN], [4.0, NAN, NAN]])
    result = fill(RowMeanModel().fit_tensor(training), Observations.from_array(TABLE))
    np.testing.assert_allclose(result.filled, [[1, 2, 1.5], [4, 4, 6]])


def test_the_frame_has_one_row_per_entry():
    frame = complete(TABLE, RowMeanModel()).to_frame()
    assert list(frame) == ["mode 0", "mode 1", "value", "observed", "mean", "std", "low", "high"]
    assert frame["observed"].tolist() == [True, True, False, True, False, True]
    np.testing.assert_allclose(frame["value"], [1, 2, 1.5, 4, 5, 6])
    assert frame[["mode 0", "mode 1"]].to_numpy().tolist()[2] == [0, 2]


def test_the_representation_counts_the_gaps():
    text = "Completion(Observations(2 x 3, 4 of 6 entries observed), 2 filled)"
    assert repr(complete(TABLE, RowMeanModel())) == text


@pytest.mark.parametrize("coverage", [0, 1, 90, NAN])
def test_a_coverage_outside_zero_to_one_is_refused_before_fitting(coverage):
    with pytest.raises(ObservationError, match="use a number between 0 and 1"):
        complete(TABLE, model=object(), coverage=coverage)


@pytest.mark.parametrize("model", ["vaecp", RowMeanModel])
def test_a_model_that_is_no_estimator_is_refused(model):
    with pytest.raises(TypeError, match="pass an estimator of this library"):
        complete(TABLE, model)


def test_a_mode_with_the_name_of_a_result_column_is_refused():
    result = complete(xr.DataArray(TABLE, dims=("mean", "day")), RowMeanModel())
    with pytest.raises(ObservationError, match="'mean' has the name of a column"):
        result.to_frame()


# ---- completions as files --------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> Completion:
    array = xr.DataArray(TABLE, dims=("row", "day"), coords={"row": ["b", "a"], "day": [3, 1, 2]})
    return complete(array, RowMeanModel())


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_a_table_of_a_completion_is_its_frame(tmp_path, result, suffix):
    path = tmp_path / f"filled{suffix}"
    write_completion(result, path)
    if suffix == ".parquet":
        back = pd.read_parquet(path)
    else:
        back = pd.read_csv(path, sep="," if suffix == ".csv" else "\t")
    rounding = 0 if suffix == ".parquet" else 0.005  # a third digit of the std, which is about 2
    pd.testing.assert_frame_equal(back, result.to_frame(), check_dtype=False, atol=rounding)
    assert read(path, modes=["row", "day"], value="mean").shape == (2, 3)


@pytest.mark.parametrize("suffix", [".npz", ".mat", ".nc"])
def test_an_array_file_of_a_completion_has_named_arrays_with_labels(tmp_path, result, suffix):
    if suffix == ".nc":
        pytest.importorskip("h5py", reason="h5py is not installed")
    path = tmp_path / f"filled{suffix}"
    write_completion(result, path)
    low, high = result.interval()
    for name, array in {"mean": result.mean, "low": low, "high": high, "std": result.std}.items():
        back = read(path, variable=name)
        np.testing.assert_array_equal(back.to_array(), array)
        assert back.labels[0].tolist() == ["b", "a"]
    np.testing.assert_array_equal(read(path, variable="value").to_array(), result.filled)
    np.testing.assert_array_equal(read(path, variable="observed").to_array(), result.observed)


def test_a_npy_of_a_completion_stacks_mean_std_low_high(tmp_path, result):
    write_completion(result, tmp_path / "filled.npy")
    back = np.load(tmp_path / "filled.npy")
    np.testing.assert_array_equal(back, [result.mean, result.std, *result.interval()])


def test_a_tns_of_a_completion_counts_from_one(tmp_path, result):
    write_completion(result, tmp_path / "filled.tns")
    back = np.loadtxt(tmp_path / "filled.tns")
    assert back[:, :2].tolist() == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]
    np.testing.assert_array_equal(back[:, 2], np.ravel(result.mean))
    np.testing.assert_array_equal(back[:, 5], np.ravel(result.interval()[1]))


def test_a_completion_that_cannot_be_written_leaves_nothing(tmp_path):
    array = xr.DataArray(TABLE, dims=("row", "day"), coords={"row": ["é", "a"]})
    with pytest.raises(FormatError, match="holds only ASCII text"):
        write_completion(complete(array, RowMeanModel()), tmp_path / "filled.mat")
    assert not list(tmp_path.iterdir())
