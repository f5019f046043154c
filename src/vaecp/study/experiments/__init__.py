"""Comparisons of methods on held-out entries: protocol, parallel runs, results that are kept.

>>> import vaecp
>>> from vaecp.study.experiments import BEST, Case, Protocol, Results, candidates, compare, summarise
>>> tensor = vaecp.datasets.load("synthetic", r=2).take(slice(0, 2000))
>>> case = Case("part", tensor, candidates(["HOSVD", "TuckerALS"], [1, 2]))
>>> results = Results()  # Results(folder) keeps them, and goes on from what is there
>>> made = compare([case], Protocol(repeats=2, folds=2), results)
>>> dict(made.choices["part"][0][BEST]["TuckerALS"])
{'rank': 2}
>>> table = summarise(results.frame(made.runs))
"""

from vaecp.study.experiments.execution import execute
from vaecp.study.experiments.protocol import (
    Case,
    Protocol,
    candidates,
    choose,
    fold_runs,
    rank_finder,
    repeat_runs,
    shared_rank,
)
from vaecp.study.experiments.results import Results
from vaecp.study.experiments.runner import Comparison, carry_out, compare
from vaecp.study.experiments.runs import (
    BEST,
    CHOICE,
    PAPER,
    PUBLISHED,
    TRAINING,
    Run,
    Tensor,
    settings_of,
)
from vaecp.study.experiments.tables import (
    Verdict,
    failures,
    markdown,
    medians,
    summarise,
    verdicts,
    winner,
)

__all__ = [
    "BEST",
    "CHOICE",
    "PAPER",
    "PUBLISHED",
    "TRAINING",
    "Case",
    "Comparison",
    "Protocol",
    "Results",
    "Run",
    "Tensor",
    "Verdict",
    "candidates",
    "carry_out",
    "choose",
    "compare",
    "execute",
    "failures",
    "fold_runs",
    "markdown",
    "medians",
    "rank_finder",
    "repeat_runs",
    "settings_of",
    "shared_rank",
    "summarise",
    "verdicts",
    "winner",
]
