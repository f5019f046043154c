"""Numba's compiled functions as operations of XLA's CPU backend.

XLA hands a foreign function one pointer, to a call frame: a C structure of 64-bit words that
leads to the buffers of the arguments and results, with their sizes. The layout is that of
`xla/ffi/api/c_api.h`, which comes with JAX and promises to stay compatible.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import jax
import numba
import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from vaecp.runtime.machine_code import callback

FOREIGN = types.intp(types.intp)
"""The signature of a foreign function: it takes a call frame, and returns 0 for success."""

# Words of the call frame ...
_EXTENSION, _API = 1, 2
_N_ARGUMENTS, _ARGUMENTS, _N_RESULTS, _RESULTS = 7, 9, 12, 14
# ... of XLA's own description of its interface ...
_API_VERSION = 4
# ... of the extension by which XLA asks which interface a function was written for ...
_TYPE, _METADATA, _VERSION = 1, 3, 3
_ASKS_FOR_METADATA = 1
# ... and of a buffer.
_DTYPE, _DATA, _RANK, _DIMENSIONS = 2, 3, 4, 5
INTEGER, FLOAT = 4, 11
"""XLA's numbers of the types of 32 bits."""


def _typed_pointer(_context, address):
    def generate(context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


# Numba's names are made at run time, which a checker of types does not see.
_pointer: Any = intrinsic(_typed_pointer)
carray: Any = getattr(numba, "carray")  # noqa: B009


@njit
def words(address, n_words):
    """The 64-bit words at an address."""
    return carray(_pointer(address), (n_words,), np.int64)


@njit
def argument(frame, number):
    """The buffer of an argument."""
    return words(words(words(frame, 15)[_ARGUMENTS], number + 1)[number], 6)


@njit
def result(frame, number):
    """The buffer of a result."""
    return words(words(words(frame, 15)[_RESULTS], number + 1)[number], 6)


@njit
def dimension(buffer, axis):
    """The size of an axis; negative ones count from the end, and one that is not there has 0."""
    rank = buffer[_RANK]
    place = axis if axis >= 0 else rank + axis
    return words(buffer[_DIMENSIONS], rank)[place] if 0 <= place < rank else 0


@njit
def has_buffers(frame, n_arguments, n_results):
    """Whether a call has as many arguments and results as the function is made for."""
    found = words(frame, 15)
    return found[_N_ARGUMENTS] == n_arguments and found[_N_RESULTS] == n_results


@njit
def fits(buffer, dtype, shape, whole, whole_rank):
    """Whether every part of a buffer has this type and shape, and there are as many as asked for.

    `whole` and `whole_rank` are those of `floats`.
    """
    n_axes = whole[_RANK] - whole_rank
    if buffer[_DTYPE] & 0xFFFFFFFF != dtype:
        return False
    if n_axes < 0 or buffer[_RANK] != n_axes + len(shape):
        return False
    for axis in range(n_axes):
        size = dimension(buffer, axis)
        if size != 1 and size != dimension(whole, axis):
            return False
    for axis in range(len(shape)):  # noqa: SIM110
        if dimension(buffer, n_axes + axis) != shape[axis]:
            return False
    return True


@njit
def refuse(frame):
    """Fill all results of floats with NaN: what was asked for cannot be computed."""
    for number in range(words(frame, 15)[_N_RESULTS]):
        buffer = result(frame, number)
        if buffer[_DTYPE] & 0xFFFFFFFF == FLOAT:
            carray(_pointer(buffer[_DATA]), (n_mapped(buffer, 0),), np.float32)[:] = np.nan
    return 0


@njit
def n_mapped(buffer, own_rank):
    """How many times an operation was asked for: the product of a buffer's mapped axes."""
    product = 1
    for axis in range(buffer[_RANK] - own_rank):
        product *= dimension(buffer, axis)
    return product


@njit
def _address_in(buffer, own_rank, number, whole, whole_rank):
    """Where the `number`-th of all mapped operations finds its part of a buffer of 32-bit items.

    `whole` is a buffer that has every mapped axis in full, and `whole_rank` the rank of one
    part of it; where a buffer is shared along an axis, its size there is 1.
    """
    n_axes = whole[_RANK] - whole_rank
    place, stride = 0, 1
    for axis in range(n_axes - 1, -1, -1):
        size = dimension(whole, axis)
        if dimension(buffer, axis) > 1:
            place += stride * (number % size)
            stride *= size
        number //= size
    for axis in range(n_axes, n_axes + own_rank):
        place *= dimension(buffer, axis)
    return buffer[_DATA] + 4 * place


@njit
def floats(buffer, shape, number, whole, whole_rank):
    """The part of a buffer of floats that belongs to one of all mapped operations."""
    address = _address_in(buffer, len(shape), number, whole, whole_rank)
    return carray(_pointer(address), shape, np.float32)


@njit
def integers(buffer, shape, number, whole, whole_rank):
    """The same of a buffer of integers."""
    address = _address_in(buffer, len(shape), number, whole, whole_rank)
    return carray(_pointer(address), shape, np.int32)


@njit
def answers_question(frame):
    """Answer XLA, if all it asks is which interface a function was written for."""
    extension = words(frame, 15)[_EXTENSION]
    if extension == 0 or words(extension, 2)[_TYPE] & 0xFFFFFFFF != _ASKS_FOR_METADATA:
        return False
    # What is read here has its place in every version of the interface so far.
    spoken = words(words(frame, 15)[_API], 5)[_API_VERSION]
    words(words(extension, 4)[_METADATA], 4)[_VERSION] = spoken
    return True


def compiled(function: Callable):
    """Compile a function of a call frame; keep the machine code in the user's cache folder."""
    return callback(FOREIGN, function, __file__)


def register(name: str, function) -> None:
    """Make a compiled function of a call frame known to XLA by a name."""
    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(function.address)
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(pointer), platform="cpu")
