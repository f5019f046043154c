import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from vaecp import VAECP, Observations, metrics
from vaecp.errors import TrainingError

SMALL = VAECP(rank=3, hidden=8, n_members=2, max_epochs=300, random_state=0)


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
    keys, values = table
    return clone(SMALL).fit(keys, values)


def test_it_learns_what_held_out_entries_are(table):
    keys, values = table
    held_out = np.random.default_rng(1).random(len(values)) < 0.2
    model = clone(SMALL).set_params(max_epochs=600).fit(keys[~held_out], values[~held_out])
    assert model.score(keys[held_out], values[held_out]) > 0.9


def test_labels_may_be_texts_floats_and_integers_and_are_kept_sorted(fitted):
    sample, wavelength, time = fitted.labels_
    assert list(sample) == list("abcdef")
    np.testing.assert_array_equal(wavelength, 250 + 0.5 * np.arange(8))
    np.testing.assert_array_equal(time, np.arange(10))
    assert [rows.shape for rows in fitted.factors_] == [(6, 3), (8, 3), (10, 3)]


def test_the_mean_is_the_same_with_and_without_its_std(fitted, table):
    mean, std = fitted.predict(table[0], return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(table[0]))
    assert (std > 0).all()


def test_unseen_labels_are_predicted_with_a_wider_std(fitted, table):
    keys = table[0].iloc[:50]
    known = fitted.predictive(keys)
    unseen = fitted.predictive(keys.assign(sample="never seen"))
    assert np.isfinite(unseen.mean).all()
    assert unseen.std.mean() > 1.5 * known.std.mean()
    assert unseen.ignorance_std.mean() > 2 * known.ignorance_std.mean()


def test_ignorance_is_larger_for_rows_with_few_entries(table):
    keys, values = table
    rare = (keys["sample"] == "a") & (np.arange(len(keys)) % 20 > 0)
    model = clone(SMALL).set_params(max_epochs=300).fit(keys[~rare], values[~rare])
    prediction = model.predictive(keys)
    few = (keys["sample"] == "a").to_numpy()
    assert prediction.ignorance_std[few].mean() > 1.5 * prediction.ignorance_std[~few].mean()


def test_total_variance_is_noise_plus_ignorance(fitted, table):
    prediction = fitted.predictive(table[0])
    np.testing.assert_allclose(
        prediction.std**2, prediction.noise_std**2 + prediction.ignorance_std**2
    )


def test_draws_spread_as_the_intervals_say(fitted, table):
    keys = table[0].iloc[::40]
    draws = fitted.sample(keys, n=1000, random_state=0)
    assert draws.shape == (1000, len(keys))
    for coverage in (0.5, 0.9):
        low, high = fitted.predict_interval(keys, coverage)
        inside = np.mean((low <= draws) & (draws <= high))
        assert inside == pytest.approx(coverage, abs=0.08)


def test_intervals_cover_as_often_as_they_say_on_data_drawn_from_the_model(random):
    shape = (24, 25, 26)
    factors = [random.normal(size=(n, 2)) for n in shape]
    dense = np.einsum("ir,jr,kr->ijk", *factors) + 0.5 * random.normal(size=shape)
    train, test = Observations.from_array(dense).split(0.3, 0)
    model = clone(SMALL).set_params(max_epochs=100, rank=2).fit_tensor(train)
    prediction = model.predict_at(test.indices)
    for level in (0.5, 0.9, 0.95):
        assert metrics.coverage(prediction, test.values, level) == pytest.approx(level, abs=0.05)


def test_units_and_offsets_far_from_zero_do_not_matter(fitted, table):
    keys, values = table
    far = clone(SMALL).fit(keys, 1e9 + 1e-3 * values)
    np.testing.assert_allclose(
        (far.predict(keys) - 1e9) / 1e-3, fitted.predict(keys), atol=0.05 * values.std()
    )


def test_constant_values_are_predicted_exactly_with_no_spread(table):
    keys, _ = table
    model = clone(SMALL).set_params(max_epochs=10).fit(keys, np.full(len(keys), 7.5))
    mean, std = model.predict(keys, return_std=True)
    np.testing.assert_array_equal(mean, 7.5)
    np.testing.assert_array_equal(std, 0.0)


