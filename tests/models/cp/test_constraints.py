"""Constraints against SciPy, scikit-learn, TensorLy, and tensors that were made to keep them."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment, nnls
from sklearn.isotonic import IsotonicRegression

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.cp.constraints import (
    Fixed,
    Free,
    NonNegative,
    Orthogonal,
    Smooth,
    Unimodal,
    unimodal_regression,
)

N_ROWS, RANK = 12, 3
SHAPE = (10, 14, 9)


@pytest.fixture
def equations(random):
    """Gram matrices that differ from row to row, as with gaps, and right-hand sides."""
    designs = random.normal(size=(N_ROWS, 8, RANK))
    gram = np.einsum("jnr,jns->jrs", designs, designs)
    target = random.normal(size=(N_ROWS, 8))
    return gram, np.einsum("jnr,jn->jr", designs, target), designs, target


def value(gram, right_hand, rows):
    return np.einsum("jr,jrs,js->", rows, gram, rows) - 2 * np.sum(rows * right_hand)


ONES = np.ones(RANK)


def test_free_rows_solve_their_equations(equations):
    gram, right_hand, designs, target = equations
    found = Free().update(gram, right_hand, np.zeros((N_ROWS, RANK)), ONES)
    expected = [np.linalg.lstsq(d, t, rcond=None)[0] for d, t in zip(designs, target, strict=True)]
    np.testing.assert_allclose(found, expected)


def test_non_negative_rows_are_those_of_scipy(equations):
    gram, right_hand, designs, target = equations
    rows = np.ones((N_ROWS, RANK))
    for _ in range(20):
        rows = NonNegative().update(gram, right_hand, rows, ONES)
    expected = [nnls(d, t)[0] for d, t in zip(designs, target, strict=True)]
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_a_unimodal_column_is_the_best_over_all_peaks(random):
    target = np.exp(-((np.arange(15) - 6) ** 2) / 9) + 0.2 * random.normal(size=15)
    weight = random.random(15)

    def both_sides(split):
        fits = [
            IsotonicRegression(increasing=increasing)
            .fit(x, target[part], sample_weight=weight[part])
            .predict(x)
            for increasing, part in ((True, slice(split)), (False, slice(split, None)))
            if len(x := np.arange(15)[part])
        ]
        return np.concatenate(fits)

    errors = [np.sum(weight * (both_sides(split) - target) ** 2) for split in range(16)]
    found = unimodal_regression(target, weight)
    np.testing.assert_allclose(np.sum(weight * (found - target) ** 2), min(errors))
    peak = found.argmax()
    assert (np.diff(found[: peak + 1]) >= 0).all()
    assert (np.diff(found[peak:]) <= 0).all()


def test_a_smooth_column_solves_whittakers_equations(random):
    target, weight = random.normal(size=9), random.random(9)
    differences = np.diff(np.eye(9), n=2, axis=0)
    expected = np.linalg.solve(
        np.diag(weight) + 3.0 * 2.0 * differences.T @ differences, weight * target
    )
    np.testing.assert_allclose(Smooth(3.0).column(target, weight, 2.0), expected)


def test_orthogonal_columns_are_procrustes_where_all_gram_matrices_are_the_identity(random):
    right_hand = random.normal(size=(N_ROWS, RANK))
    ones = np.broadcast_to(np.eye(RANK), (N_ROWS, RANK, RANK))
    left, _, right = np.linalg.svd(right_hand, full_matrices=False)
    found = Orthogonal().update(ones, right_hand, random.normal(size=(N_ROWS, RANK)), ONES)
    np.testing.assert_allclose(found, left @ right, atol=1e-9)


def test_known_columns_stay_and_the_others_are_solved_for(equations, random):
    gram, right_hand, designs, target = equations
    known = random.normal(size=(N_ROWS, RANK))
    known[:, 1] = np.nan
    found = Fixed(known).update(gram, right_hand, np.zeros((N_ROWS, RANK)), ONES)
    np.testing.assert_array_equal(found[:, [0, 2]], known[:, [0, 2]])
    rest = target - np.einsum("jnr,jr->jn", designs[:, :, [0, 2]], known[:, [0, 2]])
    expected = np.einsum("jn,jn->j", designs[:, :, 1], rest) / (designs[:, :, 1] ** 2).sum(axis=1)
    np.testing.assert_allclose(found[:, 1], expected)


@pytest.mark.parametrize(
    "constraint", [Free(), NonNegative(), Unimodal(), Orthogonal()], ids=lambda c: type(c).__name__
)
def test_an_update_never_raises_the_sum_from_rows_that_keep_to_the_constraint(
    equations, constraint
):
    gram, right_hand, _, _ = equations
    rows = constraint.update(
        np.broadcast_to(np.eye(RANK), gram.shape), right_hand, right_hand, ONES
    )
    before = value(gram, right_hand, rows)
    after = value(gram, right_hand, constraint.update(gram, right_hand, rows, ONES))
    assert after <= before + 1e-9


# ---- whole fits ------------------------------------------------------------------------


def bumps(size, rank):
    middles = np.linspace(0.2, 0.8, rank) * size
    return np.exp(-((np.arange(size)[:, None] - middles) ** 2) / (0.12 * size) ** 2)


def made(random, share=0.4, noise=0.0):
    """Scores that are positive, peaks, and columns at right angles."""
    rows = [
        random.random(size=(SHAPE[0], RANK)),
        bumps(SHAPE[1], RANK),
        np.linalg.qr(random.normal(size=(SHAPE[2], RANK)))[0],
    ]
    array = np.einsum("ir,jr,kr->ijk", *rows)
    array += noise * array.std() * random.normal(size=SHAPE)
    return Observations.from_array(array, random.random(SHAPE) >= share), rows


def congruence(factors, truth):
    product = 1.0
    for ours, theirs in zip(factors, truth, strict=True):
        unit = [each / np.linalg.norm(each, axis=0) for each in (ours, theirs)]
        product = product * (unit[0].T @ unit[1])
    found = np.abs(product)
    return found[linear_sum_assignment(-found)].min()


def keeps(constraint, rows):
    if constraint == "orthogonal":
        return np.allclose(rows.T @ rows, np.eye(RANK), atol=1e-8)
    if constraint == "unimodal":
        turns = [np.diff(np.sign(d[np.abs(d) > 1e-9])) for d in np.diff(rows, axis=0).T]
        return all((turn != 0).sum() <= 1 and (turn <= 0).all() for turn in turns)
    return (rows >= 0).all()


@pytest.mark.parametrize(
    ("mode", "constraint"),
    [(0, "non-negative"), (1, "non-negative"), (1, "unimodal"), (2, "orthogonal")],
)
def test_a_tensor_that_keeps_the_constraint_is_recovered_with_gaps(random, mode, constraint):
    observations, truth = made(random)
    model = vaecp.CPALS(
        RANK, constraints={mode: constraint}, tol=1e-8, max_iter=1500, n_starts=2, random_state=0
    ).fit_tensor(observations)
    assert congruence(model.factors_, truth) > 0.999
    assert keeps(constraint, model.factors_[mode])
    assert (np.diff(model.history_) <= 1e-9 * model.history_[:-1]).all()


def test_smooth_rows_are_nearer_to_smooth_truth_under_noise(random):
    observations, truth = made(random, noise=1.0)
    plain = vaecp.CPALS(RANK, n_starts=5, random_state=0).fit_tensor(observations)
    smooth = vaecp.CPALS(RANK, constraints={1: Smooth(0.3)}, n_starts=5, random_state=0).fit_tensor(
        observations
    )
    assert congruence(smooth.factors_[1:2], truth[1:2]) > congruence(
        plain.factors_[1:2], truth[1:2]
    )
    assert (np.diff(smooth.history_) <= 1e-9 * smooth.history_[:-1]).all()


def test_known_spectra_are_kept_and_lead_to_the_other_modes(random):
    observations, truth = made(random, share=0.6)
    known = truth[1].copy()
    known[:, 2] = np.nan
    model = vaecp.CPALS(RANK, constraints={"mode 1": Fixed(known)}, tol=1e-9, random_state=0)
    model.fit_tensor(observations)
    np.testing.assert_allclose(model.factors_[1][:, :2], truth[1][:, :2])
    assert congruence(model.factors_, truth) > 0.999


def test_all_modes_non_negative_fit_as_well_as_tensorly(random):
    from tensorly import cp_to_tensor
    from tensorly.decomposition import non_negative_parafac_hals

    rows = [random.random(size=(size, 2)) for size in SHAPE]
    array = np.einsum("ir,jr,kr->ijk", *rows) + 0.1 * random.normal(size=SHAPE)
    other = non_negative_parafac_hals(array, 2, n_iter_max=2000, tol=1e-12, init="svd")
    theirs = np.sum((array - cp_to_tensor(other)) ** 2)
    model = vaecp.CPALS(
        2, constraints="non-negative", ridge=1e-9, tol=1e-9, max_iter=2000, random_state=0
    )
    model.fit_tensor(Observations.from_array(array))
    assert all((factor >= 0).all() for factor in model.factors_)
    mean = model.predict_at(np.argwhere(np.ones(SHAPE))).mean
    np.testing.assert_allclose(np.sum((array.ravel() - mean) ** 2), theirs, rtol=1e-4)


@pytest.mark.parametrize(
    ("constraints", "error", "message"),
    [
        ("convex", ObservationError, "the constraint 'convex' is not known: use one of 'non-neg"),
        (
            {"time": "smooth"},
            ObservationError,
            "there is no mode 'time' to constrain: use 'mode 0'",
        ),
        ({5: "smooth"}, ObservationError, "there is no mode 5 to constrain"),
        (
            {2: Fixed(np.ones((9, 2)))},
            ObservationError,
            r"are \(9, 2\): give \(9, 3\), one row per",
        ),
        ({2: Smooth(0.0)}, ValueError, "strength is 0.0: use a number above 0"),
    ],
)
def test_constraints_that_cannot_be_kept_are_refused(random, constraints, error, message):
    observations, _ = made(random)
    with pytest.raises(error, match=message):
        vaecp.CPALS(RANK, constraints=constraints, random_state=0).fit_tensor(observations)


def test_too_many_orthogonal_components_are_refused(random):
    observations, _ = made(random)
    with pytest.raises(
        ObservationError, match="has 9 labels, too few for 11 orthogonal components"
    ):
        vaecp.CPALS(11, constraints={2: "orthogonal"}, random_state=0).fit_tensor(observations)
