"""Numbers that people read come from the runs that are kept beside them."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from accuracy_table import NAMES, best_settings, latest, middle, table  # noqa: E402

RUNS = ROOT / "docs" / "results" / "accuracy.jsonl"
METHODS = {name: method for method, name in NAMES.items()}


def runs() -> list[dict]:
    return latest([json.loads(line) for line in RUNS.read_text().splitlines()])


def measured(tensor: str, method: str) -> str:
    """The middle RMSE over splits at a method's best settings; nothing where it was not run."""
    here = [r for r in runs() if (r["dataset"], r["gaps"]) == (tensor, "random-20")]
    found = best_settings(here).get(METHODS[method])
    return f"{middle(found, 'rmse'):.3g}" if found else ""


def stated() -> list[tuple[str, str, str]]:
    """The cells of the README's table: tensor, method, number."""
    section = (ROOT / "README.md").read_text().split("## How it compares")[1].split("\n## ")[0]
    rows = [
        [re.sub(r"[`*]", "", cell).strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|") and "---" not in line
    ]
    return [
        (row[0], method, cell)
        for row in rows[1:]
        for method, cell in zip(rows[0][1:], row[1:], strict=True)
    ]


def test_the_readme_states_every_method_on_every_tensor():
    assert {method for _, method, _ in stated()} == set(METHODS)
    assert len({tensor for tensor, _, _ in stated()}) == 8


@pytest.mark.parametrize(("tensor", "method", "number"), stated())
def test_the_readme_states_what_the_runs_measured(tensor, method, number):
    assert number == measured(tensor, method)


def test_the_table_of_results_is_that_of_the_runs():
    kept = (ROOT / "docs" / "results" / "accuracy-table.md").read_text()
    assert table(runs()) in kept
