"""Several processes that fit one model: the result of one, and what happens when one of them fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from vaecp import load

pytestmark = pytest.mark.slow
KEYS = pd.DataFrame(np.argwhere(np.ones((9, 8))), columns=["row", "column"])


def table(seed: int = 0, n: int = 2_000) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"row": random.integers(9, size=n), "column": random.integers(8, size=n)})
    return frame.assign(value=frame["row"] * frame["column"] + random.normal(size=n))


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "data"
    home.mkdir()
    for number, part in enumerate(np.array_split(np.arange(2_000), 3)):
        table().iloc[part].to_parquet(home / f"{number}.parquet", index=False)
    return home


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start(source, output, n: int, number: int, port: int, *options, before: str = ""):
    command = ["fit", source, "-o", output, "--rank", "2", "--values", "gaussian", *options]
    if n > 1:
        command += ["--coordinator", f"127.0.0.1:{port}", "--processes", n, "--process-id", number]
    # A short fit, by the settings that few people touch.
    program = (
        "import sys, vaecp\n"
        "from vaecp.models.vaecp import fitting\n"
        f"{before}\n"
        "of = fitting.Settings.of.__func__\n"
        "short = dict(hidden=4, n_members=1)\n"
        "fitting.Settings.of = classmethod(lambda cls, m: fitting.replace(of(cls, m), **short))\n"
        "from vaecp.app.cli import main\n"
        "main()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, command)],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(processes, seconds: float = 200.0, also=()):
    """Wait for processes; in the end kill them, and `also` others that will not end."""
    found = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=seconds)
            found.append((process.returncode, out, err))
    finally:
        for each in {*processes, *also}:
            each.kill()
            each.communicate()
    return found


NOTING = """
from vaecp.models.vaecp.gradients.streamed import FromDisk
read_part = FromDisk._read_part
def noted(self, number, part, into):
    with open({path!r}, "a") as notes:
        notes.write(f"{{part}}\\n")
    read_part(self, number, part, into)
