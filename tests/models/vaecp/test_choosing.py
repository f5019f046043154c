import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from vaecp import VAECP
from vaecp.data.observations import Observations
from vaecp.models.vaecp import estimator
from vaecp.models.vaecp.choosing import (
    MOST_TO_COMPARE,
    Choice,
    Score,
    best_of,
    choose,
    part_as_dense,
)

POISSON, GAUSSIAN, LOG_NORMAL = map(Choice, ("poisson", "gaussian", "log-normal"))


def test_the_better_log_score_decides_beyond_a_margin():
    assert best_of({POISSON: Score(-1.0, 1.0), GAUSSIAN: Score(-0.995, 1.0)}) == POISSON
    assert best_of({POISSON: Score(-1.0, 1.0), GAUSSIAN: Score(-0.9, 1.0)}) == GAUSSIAN


def test_a_likelihood_whose_values_are_far_off_is_not_chosen_for_its_log_score():
    assert best_of({GAUSSIAN: Score(-1.9, 0.026), LOG_NORMAL: Score(-1.4, 0.048)}) == GAUSSIAN
    assert best_of({GAUSSIAN: Score(-1.9, 0.045), LOG_NORMAL: Score(-1.4, 0.048)}) == LOG_NORMAL


def test_the_part_that_is_looked_at_is_as_dense_as_the_tensor(random):
    shape = (200, 150, 6)
    cells = np.argwhere(random.random(shape) < 0.6)
    whole = Observations(cells.astype(np.int32), np.ones(len(cells)), shape)
    part = part_as_dense(whole, random)
    rows = [len(np.unique(column)) for column in part.indices.T]
    assert 0.8 * MOST_TO_COMPARE < len(part) < 1.2 * MOST_TO_COMPARE
    assert abs(len(part) / np.prod(rows) - 0.6) < 0.02
    assert rows[2] == 6


def test_small_tensors_are_looked_at_whole(random):
    tensor = Observations.from_array(random.normal(size=(30, 40)))
    assert len(part_as_dense(tensor, random)) == 1200


def test_likelihoods_are_compared_with_linear_algebra_in_one_thread(monkeypatch):
    """How many threads there are would change the last bits of what decides."""
    seen = []

    def choosing(*given):
        pools = threadpool_info()
        seen.extend(each["num_threads"] for each in pools if each["user_api"] == "blas")
        return choose(*given)

    monkeypatch.setattr(estimator, "choose", choosing)
    entries = Observations.from_array(np.arange(20.0).reshape(4, 5) % 7)
    with threadpool_limits(limits=2, user_api="blas"):
        VAECP(effort="quick", random_state=0).fit_tensor(entries)
    assert set(seen) <= {1}
