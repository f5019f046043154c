"""Where a fit runs, and where its entries lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vaecp.models.base import TensorEstimator

MACHINES = "Machines"


@dataclass(frozen=True)
class Machines:
    """Where a fit runs."""

    devices: Annotated[
        str | None,
        typer.Option(
            help="Where networks are trained: cpu, gpu, all, or numbers of devices such as 0,1; "
            "JAX's first device by default.",
            rich_help_panel=MACHINES,
        ),
    ] = None

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

    def streams(self, source: Path) -> bool:
        """Whether entries are left on disk."""
        if self.stream or source.expanduser().is_dir():
            return True
        if source.suffix.lower() != ".parquet" or not source.expanduser().is_file():
            return False
        from vaecp.formats.parquet import is_vast

        return is_vast(source.expanduser())

    def given_to(self, model: TensorEstimator) -> TensorEstimator:
        """Return the model with the devices that were asked for."""
        if self.devices is None:
            return model
        if "devices" not in model.get_params():
            raise typer.BadParameter(
                f"--devices is {self.devices!r}, but {type(model).__name__} does not choose: leave "
                "it out, or use VAECP."
            )
        return model.set_params(devices=_devices(self.devices))


def _devices(text: str) -> Any:
    """Return a kind of device as it is, and numbers as integers; JAX knows which there are."""
    from vaecp.runtime.placement import Placement

    numbers = text.replace(",", "").replace(" ", "").isdigit()
    found = [int(number) for number in text.split(",") if number.strip()] if numbers else text
    try:
        Placement.on(found)
    except ValueError as error:
        raise typer.BadParameter(str(error).replace("devices is", "--devices is")) from None
    return found