def test_paper_is_the_published_recipe():
    model = VAECP.paper(rank=7, hidden=50, learning_rate=1e-4)
    assert (model.rank, model.hidden, model.learning_rate) == (7, 50, 1e-4)
    assert (model.batch_size, model.n_draws, model.n_members) == (30, 1, 1)
    assert not model.multilinear
    assert model.prior == "shared"
    assert not model.decay
    assert (model.kl_warmup, model.scale_from, model.weight_precision) == (0, 0, 0)
    assert (model.cp_start, model.validation_fraction, model.calibrate) == (0, 0, False)


def test_paper_fits_and_predicts(table):
    keys, values = table
    model = VAECP.paper(rank=3, hidden=8, max_epochs=10, random_state=0).fit(keys, values)
    assert np.isfinite(model.predict(keys)).all()
    assert len(model.history_) == 10


def test_history_is_a_table_of_epochs_and_members(fitted):
    history = fitted.history_
    n_epochs = round(300 * (1 + SMALL.finish + 1 - SMALL.scale_from))
    assert len(history) == n_epochs * 2
    assert {"epoch", "member", "elbo", "kl", "validation_rmse"} <= set(history.columns)
    assert fitted.n_iter_ == n_epochs


@pytest.mark.parametrize(
    ("setting", "value"),
    [("hidden", 0), ("prior", "none"), ("learning_rate", -1.0), ("kl_warmup", 2.0)],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value, table):
    with pytest.raises(ValueError, match=f"{setting} is {value!r}: use"):
        clone(SMALL).set_params(**{setting: value}).fit(*table)


def test_a_table_fitted_by_names_refuses_other_columns(table):
    keys, values = table
    observations = Observations.from_table(
        keys.assign(y=values), modes=["sample", "wavelength", "time"], value="y"
    )
    model = clone(SMALL).set_params(max_epochs=10).fit_tensor(observations)
    assert np.isfinite(model.predict(keys)).all()
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.predict(keys[["time", "sample", "wavelength"]])


def test_members_near_cp_do_no_harm_where_the_data_are_cp(table):
    keys, values = table
    held_out = np.random.default_rng(1).random(len(values)) < 0.2
    model = clone(SMALL).set_params(cp_start=1.0).fit(keys[~held_out], values[~held_out])
    assert model.score(keys[held_out], values[held_out]) > 0.95


def test_members_that_are_far_off_lose_their_say(fitted, table):
    from dataclasses import replace

    from vaecp.models.vaecp_judging import blended

    keys, values = table
    held_out = Observations.from_keys(keys, fitted.standardiser_.apply(values))
    decoder = dict(fitted.fitted_.decoder)
    decoder["mean_bias"] = decoder["mean_bias"] + np.array([0.0, 1.0], dtype=np.float32)
    weights = blended(replace(fitted.fitted_, decoder=decoder), held_out).member_weights
    assert weights.sum() == pytest.approx(1)
    assert weights[0] > 0.9
    assert weights[1] >= 0


def test_an_entry_of_which_no_label_is_known_is_as_uncertain_as_the_values(fitted, table):
    _, values = table
    nowhere = pd.DataFrame({"sample": ["zoe"], "wavelength": [-1.0], "time": [-1]})
    prediction = fitted.predictive(nowhere)
    assert prediction.std[0] > 0.7 * values.std()


def test_a_device_that_is_not_there_is_refused_by_name(table):
    with pytest.raises(ValueError, match=r"device is 'abacus', but JAX sees only"):
        clone(SMALL).set_params(device="abacus").fit(*table)


def test_held_out_entries_are_not_trained_on(table, monkeypatch):
    from vaecp.models import vaecp as module

    original = module._held_out

    def poisoned(*arguments):
        train, validation = original(*arguments)
        return train, validation.with_values(np.full(len(validation), 1e3))

    settings = {"max_epochs": 20, "calibrate": False}
    clean = clone(SMALL).set_params(**settings).fit(*table)
    monkeypatch.setattr(module, "_held_out", poisoned)
    other = clone(SMALL).set_params(**settings).fit(*table)
    np.testing.assert_array_equal(
        clean.fitted_.history["elbo"][:17], other.fitted_.history["elbo"][:17]
    )


