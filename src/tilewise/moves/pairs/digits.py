"""The digits of a pair as a kernel wants them: as few as can be, of elements as wide as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Digit, Limit, Pair, Side

WIDEST = 128
"""Bits of the widest access of one thread."""


def simplest(pair: Pair, aligned: int = WIDEST) -> Pair:
    """The same map by fewer digits of wider elements; `aligned` are the bits to which both storages are.

        postcondition  every element of the result is neighbours on both sides that go together

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> rows = pair_of(S[(8, 4, 64) : (256, 64, 1)], S[(8, 4, 64) : (64, 512, 1)], DType.of("bf16"))
    >>> wide = simplest(rows)
    >>> wide.bits, [(digit.extent, digit.read, digit.write) for digit in wide.digits]
    (128, [(8, 32, 8), (4, 8, 64), (8, 1, 1)])
    """
    assert pair.digits is not None
    pair = _upwards(pair)
    pair = _with(pair, _fused(pair))
    while pair.bits < min(WIDEST, aligned) and (wider := _doubled(pair)) is not None:
        pair = wider
    return _with(pair, _fused(pair))


def _with(pair: Pair, digits: Sequence[Digit]) -> Pair:
    return replace(pair, digits=tuple(digits))


def _upwards(pair: Pair) -> Pair:
    """Digits that step down in the target are counted from their other end, unless a limit counts them."""
    digits, source, target = [], pair.source, pair.target
    for digit in pair.digits or ():
        if digit.write < 0 and not any(digit.counts):
            far = digit.extent - 1
            source = replace(source, start=source.start + far * digit.read)
            target = replace(target, start=target.start + far * digit.write)
            digit = replace(digit, read=-digit.read, write=-digit.write)
        digits.append(digit)
    return replace(pair, digits=tuple(digits), source=source, target=target)


def _fused(pair: Pair) -> list[Digit]:
    """Two digits of which one goes on where the other ends, on both sides and in all limits, are one."""
    digits = [digit for digit in pair.digits or () if digit.extent > 1]
    while (found := _neighbours(digits)) is not None:
        slow, fast = found
        one = replace(fast, extent=fast.extent * slow.extent)
        digits = [one if digit is fast else digit for digit in digits if digit is not slow]
    return digits


def _neighbours(digits: list[Digit]) -> tuple[Digit, Digit] | None:
    for slow, fast in permutations(digits, 2):
        steps = zip((slow.read, slow.write, *slow.counts), (fast.read, fast.write, *fast.counts), strict=True)
        if all(above == below * fast.extent for above, below in steps):
            return slow, fast
    return None


def _doubled(pair: Pair) -> Pair | None:
    """The pair by elements of twice the width, or None where some element is not two neighbours."""
    digits = pair.digits or ()
    inner = next((digit for digit in digits if digit.read == digit.write == 1), None)
    if inner is None or inner.extent % 2:
        return None
    others = [digit for digit in digits if digit is not inner]
    steps = [step for digit in others for step in (digit.read, digit.write)]
    places = [place for side in (pair.source, pair.target) for place in (side.start, side.outer)]
    if any(number % 2 for number in (*steps, *places)):
        return None
    limits = halved_limits(pair, inner)
    source, target = halved(pair.source), halved(pair.target)
    if source is None or target is None or limits is None:
        return None
    inside = [
        replace(digit, extent=digit.extent // 2, counts=halved_counts(digit, inner))
        if digit is inner
        else replace(digit, read=digit.read // 2, write=digit.write // 2, counts=halved_counts(digit, inner))
        for digit in digits
    ]
    return replace(
        pair, bits=2 * pair.bits, digits=tuple(inside), source=source, target=target, limits=limits
    )


def halved_limits(pair: Pair, inner: Digit) -> tuple[Limit, ...] | None:
    """The limits where a digit counts pairs of elements; None where one of them parts a pair."""
    limits = [_halved_limit(*own, inner, pair.digits or ()) for own in enumerate(pair.limits)]
    kept = tuple(limit for limit in limits if limit is not None)
    return kept if len(kept) == len(limits) else None


def _halved_limit(place: int, limit: Limit, inner: Digit, digits: Sequence[Digit]) -> Limit | None:
    if not inner.counts[place]:
        return limit
    counts = [digit.counts[place] for digit in digits if digit is not inner]
    if inner.counts[place] != 1 or limit.bound % 2 or any(count % 2 for count in counts):
        return None
    return replace(limit, bound=limit.bound // 2)


def halved_counts(digit: Digit, inner: Digit) -> tuple[int, ...]:
    """What a digit counts in limits that are now counted in pairs of elements, or as before."""
    return tuple(
        count // 2 if own and digit is not inner else count
        for count, own in zip(digit.counts, inner.counts, strict=True)
    )


def halved(side: Side) -> Side | None:
    """The storage in elements of twice the width; None where a swizzle parts neighbours."""
    if any(swizzle.bits and swizzle.base == 0 for swizzle in side.swizzles):
        return None
    chain = tuple(Swizzle(own.bits, max(own.base - 1, 0), own.shift, own.axis) for own in side.swizzles)
    return Side(side.start // 2, -(-side.size // 2), chain, side.outer // 2)
