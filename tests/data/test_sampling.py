"""Absent entries that are zero: a sample of them stands for all, without a dense tensor."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

import vaecp
from vaecp.data import sampling
from vaecp.data.sampling import absent_cells, representative
from vaecp.errors import ObservationError
from vaecp.models.vaecp.likelihoods import find
from vaecp.models.vaecp.sweeps.descent import Kind, begin, settle, solver_for


def events(n: int, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Rows differ in how often they take part."""
    random = np.random.default_rng(seed)
    columns = [np.minimum(random.geometric(3 / size, n), size) - 1 for size in shape]
    return np.unique(np.stack(columns, axis=1), axis=0).astype(np.int32)


def test_few_absent_entries_are_all_listed_as_zeros():
    listed = vaecp.Observations([[0, 0], [1, 2]], [3.0, 4.0], (2, 3))
    found = listed.with_absent_zero(unknown=np.array([[1, 0]]))
    assert found.weights is None
    np.testing.assert_array_equal(found.to_array(), [[3.0, 0.0, 0.0], [np.nan, 0.0, 4.0]])


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(sampling, "LEAST_ZEROS", 50)


def test_sums_over_a_sample_are_unbiased(small_samples, monkeypatch):
    """The bound is a sum over entries, so this is what its estimate needs."""
    shape, listed = (30, 20, 10), events(40, (30, 20, 10))
    terms = np.random.default_rng(1).normal(size=shape) - 2
    absent = np.ones(shape, dtype=bool)
    absent[tuple(listed.T)] = False
    sums, make = [], np.random.default_rng
    for seed in range(400):
        monkeypatch.setattr(np.random, "default_rng", lambda _, seed=seed: make(seed))
        cells, weight = absent_cells(listed, len(listed), shape)
        assert absent[tuple(cells.T)].all()
        assert len(np.unique(cells, axis=0)) == len(cells)
        sums.append(weight * terms[tuple(cells.T)].sum())
    assert stats.ttest_1samp(sums, terms[absent].sum()).pvalue > 0.001


def test_weights_count_as_so_many_equal_entries():
    """Sweeps see an entry of weight 3 as three entries."""
    random, shape = np.random.default_rng(0), (8, 7)
    indices = np.stack([random.integers(size, size=60) for size in shape], axis=1)
    values = random.integers(2, size=60).astype(float)
    times = random.integers(1, 4, size=60)
    heavy = vaecp.Observations(indices, values, shape, weights=times.astype(float))
    repeated = heavy.take(np.repeat(np.arange(60), times))
    repeated = vaecp.Observations(repeated.indices, repeated.values, shape)
    means = []
    for entries in (heavy, repeated):
        solver = solver_for(entries, Kind(0, eager=False), (None, None))
        descent = begin(solver, find("bernoulli")(), np.random.default_rng(0))
        means.append(settle(solver, descent, 60).tables)
    np.testing.assert_allclose(means[0].mean, means[1].mean, atol=1e-3)
    assert means[0].level == pytest.approx(means[1].level, abs=0.02)


def test_a_hundred_million_cells_cost_by_their_events():
    shape = (1_000, 1_000, 100)
    listed = events(3_000, shape)
    tracemalloc.start()
    tensor = vaecp.Observations(listed, np.ones(len(listed)), shape).with_absent_zero()
    model = vaecp.VAECP(rank=1, effort="quick", random_state=0).fit_tensor(tensor)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e8, "a dense tensor of bytes would take as much"
    assert model.likelihood_ == "bernoulli"
    assert tensor.weights is not None
    assert tensor.weights.sum() == pytest.approx(tensor.n_cells)
    random = np.random.default_rng(1)
    cells = np.stack([random.integers(size, size=20_000) for size in shape], axis=1)
    share = model.predict_at(cells).mean.mean()
    assert share == pytest.approx(len(listed) / tensor.n_cells, rel=0.5)
    assert any("stand for all" in note for note in tensor.notes)


def test_other_methods_say_that_they_do_not_weigh():
    shape = (300, 300, 100)
    listed = events(500, shape)
    tensor = vaecp.Observations(listed, np.ones(len(listed)), shape).with_absent_zero()
    with pytest.warns(UserWarning, match="takes all entries for alike"):
        vaecp.HOSVD(rank=1).fit_tensor(tensor)


def test_weights_are_positive_and_one_per_value():
    with pytest.raises(ObservationError, match="one positive number per value"):
        vaecp.Observations([[0, 0]], [1.0], (1, 1), weights=np.array([0.0]))


def test_places_are_repeated_as_often_as_they_weigh():
    weights = np.array([0.5, 1.0, 2.5])
    counts = np.bincount(representative(weights, 400))
    np.testing.assert_array_equal(counts, [50, 100, 250])
