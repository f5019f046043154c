"""One model of each method that is fitted in a moment, where its quality is not the question."""

import pytest

import vaecp

QUICK_MODELS = [
    vaecp.VAECP(rank=2, hidden=4, n_members=2, max_epochs=20, random_state=0),
    vaecp.CPALS(rank=2, n_starts=1, max_iter=20, random_state=0),
    vaecp.NCP(rank=2, n_starts=1, max_iter=20, random_state=0),
    vaecp.HOSVD(rank=2, max_iter=20),
    vaecp.TuckerALS(rank=(2, 2, 1), max_iter=20),
    vaecp.FBCP(rank=2, n_starts=1, max_iter=20, random_state=0),
    vaecp.InfTucker(rank=2, max_iter=3, random_state=0),
]
each_method = pytest.mark.parametrize(
    "method", QUICK_MODELS, ids=lambda method: type(method).__name__
)
