"""VAECP: Bayesian nonlinear tensor decomposition by a variational auto-encoder."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple, Self

import jax
import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from vaecp import problems, recipe
from vaecp.compilation import keep_compiled_programs
from vaecp.layout import Layout
from vaecp.loop import Loop, Problem, State
from vaecp.models.base import TensorEstimator, check_at_least
from vaecp.models.vaecp_fitted import FittedVAECP, fitted_from
from vaecp.models.vaecp_judging import (
    blended,
    calibrated,
    calibrated_for_unseen,
    renewed,
    with_neighbours,
    with_noise_of_rows,
)
from vaecp.observations import Observations
from vaecp.order import ordered_modes
from vaecp.progress import no_progress, progress_bar
from vaecp.smoothing import Smoothers, smoothers_for
from vaecp.starts import cp_starts

MIN_ENTRIES_TO_VALIDATE = 50
MIN_HELD_OUT, MAX_HELD_OUT = 5, 100_000
LEARNED = ("row_mean", "row_log_variance", "prior", "decoder")


class Plan(NamedTuple):
    """All that is decided before training."""

    train: Observations
    held_out: Observations | None
    ordered: tuple[bool, ...]
    smoothers: Smoothers
    layout: Layout
    seed: int
    states: State
    schedule: recipe.Schedule
    loop: Loop

    @property
    def program(self) -> Hashable:
        """What the compiled program depends on: plans that share it can be trained together."""
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(self.states))
        smoothed = tuple(smoother is not None for smoother in self.smoothers)
        return shapes, smoothed, self.schedule, self.loop


class VAECP(TensorEstimator):
    """Fill a tensor with a small neural network on Gaussian latent rows.

    Every row of every mode has a latent vector with a Gaussian posterior; a shared tanh layer
    turns the rows of an entry into the mean and the log-variance of its value; all is trained
    by the evidence lower bound with reparameterised draws. Labels not seen in training are
    predicted from the learned prior, with a wider standard deviation.

    The defaults are not the published recipe, which collapses (see `VAECP.paper`), but the
    same model trained so that it does not:

    - *One shared noise level first.* The variance head is trained last and alone; trained
      from the start it explains large residuals away and the mean stops learning.
    - *KL warm-up.* At full weight from the first step the posteriors fall back to the prior.
    - *A multilinear path beside the network*, mean = c . (u^1 * ... * u^D) + network, with a
      Gaussian prior on the network's output weights: plain Bayesian CP is the special case
      that the model falls back to where the data are multilinear.
    - *Large steps and batches* with cosine decay.
    - *A few members*, trained side by side from different starts: random ones, and ones near
      a masked CP, which a few sweeps of least squares find. They differ in how strong the
      prior on the network is. Held-out entries say how much each counts; their disagreement
      is part of the standard deviation.
    - *Smooth rows.* Where values change little from one label to the next, as along
      wavelengths, a learned filter makes the rows of that mode vary smoothly.
    - *Neighbours.* What the model leaves over there is often alike in neighbouring entries,
      and their errors correct a prediction, if held-out entries bear this out.
    - *Calibration.* Entries held out of training give the size and the shape of errors. They
      also choose each member's best epoch and its weight, so this is a little optimistic.
    - *A finish on all entries*, those that were held out included.

    Parameters
    ----------
    rank : width of the latent rows; None chooses by the number of entries. A rank that is too
        large costs time more than accuracy: the learned prior variance of a component that is
        not needed shrinks to nothing.
    hidden : units of the tanh layer; None chooses.
    multilinear : whether the multilinear path is there; False is the published decoder.
    prior : "per_mode", or "shared" by the rows of all modes as published.
    smooth : whether the rows of modes with an order (wavelengths, times: the values tell) are
        expected to vary smoothly, as far as the data bear it out.
    neighbours : whether errors at neighbouring entries of such modes correct a prediction,
        where entries held out of training show that this helps. The model then keeps the
        training entries.
    n_members : how many fits are blended; None chooses.
    cp_start : fraction of the members that start near a masked CP, the others at random. None
        do where there are fewer than four entries per number of a CP.
    learning_rate : the largest step of Adam.
    decay : whether the step decays to zero along a cosine.
    batch_size : entries per step; None chooses by the number of entries.
    max_epochs : passes over the entries; None chooses by the number of entries.
    n_draws : reparameterised draws per step.
    kl_warmup : fraction of training over which the weight of the KL grows from 0 to 1.
    scale_from : fraction of training after which the variance head is trained, alone. At 0
        both heads are trained together from the first step.
    weight_precision : precision of the prior on the network's output weights; of several,
        the members take one each in turn. At 1e6 the network can add little to the multilinear
        path, at 10 much: which is better depends on the data, and the members' weights tell.
    validation_fraction : share of the entries that is held out to choose the best epoch, to
        weigh the members and to calibrate; not used below 50 entries.
    finish : at the end, so large a part of training is run once more on all entries, those
        held out included, in small steps.
    patience : stop after this many epochs without a better validation RMSE; None never.
    calibrate : whether held-out entries give the size and the shape of errors, and training
        entries how noisy each row is.
    random_state : seed. The same seed on the same CPU gives the same bits.
    verbose : show a progress bar.
    device : a JAX device, or its kind such as "cpu" or "gpu"; None leaves it to JAX.

    Attributes
    ----------
    factors_ : posterior means of the rows per mode, of the member that counts most.
    history_ : DataFrame with every term of the objective per epoch and member.
    labels_, mode_names_, n_features_in_, n_iter_

    References
    ----------
    Liu, Xu, Li (2016). Tensor Decomposition via Variational Auto-Encoder.

    Examples
    --------
    >>> keys = [("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1)]
    >>> model = VAECP(rank=2, hidden=4, max_epochs=10, random_state=0)
    >>> mean, std = model.fit(keys, [1.0, 2.0, 2.0, 4.0, 3.0]).predict([("c", 2)], return_std=True)
    >>> mean.shape, bool(std[0] > 0)
    ((1,), True)
    """

    fitted_type = FittedVAECP
    fitted_: FittedVAECP

    def __init__(
        self,
        rank: int | None = None,
        *,
        hidden: int | None = None,
        multilinear: bool = True,
        prior: str = "per_mode",
        smooth: bool = True,
        neighbours: bool = True,
        n_members: int | None = None,
        cp_start: float = 0.5,
        learning_rate: float = 1e-2,
        decay: bool = True,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        n_draws: int = 1,
        kl_warmup: float = 0.4,
        scale_from: float = 0.85,
        weight_precision: float | tuple[float, ...] = (1e6, 1e1, 1e6, 1e3),
        validation_fraction: float = 0.1,
        finish: float = 0.1,
        patience: int | None = None,
        calibrate: bool = True,
        random_state: Any = None,
        verbose: bool = False,
        device: Any = None,
    ):
        self.rank = rank
        self.hidden = hidden
        self.multilinear = multilinear
        self.prior = prior
        self.smooth = smooth
        self.neighbours = neighbours
        self.n_members = n_members
        self.cp_start = cp_start
        self.learning_rate = learning_rate
        self.decay = decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.n_draws = n_draws
        self.kl_warmup = kl_warmup
        self.scale_from = scale_from
        self.weight_precision = weight_precision
        self.validation_fraction = validation_fraction
        self.finish = finish
        self.patience = patience
        self.calibrate = calibrate
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    @classmethod
    def paper(
        cls,
        rank: int = 20,
        hidden: int = 100,
        learning_rate: float = 5e-5,
        max_epochs: int = 500,
        **settings: Any,
    ) -> Self:
        """Return exactly the published model and settings, to compare with.

        Batches of 30, one draw, a constant rate (1e-4 for synthetic, 1e-5 to 5e-5 for real
        data), one prior shared by all modes, the network alone, both heads and the whole KL
        from the first step, one fit to all entries.

        The paper does not say how many epochs it trains, so `max_epochs` is ours, nor how it
        starts: here row means are drawn from Normal(0, 1) with posterior standard deviations of
        0.05, weights from Normal(0, 1 / inputs), the prior is Normal(0, 1) and biases are 0.
        Values are standardised, by the training entries.
        """
        published = {
            "multilinear": False,
            "prior": "shared",
            "smooth": False,
            "neighbours": False,
            "n_members": 1,
            "cp_start": 0.0,
            "decay": False,
            "batch_size": 30,
            "n_draws": 1,
            "kl_warmup": 0.0,
            "scale_from": 0.0,
            "weight_precision": 0.0,
            "validation_fraction": 0.0,
            "finish": 0.0,
            "calibrate": False,
        }
        given = {"hidden": hidden, "learning_rate": learning_rate, "max_epochs": max_epochs}
        return cls(rank, **given | published | settings)

    @property
    def n_iter_(self) -> int:
        """How many epochs were run."""
        check_is_fitted(self)
        return len(self.fitted_.history["elbo"])

    @property
    def history_(self) -> pd.DataFrame:
        """Every term of the objective, one row per epoch and member."""
        check_is_fitted(self)
        history = self.fitted_.history
        n_epochs, n_members = history["elbo"].shape
        epoch, member = np.indices((n_epochs, n_members)).reshape(2, -1)
        return pd.DataFrame(
            {"epoch": epoch + 1, "member": member}
            | {term: values.ravel() for term, values in history.items()}
        )

    def _fit_standardised(
        self, observations: Observations, random: np.random.Generator
    ) -> FittedVAECP:
        plan = self._plan(observations, random)
        with self._on_device():
            problem = problems.problem(
                plan.train,
                plan.held_out,
                layout=plan.layout,
                smoothers=plan.smoothers,
                batch_size=plan.loop.batch_size,
                random=random,
                sharding=self._sharding(),
            )
            trained = self._train(plan, plan.states, problem, random)
            return self._judged(plan, trained, random)

    def _plan(
        self, observations: Observations, random: np.random.Generator, n_entries: int | None = None
    ) -> Plan:
        """Decide all that is decided before training; sizes by `n_entries`, if they are given."""
        self._check_settings()
        keep_compiled_programs()
        seed = int(random.integers(2**31))
        train, held_out = _held_out(observations, self.validation_fraction, seed)
        layout = Layout.of(observations.shape)
        ordered = ordered_modes(train) if self.smooth or self.neighbours else ()
        smoothers = smoothers_for(ordered, train.shape, layout) if self.smooth else ()
        n_entries = n_entries or len(observations)
        chosen = recipe.choose_size(n_entries, train.shape)
        rank, n_members = self.rank or chosen.rank, self.n_members or chosen.n_members
        batch_size = self.batch_size or recipe.choose_batch_size(n_entries)
        architecture = recipe.Architecture(
            rank,
            self.hidden or chosen.hidden,
            self.multilinear,
            shared_prior=self.prior == "shared",
            quiet=self.scale_from > 0,
            smooth=bool(smoothers),
        )
        share = self.cp_start if self.multilinear else 0.0
        n_near_cp = recipe.choose_starts_near_cp(
            n_members, share, n_entries, rank * sum(train.shape)
        )
        with self._on_device():
            starts = (
                cp_starts(train, rank, n_near_cp, layout, smoothers, random) if n_near_cp else ()
            )
            precisions = np.resize(self.weight_precision, n_members)
            states = recipe.initial_states(seed, precisions, layout, architecture, starts)
        schedule = recipe.Schedule(
            self.max_epochs or recipe.choose_epochs(n_entries, batch_size, train.shape),
            self.learning_rate,
            decay=self.decay,
            kl_warmup=self.kl_warmup,
            scale_from=self.scale_from,
            finish=0.0 if held_out is None else self.finish,
        )
        loop = recipe.loop_for(n_entries, batch_size, layout, self.n_draws)
        return Plan(train, held_out, ordered, smoothers, layout, seed, states, schedule, loop)

    def _train(
        self,
        plan: Plan,
        states: State,
        problem: Problem,
        random: np.random.Generator,
    ) -> recipe.Trained:
        n_epochs = plan.schedule.n_epochs_in_all
        with progress_bar("VAECP", n_epochs) if self.verbose else no_progress() as on_chunk:
            return recipe.train(
                states,
                problem,
                plan.schedule,
                plan.loop,
                random,
                patience=self.patience,
                on_chunk=on_chunk,
            )

    def _judged(
        self, plan: Plan, trained: recipe.Trained, random: np.random.Generator
    ) -> FittedVAECP:
        train, held_out = plan.train, plan.held_out
        fitted, final = (
            fitted_from(parameters, trained.history, train, plan.layout, plan.smoothers, plan.seed)
            for parameters in (trained.judged, trained.final)
        )
        fitted = replace(fitted, stopped_early=trained.stopped_early)
        if held_out is not None:
            fitted = blended(fitted, held_out)
            if self.neighbours:
                fitted = with_neighbours(fitted, train, held_out, plan.ordered)
            if self.calibrate:
                fitted = calibrated(with_noise_of_rows(fitted, train), held_out)
            if plan.schedule.n_finish:
                learned = {name: getattr(final, name) for name in LEARNED}
                fitted = renewed(replace(fitted, **learned), fitted, train, held_out)
        return calibrated_for_unseen(fitted, train, random) if self.calibrate else fitted

    def _sharding(self) -> jax.sharding.Sharding:
        return jax.sharding.SingleDeviceSharding(_device(self.device))

    def _on_device(self) -> AbstractContextManager:
        return jax.default_device(_device(self.device))

    def _check_settings(self) -> None:
        for name in ("rank", "hidden", "n_members", "n_draws", "batch_size", "max_epochs"):
            if getattr(self, name) is not None:
                check_at_least(name, getattr(self, name), 1)
        rules = (
            ("prior", self.prior in ("per_mode", "shared"), '"per_mode" or "shared"'),
            ("learning_rate", self.learning_rate > 0, "a positive number such as 0.01"),
            ("cp_start", 0 <= self.cp_start <= 1, "a fraction from 0 to 1"),
            ("kl_warmup", 0 <= self.kl_warmup <= 1, "a fraction from 0 to 1"),
            ("scale_from", 0 <= self.scale_from <= 1, "a fraction from 0 to 1"),
            ("weight_precision", np.min(self.weight_precision) >= 0, "a number from 0"),
            ("validation_fraction", 0 <= self.validation_fraction < 1, "a fraction below 1"),
            ("finish", 0 <= self.finish <= 1, "a fraction from 0 to 1"),
        )
        for name, holds, rule in rules:
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}: use {rule}.")


def _held_out(
    observations: Observations, fraction: float, seed: int
) -> tuple[Observations, Observations | None]:
    """Hold entries out, but never the only entry of a row: nothing would be learned of it."""
    n_held_out = min(round(fraction * len(observations)), MAX_HELD_OUT)
    if len(observations) < MIN_ENTRIES_TO_VALIDATE:
        return observations, None
    order = np.random.default_rng(seed).permutation(len(observations))
    can_go = np.ones(len(order), dtype=bool)
    for mode in range(observations.n_modes):
        _, first = np.unique(observations.indices[order, mode], return_index=True)
        can_go[first] = False
    held_out = order[can_go][:n_held_out]
    if len(held_out) < MIN_HELD_OUT:
        return observations, None
    stays = np.ones(len(order), dtype=bool)
    stays[held_out] = False
    return observations.take(np.flatnonzero(stays)), observations.take(np.sort(held_out))


def _device(device: Any) -> Any:
    if device is None:
        return jax.devices()[0]
    if not isinstance(device, str):
        return device
    try:
        return jax.devices(device)[0]
    except RuntimeError:
        raise ValueError(
            f'device is {device!r}, but JAX sees only {jax.devices()}: use one of these, or "cpu".'
        ) from None
