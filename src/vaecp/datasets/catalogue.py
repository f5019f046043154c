"""What datasets there are: sizes, citations, licences, pinned addresses and checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataFile:
    """One published file: its name here, its pinned address below the base, its SHA-256."""

    name: str
    address: str
    sha256: str


@dataclass(frozen=True)
class DatasetInfo:
    """What a dataset is, whom to cite, and where it comes from.

    Attributes
    ----------
    source : where the data comes from, in words.
    files : what is downloaded; empty for data that is made here or comes with TensorLy.
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


_NWAY = "andrewssobral/nway/a6dc5b3970ef395c03fc7e6dc1ea2fc105185b86"
_MCAM = "ANDRIANTSIORY/MCAM/fe7a7f7ca54e9795e0250cc183b7be1a8cd1bcbf"
_JOPS = "cran/JOPS/3fb308d0cd7f04e4e1195abe60fa5b9aa41bfbf7"
_CEP = "wzhut/Conditional-Expectation-Propagation/28faad044b708076ba819b0eb66928a2c90619bb"
_CEP_FOLDER = "code-and-exp/CEP/matlab code/CP Decomposition/regression200x100x200"

_ALOG_SUMS = {
    "train-fold-1": "ff8bf03c3afa828d203740305314552f6e3d68d7a24c63a0b3d4637b0063cbde",
    "test-fold-1": "cfebe40bad5ffeb65ca50529d33e99a6d454de354adf6c090301011b225f3f08",
    "train-fold-2": "81eeac99d76575eccaa96b358467ec9155b7c2c67ec75da59fc4c1094d9ab812",
    "test-fold-2": "994450b965046d45fb8406aa7263968dd31585d4f6f361b72424b3afa936822c",
    "train-fold-3": "17f409f756aff5f7e634c3a25951de7c1ef498ac8ebdcf3c00549f9deab8cd7a",
    "test-fold-3": "80a195a5814e9dce112d9b5dc3dcc2bbf4caf5932951bd3d875e00ede7add612",
    "train-fold-4": "4b0c7f0403ecc4592ff8558cc6797bcd15f1ddfdec234f7a3199f31bbc808f57",
    "test-fold-4": "ddd9751e96dd585015c31bd790d8ba9a9a26bf80fdb77b869bcb150a082ac926",
    "train-fold-5": "9694d97295282f01b95727e3adf041c65cf0958ae340edb372f1fcdf6864cd92",
    "test-fold-5": "252be3f5bd6056b4b6b026415cab0b520f42e63ecc31ba32bf633a4e79d17fbb",
}

_SUGAR_FILE = DataFile(
    "sugar/Sugar.rda",
    f"{_JOPS}/data/Sugar.rda",
    "c69e599eac58a47ea4a50703504d0c1e036ad1d554a093fd4e44ea396a44e9b1",
)
_SUGAR_CITATION = (
    "Bro, R. (1999). Exploratory study of sugar production using fluorescence spectroscopy and "
    "multi-way analysis. Chemometrics and Intelligent Laboratory Systems, 46(2), 133-147."
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
            DataFile(
                "amino/claus.mat",
                f"{_NWAY}/claus.mat",
                "383f0475e608c6628f63e52da8db7711dd33dd00cc4ace100b09a1ffa8a63aae",
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
            DataFile(
                "fia/fia.mat",
                f"{_MCAM}/data/Flow_Injection/fia.mat",
                "a028ce635d68f15abe4784d1105bd1247dbe28a7fbccdf3abbf0cf5b4b2f214d",
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
        tuple(
            DataFile(f"alog/{part}.txt", f"{_CEP}/{_CEP_FOLDER}/{part}.txt", sha256)
            for part, sha256 in _ALOG_SUMS.items()
        ),
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
