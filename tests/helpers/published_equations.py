"""The published model in NumPy: the derivatives of the paper's appendix, put right, and Adam.

    h = tanh(W' u + b),  mu = w_mu . h + b_mu,  log s^2 = w_s . h + b_s,  x ~ Normal(mu, s^2)

Written out by hand, entry by entry, in double precision; nothing of the package is used.
"""

from __future__ import annotations

import numpy as np

Numbers = dict[str, np.ndarray]
"""Rows and prior, as means and log-variances, and the weights of the decoder."""

NAMES = (
    "row_mean",
    "row_log_variance",
    "prior_mean",
    "prior_log_variance",
    "input_weights",  # (D, R, K)
    "bias",
    "mean_weights",
    "mean_bias",
    "scale_weights",
    "scale_bias",
)


def gradient(
    numbers: Numbers,
    row_ids: np.ndarray,
    values: np.ndarray,
    noise: np.ndarray,
    n_entries: int,
    counted: np.ndarray,
) -> Numbers:
    """Return the derivatives of the bound that a minibatch with one draw estimates.

    `row_ids` (n, D) are rows of the one table of all modes, `counted` are rows that are no padding,
    and `noise` is what rows are drawn with: u = m + sqrt(v) * eps.
    """
    found = {name: np.zeros_like(numbers[name]) for name in NAMES}
    for own, x in zip(row_ids, values, strict=True):
        _add_entry(found, numbers, own, x, noise)
    scale = n_entries / len(values)
    for name in found:
        found[name] = scale * found[name]
    _subtract_kl(found, numbers, counted)
    return found


def _add_entry(found: Numbers, numbers: Numbers, own: np.ndarray, x: float, noise: np.ndarray):
    deviation = np.exp(0.5 * numbers["row_log_variance"][own])
    u = numbers["row_mean"][own] + deviation * noise[own]
    weights = numbers["input_weights"]
    h = np.tanh(np.einsum("drk,dr->k", weights, u) + numbers["bias"])
    mu = numbers["mean_weights"] @ h + numbers["mean_bias"]
    variance = np.exp(numbers["scale_weights"] @ h + numbers["scale_bias"])
    d_mu = (x - mu) / variance
    d_log_variance = -0.5 + 0.5 * (x - mu) ** 2 / variance
    d_a = d_mu * numbers["mean_weights"] + d_log_variance * numbers["scale_weights"]
    d_a = d_a * (1 - h**2)
    found["mean_weights"] += d_mu * h
    found["mean_bias"] += d_mu
    found["scale_weights"] += d_log_variance * h
    found["scale_bias"] += d_log_variance
    found["bias"] += d_a
    for mode, row in enumerate(own):
        found["input_weights"][mode] += np.outer(u[mode], d_a)
        d_u = weights[mode] @ d_a
        found["row_mean"][row] += d_u
        # sqrt(v) = exp(log v / 2), so d u / d log v = sqrt(v) eps / 2
        found["row_log_variance"][row] += d_u * 0.5 * deviation[mode] * noise[row]


def _subtract_kl(found: Numbers, numbers: Numbers, counted: np.ndarray) -> None:
    """KL = 1/2 sum of v/v~ + (m - m~)^2 / v~ - 1 + log v~ - log v, once for every row."""
    prior_variance = np.exp(numbers["prior_log_variance"][0])
    distance = (numbers["row_mean"] - numbers["prior_mean"][0])[counted]
    variance = np.exp(numbers["row_log_variance"])[counted]
    found["row_mean"][counted] -= distance / prior_variance
    found["row_log_variance"][counted] -= 0.5 * (variance / prior_variance - 1)
    found["prior_mean"][0] += (distance / prior_variance).sum(axis=0)
    total = (variance + distance**2) / prior_variance
    found["prior_log_variance"][0] += 0.5 * (total - 1).sum(axis=0)


class Adam:
    """Kingma and Ba (2015), climbing, with one rate for every number."""

    def __init__(self, rate: float) -> None:
        self.rate, self.step = rate, 0
        self.first: Numbers = {}
        self.second: Numbers = {}

    def climbed(self, numbers: Numbers, slopes: Numbers) -> Numbers:
        """Return the numbers after a step up the slopes."""
        self.step += 1
        moved = {}
        for name, slope in slopes.items():
            first = 0.9 * self.first.get(name, 0.0) + 0.1 * slope
            second = 0.999 * self.second.get(name, 0.0) + 0.001 * slope**2
            self.first[name], self.second[name] = first, second
            first, second = first / (1 - 0.9**self.step), second / (1 - 0.999**self.step)
            moved[name] = numbers[name] + self.rate * first / (np.sqrt(second) + 1e-8)
        return moved
