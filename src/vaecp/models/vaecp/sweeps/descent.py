"""From a random start to a trained member: fast sweeps, then sweeps that learn priors and noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from vaecp.data.observations import Observations
from vaecp.data.sampling import representative
from vaecp.models.vaecp.likelihoods import Likelihood, Working
from vaecp.models.vaecp.sweeps.arranged import Arranged
from vaecp.models.vaecp.sweeps.chains import Chain
from vaecp.models.vaecp.sweeps.links import Link
from vaecp.models.vaecp.sweeps.solver import Solver
from vaecp.models.vaecp.sweeps.tables import Tables

ENOUGH_FAST = 0.003
"""Fast sweeps end when the loss falls by less than this share a sweep."""

ENOUGH = 2e-4
"""Settling ends when the noise changes by less than this share a sweep."""

MAX_MOMENTUM = 3.0


@dataclass(frozen=True)
class Kind:
    """What sets one member apart.

    Attributes
    ----------
    rank : how wide its rows are.
    smooth : whether they vary smoothly along ordered modes.
    eager : in fast sweeps at the start, the noise is taken for this share of the mean squared
        residual: priors then hold the rows back little, and the long flat stretches of
        variational sweeps are skipped. A small share finds more, and overfits where there are few
        entries per number; 0 leaves fast sweeps out.
    features : how the prior means of rows depend on their features: "linear", "network", or "" for
        not at all. A mode with features is not smooth then.
    pairs : prior variances of pair effects, for every two modes in turn; 0 leaves them out.
    trainer : which of `Likelihood.trainers` it is trained by.
    flat : modes whose rows add an effect, and take no part in the products.
    counts : as what part of an entry each one counts once the fast sweeps are over. What a member
        misses is often alike along ordered modes: ten entries then tell as much as one, and rows
        that lean on all ten are too sure of themselves where much is missing.
    """

    rank: int
    smooth: bool = False
    eager: float = 0.2
    features: str = ""
    pairs: tuple[float, ...] = ()
    trainer: int = 0
    flat: tuple[int, ...] = ()
    counts: float = 1.0
    patient: bool = False


@dataclass(frozen=True, eq=False)
class Descent:
    """Where a member stands.

    Attributes
    ----------
    history : noise standard deviation and training loss after each sweep.
    counts : see `Kind`.
    n_elsewhere : how many sweeps were made from other starts.
    n_shared : with how many sweeps it began, those included, that other kinds have made, too.
    """

    tables: Tables
    likelihood: Likelihood
    history: tuple[tuple[float, float], ...] = ()
    counts: float = 1.0
    n_elsewhere: int = 0
    n_shared: int = 0

    @property
    def n_sweeps(self) -> int:
        """How many sweeps were made in all."""
        return len(self.history) + self.n_elsewhere


def solver_for(
    observations: Observations,
    kind: Kind,
    chains: tuple[Chain | None, ...],
    arranged: Arranged | None = None,
) -> Solver:
    """Return what sweeps over entries for a kind of member."""
    links: tuple[Link | None, ...] = (None,) * len(chains)
    if kind.features and observations.features:
        links = tuple(map(partial(_link, observations, kind.features), range(len(chains))))
    kept = (
        chain if kind.smooth and link is None else None
        for chain, link in zip(chains, links, strict=True)
    )
    return Solver(observations, kind.rank, tuple(kept), links, kind.flat, arranged)


def _link(observations: Observations, how: str, mode: int) -> Link | None:
    features = observations.features[mode]
    if features is None:
        return None
    seen = np.bincount(observations.indices[:, mode], minlength=len(features)) > 0
    return Link.of(features, seen, network=how == "network")


def begin(
    solver: Solver,
    likelihood: Likelihood,
    random: np.random.Generator,
    pairs: tuple[float, ...] = (),
) -> Descent:
    """Stand at a random start."""
    values = np.average(solver.values, weights=solver.weights, keepdims=True)
    return Descent(solver.start(random, likelihood.start(values), pairs), likelihood)


def hasten(
    solver: Solver,
    descent: Descent,
    n_sweeps: int,
    share: float = 0.5,
    enough: float = ENOUGH_FAST,
) -> Descent:
    """Sweep close to maximum likelihood, as long as that lowers the loss; see `Kind.eager`.

    Each sweep starts beyond the last step, as long as that helps (Ang et al. 2020).
    """
    if not solver.rank:
        return descent
    state = _State.of(solver, descent.tables, descent.likelihood)
    kept, history, origin = state, list(descent.history), state
    momentum, pushed, first = 0.5, False, True
    for _ in range(n_sweeps):
        working = _eager(solver, origin, share)
        tables = solver.sweep(origin.tables, working, learn_priors=False)
        proposal = _State.of(solver, tables, kept.likelihood, working)
        if proposal.loss > kept.loss and not first:
            if not pushed:
                break
            origin, momentum, pushed = kept, momentum / 2, False
            continue
        gain = 1 - proposal.loss / kept.loss if kept.loss > 0 else 0.0
        likelihood = _learned(solver, kept.likelihood, proposal.mean)
        before, kept = kept, replace(proposal, likelihood=likelihood)
        if first:
            origin, first = kept, False
        else:
            momentum = min(1.1 * momentum, MAX_MOMENTUM) if pushed else momentum
            moved = solver.pushed(kept.tables, before.tables, momentum)
            origin, pushed = _State.of(solver, moved, likelihood), True
        history.append((float(np.sqrt(likelihood.noise)), kept.loss))
        if gain < 2 * enough and not first and len(history) > 2:
            break
    return replace(descent, tables=kept.tables, likelihood=kept.likelihood, history=tuple(history))


def take_in(solver: Solver, descent: Descent, n_sweeps: int) -> Descent:
    """Learn the rows from further entries, priors and noise being known."""
    state = _State.of(solver, solver.adopted(descent.tables), descent.likelihood)
    for _ in range(n_sweeps):
        state, _ = _swept(solver, state, descent.counts, learn_priors=False)
    return replace(descent, tables=state.tables)


def settle(solver: Solver, descent: Descent, n_sweeps: int) -> Descent:
    """Sweep with uncertainty in full, learning the priors and the noise."""
    state = _State.of(solver, descent.tables, descent.likelihood)
    history = list(descent.history)
    for _ in range(n_sweeps):
        before = state
        state, _ = _swept(solver, state, descent.counts, learn_priors=True)
        likelihood = _learned(solver, state.likelihood, state.mean, state.variance)
        state = replace(state, likelihood=likelihood)
        history.append((float(np.sqrt(likelihood.noise)), state.loss))
        noise, noise_before = likelihood.noise, before.likelihood.noise
        change = noise / noise_before - 1 if noise_before else state.loss / before.loss - 1
        if abs(change) < 2 * ENOUGH:
            break
    return replace(
        descent, tables=state.tables, likelihood=state.likelihood, history=tuple(history)
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Tables, and what they say of the entries."""

    tables: Tables
    likelihood: Likelihood
    mean: np.ndarray
    variance: np.ndarray
    loss: float

    @classmethod
    def of(
        cls,
        solver: Solver,
        tables: Tables,
        likelihood: Likelihood,
        working: Working | None = None,
    ) -> _State:
        """Look at the entries; centre the residuals of what was fitted."""
        mean, variance = solver.moments(tables)
        if working is not None:
            total = float(working.weights.sum())
            shift = float(working.weights @ (working.values - mean)) / total
            tables, mean = replace(tables, level=tables.level + shift), mean + shift
        return cls(tables, likelihood, mean, variance, _loss(solver, likelihood, mean) + 1e-12)


