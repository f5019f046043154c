"""A format of another author: one class, one registration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from vaecp.data.observations import Observations
from vaecp.errors import FormatError
from vaecp.formats import read, registry, write
from vaecp.formats.common import named_arrays
from vaecp.formats.registry import FileKind, Format
from vaecp.outcomes.store import load


class Nested(Format):
    """Nested lists in JSON, null where unknown."""

    def read(self, path, request):
        array = np.array(json.loads(path.read_text()), dtype=float)
        return Observations.from_array(array, mode_names=request.modes or ())

    def write(self, observations, path, shown):
        self._save(observations.to_array(), path)

    def write_completion(self, completion, path, shown):
        self._save(named_arrays(completion)["value"], path)

    @staticmethod
    def _save(array, path):
        path.write_text(json.dumps(np.where(np.isnan(array), None, array).tolist()))


@pytest.fixture
def nested(monkeypatch):
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    registry.register(FileKind((".nested",), Nested()))


def test_a_registered_format_gives_back_what_it_was_given(nested, tmp_path):
    given = Observations.from_array([[1.0, np.nan], [3.0, 4.0]])
    write(given, tmp_path / "t.nested")
    back = read(tmp_path / "t.nested", modes=["a", "b"])
    np.testing.assert_array_equal(back.to_array(), given.to_array())
    assert back.mode_names == ("a", "b")


def test_a_registered_format_stands_in_messages_and_help(nested, tmp_path):
    with pytest.raises(FormatError, match=r"reads and writes .*\.nc and \.nested files"):
        read(tmp_path / "missing.nested")
    assert ".nested" in run("complete", "--help").stdout
    assert ".nested" in run("datasets", "write", "--help").stdout


def test_the_commands_read_and_write_a_registered_format(nested, tmp_path):
    source, output = tmp_path / "in.nested", tmp_path / "out.nested"
    source.write_text("[[1, 2, 3], [2, 4, 6], [3, 6, null]]")
    outcome = run("complete", source, "-o", output, "--method", "CPALS", "--rank", 1)
    assert outcome.exit_code == 0, outcome.output
    filled = np.array(json.loads(output.read_text()), dtype=float)
    np.testing.assert_array_equal(filled[:2], [[1, 2, 3], [2, 4, 6]])
    assert np.isfinite(filled).all()


def test_a_table_of_a_registered_format_is_compared_reported_saved_and_predicted(nested, tmp_path):
    pytest.importorskip("plotly")
    pytest.importorskip("matplotlib")
    source, saved, page = (tmp_path / name for name in ("in.nested", "m.vaecp", "page.html"))
    random = np.random.default_rng(0)
    table = np.outer(1 + random.random(6), 1 + random.random(5))
    write(Observations.from_array(np.where(table < 3, table, np.nan)), source)
    fitting = ("--method", "CPALS", "--rank", 1, "--save", saved, "--report", page, "--no-check")
    comparing = ("--methods", "HOSVD", "--ranks", "1", "--repeats", 1, "--jobs", 1)
    for arguments in (
        ("complete", source, "-o", tmp_path / "out.nested", *fitting),
        ("compare", source, "-o", tmp_path / "compared", *comparing),
        ("report", saved, "--data", source, "-o", page, "--no-check"),
    ):
        outcome = run(*arguments)
        assert outcome.exit_code == 0, outcome.output
    assert "in.nested" in page.read_text()
    assert "HOSVD" in (tmp_path / "compared" / "table.md").read_text()
    filled = np.array(json.loads((tmp_path / "out.nested").read_text()))
    model = load(saved)
    np.testing.assert_allclose(
        filled[table >= 3], model.predict(np.argwhere(table >= 3)), rtol=1e-3
    )


UNEXPECTED = {
    "an index": IndexError("tuple index\nout of range"),
    "a key": KeyError("values"),
    "nothing said": AssertionError(),
    "nesting": RecursionError("maximum recursion depth exceeded"),
    "a name": AttributeError("'NoneType' object has no attribute 'shape'"),
    "memory": MemoryError(),
}


@pytest.mark.parametrize("error", UNEXPECTED.values(), ids=UNEXPECTED)
def test_whatever_a_reader_raises_is_one_line_that_names_the_file(
    nested, monkeypatch, tmp_path, error
):
    def read_badly(self, path, request):
        raise error

    monkeypatch.setattr(Nested, "read", read_badly)
    path = tmp_path / "t.nested"
    path.write_text("[[1, 2], [3, 4]]")
    outcome = run("complete", path, "-o", tmp_path / "out.nested")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"vaecp: error: {path}: ")
    assert outcome.stderr.count("\n") == 1
    shown = run("--debug", "complete", path, "-o", tmp_path / "out.nested")
    assert "Traceback (most recent call last)" in shown.stderr
    assert "read_badly" in shown.stderr
    assert shown.exit_code == 2


def test_a_format_is_forgotten_with_its_registration():
    assert ".nested" not in registry.suffixes()


def test_suffixes_are_found_at_the_end_of_a_name():
    assert registry.suffix_of(Path("a.b.TNS.GZ")) == ".tns.gz"
    assert registry.listed(tables_only=True, last="or") == ".csv, .tsv, .parquet or .xlsx"
