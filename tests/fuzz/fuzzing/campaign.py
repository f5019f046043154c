"""Many cases of one kind, what came of them, and which ones are to be mended."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fuzzing.children import Child
from fuzzing.mutations import mutated

TALLY: Counter[str] = Counter()
"""Of all campaigns of a run; printed at its end."""
MOST_SHOWN = 5


def damage(child: Child, task: str, seed: Path, cases: Iterable[int], folder: Path) -> None:
    """Damage a good file in many ways: each must be read, or refused in one line."""
    content, faults = seed.read_bytes(), []
    path = folder / seed.name
    for number in cases:
        case = f"{seed.name} {number}"
        path.write_bytes(mutated(content, case))
        outcome, said = child.ask(task, path)
        TALLY[outcome] += 1
        if outcome not in ("good", "refused"):
            faults.append(f"mutated({seed.name!r}, {case!r}): {outcome} {said}")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:MOST_SHOWN]])


def judge(child: Child, task: str, path: Path) -> None:
    """Ask about one file, which must be read, or refused in one line."""
    outcome, said = child.ask(task, path)
    TALLY[outcome] += 1
    assert outcome in ("good", "refused"), f"{outcome} {said}"
