"""One sweep, against exact Bayesian linear regression and dense algebra."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import Ridge

from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import Working
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.solver import MAX_FULL, Solver
from vaecp.models.vaecp.sweeps.tables import Tables

SHAPE = (4, 5, 6)
RANKS = pytest.mark.parametrize("rank", [2, MAX_FULL + 1], ids=["full", "diagonal"])


def observed(random, shape=SHAPE, share=0.7) -> Observations:
    array = random.normal(size=shape)
    array[random.random(shape) > share] = np.nan
    return Observations.from_array(array)


def working(solver: Solver, random) -> Working:
    return Working(solver.values, random.uniform(0.5, 3.0, size=len(solver.values)))


def tables_of(solver: Solver, random, *, certain: bool) -> Tables:
    """Rows of any size, known exactly or not; effects that are not 0."""
    tables, rank = solver.start(random, 0.3), solver.rank
    mean = random.normal(size=tables.mean.shape)
    variance = np.zeros_like(mean) if certain else random.uniform(0.1, 0.5, size=mean.shape)
    for mode in range(solver.n_modes):
        for other in set(range(solver.n_modes)) - {mode}:
            rows = slice(solver.offsets[mode], solver.offsets[mode + 1])
            mean[rows, rank + other], variance[rows, rank + other] = 1.0, 0.0
    second = np.einsum("jr,js->jrs", mean, mean)
    second += np.einsum("jr,rs->jrs", variance, np.eye(solver.width))
    low, high = solver.triangle
    packed = second[:, low, high] if solver.full else np.einsum("jrr->jr", second).copy()
    prior_mean = random.normal(size=tables.prior_mean.shape)
    prior_variance = random.uniform(0.5, 2.0, size=tables.prior_variance.shape)
    return replace(
        tables,
        mean=mean,
        variance=variance,
        second=packed,
        prior_mean=prior_mean,
        prior_variance=prior_variance,
    )


def second_moments(solver: Solver, tables: Tables) -> np.ndarray:
    """E[u u'] of every row, (rows, width, width); with diagonal posteriors off-diagonals are products."""
    found = np.einsum("jr,js->jrs", tables.mean, tables.mean)
    low, high = solver.triangle
    if solver.full:
        found[:, low, high] = found[:, high, low] = tables.second
    else:
        np.einsum("jrr->jr", found)[:] = tables.second
    return found


def free_columns(solver: Solver, mode: int) -> list[int]:
    return [*range(solver.rank), solver.rank + mode]


@RANKS
def test_with_the_other_modes_known_a_row_has_its_exact_posterior(rank, random):
    """Bayesian linear regression of a row's entries on the products of the other rows."""
    solver = Solver(observed(random), rank, (None,) * 3)
    tables, data = tables_of(solver, random, certain=True), working(solver, random)
    found = solver.sweep(tables, data, learn_priors=False)
    free, others = free_columns(solver, 0), [rank + 1, rank + 2]
    for row in range(SHAPE[0]):  # the first mode is solved first, from the tables as given
        own = solver.ids[:, 0] == row
        rest = tables.mean[solver.ids[own, 1]] * tables.mean[solver.ids[own, 2]]
        design, target = rest[:, free], data.values[own] - tables.level - rest[:, others].sum(1)
        weights = data.weights[own]
        precision = (design.T * weights) @ design + np.diag(1 / tables.prior_variance[0])
        right = design.T @ (weights * target) + tables.prior_mean[0] / tables.prior_variance[0]
        np.testing.assert_allclose(found.mean[row, free], np.linalg.solve(precision, right))
        covariance = np.linalg.inv(precision)
        if solver.full:
            centred = second_moments(solver, found)[row] - np.outer(
                found.mean[row], found.mean[row]
            )
            np.testing.assert_allclose(centred[np.ix_(free, free)], covariance, atol=1e-12)
            np.testing.assert_allclose(found.variance[row, free], np.diag(covariance))
        else:  # the best independent Gaussians have the precisions on the diagonal
            np.testing.assert_allclose(found.variance[row, free], 1 / np.diag(precision))


@RANKS
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_normal_equations_are_expectations_over_the_other_modes(rank, mode, random):
    solver = Solver(observed(random), rank, (None,) * 3)
    tables, data = tables_of(solver, random, certain=False), working(solver, random)
    gram, right = solver._normal_equations(tables, mode, data, tables.level)
    rest = [other for other in range(3) if other != mode]
    moments = second_moments(solver, tables)
    products = np.prod([tables.mean[solver.ids[:, other]] for other in rest], axis=0)
    squares = np.prod([moments[solver.ids[:, other]] for other in rest], axis=0)
    rows = np.eye(SHAPE[mode])[solver.ids[:, mode] - solver.offsets[mode]]
    expected = np.einsum("nj,n,nrs->jrs", rows, data.weights, squares)
    np.testing.assert_allclose(gram, expected, atol=1e-10)
    centred = data.weights * (data.values - tables.level)
    expected = np.einsum("nj,n,nr->jr", rows, centred, products)
    np.testing.assert_allclose(right, expected, atol=1e-10)


@RANKS
def test_moments_of_entries_are_those_of_independent_rows(rank, random):
    solver = Solver(observed(random), rank, (None,) * 3)
    tables = tables_of(solver, random, certain=False)
    mean, variance = solver.moments(tables)
    moments = second_moments(solver, tables)
    products = np.prod([tables.mean[solver.ids[:, mode]] for mode in range(3)], axis=0)
    squares = np.prod([moments[solver.ids[:, mode]] for mode in range(3)], axis=0)
    np.testing.assert_allclose(mean, tables.level + products.sum(axis=1))
    expected = squares.sum(axis=(1, 2)) - products.sum(axis=1) ** 2
    np.testing.assert_allclose(variance, expected, rtol=1e-9)


def test_effects_alone_are_ridge_regression(random):
    solver = Solver(observed(random), 0, (None,) * 3)
    tables, weights = solver.start(random, 0.3), np.full(len(solver.values), 1 / 0.4)
    for _ in range(200):
        tables = solver.sweep(tables, Working(solver.values, weights), learn_priors=False)
    design = np.eye(sum(SHAPE))[solver.ids].sum(axis=1)
    ridge = Ridge(alpha=0.4 / tables.prior_variance[0, 0], fit_intercept=False)
    ridge.fit(design, solver.values - tables.level)
    own = np.repeat(np.arange(3), SHAPE)
    np.testing.assert_allclose(tables.mean[np.arange(sum(SHAPE)), own], ridge.coef_, atol=1e-8)


@pytest.mark.parametrize("rank", [0, 2])
def test_the_variance_of_effects_is_the_most_probable_one_about_zero(rank, random):
    """That of a mode whose two rows have effects that do not average zero."""
    array = random.normal(size=(2, 30, 20)) + 5.0
    solver = Solver(Observations.from_array(array), rank, (None,) * 3)
    tables = solver.start(random, 0.0)  # so that the effects hold the level, too
    weights = np.full(len(solver.values), 1.0)
    tables = solver.sweep(tables, Working(solver.values, weights), learn_priors=True)
    mean, variance = tables.mean[:2, rank], tables.variance[:2, rank]
    assert abs(mean.mean()) > 1

    def surprise(log_variance):
        return float(np.sum(log_variance + (mean**2 + variance) * np.exp(-log_variance)))

    best = np.exp(optimize.minimize_scalar(surprise, bounds=(-10, 10), method="bounded").x)
    assert tables.prior_variance[0, -1] == pytest.approx(best, rel=1e-2)


@RANKS
def test_an_ordered_mode_is_one_joint_regression_of_all_its_rows(rank, random):
    """The posterior mean solves the dense normal equations of rows that are chained together."""
    chain = Chain.through(np.array([0.0, 1.0, 1.5, 4.0]), SHAPE[0])
    solver = Solver(observed(random), rank, (chain, None, None))
    tables, data = tables_of(solver, random, certain=True), working(solver, random)
    gram, right = solver._normal_equations(tables, 0, data, tables.level)
    found = solver.sweep(tables, data, learn_priors=False)
    free, width = free_columns(solver, 0), rank + 1
    right = right[:, free] - gram[:, free][:, :, [rank + 1, rank + 2]].sum(axis=2)
    gram = gram[:, free][:, :, free]
    prior = chain.precision(tables.prior_variance[0], tables.strength[0])
    whole = np.zeros((SHAPE[0], width, SHAPE[0], width))
    for row in range(SHAPE[0]):
        whole[row, :, row] = gram[row] + np.diag(prior.diagonal[row])
        for apart, band in ((1, prior.one_off), (2, prior.two_off)):
            if row + apart < SHAPE[0]:
                whole[row, :, row + apart] = whole[row + apart, :, row] = np.diag(band[row])
    expected = np.linalg.solve(whole.reshape(4 * width, -1), right.ravel()).reshape(-1, width)
    np.testing.assert_allclose(found.mean[: SHAPE[0], free], expected, atol=1e-9)
    for component in (0, rank):  # a component alone, the others being known
        own = np.linalg.inv(whole[:, component, :, component])
        np.testing.assert_allclose(
            found.variance[: SHAPE[0], free[component]], np.diag(own), rtol=1e-9
        )


def test_learned_priors_are_the_moments_of_the_rows(random):
    solver = Solver(observed(random, (60, 5, 6)), 2, (None,) * 3)
    tables, data = tables_of(solver, random, certain=False), working(solver, random)
    found = solver.sweep(tables, data, learn_priors=True)
    mean, variance = (table[:60, :2] for table in (found.mean, found.variance))
    np.testing.assert_allclose(found.prior_mean[0, :2], mean.mean(axis=0), rtol=0.05)
    expected = ((mean - found.prior_mean[0, :2]) ** 2 + variance).mean(axis=0)
    np.testing.assert_allclose(found.prior_variance[0, :2], expected, rtol=1e-3)
    assert found.prior_mean[0, 2] == 0


def test_a_sweep_leaves_the_tables_that_it_was_given_alone(random):
    solver = Solver(observed(random), 2, (None,) * 3)
    tables = tables_of(solver, random, certain=False)
    before = {name: np.copy(value) for name, value in vars(tables).items()}
    solver.sweep(tables, working(solver, random), learn_priors=True)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(tables, name), value)


