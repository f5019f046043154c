"""Numbers written with as many digits as their standard deviation warrants."""

from __future__ import annotations

import numpy as np

DIGITS = 3
"""Of the standard deviation: further ones would be noise."""
MOST_DECIMALS = 15
LARGEST = 1e15


def as_texts(values: np.ndarray, std: np.ndarray, decimal: str = ".") -> np.ndarray:
    """Write values down to the third digit of their standard deviation; NaN is empty.

    Examples
    --------
    >>> as_texts(np.array([13.563587, 0.6562]), np.array([0.6562, 0.6562])).tolist()
    ['13.564', '0.656']
    """
    values, std = np.broadcast_arrays(np.asarray(values, float), np.asarray(std, float))
    places = decimals(std)
    # Where decimals tell nothing, significant digits do.
    places = np.where(np.abs(values) < LARGEST, places, -1)
    texts = np.empty(values.shape, dtype=object)
    for place in np.unique(places):
        chosen = places == place
        if place < 0:
            texts[chosen] = np.char.mod("%.10g", values[chosen]).astype(object)
        else:
            shown = np.round(values[chosen], place) + 0.0  # no minus before a zero
            texts[chosen] = np.char.mod(f"%.{place}f", shown).astype(object)
    texts[np.isnan(values)] = ""
    if decimal != ".":
        texts = np.array([text.replace(".", decimal) for text in texts.ravel()], dtype=object)
    return texts.reshape(values.shape)


def decimals(std: np.ndarray) -> np.ndarray:
    """Return how many decimals show the third digit of each std; -1 where they cannot."""
    with np.errstate(divide="ignore", invalid="ignore"):
        places = DIGITS - 1 - np.floor(np.log10(std))
    usable = np.isfinite(places) & (places <= MOST_DECIMALS)
    return np.where(usable, np.clip(places, 0, None), -1).astype(int)
