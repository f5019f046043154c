"""Kinds of files that hold tensors, and a table in text."""

from __future__ import annotations

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from vaecp.data.observations import Observations

NETCDF = pytest.param(
    ".nc",
    marks=pytest.mark.skipif(find_spec("h5py") is None, reason="h5py is not installed"),
)
TABLES = [".csv", ".tsv", ".parquet"]
KINDS = [*TABLES, ".npy", ".npz", ".mat", ".tns", ".tns.gz", NETCDF]


def entries(observations: Observations) -> Counter:
    """The multiset of (labels, value): what must survive a file, whatever the order."""
    keys = observations.keys().itertuples(index=False, name=None)
    return Counter(zip(keys, observations.values.tolist(), strict=True))


def table(tmp_path: Path, text: str, suffix: str = ".csv") -> Path:
    path = tmp_path / f"table{suffix}"
    path.write_text(text, encoding="utf-8")
    return path
