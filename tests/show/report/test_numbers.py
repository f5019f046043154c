"""Numbers and labels as people read them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from vaecp.show.report.numbers import label_texts, share_shown, shown, size_shown

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
# Fits are stopped early here: how good they are is not the question.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (shown(-1234.5678, 2), "\N{MINUS SIGN}1,234.57"),
        (shown(float("nan"), 2), "not known"),
        (shown(1.5e300, None), "1.5e+300"),
        (size_shown(0.012345), "0.0123"),
        (size_shown(1234.5), "1,234"),
        (size_shown(0.0), "0"),
        (size_shown(float("inf")), "unbounded"),
        (share_shown(0.00001), "less than 0.1 %"),
        (share_shown(1.0), "100 %"),
        (share_shown(0.99999), "more than 99.9 %"),
    ],
)
def test_numbers_are_short_and_do_not_mislead(text, expected):
    assert text == expected


def test_labels_stay_distinct_when_shortened():
    assert label_texts(np.array([250.0, 260.0])) == ["250", "260"]
    assert label_texts(np.array([1.00000001, 1.00000002])) == ["1.00000001", "1.00000002"]
    days = pd.to_datetime(["2024-01-01", "2024-01-02"]).to_numpy()
    assert label_texts(days) == ["2024-01-01", "2024-01-02"]
