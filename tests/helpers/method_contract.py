"""What every method promises, whatever its model.

A test class that inherits from `MethodContract` and says what `model` is, as a parameter or as a
fixture, has a method keep all of it.
"""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import vaecp
from vaecp.models.registry import Method

SMALL = {
    "VAECP": {"rank": 3, "hidden": 8, "max_epochs": 400},
    "FBCP": {"rank": 3},
    "NCP": {"center": "values"},
}
"""Settings that suit the table below, part of which is negative, better than a rank of 2 alone."""

RANDOM_ORDER = {"VAECP", "InfTucker"}
"""Methods whose result depends on the order of the entries."""


def small_model(method: Method):
    """Return a model of this method that fits the table below in a moment."""
    rank = {"rank": 2} if method.takes_rank else {}
    return method.build(**{**method.quick, **rank, **SMALL.get(method.name, {})}, random_state=0)


def has_rank(model) -> bool:
    return "rank" in model.get_params()


class Table:
    """A rank-2 tensor of 7 x 6 x 5 with noise, 70 % observed, under labels of three kinds."""

    def __init__(self) -> None:
        random = np.random.default_rng(5)
        rows = [1 + random.normal(size=(size, 2)) for size in (7, 6, 5)]
        full = np.einsum("ir,jr,kr->ijk", *rows) + 0.1 * random.normal(size=(7, 6, 5))
        observed = random.random(full.shape) < 0.7
        labels = (np.array(list("abcdefg")), np.arange(6) * 10, np.arange(5) / 4)

        def keys(where: np.ndarray) -> pd.DataFrame:
            columns = zip(("who", "dose", "time"), labels, np.nonzero(where), strict=True)
            return pd.DataFrame({name: label[index] for name, label, index in columns})

        self.keys, self.values = keys(observed), full[observed]
        self.gaps, self.truth = keys(~observed), full[~observed]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class MethodContract:
    """One test per promise."""

    @pytest.mark.slow
    def test_scikit_learn_accepts_the_estimator(self, model):
        check_estimator(model, on_skip=None)

    def test_fit_repeats_bit_for_bit_and_leaves_its_input_alone(self, model, table):
        keys, values = table.keys.copy(), table.values.copy()
        first, second = (
            clone(model).fit(table.keys, table.values).predict(table.keys) for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)
        pd.testing.assert_frame_equal(table.keys, keys)
        np.testing.assert_array_equal(table.values, values)

    def test_gaps_are_filled_better_than_by_the_mean(self, model, table, fitted):
        error = fitted(model).predict(table.gaps) - table.truth
        assert np.sqrt(np.mean(error**2)) < 0.5 * np.std(table.truth)

    def test_a_batch_is_predicted_as_its_entries_one_by_one(self, model, table, fitted):
        together = np.stack(fitted(model).predict(table.gaps[:9], return_std=True))
        apart = [
            fitted(model).predict(table.gaps[row : row + 1], return_std=True) for row in range(9)
        ]
        np.testing.assert_allclose(together, np.stack(apart)[:, :, 0].T, rtol=1e-5)

    def test_predicting_nothing_gives_nothing(self, model, table, fitted):
        assert fitted(model).predict(table.gaps[:0]).shape == (0,)

    @pytest.mark.parametrize("column", ["who", "dose", "time"])
    def test_unseen_labels_are_predicted_with_wider_or_equal_std(
        self, model, table, fitted, column
    ):
        label = "zoe" if column == "who" else -1
        unseen = table.gaps.assign(**{column: label})
        mean, wide = fitted(model).predict(unseen, return_std=True)
        _, narrow = fitted(model).predict(table.gaps, return_std=True)
        assert np.isfinite(mean).all()
        assert wide.mean() >= narrow.mean()

    def test_an_entry_with_no_known_label_has_the_spread_of_the_values_at_most_tenfold(
        self, model, table, fitted
    ):
        nowhere = pd.DataFrame({"who": ["zoe"], "dose": [-1], "time": [-1.0]})
        _, std = fitted(model).predict(nowhere, return_std=True)
        _, narrow = fitted(model).predict(table.gaps, return_std=True)
        assert np.median(narrow) <= std[0] <= 10 * np.std(table.values)

    def test_the_interval_holds_about_its_share_of_the_values_in_the_gaps(
        self, model, table, fitted
    ):
        low, high = fitted(model).predict_interval(table.gaps, coverage=0.9)
        assert np.mean((low <= table.truth) & (table.truth <= high)) > 0.6

    def test_the_order_of_the_entries_does_not_matter(self, model, table, fitted):
        if type(model).__name__ in RANDOM_ORDER:
            pytest.skip("this method visits the entries in random order")
        order = np.random.default_rng(0).permutation(len(table.values))
        shuffled = clone(model).fit(table.keys.iloc[order], table.values[order])
        np.testing.assert_allclose(
            shuffled.predict(table.gaps), fitted(model).predict(table.gaps), rtol=1e-4, atol=1e-4
        )

    def test_predictions_scale_and_shift_with_the_values(self, model, table, fitted):
        # A sum of products of its own has no offset: it scales, but does not shift.
        shift = 0 if getattr(model, "center", "values") == "none" else 5
        moved = clone(model).fit(table.keys, shift + 3 * table.values)
        mean, std = fitted(model).predict(table.gaps, return_std=True)
        moved_mean, moved_std = moved.predict(table.gaps, return_std=True)
        np.testing.assert_allclose(moved_mean, shift + 3 * mean, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(moved_std, 3 * std, rtol=1e-4, atol=1e-4)

    def test_a_pickled_model_predicts_the_same_bits(self, model, table, fitted):
        copy = pickle.loads(pickle.dumps(fitted(model)))
        np.testing.assert_array_equal(copy.predict(table.gaps), fitted(model).predict(table.gaps))

    def test_a_saved_model_predicts_the_same_bits_and_keeps_how_the_fit_went(
        self, model, table, fitted, tmp_path
    ):
        original = fitted(model)
        copy = vaecp.load(vaecp.save(original, tmp_path / "model.vaecp"))
        for one, other in zip(
            copy.predict(table.gaps, return_std=True),
            original.predict(table.gaps, return_std=True),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
        assert {name for name in vars(copy) if name.endswith("_")} == {
            name for name in vars(original) if name.endswith("_")
        }

    def test_masked_gaps_of_an_array_are_unknown_whatever_they_hold(self, model):
        random = np.random.default_rng(1)
        array = np.outer(1 + random.random(6), 1 + random.random(5))
        mask = random.random(array.shape) < 0.3
        poisoned = np.ma.masked_array(np.where(mask, 1e6, array), mask)
        with_nan = np.where(mask, np.nan, array)
        everywhere = np.argwhere(np.ones_like(mask))
        first, second = (
            clone(model).fit_tensor(vaecp.Observations.from_array(a)).predict_at(everywhere).mean
            for a in (poisoned, with_nan)
        )
        np.testing.assert_array_equal(first, second)

    def test_rows_without_entries_are_predicted_as_unseen_labels(self, model):
        array = np.outer(1 + np.arange(5.0), 1 + np.arange(6.0) ** 0.5)
        array[2] = np.nan
        fitted = clone(model).fit_tensor(vaecp.Observations.from_array(array))
        empty, unseen = fitted.predict_at([[2, 1]]), fitted.predict_at([[-1, 1]])
        np.testing.assert_allclose(empty.mean, unseen.mean)
        np.testing.assert_allclose(empty.std, unseen.std)

    @pytest.mark.parametrize(
        ("keys", "values"),
        [
            ([("a", "b")], [3.0]),
            ([("a", "b"), ("a", "c")], [3.0, 3.0]),
            ([("a", "b"), ("a", "b")], [1.0, 2.0]),
            ([(0, 0, 0), (1, 0, 0)], [1.0, 2.0]),
            ([(0, 1), (1, 0), (2, 2)], [0.0, 0.0, 1e-9]),
        ],
        ids=["one entry", "constant values", "repeated entry", "modes of size 1", "diagonal"],
    )
    def test_tiny_inputs_give_finite_predictions(self, model, keys, values):
        fitted = clone(model).fit(keys, values)
        mean, std = fitted.predict(keys, return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (np.abs(mean) <= 2 * np.abs(values).max() + 1e-12).all()

    def test_cross_validation_and_grid_search_work(self, model, table):
        folds = KFold(4, shuffle=True, random_state=0)  # unshuffled folds hold out whole rows
        scores = cross_val_score(model, table.keys, table.values, cv=folds)
        grid = {"rank": [2, 3]} if has_rank(model) else {"random_state": [0, 1]}
        search = GridSearchCV(model, grid, cv=folds).fit(table.keys, table.values)
        assert scores.mean() > 0.5
        assert search.best_score_ > 0.5

    def test_a_rank_of_zero_is_refused(self, model, table):
        if not has_rank(model):
            pytest.skip("this method has no rank")
        with pytest.raises(ValueError, match="rank is 0: use an integer from 1"):
            clone(model).set_params(rank=0).fit(table.keys, table.values)
