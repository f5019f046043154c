"""What must still be done when a program is stopped by Ctrl-C.

In a library Ctrl-C is an exception, which unwinds the stack. A command is stopped differently:
the exception could arise within a callback of a compiled library, which loses it or aborts. So
`end_on_interrupt` lets the signal itself end the process, after the actions that blocks of code
have registered with `on_interrupt` for as long as they run. A block that only waits for other
processes says so with `only_waiting`, and is unwound: it has more to put in order than actions do.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

Action = Callable[[], str | None]
"""Puts something in order, and may return the line that says how to go on."""

_ACTIONS: list[Action] = []
_WAITING: list[bool] = []


@contextmanager
def on_interrupt(action: Action) -> Iterator[None]:
    """Let an action be done if the process is stopped within the block."""
    _ACTIONS.append(action)
    try:
        yield
    finally:
        _ACTIONS.remove(action)


@contextmanager
def only_waiting() -> Iterator[None]:
    """Let the first Ctrl-C within the block be an exception after all."""
    _WAITING.append(True)
    try:
        yield
    finally:
        _WAITING.clear()


def end_on_interrupt(line: str) -> None:
    """End the process at Ctrl-C or a polite kill: the actions, one line, and no more.

    `line` is written unless an action has another.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        if _WAITING:
            _WAITING.clear()
            raise KeyboardInterrupt
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        said = line
        for action in reversed(_ACTIONS):
            with suppress(Exception):  # the others are still to be done
                said = action() or said
        with suppress(OSError):
            os.write(2, f"\n{said}\n".encode() if os.isatty(2) else f"{said}\n".encode())
        # No waiting for threads that compute, and nothing is freed that they still read.
        os._exit(128 + number)

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, stop)
