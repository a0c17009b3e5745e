"""A pair as pairs that are strided arrays on both sides: no limits, no swizzles.

A limit leaves a few boxes of digits. A swizzle flips bits of the address by the value of others: with these
others fixed, what is left steps up or down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, product
from typing import Literal

from tilewise.core.swizzles import Swizzle
from tilewise.moves.pairs.pair import Digit, Pair, Side

Name = Literal["source", "target"]

STEPS: dict[Name, str] = {"source": "read", "target": "write"}
"""What a digit calls its step on a side."""


def within_limits(pair: Pair) -> Iterator[Pair]:
    """Pairs without limits that together move what the pair does, each element once.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> padded = pair_of(S[10], S[((3, 4),) : ((8, 1),)], DType.of("u8"), shape=(10,))
    >>> for part in within_limits(padded):
    ...     print(part.target.start, [(digit.extent, digit.write) for digit in part.digits])
    0 [(2, 8), (4, 1)]
    16 [(2, 1)]
    """
    if not pair.limits:
        yield pair
        return
    *limits, limit = pair.limits
    weighed = [(replace(digit, counts=digit.counts[:-1]), digit.counts[-1]) for digit in pair.digits or ()]
    implied = any(  # such as the end of a target that goes on beyond the box
        own.bound <= limit.bound and all(digit.counts[place] == weight for digit, weight in weighed)
        for place, own in enumerate(limits)
    )
    pair = replace(pair, limits=tuple(limits), digits=tuple(digit for digit, _ in weighed))
    if implied:
        yield from within_limits(pair)
        return
    bound = limit.bound
    for digit, weight in sorted(weighed, key=lambda own: -own[1]):
        if weight == 0:
            break
        whole, left = divmod(bound, weight)
        if whole:
            cut = replace(digit, extent=min(whole, digit.extent))
            yield from within_limits(_with(pair, digit, cut))
        if whole >= digit.extent:
            return
        pair, bound = _at(pair, digit, whole), left
    if bound:
        yield from within_limits(pair)


def without_swizzles(pair: Pair) -> list[Pair] | None:
    """Pairs without swizzles that together move what the pair does; None where sums carry into their fields.

    >>> from tilewise import DType, S, Swizzle
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> for part in without_swizzles(pair_of(Swizzle(1, 0, 1) @ S[4], S[4], DType.of("u8"))):
    ...     print(part.source.start, [(digit.extent, digit.read, digit.write) for digit in part.digits])
    0 [(2, 1, 1)]
    3 [(2, -1, 1)]
    """
    for name in STEPS:
        swizzles = getattr(pair, name).swizzles
        if not swizzles:
            continue
        first = replace(pair, **{name: replace(getattr(pair, name), swizzles=swizzles[:-1])})
        apart = _unswizzled(first, name, swizzles[-1])
        if apart is None:
            return None
        deeper = [without_swizzles(part) for part in apart]
        return None if None in deeper else [part for parts in deeper for part in parts or ()]
    return [replace(pair, source=_plain(pair.source), target=_plain(pair.target))]


def _plain(side: Side) -> Side:
    return replace(side, start=side.start + side.outer, outer=0)


# -- digits of a pair ------------------------------------------------------------------------------


def _with(pair: Pair, digit: Digit, *others: Digit) -> Pair:
    """The pair with others instead of a digit; a digit of nothing makes it a pair of nothing."""
    digits = [new for own in pair.digits or () for new in (others if own is digit else (own,))]
    return replace(pair, digits=tuple(digits))


def _at(pair: Pair, digit: Digit, value: int) -> Pair:
    """The part of a pair where a digit has a value."""
    source = replace(pair.source, start=pair.source.start + value * digit.read)
    target = replace(pair.target, start=pair.target.start + value * digit.write)
    return replace(_with(pair, digit), source=source, target=target)


def _split(pair: Pair, digit: Digit, fast: int) -> Pair:
    """The pair with a digit as two, of which the fast one has that extent."""
    counts = tuple(fast * count for count in digit.counts)
    slow = Digit(digit.extent // fast, fast * digit.read, fast * digit.write, counts)
    return _with(pair, digit, slow, replace(digit, extent=fast))


def _reversed(pair: Pair, digit: Digit) -> Pair:
    """The pair with a digit counted from its other end, on both sides."""
    far = _at(pair, digit, digit.extent - 1)
    turned = _with(pair, digit, replace(digit, read=-digit.read, write=-digit.write))
    return replace(turned, source=far.source, target=far.target)


# -- one swizzle -----------------------------------------------------------------------------------


def _unswizzled(pair: Pair, name: Name, swizzle: Swizzle) -> list[Pair] | None:
    """The parts of a pair for each value of the bits that a swizzle reads; None where sums carry."""
    step = STEPS[name]
    if not swizzle.bits:
        return [pair]
    for digit in pair.digits or ():
        if getattr(digit, step) < 0:
            pair = _reversed(pair, digit)
    cuts = sorted({end for field in (swizzle.source, swizzle.target) for end in ends(field)})
    cut = cut_at(pair, step, cuts)
    if cut is None or getattr(cut, name).start < 0 or not _fits(cut, name, cuts):
        return None
    reading = [digit for digit in cut.digits or () if getattr(digit, step) & swizzle.source]
    parts = []
    for values in product(*(range(digit.extent) for digit in reading)):
        part = cut
        for digit, value in zip(reading, values, strict=True):
            part = _at(part, digit, value)
        flipped = _flipped(part, name, swizzle)
        if flipped is None:
            return None
        parts.append(flipped)
    return parts


def ends(field: int) -> tuple[int, int]:
    """The bits where a field of an address begins, and where it ends."""
    return (field & -field).bit_length() - 1, field.bit_length()


def cut_at(pair: Pair, step: str, cuts: list[int]) -> Pair | None:
    """The pair with digits that end where fields of the address do; None where a digit goes across."""
    for bit in cuts:
        for digit in pair.digits or ():
            low = getattr(digit, step)
            if low and low < 1 << bit < low * digit.extent:
                fast, rest = divmod(1 << bit, low)
                if rest or digit.extent % fast:
                    return None
                pair = _split(pair, digit, fast)
    return pair


def _fits(pair: Pair, name: Name, cuts: list[int]) -> bool:
    """Whether what is added up in each field of the address stays in it."""
    start = getattr(pair, name).start
    steps = [(getattr(digit, STEPS[name]), digit.extent) for digit in pair.digits or ()]
    for low, high in zip((0, *cuts), (*cuts, None), strict=True):
        own = [(step, extent) for step, extent in steps if step >> low and (high is None or not step >> high)]
        if any(step % (1 << low) for step, _ in own):
            return False
        if high is not None:
            begins = start % (1 << high) >> low << low
            if begins + sum((extent - 1) * step for step, extent in own) >= 1 << high:
                return False
    return True


def _flipped(pair: Pair, name: Name, swizzle: Swizzle) -> Pair | None:
    """A pair of which no digit is read by a swizzle, with the bits flipped that it flips.

    A digit that has these bits alone steps down, where they are flipped.
    """
    side, step = getattr(pair, name), STEPS[name]
    mask, taken = swizzle(side.start) ^ side.start, side.start
    digits: list[Digit] = []
    for digit in pair.digits or ():
        low = getattr(digit, step)
        if not low & swizzle.target:
            digits.append(digit)
            continue
        bits = low * (digit.extent - 1)
        if low & (low - 1) or digit.extent & (digit.extent - 1) or taken & bits:
            return None
        taken |= bits
        digits += _stepping(digit, name, mask // low)
    side = replace(side, start=side.start ^ mask)
    return replace(pair, digits=tuple(digits), **{name: side})


def _stepping(digit: Digit, name: Name, mask: int) -> Iterator[Digit]:
    """A digit as digits that step up, or down where the mask flips their bits on a side, the fastest last."""
    bits = range(digit.extent.bit_length() - 1)
    runs = [list(run) for _, run in groupby(bits, key=lambda bit: mask >> bit & 1)]
    for run in reversed(runs):
        low = run[0]
        piece = Digit(1 << len(run), digit.read << low, digit.write << low)
        down = mask >> low & 1
        yield replace(piece, **{STEPS[name]: -getattr(piece, STEPS[name])}) if down else piece
