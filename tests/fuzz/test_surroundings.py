"""The machine around the program: no home, caches that are damaged or shut, a disk that is full."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzzing.effort import MANY, n_cases

import vaecp

FIT = """
import sys
import numpy as np
import vaecp
draw = np.random.default_rng(0)
array = np.einsum("ir,jr,kr->ijk", *(draw.normal(size=(n, 2)) for n in (6, 5, 4)))
array[draw.random(array.shape) < 0.2] = np.nan
models = [
    vaecp.CPALS(rank=2, max_iter=5, random_state=0),
    vaecp.VAECP(rank=2, n_members=2, max_epochs=3, random_state=0),
]
if MANY:
    models.append(vaecp.VAECP.paper(rank=2, hidden=4, max_epochs=2, random_state=0))
np.save(sys.argv[1], np.stack([vaecp.complete(array, model).mean for model in models]))
""".replace("MANY", str(MANY))
"""Compiles by XLA and by Numba, and keeps what both have compiled."""


def run(code, *arguments, check=True, **environment):
    """Run code in a fresh process; warnings are no errors there."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={
            name: text for name, text in {**os.environ, **environment}.items() if text is not None
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert not check or done.returncode == 0, done.stderr[-2000:]
    return done


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "means.npy"
    run(FIT, path)
    return np.load(path)


def same(path, expected):
    np.testing.assert_array_equal(np.load(path), expected)


def test_a_fit_needs_no_home(expected, tmp_path):
    nowhere = dict.fromkeys(("VAECP_COMPILATION_CACHE", "XDG_CACHE_HOME"), None)
    run(FIT, tmp_path / "means.npy", HOME="/dev/null/none", **nowhere)
    same(tmp_path / "means.npy", expected)


@pytest.mark.parametrize("place", ["off", "/proc/none"])
def test_a_fit_needs_no_cache(expected, tmp_path, place):
    run(FIT, tmp_path / "means.npy", VAECP_COMPILATION_CACHE=place)
    same(tmp_path / "means.npy", expected)


def test_damaged_caches_change_nothing(expected, tmp_path):
    cache = tmp_path / "cache"
    run(FIT, tmp_path / "means.npy", VAECP_COMPILATION_CACHE=str(cache))
    files = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    assert {path.suffix for path in files} >= {".nbc", ".nbi"}
    for number in range(n_cases(2, 30)):
        draw = random.Random(number)
        for path, content in files.items():
            damaged = bytearray(content)
            if number == 0:
                damaged = damaged[: len(damaged) // 2]
            for _ in range(5 if damaged else 0):
                damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
            path.write_bytes(damaged)
        run(FIT, tmp_path / "means.npy", VAECP_COMPILATION_CACHE=str(cache))
        same(tmp_path / "means.npy", expected)


def test_two_processes_share_an_empty_cache(expected, tmp_path):
    environment = {**os.environ, "VAECP_COMPILATION_CACHE": str(tmp_path / "cache")}
    both = [
        subprocess.Popen([sys.executable, "-c", FIT, str(tmp_path / name)], env=environment)
        for name in ("one.npy", "other.npy")
    ]
    assert [process.wait(300) for process in both] == [0, 0]
    for name in ("one.npy", "other.npy"):
        same(tmp_path / name, expected)


def test_a_process_that_was_forked_after_the_import_can_fit(expected, tmp_path):
    code = f"""
import os, sys, vaecp
child = os.fork()
if child == 0:
    exec({FIT!r})
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run(code, tmp_path / "means.npy")
    same(tmp_path / "means.npy", expected)


LARGE = """
import sys, warnings
import numpy as np
import vaecp
warnings.simplefilter("ignore")
draw = np.random.default_rng(0)
array = np.einsum("ir,jr,kr->ijk", *(draw.normal(size=(n, 3)) for n in (60, 40, 30)))
array += draw.normal(size=array.shape) / 10
array[draw.random(array.shape) < 0.3] = np.nan
models = [
    vaecp.VAECP(effort="quick", random_state=0),
    vaecp.CPALS(rank=8, max_iter=5, random_state=0),
    vaecp.NCP(rank=8, max_iter=5, random_state=0),
    vaecp.HOSVD(rank=20, max_iter=5),
    vaecp.TuckerALS(rank=20, max_iter=5),
    vaecp.FBCP(rank=12, max_iter=5, n_starts=1, random_state=0),
    vaecp.InfTucker(rank=4, max_iter=1, random_state=0),
    vaecp.VAECP.paper(rank=3, hidden=10, max_epochs=1, random_state=0),
]
found = [vaecp.complete(array, model) for model in models]
np.save(sys.argv[1], np.stack([part for each in found for part in (each.mean, each.std)]))
"""
"""Large enough for linear algebra to use several threads, if it may."""


@pytest.mark.slow
def test_bits_of_no_method_depend_on_the_number_of_threads(tmp_path):
    for n in "12":
        run(LARGE, tmp_path / f"{n}.npy", NPROC=n, OPENBLAS_NUM_THREADS=n, OMP_NUM_THREADS=n)
    same(tmp_path / "1.npy", np.load(tmp_path / "2.npy"))


@pytest.fixture
def table(tmp_path):
    draw = np.random.default_rng(0)
    array = draw.normal(size=(9, 8, 7))
    array[draw.random(array.shape) < 0.2] = np.nan
    np.save(tmp_path / "table.npy", array)
    return tmp_path / "table.npy"


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from vaecp.app.cli import main
main()
"""
"""A limit on the size of files is to a program what a full disk is."""
# Git, which is asked for the commit, would be killed by the limit while it writes its index.
NO_LOCKS = {"GIT_OPTIONAL_LOCKS": "0"}


@pytest.mark.parametrize("room", [200, 3000])
@pytest.mark.parametrize("suffix", [".csv", ".npz", ".mat", ".nc", ".parquet", ".tns.gz"])
def test_a_full_disk_is_said_in_one_line_and_leaves_nothing(table, suffix, room):
    target = table.with_name(f"out{suffix}")
    command = ["complete", table, "-o", target, "--method", "HOSVD", "--rank", "2"]
    done = run(FULL, room, *command, check=False, VAECP_COMPILATION_CACHE="off")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("vaecp: error: ")
    assert done.stderr.count("\n") == 1
    assert f"out{suffix}" in done.stderr
    assert {path.name for path in table.parent.iterdir()} == {"table.npy"}


def test_a_model_that_does_not_fit_on_the_disk_is_not_half_written(table):
    target = table.with_name("out.csv")
    command = ["complete", table, "-o", target, "--method", "HOSVD", "--save"]
    done = run(FULL, 2000, *command, table.with_name("model.vaecp"), check=False)
    assert done.returncode == 2, done.stderr
    assert "model.vaecp" in done.stderr
    assert {path.name for path in table.parent.iterdir()} == {"table.npy"}


FIT_AT_LENGTH = ("fit", "table.npy", "-o", "m.vaecp", "--rank", "2", "--values", "gaussian")
LONG = {
    "checkpoint": (
        [*FIT_AT_LENGTH, "--effort", "quick", "--checkpoint", "kept", "--checkpoint-every", "0"],
        "kept/sweeps",
    ),
    "batches": (["predict", "known.vaecp", "asked", "--batch", "-o", "answers"], "answers/0."),
    "results": (
        ["compare", "table.npy", "--methods", "HOSVD,TuckerALS", "--quick", "--jobs", "1"],
        "table-compare/results",
    ),
    "report": (["report", "known.vaecp", "-o", "page.html"], "page.html"),
}
"""Commands that write more than one file, or a large one, and what they write."""


@pytest.fixture
def workplace(table):
    """A folder with a table, a model of it and Parquet files of its entries."""
    folder = table.parent
    known = vaecp.read(table).to_frame()
    keys = known.iloc[:, :3]
    vaecp.save(vaecp.HOSVD(rank=2).fit(keys, known.iloc[:, 3]), folder / "known.vaecp")
    for name, frame in (("asked", keys), ("entries", known)):
        (folder / name).mkdir()
        frame.to_parquet(folder / name / "0.parquet", index=False)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("command", "names"), LONG.values(), ids=LONG)
