"""What is tried on which tensor, in full and quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vaecp import datasets
from vaecp.data.observations import Observations
from vaecp.errors import DatasetError
from vaecp.models.registry import find
from vaecp.study.experiments import Case, Protocol, Run, candidates, fold_runs, settings_of
from vaecp.study.experiments.runs import derived_seed

SYNTHETIC = {f"synthetic r={r}": r for r in (9, 10, 11, 12)}
REAL = ("amino", "fia", "sugar")
NAMES = (*SYNTHETIC, *REAL)
METHODS = ("VAECP", "VAECP.paper", "CPALS", "NCP", "HOSVD", "TuckerALS", "FBCP", "InfTucker")
"""What the study compares; other methods may be registered."""
FIXED = {
    "CPALS": {"center": "values", "max_iter": 2000},
    "NCP": {"center": "values", "max_iter": 2000},
    "HOSVD": {"max_iter": 1000},
    "TuckerALS": {"max_iter": 1000},
    "FBCP": {"max_iter": 3000},
    "InfTucker": {"max_iter": 200},
}
"""All methods see standardised values, as in the paper, which CPALS and NCP must be told; and they go
on until they converge."""
ALSO: dict[str, tuple[dict[str, Any], ...]] = {
    "CPALS": ({"ridge": 0.03},),
    "HOSVD": ({"ridge": 1e-4},),
    "TuckerALS": ({"ridge": 1e-4},),
    "InfTucker": ({"kernel": "matern"}, {"sparsity": 0.1}),
}
"""What methods choose from beside their defaults, at every rank."""
BATCH = 30
SYNTHETIC_RATE = 1e-4


@dataclass(frozen=True)
class Study:
    """How much is spent: on splits, folds and ranks. Fits are not shortened.

    Attributes
    ----------
    ranks : what methods choose from; `Protocol.patience` ends each ladder where it no longer helps.
    synthetic_ranks : the same for the synthetic tensors, and the rank that these were made with.
    curve_ranks, synthetic_curve : at which VAECP is shown.
    own_ranks : by tensor and method, where they differ. FBCP prunes what it is given. Where a fit takes minutes these begin near the
        best rank; the page names the methods that took the first or the last.
    most_repeats : by tensor, where a fit takes minutes.
    paper_ranks : what `VAECP.paper` chooses from on real data; on the synthetic tensors it has the
        rank that they were made with.
    paper_rate : the largest of the published rates (1e-5, 2e-5, 5e-5); on the synthetic tensors it
        has the published `SYNTHETIC_RATE`.
    paper_steps : the most minibatches of `VAECP.paper`.
    reading_steps : of the readings of the published recipe: the first of all, the others of the plain
        one alone.
    stride : every how many-th sample of sugar is taken.
    note : what the title of every figure says.
    """

    protocol: Protocol
    ranks: tuple[int, ...]
    synthetic_ranks: tuple[int, ...]
    curve_ranks: tuple[int, ...]
    synthetic_curve: tuple[int, ...]
    paper_ranks: tuple[int, ...]
    paper_rate: float
    paper_steps: int
    reading_steps: tuple[int, ...]
    own_ranks: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    most_repeats: dict[str, int] = field(default_factory=dict)
    stride: int = 1
    note: str = ""

    def ranks_on(self, name: str) -> dict[str, tuple[int, ...]]:
        """Return what every method chooses from on a tensor."""
        usual = self.ranks
        if name in SYNTHETIC:
            usual = tuple(sorted({*self.synthetic_ranks, SYNTHETIC[name]}))
        own = self.own_ranks.get(name.split()[0], {})
        return {method: own.get(method, usual) for method in METHODS}


FULL = Study(
    protocol=Protocol(folds_per_repeat=1, patience=2),
    ranks=(3, 5, 10, 15, 20, 30, 50, 75, 100, 150, 200),
    synthetic_ranks=(5, 8, 15, 20, 30, 40, 60, 80),
    curve_ranks=(5, 10, 20, 50, 100),
    synthetic_curve=(5, 9, 10, 11, 12, 20),
    paper_ranks=(10, 20, 50),
    paper_rate=5e-5,
    paper_steps=100_000,
    reading_steps=(20_000, 100_000, 1_000_000),
    own_ranks={
        "synthetic": {"FBCP": (15, 30)},
        "amino": {"FBCP": (20, 50)},
        "fia": {"FBCP": (50, 100)},
        "sugar": {
            "CPALS": (15, 20, 30, 50, 75, 100, 150, 200),
            "NCP": (10, 15, 20, 30, 50, 75),
            "HOSVD": (10, 15, 20, 25, 30),
            "TuckerALS": (10, 15, 20, 25, 30),
            "FBCP": (20, 50),
            "InfTucker": (5,),
        },
    },
    most_repeats={"fia": 5, "sugar": 5},
)
QUICK = Study(
    protocol=Protocol(repeats=2, folds=2, folds_per_repeat=1),
    ranks=(5, 20),
    synthetic_ranks=(5, 15),
    curve_ranks=(5, 20),
    synthetic_curve=(5, 15),
    paper_ranks=(20,),
    paper_rate=5e-5,
    paper_steps=100_000,
    reading_steps=(20_000,),
    own_ranks={
        "synthetic": {"FBCP": (15,), "InfTucker": (5,)},
        **{name: {"FBCP": (20,), "InfTucker": (5,)} for name in REAL},
    },
    stride=10,
    note="quick run: 2 repeats, 1 fold of 2, 2 ranks, a tenth of sugar",
)


def cases(study: Study, only: Sequence[str] = (), methods: Sequence[str] = ()) -> list[Case]:
    """Return the paper's tensors, or some, with what is tried on each, or a part of it."""
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise DatasetError(
            f"{unknown[0]!r} is not one of the paper's tensors: use {', '.join(NAMES)}."
        )
    named = [find(name).name for name in methods]
    return [_case(name, study, named) for name in NAMES if not only or name in only]


