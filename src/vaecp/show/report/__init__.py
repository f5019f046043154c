"""One page that shows a fitted model: how good it is, what it learned, which values to check."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vaecp.data.checks import check_coverage
from vaecp.data.labels import UNSEEN, lookup
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.completion import Completion, ListedCompletion
from vaecp.outcomes.diagnostics import Diagnosis
from vaecp.outcomes.holdout import MIN_ENTRIES, HeldOutCheck, check_on_held_out
from vaecp.runtime.files import check_target, write_text
from vaecp.show.report.contents import Reported, contents
from vaecp.show.report.grid import predict_grid
from vaecp.show.report.page import check_installed, render

__all__ = ["check_installed", "model_report"]


def model_report(
    model: TensorEstimator,
    path: str | os.PathLike,
    observations: Any = None,
    *,
    check: bool | HeldOutCheck = True,
    coverage: float = 0.9,
    title: str | None = None,
    diagnosis: Diagnosis | None = None,
    source: str | None = None,
) -> Path:
    """Write one self-contained HTML page about a fitted model, and return its path.

    The page opens without a network. It shows what was filled in a browser of slices, how
    good the fit is on hidden entries, the components, and which entries deserve a look. A large
    tensor is thinned out to some rows of every mode, and the page says so.

    Parameters
    ----------
    model : a fitted model of any method; it is not altered.
    path : the file to write.
    observations : the data that the model was fitted to (`Observations`, an array with NaN, a
        masked array or an `xarray.DataArray`), or a `Completion` of them, which is not predicted
        again. Without them the page shows what the model alone can tell.
    check : whether to hide a tenth of the entries and fit a copy of the model to the rest, which
        takes about as long as the fit did; or a check that was made before.
    coverage : of the intervals that are shown.
    title : the page's heading.
    diagnosis : what `vaecp.diagnostics.diagnose` said of the same data, to be shown too.
    source : the Python that reads the data, to be shown.
    """
    check_is_fitted(model)
    check_coverage(coverage)
    check_installed()
    target = check_target(Path(path))
    filled = observations if isinstance(observations, Completion | ListedCompletion) else None
    given = observations if filled is None else filled.observations
    data = None if given is None else _aligned(model, given)
    found = _checked(model, data, check)
    at = None
    # A completion of equal values says that their spread is not known; the page has other words.
    if filled is not None and filled.model is model and model.scaling_.scale:
        at = filled.at
    grid = predict_grid(model, data, at)
    subject = Reported(model, data, grid, found, coverage, diagnosis, source)
    page = render(contents(subject, title))
    write_text(target, page)
    return Path(path)


def _checked(
    model: TensorEstimator, data: Observations | None, check: bool | HeldOutCheck
) -> HeldOutCheck | None:
    if isinstance(check, HeldOutCheck):
        return check
    if data is None or not check or len(data) < MIN_ENTRIES or not model.scaling_.scale:
        return None
    return check_on_held_out(model, data)


def _aligned(model: TensorEstimator, given: Any) -> Observations:
    """Return the data in the coordinates of the model, or say which label it does not know."""
    data = given if isinstance(given, Observations) else Observations.from_array(given)
    if data.n_modes != len(model.shape_):
        raise ObservationError(
            f"the data have {data.n_modes} modes, but the model was fitted to {len(model.shape_)} "
            f"({', '.join(model.mode_names_)}): give the data that it was fitted to."
        )
    columns = []
    modes = zip(data.labels, model.labels_, model.mode_names_, strict=True)
    for mode, (labels, known, name) in enumerate(modes):
        places = lookup(labels, known, name)
        column = places[data.indices[:, mode]]
        if (column == UNSEEN).any():
            label = labels[data.indices[int(np.argmax(column == UNSEEN)), mode]]
            raise ObservationError(
                f"the data have the label {label!s} in mode {name!r}, which the model does not "
                "know: give the data that it was fitted to."
            )
        columns.append(column)
    return replace(
        data,
        indices=np.stack(columns, axis=1),
        shape=model.shape_,
        labels=model.labels_,
        mode_names=model.mode_names_,
        value_name=model.value_name_,
        features=model.fitted_.known_features,
    )
