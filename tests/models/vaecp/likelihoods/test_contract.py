"""What every likelihood promises of a whole fit."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_values import NAMES, SHAPE, SUPPORT, drawn_values, hidden_part, small_vaecp
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

import vaecp
from vaecp.errors import ObservationError
from vaecp.models.vaecp.likelihoods import kinds

HIDDEN = hidden_part()
GAPS = np.argwhere(HIDDEN)
FITS = {}


def fit_of(name, likelihood=None):
    """Fit once; tests that only read share the fit."""
    key = name, likelihood or name
    if key not in FITS:
        array = np.where(HIDDEN, np.nan, drawn_values(name))
        tensor = vaecp.Observations.from_array(array)
        FITS[key] = small_vaecp(likelihood=likelihood or name).fit_tensor(tensor)
    return FITS[key]


def test_every_likelihood_is_here():
    assert set(NAMES) == set(kinds())


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_predicts_the_same_bits(name, tmp_path):
    model = fit_of(name)
    copy = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    values = drawn_values(name)[HIDDEN]
    one, other = copy.predict_at(GAPS), model.predict_at(GAPS)
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.quantile(0.1), other.quantile(0.1))
    np.testing.assert_array_equal(one.log_density(values), other.log_density(values))
    assert copy.likelihood_ == name


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_repeats_bit_for_bit(name):
    array = np.where(HIDDEN, np.nan, drawn_values(name))
    again = small_vaecp(likelihood=name).fit_tensor(vaecp.Observations.from_array(array))
    np.testing.assert_array_equal(
        again.predict_at(GAPS).quantile(0.9), fit_of(name).predict_at(GAPS).quantile(0.9)
    )
    first, second = (fit_of(name).sample(GAPS[:9], n=5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_modes_hardly_matters(name):
    array = np.where(HIDDEN, np.nan, drawn_values(name))
    turned = vaecp.Observations.from_array(array.transpose(2, 0, 1))
    other = small_vaecp(likelihood=name).fit_tensor(turned).predict_at(GAPS[:, [2, 0, 1]])
    values = drawn_values(name)[HIDDEN]
    own = fit_of(name).predict_at(GAPS).log_density(values).mean()
    assert other.log_density(values).mean() == pytest.approx(own, abs=0.2)


@pytest.mark.parametrize("name", SUPPORT)
def test_predictions_intervals_and_draws_live_where_values_live(name):
    lowest, highest, whole = SUPPORT[name]
    model = fit_of(name)
    unseen = np.concatenate([GAPS, [[-1, 0, 0], [0, -1, -1], [-1, -1, -1]]])
    prediction = model.predict_at(unseen)
    found = [*prediction.interval(0.9), prediction.point("median"), prediction.point("mode")]
    found += list(model.sample(GAPS, n=20, random_state=0))
    for values in found:
        assert np.isfinite(values).all()
        assert values.min() >= lowest
        assert values.max() <= highest
        if whole:
            np.testing.assert_array_equal(values, np.round(values))
    assert prediction.mean.min() >= lowest
    assert prediction.mean.max() <= highest
    np.testing.assert_array_equal(model.predict(unseen[:5]), prediction.mean[:5])


@pytest.mark.parametrize("name", NAMES)
def test_unseen_labels_are_predicted_with_wider_intervals(name):
    model = fit_of(name)
    known, unseen = model.predict_at(GAPS), model.predict_at(GAPS * [0, 1, 1] - [1, 0, 0])
    assert np.isfinite(unseen.mean).all()
    values = drawn_values(name)[HIDDEN]
    assert unseen.log_density(values).mean() < known.log_density(values).mean()


@pytest.mark.parametrize("name", NAMES)
def test_the_predictive_distribution_is_calibrated(name):
    values, prediction = drawn_values(name)[HIDDEN], fit_of(name).predict_at(GAPS)
    pit = vaecp.metrics.pit(prediction, values)
    if name == "non-negative":  # what is 0 may have been anything below
        pit = pit[values > 0]
    assert np.mean((pit > 0.05) & (pit < 0.95)) == pytest.approx(0.9, abs=0.05)
    assert np.mean(pit) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize(
    "name", ["bernoulli", "poisson", "negative-binomial", "ordinal", "large-counts"]
)
def test_its_own_likelihood_gives_discrete_values_more_probability_than_their_share(name):
    values = drawn_values(name)
    own = fit_of(name).predict_at(GAPS).log_density(values[HIDDEN]).mean()
    levels, counts = np.unique(values[~HIDDEN], return_counts=True)
    share = dict(zip(levels, counts / counts.sum(), strict=True))
    assert own > np.mean([np.log(share.get(value, 1e-4)) for value in values[HIDDEN]]) + 0.05


@pytest.mark.parametrize("name", ["log-normal", "poisson"])
def test_skewed_values_are_predicted_better_as_what_they_are(name):
    values = drawn_values(name)[HIDDEN]
    own, plain = (fit_of(name, each).predict_at(GAPS) for each in (name, "gaussian"))
    assert own.log_density(values).mean() > plain.log_density(values).mean() + 0.1
    if name == "log-normal":
        wrong = [np.median(np.abs(each.point("median") / values - 1)) for each in (own, plain)]
        assert wrong[0] < 0.5 * wrong[1]


@pytest.mark.parametrize(
    "name", ["bernoulli", "negative-binomial", "large-counts", "ordinal", "gaussian"]
)
def test_the_kind_is_found_by_looking_at_the_values(name):
    model = fit_of(name, "auto")
    assert model.likelihood_ == name
    assert model.diagnostics_.found["likelihood"] == name
    assert model.diagnostics_.found["likelihood_reason"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gaussian", 3.0),
        ("student-t", 3.0),
        ("poisson", 3.0),
        ("negative-binomial", 3.0),
        ("poisson", 0.0),
        ("large-counts", 300.0),
        ("large-counts", 0.0),
        ("log-normal", 3.0),
        ("logit-normal", 0.3),
        ("non-negative", 3.0),
    ],
)
def test_values_that_are_all_equal_are_predicted(name, value):
    tensor = vaecp.Observations.from_array(np.full((5, 4, 3), value))
    prediction = small_vaecp(likelihood=name).fit_tensor(tensor).predict_at([[0, 0, 0], [-1, 1, 1]])
    assert np.isfinite(prediction.std).all()
    np.testing.assert_allclose(prediction.mean, value, rtol=0.25, atol=0.2)


@pytest.mark.parametrize(
    ("name", "match"), [("bernoulli", "all values are 1"), ("ordinal", "1 di")]
)
def test_one_class_only_is_refused_in_words(name, match):
    tensor = vaecp.Observations.from_array(np.ones((5, 4, 3)))
    with pytest.raises(ObservationError, match=match):
        small_vaecp(likelihood=name).fit_tensor(tensor)


def test_classes_have_probabilities_in_columns():
    yes_or_no, stars = fit_of("bernoulli"), fit_of("ordinal")
    np.testing.assert_array_equal(yes_or_no.classes_, [0, 1])
    np.testing.assert_array_equal(stars.classes_, [1, 2, 3, 4, 5])
    for model in (yes_or_no, stars):
        probabilities = model.predict_proba(GAPS)
        assert probabilities.shape == (len(GAPS), len(model.classes_))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert not hasattr(fit_of("poisson"), "predict_proba")


@pytest.mark.parametrize("scorer", ["roc_auc", "neg_log_loss"])
def test_scorers_of_classifiers_take_yes_or_no(scorer):
    array = drawn_values("bernoulli")
    model = small_vaecp(likelihood="yes-no")
    keys, values = np.argwhere(~HIDDEN), array[~HIDDEN]
    assert np.isfinite(cross_val_score(model, keys, values, cv=2, scoring=scorer)).all()
    probability = fit_of("bernoulli").predict_proba(GAPS)[:, 1]
    known = {"roc_auc": roc_auc_score, "neg_log_loss": lambda y, p: -log_loss(y, p)}[scorer]
    found = get_scorer(scorer)(fit_of("bernoulli"), GAPS, array[HIDDEN])
    assert found == pytest.approx(known(array[HIDDEN], probability))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bernoulli", 0.5),
        ("poisson", -2.0),
        ("negative-binomial", 1.5),
        ("large-counts", -2.0),
        ("ordinal", 9.0),
        ("log-normal", 0.0),
        ("logit-normal", 1.5),
    ],
)
def test_values_of_another_kind_are_not_folded_in(name, wrong):
    labels = [[SHAPE[0], 0, 0]]
    with pytest.raises(ObservationError, match=rf"{wrong:g}.* (none|cannot be one) of"):
        fit_of(name).fold_in(labels, [wrong])
