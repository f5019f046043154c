"""Which kinds of files can be made here: some need a library that may be absent."""

from collections.abc import Iterable
from importlib.util import find_spec

NEEDED = {
    ".xlsx": ("openpyxl",),
    ".nc": ("h5py", "h5netcdf"),
    "v73.mat": ("h5py",),
    ".v73.mat": ("h5py",),
}


def lacking(name: str) -> list[str]:
    """Return the libraries that a kind of file needs, and that are absent."""
    return [library for library in NEEDED.get(name, ()) if find_spec(library) is None]


def possible(names: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of files that can be made."""
    return tuple(name for name in names if not lacking(name))
