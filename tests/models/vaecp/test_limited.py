"""VAECP learns from values of which only a limit is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import vaecp
from vaecp import CPALS, VAECP, Observations
from vaecp.data.limits import Limits, saturated
from vaecp.data.prediction import Prediction
from vaecp.errors import ObservationError
from vaecp.models.vaecp.holdouts import cut_further
from vaecp.models.vaecp.limited import LimitedCells, log_excess

SHAPE = (12, 14, 10)


def tensor():
    """A positive tensor of rank 2 with a little noise."""
    random = np.random.default_rng(0)
    factors = [random.gamma(2.0, 0.5, (size, 2)) for size in SHAPE]
    full = np.einsum("ir,jr,kr->ijk", *factors) + 0.02 * random.standard_normal(SHAPE)
    return Observations.from_array(full, mode_names=("sample", "wavelength", "time"))


@pytest.fixture(scope="module")
def fitted():
    full = tensor()
    level = float(np.quantile(full.values, 0.85))
    hidden = full.take(full.values >= level)
    model = VAECP(effort="quick", random_state=0).fit_tensor(saturated(full, level))
    return model, hidden, level


def test_saturated_values_are_found_again(fitted):
    model, hidden, level = fitted
    missing = replace(saturated(tensor(), level), limits=None)
    plain = VAECP(effort="quick", random_state=0).fit_tensor(missing).predict_at(hidden.indices)
    prediction = model.predict_at(hidden.indices)
    error = vaecp.metrics.rmse(prediction, hidden.values)
    assert error < 0.5 * vaecp.metrics.rmse(plain, hidden.values)
    assert 0.8 <= vaecp.metrics.coverage(prediction, hidden.values, 0.9) <= 1.0


def test_predictions_keep_to_the_limits_and_only_there(fitted):
    model, hidden, level = fitted
    assert (model.predict_at(hidden.indices).interval(0.99)[0] >= level).all()
    assert (model.predict(hidden.keys()) > level).all()
    assert (model.sample(hidden.keys().head(5), 50, random_state=0) >= level).all()
    others = tensor().values < level
    below = model.predict_at(tensor().take(others).indices)
    assert not below.limited.any()
    assert (below.mean < level).mean() > 0.95


def test_a_saved_model_knows_the_limits(fitted, tmp_path):
    model, hidden, _ = fitted
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    np.testing.assert_array_equal(again.predict(hidden.keys()), model.predict(hidden.keys()))


def test_rows_that_join_leave_the_limits_where_they_were(fitted):
    model, hidden, _ = fitted
    new = pd.DataFrame({"sample": [-1, -1], "wavelength": [0, 1], "time": [0, 1]})
    grown = model.fold_in(new, [0.5, 0.7])
    expected = model.predict(hidden.keys())
    np.testing.assert_allclose(grown.predict(hidden.keys()), expected, rtol=1e-3)


def test_values_below_a_limit_of_detection_are_estimated_below_it():
    full = tensor()
    level = float(np.quantile(full.values, 0.2))
    below = full.values < level
    y = np.where(below, np.nan, full.values)
    upper = np.where(below, level, np.nan)
    model = VAECP(effort="quick", random_state=0).fit(full.keys(), y, upper=upper)
    hidden = full.take(below)
    prediction = model.predict_at(hidden.indices)
    assert (prediction.quantile(0.99) <= level).all()
    assert vaecp.metrics.rmse(prediction, hidden.values) < 0.15
    assert vaecp.metrics.coverage(prediction, hidden.values, 0.9) > 0.8


def test_completion_fills_entries_with_limits(fitted):
    _, hidden, level = fitted
    result = vaecp.complete(saturated(tensor(), level), VAECP(effort="quick", random_state=0))
    cells = tuple(hidden.indices.T)
    assert not result.observed[cells].any()
    assert (result.filled[cells] > level).all()


def test_other_methods_say_that_they_cannot_use_limits():
    with pytest.warns(UserWarning, match="CPALS takes .* only a limit is known as unknown"):
        CPALS(rank=2, random_state=0).fit_tensor(saturated(tensor(), 2.0))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (VAECP(likelihood="poisson"), "counts.* cannot have limits"),
        (VAECP.paper(), "members with a network, which use neither limits"),
    ],
)
def test_what_cannot_use_limits_is_refused(model, words):
    counts = Observations.from_array(np.round(3 * tensor().to_array().clip(0)))
    with pytest.raises(ObservationError, match=words):
        model.fit_tensor(saturated(counts, 9.0))


def test_a_cut_takes_the_next_values_and_moves_the_limits():
    full = tensor()
    level = float(np.quantile(full.values, 0.9))
    given = saturated(full, level)
    cut = cut_further(given)
    assert cut is not None
    inner = cut.train.values.max()
    assert cut.held_out.values.min() > inner
    assert len(cut.held_out) / len(given) == pytest.approx(0.1, abs=0.01)
    assert cut.train.limits is not None
    assert len(cut.train.limits) == len(given.limits or ()) + len(cut.held_out)
    assert np.ptp(cut.train.limits.lower) == 0
    assert cut_further(full) is None


def test_the_log_excess_has_the_moments_of_the_truncated_normal():
    plain = Prediction(np.array([5.0, 1.0]), np.array([1.0, 1.0]), np.zeros(2))
    mean, variance = log_excess(plain, Limits([[0, 0], [0, 1]], [1.0, 2.0], [np.inf, np.inf]))
    truth = np.random.default_rng(0).standard_normal(400_000)
    for place, (centre, limit) in enumerate([(5.0, 1.0), (1.0, 2.0)]):
        beyond = (centre + truth)[centre + truth > limit] - limit
        found = np.exp(mean[place] + 0.5 * variance[place])
        assert found == pytest.approx(beyond.mean(), rel=0.01)


def test_how_far_values_lie_beyond_is_learned_with_what_is_censored():
    random = np.random.default_rng(0)
    n = 3_000
    plain = Prediction(np.full(n, 3.0), np.full(n, 0.01), np.zeros(n))
    limits = Limits(np.zeros((n, 2), dtype=int), np.ones(n), np.full(n, np.inf))
    excess = 2 * np.exp(0.8 * random.standard_normal(n))
    exact = excess < 3
    cells = LimitedCells.plain(limits, (2, 2), 2)
    known = np.minimum(excess, 3)
    found = cells.learned(plain, limits, known, exact, np.ones((n, 2)))
    naive = cells.learned(
        plain.take(exact), limits.take(exact), known[exact], exact[exact], np.ones((n, 2))[exact]
    )
    assert np.exp(found.scale[0]) == pytest.approx(0.8, rel=0.1)
    assert np.exp(naive.scale[0]) < 0.7
