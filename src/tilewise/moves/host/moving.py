"""The move on the CPU, with NumPy: strided arrays where a pair is some, else addresses, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from tilewise.core.layout import Layout
from tilewise.core.swizzles import period_of
from tilewise.core.vectors import as_vector
from tilewise.moves.host.blocks import WORDS, Array, Words, grid, move_words
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.tables import table

CHUNK = 1 << 15
"""Elements whose addresses are held at once."""

LONGEST = 1 << 16
"""Bytes of a period that is worth a buffer."""


def move_bytes(source: Array, target: Array, pair: Pair) -> None:
    """Move the elements of a pair from one array of bytes to another; what takes no element is left alone.

        postcondition  for all elements and all copies: target's bytes at the target's place are the source's
                       bytes at the source's place

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> out = np.zeros(6, np.uint8)
    >>> move_bytes(np.arange(6, dtype=np.uint8), out, pair_of(S[2, 3], S[(2, 3) : (1, 2)], DType.of("u8")))
    >>> out.tolist()
    [0, 3, 1, 4, 2, 5]
    """
    together = int(source.ctypes.data) | int(target.ctypes.data) | 16
    for part in _parts(pair, 8 * (together & -together)):
        if part.digits is None:
            _move_listed(source, target, part)
            continue
        given = Words(_words(source, part.bits), part.source, part.digits, "read")
        move_words(given, Words(_words(target, part.bits), part.target, part.digits, "write"))


def fill_bytes(target: Array, element: bytes) -> None:
    """Write an element again and again, from the first byte to the last one.

    >>> out = np.zeros(7, np.uint8)
    >>> fill_bytes(out, b"\\1\\2")
    >>> out.tolist()
    [1, 2, 1, 2, 1, 2, 1]
    """
    bits = 8 * len(element)
    _words(target, bits)[...] = np.frombuffer(element, WORDS[bits])
    rest = len(target) % len(element)
    target[len(target) - rest :] = np.frombuffer(element[:rest], np.uint8)


def _words(array: Array, bits: int) -> Array:
    """Return bytes as words, as far as they are whole ones."""
    unit = bits // 8
    return array[: len(array) // unit * unit].view(WORDS[bits])


# -- a pair taken apart ----------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _parts(pair: Pair, aligned: int) -> list[Pair]:
    """Return pairs of strided words, of whole periods, or without digits, that together are the pair.

    `aligned` are the bits to which both storages are.
    """
    if pair.digits is None:
        return [pair]
    parts = []
    for part in within_limits(simplest(pair, aligned)):
        wide = simplest(part, aligned) if pair.limits else part
        whole = None if wide.bits < 8 else of_periods(wide)
        if whole is None or whole.digits is None:
            parts.append(_by_index(wide))
            continue
        ordered = sorted(whole.digits, key=lambda digit: -abs(digit.write))
        parts.append(replace(whole, digits=tuple(ordered)))
    return parts


def _by_index(pair: Pair) -> Pair:
    """Return the pair as one of two layouts in the shape of its digits."""
    digits = pair.digits or (Digit(1, 0, 0),)
    shape = tuple(digit.extent for digit in digits)
    source, target = (
        Layout(
            shape,
            tuple(map(as_vector, steps)),
            (),
            as_vector(side.start),
            side.swizzles,
            as_vector(side.outer),
        )
        for side, steps in (
            (pair.source, [digit.read for digit in digits]),
            (pair.target, [digit.write for digit in digits]),
        )
    )
    return replace(pair, layouts=(source, target), box=shape, digits=None)


def within_limits(pair: Pair) -> Iterator[Pair]:
    """Yield pairs without limits that together move what the pair does, each element once.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> padded = pair_of(S[10], S[((3, 4),) : ((8, 1),)], DType.of("u8"), shape=(10,))
    >>> for part in within_limits(padded):
    ...     print(part.target.start, [(digit.extent, digit.write) for digit in part.digits])
    0 [(2, 8), (4, 1)]
    16 [(1, 8), (2, 1)]
    """
    if not pair.limits:
        yield pair
        return
    *limits, limit = pair.limits
    digits = pair.digits or ()
    weights = [digit.counts[-1] for digit in digits]
    implied = any(  # such as the end of a target that goes on beyond the box
        own.bound <= limit.bound and [digit.counts[place] for digit in digits] == weights
        for place, own in enumerate(limits)
    )
    others = tuple(replace(digit, counts=digit.counts[:-1]) for digit in digits)
    pair, left = replace(pair, limits=tuple(limits), digits=others), limit.bound
    for i in [] if implied else sorted(range(len(weights)), key=lambda i: -weights[i]):
        if weights[i]:
            whole, rest = divmod(left, weights[i])
            if whole:
                yield from within_limits(_some(pair, i, 0, min(whole, digits[i].extent)))
            if whole >= digits[i].extent or not rest:
                return
            pair, left = _some(pair, i, whole, 1), rest
    yield from within_limits(pair)


def _some(pair: Pair, digit: int, first: int, count: int) -> Pair:
    """Return the part of a pair where a digit has some values."""
    own, digits = (pair.digits or ())[digit], list(pair.digits or ())
    digits[digit] = replace(own, extent=count)
    source = replace(pair.source, start=pair.source.start + first * own.read)
    target = replace(pair.target, start=pair.target.start + first * own.write)
    return replace(pair, digits=tuple(digits), source=source, target=target)


def of_periods(pair: Pair) -> Pair | None:
    """Return the pair by digits that end where its swizzles repeat; None where periods are not whole, or few.

    >>> from tilewise import DType, S, Swizzle
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> pair = of_periods(pair_of(S[4096, 4], Swizzle(1, 0, 1) @ S[4096, 4], DType.of("u8")))
    >>> [(digit.extent, digit.write) for digit in pair.digits]
    [(4096, 4), (4, 1)]
    """
    for name, side in (("read", pair.source), ("write", pair.target)):
        period = period_of(side.swizzles)
        if period == 1:
            continue
        digits = [piece for digit in pair.digits or () for piece in _cut(digit, name, period)]
        inner = [digit for digit in digits if 0 < getattr(digit, name) < period]
        steps = [side.start, *(getattr(digit, name) for digit in digits if digit not in inner)]
        reach = sum((digit.extent - 1) * getattr(digit, name) for digit in inner)
        if any(step < 0 or step % period for step in steps) or reach >= period:
            return None
        is_whole = prod(digit.extent for digit in inner) == period
        if not is_whole or period * pair.bits > 8 * LONGEST:
            return None
        pair = replace(pair, digits=tuple(digits))
    return pair


def _cut(digit: Digit, name: str, period: int) -> list[Digit]:
    """Return a digit in two where a period ends within it, if it ends there with one of its steps."""
    step = getattr(digit, name)
    if not 0 < step < period < step * digit.extent or period % step or digit.extent % (period // step):
        return [digit]
    fast = period // step
    slow = Digit(digit.extent // fast, fast * digit.read, fast * digit.write)
    return [slow, replace(digit, extent=fast)]


# -- by addresses ----------------------------------------------------------------------------------


def _move_listed(source: Array, target: Array, pair: Pair) -> None:
    ours, theirs = pair.layouts
    ours = ours.with_parts(ours.shape, ours.strides, (), ours.offset)  # any of its copies will do
    box, shape = pair.box or (ours.size,), None if pair.box else (ours.size,)
    chunk = max(1, CHUNK // prod(it.extent for it in theirs.replica))
    inner = next(mode for mode in range(len(box)) if prod(box[mode + 1 :]) <= chunk)
    rest = box[inner + 1 :]
    for window in grid(box, [1] * inner + [max(1, chunk // prod(rest)), *rest]):
        read, write = (
            table(own, shape=shape, window=window).columns[(*own.moving, own.axes[0].name)[0]]
            for own in (ours, theirs)
        )
        read = read.reshape(-1)
        for places in write.reshape(len(read), -1).T:  # one of them for each copy
            if pair.bits < 8:
                _move_halves(source, target, read, places)
            else:
                _words(target, pair.bits)[places] = _words(source, pair.bits)[read]


def _move_halves(source: Array, target: Array, read: Any, write: Any) -> None:
    """Move elements of 4 bits; the two of a byte are written one after another."""
    elements = source[read >> 1] >> (read & 1).astype(np.uint8) * 4 & 15
    for half in range(2):
        own = write & 1 == half
        places = write[own] >> 1
        target[places] = target[places] & 0xF0 >> 4 * half | elements[own] << 4 * half
