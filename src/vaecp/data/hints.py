"""What looks wrong in data although no rule is broken, as sentences: for a person to decide."""

from __future__ import annotations

import shlex
import unicodedata
from collections import defaultdict

import numpy as np

from vaecp.data.cells import fibre_keys, keys_fit
from vaecp.data.labels import are_quantities
from vaecp.data.limits import Limits
from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction

FEWEST = 3
"""A value that is repeated less often is an outlier rather than a code for missing."""
AT_CEILING = 10
"""So many entries with exactly the largest of real numbers are no chance."""
FEWEST_OF_TWO = 10
"""Fewer numbers may be two by chance."""
CODES = (-9999.0, -999.0, -99.0, -1.0, 99.0, 999.0, 9999.0, 99999.0, 1e20)
FEWEST_OWN = 4
"""Fewer entries may have labels of their own by chance."""
MOST_LABELS = 100_000
FEWEST_REGULAR, REGULAR = 10, 0.85
"""Of so many labels, this share of steps must be alike for a scale without the others; weekdays are not."""
MOST_ENTRIES = 20_000_000
FEWEST_BESIDE, FEWEST_BEYOND = 10, 10
REPEATED = 3
"""Labels with fewer entries on average have one label of another mode by chance."""
MARGIN = 0.05
"""How far a filled value may leave the observed range without a hint, as a share of its span."""
EXTREME = 0.1
"""The share of the values that counts as the largest or the smallest."""
MANY = 0.4
"""The share of values beside gaps that are extreme from which a hint is given; 0.1 by chance."""


def hints_about(observations: Observations) -> list[str]:
    """Return what looks wrong in the values and the labels."""
    found = [
        limits_note(observations.limits),
        _sentinel_hint(observations.values, observations.value_name),
        _two_values_hint(observations.values, observations.value_name),
        _ceiling_hint(observations.values, observations.value_name),
    ]
    for name, labels in zip(observations.mode_names, observations.labels, strict=True):
        found += [_alike_hint(labels, name), _skipped_hint(labels, name)]
    found.append(_describing_hint(observations) or _own_labels_hint(observations))
    return [hint for hint in found if hint is not None]


def hints_about_gaps(observations: Observations, filled: Prediction) -> list[str]:
    """Return what speaks against the values that were filled in gaps of these entries."""
    found = [
        _range_hint(observations, filled.mean[~filled.limited]),
        _border_hint(observations),
    ]
    return [hint for hint in found if hint is not None]


def limits_note(limits: Limits | None) -> str | None:
    """Say what limits are taken for."""
    if limits is None:
        return None
    from_zero = " What is below a limit is taken to be 0 or more, as all values are."
    return (
        f"{len(limits):,} {'value is' if len(limits) == 1 else 'values are'} known only by a limit: "
        "VAECP learns from limits, and its estimates keep to them; other methods ignore them."
        f"{from_zero if (limits.lower == 0).any() else ''}"
    )


def _sentinel_hint(values: np.ndarray, name: str) -> str | None:
    """Find a smallest or largest value that is frequent and far from all others."""
    for sign in (1, -1):
        signed = sign * values
        end = signed.min()
        at_end = signed == end
        count, others = int(at_end.sum()), signed[~at_end]
        if count < FEWEST or len(others) < FEWEST:
            continue
        apart, span = others.min() - end, others.max() - others.min()
        known = sign * end in CODES
        if not span:
            continue
        if apart > (0.5 if known else 2.0) * span and (known or count >= 0.01 * len(values)):
            value = f"{sign * end:.10g}"
            return (
                f"{name!r} is {value} in {count:,} entries, far from all others: if that means "
                f"missing, pass --missing {value} (missing=[{value}])."
            )
    return None


def _ceiling_hint(values: np.ndarray, name: str) -> str | None:
    """Find real numbers of which many are exactly the largest one, and hardly any other is repeated."""
    levels, counts = np.unique(values, return_counts=True)
    others = np.median(counts[:-1]) if len(levels) > 1 else np.inf
    if counts[-1] < AT_CEILING or others > 1 or np.array_equal(values, np.round(values)):
        return None
    top = f"{levels[-1]:.10g}"
    return (
        f"{name!r} is {top}, the largest value, in {counts[-1]:,} entries: if a detector saturates there, "
        f"pass --saturated-at {top}."
    )


def _two_values_hint(values: np.ndarray, name: str) -> str | None:
    """Find two numbers that probably stand for two classes, and are no 0 and 1."""
    low, high = values.min(), values.max()
    two = ((values == low) | (values == high)).all() and low < high
    if not two or (low, high) == (0, 1) or len(values) < FEWEST_OF_TWO:
        return None
    return (
        f"{name!r} is always {low:.10g} or {high:.10g}: if these are two classes, pass --values "
        "ordinal, or write them as 0 and 1."
    )


def _alike_hint(labels: np.ndarray, name: str) -> str | None:
    """Find labels that differ in case, accents or spaces only."""
    if labels.dtype.kind not in "OU" or len(labels) > MOST_LABELS:
        return None
    alike = defaultdict(list)
    for label in labels:
        if isinstance(label, str):
            alike[_simplified(label)].append(str(label))
    groups = [group for group in alike.values() if len(group) > 1]
    if not groups:
        return None
    others = f", and {len(groups) - 1} more such groups" if len(groups) > 1 else ""
    return (
        f"{name!r} has the labels {' and '.join(map(repr, groups[0]))}{others}, which count as "
        "different: write them alike if they mean the same."
    )


