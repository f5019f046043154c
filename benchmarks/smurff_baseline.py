"""SMURFF: Bayesian CP by Gibbs sampling, as another library does it."""

from __future__ import annotations

import os

import numpy as np

from vaecp.observations import Observations, Standardiser

BURN_IN, SAMPLES = 200, 400


def predict(training: Observations, held_out: Observations, rank: int, seed: int) -> np.ndarray:
    """Sample the posterior, and average the predictions of the held-out entries."""
    import smurff

    standardiser = Standardiser.of(training.values)

    def tensor(entries: Observations):
        columns = tuple(np.ascontiguousarray(c, dtype=np.int64) for c in entries.indices.T)
        return smurff.SparseTensor((standardiser.apply(entries.values), columns), entries.shape)

    session = smurff.TrainSession(
        priors=["normal"] * training.n_modes,
        num_latent=rank,
        burnin=BURN_IN,
        nsamples=SAMPLES,
        num_threads=os.cpu_count(),
        verbose=0,
        seed=seed,
    )
    session.addTrainAndTest(tensor(training), tensor(held_out), smurff.AdaptiveNoise(1.0, 1e7))
    found = {tuple(entry.coords): entry for entry in session.run()}
    entries = [found[tuple(key)] for key in held_out.indices.tolist()]
    return standardiser.invert(np.array([entry.pred_avg for entry in entries]))
