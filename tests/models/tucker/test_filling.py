"""Gaps that the model fills itself, until nothing changes."""

import numpy as np
import pytest
from tensorly.decomposition import tucker

from vaecp.models.tucker.filling import (
    fill_growing,
    fill_until_settled,
    higher_order_svd,
    orthogonal_iteration,
)


@pytest.fixture
def array(random):
    core = random.normal(size=(2, 2, 2))
    bases = [random.normal(size=(size, 2)) for size in (6, 5, 4)]
    return np.einsum("abc,ia,jb,kc->ijk", core, *bases)


def test_a_full_array_of_this_rank_is_its_own_model(array):
    found = higher_order_svd(array, (2, 2, 2))
    np.testing.assert_allclose(found.array(), array, atol=1e-10)
    assert np.square(found.core).sum() == pytest.approx(np.square(array).sum())


def test_a_ridge_shrinks_the_core_by_its_share(array):
    plain, shrunk = (higher_order_svd(array, (2, 2, 2), ridge=ridge) for ridge in (0.0, 0.25))
    np.testing.assert_allclose(shrunk.core, plain.core / 1.25)


def test_iteration_on_a_full_array_ends_where_tensorly_ends(array, random):
    noisy = array + 0.5 * random.normal(size=array.shape)
    known = np.ones(array.shape, dtype=bool)
    found = fill_until_settled(
        orthogonal_iteration, noisy, known, (2, 2, 2), 300, 1e-12, np.zeros(array.shape)
    )
    theirs = tucker(noisy, rank=[2, 2, 2], n_iter_max=300, tol=1e-14)
    misfit = np.sum((theirs.to_tensor() - noisy) ** 2)
    assert found.history[-1] == pytest.approx(misfit, rel=1e-6)


def test_gaps_of_an_exact_tensor_are_found(array, random):
    known = random.random(array.shape) < 0.8
    filled = fill_growing(
        orthogonal_iteration, np.where(known, array, 0.0), known, (2, 2, 2), 3000, 1e-9
    )
    np.testing.assert_allclose(filled.model.array()[~known], array[~known], atol=1e-4)
    assert np.all(np.diff(filled.history) <= 1e-12)