def test_calibration_puts_a_wrong_spread_right(fitted, table):
    from dataclasses import replace

    from vaecp.models.vaecp_judging import calibrated

    keys, values = table
    known = fitted.fitted_
    observations = Observations.from_keys(keys, fitted.standardiser_.apply(values))
    too_wide = {**known.decoder, "scale_bias": known.decoder["scale_bias"] + np.log(100.0)}
    once = calibrated(replace(known, std_scale=1.0), observations)
    again = calibrated(replace(known, std_scale=1.0, decoder=too_wide), observations)
    wide, right = (f.predict(observations.indices).noise_std.mean() for f in (again, once))
    assert wide == pytest.approx(right, rel=0.3)


def test_members_that_disagree_are_ignorance(fitted):
    from dataclasses import replace

    known = fitted.fitted_
    certain = tuple(np.full_like(table, -60.0) for table in known.row_log_variance)
    same_rows = tuple(np.stack([table[0], table[0]]) for table in known.row_mean)
    decoder = {name: np.stack([array[0], array[0]]) for name, array in known.decoder.items()}
    decoder["mean_bias"] = np.array([-1.0, 1.0], dtype=np.float32)
    split = replace(
        known,
        row_mean=same_rows,
        row_log_variance=certain,
        decoder=decoder,
        member_weights=np.array([0.5, 0.5], dtype=np.float32),
        std_scale=1.0,
    )
    prediction = split.predict(np.zeros((1, 3), dtype=np.int32))
    assert prediction.ignorance_std[0] == pytest.approx(1.0, rel=1e-3)


def test_a_fit_that_fails_leaves_the_earlier_one_as_it_was(table):
    keys, values = table
    model = clone(SMALL).set_params(max_epochs=10).fit(keys, values)
    before = model.predict(keys)
    with pytest.raises(TrainingError, match="non-finite"):
        model.set_params(learning_rate=1e30).fit(keys.assign(time=keys["time"] + 1), -values)
    np.testing.assert_array_equal(model.predict(keys), before)


def test_coordinates_outside_the_tensor_are_refused(fitted):
    with pytest.raises(ValueError, match=r"indices\[0, 1\] is 8, but mode 1 has size 8"):
        fitted.predict_at([[0, 8, 0]])
    with pytest.raises(ValueError, match=r"indices\[0, 0\] is -2"):
        fitted.predict_at([[-2, 0, 0]])


def test_the_only_entry_of_a_row_is_never_held_out():
    from vaecp.models.vaecp import _held_out

    random = np.random.default_rng(0)
    dense = np.argwhere(np.ones((20, 15)))
    single = np.column_stack([np.arange(20, 80), random.integers(15, size=60)])
    indices = np.concatenate([dense, single])
    tensor = Observations(indices, random.normal(size=len(indices)), (80, 15))
    train, held_out = _held_out(tensor, 0.1, 0)
    assert len(held_out) == 36
    assert len(train) + len(held_out) == len(tensor)
    assert len(np.unique(train.indices[:, 0])) == 80
    assert not {tuple(i) for i in train.indices} & {tuple(i) for i in held_out.indices}


def test_a_table_in_which_every_row_has_one_entry_holds_nothing_out():
    from vaecp.models.vaecp import _held_out

    rows = np.arange(60)
    tensor = Observations(np.column_stack([rows, rows]), rows.astype(float), (60, 60))
    assert _held_out(tensor, 0.1, 0) == (tensor, None)


def test_a_member_that_runs_wild_where_nothing_is_held_out_has_no_say(fitted, table):
    """One row far off is enough, even if no held-out entry is in it."""
    from dataclasses import replace

    from vaecp.models.vaecp_judging import blended

    keys, values = table
    observations = Observations.from_keys(keys, fitted.standardiser_.apply(values))
    held_out = observations.take(np.flatnonzero(observations.indices[:, 0] != 2))
    rows = [table.copy() for table in fitted.fitted_.row_mean]
    best = int(np.argmax(blended(fitted.fitted_, held_out).member_weights))
    rows[0][best, 2] *= 100.0
    wild = replace(fitted.fitted_, row_mean=tuple(rows))
    assert blended(wild, held_out).member_weights[best] == 0
