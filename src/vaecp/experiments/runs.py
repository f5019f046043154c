"""One run: a method with its settings on one split of one tensor, and what it measured."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any, cast

import numpy as np

from vaecp import __version__
from vaecp.experiments.methods import build, method
from vaecp.metrics import summary
from vaecp.models.base import TensorEstimator
from vaecp.observations import Observations, Standardiser

CHOICE = "choice"
PAPER = "as in the paper"
BEST = "at its best"
TRAINING = "training"
"""Comparisons: folds that choose settings, the two that are reported, a history of training."""

MEASURES = ("rmse", "mae", "nll", "crps", "coverage_50", "coverage_90", "coverage_95")
_PURPOSES = {"split": 0, "folds": 1, "model": 2}
_LONGEST_MESSAGE = 500


@dataclass(frozen=True)
class Run:
    """What is fitted to what; equal runs give equal results.

    Attributes
    ----------
    dataset : the name of the tensor.
    data : its fingerprint, so that a changed file is another run.
    settings : pairs of name and value, sorted by name.
    comparison : for what the run is made. It does not alter the result.
    repeat : which split into training and test entries, from 0.
    fold : which fold of the training entries is held out; None holds out the test entries.
    n_folds : how many folds there are; None without folds.
    held_out : the share of test entries.
    seed : the one from which the seeds of splits, folds and models are derived.
    """

    dataset: str
    data: str
    method: str
    settings: tuple[tuple[str, Any], ...]
    comparison: str
    repeat: int = 0
    fold: int | None = None
    n_folds: int | None = None
    held_out: float = 0.2
    seed: int = 0

    @property
    def key(self) -> str:
        """Identifies the run in a table of results."""
        return _digest(asdict(self))

    @property
    def work(self) -> str:
        """Identifies what is computed: runs of two comparisons may share it."""
        return replace(self, comparison="").key

    @property
    def rank(self) -> Any:
        return dict(self.settings).get("rank")


def settings_of(**settings: Any) -> tuple[tuple[str, Any], ...]:
    """Return settings as a `Run` holds them.

    Examples
    --------
    >>> settings_of(rank=5, hidden=10)
    (('hidden', 10), ('rank', 5))
    """
    return tuple(sorted(settings.items()))


def fingerprint(observations: Observations) -> str:
    """Return a short digest of coordinates, values and shape."""
    digest = hashlib.sha256(repr(observations.shape).encode())
    digest.update(np.ascontiguousarray(observations.indices, dtype=np.int64).tobytes())
    digest.update(np.ascontiguousarray(observations.values, dtype=np.float64).tobytes())
    return digest.hexdigest()[:16]


def derived_seed(seed: int, purpose: str, *numbers: int) -> int:
    """Derive a seed for a purpose ("split", "folds" or "model") and its repeat and fold."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_PURPOSES[purpose], *numbers))
    return int(sequence.generate_state(1)[0] % 2**31)


def parts(run: Run, observations: Observations) -> tuple[Observations, Observations]:
    """Return the entries that the run trains on, and those that it is measured on.

    All methods share the splits. Folds are cut from the training entries of the split, so that
    no value of a test entry enters what they choose.
    """
    split_seed = derived_seed(run.seed, "split", run.repeat)
    training, test = observations.split(run.held_out, split_seed)
    if run.fold is None or run.n_folds is None:
        return training, test
    folds = training.folds(run.n_folds, derived_seed(run.seed, "folds", run.repeat))
    return next(islice(folds, run.fold, None))


def can_go_together(run: Run, other: Run) -> bool:
    """Whether two runs may be fitted side by side: folds or repeats of VAECP, alike otherwise."""
    if not method(run.method).side_by_side:
        return False
    return (run.data, run.method, run.settings) == (other.data, other.method, other.settings)


