"""Arrays in files of which pieces are read: what NumPy saved is found, and damage is named."""

import numpy as np
import pytest

from vaecp.data.array_files import ArrayFile
from vaecp.errors import FormatError

ROWS = np.arange(12, dtype=np.int32).reshape(6, 2)


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    return tmp_path / "rows.npy"


def test_spans_of_rows_are_read_into_their_places(path):
    file = ArrayFile.at(path, np.dtype(np.int32), (6, 2))
    found = np.zeros((4, 2), dtype=np.int32)
    file.read_into(found, [(4, 0, 2), (1, 3, 1)])
    np.testing.assert_array_equal(found, [[8, 9], [10, 11], [0, 0], [2, 3]])
    np.testing.assert_array_equal(file.mapped(), ROWS)


@pytest.mark.parametrize(("dtype", "shape"), [(np.int64, (6, 2)), (np.int32, (5, 2))])
def test_another_array_than_expected_is_damage(path, dtype, shape):
    with pytest.raises(FormatError, match=r"rows\.npy: is damaged \(it holds int32 \(6, 2\)"):
        ArrayFile.at(path, np.dtype(dtype), shape)


def test_a_file_that_was_cut_is_damage_before_and_while_it_is_read(path):
    file = ArrayFile.at(path, np.dtype(np.int32), (6, 2))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(FormatError, match=r"is damaged \(it has \d+ bytes\)"):
        ArrayFile.at(path, np.dtype(np.int32), (6, 2))
    with pytest.raises(FormatError, match="it ends too early"):
        file.read_into(np.zeros((1, 2), dtype=np.int32), [(5, 0, 1)])


def test_an_array_in_columns_is_damage(tmp_path):
    np.save(tmp_path / "rows.npy", np.asfortranarray(ROWS))
    with pytest.raises(FormatError, match="is damaged"):
        ArrayFile.at(tmp_path / "rows.npy", np.dtype(np.int32), (6, 2))
