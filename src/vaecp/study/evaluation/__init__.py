"""The table of gaps: VAECP and its rivals on tensors whose gaps lie in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vaecp.runtime.files import write_figure, write_text
from vaecp.study.evaluation.ablation import ablation_page
from vaecp.study.evaluation.figures import reliability_figure
from vaecp.study.evaluation.methods import ABLATION, METHODS, settings
from vaecp.study.evaluation.page import page
from vaecp.study.evaluation.tables import METHOD
from vaecp.study.evaluation.tensors import SUBJECTS, Task, tasks
from vaecp.study.experiments import Results, Run, carry_out, settings_of
from vaecp.study.experiments.confirming import confirm as confirmed
from vaecp.study.experiments.protocol import Settings
from vaecp.study.experiments.results import frame_of
from vaecp.study.rivals import find

__all__ = ["EVALUATION", "METHODS", "SUBJECTS", "evaluate", "publish"]

EVALUATION = "evaluation"
ABLATED = "ablation"
"""What the comparison of these runs is called, and that of VAECP without its parts."""
USUAL = ("scattered-20", "published")
"""Gaps under which parts are left out, unless others are named."""


def evaluate(
    folder: Path,
    *,
    only: Sequence[str] = (),
    gaps: Sequence[str] = (),
    methods: Sequence[str] = (),
    n_splits: int = 5,
    seed: int = 0,
    jobs: int | str = 1,
    show: bool = False,
    retry_failed: bool = False,
    ablation: bool = False,
    most_settings: int | None = None,
    confirm: int = 0,
    command: str = "vaecp evaluate",
    pages: Path | None = None,
) -> list[Path]:
    """Make the runs that `folder` lacks, and write the tables of all that are there.

    Parameters
    ----------
    only : names of tensors; all by default.
    gaps : how the gaps begin, such as "scattered" or "fibres:2"; all by default.
    methods : names of methods and rivals; all of the table by default.
    most_settings : with how many of its settings a rival is tried; all by default.
    confirm : so many runs of every method that other code has made are made again; where all come out the
        same, the others of that code count as made today.
    ablation : leave parts out of VAECP instead; `methods` is not looked at.
    command : what the page names as the way to make it again.
    pages : where page and figure go, if not into `folder`.
    """
    asked = list(tasks(only, gaps or (USUAL if ablation else ()), n_splits))
    if ablation:
        runs = [run for task in asked for run in _without_parts(task, seed)]
    else:
        runs = [run for task in asked for run in _of_all(task, methods, most_settings, seed)]
    results, tensors = Results(folder), [task.tensor for task in asked]
    if confirm:
        confirmed(runs, tensors, results, confirm)
    carry_out(
        runs,
        tensors,
        results,
        jobs=jobs,
        title="Gaps",
        show=show,
        retry_failed=retry_failed,
    )
    return publish(folder, results, command, pages)


def publish(folder: Path, results: Results, command: str, pages: Path | None = None) -> list[Path]:
    """Write the tables of the runs that there are, of one version, and return the paths."""
    home = pages or folder
    home.mkdir(parents=True, exist_ok=True)
    records = results.of_one_version()
    frame = frame_of(records)
    ablated = frame[frame["comparison"] == ABLATED]
    figure = None if len(ablated) else reliability_figure(records)
    if len(ablated):
        text = ablation_page(ablated, command)
    else:
        text = page(frame, command, has_figure=figure is not None)
    written = [write_text(home / "README.md", text)]
    if figure is not None:
        written.append(write_figure(home / "reliability.png", figure, dpi=110))
    return [*written, results.path]


def _of_all(task: Task, methods: Sequence[str], most_settings: int | None, seed: int) -> list[Run]:
    names = [find(name).name for name in methods] or list(METHODS)
    return [
        _run(task, name, EVALUATION, given, seed)
        for name in names
        for given in settings(name, task.dataset, most_settings)
    ]


def _without_parts(task: Task, seed: int) -> list[Run]:
    return [_run(task, METHOD, ABLATED, settings_of(**given), seed) for given in ABLATION.values()]


def _run(task: Task, method: str, comparison: str, given: Settings, seed: int) -> Run:
    return Run(
        dataset=task.dataset,
        data=task.tensor.fingerprint,
        method=method,
        settings=given,
        comparison=comparison,
        repeat=task.repeat,
        held_out=task.held_out,
        gaps=task.gaps,
        seed=seed,
    )
