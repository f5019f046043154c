"""Columns of texts as labels."""

from __future__ import annotations

import numpy as np
import pytest

from vaecp.formats.text.labels import read_labels


def labels(*texts, **options):
    return read_labels(np.array(texts, dtype=object), "m", **options)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["10", "9"], [10, 9]),
        (["1.5", "2"], [1.5, 2.0]),
        (["1,5", "2"], [1.5, 2.0]),
        (["1.234", "2,5"], [1234.0, 2.5]),
        (["007", "10"], ["007", "10"]),
        (["a", "10"], ["a", "10"]),
        (["1e400", "1"], ["1e400", "1"]),
        (["5 %", "6 %"], ["5 %", "6 %"]),
    ],
)
def test_texts_that_are_all_numbers_become_numbers(texts, expected):
    assert labels(*texts).values.tolist() == expected


def test_spaces_around_labels_and_the_way_accents_are_stored_make_no_difference():
    found = labels("  Zürich ", "Zu\u0308rich", "Zürich", "\u00a0Bonn")
    assert found.values.tolist() == ["Zürich", "Zürich", "Zürich", "Bonn"]
    assert found.notes == ("'m': spaces around 3 labels were removed, such as '  Zürich '.",)


def test_an_empty_label_is_missing_and_leaves_the_others_numbers():
    assert labels("1", "", "2").values.tolist() == [1, None, 2]


def test_dates_are_days_or_moments():
    days = labels("31.01.2024", "01.02.2024")
    assert days.values.dtype == "datetime64[s]"
    assert days.notes == ("'m': 31.01.2024 is read as 31 January 2024.",)
    moments = labels("2024-01-31 10:00:00.25", "2024-01-31 10:00:00.5").values
    assert (moments[1] - moments[0]) == np.timedelta64(250, "ms")


def test_a_format_that_is_named_tells_dates_from_numbers():
    assert labels("20240131", "20240201").values.tolist() == [20240131, 20240201]
    days = labels("20240131", "20240201", date_format="%Y%m%d").values
    assert days.astype("datetime64[D]").astype(str).tolist() == ["2024-01-31", "2024-02-01"]
    assert labels("250", "260", date_format="%Y%m%d").values.tolist() == [250, 260]


def test_one_label_that_is_no_date_is_named():
    found = labels("1.1.2024", "2.1.2024", "3.1.2024", "tomorrow")
    assert found.values.tolist() == ["1.1.2024", "2.1.2024", "3.1.2024", "tomorrow"]
    assert "3 of 4 labels look like dates, but 'tomorrow' is no date" in found.notes[0]


def test_numbers_with_a_unit_stay_texts_and_a_note_says_so():
    found = labels("10 min", "20 min", "30 min")
    assert found.values.tolist() == ["10 min", "20 min", "30 min"]
    assert "labels such as '10 min' stay text, without order" in found.notes[0]
    assert labels("S1", "S2", "S3").notes == labels("10 min", "20 h", "9 s").notes == ()


def test_a_decimal_sign_of_the_file_applies_where_the_column_shows_none():
    assert labels("1.234", "2", decimal=",").values.tolist() == [1234, 2]
    assert labels("1.234", "2.5", decimal=",").values.tolist() == [1.234, 2.5]
