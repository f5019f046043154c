"""Files with damaged bytes are read or refused in one line: no traceback, hang or crash."""

import pytest
from fuzzing import data_files, model_files
from fuzzing.campaign import damage

OF_DATA = data_files.NAMES


@pytest.mark.parametrize("kind", OF_DATA)
def test_a_damaged_data_file_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "data", data[kind], range(20), tmp_path)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_damaged_table_of_queries_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "queries", data[kind], range(10), tmp_path)


@pytest.mark.parametrize("kind", model_files.SMALL)
def test_a_damaged_model_file_is_refused(kind, models, loader, tmp_path):
    damage(loader, "model", models[kind], range(10), tmp_path)
