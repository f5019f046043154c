"""Figures that others published on splits that we have too: RMSE in the units of the data."""

from __future__ import annotations

from dataclasses import dataclass

_CEP = "Wang and Zhe (2019), Conditional expectation propagation, UAI: mean over the five folds"
_TRANSDIM = "code of Chen et al. (xinychen/transdim), run on these masks; best of 20 settings on the test entries"
_TNN = "code of Chen et al. (xinychen/transdim), run on these masks"


@dataclass(frozen=True)
class Figure:
    """One figure: on which tensor and gaps, of which method, the RMSE, and who says so."""

    dataset: str
    gaps: str
    method: str
    rmse: float
    source: str


FIGURES = (
    *(
        Figure("alog", "published", f"CEP-CP, rank {rank}", rmse, _CEP)
        for rank, rmse in {3: 0.919, 5: 0.879, 8: 0.830, 10: 0.820}.items()
    ),
    *(
        Figure("alog", "published", f"VI-CP, rank {rank}", rmse, _CEP)
        for rank, rmse in {3: 0.918, 5: 0.882, 8: 0.875, 10: 0.882}.items()
    ),
    *(
        Figure("hangzhou", f"published:{gaps}", method, rmse, source)
        for method, source, found in (
            (
                "LATC",
                _TRANSDIM,
                {
                    "random-30": 24.97,
                    "random-70": 28.25,
                    "random-90": 34.44,
                    "days-30": 47.38,
                    "days-70": 47.30,
                    "blocks-30": 28.64,
                },
            ),
            (
                "LRTC-TNN",
                _TNN,
                {
                    "random-30": 24.95,
                    "random-70": 29.55,
                    "random-90": 38.05,
                    "days-30": 47.60,
                    "days-70": 41.83,
                    "blocks-30": 29.28,
                },
            ),
        )
        for gaps, rmse in found.items()
    ),
    Figure("movielens", "published:u1", "GC-MC", 0.910, "van den Berg, Kipf and Welling (2018)"),
    Figure("movielens", "published:u1", "IGMC", 0.905, "Zhang and Chen (2020), ICLR"),
    Figure("movielens", "published:u1", "GLocal-K", 0.890, "Han et al. (2021), CIKM"),
)
