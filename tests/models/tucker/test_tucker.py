"""HOSVD and TuckerALS against TensorLy and algebra."""

import numpy as np
import pytest
import tensorly
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tensorly.decomposition import tucker
from tensorly.tenalg import multi_mode_dot, svd_interface

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

SHAPE = (8, 7, 6)
EVERYWHERE = np.argwhere(np.ones(SHAPE))
BOTH = pytest.mark.parametrize("method", [vaecp.HOSVD, vaecp.TuckerALS])


def tucker_tensor(ranks=(2, 3, 2), noise=0.0, seed=0):
    random = np.random.default_rng(seed)
    bases = [random.normal(size=(size, rank)) for size, rank in zip(SHAPE, ranks, strict=True)]
    array = multi_mode_dot(random.normal(size=ranks), bases)
    array += noise * array.std() * random.normal(size=SHAPE)
    return (array - array.mean()) / array.std()


def fill(model, array, share=0.0, seed=1):
    observed = np.random.default_rng(seed).random(array.shape) >= share
    model.fit_tensor(Observations.from_array(array, observed))
    return model.predict_at(EVERYWHERE).mean.reshape(array.shape)


def test_a_full_array_is_truncated_as_by_the_singular_vectors_of_tensorly():
    array = tucker_tensor(noise=0.3)
    bases = [
        svd_interface(tensorly.unfold(array, mode), n_eigenvecs=3)[0] for mode in range(array.ndim)
    ]
    expected = multi_mode_dot(array, [basis @ basis.T for basis in bases])
    np.testing.assert_allclose(fill(vaecp.HOSVD(rank=3), array), expected, atol=1e-8)


def test_a_full_array_is_fitted_as_by_tensorlys_tucker():
    array = tucker_tensor(noise=0.3)
    core, bases = tucker(array, [3, 3, 2], n_iter_max=500, tol=1e-12, init="svd")
    ours = fill(vaecp.TuckerALS(rank=(3, 3, 2), tol=1e-10, max_iter=500), array)
    np.testing.assert_allclose(ours, multi_mode_dot(core, bases), atol=1e-4)


@BOTH
def test_a_ridge_divides_the_core_of_a_full_array(method):
    array = tucker_tensor(noise=0.3)
    plain, held = (fill(method(rank=3, ridge=ridge), array) for ridge in (0.0, 0.25))
    np.testing.assert_allclose(held, plain / 1.25, atol=1e-4)
    with pytest.raises(ValueError, match="ridge is -1: use a number from 0"):
        fill(method(rank=3, ridge=-1), array)


@BOTH
def test_a_noiseless_tensor_is_recovered_from_half_of_its_entries(method):
    array = tucker_tensor((2, 2, 2))  # less its mean, the ranks are 3
    filled = fill(method(rank=3, tol=1e-9, max_iter=3000), array, 0.5)
    np.testing.assert_allclose(filled, array, atol=0.01)


@BOTH
def test_full_rank_reproduces_a_full_array(method):
    array = np.random.default_rng(0).normal(size=SHAPE)
    np.testing.assert_allclose(fill(method(rank=99), array), array, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(
    seed=st.integers(0, 1000),
    rank=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.3, 0.7]),
    ridge=st.sampled_from([0.0, 0.1]),
)
@settings(deadline=None, max_examples=20)
def test_the_misfit_of_tucker_als_never_rises(seed, rank, share, ridge):
    array = np.random.default_rng(seed).normal(size=SHAPE)
    model = vaecp.TuckerALS(rank, ridge=ridge, max_iter=40)
    fill(model, array, share, seed)
    assert (np.diff(model.history_) <= 1e-9 * model.history_[:-1]).all()
    assert len(model.history_) == model.n_iter_


@BOTH
def test_permuting_the_modes_permutes_the_predictions(method):
    array = tucker_tensor(noise=0.1)
    observed = np.random.default_rng(1).random(SHAPE) > 0.2
    plain, turned = (
        method(rank=2, tol=1e-9, max_iter=1000)
        .fit_tensor(Observations.from_array(array.transpose(order), observed.transpose(order)))
        .predict_at(EVERYWHERE[:, order])
        .mean
        for order in ((0, 1, 2), (2, 0, 1))
    )
    np.testing.assert_allclose(plain, turned, atol=0.02)


