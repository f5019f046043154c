import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from vaecp.models.vaecp.gradients import rows as factors
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.noise import seeds
from vaecp.models.vaecp.gradients.rows import Prior, Rows


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


LAYOUT = RowLayout((3, 5))
ALL_FREE = jnp.ones((LAYOUT.n_rows, 2))


@pytest.fixture
def rows(random) -> Rows:
    mean, log_variance = random.normal(size=(2, LAYOUT.n_rows, 2))
    return Rows(jnp.asarray(mean, jnp.float32), jnp.asarray(log_variance, jnp.float32))


def test_a_posterior_that_equals_the_prior_has_no_kl(rows):
    rows = Rows(jnp.full_like(rows.mean, 0.7), jnp.full_like(rows.mean, -0.3))
    prior = Prior(jnp.full((1, 2), 0.7), jnp.full((1, 2), -0.3))
    np.testing.assert_allclose(factors.kl(rows, prior, LAYOUT, ALL_FREE), 0.0, atol=1e-6)


def test_padded_rows_do_not_count(rows):
    prior = Prior(jnp.zeros((2, 2)), jnp.zeros((2, 2)))
    roomy = RowLayout((8, 7))

    def with_room(table):
        modes = zip(LAYOUT.split(table), roomy.sizes, strict=True)
        wide = [jnp.pad(a, ((0, size - len(a)), (0, 0)), constant_values=9.0) for a, size in modes]
        return jnp.concatenate(wide)

    padded = Rows(*map(with_room, rows))
    np.testing.assert_allclose(
        factors.kl(padded, prior, roomy, jnp.asarray(roomy.is_row((3, 5)))[:, None]),
        factors.kl(rows, prior, LAYOUT, ALL_FREE),
        rtol=1e-6,
    )


def test_one_prior_per_mode_uses_each_modes_own(rows):
    apart = Prior(jnp.array([[0.0, 1.0], [2.0, 3.0]]), jnp.zeros((2, 2)))
    total = sum(
        factors.kl(
            Rows(LAYOUT.split(rows.mean)[mode], LAYOUT.split(rows.log_variance)[mode]),
            Prior(apart.mean[mode : mode + 1], apart.log_variance[mode : mode + 1]),
            RowLayout((size,)),
            jnp.ones((size, 2)),
        )
        for mode, size in enumerate(LAYOUT.sizes)
    )
    np.testing.assert_allclose(factors.kl(rows, apart, LAYOUT, ALL_FREE), total, rtol=1e-6)


def test_draws_have_the_posteriors_mean_and_variance(rows):
    each = seeds(jax.random.key(0), 4000)
    draws = jax.vmap(lambda seed: factors.sample(rows, seed))(each)
    np.testing.assert_allclose(draws.mean(axis=0), rows.mean, atol=0.15)
    np.testing.assert_allclose(draws.std(axis=0), jnp.exp(0.5 * rows.log_variance), rtol=0.1)
