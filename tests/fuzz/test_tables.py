"""Small tables of every kind: each method answers with finite values near those it was given, or refuses.

Two to six modes, 3 to 2,000 entries, constants, outliers of a million standard deviations, and
units from 1e-300 to 1e300.
"""

import numpy as np
import pytest
from fuzzing.tables import METHODS, check, table

import vaecp


@pytest.mark.parametrize("name", METHODS)
def test_a_small_table_is_answered_or_refused(name):
    faults = []
    outcomes = {"answered": 0, "refused": 0}
    for number in range(12):
        try:
            outcomes[check(name, number)] += 1
        except Exception as error:
            faults.append(f"check({name!r}, {number}): {type(error).__name__}: {error}")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:8]])
    assert outcomes["answered"] > outcomes["refused"]


def test_no_table_is_refused_by_all_methods():
    for number in range(3):
        assert "answered" in {check(name, number) for name in ("CPALS", "HOSVD")}, number


def test_completion_of_a_small_table_is_finite():
    keys, values = table(1)
    observations = vaecp.Observations.from_keys(keys, values, list(keys))
    assert np.isfinite(vaecp.complete(observations, vaecp.CPALS(rank=1)).mean).all()
