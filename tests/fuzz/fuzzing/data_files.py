"""Good files of every kind, to be damaged."""

from pathlib import Path

import numpy as np
import pandas as pd

import vaecp
from vaecp.formats import write

SUFFIXES = (".csv", ".tsv", ".parquet", ".npy", ".npz", ".mat", ".tns", ".tns.gz", ".nc")


def observations(*, labelled: bool) -> vaecp.Observations:
    draw = np.random.default_rng(0)
    array = draw.normal(size=(5, 4, 3)).round(3)
    array[draw.random(array.shape) < 0.2] = np.nan
    if not labelled:
        return vaecp.Observations.from_array(array)
    labels = (list("abcde"), [1.5, 2.5, 4.0, 8.0], [10, 20, 30])
    names = ("sample", "nm", "minute")
    return vaecp.Observations.from_array(array, mode_names=names, labels=labels, value_name="y")


def save_all(folder: Path) -> dict[str, Path]:
    """Write a file of every kind, and some as other programs write them."""
    paths = {}
    for suffix in SUFFIXES:
        paths[suffix] = folder / f"seed{suffix}"
        write(observations(labelled=suffix not in (".npy", ".tns", ".tns.gz")), paths[suffix])
    frame = observations(labelled=True).to_frame()
    semicolons = folder / "semicolons.csv"
    frame.to_csv(semicolons, sep=";", decimal=",", index=False)
    indexed = folder / "indexed.parquet"
    frame.assign(day=pd.Timestamp("2024-01-01")).set_index("day").to_parquet(indexed)
    classic = folder / "classic.nc"
    observations(labelled=False).to_xarray().to_netcdf(classic, engine="scipy")
    return paths | {path.name: path for path in (semicolons, indexed, classic)}
