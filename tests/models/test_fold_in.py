"""Every method that can fold in new rows keeps these promises."""

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from method_contract import small_model
from sklearn.base import clone

import vaecp
from vaecp.errors import LabelTypeError, ObservationError, UnsupportedError
from vaecp.models import registry
from vaecp.models.fitted import Fitted

MODELS = {
    name: small_model(method)
    for name, method in registry.methods().items()
    if name != "VAECP.paper"
}
every_method = pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def newcomer(table) -> tuple[pd.DataFrame, np.ndarray]:
    """A person who answers as the known person "c" does."""
    known = table.keys["who"] == "c"
    return table.keys[known].assign(who="bz"), table.values[known.to_numpy()]


@every_method
def test_a_new_row_with_the_entries_of_a_known_one_is_predicted_as_that(
    model, table, fitted, newcomer
):
    grown = fitted(model).fold_in(*newcomer)
    gaps = table.gaps[table.gaps["who"] == "c"]
    twin, known = (grown.predict(gaps.assign(who=who)) for who in ("bz", "c"))
    assert np.sqrt(np.mean((twin - known) ** 2)) < 0.15 * np.std(table.values)


@every_method
def test_the_old_model_and_the_rows_it_knew_stay_as_they_are(model, table, fitted, newcomer):
    old = fitted(model)
    before = old.predict(table.gaps)
    labels = [each.copy() for each in old.labels_]
    grown = old.fold_in(*newcomer)
    np.testing.assert_array_equal(old.predict(table.gaps), before)
    for one, other in zip(old.labels_, labels, strict=True):
        np.testing.assert_array_equal(one, other)
    # Weights of members depend on how many entries lie around a cell, which are more now; and in a
    # Gaussian process over entries, all are related.
    np.testing.assert_allclose(grown.predict(table.gaps), before, atol=0.03 * np.std(table.values))


@every_method
def test_new_labels_take_their_place_in_the_order_and_are_marked(model, fitted, newcomer):
    grown = fitted(model).fold_in(*newcomer)
    assert list(grown.labels_[0]) == ["a", "b", "bz", "c", "d", "e", "f", "g"]
    np.testing.assert_array_equal(np.flatnonzero(grown.folded_rows_[0]), [2])
    assert not any(rows.any() for rows in grown.folded_rows_[1:])


@every_method
def test_entries_of_a_new_row_narrow_its_predictions(model, table, fitted, newcomer):
    keys, values = newcomer
    gaps = table.gaps[table.gaps["who"] == "c"].assign(who="bz")
    old = fitted(model)
    _, unknown = old.predict(gaps, return_std=True)
    _, known = old.fold_in(keys, values).predict(gaps, return_std=True)
    assert known.mean() < unknown.mean()


