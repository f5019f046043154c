"""Effects of components against predictions of a model whose rows were levelled by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vaecp
from vaecp.data.observations import Observations
from vaecp.outcomes.components import loadings, relevance, training_history

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHAPE = (6, 5, 4)
TABLES = {"FBCP": "means", "CPALS": "tables", "NCP": "tables"}
SETTINGS = {
    "VAECP": {"rank": 2, "hidden": 4, "n_members": 2, "max_epochs": 5},
    "FBCP": {"rank": 2, "n_starts": 1, "max_iter": 20},
    "CPALS": {"rank": 2, "n_starts": 1, "max_iter": 20},
    "NCP": {"rank": 2, "n_starts": 1, "max_iter": 20},
}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    rows = [1 + random.random((size, 2)) for size in SHAPE]
    array = 5 + np.einsum("ir,jr,kr->ijk", *rows) + 0.1 * random.normal(size=SHAPE)
    array[random.random(SHAPE) < 0.2] = np.nan
    return Observations.from_array(array)


def levelled(table, component):
    table = np.array(table)
    table[..., component] = table[..., :-1, component].mean(axis=-1, keepdims=True)
    return table


@pytest.mark.parametrize("name", TABLES)
def test_an_effect_is_the_change_of_the_prediction_when_a_component_is_levelled(name, data):
    model = getattr(vaecp, name)(**SETTINGS[name], random_state=0).fit_tensor(data)
    fitted, indices = model.fitted_, np.array([[0, 1, 2], [5, 4, 3], [-1, 0, 0]])
    ((mode, effects),) = fitted.components(indices)
    assert mode is None
    for component in range(effects.shape[1]):
        tables = tuple(levelled(t, component) for t in getattr(fitted, TABLES[name]))
        moved = replace(fitted, **{TABLES[name]: tables}).predict_mean(indices)
        expected = moved - fitted.predict_mean(indices)
        np.testing.assert_allclose(effects[:, component], expected, rtol=1e-4, atol=1e-6)


def test_an_effect_of_a_tucker_component_is_that_of_its_mode_alone(data):
    fitted = vaecp.HOSVD(rank=(2, 3, 1)).fit_tensor(data).fitted_
    indices = np.array([[0, 1, 2], [5, 4, 3], [-1, 0, 0]])
    found = fitted.components(indices)
    assert [(mode, effects.shape[1]) for mode, effects in found] == [(0, 2), (1, 3), (2, 1)]
    for mode, effects in found:
        for component in range(effects.shape[1]):
            tables = list(fitted.tables)
            tables[mode] = levelled(tables[mode], component)
            moved = replace(fitted, tables=tuple(tables)).predict_mean(indices)
            np.testing.assert_allclose(
                effects[:, component], moved - fitted.predict_mean(indices), atol=1e-12
            )


def test_a_method_without_components_has_an_empty_table_of_them(data):
    model = vaecp.InfTucker(rank=2, max_iter=2, random_state=0).fit_tensor(data)
    assert relevance(model).empty
    assert loadings(model)[0].std is None


def test_the_history_of_every_method_has_the_same_columns(data):
    for name, settings in SETTINGS.items():
        model = getattr(vaecp, name)(**settings, random_state=0).fit_tensor(data)
        history = training_history(model)
        assert list(history.columns) == ["step", "term", "member", "value"]
        assert history["step"].max() == model.n_iter_
