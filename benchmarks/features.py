"""What features of rows are worth: MovieLens with users and films, beside SMURFF's Macau.

    VAECP_DATA=... python benchmarks/features.py             split u1, and films without any rating
    VAECP_DATA=... python benchmarks/features.py --effort quick --seeds 3

Users have age, sex, occupation and the first sign of their postal code; films have year and genres.
Every method sees the same numbers. Two questions: the published split u1; and, of its training part,
all ratings of a tenth of the films, drawn at random by seed. The aims: at most 0.900 on u1, and for
films without ratings an error at least 15 % below that without features. The mean of each user's
ratings stands beside, as what a film without ratings can be given without a model.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import vaecp
from vaecp.data.features import with_features

SHARE = 0.1
Predicts = Callable[[vaecp.Observations, vaecp.Observations], np.ndarray]


def tables() -> dict[str, Any]:
    folder = Path(os.environ["VAECP_DATA"]) / "movielens"
    names = ["user", "age", "sex", "occupation", "postcode"]
    users = pd.read_csv(folder / "u.user", sep="|", names=names)
    users["postcode"] = users["postcode"].str[0]
    genres = [f"genre {number}" for number in range(19)]
    names = ["film", "title", "released", "video", "address", *genres]
    films = pd.read_csv(folder / "u.item", sep="|", names=names, encoding="latin-1")
    films["year"] = pd.to_datetime(films["released"], format="%d-%b-%Y").dt.year
    return {"user": users, "film": films[["film", "year", *genres]]}


def ours(effort: str, *, features: bool) -> Predicts:
    def predict(train: vaecp.Observations, asked: vaecp.Observations) -> np.ndarray:
        given = with_features(train, tables()) if features else train
        model = vaecp.VAECP(effort=effort, random_state=0).fit_tensor(given)
        return model.predict_at(asked.indices).mean

    return predict


def macau(rank: int = 16, burn_in: int = 200, samples: int = 400) -> Predicts:
    def predict(train: vaecp.Observations, asked: vaecp.Observations) -> np.ndarray:
        import smurff

        centre = train.values.mean()

        def tensor(cells: np.ndarray, values: np.ndarray):
            columns = tuple(np.ascontiguousarray(column, dtype=np.int64) for column in cells.T)
            return smurff.SparseTensor((values, columns), train.shape)

        session = smurff.TrainSession(
            priors=["macau", "macau"],
            num_latent=rank,
            burnin=burn_in,
            nsamples=samples,
            num_threads=1,
            verbose=0,
            seed=0,
        )
        session.addTrainAndTest(
            tensor(train.indices, train.values - centre),
            tensor(asked.indices, np.zeros(len(asked))),
            smurff.AdaptiveNoise(1.0, 1e7),
        )
        for mode, own in enumerate(with_features(train, tables()).feature_tables):
            numbers = np.nan_to_num(own.astype(np.float64))
            session.addSideInfo(mode, numbers, smurff.SampledNoise(10.0), direct=True)
        found = {tuple(entry.coords): entry.pred_avg for entry in session.run()}
        return centre + np.array([found[tuple(cell)] for cell in asked.indices.tolist()])

    return predict


def user_means(train: vaecp.Observations, asked: vaecp.Observations) -> np.ndarray:
    counts, totals = (
        np.bincount(train.indices[:, 0], weights, minlength=train.shape[0])
        for weights in (None, train.values)
    )
    return ((totals + 5 * train.values.mean()) / (counts + 5))[asked.indices[:, 0]]


def questions(n_seeds: int):
    train, test = (vaecp.datasets.load("movielens", part=part) for part in ("train", "test"))
    yield "u1", train, test
    for seed in range(n_seeds):
        rated = np.unique(train.indices[:, 1])
        random = np.random.default_rng(seed)
        cold = random.choice(rated, round(SHARE * len(rated)), replace=False)
        out = np.isin(train.indices[:, 1], cold)
        yield f"films without ratings, seed {seed}", train.take(~out), train.take(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    methods: dict[str, Predicts] = {
        "mean of the user": user_means,
        "VAECP": ours(given.effort, features=False),
        "VAECP with features": ours(given.effort, features=True),
        "SMURFF Macau, rank 16": macau(),
        "SMURFF Macau, rank 4": macau(4),
    }
    for name, train, asked in questions(given.seeds):
        print(name, flush=True)
        plain = np.nan
        for method, predict in methods.items():
            started = time.perf_counter()
            error = float(np.sqrt(np.mean((predict(train, asked) - asked.values) ** 2)))
            plain = error if method == "VAECP" else plain
            gain = f"{100 * (1 - error / plain):5.1f} % below VAECP" if error < plain else ""
            seconds = time.perf_counter() - started
            print(f"  {method:22} RMSE {error:.4f}  {seconds:5.0f} s  {gain}", flush=True)


if __name__ == "__main__":
    main()
