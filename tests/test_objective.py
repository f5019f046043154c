"""The bound and its gradients, against the derivatives written out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vaecp import factors
from vaecp.decoder import Decoder, decode, initial_decoder
from vaecp.factors import Prior, Rows
from vaecp.layout import Layout
from vaecp.objective import Entries, Parameters, batch_elbo, elbo

LAYOUT, RANK, HIDDEN, N_ENTRIES = Layout((3, 4, 5)), 2, 6, 12


@given(
    log_probs=arrays(np.float32, (1, 12), elements=st.floats(-50, 0, width=32)),
    n_batches=st.sampled_from([1, 2, 3, 4, 6]),
)
@settings(deadline=None, max_examples=30)
def test_minibatch_elbos_average_to_the_full_elbo(log_probs, n_batches):
    parts = np.split(log_probs, n_batches, axis=1)
    estimates = [elbo(part, kl=3.0, n_entries=12).value for part in parts]
    full = elbo(log_probs, kl=3.0, n_entries=12).value
    np.testing.assert_allclose(np.mean(estimates), full, rtol=1e-5)


@pytest.fixture
def parameters(random) -> Parameters:
    def normal(*shape):
        return jnp.asarray(random.normal(size=shape), jnp.float32)

    return Parameters(
        Rows(normal(LAYOUT.n_rows, RANK), 0.3 * normal(LAYOUT.n_rows, RANK) - 1),
        Prior(0.1 * normal(1, RANK), 0.2 * normal(1, RANK)),
        Decoder(
            normal(LAYOUT.n_modes, RANK, HIDDEN),
            normal(HIDDEN),
            normal(HIDDEN),
            normal(),
            0.3 * normal(HIDDEN),
            normal(),
        ),
    )


@pytest.fixture
def entries(random) -> Entries:
    indices = np.stack([random.integers(n, size=N_ENTRIES) for n in LAYOUT.sizes], axis=1)
    return Entries(
        jnp.asarray(indices),
        jnp.asarray(random.normal(size=N_ENTRIES), jnp.float32),
        jnp.ones(N_ENTRIES),
    )


def bound(parameters, entries, n_entries=N_ENTRIES):
    every_row = jnp.ones(LAYOUT.n_rows)
    return batch_elbo(parameters, entries, jax.random.key(3), n_entries, LAYOUT, every_row)


def hand_written_gradient(parameters: Parameters, entries: Entries, n_entries: int) -> Parameters:
    """Return the derivatives of the paper's appendix, put right, in float64 loops over entries."""
    rows, prior, theta, _ = jax.tree.map(lambda a: np.asarray(a, np.float64), parameters)
    unit = jax.tree.map(jnp.zeros_like, parameters.rows)
    draw_key = jax.random.split(jax.random.key(3), 1)[0]
    noise = np.asarray(factors.sample(unit, draw_key), np.float64)
    gradient = jax.tree.map(np.zeros_like, Parameters(rows, prior, theta))
    d_bias, d_mean_bias, d_scale_bias = np.zeros(HIDDEN), 0.0, 0.0
    for indices, x in zip(np.asarray(entries.indices), entries.values, strict=True):
        row_ids = indices + np.asarray(LAYOUT.offsets)
        u = rows.mean[row_ids] + np.exp(0.5 * rows.log_variance[row_ids]) * noise[row_ids]
        a = sum(theta.input_weights[d].T @ u[d] for d in range(LAYOUT.n_modes)) + theta.bias
        h = np.tanh(a)
        mu = theta.mean_weights @ h + theta.mean_bias
        variance = np.exp(theta.scale_weights @ h + theta.scale_bias)
        d_mu = (x - mu) / variance
        d_log_variance = -0.5 + 0.5 * (x - mu) ** 2 / variance
        d_a = (d_mu * theta.mean_weights + d_log_variance * theta.scale_weights) * (1 - h**2)
        gradient.decoder.mean_weights[:] += d_mu * h
        gradient.decoder.scale_weights[:] += d_log_variance * h
        d_bias, d_mean_bias, d_scale_bias = (
            d_bias + d_a,
            d_mean_bias + d_mu,
            d_scale_bias + d_log_variance,
        )
        for d, j in enumerate(row_ids):
            gradient.decoder.input_weights[d] += np.outer(u[d], d_a)
            d_u = theta.input_weights[d] @ d_a
            gradient.rows.mean[j] += d_u
            # sqrt(v) = exp(log v / 2), so d u / d log v = sqrt(v) eps / 2
            gradient.rows.log_variance[j] += d_u * (
                0.5 * np.exp(0.5 * rows.log_variance[j]) * noise[j]
            )
    decoder = gradient.decoder._replace(
        bias=d_bias, mean_bias=np.asarray(d_mean_bias), scale_bias=np.asarray(d_scale_bias)
    )
    scale = n_entries / len(entries.values)
    gradient = jax.tree.map(lambda g: scale * g, gradient._replace(decoder=decoder))
    prior_variance = np.exp(prior.log_variance[0])
    distance, variance = rows.mean - prior.mean[0], np.exp(rows.log_variance)
    gradient.rows.mean[:] -= distance / prior_variance
    gradient.rows.log_variance[:] -= 0.5 * (variance / prior_variance - 1)
    d_prior_mean = (distance / prior_variance).sum(axis=0)
    d_prior_log_variance = 0.5 * ((variance + distance**2) / prior_variance - 1).sum(axis=0)
    return gradient._replace(prior=Prior(d_prior_mean[None], d_prior_log_variance[None]))


