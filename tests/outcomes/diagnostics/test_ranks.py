"""How many components: tensors whose number is known, and the amino acids."""

import numpy as np
import pytest
from scipy.io import loadmat

import vaecp
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.cp.estimators import StartEnd
from vaecp.outcomes import diagnostics
from vaecp.outcomes.diagnostics.stability import mode_to_split

pytestmark = pytest.mark.slow

SHAPE = (12, 11, 10)


def tensor(rank, noise=0.05, shape=SHAPE, seed=0):
    random = np.random.default_rng(seed)
    factors = [random.random(size=(size, rank)) for size in shape]
    exact = np.einsum("ir,jr,kr->ijk", *factors)
    array = exact + noise * exact.std() * random.normal(size=shape)
    return Observations.from_array(array, random.random(shape) >= 0.2), factors


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_number_of_components_that_a_tensor_was_made_with_is_found(rank):
    observations, _ = tensor(rank)
    found = diagnostics.diagnose(observations, range(1, 5), n_starts=4)
    assert found.rank == rank
    word = ("One component: it explains", "Two components: they explain", "Three components: they")
    assert found.verdict().startswith(word[rank - 1])
    assert found.table()["rank"].tolist() == [1, 2, 3, 4]


def test_a_largest_rank_that_nothing_speaks_against_asks_for_more():
    observations, _ = tensor(2)
    found = diagnostics.diagnose(observations, [1, 2], n_starts=3, n_splits=1)
    assert found.verdict().endswith(
        "Nothing speaks against the largest rank that was tried: try more."
    )


def test_noise_supports_no_number_of_components(random):
    observations = Observations.from_array(random.normal(size=SHAPE))
    found = diagnostics.diagnose(observations, [2, 3], n_starts=4)
    assert found.rank is None
    assert found.verdict().startswith(
        "No number of components that was tried is supported. With 2,"
    )


def test_factors_are_in_the_units_of_the_data():
    observations, _ = tensor(2)
    found = diagnostics.diagnose(observations, [2], n_starts=1, n_splits=0)[2]
    left = diagnostics.residuals(observations, found.factors)
    share = 100 * (1 - np.sum(left**2) / np.sum(observations.values**2))
    np.testing.assert_allclose(share, found.explained)
    assert np.isnan(found.split_half)


def test_the_halves_of_an_exact_tensor_agree_and_are_the_truth():
    observations, _ = tensor(2, noise=0.0)
    model = vaecp.CPALS(2, random_state=0)
    for split in diagnostics.split_half(model, observations, mode=1, n_splits=2):
        assert split.congruences.shape == (2, 2)
        assert split.worst > 0.9999


@pytest.mark.parametrize(("shape", "mode"), [((10, 50, 3), 0), ((9, 50, 3), 1), ((5, 6, 7), 2)])
def test_samples_are_split_unless_they_are_few(shape, mode):
    assert mode_to_split(Observations.from_array(np.ones(shape))) == mode


def test_starts_agree_where_objective_and_components_are_the_same(random):
    factors = tuple(random.normal(size=(size, 2)) for size in SHAPE)
    turned = tuple(-3 * rows[:, ::-1] for rows in factors)
    other = tuple(random.normal(size=(size, 2)) for size in SHAPE)
    ends = [
        StartEnd(factors, 1.0),
        StartEnd(turned, 1.005),
        StartEnd(factors, 1.02),
        StartEnd(other, 1.0),
    ]
    assert diagnostics.agreeing(ends) == 2


def test_every_start_is_reported_best_first_and_leaves_the_model_alone():
    observations, factors = tensor(2)
    model = vaecp.CPALS(2, n_starts=4, random_state=0)
    ends = model.every_start(observations)
    objectives = [end.objective for end in ends]
    assert objectives == sorted(objectives)
    assert not hasattr(model, "fitted_")
    best = model.fit_tensor(observations).history_[-1]
    np.testing.assert_allclose(objectives[0], best, rtol=1e-3)
    assert diagnostics.match(factors, ends[0].factors).worst > 0.98


@pytest.mark.parametrize(
    ("array", "settings", "message"),
    [
        (np.eye(5), {}, "has 2 modes: components of a matrix are not unique"),
        (np.ones((5, 5, 5)), {"ranks": [0, 1]}, r"ranks is \[0, 1\]: give integers from 1"),
        (np.ones((5, 5, 5)), {"ranks": [1, None]}, r"ranks is \[1, None\]: give integers from 1"),
        (np.ones((5, 5, 5)), {"n_splits": 0.5}, r"n_splits is 0.5: give an integer from 0"),
        (np.ones((5, 5, 5)), {"n_starts": 0}, r"n_starts is 0: give an integer from 1"),
        (np.ones((5, 5, 5)), {"split": "time"}, "there is no mode 'time': use 'mode 0'"),
    ],
)
def test_what_cannot_be_diagnosed_is_refused(array, settings, message):
    with pytest.raises(ObservationError, match=message):
        diagnostics.diagnose(Observations.from_array(array), **settings)


def test_a_rank_that_was_not_tried_is_named():
    observations, _ = tensor(1)
    found = diagnostics.diagnose(observations, [1], n_starts=1, n_splits=0)
    with pytest.raises(ObservationError, match="rank 3 was not tried: use one of 1"):
        found[3]


def test_the_amino_acids_are_three_and_their_scores_are_concentrations(amino_file):
    published = loadmat(amino_file)  # 5 samples x 201 emissions x 61 excitations
    observations = Observations.from_array(published["X"])
    found = diagnostics.diagnose(observations, [2, 3, 4], n_starts=4, n_splits=1)
    assert found.rank == 3
    assert found[3].core_consistency > 99
    assert found[3].explained > 99.9
    correlations = np.abs(np.corrcoef(found[3].factors[0].T, published["y"].T)[:3, 3:])
    assert (correlations.max(axis=0) >= 0.998).all()
    assert sorted(correlations.argmax(axis=0)) == [0, 1, 2]


def test_the_core_consistency_of_the_amino_acids_is_that_of_tlviz(amino_file):
    tlviz = pytest.importorskip("tlviz")
    observations = vaecp.datasets.load("amino")
    model = vaecp.CPALS(3, random_state=0).fit_tensor(observations)
    entries, factors = diagnostics.decomposition(model, observations)
    theirs = tlviz.model_evaluation.core_consistency((None, list(factors)), entries.to_array())
    np.testing.assert_allclose(diagnostics.core_consistency(entries, factors), theirs, rtol=1e-4)