def execute(runs: Sequence[Run], observations: Observations) -> list[dict[str, Any]]:
    """Fit, measure on the held-out entries, and return a record of plain values for each run.

    Scores are in units of the training entries' standard deviation. A fit that fails is a
    record too, with its message. Of runs that are fitted together each has its share of the
    seconds.
    """
    splits = [parts(run, observations) for run in runs]
    models: list[TensorEstimator] = []
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = ""
        try:
            models = [_model(run) for run in runs]
            _fit(models, [training for training, _ in splits], observations)
        except Exception as problem:  # anything that a method can do wrong belongs in the table
            error = _one_line(f"{type(problem).__name__}: {problem}")
    if error and len(runs) > 1:  # one may have spoilt it for all
        return [record for run in runs for record in execute([run], observations)]
    shared = {
        "seconds": (time.perf_counter() - started) / len(runs),
        "error": error,
        "warning": _one_line("; ".join(dict.fromkeys(str(w.message) for w in caught))),
    }
    if error:
        return [describe(run) | shared for run in runs]
    return [
        describe(run) | _found(run, model, held_out) | shared
        for run, model, (_, held_out) in zip(runs, models, splits, strict=True)
    ]


def _model(run: Run) -> TensorEstimator:
    seed = derived_seed(run.seed, "model", run.repeat, *_place(run.fold))
    return build(run.method, dict(run.settings), seed)


def _fit(
    models: list[TensorEstimator], parts: list[Observations], observations: Observations
) -> None:
    from vaecp.models.vaecp import VAECP
    from vaecp.models.vaecp_together import can_share, fit_together

    if len(models) > 1 and can_share(observations):
        fit_together([cast(VAECP, model) for model in models], parts, observations)
        return
    for model, part in zip(models, parts, strict=True):
        model.fit_tensor(part)


def _found(run: Run, model: TensorEstimator, held_out: Observations) -> dict[str, Any]:
    history = {"history": _history(model)} if run.comparison == TRAINING else {}
    return _measured(model, held_out) | history


def describe(run: Run) -> dict[str, Any]:
    """Return the record of a run before it is made."""
    return {
        "key": run.key,
        "work": run.work,
        **asdict(run),
        "settings": dict(run.settings),
        **dict.fromkeys(MEASURES, float("nan")),
        "rank_found": None,
        "seconds": float("nan"),
        "error": "",
        "warning": "",
        "versions": versions(),
        "device": device(),
    }


def versions() -> dict[str, str]:
    """Return the versions that results depend on."""
    packages = ("jax", "numba", "numpy", "scipy", "scikit-learn")
    found = {"vaecp": __version__, "python": platform.python_version()}
    for package in packages:
        with suppress(PackageNotFoundError):  # Numba speeds up, and can be missing
            found[package] = version(package)
    return found


def device() -> str:
    """Return where JAX computes, in words."""
    import jax

    first = jax.devices()[0]
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    kind = cores if first.platform == "cpu" else first.device_kind
    return f"{first.platform} ({kind})"


def _place(fold: int | None) -> tuple[int, ...]:
    return () if fold is None else (fold,)


def _measured(model: TensorEstimator, held_out: Observations) -> dict[str, Any]:
    found = model.predict_at(held_out.indices)
    location, scale = model.standardiser_.location, model.standardiser_.scale or 1.0
    unit = Standardiser(-location / scale, 1 / scale)
    prediction = found.in_units_of(unit)
    measures = summary(prediction, unit.invert(held_out.values))
    rank = getattr(model, "rank_", None)
    return {**measures, "rank_found": None if rank is None else int(rank)}


def _history(model: TensorEstimator) -> dict[str, list[float]]:
    """Return the bound and the validation RMSE per epoch, members averaged."""
    epochs: Any = getattr(model, "history_").groupby("epoch").mean()  # noqa: B009
    return {name: epochs[name].astype(float).tolist() for name in ("elbo", "validation_rmse")}


def _one_line(message: str) -> str:
    return " ".join(message.split())[:_LONGEST_MESSAGE]


def _digest(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, which are written the same everywhere."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a setting is {value!r}: use numbers, texts, or lists of them.")
