"""Plots draw what they are given, where they are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from quick_models import QUICK_MODELS, each_method
from sklearn.base import clone

import vaecp
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.outcomes import components as learned
from vaecp.outcomes import metrics
from vaecp.show import plots
from vaecp.show.plots import plot_rank_curve, plot_rmse_boxes, plot_training

figures = pytest.importorskip("matplotlib.figure")


@pytest.fixture
def ax():
    return figures.Figure().subplots()


def frame(method="VAECP", dataset="toy", **columns):
    return pd.DataFrame({"method": method, "dataset": dataset, **columns})


def test_boxes_have_the_medians_of_the_methods(ax):
    rows = [frame("CPALS", rmse=[3.0, 1.0, 2.0]), frame("VAECP", rmse=[1.0, 1.5, 9.0])]
    assert plot_rmse_boxes(pd.concat(rows), ax) is ax
    assert [label.get_text() for label in ax.get_xticklabels()] == ["VAECP", "CPALS"]
    medians = [line.get_ydata()[0] for line in ax.lines if len(set(line.get_ydata())) == 1]
    assert {1.5, 2.0} <= set(medians)
    dots = np.concatenate([line.get_ydata() for line in ax.lines if line.get_marker() == "."])
    np.testing.assert_array_equal(np.sort(dots), [1.0, 1.0, 1.5, 2.0, 3.0, 9.0])
    assert "standard deviations" in ax.get_ylabel()


def test_boxes_leave_failed_runs_out_and_stretch_over_orders_of_magnitude(ax):
    rows = frame("CPALS", rmse=[0.01, np.nan, 1.0])
    plot_rmse_boxes(rows, ax)
    assert ax.get_yscale() == "log"


def test_the_rank_curve_has_the_median_over_the_folds_at_every_rank(ax):
    rows = frame(rank=[10, 5, 5, 10], rmse=[1.0, 2.0, 4.0, 3.0])
    assert plot_rank_curve(rows, ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [5, 10])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 2.0])
    assert "rank" in ax.get_xlabel()


def test_the_rank_curve_has_a_line_per_dataset(ax):
    rows = [frame(dataset=name, rank=[1, 2], rmse=[1.0, 2.0]) for name in "ab"]
    plot_rank_curve(pd.concat(rows), ax)
    assert [line.get_label() for line in ax.lines] == ["a", "b"]


def test_a_course_of_training_shows_both_curves(ax):
    plot_training([-3.0, -2.0], [0.9, 0.8], ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.9, 0.8])
    np.testing.assert_array_equal(ax.figure.axes[1].lines[0].get_ydata(), [-3.0, -2.0])


def test_a_plot_without_axes_makes_its_own_figure():
    assert plot_rmse_boxes(frame(rmse=[1.0])).figure is not None


@pytest.mark.parametrize("plot", [plot_rmse_boxes, plot_rank_curve])
def test_nothing_measured_is_refused(plot):
    with pytest.raises(ObservationError, match="there is no measured RMSE"):
        plot(frame(rank=[1], rmse=[np.nan]))


# ---- plots of models and entries -------------------------------------------------------

quick_fits = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    rows = [1 + random.random((size, 2)) for size in (6, 5, 4)]
    array = np.einsum("ir,jr,kr->ijk", *rows) + 0.01 * random.normal(size=(6, 5, 4))
    array[random.random(array.shape) < 0.2] = np.nan
    return Observations.from_array(
        array,
        mode_names=("who", "wavelength (nm)", "dose"),
        labels=(
            np.array(list("abcde$"), dtype=object),
            np.arange(250.0, 300, 10),
            [1, 10, 100, 999],
        ),
        value_name="level (mg)",
    )


@pytest.fixture(scope="module")
def completion(data):
    return vaecp.complete(data, vaecp.CPALS(rank=2, n_starts=1, max_iter=50, random_state=0))


@quick_fits
@each_method
def test_loadings_of_every_method_are_drawn_against_their_labels(method, data):
    model = method.fit_tensor(data)
    ax = plots.plot_loadings(model, "wavelength (nm)", components=[0, 1])
    assert ax.get_xlabel() == "wavelength (nm)"
    lines = [line for line in ax.lines if len(line.get_xdata()) == 5]
    expected = learned.loadings(model)[1].mean
    for component, line in enumerate(lines):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(250, 300, 10))
        np.testing.assert_allclose(line.get_ydata(), expected[:, component])
    has_bands = type(model).__name__ in ("VAECP", "CPALS", "NCP", "FBCP")
    assert len(ax.collections) == (2 if has_bands else 0)
    bars = plots.plot_loadings(model, 0, components=[0])
    assert [tick.get_text() for tick in bars.get_xticklabels()] == [*"abcde", r"\$"]
    heights = [patch.get_height() for patch in bars.patches]
    np.testing.assert_allclose(heights, learned.loadings(model)[0].mean[:, 0])


def test_doses_get_a_logarithmic_axis_and_the_most_relevant_components(completion):
    ax = plots.plot_loadings(completion.model, "dose")
    assert ax.get_xscale() == "log"
    weights = learned.relevance(completion.model)
    best = int(weights.loc[weights["relevance"].idxmax(), "component"])
    assert ax.get_legend_handles_labels()[1][0] == f"component {best}"


def test_loadings_have_unit_size_and_keep_the_sign_of_the_product(completion):
    factors = completion.model.factors_
    rows = learned.loadings(completion.model)
    for mode in rows:
        np.testing.assert_allclose(np.sqrt(np.mean(mode.mean**2, axis=0)), 1)
    before = np.einsum("ir,jr,kr->rijk", *factors)
    after = np.einsum("ir,jr,kr->rijk", *(mode.mean for mode in rows))
    ratio = before / after
    np.testing.assert_allclose(ratio, ratio[:, :1, :1, :1] * np.ones_like(ratio))
    assert (ratio > 0).all()


def test_a_row_with_more_entries_has_a_narrower_band():
    random = np.random.default_rng(0)
    array = np.outer(1 + random.random(8), 1 + random.random(40)) + 0.1 * random.normal(
        size=(8, 40)
    )
    array[0, 4:] = np.nan
    model = vaecp.FBCP(rank=1, n_starts=1, random_state=0).fit_tensor(
        Observations.from_array(array)
    )
    std = learned.loadings(model)[0].std[:, 0]
    assert std[0] > 2 * std[1:].max()


def test_bands_of_vaecp_are_the_posterior_standard_deviations(data):
    model = clone(QUICK_MODELS[0]).fit_tensor(data)
    ensemble = model.fitted_.ensemble
    four = tuple(np.full_like(rows, 4.0) for rows in ensemble.variance)
    model.fitted_ = replace(model.fitted_, ensemble=replace(ensemble, variance=four))
    for rows, found in zip(model.factors_, learned.loadings(model), strict=True):
        expected = 2 / np.sqrt(np.mean(rows**2, axis=0))
        np.testing.assert_allclose(found.std, np.broadcast_to(expected, found.std.shape), rtol=1e-5)


def test_bands_of_masked_cp_add_the_precisions_of_rows_and_entries():
    """With one component a row's precision is a number: that of the rows' spread, and the data's."""
    random = np.random.default_rng(0)
    array = np.outer(random.normal(size=9), random.normal(size=7)) + 0.1 * random.normal(
        size=(9, 7)
    )
    array[0, 2:] = np.nan
    observations = Observations.from_array(array)
    model = vaecp.CPALS(rank=1, random_state=0).fit_tensor(observations)
    rows, others = (factor[:, 0] for factor in model.factors_)
    spread = np.var(rows, ddof=1) * (1 + 1 / len(rows))
    gram = np.mean(others[observations.indices[:, 1]] ** 2)
    counts = np.bincount(observations.indices[:, 0])
    std = 1 / np.sqrt(1 / spread + counts * gram / model.fitted_.noise_std**2)
    size = np.sqrt(np.mean(rows**2))
    np.testing.assert_allclose(learned.loadings(model)[0].std[:, 0], std / size, rtol=1e-6)


