"""Training: phases, the best state, patience, groups of members."""

import jax
import numpy as np
import pytest
from gradient_training import FREE, LAYOUT, loop, outcome_of, small_tensor, starts

from vaecp.errors import TrainingError
from vaecp.models.vaecp.gradients import loop as loops
from vaecp.models.vaecp.gradients.entries import padded_entries
from vaecp.models.vaecp.gradients.loop import Epoch
from vaecp.models.vaecp.gradients.objective import Entries


@pytest.fixture(scope="module")
def observations():
    return small_tensor()


def validation_losses(parameters, validation):
    entries = Entries(*padded_entries(validation.indices, validation.values, 36))
    return jax.vmap(lambda p: loops._validation_losses(p, entries, loop()))(parameters)


def test_history_has_every_term_of_every_epoch_and_member(observations):
    outcome = outcome_of(observations, n_epochs=20)
    assert set(outcome.history) == set(Epoch._fields)
    assert {term.shape for term in outcome.history.values()} == {(20, 2)}
    np.testing.assert_allclose(
        outcome.history["elbo"],
        outcome.history["log_likelihood"] - outcome.history["kl"],
        rtol=1e-4,
    )


def test_the_bound_rises(observations):
    elbo = outcome_of(observations, n_epochs=60).history["elbo"]
    assert (elbo[-1] > elbo[0] + 10).all()


def test_the_state_with_the_best_validation_rmse_is_restored(observations):
    train, validation = observations.split(0.25, 0)
    # At this rate the error goes up and down: the last state is rarely the best.
    outcome = outcome_of(train, validation, n_epochs=40, rate=0.2)
    found, _ = validation_losses(outcome.parameters, validation)
    history = outcome.history["validation_rmse"]
    np.testing.assert_allclose(found, history.min(axis=0), rtol=1e-5)
    assert (history.min(axis=0) < history[-1]).any()


def test_training_stops_when_validation_no_longer_improves(observations):
    train, validation = observations.split(0.25, 0)
    scrambled = validation.with_values(np.random.default_rng(1).permutation(validation.values))
    outcome = outcome_of(train, scrambled, n_epochs=400, rate=0.05, patience=30)
    assert outcome.stopped_early
    assert len(outcome.history["elbo"]) < 400


def test_a_run_that_turns_non_finite_stops_with_a_remedy(observations):
    with pytest.raises(TrainingError, match=r"non-finite in epoch \d+ .* learning_rate="):
        outcome_of(observations, rate=1e8)