def _swept(
    solver: Solver, state: _State, counts: float, *, learn_priors: bool
) -> tuple[_State, Working]:
    working = _working(solver, state)
    if counts != 1:
        working = Working(working.values, counts * working.weights)
    tables = solver.sweep(state.tables, working, learn_priors=learn_priors)
    return _State.of(solver, tables, state.likelihood, working), working


def _working(solver: Solver, state: _State) -> Working:
    n_exact = len(solver.values)
    mean, variance = state.mean, state.variance
    exact = state.likelihood.working(solver.values, mean[:n_exact], variance[:n_exact])
    exact = _weighted(solver, exact)
    if solver.limits is None:
        return exact
    limited = state.likelihood.working_of_limits(solver.limits, mean[n_exact:], variance[n_exact:])
    return _joined(exact, limited)


def _eager(solver: Solver, state: _State, share: float) -> Working:
    n_exact = len(solver.values)
    exact = _weighted(solver, state.likelihood.eager(solver.values, state.mean[:n_exact], share))
    if solver.limits is None:
        return exact
    beyond = state.mean[n_exact:]
    limited = state.likelihood.working_of_limits(solver.limits, beyond, 0 * beyond, share)
    return _joined(exact, limited)


def _weighted(solver: Solver, exact: Working) -> Working:
    if solver.weights is None:
        return exact
    return Working(exact.values, exact.weights * solver.weights)


def _alike(solver: Solver) -> np.ndarray | slice:
    """Places of exact entries that count alike: all, unless some weigh more."""
    return slice(None) if solver.weights is None else representative(solver.weights)


def _joined(exact: Working, limited: Working) -> Working:
    return Working(*(np.concatenate(parts) for parts in zip(exact, limited, strict=True)))


def _learned(
    solver: Solver, likelihood: Likelihood, mean: np.ndarray, variance: np.ndarray | None = None
) -> Likelihood:
    """Learn from exact values: limits say little about the noise."""
    n_exact = len(solver.values)
    variance = np.zeros_like(mean) if variance is None else variance
    alike, parts = _alike(solver), (solver.values, mean[:n_exact], variance[:n_exact])
    return likelihood.learned(*(part[alike] for part in parts))


def _loss(solver: Solver, likelihood: Likelihood, mean: np.ndarray) -> float:
    """Mean loss; of an entry with limits, that of the nearest value within them."""
    n_exact, values = len(solver.values), solver.values
    if solver.limits is not None:
        values = np.concatenate([values, solver.limits.nearest(mean[n_exact:])])
    losses = likelihood.losses(values, mean, np.zeros_like(mean))
    return float(np.average(losses, weights=None if solver.limits else solver.weights))
