"""Good files of every kind, to be damaged."""

from pathlib import Path

import numpy as np
import pandas as pd

import vaecp
from fuzzing.installed import possible
from vaecp.formats import write

SUFFIXES = (".csv", ".tsv", ".parquet", ".xlsx", ".npy", ".npz", ".mat", ".tns", ".tns.gz", ".nc")
TEXTS = ("semicolons.csv", "windows.csv", "utf16.csv", "limits.csv", "ends.csv", "wide.csv")
OTHERS = (*TEXTS, "indexed.parquet", "classic.nc", "v73.mat")
NAMES = possible((*SUFFIXES, *OTHERS))


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
    for suffix in possible(SUFFIXES):
        paths[suffix] = folder / f"seed{suffix}"
        write(observations(labelled=suffix not in (".npy", ".tns", ".tns.gz")), paths[suffix])
    frame = observations(labelled=True).to_frame()
    paths |= {name: folder / name for name in OTHERS}
    frame.to_csv(paths["semicolons.csv"], sep=";", decimal=",", index=False)
    accented = frame.assign(sample=frame["sample"].str.replace("a", "é"))
    accented.to_csv(paths["utf16.csv"], index=False, encoding="utf-16")
    accented.to_csv(paths["windows.csv"], index=False, encoding="cp1252")
    _save_limits(frame, paths)
    frame.pivot(index=["sample", "nm"], columns="minute", values="y").to_csv(paths["wide.csv"])
    indexed = frame.assign(day=pd.Timestamp("2024-01-01")).set_index("day")
    indexed.to_parquet(paths["indexed.parquet"])
    observations(labelled=False).to_xarray().to_netcdf(paths["classic.nc"], engine="scipy")
    if "v73.mat" in NAMES:
        _save_v73(paths["v73.mat"])
    return {name: paths[name] for name in NAMES}


def _save_limits(frame: pd.DataFrame, paths: dict[str, Path]) -> None:
    """Write limits among the values, with remarks around the table, and in columns of their own."""
    said = frame["y"].map("{:.3f}".format)
    said[::5], said[1::7] = "<0.5", "> 1000"
    table = frame.assign(y=said).rename(columns={"nm": "nm (1/cm)"}).to_csv(index=False)
    paths["limits.csv"].write_text(f"Laboratory 7\n\n{table}\nn.d. not detected\n")
    known = np.arange(len(frame)) % 4 > 0
    ends = frame.assign(y=frame["y"].where(known), lower=-1.0, upper=np.where(known, np.nan, 2.5))
    ends.to_csv(paths["ends.csv"], index=False)


def save_tables(folder: Path) -> dict[str, Path]:
    """Write tables that are given beside the data: features of rows, queries and further entries."""
    frame = observations(labelled=True).to_frame()
    rows = {"sample": list("abcdef"), "long": [1.0, 2, 3, 4, None, 6], "kind": list("xyxyxy")}
    new = frame.head(8).assign(sample="new")
    tables = {
        "features": pd.DataFrame(rows),
        "answers": pd.concat([frame.drop(columns="y").head(9), new.drop(columns="y").head(2)]),
        "entries": pd.concat([frame.head(5), new]),
    }
    paths = {}
    for name, table in tables.items():
        for suffix in (".csv", ".parquet"):
            paths[name + suffix] = path = folder / (name + suffix)
            table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    return paths


TABLES = ("features", "answers", "entries")


def _save_v73(path: Path) -> None:
    """Write as MATLAB does: an array, a struct, a text, and a cell of references."""
    import h5py

    with h5py.File(path, "w") as file:
        file["X"] = np.arange(24.0).reshape(4, 3, 2)
        file["s/wavelength"] = np.arange(4.0)[None]
        parts = file.create_group("#refs#")
        texts = [np.frombuffer(name.encode("utf-16-le"), "<u2")[:, None] for name in ("ab", "c")]
        made = [parts.create_dataset(str(n), data=text) for n, text in enumerate(texts)]
        for part in made:
            part.attrs["MATLAB_class"] = np.bytes_("char")
        file["names"] = np.array([part.ref for part in made], dtype=h5py.ref_dtype)
