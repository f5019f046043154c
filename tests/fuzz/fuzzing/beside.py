"""Good folders that the program keeps beside data, and what can be wrong in one of their files."""

import json
import random
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

import vaecp
from fuzzing.data_files import observations
from fuzzing.mutations import SIZES, mutated
from vaecp.formats.stored import scan
from vaecp.models.keeping import checkpointed
from vaecp.runtime.checkpoints import _checksum

FITS: dict[str, Callable[[], Any]] = {
    "checkpoint of a network": lambda: vaecp.VAECP.paper(
        rank=2, hidden=4, max_epochs=3, random_state=0
    ),
    "checkpoint of sweeps": lambda: vaecp.VAECP(
        rank=1, n_members=1, effort="quick", max_epochs=2, random_state=0
    ),
}
TASKS = {"cache": "cache", "results": "results", **dict.fromkeys(FITS, "checkpoint")}
"""Each folder, and what a child is asked to do with it."""
WRONG = (*SIZES, None, True, 0.5, "", "../x", [], [1], {}, {"a": 1}, "9" * 30, float("nan"), 1e300)


def save_all(folder: Path) -> dict[str, Path]:
    """Make a folder of every kind."""
    paths = {name: folder / name for name in TASKS}
    for path in paths.values():
        path.mkdir()
    observations(labelled=True).to_frame().to_parquet(paths["cache"] / "data.parquet")
    scan(paths["cache"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in FITS.items():
            model = make()
            with checkpointed(model, observations(labelled=True), paths[name], 0.0):
                model.fit_tensor(observations(labelled=True))
        _save_results(paths["results"])
    return paths


def _save_results(folder: Path) -> None:
    made = vaecp.experiments
    case = made.Case("x", observations(labelled=True), made.candidates(["HOSVD"], [1]))
    made.compare([case], made.Protocol(repeats=1, folds=2), made.Results(folder))


def spoiled(seed: Path, number: int, folder: Path) -> Path:
    """Return a copy of a folder with one file that is damaged, missing, another, or lies."""
    draw = random.Random(f"{seed.name} {number}")
    path = folder / seed.name
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(seed, path)  # with its times, which belong to what a cache is known by
    files = sorted(
        p for p in path.rglob("*") if p.is_file() and p.name not in ("lock", "data.parquet")
    )
    target = draw.choice(files)
    draw.choice((_damage, _damage, _lie, _lie, _lie, _remove, _exchange))(target, files, draw)
    return path


def _damage(target: Path, files: list[Path], draw: random.Random) -> None:
    if target.stat().st_size > 1:
        target.write_bytes(mutated(target.read_bytes(), str(draw.random())))


def _remove(target: Path, files: list[Path], draw: random.Random) -> None:
    target.unlink()


def _exchange(target: Path, files: list[Path], draw: random.Random) -> None:
    target.write_bytes(draw.choice(files).read_bytes())


def _lie(target: Path, files: list[Path], draw: random.Random) -> None:
    """Change what a file says, with the right form and checksum."""
    if target.suffix in (".json", ".jsonl"):
        lines = target.read_text().splitlines()
        place = draw.randrange(len(lines))
        lines[place] = json.dumps(_with_a_lie(json.loads(lines[place]), draw))
        target.write_text("\n".join(lines) + "\n" * (target.suffix == ".jsonl"))
    elif target.suffix == ".npy":
        np.save(target, _changed(np.load(target), draw))
    elif target.suffix == ".safetensors":
        with safe_open(target, framework="numpy") as file:
            told = json.loads(file.metadata()["told"])
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        if arrays and draw.random() < 0.6:
            name = draw.choice(sorted(arrays))
            arrays[name] = np.array(_changed(arrays[name], draw), order="C")
        else:
            told = _with_a_lie(told, draw)
        plain = json.dumps(told)
        save_file(arrays, target, {"told": plain, "checksum": _checksum(arrays, json.loads(plain))})
    else:
        _damage(target, files, draw)


def _with_a_lie(described: Any, draw: random.Random) -> Any:
    from fuzzing.lies import places

    if not (ways := places(described)):
        return draw.choice(WRONG)
    *way, last = draw.choice(ways)
    inner = described
    for key in way:
        inner = inner[key]
    if draw.random() < 0.2:
        del inner[last]
    else:
        inner[last] = draw.choice(WRONG)
    return described


def _changed(array: np.ndarray, draw: random.Random) -> np.ndarray:
    with np.errstate(all="ignore"):
        return draw.choice(
            [
                lambda: array[:0] if array.ndim else array,
                lambda: array[:-1] if array.ndim else array,
                lambda: array[None],
                lambda: array.ravel(),
                lambda: array.astype(draw.choice(["f4", "f8", "i4", "i8", "u1", "?"])),
                lambda: np.full(array.shape, draw.choice(SIZES)).astype(array.dtype),
                lambda: np.full(array.shape, np.nan).astype(array.dtype),
                lambda: -array if array.dtype.kind in "if" else array,
                lambda: np.concatenate([array, array]) if array.ndim else array,
            ]
        )()
