import jax
import numpy as np
import pytest
from scipy import stats

from vaecp.models.vaecp.gradients.noise import seeds, standard_normals


@pytest.fixture(scope="module")
def draws():
    return np.stack(
        [standard_normals(seed, (500, 40)) for seed in seeds(jax.random.key(3), 20)]
    ).astype(float)


def test_numbers_are_standard_normal(draws):
    assert stats.kstest(draws.ravel(), "norm").pvalue > 1e-3
    assert np.abs(draws).max() < 5.5


def test_numbers_of_a_draw_are_independent_of_their_neighbours(draws):
    for axis in (1, 2):
        ahead, behind = (np.delete(draws, end, axis).ravel() for end in (0, -1))
        assert abs(np.corrcoef(ahead, behind)[0, 1]) < 4 / np.sqrt(ahead.size)
        assert abs(np.corrcoef(ahead**2, behind**2)[0, 1]) < 4 / np.sqrt(ahead.size)


def test_seeds_give_independent_draws(draws):
    flat = draws.reshape(len(draws), -1)
    correlations = np.corrcoef(flat)[np.triu_indices(len(flat), 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(flat.shape[1])


def test_a_seed_gives_the_same_numbers_again():
    (seed,) = seeds(jax.random.key(5), 1)
    np.testing.assert_array_equal(standard_normals(seed, (7,)), standard_normals(seed, (7,)))
