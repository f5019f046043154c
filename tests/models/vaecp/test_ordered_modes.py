"""Modes with an order, in whole fits: empty rows, smoothness, neighbours, joint draws."""

from dataclasses import replace

import numpy as np
import pytest

import vaecp
from vaecp import VAECP, Observations

pytestmark = pytest.mark.slow

QUICK = {"effort": "quick", "random_state": 0}


def spectra(seed: int, noise: float = 0.01) -> np.ndarray:
    """A few samples times two smooth axes, as of fluorescence."""
    random = np.random.default_rng(seed)

    def peaks(n_rows):
        place = np.linspace(0, 1, n_rows)[:, None]
        return np.exp(-0.5 * ((place - random.uniform(0.15, 0.85, 3)) / 0.12) ** 2)

    array = np.einsum("ir,jr,kr->ijk", random.uniform(0, 1, (6, 3)), peaks(16), peaks(60))
    return array / array.std() + noise * random.normal(size=array.shape)


def interpolated(array: np.ndarray, rows: list[int]) -> np.ndarray:
    """Fill rows of the last mode along straight lines."""
    every = np.arange(array.shape[2])
    known = np.setdiff1d(every, rows)
    return np.apply_along_axis(lambda fibre: np.interp(every, known, fibre[known]), 2, array)


@pytest.mark.parametrize(
    "rows", [[30], [10, 30, 45], [20, 21, 22, 23, 24]], ids=["a row", "several", "a run"]
)
def test_empty_rows_lie_between_their_neighbours(rows):
    inside = []
    for seed in range(2):
        truth = spectra(seed)
        array = truth.copy()
        array[:, :, rows] = np.nan
        model = VAECP(**QUICK).fit_tensor(Observations.from_array(array))
        hidden = np.isnan(array)
        found = model.predict_at(np.argwhere(hidden))
        straight = interpolated(array, rows)[hidden]
        errors, expected = (
            np.sqrt(np.mean((a - truth[hidden]) ** 2)) for a in (found.mean, straight)
        )
        assert errors < 1.1 * expected
        low, high = found.interval(0.9)
        inside.append(np.mean((low < truth[hidden]) & (truth[hidden] < high)))
    assert 0.8 < np.mean(inside) < 0.97


def test_an_empty_row_is_less_certain_than_those_beside_it():
    """Usually: a member for which ten entries count as one is nearly as unsure of all rows."""
    cells, ratios = np.argwhere(np.ones((6, 16))), []
    for seed in range(3):
        array = spectra(seed)
        array[:, :, 20:25] = np.nan
        model = VAECP(**QUICK).fit_tensor(Observations.from_array(array))
        empty, beside = (
            model.predict_at(np.column_stack([cells, np.full(len(cells), row)])).ignorance_std
            for row in (22, 26)
        )
        ratios.append(empty.mean() / beside.mean())
    assert np.median(ratios) > 1.5


def test_smooth_rows_fill_sparse_smooth_data_better():
    train, test = Observations.from_array(spectra(0, noise=0.1)).split(0.8, 0)
    errors = {}
    for smooth in (True, False):
        model = VAECP(smooth=smooth, neighbours=False, **QUICK).fit_tensor(train)
        errors[smooth] = np.sqrt(np.mean((model.predict_at(test.indices).mean - test.values) ** 2))
    assert errors[True] < 0.9 * errors[False]


def test_an_unseen_label_is_wider_than_any_seen_one():
    model = VAECP(**QUICK).fit_tensor(Observations.from_array(spectra(0)))
    assert 2 in model.fitted_.smoothed
    unseen, seen = (model.predict_at(np.array([[2, 8, row]])) for row in (-1, 30))
    assert unseen.std[0] > 3 * seen.std[0]


# ---- neighbours ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wandering():
    """Fibres that wander along the second mode, each its own way: rows cannot tell, neighbours can."""
    random = np.random.default_rng(0)
    walks = np.cumsum(random.normal(size=(30, 60)), axis=1)
    array = walks - walks.mean(axis=1, keepdims=True) + 0.1 * random.normal(size=walks.shape)
    array[3, 20:45] = np.nan
    train, test = Observations.from_array(array).split(0.2, 0)
    return VAECP(rank=2, n_members=2, **QUICK).fit_tensor(train), train, test


def test_neighbours_correct_what_rows_cannot_tell(wandering):
    model, _, test = wandering
    alone = replace(model.fitted_, correction=None)
    values = model.scaling_.apply(test.values)
    errors = [np.std(values - f.predict_mean(test.indices)) for f in (model.fitted_, alone)]
    assert errors[0] < 0.6 * errors[1]


def test_far_from_neighbours_an_interval_is_wider(wandering):
    """In the middle of a block of gaps there is nothing to lean on."""
    model, _, test = wandering
    middle = model.predict_at(np.array([[3, 32]])).std[0]
    assert middle > 1.3 * np.median(model.predict_at(test.indices).std)


def test_an_observed_entry_is_corrected_by_its_neighbours_alone(wandering):
    model, train, _ = wandering
    correction = model.fitted_.correction
    near = correction.neighbourhood
    place = int(np.flatnonzero((near.indices == train.indices[50]).all(axis=1))[0])
    errors = near.errors.copy()
    errors[place] += 100.0
    changed = replace(correction, neighbourhood=replace(near, errors=errors))
    other, entry = replace(model.fitted_, correction=changed), train.indices[50:51]
    np.testing.assert_allclose(
        other.predict_mean(entry), model.fitted_.predict_mean(entry), rtol=1e-5
    )


def test_without_neighbours_no_training_entries_are_kept(wandering):
    _, train, _ = wandering
    model = VAECP(rank=2, n_members=1, neighbours=False, **QUICK).fit_tensor(train)
    assert model.fitted_.correction is None


def test_a_model_with_neighbours_comes_back_from_a_file(wandering, tmp_path):
    model, _, test = wandering
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    for one, other in zip(
        again.predict(test.indices, return_std=True),
        model.predict(test.indices, return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


# ---- joint draws -----------------------------------------------------------------------------


def test_the_mean_of_a_block_varies_as_joint_draws_say():
    """Errors within a block of gaps are alike, so their mean varies far more than if they were not."""
    joint, independent = [], []
    blocks = np.arange(10, 105, 15)
    for seed in range(4):
        random = np.random.default_rng(seed)
        walks = np.cumsum(random.normal(size=(120, 2)), axis=0)
        truth = random.normal(size=(30, 2)) @ ((walks - walks.mean(axis=0)) / walks.std(axis=0)).T
        truth = truth / truth.std() + 0.05 * random.normal(size=truth.shape)
        array = truth.copy()
        hidden = (blocks[:, None] + np.arange(5)).ravel()
        array[:, hidden] = np.nan
        model = VAECP(**QUICK).fit_tensor(Observations.from_array(array))
        cells = np.argwhere(np.isnan(array))
        prediction = model.predict_at(cells)
        draws = model.sample(cells, n=200, random_state=0)

        def by_block(values):
            return values.reshape(*values.shape[:-1], -1, 5).mean(axis=-1)

        away = by_block(truth[tuple(cells.T)] - prediction.mean)
        joint.append(away / by_block(draws).std(axis=0))
        independent.append(away / np.sqrt(by_block(prediction.std**2) / 5))
    assert 0.7 < np.sqrt(np.mean(np.square(joint))) < 1.4
    assert np.sqrt(np.mean(np.square(independent))) > 1.5
