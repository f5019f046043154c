"""Whether runs that other code made would come out the same today: some of them are made again.

The digest of a method's code changes with every line that a run can reach, most of which leave the
figures as they are. A few runs that measure the same as before say so for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vaecp.study.experiments.execution import MEASURES, execute
from vaecp.study.experiments.provenance import code
from vaecp.study.experiments.results import Results
from vaecp.study.experiments.runs import Run, Tensor

SAME = 1e-6
"""Relative difference of measures up to which rounding on another machine explains it."""
ALIKE = 0.1
"""The same for methods that draw anew at every run, whatever their seed, as SMURFF does."""


def confirm(
    runs: Sequence[Run], tensors: Iterable[Tensor], results: Results, most: int
) -> dict[str, bool]:
    """Make up to so many runs of every method on every tensor again; say which came out the same.

    Where all did, `results` takes the others on that tensor by the same code for runs of today's code. A run that
    fails today says nothing, and leaves the record that there is.
    """
    pool = {tensor.fingerprint: tensor for tensor in tensors}
    verdicts: dict[str, bool] = {}
    with results.locked():
        for (method, dataset, other), group in _by_code(runs, results).items():
            same = not results.differs(method, dataset, other)
            if same:
                chosen = [group[place] for place in _spread(len(group), most)]
                made = [execute(run, pool[run.data]) for run in chosen]
                same = all(
                    _same_again(record, results[run], run, pool[run.data])
                    for record, run in zip(made, chosen, strict=True)
                )
                results.add([record for record in made if not record["error"]])
                results.note_same(method, dataset, other, len(made) if same else 0)
            verdicts[method] = same and verdicts.get(method, True)
    return verdicts


def same_figures(
    first: Mapping[str, Any], second: Mapping[str, Any], tolerance: float = SAME
) -> bool:
    """Whether two records have the same measures, but for rounding or a stated tolerance."""
    one, other = ([record[name] for name in MEASURES] for record in (first, second))
    return np.allclose(one, other, rtol=tolerance, atol=0.0, equal_nan=True)


def _same_again(
    made: Mapping[str, Any], before: Mapping[str, Any], run: Run, tensor: Tensor
) -> bool:
    """Whether a run came out as before; a method that does not repeat itself need only be near."""
    if same_figures(made, before):
        return True
    if not same_figures(made, before, ALIKE):
        return False
    return not same_figures(made, execute(run, tensor))


def _by_code(runs: Iterable[Run], results: Results) -> dict[tuple[str, str, str], list[Run]]:
    """Group the runs that other code has made, by method, tensor and code."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        if run in results and not results.has_made(run) and not results[run]["error"]:
            key = run.method, run.dataset, results[run]["code"]
            found.setdefault(key, []).append(run)
    return {key: group for key, group in found.items() if key[2] not in ("", code(key[0]))}


def _spread(size: int, most: int) -> list[int]:
    """Return places that lie evenly from the first to the last."""
    return sorted(set(np.linspace(0, size - 1, min(size, most)).astype(int).tolist()))
