"""Held-out entries tell the order of modes where entries have no neighbours to compare them with."""

import numpy as np
import pytest

import vaecp
from vaecp.data.order import ordered_modes, orders
from vaecp.models.vaecp import fitting
from vaecp.models.vaecp.likelihoods import GAUSSIAN
from vaecp.models.vaecp.trial import order_of


def sparse(seed: int = 0) -> tuple[vaecp.Observations, np.ndarray, np.ndarray]:
    """Two smooth components, of which 3 % of the cells are known."""
    random = np.random.default_rng(seed)
    factors = []
    for size in (24, 30, 26):
        place = np.linspace(0, 1, size)[:, None]
        factors.append(np.exp(-0.5 * ((place - random.random(2)) / 0.25) ** 2))
    array = np.einsum("ir,jr,kr->ijk", *factors)
    array /= array.std()
    known = random.random(array.shape) < 0.03
    return vaecp.Observations.from_array(np.where(known, array, np.nan)), array, known


def test_rows_of_sparse_smooth_modes_have_an_order():
    tensor, _, _ = sparse()
    assert orders(tensor) == (None, None, None)
    assert ordered_modes(tensor) == (False, False, False)
    assert order_of(tensor, GAUSSIAN, 0) == (True, True, True)


@pytest.mark.parametrize("seed", range(3))
def test_rows_have_none_where_held_out_entries_do_not_gain(seed):
    """Rows and columns have levels of their own, and nothing else is to be found."""
    random = np.random.default_rng(seed)
    array = random.normal(size=(30, 1)) + random.normal(size=(1, 25))
    array = array + random.normal(size=array.shape)
    array[random.random(array.shape) > 0.2] = np.nan
    tensor = vaecp.Observations.from_array(array)
    assert orders(tensor) == (None, None)
    assert order_of(tensor, GAUSSIAN, 0) == (False, False)


@pytest.mark.parametrize(
    "settings", [{"smooth": False}, {"recipe": vaecp.Recipe(held_out=False)}], ids=str
)
def test_no_trial_is_made_that_was_not_asked_for(settings, monkeypatch):
    """It would need smooth rows, and entries to hold out."""

    def refused(*given):
        raise AssertionError("a trial was made")

    monkeypatch.setattr(fitting, "order_of", refused)
    tensor, _, _ = sparse()
    plain = {"rank": 1, "n_members": 1, "likelihood": "gaussian", "random_state": 0}
    vaecp.VAECP(**plain, **settings).fit_tensor(tensor)


@pytest.mark.slow
def test_sparse_smooth_tensors_are_filled():
    """Without the order of their modes, errors are as large as those of row effects."""
    tensor, array, known = sparse()
    model = vaecp.VAECP(random_state=0).fit_tensor(tensor)
    found = model.predict_at(np.argwhere(~known)).mean
    assert np.sqrt(np.mean((found - array[~known]) ** 2)) < 0.1
