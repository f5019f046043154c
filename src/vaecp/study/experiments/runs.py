"""One run: a method with its settings on one split of one tensor."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vaecp.data.gaps import GapPattern, fold_numbers, held_out
from vaecp.data.observations import Observations
from vaecp.errors import ObservationError

CHOICE = "choice"
PAPER = "as in the paper"
BEST = "at its best"
TRAINING = "training"
"""Comparisons: folds that choose settings, the two that are reported, a history of training."""

SCATTERED = str(GapPattern())
PUBLISHED = "published"
"""Gaps that came with the tensor, a split into training and test entries; a name may follow."""

_PURPOSES = {"split": 0, "folds": 1, "model": 2}


@dataclass(frozen=True, eq=False)
class Tensor:
    """What runs are made on.

    Attributes
    ----------
    test : a mask of the entries that were published as the test part, if any were.
    """

    observations: Observations
    test: np.ndarray | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A short digest of coordinates, values, shape and test entries."""
        digest = hashlib.sha256(repr(self.observations.shape).encode())
        digest.update(np.ascontiguousarray(self.observations.indices, dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(self.observations.values, dtype=np.float64).tobytes())
        if self.test is not None:
            digest.update(np.packbits(self.test).tobytes())
        return digest.hexdigest()[:16]


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
    gaps : how test entries and folds lie, as `GapPattern.parse` reads it, or "published".
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
    gaps: str = SCATTERED
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


def derived_seed(seed: int, purpose: str, *numbers: int) -> int:
    """Derive a seed for a purpose ("split", "folds" or "model") and its repeat and fold."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_PURPOSES[purpose], *numbers))
    return int(sequence.generate_state(1)[0] % 2**31)


def model_seed(run: Run) -> int:
    """Return the seed of the method."""
    place = () if run.fold is None else (run.fold,)
    return derived_seed(run.seed, "model", run.repeat, *place)


def parts(run: Run, tensor: Tensor) -> tuple[Observations, Observations]:
    """Return the entries that the run trains on, and those that it is measured on.

    All methods share the splits, and repeated measurements of a cell are never parted. Folds are
    cut from the training entries of the split, so that no value of a test entry enters what they
    choose.
    """
    pattern = GapPattern(share=run.held_out)
    if not run.gaps.startswith(PUBLISHED):
        pattern = GapPattern.parse(run.gaps, run.held_out)
        random = np.random.default_rng(derived_seed(run.seed, "split", run.repeat))
        test = held_out(pattern, tensor.observations, random)
    elif tensor.test is None:
        raise ObservationError(f"{run.dataset}: no test entries were published with this tensor.")
    else:
        test = tensor.test
    training = tensor.observations.take(~test)
    if run.fold is None or run.n_folds is None:
        return training, tensor.observations.take(test)
    random = np.random.default_rng(derived_seed(run.seed, "folds", run.repeat))
    left_out = fold_numbers(pattern, training, run.n_folds, random) == run.fold
    return training.take(~left_out), training.take(left_out)


def _digest(fields: dict[str, Any]) -> str:
    text = json.dumps(fields, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, which are written the same everywhere."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a setting is {value!r}: use numbers, texts, or lists of them.")
