"""The bound and its gradients, against the derivatives written out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import published_equations as published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from vaecp.models.vaecp.gradients import rows as factors
from vaecp.models.vaecp.gradients.decoder import (
    Decoder,
    decode,
    initial_decoder,
    look_up,
    project,
)
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.noise import seeds
from vaecp.models.vaecp.gradients.objective import Entries, Parameters, batch_elbo, elbo
from vaecp.models.vaecp.gradients.rows import Prior, Rows

LAYOUT, RANK, HIDDEN, N_ENTRIES = RowLayout((3, 4, 5)), 2, 6, 12


@given(
    log_probs=arrays(np.float32, (1, 12), elements=st.floats(-50, 0, width=32)),
    n_batches=st.sampled_from([1, 2, 3, 4, 6]),
)
@settings(deadline=None, max_examples=30)
def test_minibatch_elbos_average_to_the_full_elbo(log_probs, n_batches):
    def bound(part):
        return elbo(part.sum(axis=-1), part.shape[-1], kl=3.0, n_entries=12).value

    estimates = [bound(part) for part in np.split(log_probs, n_batches, axis=1)]
    np.testing.assert_allclose(np.mean(estimates), bound(log_probs), rtol=1e-5)


@pytest.fixture(scope="module")
def parameters() -> Parameters:
    random = np.random.default_rng(0)

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


@pytest.fixture(scope="module")
def entries() -> Entries:
    random = np.random.default_rng(1)
    indices = np.stack([random.integers(n, size=N_ENTRIES) for n in LAYOUT.sizes], axis=1)
    return Entries(
        jnp.asarray(indices),
        jnp.asarray(random.normal(size=N_ENTRIES), jnp.float32),
        jnp.ones(N_ENTRIES),
    )


ALL_FREE = jnp.ones((LAYOUT.n_rows, RANK))
compiled_elbo = jax.jit(batch_elbo, static_argnames=("layout", "likelihood", "mesh"))


def bound(parameters, entries, n_entries=N_ENTRIES, n_draws=1, **settings):
    each = seeds(jax.random.key(3), n_draws)
    return compiled_elbo(parameters, entries, each, n_entries, LAYOUT, ALL_FREE, **settings)


def by_name(parameters: Parameters) -> published.Numbers:
    rows, prior, decoder = jax.tree.map(lambda a: np.asarray(a, np.float64), parameters)
    return dict(zip(published.NAMES, (*rows, *prior, *decoder[:6]), strict=True))


@pytest.fixture(scope="module")
def gradients(parameters, entries) -> tuple[published.Numbers, published.Numbers]:
    """By JAX, and by hand."""
    automatic = jax.jit(jax.grad(lambda p: bound(p, entries, n_entries=30).value))(parameters)
    unit = jax.tree.map(jnp.zeros_like, parameters.rows)
    noise = factors.sample(unit, seeds(jax.random.key(3), 1)[0])
    by_hand = published.gradient(
        by_name(parameters),
        np.asarray(entries.indices) + np.array(LAYOUT.offsets),
        np.asarray(entries.values, np.float64),
        np.asarray(noise, np.float64),
        30,
        np.ones(LAYOUT.n_rows, dtype=bool),
    )
    return by_name(automatic), by_hand


@pytest.mark.parametrize("name", published.NAMES)
def test_gradients_equal_the_corrected_derivatives_of_the_appendix(name, gradients):
    found, expected = (each[name] for each in gradients)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.fixture(scope="module")
def multilinear() -> Decoder:
    random = np.random.default_rng(0)
    return initial_decoder(random, 3, RANK, HIDDEN, multilinear=True, near_zero=False)


def test_permuting_modes_leaves_the_decoder_as_it_is(parameters, entries, multilinear):
    order = [2, 0, 1]
    turned = multilinear._replace(input_weights=multilinear.input_weights[jnp.array(order)])
    layout = RowLayout(tuple(LAYOUT.sizes[d] for d in order))
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
    padded = Entries(
        jnp.concatenate([entries.indices, entries.indices[:3]]),
        jnp.concatenate([entries.values, jnp.full(3, 1e6)]),
        jnp.concatenate([entries.weights, jnp.zeros(3)]),
    )
    np.testing.assert_allclose(
        bound(parameters, padded, n_entries=15).value, bound(parameters, entries).value, rtol=1e-5
    )


def test_parts_of_a_batch_are_one_batch(parameters, entries):
    parts = Entries(
        *(jnp.stack(jnp.split(jnp.asarray(array), 4)) for array in entries)  # (4, 3, ...)
    )
    np.testing.assert_allclose(
        bound(parameters, parts).value, bound(parameters, entries).value, rtol=1e-6
    )


def test_several_draws_are_averaged(parameters, entries):
    rows = [factors.sample(parameters.rows, seed) for seed in seeds(jax.random.key(3), 4)]
    outputs = [decode(parameters.decoder, draw, LAYOUT, entries.indices) for draw in rows]
    each = [stats.norm.logpdf(entries.values, m, np.exp(0.5 * v)).sum() for m, v in outputs]
    found = bound(parameters, entries, n_draws=4).log_likelihood
    np.testing.assert_allclose(found, np.mean(each), rtol=1e-4)


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


def test_one_product_for_all_modes_projects_as_one_for_each(parameters, entries, multilinear):
    decoder = multilinear._replace(bias=jnp.linspace(-1, 1, HIDDEN))
    found = project(decoder, parameters.rows.mean, LAYOUT)
    expected = look_up(decoder, parameters.rows.mean, LAYOUT, jnp.tile(entries.indices, (5, 1)))
    for name in found._fields:
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-5, atol=1e-6
        )


def test_with_a_silent_network_the_multilinear_path_is_cp(parameters, multilinear):
    decoder = multilinear._replace(mean_weights=jnp.zeros(HIDDEN))
    indices = np.argwhere(np.ones(LAYOUT.sizes))
    dense = np.einsum("ir,jr,kr->ijk", *LAYOUT.split(parameters.rows.mean))
    mean, _ = decode(decoder, parameters.rows.mean, LAYOUT, jnp.asarray(indices))
    np.testing.assert_allclose(np.asarray(mean).reshape(LAYOUT.sizes), dense, rtol=1e-4, atol=1e-5)
