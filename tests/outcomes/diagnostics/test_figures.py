"""Core consistency, congruence, variation and influence, against tlviz, TensorLy, pyttb, NumPy."""

import itertools

import numpy as np
import pytest

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.outcomes import diagnostics

tlviz = pytest.importorskip("tlviz", reason="figures are compared with those of tlviz")
SHAPE, RANK = (9, 8, 7), 3


@pytest.fixture
def factors(random):
    return [random.normal(size=(size, RANK)) for size in SHAPE]


@pytest.fixture
def array(random, factors):
    return np.einsum("ir,jr,kr->ijk", *factors) + 0.5 * random.normal(size=SHAPE)


def cp(factors):
    return np.ones(factors[0].shape[1]), [np.array(rows) for rows in factors]


def with_gaps(array, random, share=0.3):
    return Observations.from_array(array, random.random(array.shape) >= share)


def test_core_consistency_is_that_of_tlviz(array, factors):
    balanced = tlviz.factor_tools.distribute_weights_evenly(cp(factors))
    theirs = tlviz.model_evaluation.core_consistency(balanced, array)
    ours = diagnostics.core_consistency(Observations.from_array(array), factors)
    np.testing.assert_allclose(ours, theirs)
    assert ours < 99


def test_core_consistency_does_not_depend_on_how_sizes_lie_between_modes(array, factors):
    observations = Observations.from_array(array)
    moved = [factors[0] * [1e3, 1, 1e-2], factors[1] / [1e3, 1, 1e-2], factors[2]]
    np.testing.assert_allclose(
        diagnostics.core_consistency(observations, moved),
        diagnostics.core_consistency(observations, factors),
    )


def test_with_gaps_the_core_is_the_least_squares_solution_over_the_observed(array, random, factors):
    observations = with_gaps(array, random)
    design = np.stack(
        [
            np.prod(
                [
                    rows[:, r][column]
                    for rows, r, column in zip(factors, place, observations.indices.T, strict=True)
                ],
                axis=0,
            )
            for place in itertools.product(range(RANK), repeat=3)
        ],
        axis=1,
    )
    expected = np.linalg.lstsq(design, observations.values, rcond=None)[0]
    core = diagnostics.tucker_core(observations, factors)
    np.testing.assert_allclose(core.ravel(), expected, atol=1e-10)


def test_repeated_entries_count_as_often_as_they_are_listed(array, factors):
    full = Observations.from_array(array)
    twice = Observations(np.tile(full.indices, (2, 1)), np.tile(full.values, 2), SHAPE)
    np.testing.assert_allclose(
        diagnostics.tucker_core(twice, factors), diagnostics.tucker_core(full, factors)
    )


def test_an_exact_model_has_a_core_consistency_of_one_hundred_whatever_is_missing(random, factors):
    exact = np.einsum("ir,jr,kr->ijk", *factors)
    found = diagnostics.core_consistency(with_gaps(exact, random, 0.6), factors)
    np.testing.assert_allclose(found, 100)


def test_a_matrix_has_no_core_consistency(array, factors):
    matrix = Observations.from_array(array[:, :, 0])
    with pytest.raises(ObservationError, match="has 2 modes: core consistency needs three"):
        diagnostics.core_consistency(matrix, factors[:2])


def test_a_core_with_gaps_that_is_too_large_is_not_computed(array, random, monkeypatch, factors):
    monkeypatch.setattr("vaecp.outcomes.diagnostics.core.MAX_CORE", 8)
    assert np.isnan(diagnostics.core_consistency(with_gaps(array, random), factors))


def test_congruence_of_matched_components_is_tlvizs_factor_match_score(random, factors):
    other = [
        rows[:, [2, 0, 1]] * [-2, 1, 3] + 0.3 * random.normal(size=rows.shape) for rows in factors
    ]
    found = diagnostics.match(factors, other)
    assert found.order.tolist() == [1, 2, 0]
    theirs = tlviz.factor_tools.factor_match_score(cp(factors), cp(other), consider_weights=False)
    np.testing.assert_allclose(found.scores.mean(), theirs)


