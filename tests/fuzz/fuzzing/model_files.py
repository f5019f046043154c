"""Saved models of every method, and lies about them whose checksum is right."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import save_file

import vaecp
from vaecp.data.features import with_features
from vaecp.data.limits import saturated
from vaecp.outcomes.store import _digest

METHODS = {
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


def quick(**settings: Any) -> vaecp.VAECP:
    return vaecp.VAECP(rank=1, n_members=2, max_epochs=3, random_state=0, **settings)


def _told_more() -> vaecp.VAECP:
    """A model that knows limits of entries, and features of rows."""
    keys, values = table(300)
    entries = vaecp.Observations.from_keys(keys, values, list(keys))
    entries = saturated(entries, float(np.quantile(values, 0.9)))
    samples = entries.labels[0]
    films = pd.DataFrame(
        {
            "sample": samples,
            "long": np.arange(len(samples)),
            "kind": ["x", "y", "x"][: len(samples)],
        }
    )
    return quick().fit_tensor(with_features(entries, {"sample": films}))


def _of_classes() -> vaecp.VAECP:
    keys, values = table(300)
    return quick(likelihood="bernoulli").fit(keys, (values > np.median(values)).astype(float))


def _updated() -> vaecp.VAECP:
    """A model that went on with further entries, of a new row among others."""
    keys, values = table(400)
    return quick().partial_fit(keys[:300], values[:300]).partial_fit(keys[300:], values[300:])


def _folded() -> vaecp.CPALS:
    keys, values = table(300)
    new = keys.head(20).assign(sample="new")
    return vaecp.CPALS(rank=1, random_state=0).fit(keys, values).fold_in(new, values[:20])


FURTHER = {
    "VAECP that knows more": _told_more,
    "VAECP of classes": _of_classes,
    "VAECP updated": _updated,
    "CPALS with new rows": _folded,
}
SMALL = (*METHODS, *FURTHER)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted: dict[str, Any] = {name: make() for name, make in FURTHER.items()}
        for name, model in METHODS.items():
            fitted[name] = model.fit(*table(100 if name == "InfTucker by entries" else 1080))
        return {name: vaecp.save(fitted[name], folder / f"{name}.vaecp") for name in SMALL}


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