def curve_runs(study: Study, chosen: Sequence[Case]) -> list[Run]:
    """List the runs of VAECP at every rank, on the folds of the first split that choose."""
    protocol = replace(study.protocol, repeats=1)
    found = []
    for case in chosen:
        if "VAECP" in case.candidates:
            ranks = study.synthetic_curve if case.name in SYNTHETIC else study.curve_ranks
            curve = replace(case, candidates=candidates(["VAECP"], ranks))
            found += fold_runs(curve, protocol)
    return found


def _case(name: str, study: Study, methods: Sequence[str]) -> Case:
    observations = _tensor(name, study)
    found = {
        method: candidates([method], ranks, FIXED, own_rank=True)[method]
        for method, ranks in study.ranks_on(name).items()
    }
    for method, others in ALSO.items():
        found[method] += [
            settings_of(**dict(given) | other) for other in others for given in found[method]
        ]
    found["VAECP.paper"] = _published(study, observations, SYNTHETIC.get(name))
    kept = {name: found[name] for name in found if not methods or name in methods}
    return Case(name, observations, kept, study.most_repeats.get(name))


def _tensor(name: str, study: Study) -> Observations:
    if name in SYNTHETIC:
        seed = derived_seed(study.protocol.seed, "split", SYNTHETIC[name])
        return datasets.load("synthetic", r=SYNTHETIC[name], seed=seed)
    tensor = datasets.load(name)
    if name != "sugar" or study.stride == 1:
        return tensor
    return _every(tensor, study.stride)


def _every(tensor: Observations, stride: int) -> Observations:
    """Keep every so many-th row of the first mode."""
    kept = tensor.indices[:, 0] % stride == 0
    indices = np.array(tensor.indices[kept])
    indices[:, 0] //= stride
    labels = (tensor.labels[0][::stride], *tensor.labels[1:])
    return Observations(
        indices,
        tensor.values[kept],
        tuple(len(mode) for mode in labels),
        tensor.mode_names,
        labels,
        tensor.value_name,
    )


def _published(study: Study, observations: Observations, true_rank: int | None) -> list[Any]:
    """The paper names no number of epochs, so a number of steps bounds them."""
    n_epochs = epochs_of(study.paper_steps, observations, study)
    return [
        settings_of(
            rank=rank,
            hidden=50 if true_rank else 100,
            learning_rate=SYNTHETIC_RATE if true_rank else study.paper_rate,
            max_epochs=n_epochs,
        )
        for rank in ((true_rank,) if true_rank else study.paper_ranks)
    ]


def epochs_of(n_steps: int, observations: Observations, study: Study) -> int:
    """Return about how many passes over the training entries so many batches are."""
    n_training = (1 - study.protocol.held_out) * len(observations)
    return max(2, round(n_steps * BATCH / n_training))
