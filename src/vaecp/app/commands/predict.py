"""`vaecp predict` and `vaecp update`: ask a saved model, and let it learn from further entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from vaecp.app.commands.options import (
    Coverage,
    ModelFile,
    Printing,
    TableOutput,
    check_coverage_option,
    refuse_overwriting,
)
from vaecp.app.commands.printing import as_json, print_notes, print_summary, text_of, working
from vaecp.app.commands.reading import Missing, Text

PREDICT = """Examples:

$ vaecp predict spectra.vaecp queries.csv -o answers.csv

$ vaecp predict spectra.vaecp queries.csv -o answers.csv --coverage 0.5

$ vaecp predict spectra.vaecp queries.csv -o answers.csv --given measured.csv

$ vaecp predict spectra.vaecp folder-of-queries -o folder-of-answers --batch"""


def predict(
    model: ModelFile,
    queries: Annotated[
        Path, typer.Argument(metavar="QUERIES", help="Table with a column of labels per mode.")
    ],
    output: TableOutput,
    text: Text,
    printing: Printing,
    given: Annotated[
        Path | None,
        typer.Option(help="Table of measured entries of new labels, from which they are learned."),
    ] = None,
    missing: Missing = None,
    coverage: Coverage = 0.9,
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="QUERIES is Parquet, a file or a folder, and the output a folder: read and write "
            "batch by batch.",
        ),
    ] = False,
) -> None:
    """Predict the entries that QUERIES lists: its rows, with mean, std, low and high."""
    check_coverage_option(coverage)
    entries = _Given(given, text.options() | ({"missing": missing} if missing else {}))
    if batch:
        _in_batches(model, queries, output, entries, coverage, printing)
        return
    from vaecp.formats import check_writable, read_table

    check_writable(output, tables_only=True)
    for source in (queries, model, *([] if given is None else [given])):
        refuse_overwriting(source, output)
    options = text.options()
    table = read_table(queries, **options)
    from vaecp.app.queries import answer
    from vaecp.formats import write_answers
    from vaecp.outcomes.store import load

    summary: dict[str, Any] = {"output": output, "predicted": len(table.frame)}
    with working(f"Predicting {len(table.frame):,} entries", printing):
        asked, notes = entries.known_to(load(model), summary)
        found = answer(asked, table, str(queries), coverage, options.get("date_format"))
        write_answers(table, found.columns, output)
    summary["with_unseen_labels"] = found.n_unseen
    notes = [*table.notes, *notes, *([found.note] if found.note else [])]
    asked_for = {"model": model, "queries": queries, "coverage": coverage}
    _tell(asked_for, summary, list(dict.fromkeys(notes)), printing)


@dataclass(frozen=True)
class _Given:
    """Measured entries of new labels, and how their table is read."""

    path: Path | None
    options: dict[str, Any]

    def known_to(self, model: Any, summary: dict[str, Any]) -> tuple[Any, Sequence[str]]:
        """Return the model that knows them, and what was decided when they were read."""
        if self.path is None:
            return model, ()
        from vaecp.app.queries import further_entries, naming

        found = further_entries(model, self.path, self.options)
        with naming(self.path):
            model = model.fold_in(found.labels, found.values)
        summary["rows_folded_in"] = sum(int(rows.sum()) for rows in model.folded_rows_)
        return model, found.notes


def _in_batches(
    model: Path,
    queries: Path,
    output: Path,
    entries: _Given,
    coverage: float,
    printing: Printing,
) -> None:
    """Answer Parquet files by Parquet files, in memory that does not grow with them."""
    from vaecp.app.batches import Answers
    from vaecp.errors import FormatError
    from vaecp.outcomes.store import load

    if output.suffix or output.is_file():
        raise FormatError(f"{output}: is no folder, which --batch writes into: name a folder.")
    summary: dict[str, Any] = {"output": output}
    with working(f"Predicting {queries}", printing):
        asked, notes = entries.known_to(load(model), summary)
        answers = Answers(asked, queries, output, coverage)
        answers.write()
    summary["predicted"] = answers.n_predicted
    summary["with_unseen_labels"] = answers.n_unseen
    _tell({"model": model, "queries": queries, "coverage": coverage}, summary, notes, printing)


def _tell(
    asked: dict[str, Any], summary: dict[str, Any], notes: Sequence[str], printing: Printing
) -> None:
    """Print what was asked and made to a machine, or what was made to a person."""
    if printing.as_json:
        as_json({**asked, **summary, "notes": notes})
    elif not printing.quiet:
        print_notes(notes, printing)
        print_summary({name.replace("_", " "): text_of(item) for name, item in summary.items()})


UPDATE = """Examples:

$ vaecp update spectra.vaecp today.csv

$ vaecp update sensors.vaecp today.csv -o newer.vaecp --forget 0.95"""


def update(
    model: ModelFile,
    more: Annotated[Path, typer.Argument(metavar="MORE", help="Table of further entries.")],
    text: Text,
    printing: Printing,
    missing: Missing = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model file to write: MODEL itself by default."),
    ] = None,
    forget: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Weight of what was learned before, from 0 (none) to 1 (all)."
        ),
    ] = 1.0,
) -> None:
    """Let MODEL learn from the entries in MORE, of known rows and of new ones."""
    from vaecp.runtime.files import check_target

    target = output or model
    check_target(target)
    refuse_overwriting(more, target)
    from vaecp.app.queries import further_entries, naming
    from vaecp.errors import UnsupportedError
    from vaecp.outcomes.store import load, save

    with working(f"Learning from {more}", printing):
        found = load(model)
        before = found.shape_
        learn = getattr(found, "partial_fit", None)
        if learn is None:
            raise UnsupportedError(
                f"{model}: is a {type(found).__name__} model, which is not updated: use VAECP, or fit "
                "again to all entries."
            )
        options = text.options() | ({"missing": missing} if missing else {})
        entries = further_entries(found, more, options)
        with naming(more):
            learn(entries.labels, entries.values, forget)
        save(found, target)
    summary = {
        "output": target,
        "entries": len(entries.values),
        "new_rows": sum(found.shape_) - sum(before),
        "size": found.shape_,
    }
    _tell({"model": model, "more": more, "forget": forget}, summary, entries.notes, printing)
