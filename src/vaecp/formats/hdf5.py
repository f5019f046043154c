"""A look at HDF5 files before the HDF5 library reads them, which must not hang on a damaged one.

Text of any length lies in "global heaps": blocks of objects, each of which says how long it is.
The library walks from object to object, and for ever on the spot where one says 0. So the heaps
are walked here first. Their layout is that of the "HDF5 File Format Specification", III.E.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from vaecp.errors import FormatError

_SIGNATURE = b"GCOL\x01\0\0\0"
_HEAP = struct.Struct("<8sQ")  # signature, version and padding; size
_OBJECT = struct.Struct("<HHIQ")  # number, references, padding; size
_LEAST_HEAP = 4096


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
