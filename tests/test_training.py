import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from vaecp import loop as loop_module
from vaecp import problems, recipe, training
from vaecp.decoder import Decoder
from vaecp.errors import TrainingError
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.loop import Epoch, Loop, Problem
from vaecp.objective import Entries, Parameters, batch_elbo
from vaecp.observations import Observations

ARCHITECTURE = recipe.Architecture(
    rank=2, hidden=4, multilinear=True, shared_prior=False, quiet=True
)


def test_with_a_linear_decoder_the_posterior_is_the_exact_gaussian_one(random):
    """x = w . (u_i, v_j) + noise: the posterior of all rows is Gaussian with precision P.

    The best factorised posterior has its mean, and variances 1 / diag(P).
    """
    layout, rank, noise_variance, small = Layout((3, 2)), 2, 0.25, 1e-2
    indices = np.argwhere(np.ones(layout.sizes))
    weights = random.normal(size=(2, rank))
    design = np.zeros((len(indices), layout.n_rows, rank))
    for entry, (i, j) in enumerate(indices + np.asarray(layout.offsets)):
        design[entry, i], design[entry, j] = weights
    design = design.reshape(len(indices), -1)
    values = random.normal(size=len(indices))
    precision = np.eye(layout.n_rows * rank) + design.T @ design / noise_variance
    exact_mean = np.linalg.solve(precision, design.T @ values / noise_variance)

    # tanh(small * z) / small is z up to a relative error of small^2
    decoder = Decoder(
        jnp.asarray(small * weights[:, :, None], jnp.float32),
        jnp.zeros(1),
        jnp.full(1, 1 / small),
        jnp.zeros(()),
        jnp.zeros(1),
        jnp.log(noise_variance),
    )
    prior = Prior(jnp.zeros((1, rank)), jnp.zeros((1, rank)))
    entries = Entries(jnp.asarray(indices), jnp.asarray(values), jnp.ones(len(values)))
    optimiser = optax.adam(optax.cosine_decay_schedule(0.05, 3000))

    def cost(rows, key):
        every_row = jnp.ones(layout.n_rows)
        return -batch_elbo(
            Parameters(rows, prior, decoder), entries, key, len(values), layout, every_row, 32
        ).value

    def step(carry, key):
        rows, moments = carry
        updates, moments = optimiser.update(jax.grad(cost)(rows, key), moments)
        return (optax.apply_updates(rows, updates), moments), None

    rows = Rows(jnp.zeros((layout.n_rows, rank)), jnp.zeros((layout.n_rows, rank)))
    keys = jax.random.split(jax.random.key(0), 3000)
    (rows, _), _ = jax.jit(lambda carry: jax.lax.scan(step, carry, keys))(
        (rows, optimiser.init(rows))
    )
    np.testing.assert_allclose(rows.mean.ravel(), exact_mean, atol=0.01)
    np.testing.assert_allclose(
        jnp.exp(rows.log_variance).ravel(), 1 / np.diag(precision), rtol=0.03
    )


@pytest.fixture
def observations(random) -> Observations:
    rows, columns = random.normal(size=(2, 12, 2))
    return Observations.from_array(rows @ columns.T)


def outcome_of(
    observations,
    validation=None,
    *,
    n_epochs=20,
    rate=0.01,
    scale_from=1.0,
    kl_warmup=0.0,
    batch_size=64,
    decay=False,
    n_members=2,
    **options,
):
    layout = Layout.of(observations.shape)
    random = np.random.default_rng(0)
    return training.train(
        recipe.initial_states(0, np.ones(n_members), layout, ARCHITECTURE),
        problems.problem(
            observations,
            validation,
            layout=layout,
            smoothers=(),
            batch_size=batch_size,
            random=random,
            sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0]),
        ),
        recipe.Schedule(n_epochs, rate, decay, kl_warmup, scale_from).phases(),
        Loop(layout, batch_size=batch_size, block_size=16),
        random,
        **options,
    )


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
    layout = Layout.of(observations.shape)
    entries = Entries(*problems.padded(validation.indices, validation.values, 36))
    found, _ = jax.vmap(lambda p: loop_module._validation_losses(p, entries, layout))(
        outcome.parameters
    )
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
    layout = Layout.of(observations.shape)
    entries = Entries(*problems.padded(validation.indices, validation.values, 36))
    _, found = jax.vmap(lambda p: loop_module._validation_losses(p, entries, layout))(
        outcome.parameters
    )
    head_alone = outcome.history["validation_nll"][round(0.75 * 54) :]
    np.testing.assert_allclose(found, head_alone.min(axis=0), rtol=1e-5)


def test_rows_without_entries_go_to_the_prior_and_rows_of_padding_stay(observations):
    """The KL alone moves the first, and nothing the second."""
    without_last = observations.take(observations.indices[:, 0] < 11)
    layout = Layout.of(observations.shape)
    start = recipe.initial_states(0, np.ones(2), layout, ARCHITECTURE).parameters
    rows, prior, *_ = outcome_of(without_last, n_epochs=400, rate=0.02, decay=True).parameters
    np.testing.assert_allclose(rows.mean[:, 11], prior.mean[:, 0], atol=0.1)
    np.testing.assert_allclose(rows.log_variance[:, 11], prior.log_variance[:, 0], atol=0.1)
    np.testing.assert_array_equal(rows.mean[:, 12:32], start.rows.mean[:, 12:32])


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
    layout = Layout.of(observations.shape)
    states = recipe.initial_states(0, np.array([1e-3, 1e9]), layout, ARCHITECTURE)
    random = np.random.default_rng(0)
    place = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    outcome = training.train(
        states,
        problems.problem(
            observations,
            None,
            layout=layout,
            smoothers=(),
            batch_size=64,
            random=random,
            sharding=place,
        ),
        recipe.Schedule(200, 0.01, decay=True, kl_warmup=0.0, scale_from=1.0).phases(),
        Loop(layout, batch_size=64, block_size=16),
        random,
    )
    free, silent = np.abs(outcome.parameters.decoder.mean_weights).max(axis=1)
    assert silent < 1e-3 < free


