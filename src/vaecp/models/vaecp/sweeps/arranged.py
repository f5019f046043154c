"""Entries in the order of the rows of each mode: once for all kinds of members that sweep over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vaecp.data.observations import Observations


@dataclass(frozen=True, eq=False)
class Arranged:
    """The rows that entries have, those of all modes numbered one after the other.

    Attributes
    ----------
    offsets : (D + 1,): where the rows of a mode begin.
    ids : (n, D): the rows of every entry.
    orders : per mode the entries in the order of its rows.
    others : per mode their rows in the other modes, in that order.
    starts : per mode where the entries of each row begin in that order.
    """

    offsets: np.ndarray
    ids: np.ndarray
    orders: tuple[np.ndarray, ...]
    others: tuple[np.ndarray, ...]
    starts: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, observations: Observations) -> Arranged:
        """Sort entries; those of which only limits are known come last."""
        indices, offsets = observations.known, np.concatenate([[0], np.cumsum(observations.shape)])
        ids = indices + offsets[:-1].astype(np.int32)
        orders, others, starts = [], [], []
        for mode, n_rows in enumerate(observations.shape):
            order = np.argsort(indices[:, mode], kind="stable")
            orders.append(order)
            others.append(np.delete(ids, mode, axis=1)[order])
            starts.append(np.searchsorted(indices[order, mode], np.arange(n_rows + 1)))
        return cls(offsets, ids, tuple(orders), tuple(others), tuple(starts))
