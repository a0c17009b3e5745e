"""The ways of a plan's elements: all together, by tiles, turned in registers, or one by one.

A way has the answers that a plan needs: its launch, its writes, its cost, its tile. A new way is a class with
these members, a row in the tables of `tilewise.moves.memory` and `tilewise.moves.lines`, and a line in
`way_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from tilewise.core.polynomials import is_same
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.moves.tiles.tile import VECTOR, Tile
from tilewise.moves.tiles.tiling import ALIGNED, tile_of, turns_words
from tilewise.moves.tiles.turned import Turned, turned_of

THREADS = 256
IN_WORD = 8
"""Elements of 4 bits that a thread moves together, if they are side by side in the target."""

RATE = 0.04
"""Measured part of a copy's rate for words of 4 bits (docs/reference/move-figures.md); that of wider
elements was not measured."""


@dataclass(frozen=True, slots=True)
class Bulk:
    """Bytes that stay together: their begin in the source and in the target, and their number."""

    read: int
    write: int
    bytes: int

    kind = "copy"
    blocks = threads = shared_bytes = 0
    fills_beyond = changes_words = False
    rate, vectors = 1.0, (VECTOR, VECTOR)
    swizzle = named_extents = None

    @property
    def stays(self) -> bool:
        """Return True if they begin in the target where they do in the source."""
        return is_same(self.read, self.write)

    def sectors(self, aligned: int) -> tuple[float, float]:
        """Return the sectors read, and written, divided by those that hold the bytes."""
        return 1.0, 1.0


def bulk_of(pair: Pair) -> Bulk | None:
    """Return the bytes of a pair, or None if they are not one run of neighbours on both sides.

        requires  the simplest digits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bulk_of(simplest(pair_of(S[8, 64], S[512] + 16, DType.of("f32"))))
    Bulk(read=0, write=64, bytes=2048)
    >>> bulk_of(simplest(pair_of(S[8, 64], S[(8, 64) : (1, 8)], DType.of("f32")))) is None
    True
    """
    digits, unit = pair.digits or (), pair.bits // 8
    apart = len(digits) > 1 or any(digit.read != 1 or digit.write != 1 for digit in digits)
    if not unit or apart or pair.limits or pair.source.swizzles or pair.target.swizzles:
        return None
    return Bulk(pair.source.start * unit, pair.target.start * unit, prod(own.extent for own in digits) * unit)


@dataclass(frozen=True, slots=True)
class Gather:
    """A move element by element; a thread has `vector` neighbours of the target."""

    pair: Pair
    vector: int = 1
    threads: int = THREADS

    kind = "gather"
    shared_bytes = 0
    stays = fills_beyond = False
    swizzle = named_extents = None

    @property
    def digits(self) -> list[Digit]:
        """Return the digits of the pair by their steps in the target, the least first."""
        return sorted(self.pair.digits or (), key=lambda digit: (abs(digit.write), abs(digit.read)))

    @property
    def in_words(self) -> bool:
        """Return True if a thread has a word of the target, wherever runs begin."""
        return self.changes_words and self.vector > 1

    @property
    def run_words(self) -> int:
        """Return the number of words that a run of the target may be part of."""
        return (self.digits[0].extent + 2 * IN_WORD - 2) // IN_WORD

    @property
    def items(self) -> int:
        """Return the number of threads that have elements, copies or fill to write."""
        target = self.pair.layouts[1]
        if self.pair.digits is None:
            return target.size * prod(it.extent for it in target.replica)
        elements = prod(digit.extent for digit in self.pair.digits)
        if self.in_words:
            return elements // self.digits[0].extent * self.run_words
        return elements // self.vector

    @property
    def blocks(self) -> int:
        """Return the number of blocks of threads."""
        return -(-self.items // self.threads)

    def sectors(self, aligned: int) -> None:
        """Return None: a cache decides which sectors the elements share that threads take one by one."""

    @property
    def changes_words(self) -> bool:
        """Return True if elements of less than a byte are changed in words of 4 bytes."""
        return self.pair.bits < 8

    @property
    def rate(self) -> float | None:
        """Return the part of a copy's rate that it reaches, or None for whole bytes: not measured."""
        return RATE if self.changes_words else None

    @property
    def vectors(self) -> tuple[int, int]:
        """Return the bytes that a thread reads, and writes, at once."""
        return -(-self.pair.bits // 8), -(-self.vector * self.pair.bits // 8)


def gather_of(pair: Pair, aligned: int = ALIGNED) -> Gather:
    """Return the move of a pair element by element, with neighbours of the target moved together.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> sides = S[4, 4, 4], S[(4, 4, 4) : (4, 32, 1)]
    >>> [gather_of(pair_of(*sides, DType.of("u8")), aligned).vector for aligned in (256, 2)]
    [4, 2]
    """
    side, alone = pair.target, Gather(pair)
    first, *others = alone.digits or [Digit(1, 0, 0)]
    if first.write != 1:
        return alone
    if pair.bits < 8:
        return alone if side.swizzles else Gather(pair, IN_WORD)
    if pair.limits:
        return alone
    unit = pair.bits // 8
    steps = [first.extent, side.start, side.outer, *(digit.write for digit in others)]
    whole = gcd(aligned, *(step * unit for step in steps))
    kept = [unit << own.base for own in side.swizzles if own.bits]
    return Gather(pair, max(1, min([VECTOR, whole & -whole, *kept]) // unit))


Way = Bulk | Tile | Turned | Gather


def way_of(pair: Pair, aligned: int = ALIGNED) -> Way:
    """Return the way of a pair between storages aligned to `aligned` bytes.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> matrix, turned, apart = S[1023, 511], S[(1023, 511) : (1, 1023)], S[(1023, 511) : (1533, 3)]
    >>> asked = (matrix + 8, "u8"), (turned, "u8"), (turned, "u4"), (apart, "u8")
    >>> ways = [way_of(pair_of(matrix, target, DType.of(dtype))) for target, dtype in asked]
    >>> [type(way).__name__ for way in ways]
    ['Bulk', 'Tile', 'Turned', 'Gather']
    """
    if pair.digits is None:
        return Gather(pair)
    wide = simplest(pair, 8 * aligned)
    bulk, turned = bulk_of(wide), turned_of(wide)
    if bulk is not None:
        return bulk
    if turned is not None and not turns_words(wide, aligned):
        return turned
    return tile_of(wide, aligned) or gather_of(wide, aligned)
