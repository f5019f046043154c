"""A stream of entries."""

import numpy as np
import pytest

import vaecp

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def model(**settings) -> vaecp.VAECP:
    given = {"rank": 3, "effort": "quick", "n_members": 1, "random_state": 0} | settings
    return vaecp.VAECP(**given)


class Stream:
    """A rank-3 tensor with noise in ten parts; rows of the first mode appear as they come."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        rows = [random.normal(size=(size, 3)) for size in (30, 20, 10)]
        self.full = np.einsum("ir,jr,kr->ijk", *rows) + 0.2 * random.normal(size=(30, 20, 10))
        cells = random.permutation(np.argwhere(np.ones(self.full.shape)))
        self.test, train = cells[:1000], cells[1000:]
        self.parts = np.array_split(train, 10)

    def values(self, cells: np.ndarray) -> np.ndarray:
        return self.full[tuple(cells.T)]

    def rmse(self, fitted) -> float:
        return float(np.sqrt(np.mean((fitted.predict(self.test) - self.values(self.test)) ** 2)))


@pytest.fixture(scope="module")
def stream() -> Stream:
    return Stream()


def learned(stream: Stream, n_parts: int = 10, **settings) -> vaecp.VAECP:
    found = model(**settings)
    for part in stream.parts[:n_parts]:
        found.partial_fit(part, stream.values(part))
    return found


def test_a_stream_in_ten_parts_comes_close_to_one_fit_to_all(stream):
    everything = np.concatenate(stream.parts)
    at_once = model().fit(everything, stream.values(everything))
    assert stream.rmse(learned(stream)) < 1.05 * stream.rmse(at_once)


def test_the_posterior_alone_learns_from_every_part(stream):
    """After a plain fit nothing is fitted again."""
    first = np.concatenate(stream.parts[:2])
    found = model().fit(first, stream.values(first))
    before = stream.rmse(found)
    for part in stream.parts[2:]:
        found.partial_fit(part, stream.values(part))
    everything = np.concatenate(stream.parts)
    at_once = model().fit(everything, stream.values(everything))
    assert stream.rmse(found) < 1.05 * stream.rmse(at_once) < before


@pytest.mark.parametrize("seed", [1, 3])
def test_a_given_rank_is_found_whatever_the_seed(seed, stream):
    """From a single start, a sixth of the cells lead to errors of three to eight times the noise."""
    first = np.concatenate(stream.parts[:2])
    found = model(random_state=seed).fit(first, stream.values(first))
    assert stream.rmse(found) < 1.4 * 0.2


def test_the_same_stream_gives_the_same_bits(stream):
    one, other = (learned(stream, 3) for _ in range(2))
    np.testing.assert_array_equal(one.predict(stream.test), other.predict(stream.test))


def test_a_model_is_updated_saved_loaded_and_updated_again(stream, tmp_path):
    kept = learned(stream, 3)
    loaded = vaecp.load(vaecp.save(kept, tmp_path / "stream.vaecp"))
    for each in (kept, loaded):
        each.partial_fit(stream.parts[3], stream.values(stream.parts[3]))
    np.testing.assert_array_equal(kept.predict(stream.test), loaded.predict(stream.test))
    assert len(kept.stream_values_) == sum(map(len, stream.parts[:4]))


def test_new_rows_join_and_known_ones_learn(stream):
    first = stream.parts[0][stream.parts[0][:, 0] < 25]
    later = np.concatenate(stream.parts[1:3])
    assert (later[:, 0] >= 25).any()
    ratios = []
    for seed in range(3):  # so few entries leave a fit in a poor place now and then
        found = model(random_state=seed).fit(first, stream.values(first))
        before = stream.rmse(found)
        found.partial_fit(later, stream.values(later))
        assert found.shape_ == (30, 20, 10)
        ratios.append(stream.rmse(found) / before)
    assert np.median(ratios) < 0.6


def test_forgetting_follows_rows_that_change(stream):
    """From the fourth part on, every row of the first mode is what the next one was."""
    first = np.concatenate(stream.parts[:3])
    moved = np.roll(stream.full, -1, axis=0)
    errors = []
    for forget in (1.0, 0.5):
        found = model().fit(first, stream.values(first))
        for part in stream.parts[3:8]:
            found.partial_fit(part, moved[tuple(part.T)], forget=forget)
        errors.append(np.mean((found.predict(stream.test) - moved[tuple(stream.test.T)]) ** 2))
    assert errors[1] < 0.5 * errors[0]


def test_forgetting_everything_leaves_the_prior(stream):
    found = learned(stream, 1)
    ensemble = found.fitted_.ensemble.faded(0.0)
    for mean, variance in zip(ensemble.mean, ensemble.variance, strict=True):
        free = variance[0, -1] > 0
        np.testing.assert_allclose(mean[0][:, free], np.tile(mean[0, -1, free], (mean.shape[1], 1)))
        np.testing.assert_allclose(variance[0][:-1, free].max(axis=0), variance[0, -1, free])


def test_values_beyond_those_seen_first_are_not_drawn_back():
    keys = np.argwhere(np.ones((12, 10)))
    rows = np.random.default_rng(1).random((12, 1)) + np.arange(10) / 10
    found = model(rank=1).fit(keys, rows.ravel())
    later = keys[keys[:, 0] < 3] + [12, 0]
    values = 20 + rows[:3].ravel()
    found.partial_fit(later, values)
    np.testing.assert_allclose(found.predict(later), values, rtol=0.1)


def test_a_share_to_forget_that_is_none_is_refused(stream):
    with pytest.raises(ValueError, match="forget is 2: use a number from 0 to 1"):
        learned(stream, 1).partial_fit(stream.parts[1], stream.values(stream.parts[1]), forget=2)
