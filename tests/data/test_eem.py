"""Bands of scatter, against the physics that puts them there."""

import numpy as np
import pytest

from vaecp.data.eem import Band, eem_modes, parse_bands, without_scatter
from vaecp.data.limits import saturated
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

EXCITATION = np.arange(240, 301, 10)
EMISSION = np.arange(230, 641, 5)


@pytest.fixture
def spectra():
    shape = (2, len(EMISSION), len(EXCITATION))
    array = 1 + np.arange(np.prod(shape), dtype=float).reshape(shape)
    return Observations.from_array(
        array,
        mode_names=["sample", "emission", "excitation"],
        labels=[["a", "b"], EMISSION, EXCITATION],
    )


def missing(observations):
    """Pairs of excitation and emission at which no sample has a value."""
    where = np.isnan(observations.to_array()).all(axis=0)
    return {(EXCITATION[j], EMISSION[i]) for i, j in np.argwhere(where)}


@pytest.mark.parametrize("order", [1, 2])
def test_rayleigh_scatter_lies_at_multiples_of_the_excitation(spectra, order):
    found = missing(without_scatter(spectra, f"rayleigh:{order}=12"))
    assert found == {(x, m) for x in EXCITATION for m in EMISSION if abs(m - order * x) <= 12}


def test_widths_below_and_above_may_differ(spectra):
    found = missing(without_scatter(spectra, "rayleigh:1=5/20"))
    assert found == {(x, m) for x in EXCITATION for m in EMISSION if -5 <= m - x <= 20}


def test_the_raman_peak_of_water_excited_at_350_nm_lies_at_397_nm():
    # The peak by which spectrometers are calibrated (Lawaetz and Stedmon, 2009).
    np.testing.assert_allclose(Band("raman", 1, 5, 5).middle(np.array([350.0])), 397, atol=0.1)
    np.testing.assert_allclose(Band("raman", 2, 5, 5).middle(np.array([350.0])), 794, atol=0.2)


def test_several_bands_are_removed_together_and_other_values_stay(spectra):
    found = without_scatter(spectra, "rayleigh:1=10,raman:1=5,rayleigh:2=10")
    apart = [
        missing(without_scatter(spectra, band))
        for band in ("rayleigh:1=10", "raman:1=5", "rayleigh:2=10")
    ]
    assert missing(found) == set.union(*apart)
    known = ~np.isnan(found.to_array())
    np.testing.assert_array_equal(found.to_array()[known], spectra.to_array()[known])


def test_limits_within_a_band_go_with_it(spectra):
    clipped = saturated(spectra, float(np.quantile(spectra.values, 0.5)))
    clear = without_scatter(clipped, "rayleigh:1=15")
    assert clear.limits is not None
    assert 0 < len(clear.limits) < len(clipped.limits)
    away = np.abs(EMISSION[clear.limits.indices[:, 1]] - EXCITATION[clear.limits.indices[:, 2]])
    assert away.min() > 15


def test_below_the_diagonal_values_are_missing_or_zero_but_bands_are_missing(spectra):
    below = {(x, m) for x in EXCITATION for m in EMISSION if m < x}
    band = {(x, m) for x in EXCITATION for m in EMISSION if abs(m - x) <= 10}
    assert missing(without_scatter(spectra, "rayleigh:1=10", "missing")) == below | band
    zeroed = without_scatter(spectra, "rayleigh:1=10", "zero")
    assert missing(zeroed) == band
    array = zeroed.to_array()
    assert {(EXCITATION[k], EMISSION[j]) for _, j, k in np.argwhere(array == 0)} == below - band


def test_zeros_below_the_diagonal_stand_where_nothing_was_measured(spectra):
    array = spectra.to_array()
    array[:, 0] = np.nan  # 230 nm, below every excitation
    gapped = Observations.from_array(array, mode_names=spectra.mode_names, labels=spectra.labels)
    assert (without_scatter(gapped, below="zero").to_array()[:, 0] == 0).all()


def test_modes_can_be_named_where_their_names_do_not_tell():
    array = Observations.from_array(
        np.ones((2, 2, 2)), mode_names=["s", "out", "in"], labels=[[0, 1], [250, 300], [250, 260]]
    )
    assert eem_modes(array, excitation="in", emission="out") == (2, 1)
    assert (
        missing_count(without_scatter(array, "rayleigh:1=1", excitation="in", emission="out")) == 2
    )
    with pytest.raises(ObservationError, match="do not tell which of them are excitation"):
        without_scatter(array, "rayleigh:1=1")


def missing_count(observations):
    return observations.n_cells - len(observations)


def test_wavelengths_must_be_numbers():
    array = Observations.from_array(
        np.ones((2, 2)), mode_names=["ex", "em"], labels=[["a", "b"], [1, 2]]
    )
    with pytest.raises(ObservationError, match="mode 'ex' has the label 'a': wavelengths must be"):
        without_scatter(array, "rayleigh:1=5")


@pytest.mark.parametrize(
    "text",
    [
        "rayleigh",
        "rayleigh:1",
        "rayleigh:3=5",
        "rain:1=5",
        "raman:1=-2",
        "raman:1=1/2/3",
        "raman:x=5",
        "",
    ],
)
def test_a_band_that_is_not_understood_is_named(text):
    with pytest.raises(ObservationError, match="is not understood: write rayleigh or raman"):
        parse_bands(text)


def test_what_becomes_of_values_below_the_diagonal_is_one_of_three(spectra):
    with pytest.raises(ObservationError, match="below is 'gone': use 'keep', 'zero' or 'missing'"):
        without_scatter(spectra, below="gone")
