"""Ctrl-C at any moment: one line, exit code 130, no file half-written, no process left behind."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from fuzzing.effort import n_cases

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")

LATEST = 8.0
"""Seconds until Ctrl-C; a command that is done sooner has nothing to be interrupted in."""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    draw = np.random.default_rng(0)
    rows = [draw.normal(size=(size, 5)) for size in (40, 30, 25)]
    array = np.einsum("ir,jr,kr->ijk", *rows) + draw.normal(size=(40, 30, 25)) / 10
    array[draw.random(array.shape) < 0.3] = np.nan
    path = tmp_path_factory.mktemp("data") / "table.npy"
    np.save(path, array)
    return path


def group_of(leader: int) -> set[int]:
    """Return the processes of a group that are alive."""
    listed = subprocess.run(["ps", "-eo", "pid,pgid,stat"], capture_output=True, text=True)
    rows = [line.split() for line in listed.stdout.splitlines()[1:]]
    return {int(pid) for pid, group, stat in rows if int(group) == leader and "Z" not in stat}


def survivors(leader: int) -> set[int]:
    """Return those that stay; the one that tidies up after the others may take a moment."""
    for _ in range(100):
        if not group_of(leader):
            break
        time.sleep(0.1)
    return group_of(leader)


def interrupted(command, folder, seconds):
    """Start a command, press Ctrl-C in its terminal, and return how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vaecp", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=folder,
    )
    time.sleep(seconds)
    try:
        os.killpg(process.pid, signal.SIGINT)
    except ProcessLookupError:
        process.communicate()
        return 0, ""
    try:
        _, error = process.communicate(timeout=60)
    finally:
        left = survivors(process.pid)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    assert not left
    return process.returncode, error


def check(code, error, folder, whole):
    if code == 0:  # it was done before
        return
    assert code == 130, error
    assert error.startswith("vaecp: interrupted. ")
    assert error.count("\n") == 1
    assert {path.name for path in folder.iterdir()} <= whole


def moments(seed, n):
    """Return when to press Ctrl-C, not before the program has taken over the key."""
    return [random.Random(f"{seed} {number}").uniform(2.5, LATEST) for number in range(n)]


@pytest.mark.parametrize("seconds", moments("complete", n_cases(3, 40)))
def test_complete_stops_at_once(source, tmp_path, seconds):
    # With more effort than usual, so that it does not come to its end before.
    command = ["complete", source, "-o", "out.npy", "--save", "model.vaecp"]
    command += ["--effort", "thorough"]
    check(*interrupted(command, tmp_path, seconds), tmp_path, {"model.vaecp"})


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Enough entries for compiled loops to be at work for most of the time."""
    draw = np.random.default_rng(0)
    rows = [draw.normal(size=(size, 5)) for size in (120, 100, 60)]
    array = np.einsum("ir,jr,kr->ijk", *rows) + draw.normal(size=(120, 100, 60)) / 10
    path = tmp_path_factory.mktemp("data") / "large.npy"
    np.save(path, array)
    return path


@pytest.mark.parametrize("seconds", moments("fit", n_cases(2, 40)))
def test_a_large_fit_stops_at_once_without_a_crash(large, tmp_path, seconds):
    command = ["fit", large, "-o", "model.vaecp", "--checkpoint", "kept"]
    check(*interrupted(command, tmp_path, seconds + 2), tmp_path, {"kept"})
    whole = {".json", ".safetensors"}
    assert {path.suffix for path in (tmp_path / "kept").glob("*")} <= whole


@pytest.mark.parametrize("seconds", moments("compare", n_cases(3, 40)))
def test_compare_stops_with_all_its_processes(source, tmp_path, seconds):
    command = ["compare", source, "--methods", "CPALS,HOSVD,FBCP", "--jobs", 2, "-o", "out"]
    check(*interrupted(command, tmp_path, seconds), tmp_path, {"out"})
    kept = {path.name for path in (tmp_path / "out").glob("*")}
    whole = {"table.md", "rmse.png"}  # it may have come to its end
    assert kept <= {"results.jsonl", "code.jsonl", "results.parquet", ".results.lock"} | whole


def test_a_polite_kill_ends_a_command_in_the_same_way(source, tmp_path):
    command = [sys.executable, "-m", "vaecp", "complete", str(source), "-o", "out.npy"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    time.sleep(2)
    process.terminate()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143, error
    assert error.startswith("vaecp: interrupted. ")
    assert not list(tmp_path.iterdir())
