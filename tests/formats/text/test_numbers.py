"""Numbers as people write them, one by one and in columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaecp.errors import FormatError
from vaecp.formats.text.numbers import Signs, read_numbers
from vaecp.formats.text.written import decimal_sign, is_number, is_value, taken_apart

few = settings(deadline=None, max_examples=60)


def column(*texts, signs=None, missing=()):
    cells = np.array(texts, dtype=object)
    return read_numbers(cells, "y", lambda row: f"line {row + 2}", signs, missing)


@few
@given(
    numbers=st.lists(st.integers(-(10**9), 10**9).map(lambda n: n / 100), min_size=1),
    pair=st.sampled_from([(".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", "'")]),
)
def test_numbers_written_with_any_signs_come_back(numbers, pair):
    decimal, group = pair

    def written(number):
        text = f"{number:,.2f}"
        return text.replace(",", "G").replace(".", decimal).replace("G", group)

    found = column(*map(written, numbers), signs=Signs(separator=";"))
    np.testing.assert_array_equal(found.values, numbers)
    assert found.decimal == decimal


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1.234", "2,5"], [1234.0, 2.5]),
        (["1,234", "2.5"], [1234.0, 2.5]),
        (["1.234.567", "1.234"], [1234567.0, 1234.0]),
        (["0.123", "1.234"], [0.123, 1.234]),
        (["-1e-3", "+2E4", ".5"], [-0.001, 20000.0, 0.5]),
        (["$5", "$-7", "-$8"], [5, -7, -8]),
        (["5 mg/L", "7 mg/L", ""], [5, 7, np.nan]),
        (["TRUE", "false", "NA"], [1, 0, np.nan]),
    ],
)
def test_a_column_is_read_as_a_whole(texts, values):
    np.testing.assert_array_equal(column(*texts).values, values)


@pytest.mark.parametrize(
    ("separator", "texts", "values"),
    [
        (",", ["1.234", "5.678"], [1.234, 5.678]),
        (";", ["1,234", "5,678"], [1.234, 5.678]),
        ("\t", ["1.234", "5.678"], [1.234, 5.678]),
        (";", ["1.234", "5.67"], [1.234, 5.67]),
    ],
)
def test_the_separator_of_the_columns_tells_which_decimal_sign_to_expect(separator, texts, values):
    assert column(*texts, signs=Signs(separator=separator)).values.tolist() == values


@pytest.mark.parametrize(
    ("separator", "texts"),
    [(";", ["1.234", "5.678"]), ("\t", ["1,234"]), (";", ["1.234", "1,234"])],
)
def test_what_may_be_decimals_or_thousands_is_asked(separator, texts):
    with pytest.raises(FormatError, match=r"'1[.,]234' in line 2, which may have decimals or th"):
        column(*texts, signs=Signs(separator=separator))
    read = column("1.234", signs=Signs(decimal=",", separator=";"))
    assert read.values.tolist() == [1234.0]
    read = column("1.234", signs=Signs(separator=";", seen=","))
    assert read.values.tolist() == [1234.0]


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["1.5", "7", "2,5"], "'1.5' in line 2 and '2,5' in line 4, which have different decimal"),
        (["45%", "45"], "'45%' in line 2 and '45' in line 3: write all values in one unit"),
        (["1", ">high"], "'high' in line 3: values must be numbers"),
        (["1", "high"], "'high' in line 3: values must be numbers.*--missing 'high'"),
        (["A1", "A2"], "'A1' in line 2: values must be numbers"),
        (["12 34"], "'12 34' in line 2"),
        (["31.01.2024"], "'31.01.2024' in line 2"),
        (["12:30"], "'12:30' in line 2"),
    ],
)
def test_a_column_that_cannot_be_read_names_its_lines(texts, line):
    with pytest.raises(FormatError, match=line):
        column(*texts)


def test_signs_that_were_named_wrongly_are_refused():
    with pytest.raises(FormatError, match="'2,5' in line 3, which is no number with the decimal s"):
        column("1", "2,5", signs=Signs(decimal="."))


def test_missing_values_are_named_as_text_or_as_number():
    found = column("-999", "-999.0", "x", "5", missing=["-999", "x"])
    np.testing.assert_array_equal(found.values, [np.nan, np.nan, np.nan, 5])


def test_units_and_signs_are_said_once_and_kept_for_writing():
    found = column("EUR 1.234,50", "EUR 2")
    assert (found.before, found.after, found.decimal) == ("EUR", "", ",")
    assert found.notes == (
        "'y': EUR is not part of the numbers, EUR 1.234,50 is read as 1234.5.",
        "'y': EUR 1.234,50 is read as 1234.5.",
    )
    assert column("1.5", "2").notes == ()


def test_a_decimal_sign_is_told_only_beyond_doubt():
    assert decimal_sign(["x", "1.234", "2,5"]) == ","
    assert decimal_sign(["1.234", "7"]) is None
    assert decimal_sign([]) is None


def test_values_are_told_from_numbers_and_names():
    assert [is_number(text) for text in ("5", "5,1", "5 %", "a", "")] == [True] * 2 + [False] * 3
    assert [is_value(text) for text in ("5 %", "TRUE", "a5", "2024-01-31")] == [True] * 2 + [
        False
    ] * 2
    assert taken_apart("-inf").value((".", "")) == -np.inf


@pytest.mark.parametrize("text", [">1.000,5", "> 1000,5", "≥1000,5", ">=1000,5"])
def test_a_limit_is_read_as_the_column_writes_numbers(text):
    read = column("2,5", text, "< 0,5", "")
    np.testing.assert_equal(read.values, [2.5, np.nan, np.nan, np.nan])
    np.testing.assert_equal(read.lower, [np.nan, 1000.5, np.nan, np.nan])
    np.testing.assert_equal(read.upper, [np.nan, np.nan, 0.5, np.nan])
