"""What held-out entries say of members: their losses, and what averaging gains."""

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.models.vaecp.held_out import HeldOut
from vaecp.models.vaecp.holdouts import Fold
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.portfolio import average_gain
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import Candidate


def loss_of(means: np.ndarray, fold: Fold) -> float:
    return HeldOut.of([fold]).loss(GAUSSIAN, means, np.zeros_like(means))


def fold_of(values, kind, importance) -> Fold:
    tensor = Observations(np.zeros((len(values), 2), dtype=np.int32), np.array(values), (1, 1))
    return Fold(tensor, tensor, np.array(importance), np.array(kind), np.arange(len(kind)))


def test_the_loss_averages_logarithms_over_kinds_of_gaps_by_their_importance():
    fold = fold_of([1.0, 1.0, 10.0], [0, 0, 1], [1.0, 1.0, 6.0])
    expected = (2 * np.log(1.0) + 6 * np.log(100.0)) / 8
    assert loss_of(np.zeros(3), fold) == pytest.approx(expected)


def test_the_doubt_about_two_losses_is_what_other_units_would_tell(random):
    """Against drawing units anew: a hundred of them, of ten entries that err alike."""
    n_units, per_unit = 100, 10
    unit = np.repeat(np.arange(n_units), per_unit)

    def errors(size: float) -> np.ndarray:
        shared = np.repeat(random.normal(size=n_units), per_unit)
        return size * (shared + 0.3 * random.normal(size=len(unit)))

    def record(first: np.ndarray, second: np.ndarray) -> tuple[HeldOut, tuple, tuple]:
        none = np.zeros(len(unit))
        held_out = HeldOut(none, np.zeros(len(unit), int), np.ones(len(unit)), unit)
        return held_out, (first, none), (second, none)

    found, apart = [], []
    for _ in range(60):
        held_out, *two = record(errors(1.0), errors(1.1))
        found.append(held_out.doubt(GAUSSIAN, *two))
        apart.append(held_out.loss(GAUSSIAN, *two[0]) - held_out.loss(GAUSSIAN, *two[1]))
    assert np.mean(found) == pytest.approx(np.std(apart), rel=0.3)


def test_one_unit_leaves_doubt(random):
    """However clear its entries are: another unit may say otherwise."""
    none, first = np.zeros(100), random.normal(size=100)
    held_out = HeldOut(none, np.zeros(100, int), np.ones(100), np.zeros(100, int))
    assert held_out.doubt(GAUSSIAN, (first, none), (3 * first, none)) > 1.0


def test_one_vast_error_among_thousands_does_not_make_the_loss():
    values = np.ones(2000)
    calm = loss_of(np.zeros(2000), fold_of(values, np.zeros(2000, int), np.ones(2000)))
    values[3] = 1e6
    vast = loss_of(np.zeros(2000), fold_of(values, np.zeros(2000, int), np.ones(2000)))
    assert vast == pytest.approx(calm, abs=1e-6)


def test_a_member_alone_says_nothing_against_others(random):
    values = random.normal(size=40)
    fold = fold_of(values, np.zeros(40, int), np.ones(40))
    alone = Candidate(Kind(2), 0, (), 0 * values, 0 * values, loss_of(0 * values, fold))
    assert average_gain([alone], HeldOut.of([fold]), GAUSSIAN) == np.inf


def test_averaging_gains_where_members_err_independently(random):
    values = random.normal(size=4000)
    fold = fold_of(values, np.zeros(4000, int), np.ones(4000))

    def candidate(means) -> Candidate:
        return Candidate(Kind(2), 0, (), means, 0 * means, loss_of(means, fold))

    apart = [candidate(values + random.normal(size=4000)) for _ in range(4)]
    assert average_gain(apart, HeldOut.of([fold]), GAUSSIAN) == pytest.approx(np.log(4), abs=0.1)
    assert average_gain([apart[0]] * 2, HeldOut.of([fold]), GAUSSIAN) == pytest.approx(0, abs=1e-9)
