"""What people decide by when they fit PARAFAC: how many components, and which rows to look at.

The functions take `Observations` and a list of factors, one (rows, components) matrix per mode;
`decomposition` gives both for a fitted model. Gaps take no part in any figure.

>>> import numpy as np, vaecp
>>> from vaecp.outcomes import diagnostics
>>> array = np.einsum("ir,jr,kr->ijk", *np.random.default_rng(0).normal(size=(3, 9, 2)))
>>> array[2, 3] = np.nan
>>> found = diagnostics.diagnose(vaecp.Observations.from_array(array), [1, 2], n_splits=0)
>>> found.rank
2
>>> round(found[2].core_consistency)
100
"""

from vaecp.outcomes.diagnostics.congruence import (
    Match,
    degenerate_pairs,
    match,
    triple_cosines,
)
from vaecp.outcomes.diagnostics.core import core_consistency, tucker_core
from vaecp.outcomes.diagnostics.decomposition import decomposition
from vaecp.outcomes.diagnostics.ranks import Diagnosis, RankCheck, diagnose
from vaecp.outcomes.diagnostics.residuals import (
    component_variation,
    explained_variation,
    influence,
    leverage,
    residual_map,
    residuals,
)
from vaecp.outcomes.diagnostics.stability import agreeing, split_half

__all__ = [
    "Diagnosis",
    "Match",
    "RankCheck",
    "agreeing",
    "component_variation",
    "core_consistency",
    "decomposition",
    "degenerate_pairs",
    "diagnose",
    "explained_variation",
    "influence",
    "leverage",
    "match",
    "residual_map",
    "residuals",
    "split_half",
    "triple_cosines",
    "tucker_core",
]
