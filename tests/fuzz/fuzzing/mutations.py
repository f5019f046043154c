"""Damage to the bytes of a file, the same for the same number of a case."""

import random
import struct
from collections.abc import Callable

SIZES = (0, 1, -1, 2, 7, 2**15, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**62, 2**63 - 1, -(2**63))
TOKENS = (
    b"",
    b" ",
    b"0",
    b"-1",
    b"1e999",
    b"nan",
    b"inf",
    b"1_0",
    b"0x10",
    b"1,5",
    b"9" * 5000,
    b"8000000000000000",
    b"\xff\xfe",
    b"\x00",
    b"\xe2\x82\xac",
    b'"',
    b"'",
    b"#",
    b";",
    b",",
    b"\t",
    b"\r\n",
    b"\n\n\n",
    b"=1+1",
    b"[" * 2000,
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
)


def flipped(content: bytearray, draw: random.Random) -> bytearray:
    for _ in range(draw.choice((1, 1, 2, 8))):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return content


def overwritten(content: bytearray, draw: random.Random) -> bytearray:
    first, length = _stretch(content, draw)
    content[first : first + length] = draw.choice((bytes(length), b"\xff" * length))
    return content


def cut_off(content: bytearray, draw: random.Random) -> bytearray:
    return content[: draw.randrange(1, max(len(content), 2))]


def shortened(content: bytearray, draw: random.Random) -> bytearray:
    first, length = _stretch(content, draw)
    del content[first : first + length]
    return content or bytearray(b"\0")


def repeated(content: bytearray, draw: random.Random) -> bytearray:
    first, length = _stretch(content, draw)
    times = draw.choice((1, 2, 100))
    return content[:first] + content[first : first + length] * times + content[first:]


def resized(content: bytearray, draw: random.Random) -> bytearray:
    """Put a size that is wrong where a number may stand."""
    form = draw.choice(("<h", "<i", "<q", ">i", ">q", "<d"))
    width = struct.calcsize(form)
    number = draw.choice(SIZES)
    packed = struct.pack(form, float(number) if form == "<d" else _wrapped(number, width))
    first = draw.randrange(max(len(content) - width, 1)) // 2 * 2
    content[first : first + width] = packed
    return content


def said_otherwise(content: bytearray, draw: random.Random) -> bytearray:
    """Replace a stretch of text by something that means trouble."""
    first, length = _stretch(content, draw, longest=8)
    content[first : first + length] = draw.choice(TOKENS)
    return content or bytearray(b"\0")


KINDS: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    flipped,
    overwritten,
    cut_off,
    shortened,
    repeated,
    resized,
    said_otherwise,
)


def mutated(content: bytes, case: str) -> bytes:
    """Return the content with one to three kinds of damage; the case says which."""
    draw = random.Random(case)
    damaged = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 3))):
        damaged = draw.choice(KINDS)(damaged, draw)
    return bytes(damaged)


def _stretch(content: bytearray, draw: random.Random, longest: int = 512) -> tuple[int, int]:
    length = min(draw.choice((1, 2, 8, 64, longest)), longest, len(content))
    return draw.randrange(len(content) - length + 1), length


def _wrapped(number: int, width: int) -> int:
    bits = 8 * width
    return (number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
