"""Where a fit runs, where its entries lie, and where it keeps checkpoints."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from vaecp.app.commands.options import Printing
from vaecp.app.failures import explained
from vaecp.errors import ProcessError

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator

MACHINES = "Machines"
SECONDS_TO_LEAVE = 5.0
PLACE = re.compile(r"[0-9]{1,9}")
"""Of a device among JAX's, or a port."""


@dataclass(frozen=True)
class Devices:
    """On which devices a fit runs, and how much it tries."""

    devices: Annotated[
        str | None,
        typer.Option(
            help="Where networks are trained: cpu, gpu, all, or numbers of devices such as 0,1; "
            "JAX's first device by default.",
            rich_help_panel=MACHINES,
        ),
    ] = None
    effort: Annotated[
        str | None,
        typer.Option(
            help="How much VAECP tries: quick, normal, thorough, or a number of seconds; normal by "
            "default.",
        ),
    ] = None

    def given_to(self, model: TensorEstimator) -> TensorEstimator:
        """Return the model with the devices and the effort that were asked for."""
        given = {"devices": self.devices, "effort": self.effort}
        for name, text in given.items():
            if text is not None and name not in model.get_params():
                raise typer.BadParameter(
                    f"--{name} is {text!r}, but {type(model).__name__} does not choose: leave it "
                    "out, or use VAECP."
                )
        if self.devices is not None:
            model = model.set_params(devices=_devices(self.devices))
        return model if self.effort is None else model.set_params(effort=_effort(self.effort))


@dataclass(frozen=True)
class Machines(Devices):
    """Where a fit runs, and where its entries and checkpoints lie."""

    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read Parquet from disk piece by piece, as is done with folders and with files "
            "that do not fit in memory.",
            rich_help_panel=MACHINES,
        ),
    ] = False
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the encoded entries of Parquet that is read from disk; beside the "
            "data by default.",
            rich_help_panel=MACHINES,
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder in which the fit keeps how far it has come; the same command goes on "
            "from there.",
            rich_help_panel=MACHINES,
        ),
    ] = None
    checkpoint_every: Annotated[
        float,
        typer.Option(min=0.0, help="Minutes between checkpoints.", rich_help_panel=MACHINES),
    ] = 3.0
    distributed: Annotated[
        bool,
        typer.Option(
            "--distributed",
            help="Fit together with the other processes of a Slurm, Open MPI, Kubernetes or cloud TPU job.",
            rich_help_panel=MACHINES,
        ),
    ] = False
    coordinator: Annotated[
        str | None,
        typer.Option(
            help="Fit together with other processes: HOST:PORT of the first one.",
            rich_help_panel=MACHINES,
        ),
    ] = None
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="How many processes there are.", rich_help_panel=MACHINES),
    ] = None
    process_id: Annotated[
        int | None,
        typer.Option(min=0, help="Which of them this is, from 0.", rich_help_panel=MACHINES),
    ] = None

    @property
    def several(self) -> bool:
        """Whether this is one of several processes."""
        return self.distributed or self.coordinator is not None

    def streams(self, source: Path) -> bool:
        """Whether entries are left on disk."""
        path = source.expanduser()
        is_parquet = path.is_dir() or path.suffix.lower() == ".parquet"
        if (self.stream or self.several) and not is_parquet:
            raise typer.BadParameter(
                f"{source} is no Parquet, which is what --stream and several processes read: write "
                "it as .parquet first."
            )
        if self.stream or self.several or path.is_dir():
            return True
        if not is_parquet or not path.is_file():
            return False
        from vaecp.formats.parquet import is_vast

        return is_vast(path)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Work with the other processes; if one of them fails, so do all, each with one line."""
        given = (self.coordinator, self.processes, self.process_id)
        if any(each is not None for each in given) and None in given:
            raise typer.BadParameter(
                "--coordinator, --processes and --process-id go together: give all three, or "
                "--distributed where Slurm, Open MPI, Kubernetes or a cloud TPU started this."
            )
        if not self.several:
            yield
            return
        if self.coordinator is not None:
            _check_process(self.coordinator, self.processes or 1, self.process_id or 0)
        from vaecp.runtime.processes import join

        join(*given)
        try:
            yield
        except Exception as error:
            _end(self._told(error))

    def watched(self) -> AbstractContextManager:
        """End this process inside the block if another one hangs."""
        if not self.several:
            return nullcontext()
        from vaecp.runtime.liveness import watching

        return watching(lambda: _end(self._lost()))

    def said(self, printing: Printing) -> Printing:
        """Let only the first process speak."""
        from vaecp.runtime.processes import is_first

        return printing if is_first() else Printing(quiet=True)

    def checkpoints(self, model: Any, entries: Any) -> AbstractContextManager:
        """Keep checkpoints of the fit inside the block, if a folder was named."""
        from vaecp.models.keeping import checkpointed

        if self.checkpoint is not None and type(model).__name__ != "VAECP":
            raise typer.BadParameter(
                f"--checkpoint is {str(self.checkpoint)!r}, but {type(model).__name__} keeps none: "
                "leave it out, or use VAECP."
            )
        return checkpointed(model, entries, self.checkpoint, 60 * self.checkpoint_every)

    def _told(self, error: Exception) -> Exception:
        """A failure of the connection means that another process has ended."""
        from vaecp.runtime.processes import is_lost_connection

        return self._lost() if is_lost_connection(error) else error

    def _lost(self) -> ProcessError:
        kept = "start all processes again"
        if self.checkpoint is not None:
            kept += f"; they go on from the checkpoint in {self.checkpoint}"
        return ProcessError(
            f"another process ended, or its machine could not be reached any more: see what it said, "
            f"and {kept}."
        )


def _end(error: Exception) -> NoReturn:
    """Say why in one line, and end without waiting for processes that are no more."""
    from vaecp.runtime.processes import is_first

    code, line = explained(error)
    typer.echo(f"vaecp: {' '.join(line.split())}", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    if is_first():  # the others would crash at its end: they find out by themselves before
        time.sleep(SECONDS_TO_LEAVE)
    os._exit(code)


def _check_process(coordinator: str, n_processes: int, number: int) -> None:
    host, _, port = coordinator.rpartition(":")
    if not host or not PLACE.fullmatch(port) or not 0 < int(port) < 2**16:
        raise typer.BadParameter(
            f"--coordinator is {coordinator!r:.60}: give HOST:PORT of the first process, such as "
            "node1:9876."
        )
    if number >= n_processes:
        raise typer.BadParameter(
            f"--process-id is {number}, but there are {n_processes} processes: number them from 0 "
            f"to {n_processes - 1}."
        )


def _effort(text: str) -> str | float:
    from vaecp.models.vaecp.effort import effort_of

    try:
        found = float(text) if text.replace(".", "", 1).isdecimal() else text
        effort_of(found)
    except ValueError as error:
        raise typer.BadParameter(f"--{error}") from None
    return found


def _devices(text: str) -> Any:
    """Return a kind of device as it is, and numbers as integers; JAX knows which there are."""
    from vaecp.runtime.placement import Placement

    places = [place.strip() for place in text.split(",") if place.strip()]
    numbers = places and all(PLACE.fullmatch(place) for place in places)
    found = [int(place) for place in places] if numbers else text
    try:
        Placement.on(found)
    except ValueError as error:
        raise typer.BadParameter(str(error).replace("devices is", "--devices is")) from None
    return found
