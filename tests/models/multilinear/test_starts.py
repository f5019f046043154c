"""Singular vectors of unfoldings against NumPy's decomposition of the dense one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from vaecp.data.observations import Observations
from vaecp.models.multilinear import starts
from vaecp.models.multilinear.starts import leading_vectors, singular_vectors


@pytest.mark.parametrize("size", [30, 3_000])
@pytest.mark.parametrize("mode", [0, 1])
def test_singular_vectors_are_those_of_the_unfolding_with_zeros_in_the_gaps(size, mode, random):
    tensor = random.normal(size=(size, 4, 5))
    tensor[random.random(tensor.shape) < 0.3] = np.nan
    unfolding = np.moveaxis(np.nan_to_num(tensor), mode, 0).reshape(tensor.shape[mode], -1)
    left, strengths, _ = np.linalg.svd(unfolding, full_matrices=False)
    vectors, found = singular_vectors(Observations.from_array(tensor), mode, 3, random)
    np.testing.assert_allclose(found, strengths[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(vectors * left[:, :3], axis=0)), 1, rtol=1e-6)


def test_many_rows_and_columns_give_nearly_the_same_vectors(monkeypatch, random):
    monkeypatch.setattr(starts, "MANY", 10)
    tensor = sum(
        strength * np.multiply.outer(random.normal(size=(40, 1)), random.normal(size=(6, 7)))[:, 0]
        for strength in (5, 2, 1)
    )
    left, strengths, _ = np.linalg.svd(tensor.reshape(40, -1), full_matrices=False)
    vectors, found = singular_vectors(Observations.from_array(tensor), 0, 3, random)
    np.testing.assert_allclose(found, strengths[:3], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(vectors * left[:, :3], axis=0)), 1, rtol=1e-6)


@pytest.mark.parametrize(("shape", "width"), [((4, 9), 3), ((9, 4), 3), ((9, 4), 6)])
def test_leading_vectors_are_orthonormal_and_span_what_they_should(shape, width, random):
    matrix = random.normal(size=shape)
    vectors, strengths = leading_vectors(matrix, width)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(width), atol=1e-12)
    expected = np.linalg.svd(matrix, compute_uv=False)[: len(strengths)]
    np.testing.assert_allclose(strengths, expected)
    np.testing.assert_allclose(
        np.linalg.norm(vectors.T @ matrix, axis=1)[: len(expected)], expected
    )


def test_a_sparse_matrix_has_the_vectors_of_the_dense_one(random):
    matrix = random.normal(size=(5, 40)) * (random.random((5, 40)) < 0.2)
    one, other = leading_vectors(matrix, 2), leading_vectors(sparse.csr_array(matrix), 2)
    np.testing.assert_allclose(one[1], other[1])
    np.testing.assert_allclose(np.abs(np.sum(one[0] * other[0], axis=0)), 1)
