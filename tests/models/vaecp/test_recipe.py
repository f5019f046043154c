import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import vaecp
from vaecp import VAECP, Recipe

KEYS = np.argwhere(np.ones((4, 5))).tolist()
VALUES = np.sin(np.arange(20.0))
NETWORK = Recipe(sweeps=False, network=True)
TINY = VAECP(rank=2, hidden=4, n_members=1, max_epochs=2, recipe=NETWORK, random_state=0)


def test_parameters_are_read_and_set_by_name_also_through_the_estimator():
    recipe = Recipe(kl_warmup=0.2)
    assert recipe.get_params()["kl_warmup"] == 0.2
    assert recipe.set_params(n_draws=3).n_draws == 3
    model = VAECP(recipe=recipe).set_params(recipe__decay=False)
    assert not recipe.decay
    assert model.get_params()["recipe__n_draws"] == 3


def test_a_clone_has_a_recipe_of_its_own():
    model = VAECP(recipe=Recipe(weight_precision=(1.0, 2.0)))
    copy = clone(model)
    assert copy.recipe is not model.recipe
    assert copy.recipe.get_params() == model.recipe.get_params()


def test_a_setting_of_the_recipe_can_be_searched():
    search = GridSearchCV(TINY, {"recipe__kl_warmup": [0.0, 0.5]}, cv=2).fit(KEYS, VALUES)
    assert search.best_params_["recipe__kl_warmup"] in (0.0, 0.5)
    assert NETWORK.kl_warmup == 0.4  # what was given stays as it is


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("prior", "none"),
        ("learning_rate", -1.0),
        ("learning_rate", float("nan")),
        ("log_variance_rate", 0.0),
        ("kl_warmup", 2.0),
        ("scale_from", -0.1),
        ("weight_precision", (1.0, -1.0)),
        ("finish", 1.5),
        ("n_draws", 0),
        ("batch_size", 0),
        ("patience", 0),
        ("network", False),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(setting, value):
    model = clone(TINY).set_params(**{f"recipe__{setting}": value})
    with pytest.raises(ValueError, match=f"^{setting} is .*: use "):
        model.fit(KEYS, VALUES)


def test_a_recipe_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"recipe is \{'decay': False\}: use a vaecp.Recipe"):
        VAECP(recipe={"decay": False}).fit(KEYS, VALUES)


def test_a_recipe_survives_a_file(tmp_path):
    recipe = Recipe(sweeps=False, network=True, weight_precision=(1.0, 5.0), patience=7)
    model = clone(TINY).set_params(recipe=recipe).fit(KEYS, VALUES)
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    assert isinstance(again.recipe, Recipe)
    assert again.recipe.get_params() == recipe.get_params()


def test_the_published_recipe_is_what_the_paper_says():
    model = VAECP.paper(rank=7, hidden=50, learning_rate=1e-4)
    recipe = model.recipe
    assert (model.rank, model.hidden, model.n_members) == (7, 50, 1)
    assert (recipe.learning_rate, recipe.batch_size, recipe.n_draws) == (1e-4, 30, 1)
    assert (recipe.sweeps, recipe.network, recipe.multilinear) == (False, True, False)
    assert (recipe.prior, recipe.decay) == ("shared", False)
    assert (recipe.kl_warmup, recipe.scale_from, recipe.weight_precision) == (0, 0, 0)
    assert recipe.log_variance_rate == 1
    assert (recipe.held_out, recipe.finish, recipe.calibrate) == (False, 0, False)
    assert not model.smooth
    assert not model.neighbours
