"""Plots draw what they are given, where they are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vaecp.errors import ObservationError
from vaecp.plots import plot_collapse, plot_rank_curve, plot_rmse_boxes

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


def test_the_rank_curve_has_the_mean_over_the_folds_at_every_rank(ax):
    rows = frame(rank=[10, 5, 5, 10], rmse=[1.0, 2.0, 4.0, 3.0])
    assert plot_rank_curve(rows, ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [5, 10])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 2.0])
    assert "rank" in ax.get_xlabel()


def test_the_rank_curve_has_a_line_per_dataset(ax):
    rows = [frame(dataset=name, rank=[1, 2], rmse=[1.0, 2.0]) for name in "ab"]
    plot_rank_curve(pd.concat(rows), ax)
    assert [line.get_label() for line in ax.lines] == ["a", "b"]


def test_the_collapse_shows_both_curves(ax):
    plot_collapse([-3.0, -2.0], [0.9, 0.8], ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.9, 0.8])
    np.testing.assert_array_equal(ax.figure.axes[1].lines[0].get_ydata(), [-3.0, -2.0])


def test_a_plot_without_axes_makes_its_own_figure():
    assert plot_rmse_boxes(frame(rmse=[1.0])).figure is not None


@pytest.mark.parametrize("plot", [plot_rmse_boxes, plot_rank_curve])
def test_nothing_measured_is_refused(plot):
    with pytest.raises(ObservationError, match="there is no measured RMSE"):
        plot(frame(rank=[1], rmse=[np.nan]))
