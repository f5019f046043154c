"""CPALS and NCP against algebra, TensorLy, pyttb and NumPy."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import vaecp
from vaecp.data.observations import Observations
from vaecp.models.multilinear import equations as multilinear

SHAPE = (8, 7, 6)
EVERYWHERE = np.argwhere(np.ones(SHAPE))


def low_rank(shape=SHAPE, rank=2, seed=0, draw="normal"):
    random = np.random.default_rng(seed)
    rows = [getattr(random, draw)(size=(size, rank)) for size in shape]
    letters = "ijkl"[: len(shape)]
    return np.einsum(",".join(f"{letter}r" for letter in letters) + f"->{letters}", *rows)


def with_gaps(array, share, seed=1):
    observed = np.random.default_rng(seed).random(array.shape) >= share
    return Observations.from_array(array, observed)


def relative_error(model, array):
    prediction = model.predict_at(np.argwhere(np.ones(array.shape))).mean
    return np.linalg.norm(prediction - array.ravel()) / np.linalg.norm(array - array.mean())


@pytest.fixture(scope="module")
def noisy():
    return low_rank() + 0.2 * np.random.default_rng(2).normal(size=SHAPE)


@pytest.mark.parametrize("shape", [(12, 10), (8, 7, 6), (5, 4, 4, 3)], ids=str)
def test_a_noiseless_tensor_is_recovered_from_half_of_its_entries(shape):
    array = low_rank(shape, rank=1)
    model = vaecp.CPALS(rank=1, ridge=1e-9, tol=1e-10, max_iter=2000, random_state=0)
    assert relative_error(model.fit_tensor(with_gaps(array, 0.5)), array) < 1e-6


def test_after_the_mean_is_taken_off_a_tensor_of_rank_one_has_rank_two():
    array = low_rank(rank=1)
    model = vaecp.CPALS(rank=1, center="values", ridge=1e-9, tol=1e-10, random_state=0)
    assert relative_error(model.fit_tensor(with_gaps(array, 0.2)), array) > 0.01
    model.set_params(rank=2, max_iter=2000)
    assert relative_error(model.fit_tensor(with_gaps(array, 0.2)), array) < 1e-3


def test_centring_across_a_mode_removes_an_offset_of_every_fibre():
    offsets = np.random.default_rng(5).normal(size=(1, 7, 6))
    array = low_rank(rank=2) + 10 * offsets
    model = vaecp.CPALS(rank=2, center=0, ridge=1e-9, tol=1e-12, max_iter=2000, random_state=0)
    assert relative_error(model.fit_tensor(Observations.from_array(array)), array) < 1e-5


@pytest.mark.parametrize(("center", "scale"), [(0, "none"), ("mode 1", 2), ("none", 1)])
def test_a_model_of_centred_and_scaled_values_survives_a_file(noisy, tmp_path, center, scale):
    model = vaecp.CPALS(2, center=center, scale=scale, random_state=0)
    model.fit_tensor(with_gaps(noisy, 0.2))
    copy = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    places = np.vstack([EVERYWHERE, [[-1, 0, 0], [0, -1, 2]]])
    found, expected = copy.predict_at(places), model.predict_at(places)
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.std, expected.std)


def test_a_non_negative_tensor_is_recovered_from_half_of_its_entries():
    array = low_rank(draw="random")
    model = vaecp.NCP(rank=3, tol=1e-9, max_iter=3000, random_state=0)
    assert relative_error(model.fit_tensor(with_gaps(array, 0.5)), array) < 0.02


def standardised_fit(model, array):
    scaled = (array - array.mean()) / array.std()
    model.fit_tensor(Observations.from_array(scaled))
    return scaled, model


def test_a_full_tensor_is_fitted_as_well_as_by_tensorly(noisy):
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import parafac

    scaled, model = standardised_fit(
        vaecp.CPALS(rank=3, ridge=1e-9, tol=1e-10, max_iter=2000, random_state=0), noisy
    )
    other = parafac(scaled, 3, n_iter_max=2000, tol=1e-12, init="svd", random_state=0)
    theirs = tensorly.norm(scaled - tensorly.cp_to_tensor(other))
    np.testing.assert_allclose(
        relative_error(model, scaled) * np.linalg.norm(scaled), theirs, rtol=1e-3
    )
    for ours, factor in zip(model.factors_, other.factors, strict=True):
        cosines = _unit(ours).T @ _unit(factor)  # up to sign and permutation
        np.testing.assert_allclose(np.abs(cosines).max(axis=0), 1, atol=0.01)


def _unit(columns):
    return columns / np.linalg.norm(columns, axis=0)


def test_a_full_tensor_is_fitted_as_well_as_by_pyttb(noisy):
    pyttb = pytest.importorskip("pyttb")
    scaled, model = standardised_fit(
        vaecp.CPALS(rank=3, ridge=1e-9, tol=1e-10, max_iter=2000, random_state=0), noisy
    )
    other, _, _ = pyttb.cp_als(
        pyttb.tensor(scaled), 3, stoptol=1e-10, maxiters=2000, printitn=0, init="nvecs"
    )
    theirs = np.linalg.norm(scaled - other.full().data) / np.linalg.norm(scaled)
    np.testing.assert_allclose(relative_error(model, scaled), theirs, rtol=1e-3)


def test_a_full_matrix_of_rank_one_is_its_leading_singular_pair(noisy):
    matrix = noisy[:, :, 0]
    scaled, model = standardised_fit(
        vaecp.CPALS(rank=1, ridge=1e-10, tol=1e-14, max_iter=2000, random_state=0), matrix
    )
    left, values, right = np.linalg.svd(scaled)
    everywhere = np.argwhere(np.ones(matrix.shape))
    best = values[0] * np.outer(left[:, 0], right[0])
    np.testing.assert_allclose(model.predict_at(everywhere).mean, best.ravel(), atol=1e-5)


@pytest.mark.parametrize("method", [vaecp.CPALS, vaecp.NCP])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(seed=st.integers(0, 1000), rank=st.integers(1, 3), share=st.sampled_from([0.2, 0.6, 0.9]))
@settings(deadline=None, max_examples=15)
@pytest.mark.slow
def test_the_objective_never_rises(method, seed, rank, share):
    array = np.random.default_rng(seed).normal(size=SHAPE)
    model = method(rank, max_iter=40, n_starts=2, random_state=seed)
    history = model.fit_tensor(with_gaps(array, share, seed)).history_
    assert (np.diff(history) <= 1e-9 * history[:-1]).all()
    assert len(history) == model.n_iter_


def test_rows_of_the_non_negative_method_are_non_negative(noisy):
    model = vaecp.NCP(rank=2, max_iter=50, random_state=0).fit_tensor(with_gaps(noisy, 0.2))
    assert all((factor >= 0).all() for factor in model.factors_)
    assert model.predict_at(EVERYWHERE).mean.min() >= noisy.min() - 1e-9


def test_permuting_the_modes_permutes_the_predictions(noisy):
    settings = {"rank": 2, "tol": 1e-10, "max_iter": 1000, "random_state": 0}
    plain = vaecp.CPALS(**settings).fit_tensor(with_gaps(noisy, 0.2))
    turned = with_gaps(noisy, 0.2)
    turned = Observations(turned.indices[:, [2, 0, 1]], turned.values, (6, 8, 7))
    permuted = vaecp.CPALS(**settings).fit_tensor(turned)
    np.testing.assert_allclose(
        permuted.predict_at(EVERYWHERE[:, [2, 0, 1]]).mean,
        plain.predict_at(EVERYWHERE).mean,
        atol=1e-3,
    )


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("layout", [multilinear._dense, multilinear._sparse])
def test_normal_equations_equal_their_definition(layout, mode):
    random = np.random.default_rng(3)
    indices = random.integers(0, SHAPE, size=(300, 3))  # some repeat, some cells stay unknown
    values = random.normal(size=300)
    sizes = [multilinear.padded_size(size) for size in SHAPE]
    factors = [random.normal(size=(size, 3)) for size in sizes]
    gram, right_hand = np.zeros((sizes[mode], 3, 3)), np.zeros((sizes[mode], 3))
    for index, value in zip(indices, values, strict=True):
        row = np.prod([factors[d][index[d]] for d in range(3) if d != mode], axis=0)
        gram[index[mode]] += np.outer(row, row)
        right_hand[index[mode]] += value * row
    with multilinear.float64():
        ours = multilinear.normal_equations(
            layout(Observations(indices, values, SHAPE)),
            tuple(jnp.asarray(rows) for rows in factors),
            mode,
        )
    np.testing.assert_allclose(ours[0], gram, atol=1e-10)
    np.testing.assert_allclose(ours[1], right_hand, atol=1e-10)


@pytest.mark.parametrize("chunk", [64, 1 << 22])
def test_chunks_do_not_change_the_sums(monkeypatch, chunk):
    monkeypatch.setattr(multilinear, "CHUNK", chunk)
    observations = with_gaps(low_rank(), 0.5)
    with multilinear.float64():
        factors = tuple(jnp.ones((size, 2)) for size in (8, 8, 6))
        for layout in (multilinear._dense, multilinear._sparse):
            gram, right_hand = multilinear.normal_equations(layout(observations), factors, 0)
            counts = np.bincount(observations.indices[:, 0], minlength=8)
            totals = np.bincount(observations.indices[:, 0], observations.values, minlength=8)
            np.testing.assert_allclose(gram[:, 0, 1], counts)
            np.testing.assert_allclose(right_hand[:, 1], totals)


def test_a_sparse_and_a_dense_layout_learn_the_same(noisy, monkeypatch):
    observations = with_gaps(noisy, 0.3)
    model = vaecp.CPALS(rank=2, tol=1e-9, max_iter=500, random_state=0)
    dense = model.fit_tensor(observations).predict_at(EVERYWHERE)
    monkeypatch.setattr("vaecp.models.multilinear.equations._dense", multilinear._sparse)
    sparse = model.fit_tensor(observations).predict_at(EVERYWHERE)
    np.testing.assert_allclose(sparse.mean, dense.mean, atol=1e-4)
    np.testing.assert_allclose(sparse.std, dense.std, rtol=1e-3)


def test_the_noise_is_found_and_intervals_hold_their_share():
    random = np.random.default_rng(4)
    array = low_rank((20, 20, 20), rank=3, seed=4) + 0.5 * random.normal(size=(20, 20, 20))
    observed = random.random(array.shape) < 0.3
    model = vaecp.CPALS(rank=3, random_state=0).fit_tensor(Observations.from_array(array, observed))
    prediction = model.predict_at(np.argwhere(~observed))
    low, high = prediction.interval(0.9)
    truth = array[~observed]
    np.testing.assert_allclose(prediction.noise_std[0], 0.5, rtol=0.05)
    np.testing.assert_allclose(np.mean((low <= truth) & (truth <= high)), 0.9, atol=0.03)


def test_rows_with_few_entries_are_less_certain(noisy):
    array = noisy.copy()
    array[0, 1:] = np.nan
    model = vaecp.CPALS(rank=2, random_state=0).fit_tensor(Observations.from_array(array))
    scarce = model.predict_at(EVERYWHERE[EVERYWHERE[:, 0] == 0]).ignorance_std
    plenty = model.predict_at(EVERYWHERE[EVERYWHERE[:, 0] > 0]).ignorance_std
    assert scarce.mean() > plenty.mean()


def test_the_variance_of_two_unknown_rows_is_that_of_the_product():
    random = np.random.default_rng(6)
    array = low_rank((40, 40, 6), rank=2, seed=6)
    model = vaecp.CPALS(rank=3, random_state=0).fit_tensor(with_gaps(array, 0.1))
    prediction = model.predict_at([[-1, -1, 2]])
    rows = model.factors_
    pairs = random.integers(0, 40, size=(2, 100_000))
    draws = (rows[0][pairs[0]] * rows[1][pairs[1]]) @ rows[2][2]
    expected = draws.std() * model.scaling_.scale
    np.testing.assert_allclose(prediction.ignorance_std[0], expected, rtol=0.1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_rank_larger_than_every_mode_neither_fails_nor_explodes(noisy):
    model = vaecp.CPALS(rank=20, max_iter=50, random_state=0).fit_tensor(with_gaps(noisy, 0.5))
    mean = model.predict_at(EVERYWHERE).mean
    assert np.abs(mean).max() < 20 * np.abs(noisy).max()


def test_a_fit_that_is_cut_short_says_so(noisy):
    with pytest.warns(ConvergenceWarning, match="CPALS stopped after max_iter=3 sweeps"):
        model = vaecp.CPALS(rank=3, max_iter=3, random_state=0).fit_tensor(with_gaps(noisy, 0.2))
    assert not model.converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": -1.0}, "ridge is -1.0: use a number from 0"),
        ({"n_starts": 0}, "n_starts is 0: use an integer from 1"),
        ({"rank": 2.5}, "rank is 2.5: use an integer from 1"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message, noisy):
    with pytest.raises(ValueError, match=message):
        vaecp.CPALS(**parameters).fit_tensor(Observations.from_array(noisy))


def test_the_rest_of_the_program_stays_in_float32(noisy):
    vaecp.CPALS(rank=2, max_iter=50, random_state=0).fit_tensor(Observations.from_array(noisy))
    assert jnp.asarray(1.0).dtype == jnp.float32


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_ridge_keeps_non_negative_components_from_growing_where_nothing_is_observed():
    random = np.random.default_rng(0)
    array = random.normal(size=SHAPE)
    observed = random.random(SHAPE) < 0.5
    bare, held = (
        np.abs(
            vaecp.NCP(rank=10, ridge=ridge, tol=1e-9, random_state=0)
            .fit_tensor(Observations.from_array(array, observed))
            .fitted_.predict_mean(np.argwhere(~observed))
        ).max()
        for ridge in (0.0, 1e-3)
    )
    assert held < bare / 5