def test_the_relevance_of_a_component_is_what_it_adds():
    """With two orthogonal parts of known size, levelling one moves predictions by just that."""
    rows = np.array([1, -1, 1, -1.0]), np.array([1, 1, -1, -1.0])
    array = 3 * np.outer(rows[0], rows[0]) + 0.5 * np.outer(rows[1], rows[1]) + 10
    model = vaecp.HOSVD(rank=2).fit_tensor(Observations.from_array(array))
    found = learned.relevance(model)
    assert set(found["mode"]) == {"mode 0", "mode 1"}
    sizes = np.sort(found.loc[found["mode"] == "mode 0", "relevance"])
    np.testing.assert_allclose(sizes, [0.5, 3.0], rtol=1e-6)
    heights = sorted(patch.get_height() for patch in plots.plot_relevance(model).patches)
    np.testing.assert_allclose(heights, [0.5, 0.5, 3, 3], rtol=1e-6)


def test_the_history_is_drawn_by_term_and_member(data, ax):
    model = QUICK_MODELS[0].fit_tensor(data)
    assert plots.plot_history(model, "training_loss", ax) is ax
    assert len(ax.lines) == model.history_["member"].nunique()
    losses = model.history_.query("member == 0")["training_loss"]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), losses)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sweep", "training loss")
    with pytest.raises(ObservationError, match="there is no term 'loss': use one of noise_std"):
        plots.plot_history(model, "loss")


