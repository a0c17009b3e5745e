"""Aims of a tile for each kind of pair: the fastest of that kind on an H200 (docs/move.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilewise.moves.pairs.digits import begins_at, run_of
from tilewise.moves.pairs.pair import Pair
from tilewise.moves.tiles.tile import LINE, VECTOR

SMALL, MIDDLE, MIDDLE_WHOLE = 8 << 20, 48 << 20, 128 << 20
"""Bytes of a tensor below which smaller tiles give every multiprocessor work; the last if all runs are
whole vectors."""

LONG = 4096
"""Bytes of a digit above which longer rows of it are worth more than more rows."""


@dataclass(frozen=True, slots=True)
class Aim:
    """An aim of a tile: bytes of its runs, bytes in all, and bytes for each thread of the block."""

    read: int
    write: int
    bytes: int
    share: int = 32


WHOLE = (Aim(256, 256, 4096), Aim(256, 128, 4096))
"""For whole vectors on both sides; the next two for one side, or both sides, without them."""
ONE_SHIFTED = (Aim(256, 128, 8192),)
BOTH_SHIFTED = (
    Aim(256, 128, 16384),
    Aim(256, 192, 16384),
    Aim(256, 256, 16384),
    Aim(128, 128, 16384),
    Aim(64, 128, 16384),
)
LONG_BYTES, LONG_ROWS = Aim(384, 64, 8192, 16), Aim(512, 128, 16384)
"""For long digits: of bytes if only the source is shifted, of wider elements if both sides are."""
NARROW, NARROW_BYTES = 1280, Aim(128, 128, 16384)
"""Bytes of a digit below which rows of it are narrow; the aim if such rows are not whole vectors."""
SPLIT = (Aim(128, 64, 8192), Aim(256, 256, 16384), Aim(128, 64, 8192))
"""For a digit of the target, such as three colours, that fills no vector: for no, one, two sides shifted; the
last also where runs of bytes are of several digits."""
MANY = 4
SPLIT_OF_MANY = (SPLIT[0], Aim(256, 256, 32768), Aim(192, 128, 12288))
"""The same where a pair has more than MANY digits: short runs of many digits are worth larger tiles."""
SMALL_WHOLE, SMALL_ODD = Aim(128, 64, 2048), Aim(128, 64, 2048, 16)
SMALL_SHIFTED = {
    (8, 1): Aim(64, 32, 2048, 16),
    (8, 2): Aim(64, 96, 6144, 6),
    (32, 2): Aim(192, 128, 6144, 24),
}
"""For small tensors: of whole vectors, and others, some by their bits and the number of shifted sides."""
WHOLE_MIDDLE = Aim(256, 64, 16384)
SHIFTED_MIDDLE = {8: (Aim(128, 64, 8192, 16),), 16: (Aim(256, 128, 16384),)}
"""For tensors of middle size: of 8 or 16 bits in whole vectors, and by bits where both sides are shifted."""
FEWER = (Aim(128, 128, 8192), Aim(64, 128, 8192))
LEAST = (Aim(64, 64, 4096), Aim(32, 32, 1024), Aim(16, 16, 256))
"""Tiles to try in turn: the best ones found on an H200 (docs/move.md)."""
OTHERS = (
    Aim(256, 128, 16384, 64),
    Aim(256, 256, 16384, 64),
    Aim(128, 256, 16384),
    Aim(512, 128, 16384),
    Aim(256, 256, 32768),
    Aim(512, 64, 16384),
    Aim(128, 512, 32768),
    Aim(192, 64, 16384, 16),
    Aim(192, 192, 8192, 16),
    Aim(384, 64, 8192, 16),
    Aim(512, 64, 8192),
    Aim(256, 128, 16384, 128),
    Aim(64, 64, 4096),
)
"""Tiles that were best for some pairs; measurements try them too."""


def bytes_of(pair: Pair) -> int:
    """Return the bytes of all elements that move."""
    return prod(digit.extent for digit in pair.digits or ()) * pair.bits // 8


def aims(pair: Pair, aligned: int) -> Iterator[Aim]:
    """Yield the aims for a pair, the best first.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> turned = S[8192, 8192], S[(8192, 8192) : (1, 8192)]
    >>> next(aims(simplest(pair_of(*turned, DType.of("bf16"))), 256))
    Aim(read=256, write=256, bytes=4096, share=32)
    """
    digits, unit, total = pair.digits or (), pair.bits // 8, bytes_of(pair)
    whole, reach = [digit.extent for digit in digits], LINE // unit * 8
    shifts = tuple(
        begins_at(pair, name, run_of(pair, name, reach), whole, aligned) < VECTOR
        for name in ("read", "write")
    )
    shifted = sum(shifts)
    reads = next((digit.extent for digit in digits if digit.read == 1), 0)
    writes = next((digit.extent for digit in digits if digit.write == 1), 0)
    # a vector of the target goes over several values of a digit that does not divide it
    splits = 0 < writes < VECTOR // unit and VECTOR // unit % writes != 0
    if not (pair.spread or unit == VECTOR or splits):
        # large tiles would be too few; elements of 16 bytes were as fast in large ones
        if total < SMALL:
            yield SMALL_SHIFTED.get((pair.bits, shifted), SMALL_ODD) if shifted else SMALL_WHOLE
        elif shifted == 2 and total < MIDDLE:
            yield from SHIFTED_MIDDLE.get(pair.bits, ())
        elif not shifted and pair.bits <= 16 and total < MIDDLE_WHOLE:
            yield WHOLE_MIDDLE
    if total >= SMALL:
        bytes_ = pair.bits == 8 and not pair.spread
        if splits or (shifted == 2 and bytes_ and 0 < writes < LINE):
            yield (SPLIT_OF_MANY if len(digits) > MANY else SPLIT)[shifted]
        if all(digit.extent * unit >= LONG for digit in digits if 1 in (digit.read, digit.write)):
            yield from (LONG_BYTES,) if pair.bits == 8 and shifts == (True, False) else ()
            yield from (LONG_ROWS,) if pair.bits > 8 and shifted == 2 else ()
        if shifted and bytes_ and reads % VECTOR and NARROW_BYTES.read < reads < NARROW <= writes:
            yield NARROW_BYTES
        yield from (WHOLE, ONE_SHIFTED, BOTH_SHIFTED)[shifted]
    yield from FEWER
    yield from LEAST
