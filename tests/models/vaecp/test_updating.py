"""Rows that learn from further entries."""

from dataclasses import replace

import numpy as np
import pytest

import vaecp
from vaecp import VAECP, Observations
from vaecp.errors import ObservationError
from vaecp.models.vaecp.likelihoods import find
from vaecp.models.vaecp.members import Ensemble, Member
from vaecp.models.vaecp.networks import Network
from vaecp.models.vaecp.updating import updated

SHAPE, RANK = (5, 4, 3), 2


def member(random: np.random.Generator, network: Network | None = None) -> Member:
    """Rows that are known exactly, but for the first one of the first mode."""
    width = RANK + 3
    means, variances = [], []
    for mode, size in enumerate(SHAPE):
        mean = np.ones((size + 1, width))
        own = [*range(RANK), RANK + mode]
        mean[:, own] = random.normal(size=(size + 1, RANK + 1))
        variance = np.zeros_like(mean)
        if mode == 0:
            variance[0, own] = [0.5, 2.0, 0.3]
        means.append(mean)
        variances.append(variance)
    none = tuple(np.zeros_like(mean) for mean in means)
    prior = np.ones((3, RANK))
    return Member(tuple(means), tuple(variances), none, RANK, prior, 0.7, 0.04, network)


def entries_of_the_first_row() -> np.ndarray:
    return np.argwhere(np.ones(SHAPE))[:12]


def only_the_first_row() -> tuple[np.ndarray, ...]:
    moving = tuple(np.zeros(size, bool) for size in SHAPE)
    moving[0][0] = True
    return moving


def design_of(one: Member, indices: np.ndarray) -> np.ndarray:
    return one.mean[1][indices[:, 1]] * one.mean[2][indices[:, 2]]


@pytest.mark.parametrize("is_judged", [False, True])
def test_a_row_has_the_posterior_of_bayesian_regression(is_judged):
    """Its variances are the marginal ones, or where members are judged those given the other components."""
    random = np.random.default_rng(0)
    one, indices = member(random), entries_of_the_first_row()
    values = random.normal(size=len(indices))
    given = indices, values, find("gaussian")(), only_the_first_row()
    found = updated(Ensemble.of([one], -99, 99), *given, is_judged=is_judged)
    own = [0, 1, 2]
    design = design_of(one, indices)
    left = values - 0.7 - design[:, 3:].sum(axis=1)
    certain = np.diag(1 / one.variance[0][0, own])
    precision = design[:, own].T @ design[:, own] / 0.04 + certain
    right = design[:, own].T @ left / 0.04 + certain @ one.mean[0][0, own]
    np.testing.assert_allclose(
        found.mean[0][0, 0, own], np.linalg.solve(precision, right), rtol=1e-4, atol=1e-5
    )
    variances = 1 / np.diag(precision) if is_judged else np.diag(np.linalg.inv(precision))
    np.testing.assert_allclose(found.variance[0][0, 0, own], variances, rtol=1e-4)


def test_a_row_learns_as_its_member_did_from_entries_that_count_a_tenth():
    random = np.random.default_rng(0)
    one, indices = member(random), entries_of_the_first_row()
    values, moving = random.normal(size=len(indices)), only_the_first_row()
    once = updated(Ensemble.of([one], -99, 99), indices, values, find("gaussian")(), moving)
    tempered = Ensemble.of([replace(one, counts=0.1)], -99, 99)
    often = np.repeat(indices, 10, axis=0), np.repeat(values, 10)
    found = updated(tempered, *often, find("gaussian")(), moving)
    np.testing.assert_allclose(found.mean[0], once.mean[0], rtol=1e-5)
    np.testing.assert_allclose(found.variance[0], once.variance[0], rtol=1e-5)


def test_rows_that_may_not_move_do_not():
    random = np.random.default_rng(1)
    before = Ensemble.of([member(random)], -99, 99)
    values = random.normal(size=12)
    after = updated(
        before, entries_of_the_first_row(), values, find("gaussian")(), only_the_first_row()
    )
    np.testing.assert_array_equal(after.mean[0][0, 1:], before.mean[0][0, 1:].astype(np.float32))
    for mode in (1, 2):
        np.testing.assert_array_equal(after.mean[mode], before.mean[mode].astype(np.float32))


