"""All speed benchmarks, one after the other, and their figures beside what they should be.

python benchmarks/run_all.py            about twenty minutes on two idle cores
python benchmarks/run_all.py --full     sugar too, and ten million entries
python benchmarks/run_all.py --smoke    does everything run? The figures mean nothing
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from reporting import LOAD_AT_START, finish, parser, table

HERE = Path(__file__).parent
OUTPUT = HERE.parent / "evidence" / "speed" / "cpu.json"
TARGETS = (
    ("an epoch at K=100, R=20, each at its best batch: times PyTorch", "epoch", 6.0),
    ("the same at batches of 30", "epoch_at_30", 4.0),
    ("best batches again, PyTorch with draws that are shared like ours", "epoch_shared", None),
    ("default fit of amino: SMURFF's seconds over ours", "fit", 1.0),
    ("means at K=100, R=20: million entries a second", "prediction", 5.0),
)
BUSY = 0.5


def plan(args: argparse.Namespace) -> dict[str, list[str]]:
    """Which arguments each benchmark is given."""
    if args.smoke:
        return {
            "throughput": ["--shape", "5,6,7", "--entries", "150", "--repeats", "1"],
            "fits": ["--dataset", "amino", "--smoke"],
            "prediction": ["--entries", "10000", "--repeats", "1"],
            "scaling": ["--largest", "10000", "--base", "10000", "--sweep", "entries"],
            "sizes": ["--only", "6"],
            "spent": ["--only", "6"],
            "time_left": ["--only", "6"],
        }
    datasets = ("amino", "fia", "sugar") if args.full else ("amino", "fia")
    return {
        "throughput": [],
        "fits": [word for dataset in datasets for word in ("--dataset", dataset)],
        "prediction": [],
        "scaling": [] if args.full else ["--largest", "1000000", "--base", "100000"],
        "sizes": [],
        "spent": [],
        "time_left": [],
    }


def run(name: str, arguments: list[str]) -> dict | None:
    """Run one benchmark, which prints its own tables; None where it fails."""
    print(f"\n## {name}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "result.json"
        command = [sys.executable, str(HERE / f"{name}.py"), *arguments, "--output", str(output)]
        if subprocess.run(command).returncode:
            return None
        return json.loads(output.read_text())


def figures(found: dict[str, dict | None]) -> dict[str, float]:
    """Pick those that have a target, as far as they were measured."""
    picked = {}
    if throughput := found.get("throughput"):
        picked["epoch"] = throughput["ratios"].get("best_batch")
        picked["epoch_at_30"] = throughput["ratios"].get("batch_30")
        picked["epoch_shared"] = throughput["ratios_shared_draws"].get("best_batch")
    if fits := found.get("fits"):
        amino = fits["fits"]["amino"]
        if "smurff" in amino:
            picked["fit"] = amino["smurff"]["seconds"] / amino["VAECP"]["seconds"]
    if prediction := found.get("prediction"):
        published = prediction["models"]["published"]["entries_per_second"]
        picked["prediction"] = published["means"] / 1e6
    return {name: value for name, value in picked.items() if value is not None}


def summary(measured: dict[str, float]) -> str:
    rows = (
        [
            what,
            target and f"at least {target:g}",
            measured.get(name),
            _verdict(measured.get(name), target),
        ]
        for what, name, target in TARGETS
    )
    return table(["figure", "target", "measured", "met"], rows)


def _verdict(value: float | None, target: float | None) -> str | None:
    if value is None:
        return "not measured"
    if target is None:
        return None
    return "yes" if value >= target else "no"


def main() -> int:
    options = parser(__doc__)
    options.set_defaults(output=OUTPUT)
    options.add_argument("--full", action="store_true")
    options.add_argument("--smoke", action="store_true")
    args = options.parse_args()
    found = {name: run(name, arguments) for name, arguments in plan(args).items()}
    measured = figures(found)
    if not args.smoke:
        print(f"\n## Targets\n\n{summary(measured)}")
    if LOAD_AT_START > BUSY:
        print(f"\nThe load was {LOAD_AT_START} at the start: others were at work, measure again.")
    finish({"figures": measured, **found}, None if args.smoke else args.output)
    failed = [name for name, result in found.items() if result is None]
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
