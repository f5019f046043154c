"""Files to damage, processes that read them, and what a campaign came to."""

from contextlib import closing

import pytest
from fuzzing import beside, data_files, model_files
from fuzzing.campaign import TALLY
from fuzzing.children import Child


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return data_files.save_all(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return model_files.save_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return data_files.save_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return beside.save_all(tmp_path_factory.mktemp("folders"))


@pytest.fixture(scope="module")
def keeper(folders):
    tasks = [(beside.TASKS[name], path) for name, path in folders.items()]
    with closing(Child(tasks)) as child:
        yield child


@pytest.fixture(scope="module")
def reader(data):
    with closing(Child([("data", path) for path in data.values()])) as child:
        yield child


@pytest.fixture(scope="module")
def loader(models):
    with closing(Child([("model", path) for path in models.values()])) as child:
        yield child


def pytest_terminal_summary(terminalreporter):
    if TALLY:
        counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(TALLY.items()))
        terminalreporter.write_line(f"{TALLY.total():,} damaged or made-up files: {counts}")
