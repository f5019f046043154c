"""Numbers and labels as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from vaecp.data.labels import are_quantities

MINUS = "\N{MINUS SIGN}"
TIMES = "\N{MULTIPLICATION SIGN}"
DIGITS = 6
"""Significant digits of the numbers that figures are drawn from."""


def decimals_for(scale: float, largest: float) -> int | None:
    """Return how many decimals show a hundredth of the spread; None asks for powers of ten."""
    if not scale or not 1e-5 < scale < 1e7 or largest >= 1e12:
        return None
    return max(0, 2 - math.floor(math.log10(scale)))


def shown(value: float, decimals: int | None) -> str:
    """Return a value for reading."""
    if value is None or not math.isfinite(value):
        return "not known"
    text = f"{value:.4g}" if decimals is None else f"{value:,.{decimals}f}"
    return text.replace("-", MINUS)


def size_shown(value: float) -> str:
    """Return an error or a standard deviation with three significant digits."""
    if not math.isfinite(value):
        return "unbounded"
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.2e}".replace("-", MINUS)
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(0, digits)}f}".replace("-", MINUS)


def share_shown(share: float) -> str:
    """Return a share in percent, never rounded to nothing or to all."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    if 99.9 < percent < 100:
        return "more than 99.9 %"
    return f"{percent:.3g} %"


def product_shown(shape: Iterable[int]) -> str:
    """Return sizes as a product."""
    return f" {TIMES} ".join(f"{size:,}" for size in shape)


def few_digits(values: Any) -> list:
    """Return numbers for JSON: few digits, null for what is not finite."""
    flat = np.asarray(values, dtype=np.float64).ravel()
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in flat]


def exact(values: Any) -> list:
    """Return numbers for JSON with all digits, which values on a large offset need."""
    flat = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [value if math.isfinite(value) else None for value in flat]


def label_texts(labels: np.ndarray) -> list[str]:
    """Return the labels of a mode as distinct texts, short where numbers allow it."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "f":
        short = [f"{value:.6g}" for value in labels]
        texts = short if len(set(short)) == len(short) else [repr(float(v)) for v in labels]
        return [text.replace("-", MINUS) for text in texts]
    if labels.dtype.kind == "M":
        for unit in ("D", "m", "s"):
            times = labels.astype(f"datetime64[{unit}]")
            if unit == "s" or bool((times == labels).all()):
                return [str(value).replace("T", " ") for value in times]
    return [str(value) for value in labels.tolist()]


def label_numbers(labels: np.ndarray) -> list[float] | None:
    """Return the labels as places on an axis, or None for names and dates."""
    labels = np.asarray(labels)
    if are_quantities(labels) and labels.dtype.kind in "iuf":
        return [float(value) for value in labels]
    return None
