"""Files with damaged bytes are read or refused in one line: no traceback, hang or crash."""

import pytest
from fuzzing import beside, data_files, model_files
from fuzzing.campaign import damage, judge
from fuzzing.kinds import OF_TABLES

OF_DATA = data_files.NAMES


@pytest.mark.parametrize("kind", OF_DATA)
def test_a_damaged_data_file_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "data", data[kind], range(20), tmp_path)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_damaged_table_of_queries_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "queries", data[kind], range(10), tmp_path)


@pytest.mark.parametrize("kind", OF_TABLES)
def test_a_damaged_table_beside_data_is_read_or_refused(kind, tables, reader, tmp_path):
    damage(reader, tables[kind].stem, tables[kind], range(10), tmp_path)


@pytest.mark.parametrize("kind", beside.TASKS)
def test_a_damaged_folder_beside_data_is_used_or_refused(kind, folders, keeper, tmp_path):
    for number in range(15):
        judge(keeper, beside.TASKS[kind], beside.spoiled(folders[kind], number, tmp_path))


@pytest.mark.parametrize("kind", model_files.SMALL)
def test_a_damaged_model_file_is_refused(kind, models, loader, tmp_path):
    damage(loader, "model", models[kind], range(10), tmp_path)
