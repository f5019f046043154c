import jax
import numpy as np
import pytest

from vaecp import predictive
from vaecp.predictive import CHUNK, MANY


@pytest.mark.parametrize("n_entries", [0, 1, CHUNK, 3 * CHUNK + 5, MANY + 1])
def test_chunks_come_back_in_order(n_entries):
    indices = np.arange(2 * n_entries).reshape(n_entries, 2)
    first, total = predictive._in_chunks(lambda i: (i[:, 0], i.sum(axis=1)), indices)
    np.testing.assert_array_equal(first, indices[:, 0])
    np.testing.assert_array_equal(total, indices.sum(axis=1))


def test_every_chunk_is_computed_on_the_chosen_device():
    seen = []
    with jax.default_device(jax.devices()[0]):
        predictive._in_chunks(
            lambda i: seen.append(jax.config.jax_default_device) or i, np.zeros((5 * CHUNK, 2))
        )
    assert seen == [jax.devices()[0]] * 5
