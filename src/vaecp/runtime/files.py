"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaecp.errors import FormatError
from vaecp.runtime.interrupts import on_interrupt


def check_target(path: str | Path) -> Path:
    """Return the path with links resolved, or say why no file can be written there."""
    target = Path(os.path.realpath(Path(path).expanduser()))
    if target.is_dir():
        raise FormatError(f"{path}: is a folder, so no file can be written there: name a file.")
    if not target.parent.is_dir():
        raise FormatError(
            f"{path}: the folder {target.parent} does not exist: create it, or name another."
        )
    if not os.access(target.parent, os.W_OK):
        raise FormatError(
            f"{path}: the folder {target.parent} may not be written to: change its permissions, "
            "or name another."
        )
    return target


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path` that takes its name once the block succeeds.

    The temporary path ends as `path` does, so that writers which look at suffixes behave.
    If the block fails, the temporary file is removed and `path` is as it was.
    """
    target = check_target(path)
    temporary = target.with_name(f".{secrets.token_hex(6)}-{target.name[-80:]}")
    try:
        with on_interrupt(lambda: temporary.unlink(missing_ok=True)):
            yield temporary
            _flush_to_disk(temporary)
            # Some writers make files that only their owner may read.
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
    except OSError as error:
        if error.filename is not None and Path(os.fsdecode(error.filename)) != temporary:
            raise
        # The name that was given, in place of a hidden one or none.
        raise OSError(error.errno or 0, error.strerror or str(error), str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text, whole or not at all, and return its path."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_arrays(path: Path, arrays: dict[str, Any], metadata: dict[str, str]) -> Path:
    """Write a safetensors file, whole or not at all, and return its path."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with whole_file(path) as temporary:
        try:
            save_file(arrays, temporary, metadata)
            _sort_header(temporary)
        except SafetensorError as error:  # what the system said of the file
            raise OSError(0, str(error), str(temporary)) from error
    return path


def _sort_header(path: Path) -> None:
    """Put the metadata of a safetensors file in the order of their names.

    Its writer takes them in a random order, by which files of the same content would differ.
    """
    with path.open("r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        if len(text) <= size:  # spaces fill it up, as the format has it
            file.seek(8)
            file.write(text.ljust(size))


def write_figure(path: Path, figure: Any, dpi: int = 150) -> Path:
    """Write a figure of Matplotlib, whole or not at all, and return its path."""
    with whole_file(path) as temporary:
        figure.savefig(temporary, dpi=dpi)
    return path


def _flush_to_disk(path: Path) -> None:
    """Without this, a power cut after the rename could leave an empty file."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The process's mask can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
