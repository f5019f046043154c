"""A look at HDF5 files before their contents are read.

The HDF5 library must not hang on a damaged file. Text of any length lies in "global heaps": blocks of objects, each of which says how long it is.
The library walks from object to object, and for ever on the spot where one says 0. So the heaps
are walked here first. Their layout is that of the "HDF5 File Format Specification", III.E.

And a file must not show what another one holds: HDF5 can link to objects of other files, take the
numbers of a dataset from any file of the machine, and compose datasets of others.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vaecp.errors import FormatError
from vaecp.formats.common import BYTES_OF_CELL
from vaecp.runtime.memory import refuse_beyond_memory

_SIGNATURE = b"GCOL\x01\0\0\0"
_HEAP = struct.Struct("<8sQ")  # signature, version and padding; size
_OBJECT = struct.Struct("<HHIQ")  # number, references, padding; size
_LEAST_HEAP = 4096
MOST_OBJECTS = 50_000
"""Each takes a fraction of a millisecond to open."""
MOST_CHUNKS = 1_000_000
BYTES_OF_CHUNK = 4096
"""What the HDF5 library keeps of each chunk that it reads, beside its numbers."""


def refuse_endless_heaps(path: Path) -> None:
    """Refuse a file with a global heap whose objects do not lead to its end."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        start = content.find(_SIGNATURE)
        while start >= 0:
            if not _ends(content, start):
                raise FormatError(
                    f"{path}: is damaged in the block of text at byte {start:,}, so that reading it "
                    "would never end: write it again."
                )
            start = content.find(_SIGNATURE, start + 1)


def _ends(content: mmap.mmap, start: int) -> bool:
    """Whether every object of a heap lies within it and leads on; what is no heap does."""
    size = _HEAP.unpack_from(content, start)[1] if start + _HEAP.size <= len(content) else 0
    end = start + size
    if size < _LEAST_HEAP or end > len(content):
        return True
    place = start + _HEAP.size
    while place + _OBJECT.size <= end:
        number, _, _, length = _OBJECT.unpack_from(content, place)
        step = length if number == 0 else _OBJECT.size + (length + 7) // 8 * 8
        if step < _OBJECT.size or step > end - place:
            return False
        place += step
    return True


def refuse_other_files(file: Any, path: Path) -> None:
    """Refuse links to other files before any of them is followed, and objects without number."""
    n_links = 0

    def look(name: str, link: Any) -> FormatError | None:
        nonlocal n_links
        n_links += 1
        if n_links > MOST_OBJECTS:
            return too_many_objects(path)
        inside = type(link).__name__ in ("HardLink", "SoftLink")
        return None if inside else _is_elsewhere(path, name)

    if wrong := file.visititems_links(look):
        raise wrong


def refuse_stored_elsewhere(dataset: Any, path: Path) -> None:
    """Refuse a dataset whose numbers lie in other files."""
    if dataset.is_virtual or dataset.external:
        raise _is_elsewhere(path, dataset.name)


def refuse_vast_dataset(
    path: Path, shape: Sequence[int], chunks: Sequence[int] | None, n_bytes: int
) -> None:
    """Refuse what would not fit in memory, or take long, with `n_bytes` for each number."""
    refuse_beyond_memory(path, math.prod(map(float, shape)) * max(n_bytes, BYTES_OF_CELL))
    pairs = zip(shape, chunks or (), strict=False)
    n_chunks = math.prod(math.ceil(size / chunk) for size, chunk in pairs)
    if n_chunks > MOST_CHUNKS:
        raise FormatError(
            f"{path}: an array of it consists of {n_chunks:,} chunks, more than {MOST_CHUNKS:,}: "
            "write it again in larger ones, or a smaller part of it."
        )
    refuse_beyond_memory(path, BYTES_OF_CHUNK * n_chunks)


def too_many_objects(path: Path) -> FormatError:
    """Return the error of a file with more objects than are looked through."""
    return FormatError(
        f"{path}: holds more than {MOST_OBJECTS:,} objects: write the array that is meant to a file "
        "of its own."
    )


def _is_elsewhere(path: Path, name: Any) -> FormatError:
    return FormatError(
        f"{path}: {name!r:.80} lies in another file, and a file may not lead to others: copy it into "
        "this one."
    )
