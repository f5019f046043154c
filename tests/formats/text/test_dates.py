"""Dates in the forms that people write."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.errors import FormatError
from vaecp.formats.text.dates import is_date, nearly_dates, read_dates

DAYS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)).map(
    lambda day: day.replace(hour=0, minute=0, second=0, microsecond=0)
)


@settings(deadline=None, max_examples=40)
@given(
    days=st.lists(DAYS, min_size=1, max_size=5),
    form=st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%d-%B-%Y", "%b %d, %Y"]),
)
def test_dates_that_can_be_read_in_one_way_come_back(days, form):
    texts = [day.strftime(form) for day in days]
    assert read_dates(texts, "day").days == days


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["31/01/2024", "01/02/2024"], datetime(2024, 2, 1)),
        (["01/31/2024", "02/01/2024"], datetime(2024, 2, 1)),
        (["31.01.24", "01.02.24"], datetime(2024, 2, 1)),
        (["31.1.2024 7:05", "1.2.2024 18:30"], datetime(2024, 2, 1, 18, 30)),
        (["2024-01", "2024-02"], datetime(2024, 2, 1)),
        (["2024-02-01 05:06:07.5", "2024-02-01T05:06:07+0100"], datetime(2024, 2, 1, 4, 6, 7)),
        (["Jan 2024", "Feb 2024"], datetime(2024, 2, 1)),
        (["2023 Q4", "2024-Q1"], datetime(2024, 1, 1)),
        (["Q4 2023", "Q3/2024"], datetime(2024, 7, 1)),
        (["7:30", "18:05"], datetime(1900, 1, 1, 18, 5)),
        (["07:30:00", "18:05:09"], datetime(1900, 1, 1, 18, 5, 9)),
        (["Jan", "December"], datetime(1900, 12, 1)),
        (["9:30 am", "12:05 PM"], datetime(1900, 1, 1, 12, 5)),
        (["2023-W52", "2024-W01"], datetime(2024, 1, 1)),
    ],
)
def test_the_whole_column_tells_how_dates_are_written(texts, expected):
    assert read_dates(texts, "day").days[1] == expected


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["01/02/2024"], "--date-format %d/%m/%Y if the day comes first, --date-format %m/%d/%Y"),
        (["24/01/02"], "%d/%m/%y if the day comes first"),
        (["31/01/2024", "01/31/2024"], "'31/01/2024' and '01/31/2024': the month is not in the s"),
    ],
)
def test_dates_that_can_be_read_in_two_ways_are_asked_for(texts, line):
    with pytest.raises(FormatError, match=line):
        read_dates(texts, "day")


def test_a_format_that_is_named_decides_and_text_keeps_texts():
    assert read_dates(["01/02/2024"], "day", "%m/%d/%Y").days == [datetime(2024, 1, 2)]
    assert read_dates(["01/02/2024"], "day", "text") is None
    assert read_dates(["Bonn"], "city", "%d.%m.%Y") is None


def test_a_format_that_is_named_leaves_dates_that_cannot_be_mistaken():
    assert read_dates(["2024-01-31"], "day", "%d.%m.%Y").days == [datetime(2024, 1, 31)]


@pytest.mark.parametrize(
    ("texts", "date_format", "odd"),
    [
        (["31.01.2024", "1.2.2024"], "%d/%m/%Y", "'31.01.2024'"),
        (["31.01.2024", "soon"], "%d.%m.%Y", "'soon'"),
        (["31.01.2024"], "%Q", "'31.01.2024'"),
        (["31.01.2024"], "%Y%Y", "'31.01.2024'"),
    ],
)
def test_a_format_that_dates_do_not_have_is_refused(texts, date_format, odd):
    line = f"column 'day' has {odd}, which does not have the format {date_format}: correct"
    with pytest.raises(FormatError, match=line):
        read_dates(texts, "day", date_format)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["1.1.2024", "2.1.2024", "31.2.2024"], "3 of 3 labels look .*'31.2.2024' is no date: all"),
        (["1.1.2024", "2.1.2024", "3.1.2024", "?"], "3 of 4 labels look .*'[?]' is no date: all"),
        (["1.1.2024", "2024-01-02", "3.1.2024"], "and the dates are not written alike: all stay"),
    ],
)
def test_what_keeps_labels_from_being_dates_is_named(texts, line):
    assert read_dates(texts, "day") is None
    assert re.search(line, nearly_dates(texts, "day"))


@pytest.mark.parametrize("texts", [["a", "b", "2024-01-31"], ["2024-01-31", "b"], ["a"], []])
def test_labels_of_which_few_look_like_dates_are_texts_without_a_word(texts):
    assert nearly_dates(texts, "day") is None


@pytest.mark.parametrize(
    "texts", [["a", "2024-01-31"], ["2024-13-45"], ["1.5"], [], ["1.2.3"], ["36:00"], ["may be"]]
)
def test_what_is_no_date_is_left_alone(texts):
    assert read_dates(texts, "day") is None


def test_labels_with_years_that_are_no_dates_are_named():
    note = nearly_dates(["1. März 2024", "2. März 2024", "3. März 2024"], "tag")
    assert "'1. März 2024' have a year in them, and stay text" in note
    assert nearly_dates(["wine 2019", "wine 2020", "beer"], "drink") is None


def test_dates_are_told_from_numbers():
    assert [is_date(text) for text in ("2024-01-31", "1.2.2024", "1.2", "2024", "week 5")] == [
        True,
        True,
        False,
        False,
        False,
    ]
