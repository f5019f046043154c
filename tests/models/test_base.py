"""The shell that all methods share, seen through small methods of this file."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning

import vaecp
from vaecp.data.standardising import Scaling
from vaecp.errors import ObservationError
from vaecp.models import registry


@dataclass(frozen=True, eq=False)
class CentredColumns(Scaling):
    """Takes off the mean of every label of the second mode; the last is for unseen labels."""

    columns: np.ndarray

    def apply(self, values, indices):
        return (values - self.columns[indices[:, 1]]) / self.scale

    def invert(self, scaled, indices):
        return self.columns[indices[:, 1]] + self.stretch(scaled, indices)

    def stretch(self, spreads, indices):
        return self.scale * spreads


class CentredCPALS(vaecp.CPALS):
    def _scaling(self, observations):
        columns = observations.to_array().mean(axis=0)
        return CentredColumns(columns.mean(), 2.0, np.append(columns, columns.mean()))


@pytest.fixture
def centred(monkeypatch):
    """A rank-1 table plus a mean of each column, fitted by a method that takes these off."""
    monkeypatch.setattr(registry, "_METHODS", dict(registry.methods()))
    registry.register(registry.Method("CentredCPALS", CentredCPALS))
    columns = np.array([100.0, 200.0, -300.0, 50.0])
    table = np.outer([-2.0, -1.0, 0.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]) + columns
    observations = vaecp.Observations.from_array(table)
    model = CentredCPALS(rank=1, ridge=1e-9, random_state=0).fit_tensor(observations)
    return model, observations


def test_a_scaling_that_differs_between_entries_is_undone_at_each(centred):
    model, observations = centred
    found = model.predict_at(observations.indices)
    np.testing.assert_allclose(found.mean, observations.values, atol=1e-3)
    draws = model.sample(observations.indices, 3, random_state=0)
    np.testing.assert_allclose(draws, np.tile(observations.values, (3, 1)), atol=0.1)


def test_an_unseen_label_has_the_scaling_of_the_last_row(centred):
    model, _ = centred
    assert model.predict_at([[-1, 2]]).mean[0] == pytest.approx(-300, abs=1e-3)
    assert model.predict_at([[2, -1]]).mean[0] == pytest.approx(12.5, abs=1e-3)


def test_a_scaling_that_differs_between_entries_is_saved(centred, tmp_path):
    model, observations = centred
    copy = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    np.testing.assert_array_equal(
        copy.predict(observations.indices), model.predict(observations.indices)
    )


def test_a_scaling_that_differs_between_entries_has_no_cp_tensor(centred):
    with pytest.raises(ObservationError, match="one mean and one scale"):
        vaecp.interop.to_tensorly(centred[0])


class Refusing(vaecp.HOSVD):
    """Fails where the values are called seven."""

    def _fit(self, observations, random):
        if observations.value_name == "seven":
            raise RuntimeError("seven")
        return super()._fit(observations, random)


def test_a_fit_that_fails_leaves_the_earlier_one_as_it_was(random):
    keys = pd.DataFrame({"who": list("aabb"), "when": [1, 2, 1, 2]})
    model = Refusing(rank=1).fit(keys, [1.0, 2.0, 2.0, 4.0])
    before = dict(vars(model))
    other = vaecp.Observations.from_array(random.normal(size=(3, 4, 5)))
    with pytest.raises(RuntimeError, match="seven"):
        model.fit_tensor(replace(other, value_name="seven"))
    with pytest.raises(ValueError, match="infinity"):
        model.fit([(1, 2, 3), (4, 5, 6)], [1.0, np.inf])
    assert vars(model) == before
    assert model.predict(keys).shape == (4,)


def test_a_new_fit_forgets_the_names_of_the_one_before(random):
    keys = pd.DataFrame({"who": list("aabb"), "when": [1, 2, 1, 2]})
    model = vaecp.HOSVD(rank=1).fit(keys, [1.0, 2.0, 2.0, 4.0])
    model.fit(keys.to_numpy(), [1.0, 2.0, 2.0, 4.0])
    assert not hasattr(model, "feature_names_in_")
    assert model.mode_names_ == ("mode 0", "mode 1")


def test_a_fit_that_stops_too_early_warns_once_and_at_the_line_of_the_user(random):
    observations = vaecp.Observations.from_array(random.normal(size=(6, 5, 4)))
    model = vaecp.CPALS(rank=3, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="^CPALS stopped after max_iter=2") as caught:
        model.fit_tensor(observations)
    assert [warning.filename for warning in caught] == [__file__]
    assert not model.converged_
    assert model.diagnostics_.warning.startswith("stopped after max_iter=2")


def test_spreads_go_through_a_transformed_target_by_draws():
    """The std of a log-normal variable is its mean times sqrt(exp(s^2) - 1)."""
    table = np.exp(np.outer([1.0, 2.0, 3.0], [1.0, 0.5, -1.0, 2.0]))
    noise = np.exp(0.1 * np.random.default_rng(0).standard_normal(table.shape))
    tensor = vaecp.Observations.from_array(table * noise)
    wrapped = TransformedTargetRegressor(
        vaecp.CPALS(rank=1, random_state=0), func=np.log, inverse_func=np.exp
    ).fit(tensor.keys(), tensor.values)
    asked = tensor.keys().head(3)
    mean, std = wrapped.regressor_.predict(asked, return_std=True)
    draws = np.exp(wrapped.regressor_.sample(asked, n=20_000, random_state=0))
    expected = np.exp(mean + std**2 / 2) * np.sqrt(np.expm1(std**2))
    np.testing.assert_allclose(draws.std(axis=0), expected, rtol=0.05)
    with pytest.raises(AttributeError, match="'tuple' object has no attribute 'ndim'"):
        wrapped.predict(asked, return_std=True)  # scikit-learn's wrapper takes one array alone


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["yes", "no"], r"y holds 'no' and 'yes', .* such as \(y == 'yes'\)\.astype\(float\)"),
        (["poor", "fair", "good"], "y holds 3 texts such as 'fair', .* give their places, 1, 2, 3"),
    ],
)
def test_classes_with_names_are_refused_with_how_to_write_them(names, match):
    keys = [(i, j) for i in range(6) for j in range(6)]
    with pytest.raises(ObservationError, match=match):
        vaecp.VAECP().fit(keys, np.resize(names, 36))


def test_labels_of_another_type_are_new_with_a_warning():
    table = pd.DataFrame({"nm": [400.0, 410.0, 420.0] * 4, "day": np.repeat(range(4), 3)})
    model = vaecp.CPALS(rank=1, random_state=0).fit(table, table["nm"] * (1 + table["day"]))
    asked = table.assign(nm=table["nm"].astype(str))
    with pytest.warns(
        UserWarning, match="of mode 'nm' is known: these are texts, and those learned numbers"
    ):
        model.predict(asked)
    model.predict(table.assign(nm=999.0))  # new, of the same type
