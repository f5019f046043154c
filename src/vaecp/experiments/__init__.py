"""Comparisons of methods on held-out entries: protocol, parallel runs, results that are kept.

>>> import vaecp
>>> from vaecp.experiments import BEST, Case, Protocol, Results, candidates, compare, summarise
>>> tensor = vaecp.datasets.load("synthetic", r=2).take(slice(0, 2000))
>>> case = Case("part", tensor, candidates(["HOSVD", "TuckerALS"], [1, 2]))
>>> results = Results()  # Results(folder) keeps them, and goes on from what is there
>>> made = compare([case], Protocol(repeats=2, folds=2), results)
>>> dict(made.choices["part"][BEST]["TuckerALS"])
{'rank': 2}
>>> table = summarise(results.frame(made.runs))
"""

from vaecp.experiments.methods import METHODS, Method, build
from vaecp.experiments.protocol import (
    Case,
    Protocol,
    candidates,
    choose,
    fold_runs,
    rank_finder,
    repeat_runs,
    shared_rank,
)
from vaecp.experiments.results import Results
from vaecp.experiments.runner import Comparison, carry_out, compare
from vaecp.experiments.runs import BEST, CHOICE, PAPER, TRAINING, Run, execute, settings_of
from vaecp.experiments.tables import (
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
    "METHODS",
    "PAPER",
    "TRAINING",
    "Case",
    "Comparison",
    "Method",
    "Protocol",
    "Results",
    "Run",
    "Verdict",
    "build",
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
