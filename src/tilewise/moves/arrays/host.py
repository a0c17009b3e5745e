"""The move on the CPU, with NumPy: strided arrays, copied block by block, or addresses, a few at a time.

A pair is taken apart until NumPy has a strided array for both sides of each part:

    limits       the boxes that lie within them
    4 bits       every other value of a digit whose step is odd, so that one half of each byte is moved
    swizzles     the values of the bits that are read: each reverses digits of two of the bits that change

A part that does not come apart so is listed by its addresses. NumPy writes a target in the order of its
addresses. Where the source has another order, each word comes from a line of the cache, and often a page, of
its own. The runs of a block are short: the lines of one side are still in the cache when the other side
needs them again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from tilewise.core.digits import split
from tilewise.core.layout import Layout
from tilewise.core.vectors import as_vector
from tilewise.moves.pairs.digits import simplest
from tilewise.moves.pairs.pair import Digit, Pair
from tilewise.tables import table

Array = np.ndarray[Any, Any]

WORDS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}
"""NumPy's words by their bits. A move copies bits, whatever they mean."""

CHUNK = 1 << 15
"""Elements whose addresses are listed at once."""

BLOCK = 1 << 18
"""Bytes of a block: the block, and the lines of its target, fit in the second cache."""

ROW, COLUMN = 512, 256
"""Bytes of a block's runs in the source, words of its runs in the target."""

SHORT, APART = 16, 64
"""The largest extent at which each value becomes an array, as NumPy's inner loop would have no more words;
and the most arrays of a part, for this or by its swizzles."""

WORKERS, ALONE, SHARES = 4, 1 << 22, 8
"""Threads at most, as each needs the interpreter between two blocks; bytes, below which one thread ends
before a second one begins; and parts of the work per thread, so that a slow thread takes fewer."""


