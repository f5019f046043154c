"""A progress bar for training, drawn with Rich."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def progress_bar(title: str, n_epochs: int) -> Iterator[Callable[[int, dict], None]]:
    """Show epochs done, the validation RMSE and the time left."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} epochs  RMSE {task.fields[rmse]:.4g}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as progress:
        task = progress.add_task(title, total=n_epochs, rmse=float("nan"))

        def update(epochs_done: int, terms: dict[str, np.ndarray]) -> None:
            rmse = float(np.median(terms["validation_rmse"][-1]))
            progress.update(task, completed=epochs_done, rmse=rmse)

        yield update


@contextmanager
def no_progress() -> Iterator[None]:
    """Show nothing."""
    yield None
