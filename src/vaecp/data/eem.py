"""Excitation-emission matrices: scattered light, and what lies below the diagonal.

Light that a sample scatters hides its fluorescence. Rayleigh scatter of order n lies where the
emission is n times the excitation; Raman scatter of water lies 3,382 per centimetre lower in
energy than the excitation, and its second order at twice that wavelength.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.sampling import zero_at
from vaecp.errors import ObservationError

RAMAN_SHIFT = 3382.0
"""Of water, per centimetre."""
NM_PER_CM = 1e7

Below = Literal["keep", "zero", "missing"]
PATTERN = re.compile(r"(rayleigh|raman)(?::([12]))?=(\d+(?:\.\d+)?)(?:/(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Band:
    """A band of scatter: so many nanometres below and above its middle."""

    kind: str
    order: int
    below: float
    above: float

    def middle(self, excitation: np.ndarray) -> np.ndarray:
        """Return the emission at which it lies, in nanometres."""
        if self.kind == "rayleigh":
            return self.order * excitation
        return self.order * NM_PER_CM / (NM_PER_CM / excitation - RAMAN_SHIFT)

    def holds(self, excitation: np.ndarray, emission: np.ndarray) -> np.ndarray:
        """Whether a wavelength pair lies in it."""
        away = emission - self.middle(excitation)
        return (-self.below <= away) & (away <= self.above)


def parse_bands(text: str) -> tuple[Band, ...]:
    """Read bands as people write them: kind, order and width in nanometres.

    Examples
    --------
    >>> parse_bands("rayleigh:1=15,raman:1=8/12")
    (Band(kind='rayleigh', order=1, below=15.0, above=15.0),
     Band(kind='raman', order=1, below=8.0, above=12.0))
    """
    return tuple(_band(part.strip()) for part in text.split(","))


def _band(text: str) -> Band:
    found = PATTERN.fullmatch(text.lower())
    if found is None:
        raise ObservationError(
            f"the band of scatter {text!r} is not understood: write rayleigh or raman, the order (1 "
            "or 2) and the width in nm, as in rayleigh:1=15 or raman:2=10/20 (below/above)."
        )
    kind, order, below, above = found.groups()
    return Band(kind, int(order or 1), float(below), float(above or below))


def eem_modes(
    observations: Observations, excitation: str | None = None, emission: str | None = None
) -> tuple[int, int]:
    """Return which modes are excitation and emission: by name, or as told."""
    found = find_eem_modes(observations.mode_names, excitation, emission)
    if found is None:
        names = ", ".join(map(repr, observations.mode_names))
        raise ObservationError(
            f"the modes {names} do not tell which of them are excitation and emission: call them so "
            "(--modes sample,excitation,emission for an array)."
        )
    for mode in found:
        if observations.labels[mode].dtype.kind not in "iuf":
            raise ObservationError(
                f"mode {observations.mode_names[mode]!r} has the label "
                f"{str(observations.labels[mode][0])!r}: wavelengths must be numbers, in nm."
            )
    return found


def find_eem_modes(
    names: Sequence[str], excitation: str | None = None, emission: str | None = None
) -> tuple[int, int] | None:
    """Return the places of excitation and emission among names of modes, or None.

    Examples
    --------
    >>> find_eem_modes(["sample", "EmAx", "ExAx"])
    (2, 1)
    """
    found = []
    for given, start in ((excitation, "ex"), (emission, "em")):
        alike = [place for place, name in enumerate(names) if name.lower().startswith(start)]
        if given is not None:
            alike = [place for place, name in enumerate(names) if name == given]
        if len(alike) != 1:
            return None
        found.append(alike[0])
    return found[0], found[1]


def without_scatter(
    observations: Observations,
    bands: str | Sequence[Band] = (),
    below: Below = "keep",
    *,
    excitation: str | None = None,
    emission: str | None = None,
) -> Observations:
    """Set bands of scatter to missing, and what lies below the diagonal to missing or zero.

    Parameters
    ----------
    observations : with a mode of excitation and one of emission wavelengths, in nanometres.
    bands : such as "rayleigh:1=15,raman:1=8/12": kind, order, and width below and above.
    below : what becomes of entries whose emission is shorter than their excitation, where
        nothing fluoresces: "keep" them, set them to "missing", or to "zero" even where nothing was
        measured. Bands are missing whatever is said here.
    excitation, emission : the names of these modes, where they do not begin with ex and em.
    """
    if below not in get_args(Below):
        raise ObservationError(f"below is {below!r}: use 'keep', 'zero' or 'missing'.")
    parsed = parse_bands(bands) if isinstance(bands, str) else tuple(bands)
    modes = eem_modes(observations, excitation, emission)
    wavelengths = [observations.labels[mode].astype(np.float64) for mode in modes]
    grid = np.meshgrid(*wavelengths, indexing="ij")
    scattered = np.zeros(grid[0].shape, dtype=bool)
    for band in parsed:
        scattered |= band.holds(*grid)
    dark = (grid[1] < grid[0]) & ~scattered
    removed = scattered if below == "keep" else scattered | dark
    kept = observations.take(~removed[tuple(observations.indices[:, mode] for mode in modes)])
    if kept.limits is not None:
        clear = ~removed[tuple(kept.limits.indices[:, mode] for mode in modes)]
        kept = replace(kept, limits=kept.limits.kept(clear))
    return _with_zeros(kept, modes, dark) if below == "zero" else kept


def _with_zeros(
    observations: Observations, modes: tuple[int, int], where: np.ndarray
) -> Observations:
    """Observe a zero at these pairs of wavelengths, with every label of the other modes."""
    observations.refuse_if_vast()
    mask = np.zeros(observations.shape, dtype=bool)
    np.moveaxis(mask, modes, (-2, -1))[..., where] = True
    return zero_at(observations, np.argwhere(mask))