FromDisk._read_part = noted
"""
"""Notes which parts of the entries a process reads."""


@pytest.mark.parametrize("n", [2, 4])
def test_processes_that_read_a_part_each_find_what_one_finds(folder, tmp_path, n):
    short = "from vaecp.models.vaecp.gradients import schedule; schedule.STEPS = 150"
    alone = start(folder, tmp_path / "one.vaecp", 1, 0, 0, "--stream", before=short)
    code, _, err = ended([alone])[0]
    assert code == 0, err
    port, output = free_port(), tmp_path / "all.vaecp"
    notes = [tmp_path / f"parts-{number}" for number in range(n)]
    together = [
        start(folder, output, n, number, port, before=short + NOTING.format(path=str(path)))
        for number, path in enumerate(notes)
    ]
    for code, _, err in ended(together):
        assert code == 0, err
    read = [sorted(set(path.read_text().split())) for path in notes]
    assert sorted(part for parts in read for part in parts) == list("01234567")
    one, several = (load(tmp_path / f"{name}.vaecp").predict(KEYS) for name in ("one", "all"))
    assert one.std() > 5
    np.testing.assert_allclose(several, one, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("n", "dies", "how"),
    [(4, 3, signal.SIGKILL), (2, 1, signal.SIGSTOP), (2, 0, signal.SIGSTOP)],
    ids=["killed", "hung", "first-hung"],
)
def test_a_process_that_dies_ends_the_others_with_one_line(folder, tmp_path, n, dies, how):
    processes, kept = long_fit(folder, tmp_path, n)
    processes[dies].send_signal(how)
    others = processes[:dies] + processes[dies + 1 :]
    died = time.monotonic()
    for code, _, err in ended(others, 60, also=processes):
        assert code == 2
        assert "vaecp: error: another process ended" in err
        assert f"go on from the checkpoint in {kept}" in err
        assert len(err.splitlines()) == 1, err
    assert time.monotonic() - died < 60
    assert (kept / "network.safetensors").exists()
    assert not (tmp_path / "m.vaecp").exists()


def test_the_first_process_that_is_killed_ends_the_others(folder, tmp_path):
    processes, kept = long_fit(folder, tmp_path, 2)
    processes[0].kill()
    code, _, err = ended(processes, 60)[1]
    assert code != 0
    assert "another process ended" in err or "another task died" in err  # ours, or JAX's own
    assert (kept / "network.safetensors").exists()


def long_fit(folder, tmp_path, n: int):
    """Start processes that do not come to an end, and wait for their checkpoint."""
    long = "from vaecp.models.vaecp.gradients import schedule; schedule.STEPS = schedule.MAX_EPOCHS = 10**7"
    port, kept = free_port(), tmp_path / "kept"
    options = ["--checkpoint", kept, "--checkpoint-every", "0"]
    processes = [
        start(folder, tmp_path / "m.vaecp", n, number, port, *options, before=long)
        for number in range(n)
    ]
    began = time.monotonic()
    while not (kept / "network.safetensors").exists() and time.monotonic() - began < 150:
        time.sleep(0.5)
    return processes, kept


def test_a_fit_that_was_killed_goes_on_to_the_same_bits(folder, tmp_path):
    short = "from vaecp.models.vaecp.gradients import schedule; schedule.STEPS = 300"
    kept = tmp_path / "kept"
    options = ["--stream", "--checkpoint", kept, "--checkpoint-every", "0"]
    killed = start(folder, tmp_path / "again.vaecp", 1, 0, 0, *options, before=short)
    began = time.monotonic()
    while not (kept / "network.safetensors").exists() and time.monotonic() - began < 150:
        time.sleep(0.05)
    killed.kill()
    assert ended([killed])[0][0] == -signal.SIGKILL
    again = start(folder, tmp_path / "again.vaecp", 1, 0, 0, *options, before=short)
    whole = start(folder, tmp_path / "whole.vaecp", 1, 0, 0, "--stream", before=short)
    for code, _, err in ended([again, whole]):
        assert code == 0, err
    models = [load(tmp_path / f"{name}.vaecp") for name in ("again", "whole")]
    found, known = (model.predict(KEYS, return_std=True) for model in models)
    np.testing.assert_array_equal(found, known)


def test_processes_that_were_killed_go_on_to_the_same_bits(folder, tmp_path):
    short = "from vaecp.models.vaecp.gradients import schedule; schedule.STEPS = 150"
    kept = tmp_path / "kept"

    def started(name, *options):
        port, output = free_port(), tmp_path / f"{name}.vaecp"
        return [start(folder, output, 2, n, port, *options, before=short) for n in range(2)]

    options = ["--checkpoint", kept, "--checkpoint-every", "0"]
    processes = started("again", *options)
    began = time.monotonic()
    while not (kept / "network.safetensors").exists() and time.monotonic() - began < 150:
        time.sleep(0.05)
    for process in processes:
        process.kill()
    assert [code for code, _, _ in ended(processes)] == [-signal.SIGKILL] * 2
    for name in ("again", "whole"):
        for code, _, err in ended(started(name, *(options if name == "again" else ()))):
            assert code == 0, err
    found, known = (load(tmp_path / f"{n}.vaecp").predict(KEYS) for n in ("again", "whole"))
    np.testing.assert_array_equal(found, known)


def test_a_process_with_other_data_or_another_version_is_refused(folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    table(seed=1).to_parquet(other / "0.parquet", index=False)
    newer = "import vaecp.models.keeping as k; k.version = lambda name: '9.9'"
    cases = [("data", other, ""), ("version", folder, newer)]
    for name, source, before in cases:
        port, output = free_port(), tmp_path / "m.vaecp"
        processes = [
            start(folder, output, 2, 0, port),
            start(source, output, 2, 1, port, before=before),
        ]
        for code, _, err in ended(processes):
            assert code == 2
            assert f"vaecp: error: process 1 has another {name} than process 0" in err
        assert not output.exists()
