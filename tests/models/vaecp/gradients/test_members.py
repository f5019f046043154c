"""From starting points to members that predict."""

import jax
import numpy as np
import pytest
from gradient_training import ARCHITECTURE, LAYOUT, loop, outcome_of, small_tensor, starts

from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients.decoder import decode
from vaecp.models.vaecp.gradients.entries import rows_with_entries
from vaecp.models.vaecp.gradients.members import TrainedMembers, _members, train_members
from vaecp.models.vaecp.gradients.schedule import Schedule
from vaecp.models.vaecp.members import Ensemble
from vaecp.runtime.placement import Placement

CELLS = np.argwhere(np.ones((12, 12))).astype(np.int32)


def trained(train: Observations, held_out: Observations | None, **schedule) -> TrainedMembers:
    settings = {"decay": True, "kl_warmup": 0.0, "scale_from": 0.8} | schedule
    return train_members(
        train,
        held_out,
        ARCHITECTURE,
        (1.0, 1.0),
        Schedule(40, 0.02, **settings),
        loop(),
        0,
        Placement.on("cpu"),
    )


def means(members) -> np.ndarray:
    return Ensemble.of(members, -100.0, 100.0).moments(CELLS).mean


def test_members_start_apart():
    rows = starts().parameters.rows.mean
    assert np.abs(rows[0] - rows[1]).min(axis=0).max() > 0


def test_held_out_values_reach_the_final_members_and_not_the_judged_ones():
    """Values of other entries must not change what is judged by them."""
    train, held_out = small_tensor().split(0.2, 0)
    other = held_out.with_values(held_out.values + 3.0)
    first, second = (trained(train, each, finish=0.5) for each in (held_out, other))
    # Which epoch is best is up to the held-out values; the elbo of every epoch is not.
    np.testing.assert_array_equal(first.history["elbo"][:32], second.history["elbo"][:32])
    levels = [np.mean([member.level for member in run.final]) for run in (first, second)]
    assert levels[1] - levels[0] > 0.05


def test_the_final_members_are_closer_to_what_was_held_out():
    train, held_out = small_tensor().split(0.2, 0)
    run = trained(train, held_out, finish=0.5)
    asked = np.ravel_multi_index(tuple(held_out.indices.T), (12, 12))
    judged, final = (
        np.mean((means(members)[asked] - held_out.values[:, None]) ** 2)
        for members in (run.judged, run.final)
    )
    assert final < judged


def test_without_a_finish_the_judged_members_are_final():
    run = trained(*small_tensor().split(0.2, 0))
    assert run.judged is run.final


def test_members_predict_what_the_decoder_does():
    tensor = small_tensor()
    parameters = outcome_of(tensor, n_epochs=20).parameters
    found = means(_members(parameters, rows_with_entries(tensor), LAYOUT, ARCHITECTURE))
    for place in range(2):
        rows, _, decoder = jax.tree.map(lambda a, m=place: a[m], parameters)
        expected, _ = decode(decoder, rows.mean, LAYOUT, CELLS)
        np.testing.assert_allclose(found[:, place], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("row", [3, -1], ids=["without entries", "unseen"])
def test_rows_that_nothing_is_known_of_have_the_prior(row):
    tensor = small_tensor()
    known = tensor.take(tensor.indices[:, 0] != 3)
    parameters = outcome_of(known, n_epochs=20).parameters
    for place, member in enumerate(
        _members(parameters, rows_with_entries(known), LAYOUT, ARCHITECTURE)
    ):
        prior = parameters.prior
        np.testing.assert_allclose(member.mean[0][row, :3], prior.mean[place, 0, :3], atol=1e-6)
        np.testing.assert_allclose(
            member.variance[0][row, :3], np.exp(prior.log_variance[place, 0, :3]), rtol=1e-5
        )
        np.testing.assert_array_equal(member.mean[0][row, 3], 1.0)  # the effect of the other mode
        np.testing.assert_array_equal(member.variance[0][row, 3], 0.0)


def test_a_row_whose_entries_were_all_held_out_is_known_in_the_end():
    tensor = small_tensor()
    out = tensor.indices[:, 1] == 5
    run = trained(tensor.take(~out), tensor.take(out), finish=1.0)
    own = [0, 1, 3]  # two components, and the effect of the second mode
    for judged, final in zip(run.judged, run.final, strict=True):
        np.testing.assert_array_equal(judged.variance[1][5, own], judged.variance[1][-1, own])
        assert (final.variance[1][5, own] < 0.5 * final.variance[1][-1, own]).all()
