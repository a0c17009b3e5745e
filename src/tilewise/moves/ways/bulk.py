"""Bytes that stay together: one copy of memory."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.moves.pairs.pair import Pair
from tilewise.moves.tiles.tile import VECTOR


@dataclass(frozen=True, slots=True)
class Bulk:
    """Bytes that stay together: where they begin in the source and in the target, and how many they are."""

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
        """Whether they begin in the target where they do in the source."""
        return self.read == self.write

    def alignment(self, aligned: int) -> int:
        """Bytes to which both pointers are to be."""
        return min(aligned, VECTOR)

    def sectors(self, aligned: int) -> tuple[float, float]:
        """Sectors that are read, and written, for as many bytes as one has."""
        return 1.0, 1.0

    def together(self, bits: int) -> int:
        """One: there is no tile."""
        return 1


def bulk_of(pair: Pair) -> Bulk | None:
    """The bytes of a pair; None where they are not one run of neighbours on both sides, and nothing else.

        requires  the simplest digits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bulk_of(simplest(pair_of(S[8, 64], S[512] + 16, DType.of("f32"))))
    Bulk(read=0, write=64, bytes=2048)
    >>> bulk_of(simplest(pair_of(S[8, 64], S[(8, 64) : (1, 8)], DType.of("f32")))) is None
    True
    """
    digits = pair.digits or ()
    if pair.bits < 8 or pair.limits or len(digits) > 1 or any(d.read != 1 or d.write != 1 for d in digits):
        return None
    if pair.source.swizzles or pair.target.swizzles:
        return None
    unit = pair.bits // 8
    count = prod(digit.extent for digit in digits)
    return Bulk(pair.source.start * unit, pair.target.start * unit, count * unit)
