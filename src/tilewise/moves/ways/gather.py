"""Element by element: each thread has those of one vector of the target, or one."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.moves.tiles.tile import VECTOR

THREADS = 256
IN_WORD = 8
"""Elements of 4 bits that a thread has together, where the target has them side by side."""

RATE = 0.04
"""Of a copy's rate, what words of 4 bits were seen to reach (docs/move.md); that of wider elements was not
measured."""


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
        """The digits of the pair by their steps in the target, the least first."""
        return _ordered(self.pair)

    @property
    def items(self) -> int:
        """How many threads have something to do."""
        if self.in_words:
            run = self.digits[0].extent
            return self.elements // run * self.run_words
        return self.elements // self.vector

    @property
    def in_words(self) -> bool:
        """Whether a thread has a word of the target, wherever runs begin."""
        return self.pair.bits < 8 and self.vector > 1

    @property
    def run_words(self) -> int:
        """Words that a run of the target may be part of."""
        return (self.digits[0].extent + 2 * IN_WORD - 2) // IN_WORD

    @property
    def elements(self) -> int:
        """How many elements are written, copies and fill among them."""
        if self.pair.digits is not None:
            return prod(digit.extent for digit in self.pair.digits)
        target = self.pair.layouts[1]
        return target.size * prod(it.extent for it in target.replica)

    @property
    def blocks(self) -> int:
        """How many blocks of threads there are."""
        return -(-self.items // self.threads)

    def alignment(self, aligned: int) -> int:
        """Bytes to which both pointers are to be: those of a vector, or word, of the target."""
        return min(aligned, max(1, self.vector * self.pair.bits // 8))

    def sectors(self, aligned: int) -> None:
        """None: which sectors elements share that are taken one by one, a cache decides."""

    @property
    def changes_words(self) -> bool:
        """Whether elements of less than a byte are changed in words of 4 bytes."""
        return self.pair.bits < 8

    @property
    def rate(self) -> float | None:
        """What it reaches of a copy's rate; None of whole bytes, where none was measured."""
        return RATE if self.pair.bits < 8 else None

    @property
    def vectors(self) -> tuple[int, int]:
        """Bytes that a thread reads, and writes, at once."""
        return -(-self.pair.bits // 8), -(-self.vector * self.pair.bits // 8)

    def together(self, bits: int) -> int:
        """One: there is no tile."""
        return 1


def gather_of(pair: Pair, aligned: int = 256) -> Gather:
    """The move of a pair element by element, as many at once as the target has them side by side.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> sides = S[4, 4, 4], S[(4, 4, 4) : (4, 32, 1)]
    >>> [gather_of(pair_of(*sides, DType.of("u8")), aligned).vector for aligned in (256, 2)]
    [4, 2]
    """
    digits = _ordered(pair)
    if digits and pair.bits == 4 and digits[0].write == 1 and not pair.target.swizzles:
        return Gather(pair, IN_WORD)
    if not digits or pair.bits < 8 or pair.limits or digits[0].write != 1:
        return Gather(pair)
    unit, side = pair.bits // 8, pair.target
    others = [digit.write * unit for digit in digits[1:]]
    whole = gcd(aligned, digits[0].extent * unit, side.start * unit, side.outer * unit, *others)
    kept = [unit << own.base for own in side.swizzles if own.bits]
    return Gather(pair, max(1, min([VECTOR, whole & -whole, *kept]) // unit))


def _ordered(pair: Pair) -> list[Digit]:
    return sorted(pair.digits or (), key=lambda digit: (abs(digit.write), abs(digit.read)))
