"""`vaecp evaluate`: the table of gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vaecp.app.commands import suggestions
from vaecp.app.commands.options import Making, Printing, names_in, resumable
from vaecp.app.commands.printing import print_written

EXAMPLES = """Examples:

$ vaecp evaluate --only amino,il2 --gaps fibres,blocks

$ vaecp evaluate --methods VAECP,SMURFF --only movielens --gaps published

$ vaecp evaluate --ablation --only amino,alog --splits 3

$ vaecp evaluate -o evidence/gaps --tables-only --pages docs/results/gaps"""


Only = Annotated[
    str | None,
    typer.Option(
        help="Tensors, separated by commas, such as amino,alog; all by default.",
        autocompletion=suggestions.evaluated,
    ),
]
Gaps = Annotated[
    str | None,
    typer.Option(
        help="Patterns of gaps, by the beginning of their names, separated by commas: scattered, "
        "scattered-20, fibres, fibres:2, slabs, blocks, moved, published. All by default."
    ),
]
Settings = Annotated[
    int | None,
    typer.Option(min=1, help="With how many of its settings a rival is tried at most: all."),
]
Ablation = Annotated[
    bool,
    typer.Option(
        "--ablation",
        help="Leave parts out of VAECP instead: on scattered-20 and published, or --gaps.",
    ),
]
Confirm = Annotated[
    int,
    typer.Option(
        min=0,
        help="Where the code of a method has changed, make so many of its runs on every tensor again, and keep "
        "the others if these come out the same. 0 makes all of them again.",
    ),
]


def evaluate(
    printing: Printing,
    making: Making,
    only: Only = None,
    gaps: Gaps = None,
    splits: Annotated[int, typer.Option(min=1, help="How many splits per cell.")] = 5,
    settings: Settings = None,
    ablation: Ablation = False,
    confirm: Confirm = 0,
) -> None:
    """Hide entries of real tensors in many ways, fill them with VAECP and other methods, and compare.

    The page has RMSE, MAE, NLL, CRPS and what intervals hold for every tensor, kind of gaps and
    method. Finished runs are kept in the output folder (vaecp-gaps), and are not made again. All of
    it takes days on two cores.
    """
    from vaecp.study import evaluation
    from vaecp.study.experiments import Results

    output = making.output or Path("vaecp-ablation" if ablation else "vaecp-gaps")
    command = f"vaecp evaluate{' --ablation' if ablation else ''} -o {output}"
    if making.tables_only:
        written = evaluation.publish(output, Results(output), command, making.pages)
    else:
        with resumable(output):
            written = evaluation.evaluate(
                output,
                only=names_in(only),
                gaps=names_in(gaps),
                n_splits=splits,
                seed=making.seed,
                ablation=ablation,
                most_settings=settings,
                confirm=confirm,
                command=command,
                **making.options(printing.for_people),
            )
    print_written({"output": output, "written": written}, printing)
