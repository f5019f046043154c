"""Rows that arrive after a fit: folded in from their entries, or read off their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from sklearn.utils.validation import validate_data as check_names_and_width

from vaecp.data.labels import UNSEEN, columns_of, joined, labels_between
from vaecp.data.standardising import Scaling
from vaecp.errors import ObservationError, UnsupportedError
from vaecp.models.bounds import Bounds
from vaecp.models.checks import check_enough, checked_values
from vaecp.models.fitted import Fitted
from vaecp.models.joining import Joining
from vaecp.runtime.blas import one_thread


class Growing(BaseEstimator):
    """The part of an estimator that takes in further rows."""

    fitted_type: ClassVar[type[Fitted]]
    fitted_: Any
    scaling_: Scaling
    bounds_: tuple[float, ...]
    labels_: tuple[np.ndarray, ...]
    mode_names_: tuple[str, ...]
    observed_rows_: tuple[np.ndarray, ...]
    """Per mode, which rows have entries."""
    folded_rows_: tuple[np.ndarray, ...]
    """Per mode, which rows were folded in; there is none right after a fit."""

    def _on_device(self) -> AbstractContextManager:
        """Where predictions are computed."""
        raise NotImplementedError

    def fold_in(self, X: Any, y: Any) -> Self:
        """Return a model that also knows the new labels in X; this one stays as it is.

        The rows of new labels are inferred from their entries, with all that was learned held:
        the cost is that of the new entries, and the training entries are not needed. Entries
        whose labels are all known say nothing about new rows, and are left out.

        Examples
        --------
        >>> from vaecp import CPALS
        >>> keys = [(i, j) for i in "abcdef" for j in range(5)]
        >>> values = [(2 + "abcdef".index(i)) * (1 + j) for i, j in keys]
        >>> model = CPALS(rank=1, random_state=0).fit(keys, values)
        >>> grown = model.fold_in([("new", 0), ("new", 1)], [3.0, 6.0])
        >>> round(float(grown.predict([("new", 4)])[0]), 1)
        15.0
        """
        joining, scaling = self._joining(X, y)
        kept = joining.about_new_rows
        joining = replace(joining, indices=joining.indices[kept], values=joining.values[kept])
        with one_thread(), self._on_device():
            model = self._grown(joining, scaling, self.fitted_.fold_in(joining))
        before = getattr(model, "folded_rows_", tuple(np.zeros(n, bool) for n in joining.shape))
        model.folded_rows_ = tuple(
            rows | learned & observed
            for rows, learned, observed in zip(
                before, joining.learned, model.observed_rows_, strict=True
            )
        )
        return model

    def _joining(self, X: Any, y: Any) -> tuple[Joining, Scaling]:
        """Find the rows of entries, old and new."""
        check_is_fitted(self)
        if self.fitted_type.fold_in is Fitted.fold_in:
            raise _cannot_fold_in(type(self).__name__)
        columns = columns_of(X)
        check_names_and_width(self, X, reset=False, skip_check_array=True)
        check_enough(columns)
        values = checked_values(y)
        check_consistent_length(columns[0], values)
        joining, codes = self._rows_joining(columns)
        indices = np.stack(codes, axis=1)
        scaling = self.scaling_.grown(joining.sources)
        scaled = scaling.apply(values, indices)
        self._check_kind(values, scaled)
        return replace(joining, indices=indices, values=scaled), scaling

    def _rows_joining(self, columns: Sequence[np.ndarray]) -> tuple[Joining, Sequence[np.ndarray]]:
        """Make room for the labels in columns; return their codes, too."""
        codes, labels, places = zip(
            *map(joined, self.labels_, columns, self.mode_names_), strict=True
        )
        sources = tuple(np.full(len(each), UNSEEN) for each in labels)
        learned = tuple(np.ones(len(each), dtype=bool) for each in labels)
        for mode, place in enumerate(places):
            known = self._known_rows(mode)
            sources[mode][place] = np.where(known, np.arange(len(place)), UNSEEN)
            learned[mode][place] = ~self.observed_rows_[mode]
        none = np.empty((0, len(labels)), dtype=np.int32), np.empty(0)
        return Joining(*none, sources, places, labels, learned), codes

    def reading_between(self, columns: Sequence[np.ndarray]) -> Self:
        """Return a model that has rows for labels that lie between known ones of smooth modes.

        These rows are read off their neighbours, as a wavelength between two others is; where there
        is no such label, this is the model itself.
        """
        fresh = [
            labels_between(labels, column) if self.fitted_.reads_between(mode) else column[:0]
            for mode, (labels, column) in enumerate(zip(self.labels_, columns, strict=True))
        ]
        if not any(map(len, fresh)):
            return self
        joining, _ = self._rows_joining(fresh)
        return self._grown(
            joining, self.scaling_.grown(joining.sources), self.fitted_.with_rows_between(joining)
        )

    def _check_kind(self, values: np.ndarray, scaled: np.ndarray) -> None:
        classes = self.fitted_.classes
        wrong = ~np.isfinite(scaled) if classes is None else ~np.isin(values, classes)
        if wrong.any():
            row = int(np.argmax(wrong))
            rule = "the values that the model was fitted to"
            if classes is not None:
                rule = f"{rule}: {', '.join(f'{each:g}' for each in classes)}"
            raise ObservationError(f"y[{row}] is {values[row]:g}, which is none of {rule}.")

    def _grown(self, joining: Joining, scaling: Scaling, fitted: Fitted) -> Self:
        """Return a copy of the model that knows the rows that joined."""
        model = copy(self)
        model.labels_ = joining.labels
        model.scaling_ = scaling
        model.fitted_ = fitted
        model.observed_rows_ = tuple(
            ~learned | (np.bincount(column, minlength=len(learned)) > 0)
            for learned, column in zip(joining.learned, joining.indices.T, strict=True)
        )
        if len(joining.values):
            model.bounds_ = tuple(Bounds(*self.bounds_).widened(joining.values, fitted.reach))
        folded = getattr(self, "folded_rows_", None)
        if folded is not None:
            modes = zip(folded, joining.sources, strict=True)
            model.folded_rows_ = tuple(np.append(rows, False)[source] for rows, source in modes)
        return model

    def _known_rows(self, mode: int) -> np.ndarray:
        """Rows with entries, and those that the method knows without any."""
        return self.observed_rows_[mode] | self.fitted_.knows_empty_rows(mode)


def _cannot_fold_in(name: str) -> UnsupportedError:
    from vaecp.models.registry import methods

    built = {other: method.load() for other, method in methods().items()}
    able = [
        other
        for other, kind in built.items()
        if isinstance(kind, type) and kind.fitted_type.fold_in is not Fitted.fold_in
    ]
    return UnsupportedError(
        f"{name} cannot fold in new rows: fit again with them, or use {', '.join(able)}."
    )
