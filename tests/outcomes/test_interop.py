"""Results in the forms of other libraries say the same as here."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
import tensorly

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes.interop import to_inference_data, to_tensorly

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHAPE = (6, 5, 4)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    rows = [1 + random.random((size, 2)) for size in SHAPE]
    array = 5 + np.einsum("ir,jr,kr->ijk", *rows) + 0.01 * random.normal(size=SHAPE)
    array[random.random(SHAPE) < 0.2] = np.nan
    array[3] = np.nan  # a row that is never observed
    labels = (np.array(list("abcdef"), dtype=object), np.arange(5) * 10.0, np.arange(4))
    return Observations.from_array(
        array, mode_names=("who", "dose", "day"), labels=labels, value_name="level"
    )


def model_named(name):
    return getattr(vaecp, name)(rank=2, n_starts=1, max_iter=20, random_state=0)


@pytest.mark.parametrize("name", ["CPALS", "NCP", "FBCP"])
def test_the_cp_tensor_is_what_the_model_predicts(name, data):
    result = vaecp.complete(data, model_named(name))
    cp = to_tensorly(result.model)
    assert cp.shape == SHAPE
    np.testing.assert_allclose(tensorly.cp_to_tensor(cp), result.mean, rtol=1e-6)


def test_a_model_that_is_no_sum_of_products_is_refused(data):
    with pytest.raises(ObservationError, match="HOSVD is not a sum of products"):
        to_tensorly(vaecp.HOSVD(rank=2).fit_tensor(data))


def test_inference_data_hold_draws_labels_and_observations(data):
    pytest.importorskip("arviz", reason="arviz is not installed")
    model = model_named("FBCP").fit_tensor(data)
    X, y = data.keys(), data.values
    found = to_inference_data(model, X, y, n=400, random_state=0)
    draws = found.posterior_predictive["level"]
    assert draws.dims == ("chain", "draw", "entry")
    assert draws.shape == (1, 400, len(y))
    np.testing.assert_array_equal(draws[0], model.sample(X, 400, random_state=0))
    np.testing.assert_array_equal(found.observed_data["level"], y)
    assert draws["who"].values.tolist() == X["who"].tolist()
    np.testing.assert_array_equal(draws["dose"], X["dose"])


def test_the_dataset_holds_what_the_table_holds(data):
    pytest.importorskip("xarray", reason="xarray is not installed")
    result = vaecp.complete(data, model_named("CPALS"))
    dataset, frame = result.to_xarray(), result.to_frame()
    assert dict(dataset.sizes) == {"who": 6, "dose": 5, "day": 4}
    assert data.value_name in frame
    for name in ("observed", "value", "mean", "std", "low", "high"):
        column = frame[data.value_name if name == "value" else name]
        np.testing.assert_array_equal(dataset[name].values.ravel(), column)
    row = frame.iloc[47]
    assert dataset["mean"].sel(who=row["who"], dose=row["dose"], day=row["day"]) == row["mean"]


def test_observations_go_to_tables_and_labelled_arrays_and_back(data):
    frame = data.to_frame()
    assert list(frame) == ["who", "dose", "day", "level"]
    again = Observations.from_table(frame, ["who", "dose", "day"], "level")
    np.testing.assert_array_equal(again.values, data.values)
    pytest.importorskip("xarray", reason="xarray is not installed")
    array = data.to_xarray()
    assert (array.name, array.dims) == ("level", ("who", "dose", "day"))
    np.testing.assert_array_equal(Observations.from_array(array).to_array(), data.to_array())
    assert np.isnan(array.sel(who="d")).all()
    with pytest.raises(ObservationError, match="'a' is the name of a mode and of the values"):
        Observations.from_array(np.eye(2), mode_names="ab", value_name="a").to_frame()


def test_a_mode_with_the_name_of_a_result_is_refused():
    pytest.importorskip("xarray", reason="xarray is not installed")
    data = Observations.from_array(np.eye(3) + 1, mode_names=("std", "b"))
    result = vaecp.complete(data, model_named("CPALS"))
    with pytest.raises(ObservationError, match="'std' has the name of a column"):
        result.to_xarray()


def test_type_hints_and_pages_are_shipped():
    assert files("vaecp").joinpath("py.typed").is_file()
    for name in ("page.html", "report.css", "base.js", "slices.js", "figures.js", "start.js"):
        assert files("vaecp.show.report").joinpath("assets", name).is_file()
