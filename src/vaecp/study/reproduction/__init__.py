"""The paper's experiments: figures 2 to 6, tables, and a page that says what came out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaecp.runtime.extras import require
from vaecp.runtime.files import whole_file
from vaecp.study.experiments import BEST, PAPER, TRAINING, Results, carry_out, compare
from vaecp.study.reproduction.figures import figures
from vaecp.study.reproduction.page import page, tables
from vaecp.study.reproduction.study import FULL, QUICK, Study, cases, collapse_runs

__all__ = ["FULL", "QUICK", "Study", "publish", "reproduce"]


def reproduce(
    folder: Path,
    study: Study = FULL,
    *,
    only: Sequence[str] = (),
    methods: Sequence[str] = (),
    jobs: int = 1,
    show: bool = False,
    retry_failed: bool = False,
    command: str = "vaecp reproduce",
) -> list[Path]:
    """Make the runs that `folder` lacks, draw the figures, and return what was written.

    Parameters
    ----------
    only : names of datasets; all of the paper's by default.
    methods : names of methods; all by default.
    command : what the page names as the way to make it again.
    """
    require("matplotlib", "plots", "the figures")
    chosen = cases(study, only, methods)  # a name that there is not leaves no folder behind
    results = Results(folder)
    made = compare(
        chosen,
        study.protocol,
        results,
        comparisons=(PAPER, BEST),
        jobs=jobs,
        show=show,
        retry_failed=retry_failed,
    )
    runs = collapse_runs(study, chosen)
    tensors = [case.tensor for case in chosen]
    carry_out(runs, tensors, results, jobs=jobs, title="Collapse", show=show)
    return publish(folder, results.of([*made.runs, *runs]), study, command)


def publish(
    folder: Path, records: Sequence[dict[str, Any]], study: Study, command: str
) -> list[Path]:
    """Draw the figures of these runs, write tables and page, and return the paths."""
    results = Results()
    results.add(records)
    frame = results.frame()
    histories = [record for record in records if record["comparison"] == TRAINING]
    written = []
    for name, figure in figures(frame, histories, study).items():
        with whole_file(folder / name) as temporary:
            figure.savefig(temporary, dpi=150)
        written.append(folder / name)
    texts = {
        "tables.md": tables(frame, study),
        "README.md": page(frame, histories, study, written, command),
    }
    for name, text in texts.items():
        with whole_file(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
        written.append(folder / name)
    return written
