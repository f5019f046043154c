"""The shell that all methods share: labels in, predictions out, scikit-learn's protocol.

A method writes `_fit_standardised`: from standardised `Observations` to a `Fitted`, an
immutable record of arrays that can predict at coordinates. Everything else is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
from sklearn.utils.validation import validate_data as check_names_and_width

from vaecp.errors import ObservationError
from vaecp.labels import UNSEEN, columns_of, lookup
from vaecp.observations import Observations, Standardiser, default_mode_names
from vaecp.prediction import Prediction


@dataclass(frozen=True, eq=False)
class Fitted(ABC):
    """What a method learned, in standardised units.

    Fields are NumPy arrays, tuples of them, dictionaries of them, or plain numbers and
    texts, so that any fitted model can be written to a file without code. Tables of rows
    have one row more than the mode has labels: the last stands for an unseen label, so
    that the index -1 finds it.
    """

    @abstractmethod
    def predict(self, indices: np.ndarray) -> Prediction:
        """Predict entries at (n, D) coordinates; -1 is a label not seen in training."""

    @property
    @abstractmethod
    def factors(self) -> tuple[np.ndarray, ...]:
        """Return the learned rows per mode, without the row for unseen labels."""

    def predict_mean(self, indices: np.ndarray) -> np.ndarray:
        """Return the means of `predict`, to the bit; override where they are cheaper alone."""
        return self.predict(indices).mean

    def knows_empty_rows(self, mode: int) -> bool:
        """Whether rows of a mode are known from others, though no entry of theirs was observed."""
        return False

    def sample(self, indices: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw n values of each entry; methods that know how entries vary together override."""
        return self.predict(indices).sample(n, random)


