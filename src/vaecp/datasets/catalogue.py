"""What datasets there are: sizes, citations, licences, pinned addresses and checksums."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files as resources


@dataclass(frozen=True)
class DataFile:
    """One published file: its name here, its pinned address below the base, its SHA-256.

    A file without an address has no public copy that this package may fetch.
    """

    name: str
    address: str
    sha256: str


@dataclass(frozen=True)
class DatasetInfo:
    """What a dataset is, whom to cite, and where it comes from.

    Attributes
    ----------
    source : where the data comes from, in words.
    files : what it is read from; empty for data that is made here or comes with TensorLy.
    folds : how many published splits into training and test entries there are.
    """

    name: str
    title: str
    shape: tuple[int, ...]
    mode_names: tuple[str, ...]
    value_name: str
    citation: str
    licence: str
    source: str
    files: tuple[DataFile, ...] = ()
    folds: int = 0


_SUMS = {
    name: digest
    for digest, name in (
        line.split("  ")
        for line in (resources("vaecp.datasets") / "sha256.txt").read_text().splitlines()
    )
}
"""By name; the file has the form that `sha256sum --check` reads."""


def _file(name: str, address: str = "") -> DataFile:
    return DataFile(name, address, _SUMS[name])


_NWAY = "andrewssobral/nway/a6dc5b3970ef395c03fc7e6dc1ea2fc105185b86"
_MCAM = "ANDRIANTSIORY/MCAM/fe7a7f7ca54e9795e0250cc183b7be1a8cd1bcbf"
_JOPS = "cran/JOPS/3fb308d0cd7f04e4e1195abe60fa5b9aa41bfbf7"
_CEP = "wzhut/Conditional-Expectation-Propagation/28faad044b708076ba819b0eb66928a2c90619bb"
_CEP_FOLDER = "code-and-exp/CEP/matlab code/CP Decomposition/regression200x100x200"


def _parts(n_folds: int) -> list[str]:
    return [f"{part}-fold-{fold}" for fold in range(1, n_folds + 1) for part in ("train", "test")]


_SUGAR_FILE = _file(
    "sugar/Sugar.rda",
    f"{_JOPS}/data/Sugar.rda",
)
_SUGAR_CITATION = (
    "Bro, R. (1999). Exploratory study of sugar production using fluorescence spectroscopy and "
    "multi-way analysis. Chemometrics and Intelligent Laboratory Systems, 46(2), 133-147."
)
_ENTED = (
    "Tao, Z., Tanaka, T., & Zhao, Q. (2024). Efficient nonparametric tensor decomposition for binary "
    "and count data. AAAI 2024."
)
_SUGAR_MODES = ("shift", "emission", "excitation")
_SUGAR_SOURCE = "the R package JOPS on CRAN"

_ALL = (
    DatasetInfo(
        "amino",
        "Fluorescence of five samples with three amino acids, by excitation and emission (nm)",
        (5, 51, 201),
        ("sample", "excitation", "emission"),
        "fluorescence",
        "Bro, R. (1997). PARAFAC. Tutorial and applications. Chemometrics and Intelligent "
        "Laboratory Systems, 38(2), 149-171.",
        "BSD-2-Clause",
        "the N-way Toolbox for MATLAB; excitation from 250 nm, as in the paper",
        (
            _file(
                "amino/claus.mat",
                f"{_NWAY}/claus.mat",
            ),
        ),
    ),
    DatasetInfo(
        "fia",
        "Flow injection analysis: absorbance of twelve samples, by wavelength (nm) and time",
        (12, 100, 89),
        ("sample", "wavelength", "time"),
        "absorbance",
        "Nørgaard, L., & Ridder, C. (1994). Rank annihilation factor analysis applied to flow "
        "injection analysis with photodiode-array detection. Chemometrics and Intelligent "
        "Laboratory Systems, 23(1), 107-114.",
        "none stated with the copy",
        "the University of Copenhagen's chemometric datasets, copied in MCAM",
        (
            _file(
                "fia/fia.mat",
                f"{_MCAM}/data/Flow_Injection/fia.mat",
            ),
        ),
    ),
    DatasetInfo(
        "sugar",
        "Fluorescence of sugar, a sample per shift, by emission and excitation (nm): first 265",
        (265, 571, 7),
        _SUGAR_MODES,
        "fluorescence",
        _SUGAR_CITATION,
        "GPL-2 | GPL-3",
        _SUGAR_SOURCE,
        (_SUGAR_FILE,),
    ),
    DatasetInfo(
        "sugar-full",
        "Fluorescence of sugar, a sample per shift, by emission and excitation (nm): all 268",
        (268, 571, 7),
        _SUGAR_MODES,
        "fluorescence",
        _SUGAR_CITATION,
        "GPL-2 | GPL-3",
        _SUGAR_SOURCE,
        (_SUGAR_FILE,),
    ),
    DatasetInfo(
        "alog",
        "An access log: log counts by user, action and resource, in five folds",
        (200, 100, 200),
        ("user", "action", "resource"),
        "log_count",
        "Zhe, S., Zhang, K., Wang, P., Lee, K., Xu, Z., Qi, Y., & Ghahramani, Z. (2016). "
        "Distributed flexible nonlinear tensor factorization. NeurIPS 29. Folds: Wang, Z., & "
        "Zhe, S. (2019). Conditional expectation propagation. UAI 2019.",
        "none stated",
        "the code of Conditional Expectation Propagation",
        tuple(_file(f"alog/{part}.txt", f"{_CEP}/{_CEP_FOLDER}/{part}.txt") for part in _parts(5)),
        folds=5,
    ),
    DatasetInfo(
        "hangzhou",
        "Passengers of the Hangzhou metro by station, day and time of day (ten minutes)",
        (80, 25, 108),
        ("station", "day", "time"),
        "passengers",
        "Chen, X., Lei, M., Saunier, N., & Sun, L. (2022). Low-rank autoregressive tensor completion "
        "for spatiotemporal traffic data imputation. IEEE Transactions on Intelligent Transportation "
        "Systems, 23(8), 12301-12310.",
        "none stated",
        "the repository xinychen/transdim, commit 99a31275",
        (_file("hangzhou/tensor.mat"),),
    ),
    DatasetInfo(
        "beijing",
        "PM2.5 in Beijing (standardised) by two meteorological scales and the day, in two folds",
        (428, 501, 1461),
        ("first_scale", "second_scale", "day"),
        "pm25",
        "Fang, S., Yu, X., Wang, Z., Li, S., Kirby, M., & Zhe, S. (2024). Functional Bayesian Tucker "
        "decomposition for continuous-indexed tensor data. ICLR 2024.",
        "none stated",
        "the repository xuangu-fang/Functional-Bayesian-Tucker-Decomposition, commit fe270e8f",
        tuple(_file(f"beijing/pm25-{part}.txt") for part in _parts(2)),
        folds=2,
    ),
    DatasetInfo(
        "movielens",
        "MovieLens 100k: ratings from 1 to 5 by user and film, the first two published splits",
        (943, 1682),
        ("user", "film"),
        "rating",
        "Harper, F. M., & Konstan, J. A. (2015). The MovieLens datasets: history and context. ACM "
        "Transactions on Interactive Intelligent Systems, 5(4), 19.",
        "research use only, never to be passed on",
        "the archive ml-100k of GroupLens",
        tuple(
            _file(f"movielens/{name}")
            for name in ("u1.base", "u1.test", "u2.base", "u2.test", "u.user", "u.item")
        ),
        folds=2,
    ),
    DatasetInfo(
        "enron",
        "Who wrote to whom and when (1) or did not (0), as many of each, in five folds",
        (203, 203, 200),
        ("sender", "receiver", "time"),
        "wrote",
        _ENTED,
        "none stated",
        "the repository taozerui/gptd, commit 3517ec58",
        tuple(_file(f"enron/{part}.txt") for part in _parts(5)),
        folds=5,
    ),
    DatasetInfo(
        "ems",
        "Emergency calls: counts by two modes, in five folds",
        (72, 69),
        ("row", "column"),
        "calls",
        _ENTED,
        "none stated",
        "the repository taozerui/gptd, commit 3517ec58",
        tuple(_file(f"ems/{part}.txt") for part in _parts(5)),
        folds=5,
    ),
    DatasetInfo(
        "synthetic",
        "A CP tensor of rank r with standard normal factors, plus standard normal noise",
        (20, 20, 20),
        ("row", "column", "tube"),
        "value",
        "Liu, B., Xu, Z., & Li, Y. (2016). Tensor decomposition via variational auto-encoder. "
        "arXiv:1611.00866.",
        "none needed",
        "made on the spot",
    ),
    DatasetInfo(
        "il2",
        "Responses of eight cell types to IL-2 muteins, by ligand, time (h), dose (nM) and cell",
        (13, 4, 12, 8),
        ("ligand", "time", "dose", "cell"),
        "response",
        "Orcutt-Jahns, B., Emmel, P. C., Snyder, E. M., Posner, C., Carlson, S. M., & Meyer, A. S. "
        "(2021). Multivalency enhances the specificity of Fc-cytokine fusions. bioRxiv.",
        "MIT",
        "comes with TensorLy",
    ),
    DatasetInfo(
        "covid19",
        "Antibodies in 438 sera of COVID-19 patients and controls, by antigen and receptor",
        (438, 6, 11),
        ("sample", "antigen", "receptor"),
        "binding",
        "Tan, Z. C., Murphy, M. C., Alpay, H. S., Taylor, S. D., & Meyer, A. S. (2021). "
        "Tensor-structured decomposition improves systems serology analysis. Molecular Systems "
        "Biology, 17(9), e10243.",
        "MIT",
        "comes with TensorLy",
    ),
    DatasetInfo(
        "kinetic",
        "Fluorescence of catecholamines, by sample, emission and excitation (nm) and time (min)",
        (64, 12, 10, 60),
        ("sample", "emission", "excitation", "time"),
        "fluorescence",
        "Nikolajsen, R. P., Booksh, K. S., Hansen, Å. M., & Bro, R. (2003). Quantifying "
        "catecholamines using multi-way kinetic modelling. Analytica Chimica Acta, 475(1-2), "
        "137-150.",
        "public use, with citation",
        "comes with TensorLy",
    ),
)

CATALOGUE = {dataset.name: dataset for dataset in _ALL}
