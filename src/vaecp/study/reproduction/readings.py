"""What the published recipe comes to, as it is read: its rate, length, KL and variance head.

The paper names rates but no number of steps, and states its bound in two ways, so that there is
more than one way to train its model. Each reading changes one thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from vaecp.study.experiments import TRAINING, Case, Run, settings_of
from vaecp.study.experiments.results import Table
from vaecp.study.reproduction.study import BATCH, SYNTHETIC, SYNTHETIC_RATE, Study, epochs_of

TENSORS = ("synthetic r=10", "amino")
LARGE_RATE = 1e-3
"""Beyond the paper's, to tell slow training from none."""


def reading_runs(study: Study, chosen: Sequence[Case]) -> list[Run]:
    """List the runs: every reading on one synthetic and one real tensor, on the first split."""
    return [
        Run(
            dataset=case.name,
            data=case.data,
            method="VAECP.paper",
            settings=settings,
            comparison=TRAINING,
            held_out=study.protocol.held_out,
            seed=study.protocol.seed,
        )
        for case in chosen
        if case.name in TENSORS and "VAECP.paper" in case.candidates
        for settings in _readings(case, study)
    ]


def _readings(case: Case, study: Study) -> list[Any]:
    true_rank = SYNTHETIC.get(case.name)
    rate = SYNTHETIC_RATE if true_rank else study.paper_rate
    least, *more = study.reading_steps
    per_batch = (1 - study.protocol.held_out) * len(case.observations) / BATCH
    changes: list[dict[str, Any]] = [{"n_steps": least}]
    changes += [{"n_steps": n_steps} for n_steps in more]
    for each in (rate, LARGE_RATE):
        changes += [
            {"learning_rate": each},
            {"learning_rate": each, "recipe__kl_weight": 0.0},
            {"learning_rate": each, "recipe__kl_weight": round(per_batch, 1)},
            {"learning_rate": each, "recipe__scale_from": 1.0},
        ]
    found = []
    for change in changes:
        given = {"learning_rate": rate, "n_steps": least} | change
        n_epochs = epochs_of(given.pop("n_steps"), case.observations, study)
        found.append(
            settings_of(
                rank=true_rank or 20,
                hidden=50 if true_rank else 100,
                max_epochs=n_epochs,
                recipe__held_out=True,  # to watch the error; the published fits hold out none
                **given,
            )
        )
    return list(dict.fromkeys(found))


def readings_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return a line per reading: what it is, and where error and bound went."""
    lines = []
    for record in records:
        given, history = record["settings"], record.get("history")
        if not history or not np.isfinite(record["rmse"]):
            continue
        rmse, elbo = history["validation_rmse"], history["elbo"]
        half = len(rmse) // 2
        lines.append(
            {
                "tensor": record["dataset"],
                "rate": f"{given['learning_rate']:g}",
                "epochs": len(rmse),
                "KL": _kl(given.get("recipe__kl_weight", 1.0)),
                "noise": "one level" if given.get("recipe__scale_from") else "variance head",
                "RMSE, hidden entries": f"{record['rmse']:.3g}",
                "validation RMSE, first, half-way, last": _three(rmse, half, "{:.3g}"),
                "bound, first, half-way, last": _three(elbo, half, "{:,.0f}"),
                "seconds": f"{record['seconds']:.0f}",
            }
        )
    table = pd.DataFrame(lines)
    by = ["tensor", "noise", "rate", "epochs", "KL"]
    return table if table.empty else table.sort_values(by, key=_order, kind="stable")


def _order(column: Table) -> Table:
    return column.astype(float) if column.name in ("rate", "epochs") else column


def _kl(weight: float) -> str:
    if weight == 1.0:
        return "once per row"
    return "left out" if weight == 0.0 else f"{weight:g} times (likelihood not scaled up)"


def _three(values: Sequence[float], half: int, form: str) -> str:
    return ", ".join(form.format(values[place]) for place in (0, half, -1))
