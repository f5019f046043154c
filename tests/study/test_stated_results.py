"""Numbers that people read come from the runs that are kept beside them."""

import re
from functools import cache
from pathlib import Path

import pytest

from vaecp.study.evaluation.page import full_table
from vaecp.study.evaluation.tables import at_best
from vaecp.study.experiments import BEST, Results, markdown, medians, summarise
from vaecp.study.reproduction import FULL
from vaecp.study.reproduction.study import METHODS as METHODS_OF_THE_STUDY

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "evidence"
METHODS = {"VAECP.paper()": "VAECP.paper", "masked CP": "CPALS"} | {
    name: name for name in ("VAECP", "FBCP", "SMURFF", "mean")
}
"""By what the README calls them."""


@cache
def best():
    return at_best(Results.read(EVIDENCE / "accuracy" / "results.jsonl").frame())


@cache
def study():
    return Results.read(EVIDENCE / "paper" / "results.jsonl").frame()


def measured(tensor: str, method: str) -> str:
    """The middle RMSE over splits at a method's best settings; alog's in its own unit."""
    gaps, column = ("published", "rmse_in_units") if tensor == "alog" else ("scattered", "rmse")
    here = best()[(best()["dataset"] == tensor) & (best()["gaps"] == gaps)]
    here = here[(here["method"] == METHODS[method]) & (here["held_out"] < 0.25)]
    return f"{here[column].item():.3g}" if len(here) else ""


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
    assert full_table(best()) in kept


def test_the_medians_of_the_full_study_are_those_of_its_runs():
    found = medians(study(), BEST)
    assert found.shape == (3 * 7, len(METHODS_OF_THE_STUDY))
    table = markdown(found.reset_index())
    for page in (ROOT / "README.md", ROOT / "docs" / "results" / "paper" / "README.md"):
        assert table in page.read_text()


def test_every_method_has_all_repeats_on_every_tensor_of_the_study():
    found = summarise(study())
    assert len(found) == 2 * 7 * len(METHODS_OF_THE_STUDY)
    assert (found["repeats"] == FULL.protocol.repeats).all()