def _skipped_hint(labels: np.ndarray, name: str) -> str | None:
    """Find places of a regular scale that no entry has, such as days without a log."""
    if len(labels) < FEWEST_REGULAR or not are_quantities(labels):
        return None
    is_time = labels.dtype.kind == "M"
    places = np.sort(labels.astype(np.int64 if is_time else np.float64))
    steps = np.diff(places) / np.median(np.diff(places))
    whole = np.round(steps)
    n_skipped = int((whole - 1).sum())
    irregular = np.abs(steps - whole).max() > 1e-6 or np.mean(whole == 1) < REGULAR
    if irregular or not n_skipped:
        return None
    before = np.sort(labels)[np.argmax(whole > 1)]
    if is_time and before == before.astype("datetime64[D]"):
        before = before.astype("datetime64[D]")
    return (
        f"The labels of {name!r} are regular but skip {n_skipped:,} of {n_skipped + len(labels):,}, the first "
        f"after {before}: a label that is not listed is not filled; add a row without a value "
        "for each that should be."
    )


def _describing_hint(observations: Observations) -> str | None:
    """Find a mode whose label follows from that of another one, and so adds nothing but gaps."""
    shape, names = observations.shape, observations.mode_names
    if len(shape) < 3 or len(observations) > MOST_ENTRIES:
        return None
    indices = observations.indices.astype(np.int64)
    for other in range(len(shape)):
        for mode in range(len(shape)):
            repeated = len(observations) >= REPEATED * shape[other]
            if mode == other or not repeated or not 1 < shape[mode] <= shape[other]:
                continue
            pairs = np.unique(indices[:, other] * shape[mode] + indices[:, mode])
            if len(pairs) == len(np.unique(pairs // shape[mode])):
                return (
                    f"Every label of {names[other]!r} has only one label of {names[mode]!r}: if "
                    f"{names[mode]!r} only describes {names[other]!r}, name the other label columns "
                    "with --modes; else most of the tensor is gaps."
                )
    return None


def _own_labels_hint(observations: Observations) -> str | None:
    """Find a mode of which entries have labels of their own, as where it holds the values."""
    n_entries, quoted = len(observations.known), shlex.quote
    for name, labels in zip(observations.mode_names, observations.labels, strict=True):
        fractions = labels.dtype.kind == "f" and bool((labels % 1 != 0).any())
        if fractions and 0.5 * n_entries <= len(labels) and n_entries >= FEWEST_OWN:
            return (
                f"{name!r} has {len(labels):,} different numbers in {n_entries:,} entries: if it "
                f"holds the values, pass --value {quoted(name)}."
            )
        place = observations.mode_names.index(name)
        once = len(np.unique(observations.known[:, place])) == n_entries
        if once and n_entries >= FEWEST_OWN and observations.n_modes > 2:
            return (
                f"Every entry has its own label of {name!r}, so no entry tells anything about "
                f"another: if {name!r} only numbers the rows, name the label columns with --modes; "
                f"if values stand in several columns, pass --wide NAME --modes {quoted(name)}."
            )
    return None


def _simplified(label: str) -> str:
    letters = unicodedata.normalize("NFKD", label.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return "".join(plain.split())


def _range_hint(observations: Observations, filled: np.ndarray) -> str | None:
    """Tell whether filled values leave the range of the observed ones by more than a little."""
    low, high = float(observations.values.min()), float(observations.values.max())
    margin = MARGIN * (high - low)
    outside = filled[(filled < low - margin) | (filled > high + margin)]
    if not len(outside) or high == low:
        return None
    farthest = outside[np.argmax(np.maximum(low - outside, outside - high))]
    above, cause = np.mean(outside > high), ""
    if above in (0, 1) and len(outside) >= FEWEST_BEYOND:
        end, where = (">", high) if above else ("<", low)
        what = "a detector saturated" if above else "they were below a limit of detection"
        cause = f" If they are missing because {what}, write {end}{where:.4g} there in a table."
    return (
        f"{len(outside):,} of {len(filled):,} filled values lie outside the range of the observed "
        f"ones ({low:.4g} to {high:.4g}), the farthest at {farthest:.4g}: nothing like them was "
        f"measured, so take their intervals with care.{cause}"
    )


def _border_hint(observations: Observations) -> str | None:
    """Tell whether the observed values beside gaps are mostly extreme ones."""
    if len(observations) > MOST_ENTRIES or not keys_fit(observations.shape):
        return None
    beside = np.zeros(len(observations), dtype=bool)
    for mode, labels in enumerate(observations.labels):
        if are_quantities(labels):
            beside |= _beside_gaps(observations, mode)
    values = observations.values[beside]
    if len(values) < FEWEST_BESIDE or len(values) > 0.5 * len(observations):
        return None
    low, high = np.quantile(observations.values, [EXTREME, 1 - EXTREME])
    for share, extreme, cause, bias, limit in (
        (np.mean(values >= high), "largest", "a saturated detector", "small", ">1000"),
        (np.mean(values <= low), "smallest", "a limit of detection", "large", "<0.5"),
    ):
        if share > MANY and low < high:
            return (
                f"{share:.0%} of the values beside a gap are among the {extreme} tenth: if entries "
                f"are missing because of {cause}, the filled values may be too {bias} and their "
                f"intervals too narrow; write the limit in place of the gap, such as {limit}."
            )
    return None


def _beside_gaps(observations: Observations, mode: int) -> np.ndarray:
    """Tell which entries have an unobserved neighbour along a mode."""
    keys = fibre_keys(observations.indices, observations.shape, mode)
    known = np.unique(fibre_keys(observations.known, observations.shape, mode))
    rows, last = observations.indices[:, mode], observations.shape[mode] - 1
    place = np.searchsorted(known, keys)
    after = known[np.minimum(place + 1, len(known) - 1)] != keys + 1
    before = known[np.maximum(place - 1, 0)] != keys - 1
    return ((rows < last) & after) | ((rows > 0) & before)
