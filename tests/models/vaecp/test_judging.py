"""What held-out entries make of members: weights, noise, and intervals that hold."""

from dataclasses import replace

import numpy as np
import pytest

from vaecp import VAECP, Observations
from vaecp.data.gaps import GapPattern, held_out
from vaecp.data.support import Support
from vaecp.models.vaecp.holdouts import folds_for
from vaecp.models.vaecp.judgement import Judgement, Trained
from vaecp.models.vaecp.judging import judged, noise_of_rows, wider_for_few
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.members import Member, member_of
from vaecp.models.vaecp.sweeps.descent import Kind
from vaecp.models.vaecp.workshop import Workshop
from vaecp.outcomes.metrics import coverage

SHAPE = (14, 13, 12)
CELLS = np.argwhere(np.ones(SHAPE))
NONE = (None,) * 3


def tensor(seed: int = 0) -> Observations:
    random = np.random.default_rng(seed)
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 2)) for n in SHAPE))
    array = array / array.std() + 0.3 * random.normal(size=SHAPE)
    array[random.random(SHAPE) < 0.3] = np.nan
    return Observations.from_array(array)


@pytest.fixture(scope="module")
def folds():
    return folds_for(tensor(), (False,) * 3, np.random.default_rng(0))


@pytest.fixture(scope="module")
def members(folds) -> list[Trained]:
    """Members of ranks 2 and 3."""
    workshop = Workshop(tensor(), folds, NONE, GAUSSIAN, 0)
    found = []
    for rank in (2, 3):
        (candidate,) = workshop.first((Kind(rank), 0))
        by_fold = tuple(
            member_of(workshop.solver(number, candidate.kind), descent)
            for number, descent in enumerate(candidate.descents)
        )
        finished = member_of(*workshop.finished(candidate))
        found.append(Trained(by_fold, lambda member=finished: member))
    return found


def changed(trained: Trained, change) -> Trained:
    by_fold = tuple(change(member) for member in trained.by_fold)
    return Trained(by_fold, lambda: change(trained.finish()))


def judge(folds, trained, *, calibrate=True):
    return judged(
        tensor(),
        folds,
        trained,
        (),
        (),
        GAUSSIAN,
        neighbours=True,
        calibrate=calibrate,
        random=np.random.default_rng(0),
    )


def support() -> Support:
    return Support.of(tensor().indices, SHAPE, ())


def off_by(amount: float):
    return lambda member: replace(member, level=member.level + amount)


def test_a_member_that_is_far_off_is_left_out(folds, members):
    fitted = judge(folds, [*members, changed(members[0], off_by(3.0))])
    np.testing.assert_array_equal(fitted.ensemble.ranks, [2, 3])


def test_a_member_that_errs_where_nothing_else_does_loses_its_weight(folds, members):
    """One row is far off, of the many that held-out entries see."""

    def wild(member: Member) -> Member:
        first = member.mean[0].copy()
        first[5] *= 30.0
        return replace(member, mean=(first, *member.mean[1:]))

    fitted = judge(folds, [members[0], changed(members[1], wild)])
    np.testing.assert_array_equal(fitted.ensemble.ranks, [2])


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_a_wrong_spread_is_put_right(factor, folds, members):
    def louder(member: Member) -> Member:
        return replace(member, noise=factor * member.noise)

    fitted = judge(folds, [changed(members[0], louder)])
    assert fitted.predict(CELLS).std.mean() == pytest.approx(0.3, rel=0.3)


def test_without_calibration_members_are_believed(folds, members):
    fitted = judge(folds, members[:1], calibrate=False)
    np.testing.assert_array_equal(fitted.unseen_scale, 1.0)
    found = fitted.predict(CELLS)
    np.testing.assert_allclose(found.noise_std**2, members[0].finish().noise, rtol=0.03)


def test_without_folds_all_members_count_alike(members):
    fitted = judge((), members)
    weights = fitted.stack.weights(fitted.support.features(CELLS))
    np.testing.assert_array_equal(weights, 0.5)


def test_errors_are_judged_by_weights_that_did_not_see_them(folds, members):
    """Members of pure noise look better the more weights are fitted to it: honest ones do not."""
    judgement = Judgement.of(folds, members, support(), GAUSSIAN)
    random = np.random.default_rng(0)
    n_entries = len(judgement.values)
    noise = replace(
        judgement,
        means=random.normal(size=(n_entries, 40)),
        variances=np.zeros((n_entries, 40)),
        noises=np.ones((n_entries, 40)),
    )
    stack = noise.stack()
    fitted = np.sum(stack.weights(noise.features) * noise.means, axis=1)
    honest, _ = noise.blended(stack)
    squares = [np.mean((noise.values - mean) ** 2) for mean in (fitted, honest)]
    assert squares[0] < 0.97 * squares[1]


def test_ignorance_is_the_variance_within_members_and_between_them(folds, members):
    judgement = Judgement.of(folds, members, support(), GAUSSIAN)
    stack = judgement.stack()
    weights = stack.weights(judgement.features)
    mean = np.sum(weights * judgement.means, axis=1)
    second = np.sum(weights * (judgement.variances + judgement.means**2), axis=1)
    np.testing.assert_allclose(judgement.blended(stack)[1], second - mean**2, atol=1e-9)


