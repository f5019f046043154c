"""Saved models of every method, and lies about them whose checksum is right."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import save_file

import vaecp
from vaecp.outcomes.store import _digest

SMALL = {
    "VAECP": vaecp.VAECP(rank=1, n_members=2, max_epochs=3, random_state=0),
    "VAECP.paper": vaecp.VAECP.paper(rank=3, hidden=8, max_epochs=3, random_state=0),
    "CPALS": vaecp.CPALS(rank=2, max_iter=3, random_state=0),
    "NCP": vaecp.NCP(rank=2, max_iter=3, random_state=0),
    "HOSVD": vaecp.HOSVD(rank=(2, 3, 1), max_iter=3),
    "TuckerALS": vaecp.TuckerALS(rank=2, max_iter=3),
    "FBCP": vaecp.FBCP(rank=2, n_starts=1, max_iter=3, random_state=0),
    "InfTucker": vaecp.InfTucker(rank=2, max_iter=2, random_state=0),
    "InfTucker by entries": vaecp.InfTucker(rank=2, max_iter=2, random_state=0),
}
"""Every kind of fitted model there is, by names of their own."""


def table(n_entries: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return labels of text, numbers and dates in two ordered modes and one without order."""
    cells = np.argwhere(np.ones((9, 10, 12)))[:n_entries]
    keys = pd.DataFrame(
        {
            "sample": np.array(["ä", "b", "<c>", "d", "e", "f", "g", "h", "i"])[cells[:, 0]],
            "wavelength": 250.5 + cells[:, 1],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(cells[:, 2], unit="D"),
        }
    )
    sample, wavelength, day = cells.T
    values = np.sin(sample) + wavelength * np.cos(day / 3)
    values += 3 * np.sin(wavelength / 3 + sample) * np.sin(day / 3 + sample)  # neighbours are alike
    return keys, values + np.random.default_rng(0).normal(size=len(cells)) / 10


def save_all(folder: Path) -> dict[str, Path]:
    """Fit and save every kind of model."""
    paths = {}
    for name, model in SMALL.items():
        keys, values = table(100 if name == "InfTucker by entries" else 1080)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            paths[name] = vaecp.save(model.fit(keys, values), folder / f"{name}.vaecp")
    return paths


def contents(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the description and the tensors of a model file."""
    with safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["vaecp"]), tensors


def write(path: Path, described: dict | str, tensors: dict[str, np.ndarray]) -> Path:
    """Write a model file whose checksum is right, whatever it says."""
    text = described if isinstance(described, str) else json.dumps(described)
    save_file(tensors, path, metadata={"vaecp": text, "sha256": _digest(text, tensors)})
    return path
