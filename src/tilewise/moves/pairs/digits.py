"""The digits of a pair in the form for a kernel: the fewest digits, of the widest elements.

A run of a side is a series of elements that are neighbours there, over several digits if needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import permutations
from math import gcd

from tilewise.core.polynomials import is_same, is_whole
from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Digit, Pair, Side

WIDEST = 128
"""Bits of the widest access of one thread."""


def simplest(pair: Pair, aligned: int = WIDEST) -> Pair:
    """Return the map by fewer digits of wider elements; both storages are aligned to `aligned` bits.

    postcondition  every element of the result is neighbours on both sides that go together

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> rows = pair_of(S[(8, 4, 64) : (256, 64, 1)], S[(8, 4, 64) : (64, 512, 1)], DType.of("bf16"))
    >>> wide = simplest(rows)
    >>> wide.bits, [(digit.extent, digit.read, digit.write) for digit in wide.digits]
    (128, [(8, 32, 8), (4, 8, 64), (8, 1, 1)])
    """
    pair = _fused(_upwards(pair))
    while pair.bits < min(WIDEST, aligned):
        wider = _of_twice_the_width(pair)
        if wider is None:
            break
        pair = wider
    return _fused(pair)


def spread(pair: Pair) -> Pair:
    """Return a pair of elements of 4 bits with a byte for each; only in the storages two share a byte.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> bytes_ = spread(pair_of(S[63, 31], S[(63, 31) : (1, 63)], DType.of("u4")))
    >>> bytes_.bits, bytes_.source.size, [(digit.read, digit.write) for digit in bytes_.digits]
    (8, 1953, [(31, 1), (1, 63)])
    """
    return replace(pair, bits=8, spread=True)


def _upwards(pair: Pair) -> Pair:
    """Return the pair with digits that step down in the target counted from their other end.

    A digit that a limit counts stays unchanged.
    """
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
    """Return the pair with two digits joined where one continues the other, on both sides and in all
    limits."""
    digits = [digit for digit in pair.digits or () if digit.extent > 1]
    while (found := next(filter(_go_on, permutations(digits, 2)), None)) is not None:
        slow, fast = found
        joined = replace(fast, extent=fast.extent * slow.extent)
        digits = [joined if digit is fast else digit for digit in digits if digit is not slow]
    return replace(pair, digits=tuple(digits))


def _go_on(pair: tuple[Digit, Digit]) -> bool:
    (slow, fast), extent = pair, pair[1].extent
    above = slow.read, slow.write, *slow.counts
    beyond = fast.read * extent, fast.write * extent, *(count * extent for count in fast.counts)
    return all(map(is_same, above, beyond))


def _of_twice_the_width(pair: Pair) -> Pair | None:
    """Return the pair by elements of twice the width: two elements that are neighbours on both sides.

    Return None where no digit steps to the neighbour on both sides, or where a number of elements is odd:
    a place, a step, a swizzle, or a limit that counts that digit, which it counts one by one.
    """
    digits, sides = pair.digits or (), (pair.source, pair.target)
    inner = next((own for own in digits if is_same(own.read, 1) and is_same(own.write, 1)), None)
    if inner is None or any(count not in (0, 1) for count in inner.counts):
        return None
    others = [digit for digit in digits if digit is not inner]
    even = [inner.extent, *(step for digit in others for step in (digit.read, digit.write))]
    even += [place for side in sides for place in (side.start, side.outer)]
    for place, limit in enumerate(pair.limits):
        even += [limit.bound, *(digit.counts[place] for digit in others)] if inner.counts[place] else []
    parted = any(swizzle.bits and swizzle.base == 0 for side in sides for swizzle in side.swizzles)
    if parted or not all(is_whole(number, 2) for number in even):
        return None

    def halved(digit: Digit) -> Digit:
        if digit is inner:
            return replace(digit, extent=digit.extent // 2)
        counts = (count // (1 + own) for count, own in zip(digit.counts, inner.counts, strict=True))
        return Digit(digit.extent, digit.read // 2, digit.write // 2, tuple(counts))

    source, target = (
        Side(
            side.start // 2,
            -(-side.size // 2),
            tuple(Swizzle(own.bits, max(own.base - 1, 0), own.shift, own.axis) for own in side.swizzles),
            side.outer // 2,
        )
        for side in sides
    )
    limits = zip(pair.limits, inner.counts, strict=False)  # copies count in no limit
    return replace(
        pair,
        bits=2 * pair.bits,
        digits=tuple(map(halved, digits)),
        source=source,
        target=target,
        limits=tuple(replace(limit, bound=limit.bound // (1 + own)) for limit, own in limits),
    )


# -- runs ------------------------------------------------------------------------------------------


def sides_of(pair: Pair) -> tuple[tuple[Side, str], tuple[Side, str]]:
    """Return both sides, each with the name of a digit's step there."""
    return (pair.source, "read"), (pair.target, "write")


def run_of(pair: Pair, name: str, wanted: int) -> dict[int, int]:
    """Return {digit: extent} of a run on one side, the fastest first, of about `wanted` elements.

    Rows of the source may be a quarter shorter: whole rows are worth more than a part of the next.
    """
    run: dict[int, int] = {}
    digits = pair.digits or ()
    length = 1
    enough = wanted * 3 // 4 if name == "read" else wanted
    while length < enough:
        following = [i for i, digit in enumerate(digits) if getattr(digit, name) == length and i not in run]
        if not following:
            break
        missing, extent = -(-wanted // length), digits[following[0]].extent
        taken = extent if 2 * extent <= 3 * missing else missing
        run[following[0]] = taken
        length *= taken
        if taken != extent:
            break
    return run


def begins_at(pair: Pair, name: str, run: Collection[int], extents: Sequence[int], aligned: int) -> int:
    """Return a number of bytes that divides the begin of all runs of a side; `name` is "read" or "write".

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = simplest(pair_of(S[512, 508], S[(512, 508) : (1, 512)], DType.of("u8")))
    >>> begins_at(pair, "read", (1,), (128, 128), 256), begins_at(pair, "write", (0,), (128, 128), 256)
    (4, 128)
    """
    side = pair.source if name == "read" else pair.target
    unit, least = pair.bits // 8, gcd(aligned, side.start * pair.bits // 8, side.outer * pair.bits // 8)
    for i, digit in enumerate(pair.digits or ()):
        if i not in run or extents[i] != digit.extent:
            least = gcd(least, getattr(digit, name) * unit * (extents[i] if i in run else 1))
    return least
