"""FROSTT: lists of coordinates that count from one."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.errors import FormatError, ObservationError
from vaecp.formats import read, write


def test_frostt_counts_from_one_and_skips_comments(tmp_path):
    path = tmp_path / "x.tns"
    path.write_text("# a comment\n1 1 1.5\n2 3 -2\n")
    np.testing.assert_array_equal(
        read(path).to_array(), [[1.5, np.nan, np.nan], [np.nan, np.nan, -2]]
    )
    np.testing.assert_array_equal(read(path, absent="zero").to_array(), [[1.5, 0, 0], [0, 0, -2]])


BAD_FROSTT = {
    "0 1 2.0\n": r"entry 1 has the coordinate '0' in column 1: a \.tns file counts from 1",
    "1 1 1\n1.5 1 2.0\n": "entry 2 has the coordinate '1.5'",
    "1 1 1 1\n1 1 2\n": "entry 2 has the value '': each line",
    "# shape: 2 2\n3 1 1.0\n": r"indices\[0, 0\] is 2, but mode 0 has size 2",
    "1 1 inf\n": r"values\[0\] at \(0, 0\) is inf",
    "# only a comment\n": r"is truncated or is not a FROSTT",
}


@pytest.mark.parametrize(("text", "line"), BAD_FROSTT.items())
def test_a_bad_frostt_file_gets_one_line(tmp_path, text, line):
    path = tmp_path / "x.tns"
    path.write_text(text)
    with pytest.raises((FormatError, ObservationError), match=rf"x\.tns: {line}"):
        read(path)


def test_a_gzipped_frostt_file_is_really_compressed(tmp_path):
    write(Observations.from_array(np.ones((2, 2))), tmp_path / "t.tns.gz")
    assert gzip.decompress((tmp_path / "t.tns.gz").read_bytes()).startswith(b"# shape: 2 2\n")
