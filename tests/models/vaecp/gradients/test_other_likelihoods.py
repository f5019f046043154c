"""The loop trains under any likelihood that has a log-density."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from vaecp.data.observations import Observations
from vaecp.models.vaecp.gradients.driver import run_phases
from vaecp.models.vaecp.gradients.entries import InMemory
from vaecp.models.vaecp.gradients.layout import RowLayout
from vaecp.models.vaecp.gradients.loop import Loop
from vaecp.models.vaecp.gradients.members import Architecture, free_numbers, initial_states
from vaecp.models.vaecp.gradients.noise import seeds
from vaecp.models.vaecp.gradients.objective import Entries, Parameters, batch_elbo
from vaecp.models.vaecp.gradients.schedule import Schedule
from vaecp.models.vaecp.likelihoods import GAUSSIAN, Gaussian, Likelihood
from vaecp.runtime.placement import Placement


@dataclass(frozen=True, eq=False)
class Laplace(Gaussian):
    """Values with outliers; the outputs are the median and the logarithm of the scale."""

    def log_prob(self, outputs, values):
        median, log_scale = outputs
        return -jnp.log(2.0) - log_scale - jnp.abs(values - median) * jnp.exp(-log_scale)

    def total(self, tables, values, weights):
        return Likelihood.total(self, tables, values, weights)


ARCHITECTURE = Architecture(rank=2, hidden=4, multilinear=True, shared_prior=False, near_zero=True)


def test_densities_are_those_of_scipy(random):
    outputs = random.normal(size=(2, 50))
    values = random.normal(size=50)
    found = Laplace().log_prob(outputs, values)
    expected = stats.laplace.logpdf(values, outputs[0], np.exp(outputs[1]))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    expected = stats.norm.logpdf(values, outputs[0], np.exp(0.5 * outputs[1]))
    np.testing.assert_allclose(GAUSSIAN.log_prob(outputs, values), expected, rtol=1e-5, atol=1e-5)


def test_the_bound_sums_the_densities_of_the_likelihood(random):
    """Rows that are certain leave nothing to draw."""
    layout, shape = RowLayout((3, 4)), (3, 4)
    free = free_numbers(shape, layout, ARCHITECTURE)
    states = initial_states(0, [1.0], layout, ARCHITECTURE, free)
    parameters: Parameters = jax.tree.map(lambda a: a[0], states.parameters)
    certain = parameters.rows._replace(log_variance=jnp.full_like(parameters.rows.mean, -60.0))
    decoder = parameters.decoder._replace(scale_bias=jnp.asarray(0.3))
    parameters = parameters._replace(rows=certain, decoder=decoder)
    indices = np.argwhere(np.ones(shape))
    values = random.normal(size=12)
    entries = Entries(jnp.asarray(indices), jnp.asarray(values, jnp.float32), jnp.ones(12))
    each = seeds(jax.random.key(0), 1)
    found = batch_elbo(parameters, entries, each, 12, layout, jnp.asarray(free), Laplace())
    rows = np.asarray(certain.mean, dtype=float)
    own, other = rows[indices[:, 0]], rows[3 + indices[:, 1]]
    hidden = np.tanh(
        own @ np.asarray(decoder.input_weights[0]) + other @ np.asarray(decoder.input_weights[1])
    )
    median = hidden @ np.asarray(decoder.mean_weights) + (own * other).sum(axis=1)
    expected = stats.laplace.logpdf(values, median, np.exp(0.3)).sum()
    np.testing.assert_allclose(found.log_likelihood, expected, rtol=1e-4)


def trained(observations: Observations, likelihood: Likelihood) -> np.ndarray:
    layout = RowLayout.of(observations.shape)
    loop = Loop(layout, batch_size=64, block_size=8, likelihood=likelihood)
    free = free_numbers(observations.shape, layout, ARCHITECTURE)
    random, placement = np.random.default_rng(0), Placement.on("cpu")
    outcome = run_phases(
        initial_states(0, [1e3], layout, ARCHITECTURE, free),
        InMemory.of(observations, None, free, loop, random, placement),
        Schedule(300, 0.02, decay=True, kl_warmup=0.4, scale_from=1.0).phases(),
        loop,
        random,
        placement,
    )
    mean = np.asarray(outcome.parameters.rows.mean[0])
    first, second = (np.asarray(table) for table in layout.split(mean))
    shape = observations.shape
    product = first[: shape[0]] @ second[: shape[1]].T
    return product + float(outcome.parameters.decoder.mean_bias[0])


def test_a_loop_with_another_likelihood_is_not_led_astray_by_outliers(random):
    """The median of a Laplace is not drawn to values that are far off; the mean of a Gaussian is."""
    truth = np.add.outer(random.normal(size=12), random.normal(size=12))
    spoiled = np.where(random.random(truth.shape) < 0.1, truth + 20.0, truth)
    observations = Observations.from_array(spoiled)
    errors = [
        np.median(np.abs(trained(observations, likelihood) - truth))
        for likelihood in (Laplace(), GAUSSIAN)
    ]
    assert errors[0] < 0.5 * errors[1]
    assert errors[0] < 0.5
