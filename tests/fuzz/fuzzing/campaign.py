"""Many cases of one kind, what came of them, and which ones are to be mended."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fuzzing.children import Child
from fuzzing.mutations import mutated

TALLY: Counter[str] = Counter()
"""Of all campaigns of a run; printed at its end."""
MOST_SHOWN = 5
FINE = ("good", "refused")


def damage(child: Child, task: str, seed: Path, cases: Iterable[int], folder: Path) -> None:
    """Damage a good file in many ways: each must be read, or refused in one line."""
    faults = []
    for number in cases:
        path, case = damaged(seed, number, folder)
        outcome, said = child.ask(task, path)
        TALLY[outcome] += 1
        if outcome not in FINE:
            faults.append(f"mutated({seed.name!r}, {case!r}): {outcome} {said}")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:MOST_SHOWN]])


def damaged(seed: Path, number: int, folder: Path) -> tuple[Path, str]:
    """Write a damaged copy of a file; return its path and what names the case."""
    case = f"{seed.name} {number}"
    path = folder / seed.name
    path.write_bytes(mutated(seed.read_bytes(), case))
    return path, case


def judge(child: Child, task: str, path: Path) -> None:
    """Ask about one file, which must be read, or refused in one line."""
    outcome, said = child.ask(task, path)
    TALLY[outcome] += 1
    assert outcome in FINE, f"{outcome} {said}"
