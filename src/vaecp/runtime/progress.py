"""How far a long computation is: loops report, and whoever started them may watch.

Loops know nothing of who watches, or whether anyone does, so that the same code runs under a
progress bar, in a process of its own, or in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Watcher = Callable[[int, int, str], None]
"""Takes how many steps are done, how many there are at most, and what they are called.

Of a whole that is no loop, steps are hundredths of the time that it takes about, and are called "% doing this".
"""

Move = Callable[..., None]

BAR = 8
"""Its width: with what is done and the times, a bar fits into 80 columns."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Let `watcher` know of every step that is reported inside the block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def is_watched() -> bool:
    """Return whether a report would reach anyone."""
    return _WATCHER.get() is not None


def reporting(model: Any) -> Any:
    """Ask a method that reports only when asked to do so, if anyone watches."""
    return model.set_params(verbose=True) if is_watched() and _may_report(model) else model


def silenced(model: Any) -> Any:
    """Undo `reporting`, so that a saved model does not draw bars where it is used."""
    return model.set_params(verbose=False) if _may_report(model) else model


def _may_report(model: Any) -> bool:
    return "verbose" in model.get_params()


def report(done: int, total: int, unit: str) -> None:
    """Say that `done` of at most `total` steps are over."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(done, total, unit)


def steps(total: int, unit: str) -> Iterator[int]:
    """Count from 0 to `total - 1`, reporting each step as it begins.

    Examples
    --------
    >>> with watched(lambda done, total, unit: print(f"{done} of {total} {unit}")):
    ...     for step in steps(2, "sweeps"):
    ...         pass
    0 of 2 sweeps
    1 of 2 sweeps
    """
    for step in range(total):
        report(step, total, unit)
        yield step


@contextmanager
def progress_bar(title: str, shown: bool = True) -> Iterator[Watcher | None]:
    """Yield what takes steps done: a bar with the time left, whoever watches, None if not shown."""
    if not shown or is_watched():
        yield report if shown else None
        return
    with bar(title) as move:
        yield watcher_of(move)


def watcher_of(move: Move) -> Watcher:
    """Return what moves a bar whenever steps are reported."""

    def watcher(done: int, total: int, unit: str) -> None:
        count = f"{done} {unit}" if unit.startswith("%") else f"{done}/{total} {unit}"
        move(done, max(done, total), count)

    return watcher


@contextmanager
def bar(title: str, *, transient: bool = False, disable: bool = False) -> Iterator[Move]:
    """Draw the one bar of this package on standard error, and yield what moves it.

    It is given what is done and what there is in all, in any unit, words for both, and text that
    stands under the bar on as many lines as it takes.
    """
    from rich import progress as rich
    from rich.console import Console
    from rich.text import Text

    class Times(rich.ProgressColumn):
        """Time left by the speed since the beginning: that of the last steps says little where these differ."""

        def render(self, task: rich.Task) -> Text:
            elapsed, left = task.elapsed or 0.0, "-:--"
            if task.completed and task.total:
                left = _clock(elapsed * (task.total / task.completed - 1))
            return Text(f"{_clock(elapsed)}, left {left}")

    class WithText(rich.Progress):
        def get_renderables(self):
            yield self.make_tasks_table(self.tasks)
            yield from (Text(task.fields["below"]) for task in self.tasks if task.fields["below"])

    columns = (
        "{task.description}",
        rich.BarColumn(bar_width=BAR),
        "{task.fields[count]}",
        Times(),
    )
    console = Console(stderr=True)
    room = max(console.width - len(title) - BAR - len("0:00, left 0:00") - 3, 8)
    with WithText(*columns, console=console, transient=transient, disable=disable) as progress:
        task = progress.add_task(title, total=None, count="", below="")

        def move(done: float, total: float, count: str, below: str = "") -> None:
            if done < progress.tasks[0].completed:  # a new loop has a speed of its own
                progress.reset(task)
            if len(count) > room:  # the times are what must not be cut
                count = f"{count[: room - 1]}\u2026"
            progress.update(task, completed=done, total=total, count=count, below=below)

        yield move


def _clock(seconds: float) -> str:
    """Return 1:23, or 4:01:23 from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def is_terminal() -> bool:
    """Whether standard error is a terminal."""
    from rich.console import Console

    return Console(stderr=True).is_terminal
