"""Runs on a cluster: none is lost and none is made twice, even if a worker dies."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from vaecp.app import cli
from vaecp.data.observations import Observations
from vaecp.study.experiments import Case, Protocol, Results, candidates, carry_out, fold_runs
from vaecp.study.experiments.cluster import ClusterError

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers, each a process of its own."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = ["scheduler", "--host", address, "--no-dashboard", "--no-jupyter"]
    worker = ["worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    worker += ["--local-directory", str(tmp_path / "workers")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
        )
        for words in (scheduler, worker, worker)
    ]
    from distributed import Client

    with Client(address, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
    yield address, processes
    for process in reversed(processes):
        process.kill()
        process.wait()


def runs_of():
    random = np.random.default_rng(0)
    tensor = Observations.from_array(random.normal(size=(8, 9, 7)))
    case = Case("small", tensor, candidates(["TuckerALS"], [1, 2, 3, 4]))
    return case, fold_runs(case, Protocol(folds=4), always=True)


def test_no_run_is_lost_and_none_doubled_when_a_worker_dies(cluster, tmp_path):
    address, processes = cluster
    case, runs = runs_of()
    results = Results(tmp_path / "results")
    add, told = results.add, []

    def killing(records):
        told.extend(record["key"] for record in records)
        add(records)
        if len(told) == 2:
            processes[-1].send_signal(signal.SIGKILL)

    results.add = killing
    carry_out(runs, [case.tensor], results, jobs=address)
    assert processes[-1].wait(10) == -signal.SIGKILL
    assert Counter(told) == Counter(run.key for run in runs)
    alone = Results()
    carry_out(runs, [case.tensor], alone)
    for run in runs:
        assert not results[run]["error"]
        assert results[run]["rmse"] == alone[run]["rmse"]
    lines = (tmp_path / "results" / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(runs) == 16


def test_a_cluster_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr("vaecp.study.experiments.cluster.SECONDS_TO_CONNECT", 1)
    case, runs = runs_of()
    address = f"tcp://127.0.0.1:{free_port()}"
    began = time.monotonic()
    with pytest.raises(ClusterError, match=rf"cluster is {re.escape(repr(address))}, where no"):
        carry_out(runs, [case.tensor], Results(), jobs=address)
    assert time.monotonic() - began < 30


COMMANDS = {
    "compare": ["table.csv", "--methods", "HOSVD", "--quick"],
    "rank": ["table.csv", "--quick"],
    "reproduce": ["--quick", "--only", "synthetic r=9"],
    "evaluate": ["--only", "synthetic", "--gaps", "slabs:0", "--methods", "mean", "--splits", "1"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_many_fits_hands_them_to_the_cluster(name, monkeypatch, tmp_path):
    handed = []

    def hand_over(runs, tensors, address):
        handed.append((len(runs), address))
        raise ClusterError("cluster has no workers")

    monkeypatch.setattr("vaecp.study.experiments.cluster.records", hand_over)
    monkeypatch.chdir(tmp_path)
    cells = np.argwhere(np.ones((12, 11)))
    table = pd.DataFrame(cells, columns=["a", "b"]).assign(y=np.sin(cells.prod(axis=1)))
    table.to_csv("table.csv", index=False)
    words = [name, *COMMANDS[name], "--cluster", "tcp://node1:8786", "-o", "out"]
    outcome = CliRunner().invoke(cli.app, words)
    assert outcome.exit_code == 2
    assert outcome.stderr.splitlines()[-1] == "vaecp: error: cluster has no workers"
    ((n_runs, address),) = handed
    assert n_runs > 0
    assert address == "tcp://node1:8786"
