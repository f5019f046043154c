"""Groups of commands whose help names the file formats and kinds of values that there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperGroup

from vaecp.app.commands.suggestions import kinds_of_values
from vaecp.formats.registry import listed

FORMATS, TABLES, VALUES = "{formats}", "{tables}", "{values}"
"""Stand in a help text for suffixes and kinds of values, which a plug-in may add to."""


class FormatsInHelp(TyperGroup):
    """Fills in the suffixes and the kinds of values when a command is looked up."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for parameter in getattr(command, "params", ()):
            text = getattr(parameter, "help", None)
            if not text:
                continue
            for mark, words in WORDS.items():
                if mark in text:
                    parameter.help = text = text.replace(mark, words())
        return command


def _kinds_of_values() -> str:
    """Name every kind, and what people call it."""
    found = kinds_of_values().items()
    return ", ".join(f"{name} ({names[0]})" if names else name for name, names in found)


WORDS: dict[str, Callable[[], str]] = {
    FORMATS: lambda: listed(last="or"),
    TABLES: lambda: listed(tables_only=True, last="or"),
    VALUES: _kinds_of_values,
}
