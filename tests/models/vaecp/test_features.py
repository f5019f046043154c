"""What is known about rows beside their entries."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import vaecp
from vaecp.data.features import with_features
from vaecp.models.vaecp.holdouts import folds_for

N_FILMS, N_USERS = 80, 40


class Ratings:
    """Films whose level follows their length; every tenth film has no rating."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        length = random.normal(size=N_FILMS)
        self.films = pd.DataFrame(
            {"film": np.arange(N_FILMS), "length": length, "noise": random.normal(size=N_FILMS)}
        )
        users = random.normal(size=N_USERS)
        full = users[:, None] + 2 * length + 0.3 * random.normal(size=(N_USERS, N_FILMS))
        seen = np.argwhere(random.random(full.shape) < 0.3)
        cold = seen[:, 1] % 10 == 3
        self.train, self.cold = (
            pd.DataFrame(part, columns=["user", "film"]) for part in (seen[~cold], seen[cold])
        )
        self.values, self.truth = full[tuple(seen[~cold].T)], full[tuple(seen[cold].T)]

    def rmse(self, model) -> float:
        return float(np.sqrt(np.mean((model.predict(self.cold) - self.truth) ** 2)))


def model() -> vaecp.VAECP:
    return vaecp.VAECP(effort="quick", likelihood="gaussian", random_state=0)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings()


@pytest.fixture(scope="module")
def described(ratings) -> vaecp.VAECP:
    return model().fit(ratings.train, ratings.values, row_features={"film": ratings.films})


def test_rows_without_entries_are_predicted_from_their_features(ratings, described):
    plain = model().fit(ratings.train, ratings.values)
    assert ratings.rmse(described) < 0.5
    assert ratings.rmse(described) < 0.5 * ratings.rmse(plain)
    low, high = described.predict_interval(ratings.cold)
    assert 0.8 < np.mean((low <= ratings.truth) & (ratings.truth <= high)) < 0.99


def test_features_that_say_nothing_do_no_harm(ratings):
    useless = ratings.films[["film", "noise"]]
    found = model().fit(ratings.train, ratings.values, row_features={"film": useless})
    plain = model().fit(ratings.train, ratings.values)
    some = ratings.train[:200]
    np.testing.assert_allclose(found.predict(some), plain.predict(some), atol=0.25)


def test_a_model_with_features_is_saved_and_loaded_to_the_bit(ratings, described, tmp_path):
    copy = vaecp.load(vaecp.save(described, tmp_path / "films.vaecp"))
    np.testing.assert_array_equal(copy.predict(ratings.cold), described.predict(ratings.cold))


def test_the_fit_says_how_features_are_used(described):
    assert described.diagnostics_.found["features"].startswith(("linear in", "network in"))


def test_entries_of_a_described_row_are_folded_in(ratings, described):
    film = ratings.cold["film"] == 13
    keys, truth = ratings.cold[film], ratings.truth[film] + 2.0
    grown = described.fold_in(keys, truth)
    before, after = (np.mean(np.abs(m.predict(keys) - truth)) for m in (described, grown))
    assert after < 0.6 * before
    assert list(grown.labels_[1][grown.folded_rows_[1]]) == [13]


def test_a_stream_keeps_the_features(ratings):
    half = len(ratings.train) // 3
    found = model()
    found.partial_fit(
        ratings.train[:half], ratings.values[:half], row_features={"film": ratings.films}
    )
    found.partial_fit(ratings.train[half:], ratings.values[half:])
    assert ratings.rmse(found) < 0.6


def test_features_are_routed_and_a_clone_asks_for_them(ratings):
    with sklearn.config_context(enable_metadata_routing=True):
        asking = clone(model().set_fit_request(row_features=True))
        scores = cross_val_score(
            asking,
            ratings.train,
            ratings.values,
            cv=KFold(2, shuffle=True, random_state=0),
            params={"row_features": {"film": ratings.films}},
        )
    assert (scores > 0.8).all()


def test_some_described_rows_are_held_out_whole(ratings):
    tensor = vaecp.Observations.from_keys(ratings.train, ratings.values, ["user", "film"])
    tensor = with_features(tensor, {"film": ratings.films})
    for fold in folds_for(tensor, (False, False), np.random.default_rng(0)):
        gone = set(fold.held_out.indices[:, 1]) - set(fold.train.indices[:, 1])
        assert gone
        assert set(fold.train.indices[:, 0]) == set(tensor.indices[:, 0])
