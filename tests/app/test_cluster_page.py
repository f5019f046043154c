"""The commands of the page "A cluster", as they stand there, on the processes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import doc_blocks
import numpy as np
import pandas as pd
import pytest
from launchers import LOWEST, write_commands

from vaecp import load

pytestmark = pytest.mark.slow
PAGE = doc_blocks.ROOT / "docs" / "how-to" / "cluster.md"
COMMANDS = [
    line.partition("#")[0].strip()
    for block in doc_blocks.blocks(PAGE.read_text(encoding="utf-8"))
    for line in block.text.splitlines()
    if block.language == "sh"
]
LAUNCHED = [line for line in COMMANDS if line.startswith(("srun ", "mpirun "))]
NAMED = [line for line in COMMANDS if "--coordinator node1:9876" in line]
DASK = [line for line in COMMANDS if line.startswith("dask ") or "--cluster " in line]
SIZES = {"user": 9, "item": 8}
KEYS = pd.DataFrame(np.argwhere(np.ones(tuple(SIZES.values()))), columns=list(SIZES))
REAL_MPI = shutil.which("mpirun") and find_spec("mpi4py")
"""Where Open MPI is not installed, processes find what version 4 of it sets around them."""


def free_port() -> int:
    """One of those that JAX takes where it chooses."""
    for port in np.random.default_rng().integers(LOWEST, 65535, size=100).tolist():
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)):
                return port
    raise AssertionError("no port is free")


@pytest.fixture(scope="module")
def found_by_one(tmp_path_factory):
    """What one process predicts that is fitted to the same ratings."""
    home = with_ratings(tmp_path_factory.mktemp("alone"), free_port())
    command = [home / "bin" / "vaecp", "fit", "ratings", "-o", "alone.vaecp", "--stream"]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
    return load(home / "alone.vaecp").predict(KEYS)


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def home(tmp_path, port):
    """A folder with ratings, in which the commands are found."""
    return with_ratings(tmp_path, port)


def with_ratings(home: Path, port: int) -> Path:
    (home / "ratings").mkdir()
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.integers(n, size=2_000) for name, n in SIZES.items()})
    table["stars"] = table["user"] * table["item"] + random.normal(size=2_000)
    for number, part in enumerate(np.array_split(np.arange(2_000), 3)):
        table.iloc[part].to_parquet(home / "ratings" / f"{number}.parquet", index=False)
    table.drop_duplicates([*SIZES]).to_csv(home / "ratings.csv", index=False)
    write_commands(home / "bin", port, ("srun",) if REAL_MPI else ("srun", "mpirun"))
    return home


@pytest.fixture
def start(home):
    """Start a command of the page; what still runs at the end is ended."""
    started: list[subprocess.Popen] = []
    environment = os.environ | {
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "JAX_PLATFORMS": "cpu",
        "DASK_DISTRIBUTED__WORKER__PRELOAD": str(home / "bin" / "worker.py"),
        # Open MPI refuses the administrator, and more processes than cores, unless told.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }

    def begin(command: str) -> subprocess.Popen:
        with (home / f"{len(started)}.log").open("w") as log:
            process = subprocess.Popen(
                command,
                shell=True,
                cwd=home,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield begin
    for process in reversed(started):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ended(home: Path, processes: list[subprocess.Popen], seconds: float = 240) -> None:
    for process in processes:
        assert process.wait(seconds) == 0, said(home)


def said(home: Path) -> str:
    return "\n".join(path.read_text()[-3_000:] for path in sorted(home.glob("*.log")))


def test_the_page_has_the_commands_that_are_run_here():
    assert sorted(LAUNCHED + NAMED + DASK) == sorted(COMMANDS)
    assert [line.split()[0] for line in LAUNCHED] == ["srun", "mpirun"]
    assert len(NAMED) == 2
    assert [line.split()[:2] for line in DASK] == [
        ["dask", "scheduler"],
        ["dask", "worker"],
        ["vaecp", "compare"],
    ]


@pytest.mark.parametrize("command", LAUNCHED, ids=["slurm", "open-mpi"])
def test_processes_of_a_job_find_each_other(home, start, found_by_one, command):
    ended(home, [start(command)])
    assert (home / "ratings-checkpoint" / "checkpoint.json").exists()
    assert said(home).count("ratings.vaecp") == 1, "one of the processes tells"
    found = load(home / "ratings.vaecp").predict(KEYS)
    np.testing.assert_allclose(found, found_by_one, rtol=1e-3, atol=1e-3)
    assert found.std() > 5


def test_processes_that_are_named_find_each_other(home, start, found_by_one, port):
    ended(home, [start(line.replace("node1:9876", f"127.0.0.1:{port}")) for line in NAMED])
    found = load(home / "ratings.vaecp").predict(KEYS)
    np.testing.assert_allclose(found, found_by_one, rtol=1e-3, atol=1e-3)


def test_workers_of_a_scheduler_make_a_comparison(home, start, port):
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{port}"
    scheduler, worker, compare = (line.replace("tcp://node1:8786", address) for line in DASK)
    start(f"{scheduler} --host 127.0.0.1 --port {port} --dashboard-address :0")
    workers = [start(f"{worker} --dashboard-address :0") for _ in range(2)]
    began = time.monotonic()
    while said(home).count("Registered to") < len(workers) and time.monotonic() - began < 90:
        time.sleep(0.2)
    assert address in said(home), "the scheduler prints its address"
    ended(home, [start(compare)])
    lines = (home / "ratings-compare" / "results.jsonl").read_text().splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) > 50
    assert (home / "ratings-compare" / "table.md").read_text().count("\n") >= 8