def test_rows_that_are_noisier_are_found(random):
    shape = (10, 30, 20)
    size = np.ones(10)
    size[:3] = 4.0
    train = Observations.from_array(random.normal(size=shape))
    residuals = size[train.indices[:, 0]] * random.normal(size=len(train))
    tables = noise_of_rows(residuals, train, prior_entries=8)
    ratio = np.exp(tables[0][:3].mean() - tables[0][3:10].mean())
    assert ratio == pytest.approx(4, rel=0.15)
    assert max(np.abs(table[:-1]).max() for table in tables[1:]) < 0.2
    assert [table[-1] for table in tables] == [0.0, 0.0, 0.0]  # an unseen row is an ordinary one


def test_few_residuals_leave_rows_alike(random):
    train = Observations(np.argwhere(np.ones((4, 2))), np.zeros(8), (4, 2))
    (rows, _) = noise_of_rows(random.normal(size=8), train, prior_entries=8)
    assert np.abs(rows).max() < 0.5


def test_unseen_labels_are_widened_until_they_hold_known_ones(folds, members):
    """Over all known rows, errors with a label taken away are as large as they are said to be."""
    fitted = judge(folds, members)
    observed = tensor()
    for mode in range(3):
        indices = np.array(observed.indices)
        indices[:, mode] = -1
        found = fitted.predict(indices)
        ratio = np.mean((observed.values - found.mean) ** 2) / np.mean(found.std**2)
        assert ratio < 1.1


@pytest.mark.parametrize("n_rows", [4, 7, 30])
def test_an_interval_that_few_rows_tell_of_holds_a_further_one(n_rows, random):
    """Of normal rows, whose mean and variance are learned from them."""
    rows, further = random.normal(size=(20_000, n_rows)), random.normal(size=20_000)
    half = 1.645 * wider_for_few(n_rows) * rows.std(axis=1)
    assert np.mean(np.abs(further - rows.mean(axis=1)) < half) == pytest.approx(0.9, abs=0.01)


def test_a_row_without_entries_is_as_uncertain_as_an_unseen_one():
    few = tensor()
    few = few.take((few.indices[:, 0] < 5) & (few.indices[:, 0] != 3))
    model = VAECP(effort="quick", random_state=0).fit_tensor(few)
    empty, unseen = few.indices[:50].copy(), few.indices[:50].copy()
    empty[:, 0], unseen[:, 0] = 3, -1
    np.testing.assert_allclose(model.predict_at(empty).std, model.predict_at(unseen).std, rtol=0.1)
    assert model.predict_at(empty).std.mean() > 2 * model.predict_at(few.indices[:50]).std.mean()


def test_a_row_that_a_sample_lacks_may_have_entries(folds, members):
    """A fit from disk knows the support of some entries alone."""
    fitted = replace(judge(folds, members), unseen_scale=np.full(4, 3.0))
    kept = np.flatnonzero(tensor().indices[:, 0] != 3)
    without = replace(fitted.support, indices=tensor().indices[kept])
    asked = np.array([[3, 1, 1]], dtype=np.int32)
    whole, sample = (
        replace(fitted, support=replace(without, is_sample=some)).predict(asked).ignorance_std
        for some in (False, True)
    )
    np.testing.assert_allclose(whole, 3 * sample, rtol=1e-6)


# ---- intervals, end to end -------------------------------------------------------------------


def rough(random) -> np.ndarray:
    array = np.einsum("ir,jr,kr->ijk", *(random.normal(size=(n, 3)) for n in (20, 18, 16)))
    return array / array.std() + 0.3 * random.normal(size=array.shape)


def smooth(random) -> np.ndarray:
    wave = np.linspace(0, 1, 50)[:, None]
    peaks = np.exp(-0.5 * ((wave - random.uniform(0, 1, 3)) / 0.15) ** 2)
    rows = random.uniform(0, 1, (16, 3)), peaks * random.uniform(0.5, 2, 3)
    array = np.einsum("ir,jr,kr->ijk", *rows, random.uniform(0, 1, (12, 3)))
    return array / array.std() + 0.05 * random.normal(size=array.shape)


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        (rough, GapPattern(share=0.3)),
        (rough, GapPattern("fibres", (2,), 0.3)),
        (smooth, GapPattern("fibres", (1,), 0.3)),
        (smooth, GapPattern("blocks", (1,), 0.3, length=10)),
    ],
    ids=["scattered", "fibres", "smooth fibres", "blocks"],
)
@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say(make, pattern):
    found = []
    for seed in range(2):
        random = np.random.default_rng(seed)
        whole = Observations.from_array(make(random))
        hidden = held_out(pattern, whole, random)
        model = VAECP(effort="quick", random_state=seed).fit_tensor(whole.take(~hidden))
        test = whole.take(hidden)
        found.append(coverage(model.predict_at(test.indices), test.values, 0.9))
    assert 0.85 < np.mean(found) < 0.95


def test_only_members_that_are_kept_learn_from_all_entries(folds, members):
    """One that is far off has no weight."""

    def useless() -> Member:
        raise AssertionError("it is not kept")

    far = changed(members[0], lambda member: replace(member, level=member.level + 50))
    fitted = judge(folds, [members[0], replace(far, finish=useless)])
    assert len(fitted.ensemble) == 1
