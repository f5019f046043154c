"""Calibration against scikit-learn and algebra, and the amino acids."""

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import vaecp
from vaecp.data.observations import Observations
from vaecp.data.selecting import within
from vaecp.errors import ObservationError
from vaecp.outcomes import diagnostics
from vaecp.outcomes.concentrations import aligned, regress_on_scores

SAMPLES = ["s1", "s2", "s3", "s4", "s5", "s6"]


@pytest.fixture
def spectra(random):
    """Two spectra that overlap, one that does not; scores are concentrations times slopes."""
    emission = np.zeros((8, 3))
    emission[:4, 0] = emission[2:6, 1] = 1.0
    emission[6:, 2] = 1.0
    excitation = np.abs(random.normal(size=(5, 3)))
    known = np.abs(random.normal(size=(6, 3)))
    array = np.einsum("ir,jr,kr->ijk", known * [2.0, 0.5, 3.0], emission, excitation)
    observations = Observations.from_array(
        array + 0.01 * random.normal(size=array.shape), labels=[SAMPLES, range(8), range(5)]
    )
    factors = [known * [2.0, 0.5, 3.0], emission, excitation]
    return observations, factors, pd.DataFrame(known[:, [2, 0, 1]], columns=["c", "a", "b"])


def test_every_analyte_finds_its_component(spectra):
    found = regress_on_scores(*spectra).figures
    assert found["component"].tolist() == [2, 0, 1]
    np.testing.assert_allclose(found["r"], 1)
    np.testing.assert_allclose(found["rmsecv_percent"], 0, atol=1e-9)


def test_errors_are_those_of_scikit_learn_with_samples_left_out(spectra, random):
    observations, factors, known = spectra
    known = known + 0.1 * random.normal(size=known.shape)
    found = regress_on_scores(observations, factors, known)
    for place, analyte in enumerate(known.columns):
        row = found.figures.iloc[place]
        score, truth = factors[0][:, [row["component"]]], known[analyte].to_numpy()
        model = LinearRegression(fit_intercept=False)
        fitted = model.fit(score, truth).predict(score)
        predicted = cross_val_predict(model, score, truth, cv=LeaveOneOut())
        here = found.samples[found.samples["analyte"] == analyte]
        np.testing.assert_allclose(here["fitted"], fitted)
        np.testing.assert_allclose(here["predicted"], predicted)
        np.testing.assert_allclose(row["rmsec"], np.sqrt(np.mean((fitted - truth) ** 2)))
        np.testing.assert_allclose(
            row["rmsecv_percent"], 100 * np.sqrt(np.mean((predicted - truth) ** 2)) / truth.max()
        )


def test_selectivity_is_one_without_overlap_and_the_sine_of_the_angle_with_it(spectra):
    observations, factors, known = spectra
    found = regress_on_scores(observations, factors, known).figures.set_index("analyte")
    np.testing.assert_allclose(found.loc["c", "selectivity"], 1)
    pure = np.einsum("jr,kr->rjk", *factors[1:]).reshape(3, -1)
    cosine = pure[0] @ pure[1] / np.linalg.norm(pure[0]) / np.linalg.norm(pure[1])
    for analyte in ("a", "b"):
        np.testing.assert_allclose(found.loc[analyte, "selectivity"], np.sqrt(1 - cosine**2))


def test_the_sensitivity_is_the_net_signal_of_one_unit_and_limits_follow_from_the_noise(spectra):
    observations, factors, known = spectra
    found = regress_on_scores(observations, factors, known).figures.set_index("analyte")
    for analyte, component, slope in (("c", 2, 3.0), ("a", 0, 2.0)):
        pure = slope * np.outer(factors[1][:, component], factors[2][:, component])
        net = np.linalg.norm(pure) * found.loc[analyte, "selectivity"]
        np.testing.assert_allclose(found.loc[analyte, "sensitivity"], net)
        np.testing.assert_allclose(found.loc[analyte, "detection"], 3.3 * 0.01 / net, rtol=0.1)
    np.testing.assert_allclose(found["quantification"] / found["detection"], 10 / 3.3)


def test_samples_without_a_known_concentration_are_predicted(spectra):
    observations, factors, known = spectra
    truth = known["a"].to_numpy().copy()
    known.loc[3, "a"] = np.nan
    found = regress_on_scores(observations, factors, known)
    row = found.samples[(found.samples["analyte"] == "a") & (found.samples["sample"] == "s4")]
    assert row["known"].isna().all()
    np.testing.assert_allclose(row["predicted"], truth[3])
    assert found.figures.set_index("analyte").loc["a", "n"] == 5


def test_concentrations_are_put_in_the_order_of_the_samples():
    frame = pd.DataFrame({"name": ["s3", "s1"], "a": ["1.5", ""], "b": ["2", "7"]})
    found = aligned(frame, np.array(["s1", "s2", "s3"]))
    assert found.columns.tolist() == ["a", "b"]
    np.testing.assert_array_equal(found, [[np.nan, 7], [np.nan, np.nan], [1.5, 2]])


def test_a_table_of_numbers_alone_is_in_order_already():
    frame = pd.DataFrame({"a": [0.25, 0.5], "b": [0.125, 0.75]})
    pd.testing.assert_frame_equal(aligned(frame, np.array(["x", "y"])), frame)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"s": ["s1", "s9"], "a": [1, 2]}, "have a sample 's9', which the data do not have"),
        ({"a": [1.5, 2, 3]}, "have 3 rows for 2 samples"),
        ({"s": ["s1", "s2"], "a": ["1", "low"]}, "concentration of 'a' in row 1 is 'low'"),
    ],
)
def test_concentrations_that_fit_no_sample_are_refused(frame, message):
    with pytest.raises(ObservationError, match=message):
        aligned(pd.DataFrame(frame), np.array(["s1", "s2"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda known: known.iloc[:4], "4 rows of concentrations for 6 samples"),
        (lambda known: known.assign(a=1.0), "analyte 'a' has 1 different concentration"),
        (lambda known: known.assign(a=np.nan), "analyte 'a' has 0 different concentration"),
    ],
)
def test_too_few_concentrations_are_refused(spectra, change, message):
    observations, factors, known = spectra
    with pytest.raises(ObservationError, match=message):
        regress_on_scores(observations, factors, change(known))


def amino_calibrated(amino_file, first=240):
    published = loadmat(amino_file)
    observations = Observations.from_array(
        published["X"],
        mode_names=["sample", "emission", "excitation"],
        labels=[range(5), published["EmAx"].ravel(), published["ExAx"].ravel()],
    )
    observations = within(observations, excitation=(first, None))
    model = vaecp.CPALS(3, random_state=0).fit_tensor(observations)
    known = pd.DataFrame(published["y"], columns=["Trp", "Tyr", "Phe"])
    return regress_on_scores(*diagnostics.decomposition(model, observations), known).figures


def test_the_amino_acids_are_fitted_within_three_per_cent(amino_file):
    found = amino_calibrated(amino_file)
    assert (found["rmsec_percent"] < 3).all()
    assert (found["r"].abs() >= 0.998).all()


@pytest.mark.slow
def test_where_phenylalanine_hardly_absorbs_all_are_predicted_within_three_per_cent(amino_file):
    # Its pure sample, 0.9 mM, absorbs its own light below 266 nm, and looks a tenth too weak.
    assert amino_calibrated(amino_file)["rmsecv_percent"].iloc[2] > 5
    assert (amino_calibrated(amino_file, 266)["rmsecv_percent"] < 3).all()
