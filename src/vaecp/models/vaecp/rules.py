"""What the arrays of a fitted VAECP keep to; a model file that breaks it is refused."""

from __future__ import annotations

import numpy as np

from vaecp.data.fields import NOT_NEGATIVE, Rule, check_fields, check_indices, check_modes
from vaecp.models.vaecp.fitted import FittedVAECP
from vaecp.models.vaecp.neighbours import HALF_WIDTHS

_RULES = {
    "ensemble.mean": Rule(("members", "rows", "width")),
    "ensemble.variance": Rule(("members", "rows", "width"), least=0),
    "ensemble.correlation": Rule(("members", "rows", "width"), least=-1, most=1),
    "ensemble.ranks": Rule(("members",), least=0, kinds="iu"),
    "ensemble.levels": Rule(("members",)),
    "ensemble.noises": Rule(("members",), least=0),
    "ensemble.multilinear": Rule(("members",), kinds="b"),
    "ensemble.counts": Rule(("members",), least=1e-6, most=1),
    "ensemble.prior_variance": Rule(least=0),
    "ensemble.pairs.cells": Rule(least=0, kinds="iu"),
    "ensemble.pairs.variance": Rule(least=0),
    "ensemble.pairs.prior": Rule(("members", "modes", "modes"), least=0),
    "stack.intercepts": Rule(("members",)),
    "stack.slopes": Rule(("features", "members")),
    "spread.slopes": Rule(("features",)),
    "spread.shape.weights": NOT_NEGATIVE,
    "spread.shape.scales": Rule((), least=1e-300, kinds="iuf"),
    "row_log_noise": Rule(("rows",), least=-300, most=300),
    "features": Rule(finite=False),
    "unseen_scale": Rule(("modes + 1",), least=0),
    "likelihood.noise_variance": NOT_NEGATIVE,
    "likelihood.size": Rule((), kinds="iuf", finite=False),
    "likelihood.highest": Rule((), kinds="iuf", finite=False),
    "likelihood.ignorance": Rule((), kinds="iuf", finite=False),
    "likelihood.classes": Rule(("classes",)),
    "likelihood.thresholds": Rule(("thresholds",)),
    "limited.limits.indices": Rule(("limits", "modes"), kinds="i"),
    "limited.limits.lower": Rule(("limits",), finite=False),
    "limited.limits.upper": Rule(("limits",), finite=False),
    "limited.location": Rule(("features + 1",)),
    "limited.scale": Rule(("features + 1",)),
    "support.indices": Rule(("entries", "modes"), kinds="i"),
    "correction.neighbourhood.indices": Rule(("neighbours", "modes"), kinds="i"),
    "correction.neighbourhood.errors": Rule(("neighbours",)),
    **{
        f"{part}.standard.{end}": Rule(("features",), finite=end in ("centre", "scale"))
        for part in ("stack", "spread", "limited")
        for end in ("centre", "scale", "lowest", "highest")
    },
}
"""What the arrays keep to; a field that is not listed has its type, and finite numbers."""
_RULES_OF_NETWORK = {
    "ensemble.network.input_weights": Rule(("members", "modes", "width", "hidden")),
    "ensemble.network.bias": Rule(("members", "hidden")),
    "ensemble.network.heads": Rule(("members", 2, "hidden")),
}


def validate(fitted: FittedVAECP, shape: tuple[int, ...]) -> None:
    """Raise a ValueError if a field does not fit the others, or a tensor of this shape."""
    check_fields(fitted, shape, _RULES)
    ensemble, mixture = fitted.ensemble, fitted.spread.shape
    if ensemble.network:
        check_fields(fitted, shape, _RULES | _RULES_OF_NETWORK)
    if ensemble.ranks.max() > ensemble.mean[0].shape[-1]:
        raise ValueError("ensemble.ranks are larger than the rows are wide")
    if any(table[:, -1].any() for table in ensemble.correlation):
        raise ValueError("ensemble.correlation has a row after the last one")
    prior = ensemble.prior_variance.shape  # of no components, where every rank is 0
    if prior[:2] != (len(ensemble), len(shape)) or prior[2:] < (ensemble.ranks.max(),):
        raise ValueError(f"ensemble.prior_variance has shape {prior}, too small for the others")
    parts = {"stack": fitted.stack, "spread": fitted.spread, "limited": fitted.limited}
    for name, features in ((name, part.standard) for name, part in parts.items() if part):
        if not (features.scale > 0).all() or not (features.lowest <= features.highest).all():
            raise ValueError(
                f"{name}.standard has scales or ends that are not finite or not in order"
            )
    if len(mixture.weights) != len(mixture.scales) or abs(sum(mixture.weights) - 1) > 1e-9:
        raise ValueError("spread.shape.weights do not sum to 1, or are not one per scale")
    if ensemble.pairs is not None:
        ensemble.pairs.validate(len(ensemble), shape)
    check_modes("smoothed", fitted.smoothed, len(shape))
    if tuple(map(len, fitted.features)) != shape or any(t.ndim != 2 for t in fitted.features):
        raise ValueError("features have not one line per row")
    if any(np.isinf(table).any() for table in fitted.features):
        raise ValueError("features holds infinite numbers")
    fitted.likelihood.validate()
    near = fitted.correction.neighbourhood if fitted.correction else None
    if fitted.limited is not None:
        fitted.limited.validate(shape, fitted.support.names)
    for name, place in (("support", fitted.support), ("correction.neighbourhood", near)):
        if place is not None:
            if place.shape != shape:
                raise ValueError(f"{name}.shape is {place.shape}, and not {shape}")
            check_indices(f"{name}.indices", place.indices, shape)
    check_modes("support.ordered", fitted.support.ordered, len(shape))
    if len(fitted.spread.slopes) != len(fitted.support.names):
        raise ValueError(f"spread.slopes are not one for each of {fitted.support.names}")
    if near is not None and fitted.correction is not None:
        check_modes("correction.neighbourhood.modes", near.modes, len(shape))
        if fitted.correction.weights.shape != (len(HALF_WIDTHS) * len(near.modes),):
            raise ValueError("correction.weights are not one for each width and mode")
