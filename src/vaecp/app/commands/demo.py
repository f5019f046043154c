"""`vaecp demo`: the main job on real data, checked on entries that the model did not see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vaecp.app.commands.options import Printing
from vaecp.app.commands.printing import as_json, print_summary, working

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator

DemoFolder = Annotated[Path, typer.Option("--output", "-o", help="Folder to write into.")]


def demonstrate(model: TensorEstimator, output: Path, seed: int, printing: Printing) -> None:
    """Fit, check, write and say what came out."""
    from vaecp.app import demo as story
    from vaecp.models.cp.estimators import CPALS
    from vaecp.runtime.progress import reporting

    with working("Immune responses", printing):
        result = story.run(reporting(model), {"masked CP": CPALS(random_state=seed)}, seed)
        written = story.write_results(result, output)
    if printing.as_json:
        as_json(_summary(result, written))
    elif not printing.quiet:
        print_summary(_rows(result, written), "Immune responses to interleukin 2")


def _summary(result: Any, written: list[Path]) -> dict[str, Any]:
    observations = result.completion.observations
    return {
        "shape": observations.shape,
        "observed": len(observations),
        "gaps_filled": len(observations.gaps()),
        "hidden": len(result.hidden),
        "rmse": result.rmse,
        "coverage_90": result.coverage,
        "seconds": round(result.seconds, 2),
        "written": written,
    }


def _rows(result: Any, written: list[Path]) -> dict[str, str]:
    observations = result.completion.observations
    return {
        "entries measured": f"{len(observations):,}",
        "of these hidden to check": f"{len(result.hidden):,}",
        "gaps filled": f"{len(observations.gaps()):,}",
        **{f"RMSE there: {name}": f"{error:.4f}" for name, error in result.rmse.items()},
        "inside the 90 % interval": f"{result.coverage:.1%}",
        "seconds to fit and fill": f"{result.seconds:.1f}",
        "written": ", ".join(map(str, written)),
    }
