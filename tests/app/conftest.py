"""What the tests of the commands share: a quick model, a shelf of saved ones, a table."""

from __future__ import annotations

import sys
import types

import pytest
from row_means import RowMeanModel

from vaecp.app import cli

TABLE = "user,week,stars\nann,1,5\nann,2,3\nbob,1,2\nbob,2,\n"


@pytest.fixture
def asked(monkeypatch):
    """Replace the model, and record which rank and seed the command asked for."""
    requests = []

    def model(rank, seed):
        requests.append((rank, seed))
        return RowMeanModel(random_state=seed)

    monkeypatch.setattr(cli, "default_model", model)
    return requests


@pytest.fixture
def shelf(monkeypatch):
    """Keep saved models in a dictionary, by path."""
    store = types.ModuleType("vaecp.outcomes.store")
    models = {}
    store.save = lambda model, path: models.__setitem__(str(path), model)
    store.load = lambda path: models[str(path)]
    monkeypatch.setitem(sys.modules, "vaecp.outcomes.store", store)
    return models


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(TABLE)
    return path