def test_congruence_in_one_mode_is_that_of_tensorly(random, factors):
    from tensorly.metrics import congruence_coefficient

    other = factors[1][:, ::-1] + 0.3 * random.normal(size=factors[1].shape)
    theirs, order = congruence_coefficient(factors[1], other)
    found = diagnostics.match(factors[1:2], [other])
    np.testing.assert_allclose(found.congruences.mean(), theirs)
    assert found.order.tolist() == list(order)


def test_matched_components_score_as_in_pyttb(random, factors):
    pyttb = pytest.importorskip("pyttb")
    other = [rows + 0.2 * random.normal(size=rows.shape) for rows in factors]
    theirs = pyttb.ktensor([np.array(f) for f in factors]).score(
        pyttb.ktensor([np.array(f) for f in other]), weight_penalty=False
    )[0]
    np.testing.assert_allclose(diagnostics.match(factors, other).scores.mean(), theirs)


def test_a_component_and_its_opposite_are_a_degenerate_pair(random, factors):
    cancelling = [
        np.column_stack([rows, -rows[:, :1] + 0.01 * random.normal(size=(len(rows), 1))])
        for rows in factors
    ]
    ((first, second, congruence),) = diagnostics.degenerate_pairs(cancelling)
    assert (first, second) == (0, 3)
    np.testing.assert_allclose(congruence, tlviz.factor_tools.degeneracy_score(cp(cancelling)))
    assert diagnostics.degenerate_pairs(factors) == []


def test_explained_variation_is_tlvizs_fit_and_components_have_their_own(array, factors):
    observations = Observations.from_array(array)
    theirs = tlviz.model_evaluation.fit(cp(factors), array)
    np.testing.assert_allclose(diagnostics.explained_variation(observations, factors), 100 * theirs)
    theirs = tlviz.factor_tools.percentage_variation(cp(factors), array, method="data")
    np.testing.assert_allclose(diagnostics.component_variation(observations, factors), theirs)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_leverage_and_residuals_are_those_of_tlviz(array, factors, mode):
    theirs = tlviz.outliers.compute_outlier_info(cp(factors), array, mode=mode)
    found = diagnostics.influence(Observations.from_array(array), factors, mode)
    np.testing.assert_allclose(found["leverage"], theirs["Leverage score"])
    np.testing.assert_allclose(found["share"], theirs["Slabwise SSE"])
    expected = np.sqrt(found["share"] / found["share"].sum())
    np.testing.assert_allclose(found["residual"] / np.linalg.norm(found["residual"]), expected)


def test_a_label_without_entries_has_no_residual(array, factors):
    array[4] = np.nan
    found = diagnostics.influence(Observations.from_array(array), factors, 0)
    assert np.isnan(found["residual"][4])
    assert found["residual"].notna().sum() == SHAPE[0] - 1


def test_a_residual_map_is_the_root_mean_square_over_the_other_modes(array, random, factors):
    array[random.random(SHAPE) < 0.3] = np.nan
    array[:, 2, 5] = np.nan
    left = array - np.einsum("ir,jr,kr->ijk", *factors)
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(np.nansum(left**2, axis=0) / (~np.isnan(left)).sum(axis=0))
    found = diagnostics.residual_map(Observations.from_array(array), factors, 1, 2)
    np.testing.assert_allclose(found, expected)
    turned = diagnostics.residual_map(Observations.from_array(array), factors, 2, 1)
    np.testing.assert_allclose(turned, expected.T)


@pytest.mark.parametrize("center", ["none", "values", 0])
def test_entries_and_factors_of_a_fitted_model_belong_together(array, random, center):
    observations = with_gaps(100 + 40 * array, random)
    model = vaecp.CPALS(RANK, center=center, random_state=0).fit_tensor(observations)
    entries, factors = diagnostics.decomposition(model, observations)
    left = diagnostics.residuals(entries, factors)
    expected = observations.values - model.predict_at(observations.indices).mean
    unit = 1.0 if center != 0 else model.scaling_.scale
    np.testing.assert_allclose(unit * left, expected, atol=1e-9)


def test_a_method_that_is_no_sum_of_products_is_refused(array):
    observations = Observations.from_array(array)
    model = vaecp.HOSVD(rank=2, max_iter=5).fit_tensor(observations)
    with pytest.raises(ObservationError, match="HOSVD is not a sum of products: use CPALS"):
        diagnostics.decomposition(model, observations)
