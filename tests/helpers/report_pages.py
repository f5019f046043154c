"""A small tensor to report on, and what a page holds of it."""

from __future__ import annotations

import base64
import json
import re

import numpy as np

from vaecp.data.observations import Observations


def tensor(shape=(6, 5, 4), missing=0.2, offset=0.0):
    random = np.random.default_rng(1)
    rows = [1 + random.random((size, 2)) for size in shape]
    array = offset + np.einsum("ir,jr,kr->ijk", *rows) + 0.01 * random.normal(size=shape)
    array[random.random(shape) < missing] = np.nan
    return array


def named(array):
    labels = (np.array(list("abcdef"), dtype=object), np.arange(5) * 10.0, np.arange(4))
    return Observations.from_array(
        array, mode_names=("who", "dose", "day"), labels=labels, value_name="level (mg)"
    )


def figures_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def unpacked(packed: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed), dtype="<f4")
