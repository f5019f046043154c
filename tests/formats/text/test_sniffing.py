"""Layouts, encodings and digits of text tables."""

from __future__ import annotations

import numpy as np
import pytest

from vaecp.errors import FormatError
from vaecp.formats.text.decoding import checked_encoding, encoding_of
from vaecp.formats.text.digits import as_texts
from vaecp.formats.text.sniffing import separator_of, sniff


@pytest.mark.parametrize(
    ("sample", "separator"),
    [
        ("a,b,y\np,q,1\n", ","),
        ("a;b;y\np;q;1,5\n", ";"),
        ("a;x,b;y,v\np,q,1\n", ","),
        ('"a, b";"c";"y"\np;q;1\n', ";"),
        ("city;x;y\nBonn, D;x;1,5\nKöln, D;y;2,5\n", ";"),
        ("a\tb\ty\np\t1,5\t2,5\nq\t2,5\t3,5\n", "\t"),
        ("a|b|y\np|q|1\n", "|"),
        ("one two\nthree four\n", ","),
        ("", ","),
    ],
)
def test_the_separator_is_the_one_that_cuts_all_lines_alike(sample, separator):
    assert separator_of(sample, ",") == separator


@pytest.mark.parametrize(
    ("sample", "header"),
    [
        ("user,week,stars\nann,1,5\nann,2,3\n", True),
        ("ann,1,5\nann,2,3\n", False),
        ("ann,1,\nann,2,3\n", False),
        ("1,1,5.5\n1,2,3.5\n", False),
        ("sample,250,260,270\na,1,2,3\nb,2,3,4\n", True),
        ("station,2024-01-01,2024-01-02\na,1,2\n", True),
        ("a,b,y\n", True),
        ("x,y,ok\na,b,TRUE\n", True),
    ],
)
def test_names_are_told_from_data(sample, header):
    assert sniff(sample, ",").header is header


@pytest.mark.parametrize("sample", ["a,7,3,5\nb,1,2,3\n", "c,d,2020\na,b,1\n"])
def test_what_may_be_names_or_data_is_asked(sample):
    with pytest.raises(
        FormatError, match=r"line 1 .* may hold names or data: pass --header or --no"
    ):
        sniff(sample, ",")
    assert sniff(sample, ",", header=True).header
    assert not sniff(sample, ",", header=False).header


def test_a_header_that_is_too_short_is_no_preamble():
    layout = sniff("a,b,y\np,q,1,9\nr,q,2,9\n", ",")
    assert (layout.names, layout.skip) == (("a", "b", "y"), 1)


def test_lines_before_the_table_are_skipped_and_counted():
    layout = sniff("Run 7\n\n# c\nx,y,z\na,b,1\na,c,2\n", ",")
    assert (layout.names, layout.skip) == (("x", "y", "z"), 4)
    assert layout.notes == ("Skipped 2 lines before the table (Run 7).",)


def test_lines_before_a_wide_table_are_skipped_although_its_names_are_numbers():
    layout = sniff("Plate:\t1\t2.5\n\nWell\t0\t10\t20\t30\t40\t50\nA1\t1\t2\t3\t4\t5\t6\n", ",")
    assert (layout.names[:3], layout.skip) == (("Well", "0", "10"), 3)


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-be", "utf-16-be"),
        ("latin-1", "cp1252"),
    ],
)
def test_the_encoding_is_told_from_the_bytes(tmp_path, encoding, found):
    (tmp_path / "t.csv").write_bytes(("city,y\n" * 200_000 + "Köln,1\n").encode(encoding))
    assert encoding_of(tmp_path / "t.csv") == found


def test_an_unknown_encoding_is_refused():
    with pytest.raises(FormatError, match="no encoding 'klingon': use utf-8, cp1252"):
        checked_encoding("klingon")


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (13.563587, 0.6562, "13.564"),
        (0.6562, 0.6562, "0.656"),
        (123456.7, 5000.0, "123457"),
        (-0.0001, 0.5, "0.000"),
        (1e20, 1.0, "1e+20"),
        (1.5, 0.0, "1.5"),
        (np.nan, np.nan, ""),
        (2.0, np.nan, "2"),
    ],
)
def test_values_have_the_digits_that_their_std_warrants(value, std, text):
    assert as_texts(np.array([value]), np.array([std])).tolist() == [text]


def test_a_decimal_comma_is_written_where_it_is_wanted():
    assert as_texts(np.array([[1.25]]), np.array([[0.1]]), ",").tolist() == [["1,250"]]


def test_a_column_called_y_may_hold_y_and_n():
    layout = sniff("x,k,y\na,1,Y\nb,2,n\na,2,N\n", ",")
    assert (layout.header, layout.names) == (True, ("x", "k", "y"))
