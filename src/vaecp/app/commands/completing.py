"""`vaecp complete` and `vaecp fit`: from the entries of a file to the files that were asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaecp.app.commands.options import Printing
from vaecp.app.commands.printing import (
    as_json,
    kept_warnings,
    print_notes,
    print_summary,
    text_of,
    working,
)
from vaecp.errors import FormatError

if TYPE_CHECKING:
    from vaecp.app.commands.reading import Reading, Text
    from vaecp.data.observations import Observations
    from vaecp.data.stored import StoredEntries
    from vaecp.formats import Opened
    from vaecp.models.base import TensorEstimator
    from vaecp.outcomes.completion import Completion, ListedCompletion

MOST_CELLS = 1_000_000
"""Up to here every entry of the tensor is filled by default, listed or not."""


class Cells(StrEnum):
    """Which entries are written."""

    all = "all"
    listed = "listed"


class Layout(StrEnum):
    """How a table is written."""

    input = "input"
    long = "long"


@dataclass(frozen=True)
class Targets:
    """What is written where."""

    source: Path
    output: Path | None = None
    model: Path | None = None
    report: Path | None = None
    cells: Cells | None = None
    layout: Layout = Layout.input
    coverage: float = 0.9
    check: bool = True
    code: str | None = None


def fill_and_write(
    opened: Opened, model: TensorEstimator, targets: Targets, printing: Printing
) -> None:
    """Fit, fill, write, and say what came out."""
    from vaecp.formats import check_holds, write_completion
    from vaecp.runtime.progress import report

    observations, output = opened.observations, Path(str(targets.output))
    listing = opened.listing if targets.layout is Layout.input else None
    cells, notes = chosen_cells(opened, targets)
    vast = cells is Cells.all and _is_vast(observations, output)
    check_holds(observations, output, None if vast else listing)
    notes = [*observations.notes, *notes]
    print_notes(notes, printing)
    started = time.perf_counter()
    if vast:
        _complete_in_turn(observations, model, targets, notes, printing)
        return
    with kept_warnings(printing) as warned:
        with working(f"Fitting {text_of(observations.shape)}", printing):
            fitted = _fitted(model, observations, targets)
            result, values = _filled(fitted, opened, cells, targets.coverage)
            report(99, 100, "% writing")
            write_completion(result, output, listing, cells.value)
        _write_report(result, targets, printing)
    account = _account(result, values, fitted)
    hints = _hints(result, values)
    print_notes(hints, printing)
    summary = {
        "input": targets.source,
        "output": output,
        "model": targets.model,
        "report": targets.report,
        **account,
        "coverage": targets.coverage,
        "cells": cells.value,
        "seconds": round(time.perf_counter() - started, 2),
        "notes": [*notes, *hints],
        "warnings": warned,
    }
    _print_account(summary, printing)


def _is_vast(observations: Observations, output: Path) -> bool:
    """Whether entries are too many to hold, and the file can take them piece by piece."""
    from vaecp.data import observations as home

    return observations.n_cells > home.MAX_DENSE_ENTRIES and output.suffix.lower() == ".parquet"


def _complete_in_turn(
    observations: Observations,
    model: TensorEstimator,
    targets: Targets,
    notes: list[str],
    printing: Printing,
) -> None:
    """Fit, and write every entry piece by piece, one row each."""
    from vaecp.formats.partitions import write_batches
    from vaecp.outcomes.cells_in_turn import completed_cells

    if targets.report is not None:
        raise FormatError(f"{targets.report}: a report needs all entries in memory: leave it out.")
    started = time.perf_counter()
    fitting = working(f"Fitting {text_of(observations.shape)}", printing)
    with kept_warnings(printing) as warned, fitting:
        fitted = _fitted(model, observations, targets)
        frames = completed_cells(fitted, observations, targets.coverage)
        n_rows = write_batches(frames, str(targets.output))
    summary = {
        "input": targets.source,
        "output": targets.output,
        "model": targets.model,
        **_sizes(observations, fitted),
        "gaps_filled": n_rows - _n_observed(observations),
        "coverage": targets.coverage,
        "cells": Cells.all.value,
        "seconds": round(time.perf_counter() - started, 2),
        "notes": notes,
        "warnings": warned,
    }
    _print_account(summary, printing)


def scanned(
    reading: Reading, source: Path, text: Text, cache: Path | None, printing: Printing
) -> StoredEntries:
    """Encode the entries of Parquet files, showing how far that is."""
    with working(f"Encoding {source}", printing):
        return reading.scan(source, text, cache)


def fit_and_write(
    observations: Observations | StoredEntries,
    model: TensorEstimator,
    targets: Targets,
    printing: Printing,
) -> None:
    """Fit, write the model, and say what it was fitted to."""
    print_notes(observations.notes, printing)
    started = time.perf_counter()
    fitting = working(f"Fitting {text_of(observations.shape)}", printing)
    with kept_warnings(printing) as warned, fitting:
        fitted = _fitted(model, observations, targets)
    summary = {
        "input": targets.source,
        "model": targets.model,
        **_sizes(observations, fitted),
        "seconds": round(time.perf_counter() - started, 2),
        "notes": observations.notes,
        "warnings": warned,
    }
    _print_account(summary, printing)


def chosen_cells(opened: Opened, targets: Targets) -> tuple[Cells, list[str]]:
    """Return which entries are filled, and say so where that is not all of them."""
    observations, listing = opened.observations, opened.listing
    n_cells = observations.n_cells
    chosen = targets.cells
    if chosen is None:
        vast = listing is not None and n_cells > MOST_CELLS
        chosen = Cells.listed if vast else Cells.all
    if chosen is Cells.all:
        n_gaps = n_cells - _n_observed(observations)
        nothing = (
            "No entry is missing, so nothing is filled; mean, std and interval are those of the "
            "fit. If a value means missing, name it, such as --missing -999."
        )
        return chosen, [] if n_gaps else [nothing]
    _check_listed(opened, targets)
    note = (
        f"The tensor has {n_cells:,} entries, of which the table lists {len(opened.listing.rows):,}: "  # type: ignore[union-attr]
        "only these are written. --cells all would write every one "
        f"(about {_size(n_cells, opened, targets.source)})."
    )
    return chosen, [] if targets.cells is Cells.listed else [note]


def _check_listed(opened: Opened, targets: Targets) -> None:
    """Refuse to write listed entries where none is missing, or where nothing lists them."""
    from vaecp.formats.registry import kind_of, listed

    source, output = targets.source, targets.output
    if opened.listing is None or targets.layout is Layout.long:
        raise FormatError(f"{source}: --cells listed needs a table and its layout: leave it out.")
    if output is not None and not kind_of(output).table:
        raise FormatError(
            f"{output}: {opened.observations.n_cells:,} entries are too many for an array: write "
            f"those that are listed to {listed(tables_only=True, last='or')}."
        )
    if not opened.listing.n_gaps:
        raise FormatError(
            f"{source}: lists {len(opened.listing.rows):,} of {opened.observations.n_cells:,} "
            "entries, none without a value: add a row with an empty value for each entry to fill; "
            f"or run vaecp fit {source} -o MODEL, then vaecp predict MODEL QUERIES -o OUT."
        )


def _size(n_cells: int, opened: Opened, source: Path) -> str:
    """Estimate the size of a table with every entry."""
    n_rows = max(len(opened.observations), 1)
    size = float(n_cells * (source.expanduser().stat().st_size / n_rows + 40))
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:,.0f} TB"


def _fitted(
    model: TensorEstimator, observations: Observations | StoredEntries, targets: Targets
) -> TensorEstimator:
    from vaecp.outcomes.store import save
    from vaecp.runtime.processes import is_first
    from vaecp.runtime.progress import reporting, silenced

    fitted = reporting(model).fit_tensor(observations)
    silenced(fitted)
    if targets.model is not None and is_first():
        save(fitted, targets.model)
    return fitted


def _filled(
    fitted: TensorEstimator, opened: Opened, cells: Cells, coverage: float
) -> tuple[Any, Any]:
    """Return the completion, and the values of its entries, NaN at gaps."""
    from vaecp.outcomes.completion import fill, fill_listed

    observations, listing = opened.observations, opened.listing
    if cells is Cells.all or listing is None:
        return fill(fitted, observations, coverage), observations.to_array().ravel()
    result = fill_listed(fitted, observations, listing.indices, coverage)
    return result, listing.values.ravel()


def _write_report(
    result: Completion | ListedCompletion, targets: Targets, printing: Printing
) -> None:
    if targets.report is None:
        return
    from vaecp.show.report import model_report

    page, check = targets.report, targets.check
    with working(f"Checking for {page}" if check else f"Writing {page}", printing):
        settings = {"check": check, "coverage": targets.coverage, "source": targets.code}
        model_report(result.model, page, result, **settings)


def _n_observed(observations: Any) -> int:
    from vaecp.data.cells import distinct_cells

    return len(distinct_cells(observations.indices, observations.shape)[0])


def _sizes(observations: Any, fitted: TensorEstimator) -> dict[str, Any]:
    return {
        "shape": observations.shape,
        "modes": observations.mode_names,
        "observed": len(observations),
        "limits": 0 if observations.limits is None else len(observations.limits),
        "method": type(fitted).__name__,
        "settings": fitted.get_params(),
        "likelihood": fitted.diagnostics_.found.get("likelihood"),
        "likelihood_reason": fitted.diagnostics_.found.get("likelihood_reason"),
    }


def _account(result: Any, values: Any, fitted: TensorEstimator) -> dict[str, Any]:
    """Return what was filled, with what, and how well the model fits what it was given."""
    import numpy as np

    gaps = np.isnan(values)
    errors = (result.prediction.mean - values)[~gaps]
    std, constant = result.prediction.std[gaps], not fitted.scaling_.scale
    return {
        **_sizes(result.observations, fitted),
        "gaps_filled": int(gaps.sum()),
        "quality": {
            "rmse_of_observed": float(np.sqrt(np.mean(errors**2))),
            "mean_std_of_gaps": float(std.mean()) if len(std) and not constant else None,
            "constant": constant,
        },
    }


def _hints(result: Any, values: Any) -> list[str]:
    import numpy as np

    from vaecp.data.hints import hints_about_gaps

    filled = result.prediction.take(np.isnan(values))
    return hints_about_gaps(result.observations, filled) if len(filled) else []


def _print_account(summary: dict[str, Any], printing: Printing) -> None:
    if printing.as_json:
        as_json(summary)
    if not printing.for_people:
        return
    quality = summary.get("quality", {})
    sizes = zip(summary["shape"], summary["modes"], strict=True)
    gaps = summary.get("gaps_filled")
    written = [summary.get(key) for key in ("output", "model", "report")]
    rows = {
        "size": " x ".join(f"{size} {name}" for size, name in sizes),
        "observed": f"{summary['observed']:,}",
        "known by a limit": f"{summary['limits']:,}" if summary["limits"] else None,
        "values": _kind_of_values(summary),
        "gaps filled": None if gaps is None else f"{gaps:,}",
        "mean std of the gaps": quality.get("mean_std_of_gaps"),
        "seconds": summary["seconds"],
        "written": ", ".join(str(path) for path in written if path),
    }
    if quality.get("constant"):
        rows["note"] = "all observed values are equal, so std and interval are unknown"
    print_summary({name: text_of(item) for name, item in rows.items() if item is not None})


def _kind_of_values(summary: dict[str, Any]) -> str | None:
    """Say what the values were taken for, and why."""
    if summary["likelihood"] is None:
        return None
    from vaecp.models.vaecp.likelihoods import find

    words = find(summary["likelihood"]).words
    return f"{words} ({summary['likelihood']}): {summary['likelihood_reason']}"
