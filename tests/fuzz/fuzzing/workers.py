"""A worker process of `make fuzz`: it makes the cases, and asks a child of its own about them."""

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fuzzing.campaign import FINE
from fuzzing.children import Child
from fuzzing.kinds import Batch, Seeds

worker: tuple[Child, Seeds, Path, Path] | None = None


def start(seeds: Seeds, wanted: Sequence[str], folder: Path, kept: Path) -> None:
    """Begin a worker: it has a folder and a child of its own."""
    global worker
    warnings.simplefilter("ignore")
    own = Path(tempfile.mkdtemp(dir=folder))
    worker = Child(seeds.warm_up(wanted)), seeds, own, kept


def work(batch: Batch) -> tuple[Batch, Counter[str], list[str]]:
    """Run a batch; return its outcomes, and a line for each that is a fault."""
    assert worker is not None
    child, seeds, folder, kept = worker
    outcomes: Counter[str] = Counter()
    faults = []

    def ask(task: str, path: Path) -> None:
        outcome, said = child.ask(task, path)
        outcomes[outcome] += 1
        if outcome in FINE:
            return
        place = f"{batch.kind}, {batch.what}, {batch.first} + {outcomes.total() - 1}"
        faults.append(f"{outcome}: {place}: {said.strip()[-1500:]}")
        kept.mkdir(exist_ok=True)
        name = f"{place} {path.name}".replace("/", "-")
        if path.is_file():
            shutil.copy(path, kept / name)
        elif path.is_dir():
            shutil.copytree(path, kept / name, dirs_exist_ok=True)

    batch.run(seeds, folder, ask)
    return batch, outcomes, faults
