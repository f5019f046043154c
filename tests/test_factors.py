import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from vaecp import factors
from vaecp.factors import Prior, Rows


@given(
    mean=st.floats(-2, 2),
    log_variance=st.floats(-3, 2),
    prior_mean=st.floats(-2, 2),
    prior_log_variance=st.floats(-1, 2),
)
@settings(deadline=None, max_examples=30)
def test_kl_equals_numerical_integration(mean, log_variance, prior_mean, prior_log_variance):
    posterior = stats.norm(mean, np.exp(0.5 * log_variance))
    prior = stats.norm(prior_mean, np.exp(0.5 * prior_log_variance))
    expected, _ = integrate.quad(
        lambda u: posterior.pdf(u) * (posterior.logpdf(u) - prior.logpdf(u)),
        *posterior.interval(1 - 1e-12),
    )
    found = factors.gaussian_kl(
        *(jnp.asarray(a) for a in (mean, log_variance, prior_mean, prior_log_variance))
    )
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


@pytest.fixture
def rows(random) -> Rows:
    sizes = (3, 5)
    return Rows(
        tuple(jnp.asarray(random.normal(size=(n, 2)), jnp.float32) for n in sizes),
        tuple(jnp.asarray(random.normal(size=(n, 2)), jnp.float32) for n in sizes),
    )


def test_a_posterior_that_equals_the_prior_has_no_kl(rows):
    rows = Rows(
        tuple(jnp.full_like(m, 0.7) for m in rows.mean),
        tuple(jnp.full_like(m, -0.3) for m in rows.mean),
    )
    prior = Prior(jnp.full((1, 2), 0.7), jnp.full((1, 2), -0.3))
    np.testing.assert_allclose(factors.kl(rows, prior, (3, 5)), 0.0, atol=1e-6)


def test_padded_rows_do_not_count(rows):
    prior = Prior(jnp.zeros((2, 2)), jnp.zeros((2, 2)))
    padded = jax.tree.map(lambda a: jnp.pad(a, ((0, 4), (0, 0)), constant_values=9.0), rows)
    np.testing.assert_allclose(
        factors.kl(padded, prior, (3, 5)), factors.kl(rows, prior, (3, 5)), rtol=1e-6
    )


def test_one_prior_per_mode_uses_each_modes_own(rows):
    apart = Prior(jnp.array([[0.0, 1.0], [2.0, 3.0]]), jnp.zeros((2, 2)))
    total = sum(
        factors.kl(
            Rows((rows.mean[mode],), (rows.log_variance[mode],)),
            Prior(apart.mean[mode : mode + 1], apart.log_variance[mode : mode + 1]),
            (rows.mean[mode].shape[0],),
        )
        for mode in range(2)
    )
    np.testing.assert_allclose(factors.kl(rows, apart, (3, 5)), total, rtol=1e-6)


def test_draws_have_the_posteriors_mean_and_variance(rows):
    keys = jax.random.split(jax.random.key(0), 4000)
    draws = jax.vmap(lambda key: factors.sample(rows, key)[1])(keys)
    np.testing.assert_allclose(draws.mean(axis=0), rows.mean[1], atol=0.12)
    np.testing.assert_allclose(
        draws.std(axis=0), jnp.exp(0.5 * rows.log_variance[1]), rtol=0.1
    )
