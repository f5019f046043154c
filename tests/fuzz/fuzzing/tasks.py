"""What a child is asked to do: each reads one file or folder, and looks at what came of it."""

import pickle
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vaecp.errors import VaecpError

READINGS: dict[str, dict[str, Any]] = {
    "zeros": {"absent": "zero", "duplicates": "mean", "missing": ("-999", "2")},
    "wide": {"wide": "minute", "duplicates": "keep"},
    "limits": {"lower": "a", "upper": "y", "saturated_at": 1.0, "header": True},
    "signs": {"separator": ";", "decimal": ",", "thousands": ".", "encoding": "cp1252"},
}
"""Options of `read`; some mean nothing for some kinds of files, which is to be said then."""


def read_data(path: Path, **options: Any) -> None:
    from vaecp.formats import read

    observations = read(path, **options)
    assert np.isfinite(observations.values).all()
    assert len(observations) > 0
    assert observations.indices.min() >= 0
    assert (observations.indices.max(axis=0) < observations.shape).all()


def read_queries(path: Path) -> None:
    from vaecp.formats import read_table

    read_table(path)


def read_features(path: Path) -> None:
    """Read what a file tells of the rows of a mode."""
    from fuzzing.data_files import observations
    from vaecp.formats.features import with_listed_features

    found = with_listed_features(observations(labelled=True), {"sample": path}, add_rows=True)
    for features, size in zip(found.features, found.shape, strict=True):
        assert features is None or len(features) == size
        assert features is None or not np.isinf(features).any()


@cache
def _asked() -> Any:
    """A model that tables are asked of; it is not changed."""
    import vaecp
    from fuzzing.data_files import observations

    model = vaecp.VAECP(rank=1, n_members=1, effort="quick", max_epochs=2, random_state=0)
    return model.fit_tensor(observations(labelled=True))


def answer_table(path: Path) -> None:
    from vaecp.app.queries import answer
    from vaecp.formats import read_table

    found = answer(_asked(), read_table(path), str(path))
    assert all(np.isfinite(column).all() for column in found.columns.values())


def learn_table(path: Path) -> None:
    """Fold in further entries, and go on with them."""
    from copy import deepcopy

    from vaecp.app.queries import further_entries, naming

    entries = further_entries(_asked(), path, {})
    with naming(path):
        grown = _asked().fold_in(entries.labels, entries.values)
        updated = deepcopy(_asked()).partial_fit(entries.labels, entries.values)
    assert np.isfinite(grown.predict_at(np.zeros((1, 3), dtype=int)).std).all()
    assert np.isfinite(updated.predict_at(np.zeros((1, 3), dtype=int)).std).all()


def use_model(path: Path) -> None:
    _used(path)


def _used(path: Path) -> Any:
    from vaecp.outcomes.store import load

    model = load(path)
    cells = np.zeros((4, model.n_features_in_), dtype=int)
    cells[1], cells[2], cells[3, 0] = -1, np.array(model.shape_) - 1, -1
    prediction = model.predict_at(cells)
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.std).all()
    labels = {n: label[:3] for n, label in zip(model.mode_names_, model.labels_, strict=True)}
    keys = pd.DataFrame({name: label[:1] for name, label in labels.items()})
    assert model.sample(keys, 3, random_state=0).shape == (3, 1)
    return model


def grow_model(path: Path) -> None:
    """Let a loaded model learn, and save it again, as `vaecp update` and --given do."""
    from vaecp.outcomes.store import load, save

    model = _used(path)
    keys = pd.DataFrame(
        {
            n: np.resize(label[:2], 3)
            for n, label in zip(model.mode_names_, model.labels_, strict=True)
        }
    )
    for learn in (getattr(model, "fold_in", None), getattr(model, "partial_fit", None)):
        if learn is None:
            continue
        try:
            grown = learn(keys, np.array([0.0, 1.0, 1.0]))
        except VaecpError:  # of what the model cannot do, which need not name the file
            continue
        again = load(save(grown, path.with_name("again.vaecp")))
        assert np.isfinite(again.predict(keys)).all()


def scan_folder(path: Path) -> None:
    """Read entries that were encoded before."""
    from vaecp.formats.stored import scan

    found = scan(path)
    _, indices, values = found.read(np.arange(len(found.blocks)))
    assert ((indices >= 0) & (indices < found.shape)).all()
    assert np.isfinite(values).all()
    found.sample(10, np.random.default_rng(0))


def go_on(path: Path, make: Callable[[], Any]) -> None:
    """Go on with a fit from the checkpoint in a folder."""
    from fuzzing.data_files import observations
    from vaecp.models.keeping import checkpointed

    data, model = observations(labelled=True), make()
    with checkpointed(model, data, path, 0.0):
        model.fit_tensor(data)
    assert np.isfinite(model.predict_at(np.zeros((1, 3), dtype=int)).std).all()


def show_results(path: Path) -> None:
    """Read the records of runs, and make a table of them."""
    from vaecp.study.experiments.results import Results

    Results(path).frame()


def make_call(path: Path) -> str:
    """Make a call whose name and arguments are in a file of ours."""
    from fuzzing.calls import CALLS

    name, arguments = pickle.loads(path.read_bytes())
    return CALLS[name][0](**arguments)


def fit_table(path: Path) -> str:
    """Fit a method to a table; the path is made of both their names."""
    from fuzzing.tables import check

    return {"answered": "good"}.get(found := check(path.parent.name, int(path.name)), found)


def _fits() -> dict[str, Callable[[], Any]]:
    from fuzzing.beside import FITS

    return FITS


TASKS: dict[str, Callable[[Path], Any]] = {
    "data": read_data,
    **{f"data, {name}": partial(read_data, **options) for name, options in READINGS.items()},
    "queries": read_queries,
    "features": read_features,
    "answers": answer_table,
    "entries": learn_table,
    "model": use_model,
    "grow": grow_model,
    "cache": scan_folder,
    "checkpoint": lambda path: go_on(path, _fits()[path.name]),
    "results": show_results,
    "call": make_call,
    "table": fit_table,
}
