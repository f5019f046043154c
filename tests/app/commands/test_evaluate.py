"""`vaecp evaluate`: a part of the table of gaps, from runs to pages."""

from __future__ import annotations

from command_line import assert_refused, run


def test_evaluate_makes_a_part_of_the_table_and_writes_it_again_without_runs(tmp_path):
    asked = ("--only", "synthetic", "--gaps", "slabs:0", "--methods", "mean, Row effects")
    outcome = run("evaluate", *asked, "--splits", 1, "--jobs", 1, "-o", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    page = (tmp_path / "README.md").read_text()
    assert "| synthetic | slabs of row | mean | defaults | 1 |" in page
    lines = (tmp_path / "results.jsonl").read_text()
    (tmp_path / "README.md").unlink()
    assert run("evaluate", "-o", tmp_path, "--tables-only").exit_code == 0
    assert (tmp_path / "README.md").read_text() == page
    assert (tmp_path / "results.jsonl").read_text() == lines
    elsewhere = tmp_path / "pages"
    outcome = run("evaluate", "-o", tmp_path, "--tables-only", "--pages", elsewhere)
    assert outcome.exit_code == 0, outcome.output
    assert (elsewhere / "README.md").read_text() == page
    assert_refused(run("evaluate", "--only", "moon", "-o", tmp_path), "use amino, fia, sugar")