@BOTH
def test_repeated_entries_count_as_their_mean(method):
    array = tucker_tensor()
    indices = np.concatenate([EVERYWHERE, EVERYWHERE])
    wobble = np.random.default_rng(0).normal(size=array.size)
    values = np.concatenate([array.ravel() + wobble, array.ravel() - wobble])
    model = method(rank=(3, 4, 3)).fit_tensor(Observations(indices, values, SHAPE))
    # Less its mean, a tensor of ranks (2, 3, 2) has at most one more in each mode.
    np.testing.assert_allclose(model.predict_at(EVERYWHERE).mean, array.ravel(), atol=1e-6)
    np.testing.assert_allclose(model.predict_at(EVERYWHERE).noise_std[0], np.std(wobble), rtol=0.2)


def test_growing_ranks_find_what_a_large_rank_at_once_misses():
    random = np.random.default_rng(7)
    rows = [np.cumsum(random.normal(size=(size, 4)), axis=0) for size in (5, 30, 40)]
    array = np.einsum("ir,jr,kr->ijk", *rows)
    array = (array - array.mean()) / array.std() + 0.01 * random.normal(size=array.shape)
    observed = random.random(array.shape) > 0.2
    model = vaecp.TuckerALS(rank=10).fit_tensor(Observations.from_array(array, observed))
    error = model.predict_at(np.argwhere(~observed)).mean - array[~observed]
    assert np.sqrt(np.mean(error**2)) < 0.02


def test_the_variance_of_two_unknown_rows_is_that_of_the_product():
    array = tucker_tensor()
    model = vaecp.TuckerALS(rank=3)
    fill(model, array)
    fitted = model.fitted_
    random = np.random.default_rng(0)
    rows = [
        table[-1] + random.normal(size=(200_000, len(spread))) @ spread
        for table, spread in zip(fitted.tables[:2], fitted.spreads[:2], strict=True)
    ]
    core = np.tensordot(fitted.core, fitted.tables[2][3], 1)
    draws = np.einsum("nr,rs,ns->n", rows[0], core, rows[1])
    expected = draws.std() * model.scaling_.scale
    np.testing.assert_allclose(
        model.predict_at([[-1, -1, 3]]).ignorance_std[0], expected, rtol=0.02
    )


def test_a_vast_tensor_is_refused():
    corners = Observations(
        [[0, 0, 0], [0, 0, 999], [999, 999, 0], [999, 999, 999]], [1.0, 2, 3, 4], (1000,) * 3
    )
    with pytest.raises(ObservationError, match="1000 x 1000 x 1000 tensor has 1,000,000,000 cells"):
        vaecp.HOSVD(rank=2).fit_tensor(corners)


def test_a_mode_whose_labels_are_all_seen_once_is_one_row():
    keys = [(entry, entry % 3, entry % 2) for entry in range(12)]
    values = [10.0 * j + k for _, j, k in keys]
    model = vaecp.TuckerALS(rank=3).fit(keys, values)
    np.testing.assert_allclose(model.predict(keys), values, atol=1e-6)
    assert all(len(set(column)) == 1 for column in model.factors_[0].T)


def test_one_rank_per_mode_is_needed():
    with pytest.raises(ValueError, match="rank has 2 items, but the tensor has 3 modes"):
        fill(vaecp.HOSVD(rank=(2, 2)), tucker_tensor())


def test_a_fit_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="TuckerALS stopped after max_iter=2 fillings"):
        fill(vaecp.TuckerALS(rank=3, max_iter=2), tucker_tensor(noise=0.5), 0.5)


@pytest.mark.parametrize("method", [vaecp.HOSVD, vaecp.TuckerALS])
def test_a_tensor_that_memory_has_no_room_for_is_refused(method, monkeypatch):
    monkeypatch.setattr("vaecp.models.tucker.estimators.available_memory", lambda: 1000)
    with pytest.raises(ObservationError, match="more than is free: use CPALS or VAECP"):
        method(rank=1).fit_tensor(vaecp.Observations.from_array(np.eye(4)))
