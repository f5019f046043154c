"""The paper's experiments: figures 2 to 6, tables, and a page that says what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vaecp.runtime.extras import require
from vaecp.runtime.files import write_figure, write_text
from vaecp.study.experiments import BEST, PAPER, TRAINING, Results, carry_out, compare
from vaecp.study.experiments.results import frame_of
from vaecp.study.reproduction.figures import figures
from vaecp.study.reproduction.page import page, tables
from vaecp.study.reproduction.readings import reading_runs
from vaecp.study.reproduction.study import FULL, QUICK, Study, cases, curve_runs

__all__ = ["FULL", "PARTS", "QUICK", "Study", "publish", "reproduce"]

PARTS = ("comparison", "ranks", "readings")
"""Of the study: methods beside each other, error against rank, readings of the published recipe."""


def reproduce(
    folder: Path,
    study: Study = FULL,
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    parts: Sequence[str] = PARTS,
    jobs: int | str = 1,
    show: bool = False,
    retry_failed: bool = False,
    command: str = "vaecp reproduce",
    pages: Path | None = None,
) -> list[Path]:
    """Make the runs that `folder` lacks, draw the figures of all there are; return what was written.

    Parameters
    ----------
    only : names of datasets; all of the paper's by default.
    methods : names of methods; all by default.
    parts : of `PARTS`; all by default.
    command : what the page names as the way to make it again.
    pages : where page and figures go, if not into `folder`.
    """
    require("matplotlib", "plots", "the figures")
    chosen = cases(study, only, methods)  # a name that there is not leaves no folder behind
    results = Results(folder)
    making = {"jobs": jobs, "show": show, "retry_failed": retry_failed}
    tensors = [case.tensor for case in chosen]
    beside = curve_runs(study, chosen) if "ranks" in parts else []
    beside += reading_runs(study, chosen) if "readings" in parts else []
    if "comparison" in parts:
        compare(chosen, study.protocol, results, comparisons=(PAPER, BEST), beside=beside, **making)
    else:
        carry_out(beside, tensors, results, title="Fits", **making)
    return publish(pages or folder, results, study, command)


def publish(folder: Path, results: Results, study: Study, command: str) -> list[Path]:
    """Draw the figures of the runs that there are, of one version, write tables and page, and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    records = results.of_one_version()
    frame = frame_of(records)
    if len(frame):  # a part of the study may have fewer splits than the whole
        n_repeats = int(frame["repeat"].max()) + 1
        study = replace(study, protocol=replace(study.protocol, repeats=n_repeats))
    histories = [record for record in records if record["comparison"] == TRAINING]
    drawn = figures(frame, histories, study)
    written = [write_figure(folder / name, figure) for name, figure in drawn.items()]
    texts = {
        "tables.md": tables(frame, study),
        "README.md": page(frame, histories, study, written, command),
    }
    return [*written, *(write_text(folder / name, text) for name, text in texts.items())]
