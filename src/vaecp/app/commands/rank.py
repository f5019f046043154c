"""`vaecp rank`: how the error of VAECP depends on the rank, on a person's own file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vaecp.app.commands.measuring import (
    QUICK_RANKS,
    command_for,
    kept_results,
    nothing_measured,
    ranks_of,
    read_entries,
    settings_for,
    tell,
    told_failures,
)
from vaecp.app.commands.options import Printing, Source, Trials, Values, resumable
from vaecp.app.commands.printing import kept_warnings, working
from vaecp.app.commands.reading import Reading, Text
from vaecp.runtime.files import write_figure

CURVE = (5, 10, 15, 20, 30, 40, 50, 75, 100)
EXAMPLES = """Examples:

$ vaecp rank spectra.csv --quick

$ vaecp rank spectra.csv --ranks 5,10,20,40"""


def rank(
    source: Source,
    reading: Reading,
    text: Text,
    trials: Trials,
    printing: Printing,
    values: Values = "auto",
) -> None:
    """Show how the error of VAECP on INPUT depends on the rank, by cross-validation.

    Finished runs are kept in the output folder, and are not made again.
    """
    from vaecp.runtime.extras import require
    from vaecp.study import experiments

    require("matplotlib", "plots", "the rank curve")
    tried = ranks_of(trials, QUICK_RANKS if trials.quick else CURVE)
    candidates = experiments.candidates(["VAECP"], tried, settings_for(values))
    observations = read_entries(source, reading, text, printing)
    case = experiments.Case(source.name, observations, candidates)
    folder = trials.output or Path(f"{source.stem}-rank")
    results = kept_results(folder, printing)
    frame = _curve(case, results, folder, trials, printing)
    failed = told_failures(frame, printing)
    measured = frame[frame["rmse"].notna()]
    if measured.empty:
        raise nothing_measured(folder)
    curve = measured.groupby("rank")["rmse"].agg(["median", "min", "max"])
    title = f"VAECP on {source.name}: cross-validated RMSE" + (" (quick)" if trials.quick else "")
    best = int(curve["median"].idxmin())
    effective = _effective_rank(observations, values, trials, printing)
    write_figure(folder / "rank.png", _rank_curve(measured, title, effective).figure)
    account = {
        "input": source,
        "table": curve.reset_index().to_dict("records"),
        "best_rank": best,
        "effective_rank": effective,
        "command": command_for(source, "VAECP", best, reading.words(text), values),
        "notes": observations.notes,
        "failures": failed,
        "written": [folder / "rank.png", results.path],
    }
    printed = curve.reset_index().rename(columns={"min": "lowest fold", "max": "highest fold"})
    tell(account, printed, title, _verdict(best, *effective.values()), printing)


def _verdict(best: int, count: int, low: int, high: int) -> str:
    likely = f" ({low} to {high} are 90 % likely)" if low < high else ""
    return (
        f"A fit that chooses by itself has {count} components above the noise{likely}. "
        f"The lowest error is at rank {best}."
    )


def _effective_rank(
    observations: Any, values: str, trials: Trials, printing: Printing
) -> dict[str, int]:
    """Fit once, the rank left to the data, and count the components that rise above the noise."""
    from vaecp.models.vaecp.estimator import VAECP

    with kept_warnings(printing), working("Counting components", printing):
        size = "quick" if trials.quick else "normal"
        settings = {
            **settings_for(values).get("VAECP", {}),
            "effort": size,
            "random_state": trials.seed,
        }
        model = VAECP(**settings).fit_tensor(observations)
    low, high = model.effective_rank_range_
    return {"count": model.effective_rank_, "low": low, "high": high}


def _curve(case: Any, results: Any, folder: Path, trials: Trials, printing: Printing) -> Any:
    """Make the folds of VAECP, and return their rows."""
    from vaecp.study import experiments

    runs = experiments.fold_runs(case, trials.protocol(), always=True)
    with resumable(folder):
        experiments.carry_out(
            runs,
            [case.tensor],
            results,
            title="Folds",
            **trials.options(printing.for_people),
        )
    return results.frame(runs)


def _rank_curve(measured: Any, title: str, effective: dict[str, int]) -> Any:
    from vaecp.show.plots import plot_rank_curve

    ax = plot_rank_curve(measured, effective=tuple(effective.values()))
    ax.set_title(title)
    return ax