def test_members_start_apart():
    layout = Layout((32, 32))
    rows = recipe.initial_states(0, np.ones(2), layout, ARCHITECTURE).parameters.rows.mean
    assert np.abs(rows[0] - rows[1]).min(axis=0).max() > 0


def test_phases_warm_the_kl_up_and_hand_over_to_the_variance_head():
    schedule = recipe.Schedule(10, 0.1, decay=False, kl_warmup=0.4, scale_from=0.8, finish=0.3)
    mean, scale = schedule.phases()
    np.testing.assert_allclose(mean.learning_rate, [0.1] * 8)
    np.testing.assert_allclose(mean.scale_learning_rate, [0.0] * 8)
    np.testing.assert_allclose(mean.kl_weight, [0, 0.25, 0.5, 0.75] + [1] * 4)
    np.testing.assert_allclose(scale.learning_rate, [0.0] * 2)
    np.testing.assert_allclose(scale.scale_learning_rate, [0.1] * 2)
    finish, scale_again = schedule.finishing_phases()
    np.testing.assert_allclose(finish.learning_rate, [0.1 * recipe.FINISHING_RATE] * 3)
    np.testing.assert_allclose(scale_again.scale_learning_rate, [0.1] * 2)
    assert not mean.on_all.any()
    assert finish.on_all.all()
    assert scale_again.on_all.all()
    assert schedule.n_epochs_in_all == 10 + 3 + 2
    (together,) = recipe.Schedule(5, 0.1, decay=False, kl_warmup=0.0, scale_from=0.0).phases()
    np.testing.assert_allclose(together.scale_learning_rate, [0.1] * 5)
    np.testing.assert_allclose(together.kl_weight, [1.0] * 5)


def test_epochs_that_pad_the_last_chunk_leave_no_trace(observations):
    outcome = outcome_of(observations, n_epochs=13)
    assert outcome.history["elbo"].shape == (13, 2)
    assert np.isfinite(outcome.history["elbo"]).all()


def test_every_entry_is_in_one_batch_of_an_epoch(observations):
    loop = Loop(Layout((4, 4)), batch_size=32, block_size=16, epochs_per_chunk=2)
    entries = Entries(jnp.zeros((96, 2), jnp.int32), jnp.arange(96.0), jnp.ones(96))
    problem = Problem(entries, jnp.zeros(96), entries, jnp.ones(8))
    (phase,) = recipe.Schedule(1, 0.1, decay=False, kl_warmup=0.0, scale_from=1.0).phases()
    epochs = training._shuffled(problem, loop, np.random.default_rng(0))
    assert epochs.shape == (2, 3, 2)
    for blocks in epochs:
        seen = [loop_module._take_blocks(problem, phase, batch, 16).values for batch in blocks]
        np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(96))


def trained(train, held_out, **schedule):
    layout = Layout.of(train.shape)
    random = np.random.default_rng(0)
    problem = problems.problem(
        train,
        held_out,
        layout=layout,
        smoothers=(),
        batch_size=64,
        random=random,
        sharding=jax.sharding.SingleDeviceSharding(jax.devices()[0]),
    )
    settings = {"decay": True, "kl_warmup": 0.0, "scale_from": 0.8} | schedule
    return recipe.train(
        recipe.initial_states(0, np.ones(2), layout, ARCHITECTURE),
        problem,
        recipe.Schedule(40, 0.02, **settings),
        Loop(layout, batch_size=64, block_size=16),
        random,
    )


def test_held_out_values_reach_the_final_parameters_and_not_the_judged_ones(observations):
    """Values of other entries must not change what is judged by them."""
    train, held_out = observations.split(0.2, 0)
    other = held_out.with_values(held_out.values + 3.0)
    first, second = (trained(train, each, finish=0.5) for each in (held_out, other))
    at_once = [trained(train, each) for each in (held_out, other)]
    # Which epoch is best is up to the held-out values; here they are so far off that it is
    # asked of training without that choice, in the elbo of every epoch.
    np.testing.assert_array_equal(first.history["elbo"][:32], second.history["elbo"][:32])
    np.testing.assert_array_equal(at_once[0].history["elbo"][:32], first.history["elbo"][:32])
    mean = [run.final.decoder.mean_bias.mean() for run in (first, second)]
    assert mean[1] - mean[0] > 0.05


def test_without_a_finish_the_judged_parameters_are_final(observations):
    run = trained(*observations.split(0.2, 0))
    assert run.judged is run.final


def test_groups_of_members_train_in_threads_with_one_program(observations):
    """A thread that does not know the chosen device would compile the loop again."""
    before = loop_module.run_chunk._cache_size()
    with jax.default_device(jax.devices()[0]):
        outcome = outcome_of(observations, n_members=6, n_epochs=30, batch_size=48)
    assert loop_module.run_chunk._cache_size() == before + 1
    assert outcome.history["elbo"].shape == (30, 6)


def test_members_do_not_depend_on_who_trains_beside_them(observations):
    few, many = (outcome_of(observations, n_members=n) for n in (2, 4))
    for found, expected in zip(
        jax.tree.leaves(many.parameters), jax.tree.leaves(few.parameters), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(found)[:2], expected)
