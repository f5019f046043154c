"""The child process: does what it is told to, within a limit of memory, and says how it went.

One JSON object per line comes in, and one goes out. `good` is a file that was read or a call that was
answered, `refused` one that got a single line of ours which names the file; `memory` is one that took
more than the limit, and anything else a `defect`.
"""

import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path

from fuzzing.tasks import TASKS
from vaecp.errors import PredictionError, VaecpError

ROOM = 2 * 2**30
"""Bytes that a file may take beyond what the process has taken before it."""


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
        found = outcome_of(warm_up[0], Path(warm_up[1]))
        assert found["outcome"] in ("good", "refused"), (warm_up, found)  # refused: needs options
    print(json.dumps({"outcome": "ready"}), file=answers, flush=True)
    for number, line in enumerate(sys.stdin):
        task, path = json.loads(line)
        if task == "table" and number % 20 == 0:
            forget_programs()
        limit_memory()
        print(json.dumps(outcome_of(task, Path(path))), file=answers, flush=True)


if __name__ == "__main__":
    main()
