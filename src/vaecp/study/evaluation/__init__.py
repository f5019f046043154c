"""The table of gaps: VAECP and its rivals on tensors whose gaps lie in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaecp.runtime.files import whole_file
from vaecp.study.evaluation.methods import METHODS, settings
from vaecp.study.evaluation.page import page
from vaecp.study.evaluation.tensors import SUBJECTS, Task, tasks
from vaecp.study.experiments import Results, Run, carry_out
from vaecp.study.rivals import find

__all__ = ["EVALUATION", "METHODS", "SUBJECTS", "evaluate", "publish"]

EVALUATION = "evaluation"
"""What the comparison of these runs is called."""


def evaluate(
    folder: Path,
    *,
    only: Sequence[str] = (),
    gaps: Sequence[str] = (),
    methods: Sequence[str] = (),
    n_splits: int = 5,
    seed: int = 0,
    jobs: int = 1,
    show: bool = False,
    retry_failed: bool = False,
    command: str = "vaecp evaluate",
) -> list[Path]:
    """Make the runs that `folder` lacks, and write the tables.

    Parameters
    ----------
    only : names of tensors; all by default.
    gaps : how the gaps begin, such as "scattered" or "fibres:2"; all by default.
    methods : names of methods and rivals; all of the table by default.
    command : what the page names as the way to make it again.
    """
    names = [find(name).name for name in methods] or list(METHODS)
    asked = list(tasks(only, gaps, n_splits))
    runs = [run for task in asked for name in names for run in _runs(task, name, seed)]
    results = Results(folder)
    carry_out(
        runs,
        [task.tensor for task in asked],
        results,
        jobs=jobs,
        title="Gaps",
        show=show,
        retry_failed=retry_failed,
    )
    return publish(folder, results, command)


def publish(folder: Path, results: Results, command: str) -> list[Path]:
    """Write the tables of all runs that there are, and return the paths."""
    path = folder / "README.md"
    with whole_file(path) as temporary:
        temporary.write_text(page(results.frame(), command), encoding="utf-8")
    return [path, results.path]


def _runs(task: Task, method: str, seed: int) -> list[Run]:
    return [
        Run(
            dataset=task.dataset,
            data=task.tensor.fingerprint,
            method=method,
            settings=given,
            comparison=EVALUATION,
            repeat=task.repeat,
            held_out=task.held_out,
            gaps=task.gaps,
            seed=seed,
        )
        for given in settings(method, task.dataset)
    ]