@RANKS
def test_a_push_moves_the_means_and_leaves_the_covariances(rank, random):
    solver = Solver(observed(random), rank, (None,) * 3)
    before, after = (tables_of(solver, random, certain=False) for _ in range(2))
    pushed = solver.pushed(after, before, 0.5)
    np.testing.assert_allclose(pushed.mean, after.mean + 0.5 * (after.mean - before.mean))
    centred = [
        second_moments(solver, tables) - np.einsum("jr,js->jrs", tables.mean, tables.mean)
        for tables in (pushed, after)
    ]
    np.testing.assert_allclose(*centred, atol=1e-12)


SWEEP = """
import numpy as np
from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import begin, hasten, settle
from vaecp.models.vaecp.sweeps.solver import Solver
random = np.random.default_rng(0)
for rank in (10, 20):  # large enough for threads
    solver = Solver(Observations.from_array(random.normal(size=(30, 20, 10))), rank,
                    (None, Chain.through(None, 20), None))
    descent = settle(solver, hasten(solver, begin(solver, GAUSSIAN, random), 4), 2)
    print(descent.likelihood.noise.hex(), descent.tables.mean.tobytes().hex())
"""


def test_bits_do_not_depend_on_the_number_of_threads():
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SWEEP],
            env=os.environ | {"NPROC": n_threads},
            check=True,
            capture_output=True,
        ).stdout
        for n_threads in ("1", "2")
    }
    assert len(outputs) == 1
