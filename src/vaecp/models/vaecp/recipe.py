"""How VAECP is trained: settings that few people need to touch."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from vaecp.models.base import check_at_least


class Recipe(BaseEstimator):
    """How the members of VAECP are trained.

    Parameters
    ----------
    sweeps : whether multilinear members are trained by closed-form sweeps.
    network : whether members with a network are trained by gradients; None trains them where
        averaging multilinear members helps, a sign that the data leave room for other kinds.
    multilinear : whether members with a network have a multilinear path and row effects beside it;
        False is the published decoder.
    prior : of members with a network: "per_mode", or "shared" by the rows of all modes as published.
    learning_rate : the largest step of Adam.
    decay : whether the step decays to zero along a cosine.
    batch_size : entries per step; None chooses by the number of entries.
    n_draws : reparameterised draws per step.
    kl_warmup : fraction of training over which the weight of the KL grows from 0.
    kl_weight : what it grows to; 1 is the evidence bound.
    scale_from : fraction of training after which the variance head is trained, alone. At 0
        both heads are trained together from the first step.
    weight_precision : precision of the prior on the network's output weights; of several,
        the members take one each in turn.
    log_variance_rate : steps of log-variances, relative to those of all else.
    held_out : whether entries are held out to choose and weigh members, and to calibrate.
    finish : at the end, so large a part of training by gradients is run once more on all entries,
        those held out included, in small steps.
    patience : stop after this many epochs without a better validation error; None never.
    calibrate : whether held-out entries give the size and the shape of errors.

    Examples
    --------
    >>> Recipe(kl_warmup=0.2)
    Recipe(kl_warmup=0.2)
    """

    def __init__(
        self,
        *,
        sweeps: bool = True,
        network: bool | None = None,
        multilinear: bool = True,
        prior: str = "per_mode",
        learning_rate: float = 1e-2,
        decay: bool = True,
        batch_size: int | None = None,
        n_draws: int = 1,
        kl_warmup: float = 0.4,
        kl_weight: float = 1.0,
        scale_from: float = 0.85,
        weight_precision: float | tuple[float, ...] = (1e1, 1e3),
        log_variance_rate: float = 5.0,
        held_out: bool = True,
        finish: float = 0.1,
        patience: int | None = None,
        calibrate: bool = True,
    ) -> None:
        self.sweeps = sweeps
        self.network = network
        self.multilinear = multilinear
        self.prior = prior
        self.learning_rate = learning_rate
        self.decay = decay
        self.batch_size = batch_size
        self.n_draws = n_draws
        self.kl_warmup = kl_warmup
        self.kl_weight = kl_weight
        self.scale_from = scale_from
        self.weight_precision = weight_precision
        self.log_variance_rate = log_variance_rate
        self.held_out = held_out
        self.finish = finish
        self.patience = patience
        self.calibrate = calibrate

    @classmethod
    def paper(cls, learning_rate: float = 5e-5) -> Self:
        """Return the published recipe.

        Batches of 30, one draw, a constant rate, the network alone, one prior shared by all
        modes, both heads and the whole KL from the first step, all entries, one step size for all.
        """
        return cls(
            sweeps=False,
            network=True,
            multilinear=False,
            prior="shared",
            learning_rate=learning_rate,
            decay=False,
            batch_size=30,
            n_draws=1,
            kl_warmup=0.0,
            scale_from=0.0,
            weight_precision=0.0,
            log_variance_rate=1.0,
            held_out=False,
            finish=0.0,
            calibrate=False,
        )

    def check(self) -> None:
        """Refuse settings that make no sense."""
        for name in ("n_draws", "batch_size", "patience"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)
        rules = (
            ("prior", self.prior in ("per_mode", "shared"), '"per_mode" or "shared"'),
            ("network", self.sweeps or self.network, "True, since sweeps is False"),
            ("learning_rate", self.learning_rate > 0, "a positive number such as 0.01"),
            ("log_variance_rate", self.log_variance_rate > 0, "a positive number such as 1"),
            ("kl_warmup", 0 <= self.kl_warmup <= 1, "a fraction from 0 to 1"),
            ("kl_weight", self.kl_weight >= 0, "a number from 0"),
            ("scale_from", 0 <= self.scale_from <= 1, "a fraction from 0 to 1"),
            ("weight_precision", np.min(self.weight_precision) >= 0, "a number from 0"),
            ("finish", 0 <= self.finish <= 1, "a fraction from 0 to 1"),
        )
        for name, holds, rule in rules:
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}: use {rule}.")