def test_yes_or_no_entries_move_a_row_to_where_logistic_regression_has_it():
    from scipy import optimize, special

    random = np.random.default_rng(2)
    one, indices = member(random), entries_of_the_first_row()
    answers = (random.random(12) < 0.5).astype(float)
    found = updated(
        Ensemble.of([one], -99, 99), indices, answers, find("bernoulli")(), only_the_first_row()
    )
    own, design = [0, 1, 2], design_of(one, indices)
    fixed = 0.7 + design[:, 3:].sum(axis=1)
    prior_mean, prior_variance = one.mean[0][0, own], one.variance[0][0, own]

    def loss(row):
        latent = fixed + design[:, own] @ row
        logs = answers * special.log_expit(latent) + (1 - answers) * special.log_expit(-latent)
        return -logs.sum() + 0.5 * np.sum((row - prior_mean) ** 2 / prior_variance)

    wanted = optimize.minimize(loss, prior_mean).x
    # The variational mean is near the mode, by much less than it is uncertain.
    away = np.abs(found.mean[0][0, 0, own] - wanted) / np.sqrt(found.variance[0][0, 0, own])
    assert away.max() < 0.3


def test_a_network_is_inverted_by_its_slopes():
    random = np.random.default_rng(3)
    network = Network(
        0.3 * random.normal(size=(3, RANK + 3, 6)),
        random.normal(size=6),
        np.stack([random.normal(size=6), np.zeros(6)]),
    )
    one, indices = member(random, network), entries_of_the_first_row()
    truth = member(random, network)
    truth = Member((truth.mean[0], *one.mean[1:]), one.variance, *vars_after(one))
    values = Ensemble.of([truth], -99, 99).moments(indices).mean[:, 0]
    exact = Ensemble.of([one], -99, 99)
    exact.noises[:] = 1e-6
    found = updated(exact, indices, values, find("gaussian")(), only_the_first_row())
    np.testing.assert_allclose(found.moments(indices).mean[:, 0], values, atol=1e-2)


def vars_after(one: Member) -> tuple:
    return (
        one.correlation,
        one.rank,
        one.prior_variance,
        one.level,
        one.noise,
        one.network,
        one.multilinear,
    )


def test_a_new_wavelength_is_read_off_its_neighbours_and_its_entries():
    x = np.linspace(0, 1, 40)
    random = np.random.default_rng(4)
    shapes = np.stack([np.exp(-((x - c) ** 2) / 0.05) for c in (0.3, 0.7)], axis=1)
    full = (1 + random.random((12, 2))) @ shapes.T + 0.01 * random.normal(size=(12, 40))
    keys = np.argwhere(np.ones(full.shape)).astype(float)
    keys[:, 1] = x[keys[:, 1].astype(int)]
    left_out = keys[:, 1] == x[17]
    model = vaecp.VAECP(rank=2, effort="quick", n_members=1, random_state=0)
    model.fit(keys[~left_out], full.ravel()[~left_out])
    asked, wanted = keys[left_out][4:], full[4:, 17]
    grown = model.fold_in(keys[left_out][:4], full[:4, 17])
    assert x[17] in grown.labels_[1]
    assert np.sqrt(np.mean((grown.predict(asked) - wanted) ** 2)) < 0.03
    other = model.fold_in(keys[left_out][:4], full[:4, 17] + 0.3)  # nothing like its neighbours
    assert (other.predict(asked) > grown.predict(asked) + 0.1).all()


def test_values_of_another_kind_are_refused():
    random = np.random.default_rng(5)
    keys = np.argwhere(np.ones((8, 6)))
    model = vaecp.VAECP(1, likelihood="bernoulli", effort="quick", n_members=1, random_state=0)
    model.fit(keys, (random.random(48) < 0.5).astype(float))
    with pytest.raises(ObservationError, match=r"y\[0\] is 3, which is none of .*: 0, 1"):
        model.fold_in([(9, 0)], [3.0])


def test_a_new_sample_far_larger_than_all_others_is_not_cut_off():
    random = np.random.default_rng(0)
    array = np.einsum("i,j,k->ijk", *(random.uniform(0.5, 2, size=n) for n in (12, 9, 8)))
    known = Observations.from_array(array + 0.01 * random.normal(size=array.shape))
    model = VAECP(rank=2, effort="quick", random_state=0).fit_tensor(known)
    given, asked = np.split(random.permutation(72), 2)
    keys = np.stack([np.full(72, 99), *np.unravel_index(np.arange(72), (9, 8))], axis=1)
    values = 10 * array[3].ravel()
    found = model.fold_in(keys[given], values[given]).predict(keys[asked])
    np.testing.assert_allclose(found, values[asked], rtol=0.2)
