"""Products of one row per mode, entry by entry: what all CP methods share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def product(rows: Sequence[Any]) -> Any:
    """Multiply arrays of rows elementwise."""
    result = rows[0]
    for row in rows[1:]:
        result = result * row
    return result


def products_at(tables: Sequence[np.ndarray], indices: np.ndarray) -> np.ndarray:
    """Return the (n, width) products of the tables' rows at (n, D) coordinates."""
    result = tables[0][indices[:, 0]]
    for mode in range(1, len(tables)):
        result *= tables[mode][indices[:, mode]]
    return result


def effects_of_components(tables: Sequence[np.ndarray], indices: np.ndarray) -> np.ndarray:
    """Return by how much entries change when one component takes its average in every mode.

    The last row of a table, that of unseen labels, has no part in the average.
    """
    level = product([table[:-1].mean(axis=0) for table in tables])
    return level - products_at(tables, indices)
