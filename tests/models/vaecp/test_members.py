"""Members in an ensemble, against the sweeps that trained them and against draws."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp import VAECP
from vaecp.data.observations import Observations
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.members import Ensemble, Member, member_of
from vaecp.models.vaecp.networks import Network
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.descent import Kind, begin, hasten, settle, solver_for

SHAPE = (6, 20, 5)
CELLS = np.argwhere(np.ones(SHAPE))


def trained(rank: int, *, smooth: bool = False, seed: int = 0):
    random = np.random.default_rng(0)
    wave = np.linspace(0, 3, SHAPE[1])[:, None] + random.normal(size=2)
    array = np.einsum(
        "ir,jr,kr->ijk", random.normal(size=(6, 2)), np.sin(wave), random.normal(size=(5, 2))
    )
    array += 0.1 * random.normal(size=SHAPE)
    array[random.random(SHAPE) < 0.3] = np.nan
    array[2] = np.nan  # a row without entries
    chains = (None, Chain.through(None, SHAPE[1]), None)
    solver = solver_for(Observations.from_array(array), Kind(rank, smooth), chains)
    descent = hasten(solver, begin(solver, GAUSSIAN, np.random.default_rng(seed)), 20)
    return solver, settle(solver, descent, 10)


@pytest.fixture(scope="module")
def sweeps():
    return [trained(0), trained(3), trained(14), trained(3, smooth=True)]


@pytest.fixture(scope="module")
def members(sweeps) -> list[Member]:
    return [member_of(*each) for each in sweeps]


@pytest.fixture(scope="module")
def ensemble(members) -> Ensemble:
    return Ensemble.of(members, -100.0, 100.0)


def test_members_of_several_ranks_keep_the_means_that_sweeps_gave_them(sweeps, ensemble):
    found = ensemble.moments(CELLS)
    for place, (solver, descent) in enumerate(sweeps):
        ids = (CELLS + solver.offsets[:-1]).astype(np.int32)
        mean, variance = solver.moments(descent.tables, ids)
        np.testing.assert_allclose(found.mean[:, place], mean, atol=1e-4)
        np.testing.assert_allclose(found.noise[:, place], descent.likelihood.noise)
        if not solver.full:
            np.testing.assert_allclose(found.variance[:, place], variance, rtol=1e-3, atol=1e-6)


def test_moments_are_those_of_draws(ensemble):
    cells, random = CELLS[::7], np.random.default_rng(0)
    found = ensemble.moments(cells)
    for member in range(len(ensemble)):
        draws = np.stack([ensemble.draw(member, cells, random) for _ in range(2000)])
        spread = np.sqrt(found.variance[:, member])
        assert (np.abs(draws.mean(axis=0) - found.mean[:, member]) < 0.15 * spread + 1e-6).all()
        np.testing.assert_allclose(draws.std(axis=0), spread, rtol=0.2, atol=1e-6)


def test_an_unseen_label_is_what_the_row_of_a_typical_entry_is_and_its_effect_is_unknown(
    sweeps, members
):
    (solver, descent), member = sweeps[1], members[1]
    for mode in range(3):
        own = [0, 1, 2, 3 + mode]
        mean, variance = member.mean[mode][-1], member.variance[mode][-1]
        typical = descent.tables.mean[solver.ids[:, mode]].mean(axis=0)
        np.testing.assert_allclose(mean[own], typical[own], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            variance[own], descent.tables.prior_variance[mode], rtol=1e-5, atol=1e-9
        )
        others = np.setdiff1d(np.arange(solver.width), own)
        np.testing.assert_array_equal(mean[others], 1.0)
        np.testing.assert_array_equal(variance[others], 0.0)


def test_a_row_without_entries_is_like_an_unseen_label(ensemble):
    empty, unseen = np.array([[2, 4, 3]]), np.array([[-1, 4, 3]])
    sharing_priors = ensemble.only(np.array([0, 1, 2]))
    for one, other in zip(
        sharing_priors.moments(empty), sharing_priors.moments(unseen), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=0.1, atol=1e-3)


def test_an_unseen_label_of_a_smooth_mode_is_like_the_seen_ones(members):
    table = members[3].mean[1]
    np.testing.assert_allclose(table[-1, :3], table[:-1, :3].mean(axis=0), atol=1e-6)
    assert (members[3].variance[1][-1, :3] >= table[:-1, :3].var(axis=0)).all()


def test_draws_of_a_smooth_mode_move_together(members):
    """Of a member that is one chain and nothing else, entries are its rows."""
    smooth = members[3]
    own = np.zeros_like(smooth.mean[1])
    own[:, 0] = 1.0
    chain = replace(
        smooth,
        mean=(np.ones_like(smooth.mean[0]), 0 * own, np.ones_like(smooth.mean[2])),
        variance=(0 * smooth.variance[0], own, 0 * smooth.variance[2]),
        level=0.0,
    )
    ensemble, random = Ensemble.of([chain], -100.0, 100.0), np.random.default_rng(0)
    along = np.array([[0, row, 0] for row in range(SHAPE[1])])
    draws = np.stack([ensemble.draw(0, along, random) for _ in range(4000)])
    np.testing.assert_allclose(draws.std(axis=0), 1.0, rtol=0.05)
    found = [np.corrcoef(draws[:, row], draws[:, row + 1])[0, 1] for row in range(SHAPE[1] - 1)]
    expected = smooth.correlation[1][: SHAPE[1] - 1, 0]
    assert (expected > 0.5).all()
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_means_stay_within_the_stated_range(members):
    narrow = Ensemble.of(members, -0.2, 0.3)
    means = narrow.moments(CELLS).mean
    assert means.min() == -0.2
    assert means.max() == 0.3
    draws = narrow.draw(1, CELLS, np.random.default_rng(0))
    assert -0.2 <= draws.min() <= draws.max() <= 0.3


def with_network(member: Member, random, scale=0.3) -> Member:
    width = member.mean[0].shape[1]
    network = Network(
        scale * random.normal(size=(3, width, 4)), random.normal(size=4), random.normal(size=(2, 4))
    )
    return replace(member, network=network)


def by_hand(member: Member, cell: np.ndarray) -> tuple[float, float]:
    """The mean and the noise of one entry, as the model writes them."""
    network = member.network
    assert network is not None
    rows = [member.mean[mode][cell[mode]].astype(float) for mode in range(3)]
    hidden = np.tanh(
        sum(network.input_weights[mode].T @ row for mode, row in enumerate(rows)) + network.bias
    )
    product = np.prod(rows, axis=0).sum() if member.multilinear else 0.0
    noise = member.noise * np.exp(network.heads[1] @ hidden)
    return member.level + product + network.heads[0] @ hidden, noise


def test_a_network_adds_to_the_product_and_scales_the_noise(members, random):
    """Beside members of other widths, with a network or without."""
    own = with_network(members[1], random)
    alone = replace(with_network(members[3], random), multilinear=False)
    ensemble = Ensemble.of([members[2], own, alone], -100.0, 100.0)
    found = ensemble.moments(CELLS)
    for place, member in ((1, own), (2, alone)):
        expected = np.array([by_hand(member, cell) for cell in CELLS])
        np.testing.assert_allclose(found.mean[:, place], expected[:, 0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.noise[:, place], expected[:, 1], rtol=1e-4)
    plain = Ensemble.of([members[2]], -100.0, 100.0).moments(CELLS)
    np.testing.assert_allclose(found.mean[:, 0], plain.mean[:, 0])


def test_the_variance_of_a_network_is_that_of_draws_where_rows_are_nearly_known(members, random):
    member = replace(with_network(members[1], random), multilinear=False)
    member = replace(member, variance=tuple(1e-4 * (t > 0) for t in member.variance))
    ensemble = Ensemble.of([member], -100.0, 100.0)
    cells = CELLS[::11]
    found = ensemble.moments(cells)
    draws = [ensemble.draw(0, cells, random) for _ in range(3000)]
    np.testing.assert_allclose(np.std(draws, axis=0), np.sqrt(found.variance[:, 0]), rtol=0.1)


def test_some_members_say_what_they_said_among_all(ensemble):
    some = ensemble.only(np.array([False, True, False, True]))
    assert len(some) == 2
    for one, other in zip(some.moments(CELLS), ensemble.moments(CELLS), strict=True):
        np.testing.assert_array_equal(one, other[:, [1, 3]])


def test_without_held_out_entries_intervals_hold_what_few_entries_leave_undetermined():
    """Of 3 x 3 cells one is a gap: row and column effects fit the others with hardly any error."""
    random, inside = np.random.default_rng(0), 0
    for _ in range(12):
        array = np.add.outer(random.normal(size=3), random.normal(size=3))
        noisy = array + 0.1 * random.normal(size=(3, 3))
        keys = [(i, j) for i in range(3) for j in range(3) if i + j]
        model = VAECP(random_state=0, likelihood="gaussian").fit(keys, noisy.ravel()[1:])
        low, high = model.predict_interval([(0, 0)])
        inside += bool(low[0] <= noisy[0, 0] <= high[0])
    assert inside >= 5  # 1 where components were taken for independent
