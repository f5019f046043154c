"""Tables that are written back as they stood, with their gaps filled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vaecp.data.prediction import Prediction
from vaecp.errors import FormatError
from vaecp.formats import check_holds, open_file, write_completion


@dataclass(frozen=True)
class Told:
    """A completion whose means are known: the coordinates of an entry as the digits of a number."""

    observations: Any
    coverage: float = 0.9

    def at(self, indices):
        mean = indices @ 10.0 ** np.arange(indices.shape[1])[::-1] + 0.123456
        return Prediction(mean, np.full(len(mean), 0.5), np.zeros(len(mean)))


@pytest.fixture
def filled(tmp_path):
    """Write a table, read it, and return what is written back."""

    def back(text, output="out.csv", cells="all", suffix=".csv", **options):
        source, target = tmp_path / f"in{suffix}", tmp_path / output
        source.write_bytes(text.encode() if isinstance(text, str) else text)
        opened = open_file(source, **options)
        check_holds(opened.observations, target, opened.listing)
        write_completion(Told(opened.observations), target, opened.listing, cells)
        return target

    return back


def test_rows_columns_and_cells_stay_as_they_were(filled):
    lines = filled(
        "note,user,stars,week\nx,bob,5.00,2\ny,ann,,1\n,bob,,1\nz,ann,3e0,2\n",
        modes=["user", "week"],
        value="stars",
    ).read_text()
    assert lines == (
        "note,user,stars,week,observed,mean,std,low,high\n"
        "x,bob,5.00,2,True,11.123,0.500,10.301,11.946\n"
        "y,ann,0.123,1,False,0.123,0.500,-0.699,0.946\n"
        ",bob,10.123,1,False,10.123,0.500,9.301,10.946\n"
        "z,ann,3e0,2,True,1.123,0.500,0.301,1.946\n"
    )


def test_entries_that_are_not_listed_follow_where_all_are_asked_for(filled):
    text = "user,week,stars\nbob,2,5\nann,1,\n"
    frame = pd.read_csv(filled(text))
    assert frame[["user", "week"]].to_numpy().tolist() == [
        ["bob", 2],
        ["ann", 1],
        ["ann", 2],
        ["bob", 1],
    ]
    assert frame["observed"].tolist() == [True, False, False, False]
    assert len(pd.read_csv(filled(text, cells="listed"))) == 2


def test_a_european_table_is_written_with_its_signs_and_units(filled):
    path = filled("stadt;tag;preis\nBonn;31.01.2024;EUR 1.234,5\nBonn;01.02.2024;\n")
    assert path.read_text().splitlines()[1:] == [
        "Bonn;31.01.2024;EUR 1.234,5;True;0,123;0,500;-0,699;0,946",
        "Bonn;01.02.2024;EUR 1,123;False;1,123;0,500;0,301;1,946",
    ]


def test_gaps_among_answers_are_filled_with_the_more_probable_one(filled):
    """The means of this completion are 0.1 at the first entry and 1.1, 10.1 and 11.1 at the others."""
    lines = filled("user,week,came\nann,1,\nann,2,Nein\nbob,1,\nbob,2,Ja\n").read_text()
    assert [line.split(",")[2:5] for line in lines.splitlines()[1:]] == [
        ["Nein", "False", "0.123"],
        ["Nein", "True", "1.123"],
        ["Ja", "False", "10.123"],
        ["Ja", "True", "11.123"],
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encoding_of_the_input_is_kept(filled, encoding):
    path = filled("city,day,y\nKöln,1,5\nKöln,2,\n".encode(encoding))
    assert path.read_bytes().decode(encoding).splitlines()[1].startswith("Köln,1,5,True")
    assert path.read_bytes()[:3] == "cit".encode(encoding)[:3]


def test_a_wide_table_stays_wide_and_has_its_spreads_beside_it(filled):
    path = filled("sample,300,310\nb,1.5,\na,,2\n", wide="nm")
    frame = pd.read_csv(path, dtype=str)
    assert list(frame) == [
        "sample",
        "300",
        "310",
        *(f"{label} {what}" for what in ("std", "low", "high") for label in (300, 310)),
    ]
    assert frame[["sample", "300", "310"]].to_numpy().tolist() == [
        ["b", "1.5", "11.123"],
        ["a", "0.123", "2"],
    ]


def test_a_wide_table_gets_rows_for_labels_that_do_not_meet(filled):
    text = "plot,year,a,b\np,2020,1,\nq,2021,2,3\n"
    frame = pd.read_csv(filled(text, wide="kind", modes=["plot", "year"]))
    assert frame[["plot", "year"]].to_numpy().tolist()[2:] == [["p", 2021], ["q", 2020]]
    assert frame.loc[2, ["a", "b"]].tolist() == [10.123, 11.123]


def test_zeros_that_were_not_listed_are_observed(filled):
    frame = pd.read_csv(filled("a,b,y\np,q,1\nr,s,2\n", absent="zero"))
    assert frame["y"].tolist() == [1, 2, 0, 0]
    assert frame["observed"].all()


@pytest.mark.parametrize("output", ["out.parquet", "out.xlsx"])
def test_files_with_types_get_numbers_and_dates(filled, output):
    if output.endswith("xlsx"):
        pytest.importorskip("openpyxl", reason="needs the extra vaecp[excel]")
    path = filled(
        "city;day;n;y\nBonn;31.01.2024;7;1,5\nBonn;01.02.2024;8;\n", output, modes=["city", "day"]
    )
    frame = pd.read_parquet(path) if output.endswith("parquet") else pd.read_excel(path)
    assert frame["day"].dt.strftime("%Y-%m-%d").tolist() == ["2024-01-31", "2024-02-01"]
    assert frame["n"].tolist() == [7, 8]
    np.testing.assert_allclose(frame["y"], [1.5, 1.123456])


def test_a_parquet_table_is_written_as_text_with_digits(filled, tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra vaecp[parquet]")
    table = pd.DataFrame({"a": ["q", "p"], "b": [1, 2], "y": [0.5, np.nan], "n": [7, 8]})
    table.to_parquet(tmp_path / "t.parquet")
    path = filled(
        (tmp_path / "t.parquet").read_bytes(), suffix=".parquet", modes=["a", "b"], value="y"
    )
    assert path.read_text().splitlines()[1:3] == [
        "q,1,0.5,7,True,10.123,0.500,9.301,10.946",
        "p,2,1.123,8,False,1.123,0.500,0.301,1.946",
    ]


def test_a_column_with_the_name_of_a_result_is_refused(filled):
    with pytest.raises(
        FormatError, match=r"out\.csv: 'std' has the name of a column of the result"
    ):
        filled("a,b,std,y\np,q,1,2\n", modes=["a", "b"])


def test_a_column_that_counts_the_rows_stays_without_a_name(filled):
    lines = filled(",a,b,y\n0,p,q,1\n1,p,r,\n", cells="listed").read_text().splitlines()
    assert lines[0] == ",a,b,y,observed,mean,std,low,high"
    assert lines[2].startswith("1,p,r,1.123,False")
