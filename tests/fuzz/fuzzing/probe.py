"""The child process: does what it is told to, within a limit of memory, and says how it went.

One JSON object per line comes in, and one goes out. `good` is a file that was read or a call that was
answered, `refused` one that got a single line of ours which names the file; `memory` is one that took
more than the limit, and anything else a `defect`.
"""

import json
import os
import pickle
import resource
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

from vaecp.errors import PredictionError, VaecpError

ROOM = 2 * 2**30
"""Bytes that a file may take beyond what the process has taken before it."""


def read_data(path: Path) -> None:
    from vaecp.formats import read

    observations = read(path)
    assert np.isfinite(observations.values).all()
    assert len(observations) > 0


def read_queries(path: Path) -> None:
    from vaecp.formats import read_table

    read_table(path)


def use_model(path: Path) -> None:
    from vaecp.outcomes.store import load

    model = load(path)
    cells = np.zeros((4, model.n_features_in_), dtype=int)
    cells[1], cells[2], cells[3, 0] = -1, np.array(model.shape_) - 1, -1
    prediction = model.predict_at(cells)
    assert np.isfinite(prediction.mean).all()
    assert np.isfinite(prediction.std).all()
    labels = {n: label[:3] for n, label in zip(model.mode_names_, model.labels_, strict=True)}
    import pandas as pd

    keys = pd.DataFrame({name: label[:1] for name, label in labels.items()})
    assert model.sample(keys, 3, random_state=0).shape == (3, 1)


def make_call(path: Path) -> str:
    """Make a call whose name and arguments are in a file of ours."""
    from fuzzing.calls import CALLS

    name, arguments = pickle.loads(path.read_bytes())
    return CALLS[name][0](**arguments)


def fit_table(path: Path) -> str:
    """Fit a method to a table; the path is made of both their names."""
    from fuzzing.tables import check

    return {"answered": "good"}.get(found := check(path.parent.name, int(path.name)), found)


TASKS = {
    "data": read_data,
    "queries": read_queries,
    "model": use_model,
    "call": make_call,
    "table": fit_table,
}


def limit_memory() -> None:
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, -1))


def forget_programs() -> None:
    """Let go of what JAX compiled for the shapes of other tables."""
    import jax

    jax.clear_caches()


def outcome_of(task: str, path: Path) -> dict[str, str]:
    try:
        answer = TASKS[task](path)
    except PredictionError as error:  # of numbers, which no file can be blamed for
        return {"outcome": "refused", "line": str(error)}
    except VaecpError as error:
        line = str(error)
        if ran_out(error):
            return {"outcome": "memory", "line": line[:500]}
        told = path.name in line and "\n" not in line and len(line) < 1000
        return {"outcome": "refused" if told else "defect", "line": line[:500]}
    except BaseException as error:
        kind = "memory" if ran_out(error) else "defect"
        return {"outcome": kind, "line": traceback.format_exc()[-2000:]}
    return {"outcome": answer or "good", "line": ""}


def ran_out(error: BaseException | None) -> bool:
    """Whether memory ended before a limit was asked for: the estimate was too low."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    for warm_up in json.loads(sys.argv[1]):
        assert outcome_of(*warm_up[:1], Path(warm_up[1]))["outcome"] == "good", warm_up
    print(json.dumps({"outcome": "ready"}), file=answers, flush=True)
    for number, line in enumerate(sys.stdin):
        task, path = json.loads(line)
        if task == "table" and number % 20 == 0:
            forget_programs()
        limit_memory()
        print(json.dumps(outcome_of(task, Path(path))), file=answers, flush=True)


if __name__ == "__main__":
    main()
