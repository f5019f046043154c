"""Files with damaged bytes are read or refused in one line: no traceback, hang or crash."""

import pytest
from fuzzing import data_files, model_files
from fuzzing.campaign import damage
from fuzzing.children import Child

OF_DATA = data_files.NAMES


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return data_files.save_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def reader(data):
    child = Child([("data", path) for path in data.values()])
    yield child
    child.close()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return model_files.save_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def loader(models):
    child = Child([("model", path) for path in models.values()])
    yield child
    child.close()


@pytest.mark.parametrize("kind", OF_DATA)
def test_a_damaged_data_file_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "data", data[kind], range(20), tmp_path)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_a_damaged_table_of_queries_is_read_or_refused(kind, data, reader, tmp_path):
    damage(reader, "queries", data[kind], range(10), tmp_path)


@pytest.mark.parametrize("kind", model_files.SMALL)
def test_a_damaged_model_file_is_refused(kind, models, loader, tmp_path):
    damage(loader, "model", models[kind], range(10), tmp_path)
