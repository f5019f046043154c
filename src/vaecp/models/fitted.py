"""What a fit hands over: what was learned, and how it went."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd

from vaecp.data.fields import Rule, check_fields
from vaecp.data.prediction import Prediction
from vaecp.models.bounds import REACH
from vaecp.models.joining import Joining


class SumOfProducts(NamedTuple):
    """A CP model: offset + sum over r of weights[r] times the product of the factors' column r."""

    weights: np.ndarray
    factors: tuple[np.ndarray, ...]
    offset: float = 0.0


class Components(NamedTuple):
    """Components that can be weighed one by one.

    Attributes
    ----------
    mode : the mode that they belong to; None where they run through all modes.
    effects : (entries, components), by how much the decomposition's prediction of each entry
        changes when a component is levelled, which is: every row takes its average over the rows.
    """

    mode: int | None
    effects: np.ndarray


@dataclass(frozen=True, eq=False)
class Fitted(ABC):
    """What a method learned, in the units of its scaling.

    Fields are NumPy arrays, tuples of them, dictionaries of them, or plain numbers and
    texts, so that any fitted model can be written to a file without code. Tables of rows
    have one row more than the mode has labels: the last stands for an unseen label, so
    that the index -1 finds it.

    A method must say how it predicts, and its rows. All else has an answer here, which a
    method that knows more overrides.

    Attributes
    ----------
    reach : how far outside the observed values means are believed, in widths of their range.
    """

    reach: ClassVar[float] = REACH

    @abstractmethod
    def predict(self, indices: np.ndarray) -> Prediction:
        """Predict entries at (n, D) coordinates; -1 is a label not seen in training."""

    @property
    @abstractmethod
    def factors(self) -> tuple[np.ndarray, ...]:
        """Return the learned rows per mode, without the row for unseen labels."""

    def validate(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError if a field does not fit the others, or a tensor of this shape.

        Types and finite numbers are looked at here; a method overrides it to say the sizes of
        its arrays. A model file that passes can be predicted from.
        """
        check_fields(self, shape, {})

    def predict_mean(self, indices: np.ndarray) -> np.ndarray:
        """Return the means of `predict`, to the bit; override where they are cheaper alone."""
        return self.predict(indices).mean

    def knows_empty_rows(self, mode: int) -> bool | np.ndarray:
        """Whether (each of the) rows of a mode are known, though no entry of theirs was observed."""
        return False

    @property
    def known_features(self) -> tuple[np.ndarray | None, ...]:
        """Features of rows per mode, None where there are none; empty where no mode has any."""
        return ()

    def reads_between(self, mode: int) -> bool:
        """Whether a label between known ones of a mode can be read off its neighbours."""
        return False

    def with_rows_between(self, joining: Joining) -> Self:
        """Return the same with rows that joined without entries, read off their neighbours."""
        raise NotImplementedError

    def fold_in(self, joining: Joining) -> Self:
        """Return the same with rows that joined, learned from their entries, old rows being held."""
        raise NotImplementedError

    def sample(self, indices: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
        """Draw n values of each entry; methods that know how entries vary together override."""
        return self.predict(indices).sample(n, random)

    @property
    def classes(self) -> np.ndarray | None:
        """The values that there can be, where these are few."""
        return None

    def row_std(self) -> tuple[np.ndarray, ...] | None:
        """Return the standard deviations of `factors`; None where they are points alone."""
        return None

    def components(self, indices: np.ndarray) -> tuple[Components, ...]:
        """Return the effects of components on entries; nothing where there are no components."""
        return ()

    def as_cp(self) -> SumOfProducts | None:
        """Return the model as a sum of products, if it is one."""
        return None


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """How a fit went.

    Attributes
    ----------
    history : per term of the objective, its value after every step: (steps,), or
        (steps, members) where several members were trained.
    step : what a step is called.
    converged : whether the fit ended because it changed no more; None where nothing tells.
    found : settings that the method chose or found by itself, by their names.
    warning : what was not reached and what to do, in one sentence; empty if all is well.
    """

    history: dict[str, np.ndarray] = field(default_factory=dict)
    step: str = "iteration"
    converged: bool | None = None
    found: dict[str, Any] = field(default_factory=dict)
    warning: str = ""

    def validate(self) -> None:
        """Raise a ValueError if a field has another type, or histories differ in length."""
        anything = Rule(kinds="iufb", finite=False)
        check_fields(self, (), {"history": anything, "found": anything})
        if len({np.shape(values) for values in self.history.values()}) > 1:
            raise ValueError("history has arrays of different shapes")

    @property
    def n_iter(self) -> int:
        """How many steps were made."""
        return max((len(values) for values in self.history.values()), default=0)

    def by_member(self) -> pd.DataFrame:
        """Return the (steps, members) history as a table, one row per step and member."""
        if not self.history:
            return pd.DataFrame(columns=pd.Index([self.step, "member"]))
        step, member = np.indices(next(iter(self.history.values())).shape).reshape(2, -1)
        terms = {term: values.ravel() for term, values in self.history.items()}
        return pd.DataFrame({self.step: step + 1, "member": member} | terms)


class FitResult(NamedTuple):
    """What was learned, and how it went."""

    fitted: Fitted
    diagnostics: Diagnostics = Diagnostics()