def move_bytes(source: Array, target: Array, pair: Pair) -> None:
    """Move the elements of a pair from one array of bytes to another; leave all other bytes alone.

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
        if isinstance(part, Pair):
            _move_listed(source, target, part)
            continue
        views = [
            (_seen(source, part.bits, read), _seen(target, part.bits, write)) for read, write in part.sides
        ]
        copy_views(views, part.halves)


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
    """Return bytes as words, without the rest that fills no word."""
    unit = bits // 8
    return array[: len(array) // unit * unit].view(WORDS[bits])


# -- a pair taken apart ----------------------------------------------------------------------------

View = tuple[int, list[int], list[int]]
"""A strided array in the words of a storage: its begin, its extents, its steps."""

Halves = tuple[int, int]
"""Bits by which elements of 4 bits lie higher in their bytes, of the source and of the target."""


class Strided(NamedTuple):
    """A part of a pair: words that both sides have as strided arrays of one shape."""

    bits: int
    sides: list[tuple[View, View]]
    halves: Halves | None = None


def _seen(row: Array, bits: int, view: View) -> Array:
    start, extents, steps = view
    unit = bits // 8
    return np.ndarray(extents, WORDS[bits], row, start * unit, [step * unit for step in steps])


@lru_cache(maxsize=256)
def _parts(pair: Pair, aligned: int) -> list[Strided | Pair]:
    """Return the parts of a pair: strided arrays, and pairs without digits, to be listed.

    Both storages are aligned to `aligned` bits.
    """
    if pair.digits is None:
        return [pair]
    parts: list[Strided | Pair] = []
    for own in within_limits(simplest(pair, aligned)):
        wide = simplest(own, aligned)
        pairs = [(wide, None)] if wide.bits >= 8 else by_halves(wide)
        found = [(strided_sides(part), halves) for part, halves in pairs]
        if found and all(sides for sides, _ in found):
            parts += [Strided(max(wide.bits, 8), sides, halves) for sides, halves in found if sides]
        else:
            parts.append(_by_index(wide))
    return parts


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
    limit, *limits = pair.limits
    digits = pair.digits or ()
    weights = [digit.counts[0] for digit in digits]
    others = tuple(replace(digit, counts=digit.counts[1:]) for digit in digits)
    pair, left = replace(pair, limits=tuple(limits), digits=others), limit.bound
    for i in sorted(range(len(weights)), key=lambda i: -weights[i]):
        if weights[i]:
            whole, rest = divmod(left, weights[i])
            if whole:
                yield from within_limits(_some(pair, i, range(min(whole, digits[i].extent))))
            if whole >= digits[i].extent or not rest:
                return
            pair, left = _some(pair, i, range(whole, whole + 1)), rest
    yield from within_limits(pair)


def _some(pair: Pair, digit: int, values: range) -> Pair:
    """Return the part of a pair where a digit has some values."""
    digits = list(pair.digits or ())
    own, first, step = digits[digit], values.start, values.step
    digits[digit] = replace(own, extent=len(values), read=own.read * step, write=own.write * step)
    source = replace(pair.source, start=pair.source.start + first * own.read)
    target = replace(pair.target, start=pair.target.start + first * own.write)
    return replace(pair, digits=tuple(digits), source=source, target=target)


def by_halves(pair: Pair) -> list[tuple[Pair, Halves]]:
    """Return pairs of bytes that together are a pair of 4 bits, each with the half of a byte that it moves.

    Return an empty list where a side is swizzled.

    >>> from tilewise import DType, S
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> turned = pair_of(S[63, 31], S[(63, 31) : (1, 63)], DType.of("u4"))
    >>> [(halves, [digit.extent for digit in part.digits]) for part, halves in by_halves(turned)]
    [((0, 0), [32, 16]), ((4, 4), [32, 15]), ((4, 4), [31, 16]), ((0, 0), [31, 15])]
    """
    if pair.source.swizzles or pair.target.swizzles:
        return []
    digits = pair.digits or ()
    odd = next((i for i, own in enumerate(digits) if own.extent > 1 and (own.read | own.write) & 1), None)
    if odd is not None:
        parts = [_some(pair, odd, range(first, digits[odd].extent, 2)) for first in range(2)]
        return [own for part in parts for own in by_halves(part)]
    source, target = pair.source, pair.target
    bytes_ = replace(
        pair,
        digits=tuple(Digit(own.extent, own.read // 2, own.write // 2) for own in digits),
        source=replace(source, start=source.start // 2),
        target=replace(target, start=target.start // 2),
    )
    return [(bytes_, (source.start % 2 * 4, target.start % 2 * 4))]


def strided_sides(pair: Pair) -> list[tuple[View, View]] | None:
    """Return strided arrays of both sides that together are the pair, or None if a swizzle prevents them.

    Their axes are in the order of the target's steps, the largest first.

    >>> from tilewise import DType, S, Swizzle
    >>> from tilewise.moves.pairs.pair import pair_of
    >>> strided_sides(pair_of(S[8], Swizzle(1, 0, 2) @ S[8], DType.of("u8")))
    [((0, [2, 2], [2, 1]), (0, [2, 2], [2, 1])), ((4, [2, 2], [2, 1]), (5, [2, 2], [2, -1]))]
    """
    pairs = [pair]
    for name in ("source", "target"):
        while pairs and getattr(pairs[0], name).swizzles:
            plain = [_unswizzled(own, name) for own in pairs]
            pairs = [own for parts in plain for own in parts] if all(plain) else []
    if not pairs or len(pairs) > APART:
        return None
    axes = [i for i, digit in enumerate(pairs[0].digits or ()) if digit.extent > 1]
    axes.sort(key=lambda i: -abs((pairs[0].digits or ())[i].write))
    found = []
    for part in pairs:
        digits = [(part.digits or ())[i] for i in axes]
        extents = [digit.extent for digit in digits]
        read = part.source.start + part.source.outer, extents, [digit.read for digit in digits]
        write = part.target.start + part.target.outer, extents, [digit.write for digit in digits]
        found.append((read, write))
    return found


def _unswizzled(pair: Pair, name: str) -> list[Pair]:
    """Return pairs without the swizzle of a side that acts first; an empty list if digits carry there.

    The digits are cut at the bits that the swizzle reads and changes. Each value of the bits that it reads
    becomes a pair. In that pair the swizzle XORs the others with a constant: it reverses digits of two.
    """
    side, step_of = getattr(pair, name), "read" if name == "source" else "write"
    *others, swizzle = side.swizzles
    if 1 << swizzle.bits > APART:
        return []
    fields = swizzle.source | swizzle.target
    ends = [1 << bit for bit in range(fields.bit_length() + 1) if (fields | fields << 1) >> bit & 1]
    digits: list[Digit] = []
    taken = side.start % swizzle.period
    for digit in pair.digits or ():
        step = getattr(digit, step_of)
        if step % swizzle.period == 0 or digit.extent == 1:
            digits.append(digit)
            continue
        inner = min(digit.extent, swizzle.period // step) if step > 0 else 0
        bits = (inner - 1) * step
        if step <= 0 or (step & step - 1) or (inner & inner - 1) or digit.extent % inner or taken & bits:
            return []
        taken |= bits
        cuts = [end // step for end in ends if step < end < step * digit.extent]
        for extent, place in split([(digit.extent, 1)], cuts):
            digits.append(Digit(extent, digit.read * place, digit.write * place))
    pairs = [replace(pair, digits=tuple(digits), **{name: replace(side, swizzles=tuple(others))})]
    for i, digit in enumerate(digits):
        if digit.extent > 1 and getattr(digit, step_of) & swizzle.source:
            pairs = [_some(part, i, range(value, value + 1)) for part in pairs for value in range(2)]
    parts = []
    for part in pairs:
        own = getattr(part, name)
        start = swizzle(own.start)
        turned = [
            replace(digit, **{step_of: -getattr(digit, step_of)})
            if digit.extent > 1 and getattr(digit, step_of) & (start ^ own.start)
            else digit
            for digit in part.digits or ()
        ]
        parts.append(replace(part, digits=tuple(turned), **{name: replace(own, start=start)}))
    return parts


# -- block by block --------------------------------------------------------------------------------


def copy_views(views: list[tuple[Array, Array]], halves: Halves | None = None) -> None:
    """Write each source to its target; all are of one shape, and no two share memory.

        requires       axes by their steps in the target, the largest first
        postcondition  target[i] == source[i], bit by bit, for all i; with halves, of that half of the bytes

    >>> given, out = np.arange(6).reshape(2, 3), np.zeros((3, 2), int)
    >>> copy_views([(given.T, out)])
    >>> out.tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    boxes: list[Any] = [...]
    total = views[0][1].nbytes * len(views)
    if total > BLOCK:
        views = _by_long_axes(views)
        given, taken = views[0]
        boxes = [tuple(slice(*own) for own in box) for box in grid(taken.shape, _reach(given, taken))]

    def work(share: Sequence[Any]) -> None:
        for box in share:
            for given, taken in views:
                if halves is None:
                    taken[box] = given[box]
                else:
                    _copy_halves(given[box], taken[box], halves)

    workers = min(WORKERS, _cores(), total // ALONE, len(boxes))
    if workers <= 1:
        work(boxes)
        return
    count = min(SHARES * workers, len(boxes))
    shares = [boxes[len(boxes) * k // count : len(boxes) * (k + 1) // count] for k in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, shares))


def _copy_halves(given: Array, taken: Array, halves: Halves) -> None:
    read, write = halves
    taken &= 0xF0 >> write
    taken |= (given >> read & 15) << write


def _by_long_axes(views: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """Return the views with an array for each value of the last axes, where these are short."""
    shape, unit = views[0][1].shape, views[0][1].itemsize
    last = len(shape)
    while last > 1 and shape[last - 1] * unit <= SHORT and len(views) * prod(shape[last - 1 :]) <= APART:
        last -= 1
    values: list[Any] = [(..., *own) for own in product(*map(range, shape[last:]))]
    return [(given[own], taken[own]) for given, taken in views for own in values]


def _cores() -> int:
    ours = getattr(os, "sched_getaffinity", None)
    return len(ours(0)) if ours else os.cpu_count() or 1


def grid(extents: Sequence[int], parts: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the boxes of a shape that have `parts` as their extents, (start, stop) on each axis.

    >>> list(grid((3, 2), (2, 2)))
    [((0, 2), (0, 2)), ((2, 3), (0, 2))]
    """
    return product(
        *(
            [(start, min(start + part, extent)) for start in range(0, extent, part)]
            for extent, part in zip(extents, parts, strict=True)
        )
    )


def _reach(source: Array, target: Array) -> list[int]:
    """Return the extents of a block: its runs on both sides are long, and it fills BLOCK."""
    shape, unit = target.shape, target.itemsize
    reach = [1] * len(shape)
    by_source, by_target = (
        sorted((axis for axis in range(len(shape)) if steps[axis]), key=lambda axis: abs(steps[axis]))
        for steps in (source.strides, target.strides)
    )
    for order, wanted in ((by_source, ROW // unit), (by_target, COLUMN)):
        run = 1
        for axis in order:
            reach[axis] = max(reach[axis], min(shape[axis], -(-wanted // run)))
            run *= reach[axis]
    for axis in by_source:
        reach[axis] = min(shape[axis], reach[axis] * max(1, BLOCK // (prod(reach) * unit)))
    return [-(-extent // -(-extent // part)) for extent, part in zip(shape, reach, strict=True)]


# -- by addresses ----------------------------------------------------------------------------------


def _by_index(pair: Pair) -> Pair:
    """Return the pair as a pair of two layouts in the shape of its digits."""
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
    """Move elements of 4 bits: first those in the low half of a byte, then those in the high half."""
    elements = source[read >> 1] >> (read & 1).astype(np.uint8) * 4 & 15
    for half in range(2):
        own = write & 1 == half
        places = write[own] >> 1
        target[places] = target[places] & 0xF0 >> 4 * half | elements[own] << 4 * half
