"""Calls that no one would make, and what Hypothesis chooses their arguments from."""

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import vaecp
import vaecp.data.features
from fuzzing.made_up import NUMBERS, arrays
from vaecp.errors import VaecpError

REFUSALS = (VaecpError, ValueError, TypeError)
"""What a call may raise, as in scikit-learn: never what went wrong further inside."""
LABELS = st.sampled_from(
    ["a", "b", "", 0, 1, -1, 2**40, 0.5, np.nan, None, True, (1, 2), frozenset({1}), b"x", 1j, [1]]
)


def quick() -> vaecp.HOSVD:
    return vaecp.HOSVD(rank=2, max_iter=3)


def finite_or_refused(call: Callable[[], Any]) -> str:
    """Make a call, which must answer with numbers or refuse on purpose; return how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = call()
        except REFUSALS as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            # What a compiled library found wrong is raised without a line that says so.
            on_purpose = (last.line or "").startswith("raise")
            if not on_purpose:
                raise AssertionError(f"not refused, but failed: {error!r}") from error
            return "refused"
    assert np.isfinite(answer).all()
    return "good"


def complete(array: np.ndarray) -> str:
    return finite_or_refused(lambda: vaecp.complete(array, quick()).mean)


def fit(keys: list, values: list) -> str:
    return finite_or_refused(lambda: quick().fit(keys, values).predict(keys))


def predict(keys: np.ndarray, queries: np.ndarray) -> str:
    def call():
        values = np.arange(float(keys.shape[0] if keys.ndim else 0))
        return quick().fit(keys, values).predict(queries)

    return finite_or_refused(call)


def predict_at(indices: np.ndarray) -> str:
    model = quick().fit_tensor(vaecp.Observations.from_array(np.arange(12.0).reshape(3, 4)))
    return finite_or_refused(lambda: model.predict_at(indices).mean)


def compare(array: np.ndarray, names: list, ranks: list, repeats: Any, folds: Any) -> str:
    def call():
        made = vaecp.experiments
        tensor = vaecp.Observations.from_array(array)
        case = made.Case("x", tensor, made.candidates(names, ranks))
        results = made.Results()
        found = made.compare([case], made.Protocol(repeats=repeats, folds=folds), results)
        frame = results.frame(found.runs)
        # A run that failed is told in the table, with its reason.
        return frame.loc[frame["error"].isna(), "rmse"] if "error" in frame else frame["rmse"]

    return finite_or_refused(call)


def diagnose(array: np.ndarray, ranks: list, starts: Any, split: Any, splits: Any) -> str:
    from vaecp.outcomes.diagnostics import diagnose as tried

    def call():
        tensor = vaecp.Observations.from_array(array)
        found = tried(tensor, ranks, n_starts=starts, split=split, n_splits=splits)
        return [found.rank or 0, len(found.verdict())]

    return finite_or_refused(call)


def with_features(column: list, other: list) -> str:
    def call():
        keys = pd.DataFrame({"a": list("ppqqrr"), "b": [0, 1] * 3})
        rows = pd.DataFrame({"a": column, "of": np.resize(np.array(other, object), len(column))})
        tensor = vaecp.Observations.from_keys(keys, np.arange(6.0), ["a", "b"])
        features = vaecp.data.features.with_features(tensor, {"a": rows}).features
        return [np.isinf(np.nan_to_num(part)).sum() for part in features if part is not None]

    return finite_or_refused(call)


FEW = st.sampled_from([1, 2, 3, 1, 2, 3, 0, -1, 0.5, None, "2"])
CALLS: dict[str, tuple[Callable[..., str], st.SearchStrategy[dict[str, Any]]]] = {
    "complete": (complete, st.fixed_dictionaries({"array": arrays()})),
    "fit": (
        fit,
        st.fixed_dictionaries(
            {
                "keys": st.lists(st.tuples(LABELS, LABELS), max_size=6),
                "values": st.lists(st.sampled_from([*NUMBERS, None, "x", 1j]), max_size=6),
            }
        ),
    ),
    "predict": (predict, st.fixed_dictionaries({"keys": arrays(3), "queries": arrays(3)})),
    "predict_at": (predict_at, st.fixed_dictionaries({"indices": arrays(3)})),
    "diagnose": (
        diagnose,
        st.fixed_dictionaries(
            {
                "array": arrays(),
                "ranks": st.lists(FEW, max_size=2),
                "starts": FEW,
                "split": st.sampled_from([None, "mode 0", "x", 0]),
                "splits": FEW,
            }
        ),
    ),
    "row features": (
        with_features,
        st.fixed_dictionaries(
            {
                "column": st.permutations(["p", "q", "r", "s", 0])
                | st.just(["p", "r", "q"])
                | st.lists(LABELS, max_size=6),
                "other": st.lists(
                    st.sampled_from([*NUMBERS, None, "x", 1j, (1,)]), min_size=1, max_size=6
                ),
            }
        ),
    ),
    "compare": (
        compare,
        st.fixed_dictionaries(
            {
                "array": arrays(3),
                "names": st.lists(st.sampled_from(["HOSVD", "TuckerALS", "none", ""]), max_size=2),
                "ranks": st.lists(FEW, max_size=2),
                "repeats": FEW,
                "folds": FEW,
            }
        ),
    ),
}
"""Each call, and the arguments that it is given."""