def test_the_history_of_a_baseline_is_its_objective(completion, ax):
    plots.plot_history(completion.model, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), completion.model.history_)


def test_slices_show_the_chosen_labels_observed_filled_and_std(completion):
    axes = plots.plot_slices(completion, rows="dose", columns="who", at={"wavelength (nm)": 270.0})
    array = completion.observations.to_array()[:, 2, :].T
    shown = [np.ma.filled(ax.images[0].get_array(), np.nan) for ax in axes]
    np.testing.assert_array_equal(shown[0], array)
    np.testing.assert_allclose(shown[1], completion.filled[:, 2, :].T)
    np.testing.assert_allclose(shown[2], completion.std[:, 2, :].T)
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("who", "dose")
    assert axes[0].images[0].get_clim() == axes[1].images[0].get_clim()
    assert axes[2].images[0].colorbar.ax.get_ylabel() == "std of level (mg)"
    axes[0].figure.canvas.draw()  # labels are texts that Matplotlib can set


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"rows": "where"}, "there is no mode 'where'"),
        ({"rows": "who", "columns": "who"}, "both 'who'"),
        (
            {"rows": "who", "columns": "dose", "at": {"wavelength (nm)": 1}},
            "no label 1: its labels",
        ),
        ({"show": "mean"}, "show is 'mean'"),
    ],
)
def test_slices_that_there_are_not_are_refused(completion, options, line):
    with pytest.raises(ObservationError, match=line):
        plots.plot_slice(completion, **options)


def test_predicted_values_stand_against_held_out_ones(ax):
    prediction = Prediction(np.array([1.0, 2.0]), np.ones(2), np.zeros(2))
    assert plots.plot_predicted(prediction, [1.0, 4.0], "level (mg)", ax) is ax
    points = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(points.get_xydata(), [[1, 1], [4, 2]])
    assert ax.get_xlabel() == "held-out level (mg)"
    assert "RMSE 1.41 on 2 entries" in ax.get_title()


def test_calibration_is_the_diagonal_for_an_honest_prediction(random, ax):
    values = random.normal(size=20_000)
    honest = Prediction(np.zeros(20_000), np.ones(20_000), np.zeros(20_000))
    plots.plot_calibration(honest, values, ax)
    curve = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(curve.get_ydata(), curve.get_xdata(), atol=0.015)
    narrow = Prediction(np.zeros(20_000), np.full(20_000, 0.5), np.zeros(20_000))
    found = metrics.calibration(narrow, values)
    assert (found["share"] < found["low"]).all()


@quick_fits
def test_a_method_without_components_to_weigh_says_so(data):
    model = QUICK_MODELS[-1].fit_tensor(data)
    with pytest.raises(ObservationError, match="InfTucker has no components"):
        plots.plot_relevance(model)
