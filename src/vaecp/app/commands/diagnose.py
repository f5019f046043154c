"""`vaecp diagnose`: how many components, what they look like, and what they say of concentrations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.app.commands.options import Folder, Page, Printing, Seed, Source, numbers
from vaecp.app.commands.printing import as_json, print_notes, print_rows, text_of, working
from vaecp.app.commands.reading import Reading, Text
from vaecp.errors import FormatError

if TYPE_CHECKING:
    from vaecp.data.observations import Observations
    from vaecp.models.cp.estimators import CPALS, NCP
    from vaecp.outcomes.concentrations import Calibration
    from vaecp.outcomes.diagnostics import Diagnosis

EXAMPLES = """Examples:

$ vaecp diagnose spectra.mat --ranks 1-6

$ vaecp diagnose eem.mat --scatter rayleigh:1=15,rayleigh:2=20 --below-diagonal missing

$ vaecp diagnose eem.mat --components 3 --concentrations known.csv --report page.html"""
COLUMNS = ("components", "explained", "core consistency", "halves", "starts alike", "cancelling")
MERITS = (
    "analyte",
    "component",
    "r",
    "rmsec_percent",
    "rmsecv_percent",
    "selectivity",
    "detection",
)


Concentrations = Annotated[
    Path | None,
    typer.Option(help="Table of known concentrations: a row per sample, a column per analyte."),
]


@dataclass(frozen=True)
class Parafac:
    """Which numbers of components are tried, and how they are fitted."""

    ranks: Annotated[
        str,
        typer.Option(
            help="Numbers of components to try: a range such as 1-8, or a list such as 2,3,4."
        ),
    ] = "1-8"
    components: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of components to draw and calibrate with; the number found by default.",
        ),
    ] = None
    non_negative: Annotated[
        bool, typer.Option("--non-negative", help="Allow no negative loadings (NCP).")
    ] = False
    split: Annotated[
        str | None, typer.Option(help="Mode to split into halves: the samples by default.")
    ] = None
    starts: Annotated[int, typer.Option(min=1, help="Starts per number of components.")] = 8
    seed: Seed = 0

    def diagnosis(self, observations: Observations) -> Diagnosis:
        """Try the numbers of components."""
        from vaecp.models.cp.estimators import NCP
        from vaecp.outcomes import diagnostics

        tried = numbers("--ranks", self.ranks)
        return diagnostics.diagnose(
            observations,
            tried if self.components is None else (*tried, self.components),
            model=NCP(tol=1e-6, max_iter=2000) if self.non_negative else None,
            n_starts=self.starts,
            split=self.split,
            random_state=self.seed,
        )

    def fitted(self, found: Diagnosis, observations: Observations) -> CPALS | NCP:
        """Return the model with the number of components that is drawn."""
        from vaecp.models.cp.estimators import CPALS, NCP

        rank = self.components or found.rank or found.checks[0].rank
        settings = {"tol": 1e-6, "max_iter": 2000, "n_starts": self.starts}
        method = NCP if self.non_negative else CPALS
        return method(rank, **settings, random_state=self.seed).fit_tensor(observations)


def diagnose(
    source: Source,
    reading: Reading,
    text: Text,
    printing: Printing,
    parafac: Parafac,
    concentrations: Concentrations = None,
    page: Page = None,
    output: Folder = None,
) -> None:
    """Say how many components PARAFAC should have for INPUT, and show why.

    Core consistency, split halves, agreement of starts and explained variation for each number of
    components; then loadings, leverage and residuals of the number that is found.
    """
    from vaecp.runtime.extras import require

    require("matplotlib", "plots", "the plots of a diagnosis")
    numbers("--ranks", parafac.ranks)  # a mistake in it costs no reading
    observations = reading.open(source, text).observations
    print_notes(observations.notes, printing)
    known = _known(concentrations, observations)
    folder = output or Path(f"{source.stem}-diagnose")
    _check_targets(folder, page, source)
    with working(f"Fitting {text_of(observations.shape)}", printing):
        found = parafac.diagnosis(observations)
        model = parafac.fitted(found, observations)
    raw = reading.open_raw(source, text).observations if reading.cleans else None
    calibration = None if known is None else _calibrated(model, observations, known)
    written = _write(folder, found, model, raw, calibration)
    if page is not None:
        from vaecp.show.report import model_report

        code = reading.code(source, text)
        model_report(model, page, observations, check=False, diagnosis=found, source=code)
        written.append(page)
    _tell(source, found, model.rank, calibration, written, printing)


def _known(path: Path | None, observations: Observations) -> Any:
    if path is None:
        return None
    from vaecp.errors import ObservationError
    from vaecp.formats import read_table
    from vaecp.outcomes.concentrations import aligned

    try:
        return aligned(read_table(path).frame, observations.labels[0])
    except ObservationError as error:
        raise FormatError(f"{path}: {error}") from error


def _calibrated(model: CPALS | NCP, observations: Observations, known: Any) -> Calibration:
    from vaecp.outcomes.concentrations import regress_on_scores
    from vaecp.outcomes.diagnostics import decomposition

    return regress_on_scores(*decomposition(model, observations), known)


def _check_targets(folder: Path, page: Path | None, source: Path) -> None:
    from vaecp.app.commands.report import check_page

    if folder.exists() and not folder.is_dir():
        raise FormatError(f"{folder}: is a file, but a diagnosis is a folder: name another.")
    if page is not None:
        check_page(page, source)


def _write(
    folder: Path,
    found: Diagnosis,
    model: CPALS | NCP,
    raw: Observations | None,
    calibration: Calibration | None,
) -> list[Path]:
    """Write tables and pictures, and return their paths."""
    from vaecp.formats import write_frame
    from vaecp.runtime.files import write_figure
    from vaecp.show.plots.diagnosed import figures

    folder.mkdir(parents=True, exist_ok=True)
    tables = {"components.csv": found.table()}
    if calibration is not None:
        tables |= {"merits.csv": calibration.figures, "concentrations.csv": calibration.samples}
    written = []
    for name, frame in tables.items():
        write_frame(frame, folder / name)
        written.append(folder / name)
    drawn = figures(found, model, raw, calibration)
    return [*written, *(write_figure(folder / name, figure) for name, figure in drawn.items())]


def _tell(
    source: Path,
    found: Diagnosis,
    chosen: int,
    calibration: Calibration | None,
    written: list[Path],
    printing: Printing,
) -> None:
    if printing.as_json:
        table = found.table().to_dict("records")
        merits = None if calibration is None else calibration.figures.to_dict("records")
        account = {"input": source, "table": table, "components": found.rank, "shown": chosen}
        as_json({**account, "verdict": found.verdict(), "merits": merits, "written": written})
    if not printing.for_people:
        return
    from vaecp.show.report.parafac import rank_rows

    print_rows(COLUMNS, rank_rows(found), f"{source.name}: PARAFAC, halves of {found.split_mode}")
    typer.echo(f"{found.verdict()}\n")
    if calibration is not None:
        rows = [
            [text_of(cell) for cell in row] for row in calibration.figures[list(MERITS)].to_numpy()
        ]
        title = f"Concentrations from {chosen} components"
        print_rows([name.replace("_percent", " (%)") for name in MERITS], rows, title)
    typer.echo(f"Written: {', '.join(map(str, written))}")
