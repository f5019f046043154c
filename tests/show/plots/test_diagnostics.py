"""Plots of diagnostics and of fluorescence draw what was computed."""

import numpy as np
import pandas as pd
import pytest

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes import diagnostics
from vaecp.outcomes.concentrations import Calibration
from vaecp.outcomes.diagnostics import Diagnosis, RankCheck
from vaecp.show import plots

figures = pytest.importorskip("matplotlib.figure")
EXCITATION, EMISSION = [260, 240, 250], [300, 310, 290, 320]


@pytest.fixture
def ax():
    return figures.Figure().subplots()


@pytest.fixture
def spectra(random):
    array = random.random(size=(2, 3, 4))
    array[1, 0, 1] = np.nan
    labels = [["a", "b"], EXCITATION, EMISSION]
    return Observations.from_array(
        array, mode_names=["sample", "excitation", "emission"], labels=labels, value_name="light"
    )


@pytest.fixture
def factors(random):
    return [random.random(size=(size, 2)) for size in (2, 3, 4)]


def check(rank, consistency, halves):
    return RankCheck(rank, (), 50.0 * rank, consistency, halves, 4 if halves > 0.9 else 1, 4, 0.0)


def test_every_figure_is_drawn_against_the_number_of_components(spectra):
    checks = (check(1, 100.0, 1.0), check(2, -1e6, 0.2))
    panels = plots.plot_diagnosis(Diagnosis(spectra, checks, "sample"))
    drawn = [panel.lines[0].get_ydata().tolist() for panel in panels]
    assert drawn == [[50, 100], [100, 0], [1.0, 0.2], [1.0, 0.25]]
    assert [panel.lines[1].get_ydata()[0] for panel in panels[1:]] == [60, 0.9, 0.5]
    assert all(panel.lines[-1].get_xdata()[0] == 1 for panel in panels)


def test_a_diagnosis_needs_four_axes(spectra, ax):
    with pytest.raises(ObservationError, match="ax has 1 axes: give 4"):
        plots.plot_diagnosis(Diagnosis(spectra, (check(1, 100.0, 1.0),), "sample"), [ax])


def test_leverage_and_residual_are_drawn_with_the_names_of_labels(spectra, factors, ax):
    assert plots.plot_influence(spectra, factors, 1, ax) is ax
    found = diagnostics.influence(spectra, factors, 1)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), found["leverage"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), found["residual"])
    assert {text.get_text() for text in ax.texts} == {"240", "250", "260"}


def test_a_residual_map_is_drawn_over_the_two_largest_modes(spectra, factors, ax):
    assert plots.plot_residual_map(spectra, factors, ax=ax) is ax
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(shown, diagnostics.residual_map(spectra, factors, 1, 2))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("emission", "excitation")


def test_a_landscape_has_sorted_wavelengths_and_shows_what_is_missing(spectra, ax):
    assert plots.plot_landscape(spectra, "b", ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("excitation (nm)", "emission (nm)")
    assert ax.get_xlim() == (240, 260)
    assert ax.get_ylim() == (290, 320)


def test_landscapes_before_and_after_have_the_same_colours(spectra):
    after = vaecp.eem.without_scatter(spectra, "rayleigh:1=40/45")
    left, right = plots.plot_landscapes(spectra, after, "a")
    assert left.collections[0].get_clim() == right.collections[0].get_clim()
    assert (left.get_title(), right.get_title()) == ("before", "after")


@pytest.mark.parametrize(
    ("change", "sample", "message"),
    [
        ({}, "z", "mode 'sample' has no label 'z': its labels are a, b"),
        ({"mode_names": ("a", "b", "c")}, None, "do not tell which of them are excitation"),
    ],
)
def test_a_landscape_that_cannot_be_drawn_is_refused(spectra, change, sample, message):
    from dataclasses import replace

    with pytest.raises(ObservationError, match=message):
        plots.plot_landscape(replace(spectra, **change), sample)


def test_concentrations_are_drawn_in_per_cent_of_the_largest(ax):
    samples = pd.DataFrame(
        {
            "sample": [1, 2],
            "analyte": "a",
            "known": [2.0, 4.0],
            "fitted": 0.0,
            "predicted": [1.0, 5.0],
        }
    )
    figures_of_merit = pd.DataFrame({"analyte": ["a"], "rmsecv_percent": [25.0]})
    assert plots.plot_concentrations(Calibration(figures_of_merit, samples), ax) is ax
    np.testing.assert_allclose(ax.lines[1].get_xdata(), [50, 100])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [25, 125])
    assert ax.lines[1].get_label() == "a (25 %)"


def test_components_of_landscapes_are_named_by_their_peaks(ax):
    bumps = [
        np.exp(-(((np.arange(6)[:, None] - centres) / 1.5) ** 2)) for centres in ([1, 4], [4, 2])
    ]
    array = np.einsum("ir,jr,kr->ijk", np.array([[3.0, 1], [1, 2], [2, 1]]), *bumps)
    observations = Observations.from_array(
        array,
        mode_names=["sample", "ex", "em"],
        labels=[range(3), range(240, 300, 10), range(300, 360, 10)],
    )
    model = vaecp.CPALS(2, random_state=0).fit_tensor(observations)
    assert sorted(vaecp.eem.peak_names(model)) == ["250/340 nm", "280/320 nm"]
    plots.plot_loadings(model, "em", [0, 1], ax=ax)
    assert {line.get_label().split("(")[-1] for line in ax.lines[:2]} == {
        "250/340 nm)",
        "280/320 nm)",
    }
    plain = vaecp.CPALS(1, random_state=0).fit_tensor(Observations.from_array(array))
    assert vaecp.eem.peak_names(plain) is None