class TensorEstimator(RegressorMixin, BaseEstimator, ABC):
    """Fills the gaps of a tensor from its observed entries.

    X has one column of labels per mode, of any hashable kind; y has the values. Values are
    standardised by the training entries, and predictions are in the units of y.
    """

    fitted_type: ClassVar[type[Fitted]]
    fitted_: Any
    random_state: Any

    @abstractmethod
    def _fit_standardised(self, observations: Observations, random: np.random.Generator) -> Fitted:
        """Learn from observations whose values have mean 0 and variance 1."""

    def _on_device(self) -> AbstractContextManager:
        """Where predictions are computed; methods with a `device` override it."""
        return nullcontext()

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the entries with labels X (one column per mode) and values y."""
        columns = columns_of(X)
        _check_enough(columns)
        check_names_and_width(self, X, skip_check_array=True)
        values = _checked_values(y)
        check_consistent_length(columns[0], values)
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        return self._learn(Observations.from_keys(X, values, names))

    def fit_tensor(self, observations: Observations) -> Self:
        """Learn from `Observations`, whose labels are encoded already."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if observations.mode_names != default_mode_names(observations.n_modes):
            self.feature_names_in_ = np.array(observations.mode_names, dtype=object)
        return self._learn(observations)

    def _learn(self, observations: Observations) -> Self:
        standardiser, standardised, random = self._prepared(observations)
        return self._take_over(
            observations, standardiser, self._fit_standardised(standardised, random)
        )

    def _prepared(
        self, observations: Observations
    ) -> tuple[Standardiser, Observations, np.random.Generator]:
        standardiser = Standardiser.of(observations.values)
        standardised = observations.with_values(standardiser.apply(observations.values))
        seed = check_random_state(self.random_state).randint(2**31)
        return standardiser, standardised, np.random.default_rng(seed)

    def _take_over(
        self, observations: Observations, standardiser: Standardiser, fitted: Fitted
    ) -> Self:
        """Take over what was learned, all at once: a fit that fails leaves an earlier one."""
        self.n_features_in_ = observations.n_modes
        self.mode_names_ = observations.mode_names
        self.labels_ = observations.labels
        self.value_name_ = observations.value_name
        self.observed_rows_ = tuple(
            (np.bincount(column, minlength=size) > 0) | fitted.knows_empty_rows(mode)
            for mode, (column, size) in enumerate(
                zip(observations.indices.T, observations.shape, strict=True)
            )
        )
        self.standardiser_ = standardiser
        self.fitted_ = fitted
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # scikit-learn's own tables have labels that occur once each: there is nothing to learn.
        tags.regressor_tags.poor_score = True
        return tags

    # ---- predictions -------------------------------------------------------------------

    def predict_at(self, indices: np.ndarray) -> Prediction:
        """Predict entries by coordinates; -1 stands for a label not seen in training."""
        check_is_fitted(self)
        with self._on_device():
            return self.fitted_.predict(self._known(indices)).in_units_of(self.standardiser_)

    def predictive(self, X: Any) -> Prediction:
        """Return the whole predictive distribution: mean, noise, ignorance, intervals."""
        return self.predict_at(self._indices_of(X))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of every entry in X, and with `return_std` its standard deviation."""
        if return_std:
            prediction = self.predictive(X)
            return prediction.mean, prediction.std
        indices = self._indices_of(X)
        with self._on_device():
            return self.standardiser_.invert(self.fitted_.predict_mean(indices))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of the central interval of this coverage."""
        return self.predictive(X).interval(coverage)

    def sample(self, X: Any, n: int = 100, random_state: int | None = None) -> np.ndarray:
        """Draw n values for every entry in X: an (n, entries) array."""
        indices = self._indices_of(X)
        check_at_least("n", n, 1)
        with self._on_device():
            draws = self.fitted_.sample(indices, n, np.random.default_rng(random_state))
        return self.standardiser_.invert(draws)

    @property
    def factors_(self) -> tuple[np.ndarray, ...]:
        """The learned rows of each mode, in the order of `labels_`."""
        check_is_fitted(self)
        return self.fitted_.factors

    @property
    def shape_(self) -> tuple[int, ...]:
        """The size of each mode."""
        check_is_fitted(self)
        return tuple(len(labels) for labels in self.labels_)

    def _indices_of(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        columns = columns_of(X)
        check_names_and_width(self, X, reset=False, skip_check_array=True)
        indices = [
            lookup(column, labels, name)
            for column, labels, name in zip(columns, self.labels_, self.mode_names_, strict=True)
        ]
        return self._known(np.stack(indices, axis=1))

    def _known(self, indices: Any) -> np.ndarray:
        """Treat a row without any observed entry as what it is, a label not seen."""
        indices = np.array(indices)
        for mode, observed in enumerate(self.observed_rows_):
            outside = (indices[:, mode] < UNSEEN) | (indices[:, mode] >= len(observed))
            if outside.any():
                row = int(np.argmax(outside))
                raise ObservationError(
                    f"indices[{row}, {mode}] is {indices[row, mode]}, but mode {mode} has size "
                    f"{len(observed)}: use 0 to {len(observed) - 1}, or -1 for an unseen label."
                )
            indices[~observed[indices[:, mode]], mode] = UNSEEN
        return indices


def check_at_least(name: str, value: Any, least: int) -> None:
    """Refuse a count that is no integer or too small."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}: use an integer from {least}.")


def _check_enough(columns: list[np.ndarray]) -> None:
    n_entries = len(columns[0]) if columns else 0
    if len(columns) < 2:
        raise ObservationError(
            f"X has {len(columns)} feature(s) (shape=({n_entries}, {len(columns)})) while a minimum "
            f"of 2 is required, n_features = {len(columns)}: give one column of labels per mode."
        )
    if not n_entries:
        raise ObservationError(
            f"Found array with 0 sample(s) (shape=(0, {len(columns)})) while a minimum of 1 is "
            "required: give at least one observed entry."
        )


def _checked_values(y: Any) -> np.ndarray:
    """Return y as finite float64, with scikit-learn's own words where it has them."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None.")
    values = column_or_1d(y, warn=True)
    if np.iscomplexobj(values):
        raise ObservationError("Complex data not supported: y is complex.")
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ObservationError(
            f"Input y contains NaN or infinity: y[{row}] is {values[row]}; leave unknown entries "
            "out of X and y."
        )
    return values
