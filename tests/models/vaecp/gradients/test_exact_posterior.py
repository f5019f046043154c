"""Where the decoder is linear, the best posterior is known."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from vaecp.models.vaecp.gradients.decoder import Decoder
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.noise import seeds
from vaecp.models.vaecp.gradients.objective import Entries, Parameters, batch_elbo
from vaecp.models.vaecp.gradients.rows import Prior, Rows


def test_with_a_linear_decoder_the_posterior_is_the_exact_gaussian_one(random):
    """x = w . (u_i, v_j) + noise: the posterior of all rows is Gaussian with precision P.

    The best factorised posterior has its mean, and variances 1 / diag(P).
    """
    layout, rank, noise_variance, small = RowLayout((3, 2)), 2, 0.25, 1e-2
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
        all_free = jnp.ones((layout.n_rows, rank))
        return -batch_elbo(
            Parameters(rows, prior, decoder), entries, seeds(key, 32), len(values), layout, all_free
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
