"""SMURFF: Bayesian CP by Gibbs sampling, as another library does it."""

from __future__ import annotations

from typing import Any

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.data.standardising import Standardiser
from vaecp.runtime.extras import require
from vaecp.runtime.threads import n_cores
from vaecp.study.rivals import EXTRA, means_only


def predict(
    training: Observations,
    indices: np.ndarray,
    random_state: int = 0,
    rank: int = 16,
    burn_in: int = 200,
    samples: int = 400,
) -> Prediction:
    """Sample the posterior, and average the predictions of the asked entries.

    The spread that SMURFF reports is that of the mean alone, so it is left out.
    """
    smurff: Any = require("smurff", EXTRA, "the rival SMURFF")
    once = training.settle_duplicates("mean")
    standardiser = Standardiser.of(once.values)
    asked, place = np.unique(indices, axis=0, return_inverse=True)

    def tensor(cells: np.ndarray, values: np.ndarray) -> Any:
        columns = tuple(np.ascontiguousarray(column, dtype=np.int64) for column in cells.T)
        return smurff.SparseTensor((values, columns), training.shape)

    session = smurff.TrainSession(
        priors=["normal"] * training.n_modes,
        num_latent=rank,
        burnin=burn_in,
        nsamples=samples,
        num_threads=n_cores(),
        verbose=0,
        seed=random_state,
    )
    session.addTrainAndTest(
        tensor(once.indices, standardiser.apply(once.values)),
        tensor(asked, np.zeros(len(asked))),
        smurff.AdaptiveNoise(1.0, 1e7),
    )
    found = {tuple(entry.coords): entry.pred_avg for entry in session.run()}
    means = np.array([found[tuple(cell)] for cell in asked.tolist()])
    return means_only(standardiser.invert(means)[place.ravel()])
