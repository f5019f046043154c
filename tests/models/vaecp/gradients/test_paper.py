"""`VAECP.paper()` does what the paper says, step by step."""

import jax
import numpy as np
import published_equations as published
import pytest

from vaecp import VAECP
from vaecp.models.vaecp.gradients import driver
from vaecp.models.vaecp.gradients.noise import seeds, standard_normals

RATE, N_STEPS, SHAPE = 0.01, 3, (3, 4, 5)


def numbers_of(parameters) -> published.Numbers:
    """Of the one member, by their names in the equations."""
    rows, prior, decoder = jax.tree.map(lambda a: np.array(a[0], dtype=np.float64), parameters)
    arrays = (*rows, *prior, *decoder[:6])
    return dict(zip(published.NAMES, arrays, strict=True))


@pytest.fixture(scope="module")
def chunk():
    """What goes into the compiled loop of a fit to 30 entries, one batch, and what comes out."""
    seen = {}

    def noted(states, problem, phase, batches, key, loop):
        seen["before"] = numbers_of(states.parameters)
        seen["problem"], seen["phase"], seen["loop"] = problem, phase, loop
        seen["keys"] = jax.random.split(key, batches.shape[:2])
        states, epochs = original(states, problem, phase, batches, key, loop)
        seen["after"] = numbers_of(states.parameters)
        return states, epochs

    random = np.random.default_rng(0)
    cells = random.permutation(np.argwhere(np.ones(SHAPE)))[:30]
    original = driver.run_chunk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "run_chunk", noted)
        model = VAECP.paper(rank=2, hidden=6, learning_rate=RATE, max_epochs=N_STEPS)
        model.set_params(random_state=0).fit(cells, random.normal(size=30))
    return seen


def test_steps_are_adam_on_the_published_equations(chunk):
    problem, layout = chunk["problem"], chunk["loop"].layout
    weights = np.ravel(problem.training.weights)
    assert weights.sum() == len(weights) == 30  # a batch as published, without padding
    row_ids = np.reshape(problem.training.indices, (-1, 3)) + np.array(layout.offsets)
    values = np.ravel(problem.training.values).astype(np.float64)
    counted = layout.is_row(SHAPE) > 0
    numbers, adam = chunk["before"], published.Adam(RATE)
    for step in range(N_STEPS):
        (seed,) = seeds(chunk["keys"][step, 0], 1)
        noise = np.asarray(standard_normals(seed, numbers["row_mean"].shape), np.float64)
        slopes = published.gradient(numbers, row_ids, values, noise, 30, counted)
        for name in ("row_mean", "row_log_variance"):
            slopes[name][~counted] = 0.0
        numbers = adam.climbed(numbers, slopes)
    for name in published.NAMES:
        moved = chunk["after"][name] - chunk["before"][name]
        assert np.abs(moved).max() > 0.1 * RATE, name
        np.testing.assert_allclose(chunk["after"][name], numbers[name], atol=0.02 * RATE)


def test_the_rate_is_constant_and_the_kl_counts_in_full_from_the_first_step(chunk):
    phase = chunk["phase"]
    np.testing.assert_allclose(phase.learning_rate[:N_STEPS], RATE)
    np.testing.assert_allclose(phase.scale_learning_rate[:N_STEPS], RATE)
    np.testing.assert_array_equal(phase.kl_weight, 1.0)


def test_there_is_one_prior_no_product_and_no_row_effects(chunk):
    assert chunk["before"]["prior_mean"].shape == (1, 2)
    assert chunk["before"]["row_mean"].shape[1] == 2
    assert (chunk["loop"].batch_size, chunk["loop"].n_draws) == (30, 1)
