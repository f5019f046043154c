"""The estimator as users meet it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from vaecp import VAECP, Observations, Recipe
from vaecp.errors import TrainingError
from vaecp.outcomes import metrics

QUICK = VAECP(effort="quick", random_state=0)
NETWORK = VAECP(
    rank=2,
    hidden=4,
    n_members=2,
    max_epochs=20,
    recipe=Recipe(sweeps=False, network=True),
    random_state=0,
)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(0)
    factors = [random.normal(size=(n, 2)) for n in (6, 8, 10)]
    indices = np.argwhere(np.ones((6, 8, 10)))
    values = np.prod([f[i] for f, i in zip(factors, indices.T, strict=True)], axis=0).sum(axis=1)
    keys = pd.DataFrame(
        {
            "sample": np.array(list("abcdef"))[indices[:, 0]],
            "wavelength": 250.0 + 0.5 * indices[:, 1],
            "time": indices[:, 2],
        }
    )
    return keys, values + 0.1 * random.normal(size=len(values))


@pytest.fixture(scope="module")
def fitted(table) -> VAECP:
    return clone(QUICK).fit(*table)


@pytest.mark.parametrize(
    "model", [QUICK, clone(NETWORK).set_params(max_epochs=300)], ids=["sweeps", "network"]
)
def test_it_learns_what_held_out_entries_are(model, table):
    keys, values = table
    held_out = np.random.default_rng(1).random(len(values)) < 0.2
    found = clone(model).fit(keys[~held_out], values[~held_out])
    assert found.score(keys[held_out], values[held_out]) > 0.9


def test_labels_may_be_texts_floats_and_integers_and_are_kept_sorted(fitted):
    sample, wavelength, time = fitted.labels_
    assert list(sample) == list("abcdef")
    np.testing.assert_array_equal(wavelength, 250 + 0.5 * np.arange(8))
    np.testing.assert_array_equal(time, np.arange(10))
    rank = fitted.diagnostics_.found["rank"]
    assert [rows.shape for rows in fitted.factors_] == [(6, rank), (8, rank), (10, rank)]


def test_unseen_labels_are_predicted_with_a_wider_std(fitted, table):
    keys = table[0].iloc[:50]
    known = fitted.predictive(keys)
    unseen = fitted.predictive(keys.assign(sample="never seen"))
    assert np.isfinite(unseen.mean).all()
    assert unseen.std.mean() > 1.5 * known.std.mean()
    assert unseen.ignorance_std.mean() > 2 * known.ignorance_std.mean()


def test_an_entry_of_which_no_label_is_known_is_as_uncertain_as_the_values(fitted, table):
    _, values = table
    nowhere = pd.DataFrame({"sample": ["zoe"], "wavelength": [-1.0], "time": [-1]})
    assert fitted.predictive(nowhere).std[0] > 0.7 * values.std()


def test_intervals_of_every_level_cover_as_often_as_they_say_on_data_drawn_from_the_model(random):
    shape = (24, 25, 26)
    factors = [random.normal(size=(n, 2)) for n in shape]
    dense = np.einsum("ir,jr,kr->ijk", *factors) + 0.5 * random.normal(size=shape)
    train, test = Observations.from_array(dense).split(0.3, 0)
    prediction = clone(QUICK).fit_tensor(train).predict_at(test.indices)
    for level in (0.5, 0.9, 0.95):
        assert metrics.coverage(prediction, test.values, level) == pytest.approx(level, abs=0.05)


def test_units_and_offsets_far_from_zero_do_not_matter(fitted, table):
    keys, values = table
    far = clone(QUICK).fit(keys, 1e9 + 1e-3 * values)
    np.testing.assert_allclose(
        (far.predict(keys) - 1e9) / 1e-3, fitted.predict(keys), atol=0.05 * values.std()
    )


def test_constant_values_are_predicted_exactly_with_no_spread(table):
    keys, _ = table
    model = clone(QUICK).fit(keys, np.full(len(keys), 7.5))
    mean, std = model.predict(keys, return_std=True)
    np.testing.assert_array_equal(mean, 7.5)
    np.testing.assert_array_equal(std, 0.0)


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_the_history_is_a_table_of_sweeps_and_members(effort, table):
    model = VAECP(rank=2, n_members=2, effort=effort, random_state=0).fit(*table)
    history = model.history_
    assert list(history.columns) == ["sweep", "member", "noise_std", "training_loss"]
    assert len(history) == 2 * model.n_iter_
    losses = history.groupby("member")["training_loss"]  # NaN after the last sweep of a member
    assert (losses.last() < losses.first()).all()


def test_the_history_of_networks_is_a_table_of_epochs_and_members(table):
    model = clone(NETWORK).set_params(max_epochs=20).fit(*table)
    assert len(model.history_) == 20 * 2
    assert {"epoch", "member", "elbo", "kl", "validation_rmse"} <= set(model.history_.columns)


def test_entries_too_few_to_hold_any_out_have_a_fit_all_the_same():
    keys = [(i, j) for i in range(3) for j in range(3)]
    model = clone(QUICK).fit(keys, np.arange(9.0))
    assert model.score(keys, np.arange(9.0)) > 0.5
    assert model.n_iter_ == 0
    assert model.history_.empty


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rank", 0),
        ("rank", 2.5),
        ("hidden", 0),
        ("n_members", True),
        ("max_epochs", -1),
        ("effort", "some"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value, table):
    with pytest.raises(ValueError, match=f"^{setting} is {value!r}: use "):
        clone(QUICK).set_params(**{setting: value}).fit(*table)


def test_a_device_that_is_not_there_is_refused_by_name(table):
    with pytest.raises(ValueError, match=r"devices is 'abacus', but JAX sees only"):
        clone(NETWORK).set_params(devices="abacus").fit(*table)


def test_a_table_fitted_by_names_refuses_other_columns(table):
    keys, values = table
    observations = Observations.from_table(
        keys.assign(y=values), modes=["sample", "wavelength", "time"], value="y"
    )
    model = clone(QUICK).fit_tensor(observations)
    assert np.isfinite(model.predict(keys)).all()
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(keys[["time", "sample", "wavelength"]])


def test_a_fit_that_fails_leaves_the_earlier_one_as_it_was(table):
    keys, values = table
    model = clone(NETWORK).set_params(max_epochs=20).fit(keys, values)
    before = model.predict(keys)
    with pytest.raises(TrainingError, match="non-finite"):
        model.set_params(recipe__learning_rate=1e30).fit(
            keys.assign(time=keys["time"] + 1), -values
        )
    np.testing.assert_array_equal(model.predict(keys), before)


def test_coordinates_outside_the_tensor_are_refused(fitted):
    with pytest.raises(ValueError, match=r"indices\[0, 1\] is 8, but mode 1 has size 8"):
        fitted.predict_at([[0, 8, 0]])
    with pytest.raises(ValueError, match=r"indices\[0, 0\] is -2"):
        fitted.predict_at([[-2, 0, 0]])


def test_a_matrix_of_one_row_is_filled():
    """Its only fibre cannot be held out."""
    line = np.sin(np.arange(400) / 20.0)[None]
    train, test = Observations.from_array(line).split(0.3, 0)
    model = clone(QUICK).fit_tensor(train)
    assert np.isfinite(model.predict_at(test.indices).std).all()


def test_paper_fits_and_predicts(table):
    keys, values = table
    model = VAECP.paper(rank=3, hidden=8, max_epochs=10, random_state=0).fit(keys, values)
    assert np.isfinite(model.predict(keys)).all()
    assert len(model.history_) == 10


def test_networks_stand_beside_sweeps_where_they_are_asked_for(table):
    settings = {"rank": 2, "hidden": 4, "n_members": 2, "max_epochs": 20, "random_state": 0}
    for network, n_members in ((True, 4), (False, 2), (None, 2)):
        recipe = Recipe(network=network, held_out=False)  # nothing is judged, so all stay
        model = VAECP(recipe=recipe, **settings).fit(*table)
        assert len(model.fitted_.ensemble) == n_members
        assert bool(model.fitted_.ensemble.network) == (network is True)
