"""Where a published file lies: the user's folder, the cache, or the network."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

import platformdirs

from vaecp.datasets.catalogue import CATALOGUE, DataFile
from vaecp.errors import DatasetError
from vaecp.runtime.extras import require
from vaecp.runtime.progress import is_watched, report

PUBLIC_COPY = "https://raw.githubusercontent.com"
REMEDY = "try again, or set VAECP_DATA to a folder that has the file"


def locate(dataset: str, file: DataFile) -> Path:
    """Return the path of a file whose SHA-256 is right, downloading it if need be."""
    folder = os.environ.get("VAECP_DATA")
    if folder:
        own = Path(folder).expanduser() / file.name
        if own.is_file():
            return _checked(dataset, own, file)
    cached = cache_folder() / file.name
    if cached.is_file() and _sha256(cached) == file.sha256:
        return cached
    if not file.address:
        info = CATALOGUE[dataset]
        raise DatasetError(
            f"dataset {dataset!r}: {file.name} is not here, and is not downloaded (licence: "
            f"{info.licence}): get it from {info.source}, and set VAECP_DATA to the folder that holds "
            f"{file.name}."
        )
    return _download(dataset, file)


def cache_folder() -> Path:
    """Return the folder that downloads are kept in; `VAECP_CACHE` names another one."""
    folder = os.environ.get("VAECP_CACHE")
    return Path(folder).expanduser() if folder else platformdirs.user_cache_path("vaecp")


def address_of(file: DataFile) -> str:
    """Return the web address of a file, below `VAECP_DATA_URL` where that is set."""
    base = os.environ.get("VAECP_DATA_URL") or PUBLIC_COPY
    if not base.startswith(("http://", "https://")):
        raise DatasetError(
            f"VAECP_DATA_URL is {base!r}: use an address that starts with http:// or https://, or "
            "set VAECP_DATA to a folder."
        )
    return f"{base.rstrip('/')}/{quote(file.address)}"


def _checked(dataset: str, path: Path, file: DataFile) -> Path:
    found = _sha256(path)
    if found != file.sha256:
        raise DatasetError(
            f"dataset {dataset!r}: {path} has the SHA-256 {found}, but the published file has "
            f"{file.sha256}: replace it, or unset VAECP_DATA to download it."
        )
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(dataset: str, file: DataFile) -> Path:
    """Download into the cache; the file appears there whole and checked, or not at all."""
    address = address_of(file)
    pooch = require("pooch", "datasets", f"dataset {dataset!r}")
    errors = require("requests", "datasets", f"dataset {dataset!r}").exceptions
    try:
        # Made here, because pooch takes one that another process has just made for an error.
        (cache_folder() / file.name).parent.mkdir(parents=True, exist_ok=True)
        path = pooch.retrieve(
            address,
            f"sha256:{file.sha256}",
            file.name,
            cache_folder(),
            downloader=pooch.HTTPDownloader(progressbar=Bytes()) if is_watched() else None,
        )
    except errors.RequestException as error:
        what = _what_happened(error, errors)
    except ValueError:  # the address is valid, so what is left is a checksum that differs
        what = f"what arrived does not have the SHA-256 {file.sha256}, and was discarded"
    except OSError as error:
        raise DatasetError(
            f"dataset {dataset!r}: {cache_folder() / file.name} cannot be written "
            f"({error.strerror or error}): set VAECP_CACHE to a folder that can."
        ) from error
    else:
        return Path(path)
    raise DatasetError(f"dataset {dataset!r}: {address}: {what}: {REMEDY}.")


class Bytes:
    """Reports what has arrived, in the manner of the bars that pooch draws."""

    total = 0
    done = 0

    def update(self, n: int) -> None:
        self.done += n
        report(self.done, self.total, "bytes")

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """There is nothing to close."""


def _what_happened(error: Any, errors: ModuleType) -> str:
    if isinstance(error, errors.HTTPError):
        response = error.response
        return f"the server answered {response.status_code} {response.reason}"
    if isinstance(error, errors.Timeout):
        return "the server did not answer in time"
    if isinstance(error, errors.ChunkedEncodingError):
        return "the connection dropped before the whole file had arrived"
    if isinstance(error, errors.ConnectionError):
        return "no connection to the server (is there a network?)"
    return f"the request failed ({type(error).__name__})"
