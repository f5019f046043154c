"""Numbers that people read come from the runs that are kept beside them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from vaecp.experiments import BEST

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "docs" / "results" / "paper" / "results.json"


def medians() -> dict[tuple[str, str], str]:
    """Median RMSE per tensor and method, as it is printed."""
    errors: dict[tuple[str, str], list[float]] = {}
    for record in json.loads(RUNS.read_text()):
        if record["comparison"] == BEST and not record["error"]:
            errors.setdefault((record["dataset"], record["method"]), []).append(record["rmse"])
    return {key: f"{np.median(found):.3g}" for key, found in errors.items()}


def stated() -> list[tuple[str, str, str]]:
    """The cells of the README's table: tensor, method, number."""
    section = (ROOT / "README.md").read_text().split("## How it compares")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    methods, *rows = (
        [re.sub(r"[`*]|\(\)", "", cell).strip() for cell in line.strip("|").split("|")]
        for line in lines
        if "---" not in line
    )
    return [
        (row[0], method, cell)
        for row in rows
        for method, cell in zip(methods[1:], row[1:], strict=True)
    ]


def test_the_readme_states_all_methods_on_all_tensors():
    cells = stated()
    assert len({tensor for tensor, _, _ in cells}) == 7
    assert len({method for _, method, _ in cells}) == 8


@pytest.mark.parametrize(("tensor", "method", "number"), stated())
def test_the_readme_states_the_medians_of_the_runs(tensor, method, number):
    assert medians()[tensor, method] == number
