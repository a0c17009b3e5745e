"""Elements of 4 bits whose two neighbours part, counted in bytes.

Two bytes of the source become two of the target:

                 a    a + 1                     b    b + 1
    source   b   x    y         target   a      x    z         a byte has two elements of a row,
         b + 1   z    w              a + 1      y    w         the first in its low half

Counted in bytes the pair has a digit more, of two: the second element of b in the source, that of a in the
target. A thread that has the bytes of both makes those of both. Rows of both sides are whole bytes for that,
wherever these begin; a limit is whole bytes as well. All others are spread: in shared memory each element
has a byte.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.moves.pairs.digits import halved, halved_counts, halved_limits
from tilewise.moves.pairs.pair import Digit, Limit, Pair


def in_bytes(pair: Pair) -> Pair | None:
    """The pair of bytes, whose last digit is the one of two; None where a row begins amid a byte.

        requires  elements of 4 bits, the simplest digits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.digits import simplest
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bytes_ = in_bytes(simplest(pair_of(S[64, 32], S[(64, 32) : (1, 64)], DType.of("u4"))))
    >>> [(digit.extent, digit.read, digit.write) for digit in bytes_.digits]
    [(32, 32, 1), (16, 1, 64), (2, 16, 32)]
    """
    digits = pair.digits or ()
    reads, writes = ([digit for digit in digits if getattr(digit, way) == 1] for way in ("read", "write"))
    if pair.bits != 4 or len(reads) != 1 or len(writes) != 1 or reads == writes:
        return None
    (a,), (b,) = reads, writes
    places = [place for side in (pair.source, pair.target) for place in (side.start, side.outer)]
    steps = [step for digit in digits for step in (digit.read, digit.write) if step != 1]
    if any(number % 2 for number in (*places, *steps, a.extent, b.extent)):
        return None
    source, target = halved(pair.source), halved(pair.target)
    limits = _limits(pair, a, b)
    if source is None or target is None or limits is None:
        return None
    second = Digit(2, b.read // 2, a.write // 2, (0,) * len(limits))
    together = (*(_in_bytes(digit, a, b) for digit in digits), second)
    return replace(
        pair,
        bits=8,
        digits=together,
        source=source,
        target=target,
        limits=limits,
        exchanged=len(together) - 1,
    )


def spread(pair: Pair) -> Pair:
    """The pair of elements that are a byte each, but for the storages, where two are in one.

        requires  elements of 4 bits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bytes_ = spread(pair_of(S[63, 31], S[(63, 31) : (1, 63)], DType.of("u4")))
    >>> bytes_.bits, bytes_.source.size, [(digit.read, digit.write) for digit in bytes_.digits]
    (8, 1953, [(31, 1), (1, 63)])
    """
    return replace(pair, bits=8, spread=True)


def _limits(pair: Pair, a: Digit, b: Digit) -> tuple[Limit, ...] | None:
    """The limits in bytes; None where one of them parts a byte, as one does that counts both digits."""
    limits = halved_limits(pair, a)
    return None if limits is None else halved_limits(replace(pair, limits=limits), b)


def _in_bytes(digit: Digit, a: Digit, b: Digit) -> Digit:
    if digit is a:
        return replace(a, extent=a.extent // 2)
    if digit is b:
        return replace(b, extent=b.extent // 2)
    by_a = replace(digit, counts=halved_counts(digit, a))
    return replace(by_a, read=digit.read // 2, write=digit.write // 2, counts=halved_counts(by_a, b))
