"""Call the command line as a person does, and look at how it refuses."""

from __future__ import annotations

from typer.testing import CliRunner

from vaecp.app import cli
from vaecp.models import registry


def run(*arguments, **settings):
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments], **settings)


def assert_refused(outcome, line):
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.startswith("vaecp: error: ")
    assert outcome.stderr.count("\n") == 1
    assert line in outcome.stderr
    assert outcome.stdout == ""


def stand_in(monkeypatch, method):
    """Let a method stand in for the one of its name, until the test ends."""
    monkeypatch.setitem(registry._METHODS, method.name, method)
