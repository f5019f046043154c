"""Order of modes, smoothing along them, and what neighbours tell."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vaecp
from vaecp import VAECP
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.neighbours import DAMPING, HALF_WIDTHS, Neighbourhood, weights_of
from vaecp.observations import Observations
from vaecp.order import fibre_keys, keys_fit, ordered_modes
from vaecp.smoothing import (
    latent_of,
    low_pass,
    posterior_of_rows,
    prior_of_latent,
    smoothers_for,
    to_rows,
)


def spectra(n_samples=12, n_waves=40, *, noise=0.02, seed=0) -> Observations:
    """Samples in no order, along smooth curves."""
    random = np.random.default_rng(seed)
    wave = np.linspace(0, 1, n_waves)
    curves = np.stack([np.exp(-0.5 * ((wave - c) / 0.12) ** 2) for c in (0.3, 0.5, 0.8)])
    array = random.normal(size=(n_samples, 3)) @ curves
    return Observations.from_array(array + noise * random.normal(size=array.shape))


def test_wavelengths_have_an_order_and_samples_do_not():
    assert ordered_modes(spectra()) == (False, True)


def test_an_order_that_is_shuffled_is_none():
    tensor = spectra()
    order = np.random.default_rng(1).permutation(40)
    shuffled = Observations(
        np.column_stack([tensor.indices[:, 0], order[tensor.indices[:, 1]]]),
        tensor.values,
        tensor.shape,
    )
    assert ordered_modes(shuffled) == (False, False)


def test_few_pairs_say_nothing():
    tensor = spectra()
    assert ordered_modes(tensor.take(np.arange(0, len(tensor), 17))) == (False, False)


def test_a_tensor_with_more_cells_than_64_bits_is_not_numbered():
    assert keys_fit((2**20, 2**20, 2**20))
    assert not keys_fit((2**20,) * 4)


def test_keys_of_a_fibre_are_consecutive():
    indices = np.array([[1, 0, 2], [1, 1, 2], [1, 2, 2]])
    assert np.diff(fibre_keys(indices, (2, 3, 4), 1)).tolist() == [1, 1]


# ---- smoothing ------------------------------------------------------------------------------

SHAPE = (5, 12)
LAYOUT = Layout.of(SHAPE)
SMOOTHERS = smoothers_for((False, True), SHAPE, LAYOUT)
RANK = 3


def latent(seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(LAYOUT.n_rows, RANK)), jnp.float32)


PRIOR = Prior(jnp.array([[1.0] * RANK, [2.0] * RANK]), jnp.zeros((2, RANK)))


def test_without_smoothness_the_rows_are_only_turned():
    flat = jnp.full((2, RANK), -30.0)
    rows = LAYOUT.split(to_rows(latent(), flat, PRIOR, SMOOTHERS, LAYOUT))[1][:12] - 2.0
    before = LAYOUT.split(latent())[1][:12]
    np.testing.assert_allclose(rows.T @ rows, before.T @ before, rtol=1e-4, atol=1e-4)


def test_modes_without_an_order_stay_as_they_are():
    rows = to_rows(latent(), jnp.zeros((2, RANK)), PRIOR, SMOOTHERS, LAYOUT)
    np.testing.assert_array_equal(LAYOUT.split(rows)[0], LAYOUT.split(latent())[0])


def test_smoothness_makes_neighbours_alike():
    def roughness(smoothness):
        rows = to_rows(latent(), jnp.full((2, RANK), smoothness), PRIOR, SMOOTHERS, LAYOUT)
        own = np.asarray(LAYOUT.split(rows)[1][:12])
        return np.mean(np.diff(own, axis=0) ** 2) / own.var()

    assert roughness(5.0) < 0.1 * roughness(-30.0)


def test_the_filter_keeps_the_mean_square_of_rows():
    response = low_pass(SMOOTHERS[1], jnp.array([0.0, 3.0, 9.0]))
    np.testing.assert_allclose(np.mean(np.asarray(response)[:12] ** 2, axis=0), 1, rtol=1e-5)


def test_marginal_posteriors_are_those_of_draws():
    smoothness = jnp.full((2, RANK), 1.5)
    rows = Rows(latent(), latent(1) - 1.0)
    exact = posterior_of_rows(rows, smoothness, PRIOR, SMOOTHERS, LAYOUT)
    noise = jax.random.normal(jax.random.key(0), (20_000, *rows.mean.shape))
    draws = rows.mean + jnp.exp(0.5 * rows.log_variance) * noise
    seen = jax.vmap(lambda d: to_rows(d, smoothness, PRIOR, SMOOTHERS, LAYOUT))(draws)
    kept = np.r_[0:5, 32:44]  # without the padding of the tables
    np.testing.assert_allclose(seen.mean(axis=0)[kept], exact.mean[kept], atol=0.05)
    np.testing.assert_allclose(
        seen.std(axis=0)[kept], np.exp(0.5 * exact.log_variance[kept]), rtol=0.05
    )


def test_the_mean_of_a_smoothed_mode_is_not_asked_of_its_latent_rows():
    np.testing.assert_array_equal(prior_of_latent(PRIOR, SMOOTHERS).mean, [[1.0] * 3, [0.0] * 3])


def test_latent_rows_of_known_rows_give_these_back():
    wave = np.linspace(0, 1, 12)[:, None]
    known = np.concatenate([np.sin(3 * wave), wave**2, np.cos(20 * wave)], axis=1)
    found = latent_of(SMOOTHERS[1], known, np.full(RANK, 50.0))
    table = LAYOUT.stack((np.zeros((5, RANK)), found.mean)).astype(np.float32)
    smoothness = jnp.stack([jnp.zeros(RANK), jnp.asarray(found.smoothness, jnp.float32)])
    rows = to_rows(
        jnp.asarray(table), smoothness, Prior(0 * PRIOR.mean, PRIOR.log_variance), SMOOTHERS, LAYOUT
    )
    np.testing.assert_allclose(LAYOUT.split(rows)[1][:12], known, atol=1e-3)
    assert found.smoothness[0] > found.smoothness[2]


# ---- neighbours -----------------------------------------------------------------------------


def neighbourhood(share=0.6, seed=0):
    random = np.random.default_rng(seed)
    errors = np.full((4, 9), np.nan)
    observed = random.random(errors.shape) < share
    errors[observed] = random.normal(size=observed.sum())
    indices = np.argwhere(observed)
    return errors, Neighbourhood(indices, errors[observed], (1,), errors.shape)


def by_hand(errors, row, column, half_width, *, without_own=False):
    window = errors[row, max(column - half_width, 0) : column + half_width + 1].copy()
    if without_own:
        window[min(column, half_width)] = np.nan
    known = window[~np.isnan(window)]
    return known.sum() / (len(known) + DAMPING)


def test_features_are_averages_of_windows():
    errors, found = neighbourhood()
    every = np.argwhere(np.ones_like(errors))
    missing = every[np.isnan(errors[tuple(every.T)])]
    features, support = found.features(missing)
    expected = [[by_hand(errors, *entry, width) for width in HALF_WIDTHS] for entry in missing]
    np.testing.assert_allclose(features, expected, atol=1e-12)
    assert ((support >= 0) & (support < 1)).all()


def test_an_entry_is_not_its_own_neighbour():
    errors, found = neighbourhood()
    features, _ = found.features(found.indices)
    expected = [
        [by_hand(errors, *entry, width, without_own=True) for width in HALF_WIDTHS]
        for entry in found.indices
    ]
    np.testing.assert_allclose(features, expected, atol=1e-12)


def test_unseen_labels_have_no_neighbours():
    _, found = neighbourhood()
    features, support = found.features(np.array([[-1, 3], [2, -1]]))
    assert not features.any()
    assert not support.any()


def test_weights_are_found_where_neighbours_tell_and_refused_where_they_do_not():
    random = np.random.default_rng(0)
    features = random.normal(size=(2000, 4))
    errors = 0.5 * features[:, 0] + 0.1 * random.normal(size=2000)
    np.testing.assert_allclose(weights_of(features, errors), [0.5, 0, 0, 0], atol=0.02)
    assert weights_of(features, random.normal(size=2000)) is None
    assert weights_of(features[:20], errors[:20]) is None


# ---- in the model ---------------------------------------------------------------------------

SMALL = VAECP(rank=4, hidden=8, n_members=2, max_epochs=150, cp_start=0.0, random_state=0)


@pytest.fixture(scope="module")
def fits():
    train, test = spectra(20, 60).split(0.4, 0)
    models = {
        smooth: SMALL.__class__(**SMALL.get_params() | {"smooth": smooth}).fit_tensor(train)
        for smooth in (True, False)
    }
    return train, test, models


def test_smooth_rows_predict_smooth_data_better(fits):
    _, test, models = fits
    errors = {
        smooth: np.sqrt(np.mean((model.predict_at(test.indices).mean - test.values) ** 2))
        for smooth, model in models.items()
    }
    assert errors[True] < 0.95 * errors[False]


@pytest.fixture(scope="module")
def wandering():
    """Fibres that wander along the second mode, each its own way: rows cannot tell, neighbours can."""
    random = np.random.default_rng(0)
    walks = np.cumsum(random.normal(size=(30, 60)), axis=1)
    array = walks - walks.mean(axis=1, keepdims=True) + 0.1 * random.normal(size=walks.shape)
    array[3, 20:45] = np.nan
    train, test = Observations.from_array(array).split(0.2, 0)
    settings = SMALL.get_params() | {"rank": 2, "max_epochs": 60}
    return VAECP(**settings).fit_tensor(train), train, test


def test_neighbours_correct_what_rows_cannot_tell(wandering):
    model, _, test = wandering
    assert model.fitted_.near
    alone = replace(model.fitted_, near={})
    values = model.standardiser_.apply(test.values)
    errors = [np.std(values - f.predict_mean(test.indices)) for f in (model.fitted_, alone)]
    assert errors[0] < 0.6 * errors[1]


def test_far_from_neighbours_an_interval_is_wider(wandering):
    """In the middle of a block of gaps there is nothing to lean on."""
    model, _, test = wandering
    middle = model.predict_at(np.array([[3, 32]])).std[0]
    assert middle > 1.3 * np.median(model.predict_at(test.indices).std)


def test_an_observed_entry_is_corrected_by_its_neighbours_alone(wandering):
    model, train, _ = wandering
    changed = dict(model.fitted_.near)
    changed["errors"] = changed["errors"].copy()
    place = int(np.flatnonzero((changed["indices"] == train.indices[50]).all(axis=1))[0])
    changed["errors"][place] += 100.0
    other = replace(model.fitted_, near=changed)
    entry = train.indices[50:51]
    np.testing.assert_allclose(
        other.predict_mean(entry), model.fitted_.predict_mean(entry), rtol=1e-5
    )


def test_a_model_with_neighbours_comes_back_from_a_file(wandering, tmp_path):
    model, _, test = wandering
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    np.testing.assert_array_equal(
        again.predict_at(test.indices).mean, model.predict_at(test.indices).mean
    )
    np.testing.assert_array_equal(
        again.predict_at(test.indices).std, model.predict_at(test.indices).std
    )


def test_a_wavelength_without_any_entry_is_read_off_its_neighbours():
    tensor = spectra(20, 60)
    hidden = tensor.indices[:, 1] == 30
    model = VAECP(**SMALL.get_params()).fit_tensor(tensor.take(np.flatnonzero(~hidden)))
    prediction = model.predict_at(tensor.indices[hidden])
    errors = prediction.mean - tensor.values[hidden]
    assert np.sqrt(np.mean(errors**2)) < 0.3 * tensor.values[hidden].std()
    beside = model.predict_at(tensor.indices[tensor.indices[:, 1] == 31])
    assert prediction.ignorance_std.mean() > beside.ignorance_std.mean()
    assert np.mean(np.abs(errors) < prediction.interval(0.9)[1] - prediction.mean) > 0.7


def test_an_unseen_wavelength_is_like_the_seen_ones():
    tensor = spectra(20, 60)
    model = VAECP(**SMALL.get_params()).fit_tensor(tensor)
    average = np.mean([table.mean(axis=0) for table in model.fitted_.row_mean[1][:, :-1]], axis=0)
    np.testing.assert_allclose(
        model.fitted_.row_mean[1][:, -1].mean(axis=0), average, rtol=1e-4, atol=1e-5
    )
    unseen = model.predict_at(np.array([[2, -1]]))
    seen = model.predict_at(np.array([[2, 30]]))
    assert unseen.std[0] > 3 * seen.std[0]
