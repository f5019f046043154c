"""Write the pages of results, and the README's tables, from the runs under evidence/.

    python tools/results_pages.py            # write
    python tools/results_pages.py --check    # say what differs, and exit with 1

Pages: docs/results/paper, docs/results/gaps and docs/results/ablation, by the functions that the
commands call with `--tables-only --pages`. The tables of README.md stand between two comments each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from vaecp.study import evaluation, reproduction
from vaecp.study.evaluation.page import headline_table
from vaecp.study.evaluation.tables import at_best
from vaecp.study.experiments import BEST, Results, markdown, medians
from vaecp.study.experiments.results import frame_of
from vaecp.study.experiments.tables import code_in_words

ROOT = Path(__file__).parents[1]
EVIDENCE, PAGES, README = ROOT / "evidence", ROOT / "docs" / "results", ROOT / "README.md"


def runs_of(name: str):
    """Return the runs of one folder, of one version."""
    return frame_of(Results.read(EVIDENCE / name / "results.jsonl").of_one_version())


def readme_tables() -> dict[str, str]:
    """Return what stands between the comments of the README, by their name."""
    gaps, paper = runs_of("gaps"), runs_of("paper")
    return {
        "gaps": f"{markdown(headline_table(at_best(gaps)))}\nRuns of {code_in_words(gaps)}.",
        "paper": f"{markdown(medians(paper, BEST).reset_index())}\nRuns of {code_in_words(paper)}.",
    }


def with_tables(text: str, tables: dict[str, str]) -> str:
    """Put tables between their comments."""
    for name, table in tables.items():
        begin, end = f"<!-- table of {name} begins -->", f"<!-- table of {name} ends -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"README.md: {begin} and {end} must stand there once.")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{table}\n\n{end}{rest.partition(end)[2]}"
    return text


def write_pages() -> None:
    """Write all pages whose runs are there."""
    for name in ("gaps", "ablation"):
        path = EVIDENCE / name / "results.jsonl"
        if path.exists():
            flag = " --ablation" if name == "ablation" else ""
            command = f"vaecp evaluate{flag} -o evidence/{name}"
            evaluation.publish(EVIDENCE / name, Results.read(path), command, PAGES / name)
    results = Results.read(EVIDENCE / "paper" / "results.jsonl")
    command = "vaecp reproduce -o evidence/paper"
    reproduction.publish(PAGES / "paper", results, reproduction.FULL, command)


def main(arguments: list[str]) -> int:
    """Write, or compare."""
    wanted = with_tables(README.read_text(encoding="utf-8"), readme_tables())
    if "--check" in arguments:
        same = wanted == README.read_text(encoding="utf-8")
        print("README.md has the tables of the runs." if same else "README.md: tables differ.")
        return 0 if same else 1
    README.write_text(wanted, encoding="utf-8")
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
