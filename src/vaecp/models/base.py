"""The shell that all methods share: labels in, predictions out, scikit-learn's protocol.

A method writes `_fit`: from scaled `Observations` to a `FitResult`, which holds a `Fitted`, an
immutable record of arrays that can predict at coordinates, and how the fit went. Everything else
is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from sklearn.utils.validation import validate_data as check_names_and_width

from vaecp.data.cells import row_counts
from vaecp.data.coding import default_mode_names
from vaecp.data.labels import UNSEEN, columns_of, lookup, of_another_type
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import OwnUnits, Scaling, Standardiser
from vaecp.data.stored import StoredEntries
from vaecp.errors import ObservationError, UnsupportedError
from vaecp.models.bounds import Bounds
from vaecp.models.checks import (
    check_at_least,
    check_enough,
    checked_predictions,
    checked_values,
    feature_names,
)
from vaecp.models.fitted import Diagnostics, FitResult, Fitted
from vaecp.models.growing import Growing
from vaecp.runtime.blas import one_thread
from vaecp.runtime.checkpoints import checkpoint
from vaecp.runtime.processes import same_everywhere
from vaecp.runtime.warning import warn_user


def _has_classes(model: Any) -> bool:
    """Whether the values of a fit are classes; scikit-learn asks by looking for a method."""
    fitted = getattr(model, "fitted_", None)
    return fitted is not None and fitted.classes is not None


class TensorEstimator(RegressorMixin, Growing, ABC):
    """Fills the gaps of a tensor from its observed entries.

    X has one column of labels per mode, of any hashable kind; y has the values. Values are
    scaled by the training entries, and predictions are in the units of y. A prediction far outside
    the observed values is drawn back to their mean (see `vaecp.models.bounds`).
    """

    fitted_type: ClassVar[type[Fitted]]
    uses_features: ClassVar[bool] = False
    """Whether features of rows, which `Observations` may carry, have a part in the fit."""
    fitted_: Any
    scaling_: Scaling
    bounds_: tuple[float, ...]
    diagnostics_: Diagnostics
    random_state: Any

    @abstractmethod
    def _fit(self, observations: Observations, random: np.random.Generator) -> FitResult:
        """Learn from observations whose values are scaled: mean 0, variance 1 by default.

        It sets no attributes: those of an earlier fit stay until a new one has succeeded.
        """

    def _scaling(self, observations: Observations) -> Scaling:
        """Return how values are scaled; methods that centre or scale otherwise override it."""
        return Standardiser.of(observations.values)

    def _on_device(self) -> AbstractContextManager:
        """Where predictions are computed; methods with a `device` override it."""
        return nullcontext()

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the entries with labels X (one column per mode) and values y."""
        return self._learn(*self._observations_of(X, y))

    def _observations_of(
        self, X: Any, y: Any, *, lower: Any = None, upper: Any = None
    ) -> tuple[Observations, list[str]]:
        columns = columns_of(X)
        check_enough(columns)
        names = feature_names(X)
        values = y if lower is not None or upper is not None else checked_values(y)
        check_consistent_length(columns[0], values)
        return Observations.from_keys(X, values, names, lower=lower, upper=upper), names

    def fit_tensor(self, observations: Observations | StoredEntries) -> Self:
        """Learn from `Observations`, or what `scan` returned: labels are encoded already."""
        if isinstance(observations, StoredEntries):
            return self._learn_stored(observations)
        return self._learn(observations, own_names(observations))

    def _learn_stored(self, entries: StoredEntries) -> Self:
        """Learn from entries on disk; methods that can do so override it."""
        raise UnsupportedError(
            f"{type(self).__name__} needs all entries in memory, and {entries.folder} holds them on "
            "disk: use VAECP, or read a part of them."
        )

    def _learn(self, observations: Observations, names: Sequence[str]) -> Self:
        if observations.limits is not None:
            warn_user(
                f"{type(self).__name__} takes {len(observations.limits):,} entries of which only a "
                "limit is known as unknown: use VAECP, which learns from them.",
                UserWarning,
            )
            observations = replace(observations, limits=None)
        if observations.weights is not None:
            warn_user(
                f"{type(self).__name__} takes all entries for alike, though some stand for many "
                "absent ones: use VAECP, which weighs them.",
                UserWarning,
            )
            observations = replace(observations, weights=None)
        scaling, scaled, random = self._prepared(observations)
        with one_thread():
            result = self._fit(scaled, random)
            return self._take_over(observations, scaling, result, names)

    def _prepared(
        self, observations: Observations
    ) -> tuple[Scaling, Observations, np.random.Generator]:
        scaling = self._scaling(observations)
        return scaling, observations.scaled(scaling), self._random()

    def _random(self) -> np.random.Generator:
        seed = int(check_random_state(self.random_state).randint(2**31))
        kept = checkpoint()
        seed = seed if kept is None else abs(kept.once("seed", seed))
        same_everywhere({"seed": str(seed)})
        return np.random.default_rng(seed)

    def _take_over(
        self,
        observations: Observations,
        scaling: Scaling,
        result: FitResult,
        names: Sequence[str],
    ) -> Self:
        """Take over what was learned, all at once: a fit that fails leaves an earlier one."""
        fitted = result.fitted
        for of_earlier_fit in ("feature_names_in_", "folded_rows_", "stream_values_"):
            vars(self).pop(of_earlier_fit, None)
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = observations.n_modes
        self.mode_names_ = observations.mode_names
        self.labels_ = observations.labels
        self.value_name_ = observations.value_name
        counts = row_counts(observations.known, observations.shape)
        self.observed_rows_ = tuple(count > 0 for count in counts)
        self.scaling_ = scaling
        scaled = observations.scaled(scaling)
        self.bounds_ = tuple(Bounds.of(scaled.values, scaled.limits, fitted.reach))
        self.diagnostics_ = result.diagnostics
        self.fitted_ = fitted
        if result.diagnostics.warning:
            warn_user(f"{type(self).__name__} {result.diagnostics.warning}", ConvergenceWarning)
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
        known = self._known(indices)
        with one_thread(), self._on_device():
            found = self.fitted_.predict(known)
        prediction = Bounds(*self.bounds_).bounded(found).in_units_of(self.scaling_, known)
        for numbers in (prediction.mean, prediction.noise_std, prediction.ignorance_std):
            checked_predictions(numbers)
        return prediction

    def predictive(self, X: Any) -> Prediction:
        """Return the whole predictive distribution: mean, noise, ignorance, intervals."""
        asked, indices = self._asked(X)
        return asked.predict_at(indices)

    def predict(self, X: Any, return_std: bool = False, kind: str = "mean") -> Any:
        """Return the mean of every entry in X, and with `return_std` its standard deviation.

        `kind` asks for another point than the mean: "median", "mode", or "probabilities" of classes.
        """
        check_is_fitted(self)
        if return_std or kind != "mean" or isinstance(self.scaling_, OwnUnits):
            prediction = self.predictive(X)
            point = prediction.point(kind)
            return (point, prediction.std) if return_std else point
        asked, indices = self._asked(X)
        with one_thread(), self._on_device():
            means = asked.fitted_.predict_mean(indices)
        bounded = Bounds(*self.bounds_).bounded_means(means)
        return checked_predictions(asked.scaling_.invert(bounded, indices))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of the central interval of this coverage."""
        return self.predictive(X).interval(coverage)

    def quantile(self, X: Any, q: float) -> np.ndarray:
        """Return the value below which each entry in X lies with probability q."""
        if not 0 < q < 1:
            raise ValueError(f"q is {q}: use a number between 0 and 1, such as 0.5.")
        return self.predictive(X).quantile(q)

    def cdf(self, X: Any, y: Any) -> np.ndarray:
        """Return the probability that each entry in X is at most its y."""
        return self.predictive(X).cdf(checked_values(y))

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Return the log of the predictive density (or probability) of y at each entry in X."""
        return self.predictive(X).log_density(checked_values(y))

    @available_if(_has_classes)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, (entries, classes), where values are classes."""
        return self.predictive(X).probabilities()

    def sample(self, X: Any, n: int = 100, random_state: int | None = None) -> np.ndarray:
        """Draw n values for every entry in X: an (n, entries) array."""
        asked, indices = self._asked(X)
        check_at_least("n", n, 1)
        random = np.random.default_rng(random_state)
        with one_thread(), self._on_device():
            draws = asked.fitted_.sample(indices, n, random)
            found = asked.fitted_.predict(indices)
        bounds = Bounds(*self.bounds_)
        outside = bounds.outside(found)
        if outside.any():
            draws[:, outside] = bounds.bounded(found).sample(n, random)[:, outside]
        return checked_predictions(asked.scaling_.invert(draws, indices))

    @property
    def n_iter_(self) -> int:
        """The number of steps of the fit."""
        check_is_fitted(self)
        return self.diagnostics_.n_iter

    @property
    def converged_(self) -> bool | None:
        """Whether the fit ended because it changed no more; None where nothing tells."""
        check_is_fitted(self)
        return self.diagnostics_.converged

    @property
    def classes_(self) -> np.ndarray:
        """The values that there can be, where these are few."""
        check_is_fitted(self)
        classes = self.fitted_.classes
        if classes is None:
            raise AttributeError("classes_: the values of this fit are no classes")
        return classes

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

    def _asked(self, X: Any) -> tuple[Self, np.ndarray]:
        """Return the model that knows the labels in X as far as can be, and their coordinates."""
        indices = self._indices_of(X)
        if (indices >= 0).all():
            return self, indices
        columns = columns_of(X)
        self._warn_of_other_types(columns, indices)
        asked = self.reading_between(columns)
        return (self, indices) if asked is self else (asked, asked._indices_of(X))

    def _warn_of_other_types(self, columns: Sequence[np.ndarray], indices: np.ndarray) -> None:
        """Say where labels are new because they are texts and those learned numbers, or so."""
        for mode, column in enumerate(columns):
            types = of_another_type(column, self.labels_[mode])
            if types is not None and (indices[:, mode] < 0).all():
                warn_user(
                    f"no label asked for of mode {self.mode_names_[mode]!r} is known: these are {types[0]}, and "
                    f"those learned {types[1]}. They are taken for new ones: give {types[1]}.",
                    UserWarning,
                )

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
        n_modes = len(self.observed_rows_)
        if indices.shape[1:] != (n_modes,) or indices.dtype.kind not in "iu":
            raise ObservationError(
                f"indices has shape {indices.shape} of {indices.dtype}: give integers in {n_modes} "
                "columns, one per mode."
            )
        if indices.dtype.kind == "u":  # which has no number for a label not seen
            indices = np.minimum(indices.astype(np.uint64), np.uint64(2**63 - 1)).astype(np.int64)
        for mode, observed in enumerate(self.observed_rows_):
            outside = (indices[:, mode] < UNSEEN) | (indices[:, mode] >= len(observed))
            if outside.any():
                row = int(np.argmax(outside))
                raise ObservationError(
                    f"indices[{row}, {mode}] is {indices[row, mode]}, but mode {mode} has size "
                    f"{len(observed)}: use 0 to {len(observed) - 1}, or -1 for an unseen label."
                )
            indices[~self._known_rows(mode)[indices[:, mode]], mode] = UNSEEN
        return indices


def own_names(observations: Observations | StoredEntries) -> tuple[str, ...]:
    """Return the names of the modes, if they were given."""
    names = observations.mode_names
    return () if names == default_mode_names(observations.n_modes) else names