@every_method
def test_new_rows_of_two_modes_can_share_an_entry(model, table, fitted, newcomer):
    keys, values = newcomer
    both = pd.concat([keys, keys.assign(who="c", dose=35), keys[:1].assign(dose=35)])
    answers = np.concatenate([values, values, values[:1]])
    keep = ~both.duplicated().to_numpy()
    grown = fitted(model).fold_in(both[keep], answers[keep])
    mean, std = grown.predict(both[keep], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert list(grown.labels_[1]) == [0, 10, 20, 30, 35, 40, 50]


@every_method
def test_a_grown_model_is_saved_and_loaded_to_the_bit_and_grows_again(
    model, table, fitted, newcomer, tmp_path
):
    keys, values = newcomer
    grown = fitted(model).fold_in(*newcomer)
    copy = vaecp.load(vaecp.save(grown, tmp_path / "grown.vaecp"))
    np.testing.assert_array_equal(copy.predict(keys), grown.predict(keys))
    again = copy.fold_in(keys.assign(who="z"), values)
    assert list(again.labels_[0][again.folded_rows_[0]]) == ["bz", "z"]
    np.testing.assert_array_equal(
        again.predict(keys.assign(who="z")),
        grown.fold_in(keys.assign(who="z"), values).predict(keys.assign(who="z")),
    )


@every_method
def test_entries_of_known_rows_alone_change_nothing(model, table, fitted):
    same = fitted(model).fold_in(table.gaps, table.truth)
    np.testing.assert_array_equal(same.predict(table.gaps), fitted(model).predict(table.gaps))


@every_method
def test_labels_of_another_type_are_refused(model, fitted, newcomer):
    keys, values = newcomer
    with pytest.raises(LabelTypeError, match="mode 'who' has labels of mixed type"):
        fitted(model).fold_in(keys.assign(who=7), values)


@every_method
def test_values_that_are_no_numbers_are_refused(model, fitted, newcomer):
    keys, values = newcomer
    with pytest.raises(ObservationError, match=r"Input y contains NaN or infinity: y\[0\]"):
        fitted(model).fold_in(keys, np.full(len(values), np.nan))


class FittedStill(vaecp.CPALS.fitted_type):
    fold_in = Fitted.fold_in


class Still(vaecp.CPALS):
    """A method that never learned to fold in."""

    fitted_type = FittedStill


def test_a_method_that_cannot_fold_in_names_those_that_can(table, newcomer):
    model = Still(rank=2, random_state=0).fit(table.keys, table.values)
    rule = "Still cannot fold in new rows: fit again with them, or use .*VAECP.*CPALS"
    with pytest.raises(UnsupportedError, match=rule):
        model.fold_in(*newcomer)


def test_a_row_of_exact_cp_data_is_recovered_from_as_many_entries_as_components():
    random = np.random.default_rng(3)
    rows = [1 + random.random((size, 2)) for size in (9, 8, 7)]
    full = np.einsum("ir,jr,kr->ijk", *rows)
    known = vaecp.Observations.from_array(np.where(np.arange(9)[:, None, None] < 8, full, np.nan))
    model = vaecp.CPALS(rank=2, ridge=1e-9, max_iter=3000, tol=1e-13, random_state=0)
    model.fit(known.indices, known.values)
    asked = np.argwhere(np.ones((8, 7)))
    keys = np.concatenate([np.full((len(asked), 1), 8), asked], axis=1)
    few = [0, 20, 41]
    grown = model.fold_in(keys[few], full[tuple(keys[few].T)])
    np.testing.assert_allclose(grown.predict(keys), full[8].ravel(), rtol=1e-3)


def test_centring_across_a_mode_serves_new_rows_of_it():
    random = np.random.default_rng(4)
    means = 10 * random.random((6, 5))
    rows = [random.normal(size=(size, 1)) for size in (8, 6, 5)]
    full = means + np.einsum("ir,jr,kr->ijk", *rows)
    keys = np.argwhere(np.ones(full.shape))
    old = keys[:, 0] < 7
    model = vaecp.CPALS(rank=1, center=0, random_state=0).fit(keys[old], full.ravel()[old])
    new, values = keys[~old], full.ravel()[~old]
    grown = model.fold_in(new[::3], values[::3])
    error = grown.predict(new) - values
    assert np.sqrt(np.mean(error**2)) < 0.2 * np.std(values - means.ravel())


def test_a_new_row_of_fbcp_has_the_posterior_of_bayesian_regression(fitted, newcomer):
    """Which it is where the other rows are known exactly."""
    keys, values = newcomer
    model = copy(fitted(MODELS["FBCP"]))
    exact = tuple(0 * each for each in model.fitted_.covariances[1:])
    held = replace(model.fitted_, covariances=(model.fitted_.covariances[0], *exact))
    model.fitted_ = held
    grown = model.fold_in(keys, values).fitted_
    at = model._indices_of(keys.assign(who="a"))
    design = held.means[1][at[:, 1]] * held.means[2][at[:, 2]]
    scaled = model.scaling_.apply(values, at)
    precision = np.linalg.inv(held.covariances[0][-1]) + design.T @ design / held.noise_scale**2
    wanted = np.linalg.solve(precision, design.T @ scaled / held.noise_scale**2)
    np.testing.assert_allclose(grown.means[0][2], wanted, rtol=1e-6)
    np.testing.assert_allclose(grown.covariances[0][2], np.linalg.inv(precision), rtol=1e-6)


def test_a_new_row_of_inftucker_is_conditioned_on_its_entries_as_one_of_the_fit_is(table, newcomer):
    """Whether the tensor is done on its grid or by its entries; and both agree."""
    keys, values = newcomer
    gaps = table.gaps[table.gaps["who"] == "c"]
    sizes = {len(table.values): "entries", 0: "grid"}
    for few, done in sizes.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("vaecp.models.inftucker.estimator.FEW_ENTRIES", few)
            patch.setattr("vaecp.models.inftucker.estimator.SPARSE", 0.0)
            model = clone(MODELS["InfTucker"]).fit(table.keys, table.values)
        assert bool(model.fitted_.grid_mean.size) == (done == "grid")
        grown = model.fold_in(keys, values)
        twin, known = (grown.predict(gaps.assign(who=who)) for who in ("bz", "c"))
        assert np.sqrt(np.mean((twin - known) ** 2)) < 0.15 * np.std(table.values)
