"""Yes or no by InfTucker, against SciPy and data with a known answer."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

import vaecp
from vaecp.data.families import Probit
from vaecp.errors import ObservationError
from vaecp.models.inftucker.probit import are_binary, mean_behind

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHAPE = (12, 10, 8)


@pytest.mark.parametrize("latent", [-30.0, -2.0, 0.3, 5.0])
def test_the_number_behind_a_value_is_a_truncated_gaussian(latent):
    found = mean_behind(np.array([1.0, 0.0]), np.full(2, latent))
    above, below = (
        stats.truncnorm.mean(*ends, loc=latent) for ends in ((-latent, 60), (-60, -latent))
    )
    np.testing.assert_allclose(found, [above, below], rtol=1e-3, atol=1e-3)


def test_the_family_is_that_of_scipy():
    latent, values = np.linspace(-3, 3, 7), np.array([0.0, 1.0, 0, 1, 0, 1, 1])
    family, truth = Probit(), stats.bernoulli(stats.norm.cdf(np.linspace(-3, 3, 7)))
    np.testing.assert_allclose(family.log_prob(values, latent), truth.logpmf(values))
    np.testing.assert_allclose(family.cdf(values, latent), truth.cdf(values))
    np.testing.assert_allclose(family.moments(latent), [truth.mean(), truth.var()])


@pytest.fixture(scope="module")
def clicks():
    random = np.random.default_rng(0)
    who, what, when = (random.normal(size=size) for size in SHAPE)
    latent = 2 * np.multiply.outer(who, what)[..., None] + when
    values = (latent + random.normal(size=SHAPE) > 0).astype(float)
    hidden = random.random(SHAPE) < 0.3
    return values, hidden


@pytest.mark.parametrize("share", [1.0, 0.2], ids=["grid", "entries"])
def test_probabilities_are_learned(clicks, share, tmp_path):
    values, hidden = clicks
    known = ~hidden & (np.random.default_rng(1).random(SHAPE) < share)
    tensor = vaecp.Observations.from_array(np.where(known, values, np.nan))
    model = vaecp.InfTucker(rank=2, max_iter=15, random_state=0).fit_tensor(tensor)
    prediction = model.predict_at(np.argwhere(hidden))
    least = 0.8 if share == 1 else 0.6  # 0.88 with the numbers that the values were made from
    assert roc_auc_score(values[hidden], prediction.mean) > least
    np.testing.assert_allclose(prediction.probabilities().sum(axis=1), 1)
    if share == 1:  # with few entries latent vectors overfit, and probabilities are too sure
        assert -prediction.log_density(values[hidden]).mean() < 0.55
    again = vaecp.load(vaecp.save(model, tmp_path / "model.vaecp"))
    np.testing.assert_array_equal(again.predict_at(np.argwhere(hidden)).mean, prediction.mean)
    np.testing.assert_array_equal(again.classes_, [0.0, 1.0])


def test_values_that_are_not_binary_are_refused_and_gaussian_is_a_choice(clicks):
    values, _ = clicks
    tensor = vaecp.Observations.from_array(values[:, :, 0])
    plain = vaecp.InfTucker(rank=1, max_iter=1, likelihood="gaussian", random_state=0)
    assert plain.fit_tensor(tensor).fitted_.classes is None
    with pytest.raises(ObservationError, match="are not 0 and 1"):
        vaecp.InfTucker(likelihood="probit").fit_tensor(tensor.with_values(tensor.values + 1))
    assert not are_binary(np.ones(50))


@pytest.mark.parametrize("seed", [4, 5])
def test_rows_that_are_folded_in_are_as_sure_as_rows_of_a_fit(seed):
    random = np.random.default_rng(seed)
    who, what, when = (random.normal(size=size) for size in SHAPE)
    latent = 8 * np.multiply.outer(who, what)[..., None] + 4 * when
    values = (latent + random.normal(size=SHAPE) > 0).astype(float)
    late = np.broadcast_to(np.arange(SHAPE[0])[:, None, None] >= 10, SHAPE)
    asked = late & (random.random(SHAPE) < 0.4)
    first, more, asked = (np.argwhere(part) for part in (~late, late & ~asked, asked))
    both = np.concatenate([first, more])

    def at(cells):
        return values[tuple(cells.T)]

    model = vaecp.InfTucker(rank=2, max_iter=15, random_state=0)
    refitted = model.fit(both, at(both)).log_prob(asked, at(asked)).mean()
    folded = model.fit(first, at(first)).fold_in(more, at(more))
    assert (
        folded.log_prob(asked, at(asked)).mean() > refitted - 0.03
    )  # less by 0.06 and 0.15 after one round
