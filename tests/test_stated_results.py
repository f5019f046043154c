"""Numbers that people read come from the runs that are kept beside them."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from vaecp.experiments import BEST, Results, markdown, medians, summarise
from vaecp.experiments import METHODS as METHODS_OF_THE_STUDY
from vaecp.reproduction import FULL

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
    section = (ROOT / "README.md").read_text().split("## How it compares")[1].split("\n##")[0]
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


def test_the_medians_of_the_full_study_are_those_of_its_runs(tmp_path):
    folder = ROOT / "docs" / "results" / "paper"
    shutil.copy(folder / "results.json", tmp_path)
    found = medians(Results(tmp_path).frame(), BEST)
    assert found.shape == (7, len(METHODS_OF_THE_STUDY))
    table = markdown(found.reset_index())
    for page in (ROOT / "README.md", folder / "README.md"):
        assert table in page.read_text()


def test_every_method_has_all_repeats_on_every_tensor_of_the_study(tmp_path):
    shutil.copy(ROOT / "docs" / "results" / "paper" / "results.json", tmp_path)
    found = summarise(Results(tmp_path).frame())
    assert len(found) == 2 * 7 * len(METHODS_OF_THE_STUDY)
    assert (found["repeats"] == FULL.protocol.repeats).all()
