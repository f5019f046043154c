"""Small tables of every kind: two to six modes, 3 to 2,000 entries, units from 1e-300 to 1e300."""

import warnings

import numpy as np
import pandas as pd

from vaecp.errors import VaecpError
from vaecp.models.registry import methods

METHODS = [name for name, method in methods().items() if method.compared]
QUICK = {
    "VAECP": {"max_epochs": 3, "n_members": 2},
    "CPALS": {"rank": 2, "max_iter": 10, "n_starts": 1},
    "NCP": {"rank": 2, "max_iter": 10, "n_starts": 1},
    "HOSVD": {"rank": 2, "max_iter": 10},
    "TuckerALS": {"rank": 2, "max_iter": 10},
    "FBCP": {"rank": 4, "max_iter": 20, "n_starts": 1},
    "InfTucker": {"rank": 2, "max_iter": 1},
}
"""Far from converged, which is harder on what comes after."""
REACH = 10.0
"""How far beyond the range of the values a mean may lie, in widths of that range."""


def table(number: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the labels and values of a random table, the same for the same number."""
    draw = np.random.default_rng(number)
    n_modes = int(draw.integers(2, 7))
    n_entries = round(float(np.exp(draw.uniform(np.log(3), np.log(2000)))))
    sizes = draw.integers(1, max(2, round(n_entries ** draw.uniform(0.2, 0.9))) + 1, size=n_modes)
    cells = np.stack([draw.integers(size, size=n_entries) for size in sizes], axis=1)
    return _labels(draw, cells), _values(draw, cells, sizes)


def _labels(draw: np.random.Generator, cells: np.ndarray) -> pd.DataFrame:
    kinds = (
        lambda codes: codes,
        lambda codes: codes * 0.25 - 3,
        lambda codes: np.array([f"label {code}" for code in codes], dtype=object),
        lambda codes: pd.Timestamp("2024-01-01") + pd.to_timedelta(codes, unit="D"),
    )
    chosen = draw.integers(len(kinds), size=cells.shape[1])
    return pd.DataFrame({f"m{m}": kinds[kind](cells[:, m]) for m, kind in enumerate(chosen)})


def _values(draw: np.random.Generator, cells: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    kind = draw.choice(["noise", "products", "constant", "counts", "two values", "outliers"])
    values = draw.normal(size=len(cells))
    if kind in ("products", "outliers"):
        rows = [draw.normal(size=(size, 2)) for size in sizes]
        values = 0.1 * values + np.prod([r[c] for r, c in zip(rows, cells.T, strict=True)], 0).sum(
            1
        )
    if kind == "outliers":
        values[draw.integers(len(values), size=1 + len(values) // 50)] *= 1e6
    if kind == "constant":
        values[:] = draw.choice([0.0, 1.0, -3.5])
    if kind == "counts":
        values = draw.poisson(3.0, size=len(values)).astype(float)
    if kind == "two values":
        values = draw.integers(2, size=len(values)).astype(float)
    scale = float(draw.choice([1.0, 1.0, 1e-300, 1e-150, 1e-12, 1e12, 1e150, 1e293]))
    offset = float(draw.choice([0.0, 0.0, 1.0, 1e6]))
    return (values + offset) * scale


def check(name: str, number: int) -> str:
    """Fit a method to a table; return how it ended, or fail with what is wrong."""
    keys, values = table(number)
    model = methods()[name].build(
        **{**methods()[name].quick, **QUICK.get(name, {})}, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(keys, values)
            mean, std = model.predict(keys, return_std=True)
            low, high = model.predict_interval(keys)
            unseen = keys.head(1).assign(m0=keys["m0"].max())
            draws = model.sample(unseen, 3, random_state=0)
        except VaecpError:
            return "refused"
    for what in (mean, std, low, high, draws):
        assert np.isfinite(what).all()
    width = values.max() - values.min()
    assert (std >= 0).all()
    assert (low <= high).all()
    assert (mean >= values.min() - REACH * width - 1e-9 * abs(values.min())).all()
    assert (mean <= values.max() + REACH * width + 1e-9 * abs(values.max())).all()
    return "answered"
