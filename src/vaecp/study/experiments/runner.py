"""Carry runs out over processes, keep what they measure, and show how far it is."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from vaecp.errors import VaecpError
from vaecp.runtime.interrupts import on_interrupt, only_waiting
from vaecp.runtime.progress import bar, is_terminal
from vaecp.study.experiments.execution import execute
from vaecp.study.experiments.protocol import (
    Case,
    Choices,
    Protocol,
    choose,
    next_fold_runs,
    rank_finder,
    repeat_runs,
)
from vaecp.study.experiments.provenance import code
from vaecp.study.experiments.results import Results
from vaecp.study.experiments.runs import BEST, PAPER, Run, Tensor
from vaecp.study.rivals import find

_USUAL_EPOCHS = 50
"""A run that is told another number of epochs counts as so much longer or shorter."""

Report = Callable[[dict[str, Any], float], None]


@dataclass(frozen=True)
class Comparison:
    """What was chosen, by case and split that chose, and the runs that it rests on and led to."""

    choices: dict[str, list[Choices]]
    runs: list[Run]


class WorkerError(VaecpError, RuntimeError):
    """A process that made runs was ended from outside."""


def compare(
    cases: Sequence[Case],
    protocol: Protocol,
    results: Results,
    *,
    comparisons: Sequence[str] = (BEST,),
    beside: Sequence[Run] = (),
    jobs: int | str = 1,
    show: bool = False,
    retry_failed: bool = False,
) -> Comparison:
    """Choose settings by the folds, and make the repeats.

    What is in `results` already, made by the code of today, is not run again. `beside` are runs on
    the same tensors that are made with the first folds, so that no process waits for the longest.
    """
    tensors = [case.tensor for case in cases]

    def make(runs: list[Run], title: str) -> None:
        carry_out(
            runs, tensors, results, jobs=jobs, title=title, show=show, retry_failed=retry_failed
        )

    finders = [
        rank_finder(case, protocol, repeat)
        for case in cases
        if PAPER in comparisons and case.shares_fbcp_rank
        for repeat in case.choosing(protocol)
    ]
    folds: list[Run] | None = None
    while folds != (
        needed := [r for case in cases for r in next_fold_runs(case, protocol, results)]
    ):
        folds = needed
        make([*beside, *finders, *folds], "Folds")
    choices: dict[str, list[Choices]] = {}
    for case in cases:
        found = [choose(case, protocol, results, repeat) for repeat in case.choosing(protocol)]
        choices[case.name] = [
            {name: chosen[name] for name in comparisons if name in chosen} for chosen in found
        ]
    repeats = [run for case in cases for run in repeat_runs(case, protocol, choices[case.name])]
    make(repeats, "Repeats")
    return Comparison(choices, [*finders, *needed, *repeats])


def carry_out(
    runs: Sequence[Run],
    tensors: Iterable[Tensor],
    results: Results,
    *,
    jobs: int | str = 1,
    title: str = "Runs",
    show: bool = False,
    retry_failed: bool = False,
) -> None:
    """Make the runs that `results` lacks, the largest first, and keep each as it ends.

    Parameters
    ----------
    tensors : those that the runs are made on.
    jobs : how many processes; 1 stays in this one. A text is the address of a Dask scheduler,
        whose workers make the runs.
    show : whether a progress bar is drawn.
    retry_failed : whether runs that failed before are made again.
    """
    pool = {tensor.fingerprint: tensor for tensor in tensors}
    with results.locked():
        groups = _pending(runs, results, retry_failed)
        costs = {work: _cost(group[0], pool) for work, group in groups.items()}
        order = sorted(groups.values(), key=lambda group: -costs[group[0].work])
        try:
            with (
                _without_warnings_of_workers(),
                _progress(title, len(order), sum(costs.values()), show) as report,
                # Closed when it is left: its processes do not outlive an interruption.
                closing(_records([group[0] for group in order], pool, jobs)) as made,
            ):
                for record in made:
                    results.add([_as_run(record, run) for run in groups[record["work"]]])
                    report(record, costs[record["work"]])
        finally:
            results.write_table()


def _pending(runs: Sequence[Run], results: Results, retry_failed: bool) -> dict[str, list[Run]]:
    """Group what is to be made by what is computed; copy what another comparison has made."""
    made = {
        record["work"]: record
        for record in results.records
        if results.is_of(record, code(record["method"])) and not (retry_failed and record["error"])
    }
    missing = [
        run
        for run in dict.fromkeys(runs)
        if not results.has_made(run) or (retry_failed and results[run]["error"])
    ]
    results.add([_as_run(made[run.work], run) for run in missing if run.work in made])
    groups: dict[str, list[Run]] = {}
    for run in missing:
        if run.work not in made:
            groups.setdefault(run.work, []).append(run)
    return groups


def _as_run(record: dict[str, Any], run: Run) -> dict[str, Any]:
    return record | {"key": run.key, "comparison": run.comparison}


def _cost(run: Run, tensors: Mapping[str, Tensor]) -> float:
    rank = float(np.max(run.rank)) if run.rank is not None else 10.0
    passes = dict(run.settings).get("max_epochs", _USUAL_EPOCHS) / _USUAL_EPOCHS
    return find(run.method).cost * len(tensors[run.data].observations) * (10.0 + rank) * passes


def _records(
    runs: list[Run], tensors: Mapping[str, Tensor], jobs: int | str
) -> Generator[dict[str, Any]]:
    if isinstance(jobs, str):
        from vaecp.study.experiments import cluster

        yield from cluster.records(runs, tensors, jobs) if runs else ()
        return
    if jobs == 1 or len(runs) < 2:
        for run in runs:
            yield execute(run, tensors[run.data])
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals import loky
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    n_threads = max(1, (os.cpu_count() or 1) // jobs)
    with (
        _environment(n_threads),
        parallel_config("loky", inner_max_num_threads=n_threads),
        on_interrupt(_kill_children),
        only_waiting(),
    ):
        pool: Any = Parallel(n_jobs=jobs, return_as="generator_unordered")
        made: Any = None
        try:
            with _ignoring_interrupts():
                made = pool(delayed(execute)(run, tensors[run.data]) for run in runs)
            yield from made
        except TerminatedWorkerError as error:
            raise WorkerError(
                f"one of {jobs} processes was ended from outside, most often for lack of memory: "
                "start again with fewer --jobs; finished runs are kept."
            ) from error
        except BaseException:  # interrupted, or no more runs are asked for
            if made is not None:
                made.close()
            executor: Any = loky.get_reusable_executor
            executor(reuse=True).shutdown(kill_workers=True)
            raise


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start processes and threads that ignore Ctrl-C: this process ends them.

    They inherit the mask of signals; one that arrives meanwhile is delivered at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows has no masks
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # before Python 3.12 it lifts the mask when it is started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill_children() -> None:
    """End children at once: threads of this process may hold locks that an orderly end needs."""
    for child in multiprocessing.active_children():
        if child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)


@contextmanager
def _environment(n_threads: int) -> Iterator[None]:
    """Let the processes share cores and a GPU: XLA would take all of both in each."""
    wanted = {"NPROC": str(n_threads), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    added = {name: text for name, text in wanted.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


@contextmanager
def _without_warnings_of_workers() -> Iterator[None]:
    """Joblib warns when it replaces a large worker, and when runs are given up: neither matters."""
    with warnings.catch_warnings():
        for words in ("A worker stopped while some jobs", ".* unnecessary computation time"):
            warnings.filterwarnings("ignore", words, UserWarning)
        yield


@contextmanager
def _progress(title: str, n_runs: int, cost: float, show: bool) -> Iterator[Report]:
    """Show runs done, the lowest RMSE per method, and the time left by the cost of what is left."""
    if not show or not n_runs:
        yield lambda record, done: None
        return
    best: dict[str, dict[str, float]] = {}
    with bar(title, disable=not is_terminal()) as move:
        n_done, paid = 0, 0.0
        move(paid, cost, f"0/{n_runs} runs")

        def report(record: dict[str, Any], done: float) -> None:
            nonlocal n_done, paid
            n_done, paid = n_done + 1, paid + done
            name, found = record["method"], record["rmse"]
            here = best.setdefault(record["dataset"], {})
            if np.isfinite(found):
                here[name] = min(found, here.get(name, np.inf))
            shown = ", ".join(f"{name} {error:.3g}" for name, error in sorted(here.items()))
            words = f"{record['dataset']}: {shown}"
            move(paid, cost, f"{n_done}/{n_runs} runs", words)

        yield report
