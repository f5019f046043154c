"""Exact factors come back from data without noise, whatever is missing."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import vaecp
from vaecp.data.observations import Observations

SHAPE = (40, 36, 12)
RANK = 3


def congruences(factors, truth):
    """Tucker's congruence of matched components: the product over modes of their cosines."""
    product = 1.0
    for ours, theirs in zip(factors, truth, strict=True):
        product = product * (unit(ours).T @ unit(theirs))
    found = np.abs(product)
    return found[linear_sum_assignment(-found)]


def unit(columns):
    return columns / np.linalg.norm(columns, axis=0)


def truth(draw):
    random = np.random.default_rng(0)
    return [getattr(random, draw)(size=(size, RANK)) for size in SHAPE]


def seen(share, kind):
    random = np.random.default_rng(1)
    if kind == "random":
        return random.random(SHAPE) >= share
    return np.broadcast_to((random.random(SHAPE[:2]) >= share)[..., None], SHAPE)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("kind", ["random", "fibres"])
def test_factors_are_found_up_to_sign_size_and_order(share, kind):
    factors = truth("normal")
    array = np.einsum("ir,jr,kr->ijk", *factors)
    observations = Observations.from_array(array, seen(share, kind))
    model = vaecp.CPALS(RANK, n_starts=10, random_state=0).fit_tensor(observations)
    assert congruences(model.factors_, factors).min() > 0.999
    gaps = observations.gaps()
    error = model.predict_at(gaps).mean - array[tuple(gaps.T)]
    assert np.sqrt(np.mean(error**2)) < 1e-3 * array.std()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("kind", ["random", "fibres"])
def test_non_negative_factors_are_found(share, kind):
    factors = [rows**3 for rows in truth("random")]  # many near zero, as spectra are
    array = np.einsum("ir,jr,kr->ijk", *factors)
    observations = Observations.from_array(array, seen(share, kind))
    model = vaecp.NCP(RANK, tol=1e-9, max_iter=5000, random_state=0).fit_tensor(observations)
    assert congruences(model.factors_, factors).min() > 0.999


def test_masked_tensorly_finds_the_same():
    from tensorly.decomposition import parafac

    factors = truth("normal")
    array = np.einsum("ir,jr,kr->ijk", *factors)
    known = seen(0.2, "random")
    other = parafac(
        np.where(known, array, 0), RANK, mask=known, n_iter_max=500, tol=1e-12, random_state=0
    )
    model = vaecp.CPALS(RANK, random_state=0).fit_tensor(Observations.from_array(array, known))
    assert congruences(model.factors_, other.factors).min() > 0.999
