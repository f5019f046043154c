"""What is tried on which tensor, in full and quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vaecp import datasets
from vaecp.data.observations import Observations
from vaecp.errors import DatasetError
from vaecp.models.registry import find
from vaecp.study.experiments import TRAINING, Case, Protocol, Run, candidates, settings_of
from vaecp.study.experiments.runs import derived_seed

SYNTHETIC = {f"synthetic r={r}": r for r in (9, 10, 11, 12)}
REAL = ("amino", "fia", "sugar")
NAMES = (*SYNTHETIC, *REAL)
METHODS = ("VAECP", "VAECP.paper", "CPALS", "NCP", "HOSVD", "TuckerALS", "FBCP", "InfTucker")
"""What the study compares; other methods may be registered."""
STANDARDISED = {"CPALS": {"center": "values"}, "NCP": {"center": "values"}}
"""All methods see standardised values, as in the paper; these do not do so by themselves."""
BATCH = 30
SYNTHETIC_RATE = 1e-4
SHOWN_RATES = (5e-5, 1e-3)
"""Of the training histories: the published rate, and one at which training is not just slow."""


@dataclass(frozen=True)
class Study:
    """How much is spent: on splits, folds and ranks. Fits are always those of the defaults.

    Attributes
    ----------
    ranks : what every method chooses from; for the synthetic tensors `synthetic_ranks`.
    paper_ranks : what `VAECP.paper` chooses from on real data; on the synthetic tensors it has the
        rank that they were made with.
    paper_rate : the largest of the published rates (1e-5, 2e-5, 5e-5); on the synthetic tensors it
        has the published `SYNTHETIC_RATE`.
    paper_steps : the most minibatches of `VAECP.paper`.
    collapse_epochs : of the training histories; 0 leaves them out.
    ridges : what CPALS chooses from beside its default.
    largest : the largest rank of methods whose cost grows fastest with it.
    largest_on : the same on one tensor, where it differs.
    stride : every how many-th sample of sugar is taken.
    note : what the title of every figure says.
    """

    protocol: Protocol
    ranks: tuple[int, ...]
    synthetic_ranks: tuple[int, ...]
    paper_ranks: tuple[int, ...]
    paper_rate: float
    paper_steps: int
    collapse_epochs: int
    ridges: tuple[float, ...] = ()
    largest: dict[str, int] = field(default_factory=dict)
    largest_on: dict[str, dict[str, int]] = field(default_factory=dict)
    stride: int = 1
    note: str = ""


FULL = Study(
    protocol=Protocol(),
    ranks=(5, 10, 15, 20, 30, 40, 50, 75, 100),
    synthetic_ranks=(5, 9, 10, 11, 12, 15, 20, 30, 40, 50, 75, 100),
    paper_ranks=(10, 20, 50),
    paper_rate=5e-5,
    paper_steps=100_000,
    collapse_epochs=180,
    ridges=(0.03,),
    largest={"CPALS": 75, "NCP": 50, "FBCP": 50, "HOSVD": 30, "TuckerALS": 30, "InfTucker": 10},
    largest_on={
        "synthetic": {"CPALS": 20, "NCP": 20},
        "amino": {"CPALS": 50},
        "sugar": {"CPALS": 100, "NCP": 100, "FBCP": 20, "InfTucker": 5},
    },
)
QUICK = Study(
    protocol=Protocol(repeats=2, folds=2),
    ranks=(5, 20),
    synthetic_ranks=(5, 15),
    paper_ranks=(20,),
    paper_rate=5e-5,
    paper_steps=100_000,
    collapse_epochs=0,
    largest={"InfTucker": 5},
    stride=10,
    note="quick run: 2 repeats, 2 folds, 2 ranks, a tenth of sugar",
)


def cases(study: Study, only: Sequence[str] = (), methods: Sequence[str] = ()) -> list[Case]:
    """Return the paper's tensors, or some, with what is tried on each, or a part of it."""
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise DatasetError(
            f"{unknown[0]!r} is not one of the paper's tensors: use {', '.join(NAMES)}."
        )
    for name in methods:
        find(name)
    return [_case(name, study, methods) for name in NAMES if not only or name in only]


def collapse_runs(study: Study, chosen: Sequence[Case]) -> list[Run]:
    """List the runs whose training is shown: the published recipe on amino."""
    return [
        Run(
            dataset=case.name,
            data=case.data,
            method="VAECP.paper",
            settings=settings_of(
                rank=20,
                hidden=100,
                learning_rate=rate,
                max_epochs=study.collapse_epochs,
                recipe__held_out=True,  # to watch the error; the published fits hold out none
            ),
            comparison=TRAINING,
            held_out=study.protocol.held_out,
            seed=study.protocol.seed,
        )
        for case in chosen
        if case.name == "amino" and "VAECP.paper" in case.candidates and study.collapse_epochs
        for rate in SHOWN_RATES
    ]


def _case(name: str, study: Study, methods: Sequence[str]) -> Case:
    observations = _tensor(name, study)
    synthetic = name in SYNTHETIC
    ranks = study.synthetic_ranks if synthetic else study.ranks
    found = candidates(METHODS, ranks, STANDARDISED)
    largest = study.largest | study.largest_on.get(name.split()[0], {})
    for limited, rank in largest.items():
        found[limited] = [given for given in found[limited] if dict(given)["rank"] <= rank]
    found["FBCP"] = found["FBCP"][-1:]  # it prunes what it is given
    found["CPALS"] += [
        settings_of(**dict(given), ridge=ridge)
        for ridge in study.ridges
        for given in found["CPALS"]
    ]
    found["VAECP.paper"] = _published(study, observations, SYNTHETIC.get(name))
    kept = {name: found[name] for name in found if not methods or name in methods}
    return Case(name, observations, kept)


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
    n_training = (1 - study.protocol.held_out) * len(observations)
    n_epochs = int(np.clip(study.paper_steps * BATCH / n_training, 2, 1_000))
    return [
        settings_of(
            rank=rank,
            hidden=50 if true_rank else 100,
            learning_rate=SYNTHETIC_RATE if true_rank else study.paper_rate,
            max_epochs=n_epochs,
        )
        for rank in ((true_rank,) if true_rank else study.paper_ranks)
    ]
