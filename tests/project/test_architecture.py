"""The drawing of the rooms is that of the code, and the path of a table is the one it takes."""

import sys

import architecture
import pytest
from typer.testing import CliRunner

REMEDY = "run python tools/architecture.py, and read what changed"


def test_the_drawing_shows_the_imports_of_today():
    assert architecture.DRAWING.read_text(encoding="utf-8") == architecture.drawing(), REMEDY


def test_the_page_lists_the_path_of_today():
    assert architecture.PAGE.read_text(encoding="utf-8") == architecture.page(), REMEDY


def test_a_new_import_between_rooms_changes_the_drawing(monkeypatch):
    holds, uses = architecture.contents()
    assert "models" in uses["outcomes"]
    before = architecture.drawing()
    changed = uses | {"models": [*uses["models"], "outcomes"]}
    monkeypatch.setattr(architecture, "contents", lambda: (holds, changed))
    assert architecture.drawing() != before


def test_one_table_takes_the_path_that_is_drawn(tmp_path, monkeypatch):
    pytest.importorskip("plotly", reason="the report needs the extra vaecp[report]")
    from vaecp.app import cli

    values = [
        (i, j, (i + 1) * (j + 2) if (7 * i + j) % 5 else "") for i in range(6) for j in range(6)
    ]
    table = tmp_path / "data.csv"
    table.write_text("\n".join(["sample,time,value", *(f"s{i},{j},{v}" for i, j, v in values)]))
    monkeypatch.chdir(tmp_path)
    command = architecture.COMMAND.removeprefix("vaecp ").split()
    called = calls_of([*command, "--method", "HOSVD", "--rank", "1"], cli.app)
    assert (tmp_path / "page.html").exists()
    path = [step.function for step in architecture.PATH]
    assert [function for function in path if function not in called] == []
    assert [function for function in called if function in path] == path


def calls_of(arguments, app):
    """Run a command, and return the functions of the package that it calls, first calls first."""
    called = {}

    def note(frame, event, argument):
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.startswith("vaecp."):
                called.setdefault(f"{module}:{frame.f_code.co_qualname}", len(called))

    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        outcome = CliRunner().invoke(app, arguments)
    finally:
        sys.setprofile(earlier)
    assert outcome.exit_code == 0, outcome.output
    return list(called)