@pytest.mark.parametrize(
    "group",
    [
        "rows.mean",
        "rows.log_variance",
        "prior.mean",
        "prior.log_variance",
        "decoder.input_weights",
        "decoder.bias",
        "decoder.mean_weights",
        "decoder.mean_bias",
        "decoder.scale_weights",
        "decoder.scale_bias",
    ],
)
def test_gradients_equal_the_corrected_derivatives_of_the_appendix(group, parameters, entries):
    automatic = jax.grad(lambda p: bound(p, entries, n_entries=30).value)(parameters)
    by_hand = hand_written_gradient(parameters, entries, n_entries=30)
    owner, name = group.split(".")
    found, expected = (getattr(getattr(g, owner), name) for g in (automatic, by_hand))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.abs(other).max() > 1e-3
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


@pytest.fixture
def multilinear() -> Decoder:
    random = np.random.default_rng(0)
    return initial_decoder(random, 3, RANK, HIDDEN, multilinear=True, quiet=False)


def test_permuting_modes_leaves_the_decoder_as_it_is(parameters, entries, multilinear):
    order = [2, 0, 1]
    turned = multilinear._replace(input_weights=multilinear.input_weights[jnp.array(order)])
    layout = Layout(tuple(LAYOUT.sizes[d] for d in order))
    tables = LAYOUT.split(parameters.rows.mean)
    found = decode(
        turned,
        jnp.concatenate([tables[d] for d in order]),
        layout,
        entries.indices[:, jnp.array(order)],
    )
    expected = decode(multilinear, parameters.rows.mean, LAYOUT, entries.indices)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_permuting_rows_leaves_the_decoder_as_it_is(parameters, entries, multilinear, random):
    order = random.permutation(4)  # of the rows of the second mode
    first, second, third = LAYOUT.split(parameters.rows.mean)
    moved = entries.indices.at[:, 1].set(np.argsort(order)[entries.indices[:, 1]])
    np.testing.assert_allclose(
        decode(multilinear, jnp.concatenate([first, second[order], third]), LAYOUT, moved),
        decode(multilinear, parameters.rows.mean, LAYOUT, entries.indices),
        rtol=1e-5,
    )


def test_a_padded_entry_has_no_weight(parameters, entries):
    wild = Entries(
        jnp.concatenate([entries.indices, entries.indices[:3]]),
        jnp.concatenate([entries.values, jnp.full(3, 1e6)]),
        jnp.concatenate([entries.weights, jnp.zeros(3)]),
    )
    np.testing.assert_allclose(
        bound(parameters, wild, n_entries=15).value, bound(parameters, entries).value, rtol=1e-5
    )


def test_rows_are_projected_alike_before_and_after_they_are_gathered(
    parameters, entries, multilinear
):
    rows = parameters.rows.mean
    many = jnp.tile(entries.indices, (5, 1))  # more entries than rows: rows first
    few = entries.indices[:2]  # fewer entries than rows: gather first
    np.testing.assert_allclose(
        decode(multilinear, rows, LAYOUT, many)[0][:2],
        decode(multilinear, rows, LAYOUT, few)[0],
        rtol=1e-5,
    )


def test_with_a_silent_network_the_multilinear_path_is_cp(parameters, multilinear):
    decoder = multilinear._replace(mean_weights=jnp.zeros(HIDDEN))
    indices = np.argwhere(np.ones(LAYOUT.sizes))
    dense = np.einsum("ir,jr,kr->ijk", *LAYOUT.split(parameters.rows.mean))
    mean, _ = decode(decoder, parameters.rows.mean, LAYOUT, jnp.asarray(indices))
    np.testing.assert_allclose(np.asarray(mean).reshape(LAYOUT.sizes), dense, rtol=1e-4, atol=1e-5)
