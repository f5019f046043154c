"""BLAS and LAPACK within compiled loops, which work without Python's lock while they run.

SciPy's own wrappers keep that lock, so that no other thread works while they solve. Numba binds the
functions by their names when it loads machine code, so that the code can be kept in a cache.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack  # noqa: F401  (where the functions are found)
from numba import types
from numba.extending import get_cython_function_address

from vaecp.runtime.machine_code import loop

LOWER, UPPER, NO = ord("L"), ord("U"), ord("N")


def _external(module: str, name: str, n_arguments: int) -> Any:
    """Name a function of SciPy's to the compiler; it takes pointers alone."""
    symbol = f"vaecp_{name}"
    address = get_cython_function_address(f"scipy.linalg.{module}", name)
    llvmlite.binding.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.void(*[types.voidptr] * n_arguments))


_dpbsv = _external("cython_lapack", "dpbsv", 9)
_dsyrk = _external("cython_blas", "dsyrk", 10)


@loop(nogil=True, error_model="numpy")
def add_squares(lines, total):
    """Add A'A to the lower triangle of a square array, A being (n, width)."""
    n, width = lines.shape
    if total.shape[0] != width or total.shape[1] != width:
        raise ValueError("the array is not as large as the lines are long")
    which = np.array([UPPER, NO], np.uint8)  # LAPACK counts along columns first
    sizes, one = np.array([width, n], np.int32), np.ones(1)
    _dsyrk(
        which[0:].ctypes,
        which[1:].ctypes,
        sizes[0:].ctypes,
        sizes[1:].ctypes,
        one.ctypes,
        lines.ctypes,
        sizes[0:].ctypes,
        one.ctypes,
        total.ctypes,
        sizes[0:].ctypes,
    )


@loop(nogil=True, error_model="numpy")
def solve_band(band, right):
    """Solve for `right` in place; `band` is overwritten. Return whether the matrix was positive.

    `band` is (n, 1 + off): line j holds the diagonal at j and what is below it in column j.
    """
    n, height = band.shape
    if right.shape[0] != n:
        raise ValueError("the right side has not one number per line of the band")
    which = np.full(1, LOWER, np.uint8)
    given = np.array([n, height - 1, 1, height, n, 0], np.int32)
    _dpbsv(
        which.ctypes,
        given[0:].ctypes,
        given[1:].ctypes,
        given[2:].ctypes,
        band.ctypes,
        given[3:].ctypes,
        right.ctypes,
        given[4:].ctypes,
        given[5:].ctypes,
    )
    for place in range(n):
        if not np.isfinite(right[place]):  # LAPACK takes NaN for positive
            return False
    return given[5] == 0
