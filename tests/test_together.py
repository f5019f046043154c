"""Fits side by side against fits one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from vaecp import VAECP
from vaecp.models.vaecp_together import can_share, fit_together
from vaecp.observations import Observations


def tensor() -> Observations:
    random = np.random.default_rng(0)
    a, b, c = (random.normal(size=(n, 2)) for n in (12, 10, 8))
    array = np.einsum("ir,jr,kr->ijk", a, b, c)
    return Observations.from_array(array + 0.1 * random.normal(size=array.shape))


def model(seed: int, **settings) -> VAECP:
    small = {"rank": 3, "hidden": 8, "n_members": 2, "max_epochs": 120, "cp_start": 0.0}
    return VAECP(**small | settings, random_state=seed)


@pytest.fixture(scope="module")
def folds():
    pool = tensor()
    return pool, list(pool.folds(3, 0))


@pytest.fixture(scope="module")
def together(folds):
    pool, parts = folds
    models = [model(seed) for seed in range(3)]
    return fit_together(models, [train for train, _ in parts], pool)


def error(fitted: VAECP, held_out: Observations) -> float:
    difference = fitted.predict_at(held_out.indices).mean - held_out.values
    return float(np.sqrt(np.mean(difference**2)) / held_out.values.std())


def test_each_fold_is_predicted_as_well_as_by_a_fit_of_its_own(together, folds):
    _, parts = folds
    for seed, (fitted, (train, held_out)) in enumerate(zip(together, parts, strict=True)):
        alone = error(model(seed).fit_tensor(train), held_out)
        assert error(fitted, held_out) < 1.3 * alone + 0.02


def test_values_outside_a_part_do_not_enter_its_fit(folds, together):
    """The pool lends its coordinates alone."""
    pool, parts = folds
    strange = pool.with_values(np.random.default_rng(1).normal(size=len(pool)) * 1e3)
    again = fit_together([model(seed) for seed in range(3)], [train for train, _ in parts], strange)
    for one, other in zip(together, again, strict=True):
        np.testing.assert_array_equal(one.fitted_.history["elbo"], other.fitted_.history["elbo"])
        np.testing.assert_array_equal(
            one.predict_at([[0, 0, 0]]).mean, other.predict_at([[0, 0, 0]]).mean
        )


def test_each_fit_has_a_history_and_members_of_its_own(together):
    shapes = {fitted.fitted_.history["elbo"].shape for fitted in together}
    assert shapes == {(round(120 * 1.25), 2)}
    assert len({fitted.fitted_.history["elbo"][-1, 0] for fitted in together}) == 3


def test_parts_of_one_shape_but_other_seeds_differ_in_their_held_out_entries(together):
    assert len({float(fitted.fitted_.std_scale) for fitted in together}) == 3


def test_models_of_different_rank_are_trained_apart(folds):
    pool, parts = folds
    models = [model(0, max_epochs=5), model(0, rank=2, max_epochs=5)]
    fit_together(models, [parts[0][0], parts[1][0]], pool)
    assert [fitted.factors_[0].shape for fitted in models] == [(12, 3), (12, 2)]


def test_repeated_entries_cannot_be_told_apart_by_their_coordinates(folds):
    pool, _ = folds
    assert can_share(pool)
    assert not can_share(pool.take(np.append(np.arange(len(pool)), 0)))
    assert not can_share(Observations(np.zeros((1, 4), dtype=np.int64), np.ones(1), (2**20,) * 4))
