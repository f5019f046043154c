"""The published model as one would write it down in PyTorch: what our loop is timed against.

Rows of a batch are drawn and concatenated, one tanh layer and two linear heads follow, autograd
gives the gradients, and fused Adam takes the steps. The KL is that of all rows, at every step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable

import numpy as np
import torch

LOG_2PI = math.log(2 * math.pi)
MAX_STEPS = 300


class Reference(torch.nn.Module):
    """Gaussian rows of every mode under one learned prior, and the network on top."""

    def __init__(self, shape: tuple[int, ...], rank: int, hidden: int):
        super().__init__()
        self.row_mean = torch.nn.ParameterList(torch.randn(n, rank) for n in shape)
        self.row_log_variance = torch.nn.ParameterList(
            torch.full((n, rank), 2 * math.log(0.05)) for n in shape
        )
        self.prior_mean = torch.nn.Parameter(torch.zeros(rank))
        self.prior_log_variance = torch.nn.Parameter(torch.zeros(rank))
        self.layer = torch.nn.Linear(len(shape) * rank, hidden)
        self.mean_head = torch.nn.Linear(hidden, 1)
        self.scale_head = torch.nn.Linear(hidden, 1)

    def negative_elbo(
        self, indices: torch.Tensor, values: torch.Tensor, n_entries: int
    ) -> torch.Tensor:
        """Estimate it from a batch, which stands in for all entries."""
        rows = [self.drawn(mode, indices[:, mode]) for mode in range(len(self.row_mean))]
        features = torch.tanh(self.layer(torch.cat(rows, dim=1)))
        mean, log_variance = self.mean_head(features)[:, 0], self.scale_head(features)[:, 0]
        squares = (values - mean) ** 2 * torch.exp(-log_variance)
        log_likelihood = -0.5 * (LOG_2PI + log_variance + squares).sum()
        return self.kl() - n_entries / len(values) * log_likelihood

    def drawn(self, mode: int, chosen: torch.Tensor) -> torch.Tensor:
        """Draw the rows of a batch, anew for every entry."""
        mean, log_variance = self.row_mean[mode][chosen], self.row_log_variance[mode][chosen]
        return mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)

    def kl(self) -> torch.Tensor:
        """Sum the divergences of all rows of all modes from the prior."""
        total = torch.zeros((), device=self.prior_mean.device)
        for mean, log_variance in zip(self.row_mean, self.row_log_variance, strict=True):
            apart = log_variance - self.prior_log_variance
            squares = (mean - self.prior_mean) ** 2 * torch.exp(-self.prior_log_variance)
            total = total + 0.5 * (torch.exp(apart) + squares - 1 - apart).sum()
        return total


class SharedDraws(Reference):
    """Entries of a batch that share a row share its draw, as in our loop: fewer draws."""

    def drawn(self, mode: int, chosen: torch.Tensor) -> torch.Tensor:
        mean, log_variance = self.row_mean[mode], self.row_log_variance[mode]
        return (mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean))[chosen]


MODELS = {"torch": Reference, "torch_shared_draws": SharedDraws}


def train(
    model: Reference,
    optimiser: torch.optim.Optimizer,
    entries: tuple[torch.Tensor, torch.Tensor],
    batches: Iterable[torch.Tensor],
) -> None:
    """Take one step per batch."""
    indices, values = entries
    for batch in batches:
        optimiser.zero_grad()
        model.negative_elbo(indices[batch], values[batch], len(values)).backward()
        optimiser.step()


def epoch_timer(
    model_name: str,
    indices: np.ndarray,
    values: np.ndarray,
    shape: tuple[int, ...],
    rank: int,
    hidden: int,
    batch_size: int,
    n_threads: int,
) -> Callable[[], float]:
    """Return a function that trains for some steps, and gives the seconds per epoch.

    On a busy machine two threads can be a hundred times slower than one, as they wait for each
    other: try several numbers of them.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    model = MODELS[model_name](shape, rank, hidden).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    entries = (
        torch.tensor(indices, dtype=torch.int64, device=device),
        torch.tensor(values, dtype=torch.float32, device=device),
    )

    def seconds_per_epoch(max_steps: int = MAX_STEPS) -> float:
        torch.set_num_threads(n_threads)
        _wait(device)
        started = time.perf_counter()
        batches = torch.randperm(len(values), device=device).split(batch_size)
        shuffled = time.perf_counter()
        train(model, optimiser, entries, batches[:max_steps])
        _wait(device)
        trained = time.perf_counter()
        n_steps = min(len(batches), max_steps)
        return shuffled - started + (trained - shuffled) * len(batches) / n_steps

    seconds_per_epoch(2)
    return seconds_per_epoch


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
