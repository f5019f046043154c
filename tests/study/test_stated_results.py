"""Numbers that people read come from the runs that are kept beside them."""

import importlib.util
from pathlib import Path

import pytest

from vaecp.study.evaluation.page import full_table
from vaecp.study.evaluation.tables import at_best
from vaecp.study.experiments import BEST, markdown, medians, summarise
from vaecp.study.reproduction.study import METHODS, NAMES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    """The program that writes the tables."""
    spec = importlib.util.spec_from_file_location("pages", ROOT / "tools" / "results_pages.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_readme_has_the_tables_of_the_runs(pages):
    text = (ROOT / "README.md").read_text()
    assert pages.with_tables(text, pages.readme_tables()) == text


def test_a_table_that_was_altered_by_hand_is_found(pages):
    text = (ROOT / "README.md").read_text()
    altered = text.replace("**0.", "**0.0", 1)
    assert altered != text
    assert pages.with_tables(altered, pages.readme_tables()) == text


def test_a_readme_without_the_places_for_tables_is_refused(pages):
    with pytest.raises(SystemExit, match="table of gaps begins -->"):
        pages.with_tables("# vaecp", {"gaps": "| |"})


def test_the_page_of_gaps_is_that_of_the_runs(pages):
    kept = (ROOT / "docs" / "results" / "gaps" / "README.md").read_text()
    assert full_table(at_best(pages.runs_of("gaps"))) in kept


def test_the_page_of_the_study_is_that_of_its_runs(pages):
    found = pages.runs_of("paper")
    kept = (ROOT / "docs" / "results" / "paper" / "README.md").read_text()
    assert markdown(medians(found, BEST).reset_index()) in kept


def test_every_method_has_as_many_repeats_on_every_tensor_of_the_study(pages):
    found = summarise(pages.runs_of("paper"))
    best = found[found["comparison"] == BEST]
    assert set(best["dataset"]) == set(NAMES)
    assert set(best["method"]) == set(METHODS)
    assert (best.groupby("dataset")["repeats"].nunique() == 1).all()
