from dataclasses import replace

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.sweeps.descent import Kind, begin, hasten, settle, solver_for, take_in


def cp_tensor(random, shape=(12, 11, 10), rank=3, noise=0.1, share=0.5) -> Observations:
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, rank)) for n in shape))
    array += noise * random.normal(size=shape)
    array[random.random(shape) > share] = np.nan
    return Observations.from_array(array)


@pytest.mark.parametrize("rank", [2, 4, 16])
@pytest.mark.parametrize("noise", [0.0, 0.1, 3.0])
def test_fast_sweeps_never_raise_the_residuals(rank, noise, random):
    tensor = cp_tensor(random, noise=noise)
    solver = solver_for(tensor, Kind(rank), (None,) * 3)
    for seed in range(3):
        history = hasten(solver, begin(solver, GAUSSIAN, np.random.default_rng(seed)), 60).history
        losses = np.array(history)[:, 1]
        assert (np.diff(losses) <= 0).all()


def test_settling_finds_the_noise_that_data_were_drawn_with(random):
    solver = solver_for(cp_tensor(random), Kind(3), (None,) * 3)
    found = settle(solver, hasten(solver, begin(solver, GAUSSIAN, random), 40), 60)
    assert np.sqrt(found.likelihood.noise) == pytest.approx(0.1, rel=0.1)


def test_new_entries_are_taken_in_with_priors_and_noise_as_they_were(random):
    whole = cp_tensor(random)
    some, _ = whole.split(0.3, 0)
    solver = solver_for(some, Kind(3), (None,) * 3)
    before = settle(solver, hasten(solver, begin(solver, GAUSSIAN, random), 40), 20)
    after = take_in(solver_for(whole, Kind(3), (None,) * 3), before, 1)
    assert after.likelihood.noise == before.likelihood.noise
    np.testing.assert_array_equal(after.tables.prior_variance, before.tables.prior_variance)
    assert after.tables.variance[:, :3].mean() < before.tables.variance[:, :3].mean()


def test_ten_entries_that_count_a_tenth_tell_as_much_as_one(random):
    once = cp_tensor(random, share=0.3)
    ten_times = once.take(np.repeat(np.arange(len(once)), 10))
    found = []
    for tensor, counts in ((once, 1.0), (ten_times, 0.1)):
        solver = solver_for(tensor, Kind(3), (None,) * 3)
        start = begin(solver, GAUSSIAN, np.random.default_rng(0))
        found.append(settle(solver, replace(start, counts=counts), 20))
    first, second = found
    np.testing.assert_allclose(second.tables.mean, first.tables.mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(second.tables.variance, first.tables.variance, rtol=1e-6)
    assert second.likelihood.noise == pytest.approx(first.likelihood.noise)


def test_values_that_are_all_alike_are_no_trouble():
    solver = solver_for(Observations.from_array(np.zeros((4, 5))), Kind(2), (None,) * 2)
    found = settle(
        solver, hasten(solver, begin(solver, GAUSSIAN, np.random.default_rng(0)), 20), 20
    )
    assert np.isfinite(found.tables.mean).all()
    assert abs(solver.moments(found.tables)[0]).max() < 1e-3