def test_a_command_that_met_a_full_disk_goes_on_when_there_is_room(
    workplace, monkeypatch, command, names
):
    monkeypatch.chdir(workplace)
    full = run(FULL, 3000, *command, "--quiet", check=False, **NO_LOCKS)
    assert full.returncode == 2, full.stderr
    assert full.stderr.startswith("vaecp: error: ")
    assert full.stderr.count("\n") == 1
    assert names in full.stderr
    assert not [
        path
        for path in workplace.rglob("*")
        if path.name.startswith(".") and path.suffix in (".safetensors", ".parquet", ".html")
    ]
    room = run(FULL, 2**30, *command, "--quiet", check=False, **NO_LOCKS)
    assert (room.returncode, room.stderr) == (0, "")


@pytest.mark.parametrize("room", [100, 3000])
def test_entries_that_did_not_fit_on_the_disk_are_encoded_when_there_is_room(workplace, room):
    command = ["fit", workplace / "entries", "-o", workplace / "m.vaecp"]
    full = run(FULL, room, *command, check=False)
    assert full.returncode == 2, full.stderr
    assert full.stderr.startswith("vaecp: error: ")
    assert full.stderr.count("\n") == 1
    assert ".vaecp-cache" in full.stderr
    assert len(vaecp.scan(workplace / "entries")) == len(vaecp.read(workplace / "table.npy"))


def test_two_commands_may_write_the_same_file(table):
    target = table.with_name("out.csv")
    command = ["complete", str(table), "-o", str(target), "--method", "HOSVD", "--rank", "2"]
    both = [subprocess.Popen([sys.executable, "-m", "vaecp", *command, "--quiet"]) for _ in "12"]
    assert [process.wait(300) for process in both] == [0, 0]
    assert len(target.read_text().splitlines()) == 1 + 9 * 8 * 7
    assert {path.name for path in table.parent.iterdir()} == {"table.npy", "out.csv"}


def test_a_folder_of_results_is_added_to_by_one_command_at_a_time(table):
    command = ["compare", str(table), "--methods", "HOSVD,TuckerALS", "--quick", "--jobs", "1"]
    folder = table.with_name("results")
    command += ["-o", str(folder)]
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "vaecp", *command], stderr=subprocess.PIPE, text=True
        )
        for _ in "12"
    ]
    said = [process.communicate(timeout=300)[1] for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes in ([0, 0], [0, 2]), said
    for process, line in zip(both, said, strict=True):
        if process.returncode == 2:
            assert "another process is adding results here" in line
    assert (folder / "results.jsonl").exists()
    assert not [path for path in Path(folder).iterdir() if path.name.endswith(".tmp")]
