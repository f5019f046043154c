"""What a command says when it cannot go on: one line on standard error, and an exit code.

0 done; 1 a defect of ours, which the line says how to report; 2 wrong usage or input; 130
interrupted with Ctrl-C. `--debug`, anywhere on the command line, shows the traceback as well.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from vaecp.app.commands.help_texts import FormatsInHelp
from vaecp.errors import VaecpError

DEFECT, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
DEBUG = "--debug"
STARTS_ANEW = (
    "vaecp: interrupted. No partial file was written: run the same command to start again."
)


class OneLineErrors(FormatsInHelp):
    """Says what went wrong in one line, without a traceback unless it was asked for."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        words = list(sys.argv[1:] if args is None else args)
        debug = DEBUG in words
        extra["standalone_mode"] = False
        try:
            code = super().main([word for word in words if word != DEBUG], *rest, **extra) or 0
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python would complain again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = BROKEN_PIPE
        except typer.Abort:
            code = say_interrupted()
        except Exception as error:
            if debug:
                traceback.print_exc()
            code, line = explained(error)
            if line:
                typer.echo(f"vaecp: {' '.join(line.split())}", err=True)
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(say_interrupted()) from None


def explained(error: Exception) -> tuple[int, str]:
    """Return the exit code and the line of an error, whoever raised it."""
    if isinstance(error, VaecpError):
        return WRONG_INPUT, f"error: {error}"
    if isinstance(error, OSError):
        return WRONG_INPUT, f"error: {error.filename or 'file'}: {error.strerror or error}"
    if isinstance(error, MemoryError):
        return WRONG_INPUT, (
            "error: there is not enough memory for this: give a smaller part of the data, a lower "
            "--rank, or use a machine with more."
        )
    usage = getattr(error, "format_message", None)
    if usage is not None:
        message = usage()  # empty where the help has been printed instead
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "vaecp"
        stop = "" if message.endswith((".", "?")) else "."
        return WRONG_INPUT, message and f"error: {message}{stop} Try '{command} --help'."
    last = traceback.extract_tb(error.__traceback__)[-1]
    return DEFECT, (
        f"defect: {type(error).__name__}: {str(error)[:200]} ({Path(last.filename).name}, line "
        f"{last.lineno}). The fault is in vaecp, not in what you gave: run the same command with "
        f"{DEBUG}, and report what it prints together with the command and `vaecp --version`."
    )


def say_interrupted() -> int:
    """Say that a command was interrupted, and return its exit code."""
    typer.echo(STARTS_ANEW, err=True)
    return INTERRUPTED
