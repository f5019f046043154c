"""The summary in plain words: what was filled, how good it is, and whether to trust it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from vaecp.data.cells import n_cells
from vaecp.data.hints import hints_about_gaps
from vaecp.data.observations import Observations
from vaecp.models.base import TensorEstimator
from vaecp.outcomes.holdout import MASKED_CP, MEAN, HeldOutCheck
from vaecp.show.report.grid import Grid
from vaecp.show.report.numbers import product_shown, share_shown, size_shown
from vaecp.show.report.overview import count_cells, never_observed

HARDER = 1.5
"""Gaps whose typical std is this many times that of hidden entries get a warning."""
NAMED = 5
UNEVEN = 0.1
"""A share of 50 % intervals this far from a half shows errors of another shape than promised."""
LEAST_HELD_OUT = 100
"""Fewer hidden entries than this make every number of the check rough."""


@dataclass(frozen=True)
class Tile:
    """A key figure and its caption."""

    number: str
    words: str


def tiles(
    model: TensorEstimator, observations: Observations | None, check: HeldOutCheck | None
) -> list[Tile]:
    """Return the few numbers at the head of the page."""
    n_entries = n_cells(model.shape_)
    found = [Tile(product_shown(model.shape_), f"{n_entries:,} entries")]
    if observations is not None:
        n_gaps = n_entries - count_cells(observations)
        found.append(Tile(f"{n_gaps:,}", f"filled ({share_shown(n_gaps / n_entries)} of all)"))
    if check is not None:
        own, guess = check.measures[check.name], check.measures[MEAN]
        error = f"typical error (RMSE); the mean alone {size_shown(guess['rmse'])}"
        found.append(Tile(size_shown(own["rmse"]), error))
        inside = "of hidden values inside their 90 % interval"
        found.append(Tile(share_shown(own["coverage_90"]), inside))
    return found


def summary_sentences(
    model: TensorEstimator,
    observations: Observations | None,
    check: HeldOutCheck | None,
    grid: Grid,
) -> list[str]:
    """Return a few sentences, each one a paragraph of its own."""
    words = [_what(model, observations)]
    if check is not None:
        words += [_error(check, model.value_name_), _honesty(check)]
    elif observations is not None:
        words.append(
            "No entries were hidden to check the fit, so this page cannot say how good it is."
        )
    if observations is not None:
        words += _gaps(observations, check, grid)
        words += _doubts(observations, grid)
    return words


def _what(model: TensorEstimator, observations: Observations | None) -> str:
    modes = " by ".join(
        f"{size:,} ({name})" for size, name in zip(model.shape_, model.mode_names_, strict=True)
    )
    method = type(model).__name__
    if observations is None:
        return (
            f"{method} was fitted to a tensor of {model.value_name_}, {modes}. The data are not "
            "part of a model file: with them, this page would also say which entries were observed, "
            "how good the fit is, and which values are surprising."
        )
    n_observed = count_cells(observations)
    n_gaps = observations.n_cells - n_observed
    return (
        f"The tensor of {model.value_name_} is {modes}. {n_observed:,} of its "
        f"{observations.n_cells:,} entries were observed; {method} "
        + (
            f"filled the other {n_gaps:,}."
            if n_gaps
            else "was fitted to them, and there are no gaps."
        )
        + _limits(observations)
    )


def _limits(observations: Observations) -> str:
    """Say how many of the filled values are known to lie within limits."""
    if observations.limits is None:
        return ""
    return (
        f" For {len(observations.limits):,} of these a limit was given (such as <0.5, or a saturated "
        "detector): the model learned from it, and the filled values keep to it."
    )


def _error(check: HeldOutCheck, value_name: str) -> str:
    rmse = {name: scores["rmse"] for name, scores in check.measures.items()}
    own = rmse[check.name]
    text = (
        f"To check it, {len(check.held_out):,} observed entries were hidden at random and a copy of "
        f"the model was fitted to the other {check.n_training:,}. Its typical error (RMSE) on the "
        f"hidden entries was {size_shown(own)} in units of {value_name}: "
        f"{_against(own, rmse[MEAN])} {MEAN} ({size_shown(rmse[MEAN])})"
    )
    if MASKED_CP in rmse:
        rival = rmse[MASKED_CP]
        text += f", and {_against(own, rival)} {MASKED_CP} ({size_shown(rival)})"
    return text + "."


def _against(own: float, rival: float) -> str:
    if not own or not rival or not np.isfinite(own):
        return "compare with that of"
    ratio = rival / own
    if 0.95 <= ratio <= 1.05:
        return "about the same as"
    factor = max(ratio, 1 / ratio)
    amount = f"{factor:.1f} times" if factor >= 1.15 else f"{100 * abs(1 - 1 / ratio):.0f} %"
    return f"{amount} {'smaller' if ratio > 1 else 'larger'} than with"


def _honesty(check: HeldOutCheck) -> str:
    """Judge the 90 % intervals as far as the number of hidden entries allows."""
    n = len(check.held_out)
    share = check.measures[check.name]["coverage_90"]
    low, high = stats.binom.ppf([0.005, 0.995], n, 0.9) / n
    held = f"Its 90 % intervals contained {share_shown(share)} of the hidden values"
    if n < LEAST_HELD_OUT:
        return f"{held}. With only {n:,} hidden entries, all these numbers are rough."
    if share < min(low, 0.87):
        return f"{held}: fewer than they should, so its standard deviations are too small."
    if share > max(high, 0.93) and check.prediction.discrete:
        return f"{held}: of discrete values they contain more than 90 %, because both ends belong to them."
    if share > max(high, 0.93):
        return f"{held}: more than they should, so its standard deviations are somewhat too large."
    half = check.measures[check.name]["coverage_50"]
    if abs(half - 0.5) > UNEVEN:
        return (
            f"{held}, about as they should, but its 50 % intervals contained {share_shown(half)}: its "
            f"errors are {'mostly smaller' if half > 0.5 else 'often larger'} than it says, with "
            f"{'a few large' if half > 0.5 else 'few very large'} ones."
        )
    return f"{held}, about as they should: its standard deviations are reliable there."


def _doubts(observations: Observations, grid: Grid) -> list[str]:
    """Say what speaks against the filled values, beside the check on hidden entries."""
    if grid.given is None or not np.isnan(grid.given).any():
        return []
    return hints_about_gaps(observations, grid.prediction.take(np.isnan(grid.given)))


def _gaps(observations: Observations, check: HeldOutCheck | None, grid: Grid) -> list[str]:
    if grid.given is None or not np.isnan(grid.given).any():
        return []
    typical = float(np.median(grid.prediction.std[np.isnan(grid.given)]))
    words = [
        f"The filled values have a typical (median) standard deviation of {size_shown(typical)}."
    ]
    hidden = 0.0 if check is None else float(np.median(check.prediction.std))
    if hidden and typical > HARDER * hidden:
        words[0] += (
            f" That is {typical / hidden:.1f} times that of the hidden entries: the gaps are harder "
            "than the check, so expect larger errors there."
        )
    for name, labels in never_observed(observations):
        some = ", ".join(labels[:NAMED]) + (" ..." if len(labels) > NAMED else "")
        words.append(
            f"{len(labels):,} of {name} had no observed entry at all ({some}): the values "
            "filled there are those of a typical label, with wide intervals."
        )
    return words
