"""The digits of a pair as a kernel wants them: as few as can be, of elements as wide as can be.

Two bytes of a source of 4 bits, whose neighbours part, become two of the target:

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
from itertools import permutations

from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Digit, Pair, Side

WIDEST = 128
"""Bits of the widest access of one thread."""


def simplest(pair: Pair, aligned: int = WIDEST) -> Pair:
    """Return the map by fewer digits of wider elements; `aligned` are the bits to which both storages are.

        postcondition  every element of the result is neighbours on both sides that go together

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> rows = pair_of(S[(8, 4, 64) : (256, 64, 1)], S[(8, 4, 64) : (64, 512, 1)], DType.of("bf16"))
    >>> wide = simplest(rows)
    >>> wide.bits, [(digit.extent, digit.read, digit.write) for digit in wide.digits]
    (128, [(8, 32, 8), (4, 8, 64), (8, 1, 1)])
    """
    assert pair.digits is not None
    pair = _fused(_upwards(pair))
    while pair.bits < min(WIDEST, aligned):
        inner = next((digit for digit in pair.digits or () if digit.read == digit.write == 1), None)
        wider = None if inner is None else _halved(pair, inner, inner)
        if wider is None:
            break
        pair = wider
    return _fused(pair)


def in_bytes(pair: Pair) -> Pair | None:
    """Return the pair of bytes, whose last digit is the one of two; None where a row begins amid a byte.

        requires  the simplest digits

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bytes_ = in_bytes(simplest(pair_of(S[64, 32], S[(64, 32) : (1, 64)], DType.of("u4"))))
    >>> [(digit.extent, digit.read, digit.write) for digit in bytes_.digits]
    [(32, 32, 1), (16, 1, 64), (2, 16, 32)]
    """
    reads = [digit for digit in pair.digits or () if digit.read == 1]
    writes = [digit for digit in pair.digits or () if digit.write == 1]
    if pair.bits != 4 or len(reads) != 1 or len(writes) != 1 or reads == writes:
        return None
    return _halved(pair, reads[0], writes[0])


def spread(pair: Pair) -> Pair:
    """Return the pair of elements of 4 bits that are a byte each, but for the storages, where two are in one.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bytes_ = spread(pair_of(S[63, 31], S[(63, 31) : (1, 63)], DType.of("u4")))
    >>> bytes_.bits, bytes_.source.size, [(digit.read, digit.write) for digit in bytes_.digits]
    (8, 1953, [(31, 1), (1, 63)])
    """
    return replace(pair, bits=8, spread=True)


def _upwards(pair: Pair) -> Pair:
    """Count digits that step down in the target from their other end, unless a limit counts them."""
    digits, source, target = [], pair.source, pair.target
    for digit in pair.digits or ():
        if digit.write < 0 and not any(digit.counts):
            far = digit.extent - 1
            source = replace(source, start=source.start + far * digit.read)
            target = replace(target, start=target.start + far * digit.write)
            digit = replace(digit, read=-digit.read, write=-digit.write)
        digits.append(digit)
    return replace(pair, digits=tuple(digits), source=source, target=target)


def _fused(pair: Pair) -> Pair:
    """Join two digits where one goes on as the other ends, on both sides and in all limits."""
    digits = [digit for digit in pair.digits or () if digit.extent > 1]
    while (found := next(filter(_go_on, permutations(digits, 2)), None)) is not None:
        slow, fast = found
        one = replace(fast, extent=fast.extent * slow.extent)
        digits = [one if digit is fast else digit for digit in digits if digit is not slow]
    return replace(pair, digits=tuple(digits))


def _go_on(pair: tuple[Digit, Digit]) -> bool:
    (slow, fast), extent = pair, pair[1].extent
    above = slow.read, slow.write, *slow.counts
    return above == (fast.read * extent, fast.write * extent, *(count * extent for count in fast.counts))


def _halved(pair: Pair, a: Digit, b: Digit) -> Pair | None:
    """Return the pair by elements of twice the width: neighbours along a in the source, b in the target.

    Where these are two digits, a last one of two says which of both each is. None where something is no whole
    number of such elements: a place, a step, a limit, which counts one of the digits at most, or a swizzle.
    """
    digits, sides = pair.digits or (), (pair.source, pair.target)
    inner = [a] if a is b else [a, b]
    even = [digit.read for digit in digits if digit is not a] + [own.extent for own in inner]
    even += [digit.write for digit in digits if digit is not b]
    even += [place for side in sides for place in (side.start, side.outer)]
    limits, halves = [], []
    for place, limit in enumerate(pair.limits):
        counting = [digit for digit in inner if digit.counts[place]]
        if any(digit.counts[place] != 1 for digit in counting):
            return None
        if counting:
            even.append(limit.bound)
            even += [digit.counts[place] for digit in digits if digit is not counting[0]]
            limit = replace(limit, bound=limit.bound // 2)
        limits.append(limit)
        halves.append(bool(counting))
    parted = any(own.bits and own.base == 0 for side in sides for own in side.swizzles)
    if parted or any(number % 2 for number in even):
        return None
    together = []
    for digit in digits:
        if digit in inner:
            together.append(replace(digit, extent=digit.extent // 2))
        else:
            counts = [n // 2 if half else n for n, half in zip(digit.counts, halves, strict=True)]
            together.append(Digit(digit.extent, digit.read // 2, digit.write // 2, tuple(counts)))
    if a is not b:
        together.append(Digit(2, b.read // 2, a.write // 2, (0,) * len(limits)))
    source, target = (
        Side(
            side.start // 2,
            -(-side.size // 2),
            tuple(Swizzle(own.bits, max(own.base - 1, 0), own.shift, own.axis) for own in side.swizzles),
            side.outer // 2,
        )
        for side in sides
    )
    return replace(
        pair,
        bits=2 * pair.bits,
        digits=tuple(together),
        source=source,
        target=target,
        limits=tuple(limits),
        exchanged=None if a is b else len(digits),
    )