def test_the_variance_head_is_trained_last_and_alone_from_the_best_state(observations):
    train, validation = observations.split(0.25, 0)
    settings = {"rate": 0.2}
    mean_only = outcome_of(train, validation, n_epochs=30, scale_from=1.0, **settings).parameters
    # 30 of 40 epochs are the same, and the rest may move the variance head alone
    both = outcome_of(train, validation, n_epochs=40, scale_from=0.75, **settings).parameters
    assert (np.abs(both.decoder.scale_weights) > 0).any()
    assert (mean_only.decoder.scale_weights == 0).all()
    both = both._replace(
        decoder=both.decoder._replace(
            scale_weights=mean_only.decoder.scale_weights, scale_bias=mean_only.decoder.scale_bias
        )
    )
    for one, other in zip(jax.tree.leaves(both), jax.tree.leaves(mean_only), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_state_with_the_best_likelihood_is_kept_however_long_the_last_chunk_is(observations):
    train, validation = observations.split(0.25, 0)
    outcome = outcome_of(train, validation, n_epochs=54, rate=0.2, scale_from=0.75)
    _, found = validation_losses(outcome.parameters, validation)
    head_alone = outcome.history["validation_nll"][round(0.75 * 54) :]
    np.testing.assert_allclose(found, head_alone.min(axis=0), rtol=1e-5)


def test_rows_without_entries_go_to_the_prior_and_rows_of_padding_stay(observations):
    """The KL alone moves the first, and nothing the second."""
    without_last = observations.take(observations.indices[:, 0] < 11)
    start = np.array(starts().parameters.rows.mean)
    rows, prior, _ = outcome_of(without_last, n_epochs=400, rate=0.02, decay=True).parameters
    np.testing.assert_allclose(rows.mean[:, 11, :2], prior.mean[:, 0, :2], atol=0.1)
    np.testing.assert_allclose(rows.log_variance[:, 11, :2], prior.log_variance[:, 0, :2], atol=0.1)
    np.testing.assert_array_equal(rows.mean[:, 12:32], start[:, 12:32])


def test_the_constants_of_effects_never_move(observations):
    """An effect of a mode is 1 in the rows of the other, with certainty."""
    rows = outcome_of(observations, n_epochs=60, rate=0.1).parameters.rows
    before = starts().parameters.rows
    fixed = np.broadcast_to(FREE == 0, rows.mean.shape)
    for now, then in zip(rows, before, strict=True):
        np.testing.assert_array_equal(np.asarray(now)[fixed], np.asarray(then)[fixed])
    second = LAYOUT.offsets[1]
    np.testing.assert_array_equal(rows.mean[:, :12, 3], 1.0)
    np.testing.assert_array_equal(rows.mean[:, second : second + 12, 2], 1.0)
    assert (np.abs(rows.mean[:, :12, 2]) > 0.01).any()  # the effects themselves do


def test_the_likelihood_of_small_batches_stands_for_all_entries(observations):
    small, large = (
        outcome_of(observations, n_epochs=50, rate=1e-12, batch_size=batch_size)
        for batch_size in (16, 144)
    )
    np.testing.assert_allclose(
        small.history["log_likelihood"].mean(axis=0),
        large.history["log_likelihood"].mean(axis=0),
        rtol=0.02,
    )


def test_a_strong_prior_silences_the_network(observations):
    outcome = outcome_of(observations, n_epochs=200, decay=True, precisions=(1e-3, 1e9))
    free, silent = np.abs(outcome.parameters.decoder.mean_weights).max(axis=1)
    assert silent < 1e-3 < free


def test_epochs_that_pad_the_last_chunk_leave_no_trace(observations):
    outcome = outcome_of(observations, n_epochs=13)
    assert outcome.history["elbo"].shape == (13, 2)
    whole = outcome_of(observations, n_epochs=20).history["elbo"]
    np.testing.assert_array_equal(outcome.history["elbo"], whole[:13])


def test_blocks_read_where_they_lie_train_as_gathered_batches_do(observations, monkeypatch):
    train, held_out = observations.split(0.25, 0)
    gathered = outcome_of(train, held_out, n_epochs=10)
    monkeypatch.setattr(loops.fused, "reads_blocks", lambda: True)
    loops.run_chunk.clear_cache()
    where_they_lie = outcome_of(train, held_out, n_epochs=10)
    loops.run_chunk.clear_cache()
    for found, expected in zip(
        jax.tree.leaves(where_they_lie.parameters),
        jax.tree.leaves(gathered.parameters),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_groups_of_members_train_in_threads_with_one_program(observations):
    """A thread that does not know the chosen device would compile the loop again."""
    before = loops.run_chunk._cache_size()
    with jax.default_device(jax.devices("cpu")[0]):
        outcome = outcome_of(observations, precisions=[1.0] * 6, n_epochs=30, batch_size=48)
    assert loops.run_chunk._cache_size() == before + 1
    assert outcome.history["elbo"].shape == (30, 6)


def test_members_do_not_depend_on_who_trains_beside_them(observations):
    few, many = (outcome_of(observations, precisions=[1.0] * n) for n in (2, 4))
    for found, expected in zip(
        jax.tree.leaves(many.parameters), jax.tree.leaves(few.parameters), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(found)[:2], expected)


def test_progress_is_told_after_every_chunk(observations):
    seen = []
    outcome_of(observations, n_epochs=25, on_chunk=lambda done, terms: seen.append(done))
    assert seen == [10, 20, 25]
