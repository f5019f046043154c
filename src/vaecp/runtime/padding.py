"""Round sizes up to a few, so that tensors of similar size share a compiled program."""

from __future__ import annotations


def round_up(size: int, *, at_least: int = 1, significant_bits: int = 3) -> int:
    """Return the next size whose binary form has few significant bits.

    With 3 bits the sizes above 32 are 40, 48, 56, 64, 80 ...: at most a quarter is padding.

    >>> [round_up(n) for n in (1, 7, 9, 33, 100, 1000)]
    [1, 7, 10, 40, 112, 1024]
    """
    size = max(size, at_least)
    step = 1 << max(size.bit_length() - significant_bits, 0)
    return -(-size // step) * step
