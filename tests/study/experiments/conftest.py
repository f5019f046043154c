"""A method whose outcome is known: rank 2 is the best, rank 13 fails."""

from dataclasses import dataclass

import numpy as np
import pytest

from vaecp.data.observations import Observations
from vaecp.data.prediction import Prediction
from vaecp.models import registry
from vaecp.models.base import TensorEstimator
from vaecp.models.fitted import Diagnostics, FitResult, Fitted
from vaecp.models.registry import Method
from vaecp.study.experiments import Case, candidates


@dataclass(frozen=True, eq=False)
class Level(Fitted):
    level: float

    @property
    def factors(self):
        return ()

    def predict(self, indices):
        n = len(indices)
        return Prediction(np.full(n, self.level), np.ones(n), np.zeros(n))


class Shifted(TensorEstimator):
    """Predicts the training mean plus (rank - 2) standard deviations: rank 2 is the best."""

    fitted_type = Level
    fits: list[int] = []  # noqa: RUF012
    interrupt_at: int | None = None

    def __init__(self, rank=1, random_state=None):
        self.rank = rank
        self.random_state = random_state

    def _fit(self, observations, random):
        if len(Shifted.fits) == Shifted.interrupt_at:
            raise KeyboardInterrupt
        if self.rank == 13:
            raise ValueError("rank 13\nbrings bad luck")
        Shifted.fits.append(self.random_state)
        return FitResult(Level(float(self.rank - 2)), Diagnostics(found={"rank": 2}))


@pytest.fixture
def shifted(monkeypatch):
    """Stands in for "Shifted" and "FBCP"; its seeds are listed in `fits`."""
    for name in ("Shifted", "FBCP"):
        monkeypatch.setitem(registry._METHODS, name, Method(name, Shifted))
    monkeypatch.setattr(Shifted, "fits", [])
    monkeypatch.setattr(Shifted, "interrupt_at", None)
    return Shifted


@pytest.fixture
def tensor(random):
    return Observations.from_array(5 + 3 * random.normal(size=(6, 5, 4)))


@pytest.fixture
def case_of():
    def build(tensor, ranks=(1, 2, 3), methods=("Shifted",)):
        return Case("toy", tensor, candidates(methods, ranks))

    return build
