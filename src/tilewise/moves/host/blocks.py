"""Words moved between two storages block by block, at the speed of memory.

NumPy writes a target in the order of its addresses. Where the source has another order, each word then comes
from a line of the cache, and often a page, of its own. A block has a run of both, so short that the lines of
one are still in the cache when the other asks for them again. Where a run of the target reads many runs of
the source, the rows of a block are read whole into a buffer, and leave it in the order of the target.
Swizzled storages go by whole periods: one call of NumPy's brings those to the plain order, or back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from tilewise.core.swizzles import Swizzle, period_of
from tilewise.moves.pairs.pair import Digit, Side

Array = np.ndarray[Any, Any]
Box = tuple[slice, ...]

WORDS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}
"""NumPy's words by their bits: bits are moved, whatever they mean."""

BLOCK = 1 << 18
"""Bytes of a block: it, and the lines of the target that it goes to, are in the second cache."""

ROW, COLUMN = 512, 256
"""Bytes of a run in its source, words of a run in its target: they grow in this proportion."""

STREAMS = 24
"""Runs of the source that are read at once without a buffer."""

NARROW, TOGETHER = 4, 512
"""Bytes of neighbours that stay neighbours: with more than the first, up to the second, they move as one."""

LINE = 64
"""Bytes of a line of the caches."""

WORKERS, ALONE, SHARES = 4, 1 << 22, 8
"""Threads at most, as each needs the interpreter between two blocks; bytes, below which one thread is done
before a second one has begun; and parts of the work for each, as one that is held up takes fewer of them."""

CALL, LOOP, PASS = 1000, 10, 5
"""Nanoseconds or so of a call of NumPy's, and of an inner loop of it, beyond their words; and of touching a
line of the target again."""

strided = np.lib.stride_tricks.as_strided


class Words:
    """The words of one storage by the digits of a move.

    requires  of a swizzled side, digits that go through whole periods, which begin where the side starts
    """

    def __init__(self, words: Array, side: Side, digits: Sequence[Digit], name: str) -> None:
        begin, unit = words[side.start + side.outer :], words.itemsize
        extents, steps = [digit.extent for digit in digits], [getattr(digit, name) * unit for digit in digits]
        self.plain: Array = strided(begin, extents, steps)
        """The words as if nothing were swizzled."""
        self.inner: dict[int, int] = {}
        """The axes that go through a period, and their steps."""
        period = period_of(side.swizzles) if side.swizzles else 1
        if period > 1:
            self.inner = {axis: step for axis, step in enumerate(steps) if 0 < step < period * unit}
            outer = [axis for axis in range(len(digits)) if axis not in self.inner]
            shape = [*(extents[axis] for axis in outer), period]
            self._periods = strided(begin, shape, [*(steps[axis] for axis in outer), unit])
            self._kind, self._order = _order(side.swizzles, period, unit)

    def read(self, box: Box) -> Array:
        """Return a block in the plain order."""
        if not self.inner:
            return self.plain[box]
        return self._by_digits(self._ordered(self._within(box), self._order), box)

    def write(self, box: Box, block: Array) -> None:
        """Write a block that is in the plain order."""
        if not self.inner:
            assign(block, self.plain[box])
            return
        periods = self._within(box)
        held = np.empty_like(periods, order="C")
        assign(block, self._by_digits(held, box))
        periods[...] = self._ordered(held, np.argsort(self._order))

    def _within(self, box: Box) -> Array:
        return self._periods[tuple(part for axis, part in enumerate(box) if axis not in self.inner)]

    def _by_digits(self, periods: Array, box: Box) -> Array:
        """Return a block of plain periods by all digits."""
        outer = iter(periods.strides)
        steps = [self.inner[axis] if axis in self.inner else next(outer) for axis in range(len(box))]
        return strided(periods, [part.stop - part.start for part in box], steps)

    def _ordered(self, periods: Array, order: Array) -> Array:
        taken: Array = periods.view(self._kind).take(order, -1, mode="wrap")
        return taken.view(periods.dtype)


@lru_cache(maxsize=64)
def _order(swizzles: tuple[Swizzle, ...], period: int, unit: int) -> tuple[str, Array]:
    """Return the widest words that swizzles keep whole, and the place of each of a period."""
    fields = (own.source | own.target for own in swizzles if own.bits)
    together = min(max(WORDS) // 8 // unit, *(field & -field for field in fields))
    places = list(range(0, period, together))
    for swizzle in reversed(swizzles):
        places = [swizzle(place) for place in places]
    return WORDS[8 * unit * together], np.array(places) // together


def move_words(source: Words, target: Words) -> None:
    """Write the words of one storage to the other, by the same digits; they share no memory.

        requires       digits by their steps in the target, the largest first
        postcondition  target[i] == source[i], bit by bit, for all i

    >>> given, out, digits = np.arange(6), np.zeros(6, int), (Digit(3, 1, 2), Digit(2, 3, 1))
    >>> move_words(Words(given, Side(0, 6), digits, "read"), Words(out, Side(0, 6), digits, "write"))
    >>> out.tolist()
    [0, 3, 1, 4, 2, 5]
    """
    whole = {*source.inner, *target.inner}
    if not whole and target.plain.nbytes <= BLOCK:
        target.plain[...] = source.plain
        return
    if not whole:
        source.plain, target.plain = _items(source.plain, target.plain)
    given, taken = source.plain, target.plain
    reach = _reach(given, taken, whole, BLOCK)
    few = _runs(given, _reach(given, taken, whole, STREAMS * ROW)) <= STREAMS
    direct = few or given.itemsize >= max(WORDS) // 8
    boxes = [tuple(slice(*own) for own in box) for box in grid(taken.shape, reach)]

    def work(share: list[Box]) -> None:
        held = None if direct else _kept_apart(given, reach)
        for box in share:
            block = source.read(box)
            if held is not None:
                kept = held[tuple(map(slice, block.shape))]
                assign(block, kept)
                block = kept
            target.write(box, block)

    workers = min(WORKERS, _cores(), taken.nbytes // ALONE, len(boxes))
    if workers <= 1:
        work(boxes)
        return
    count = min(SHARES * workers, len(boxes))
    shares = [boxes[len(boxes) * k // count : len(boxes) * (k + 1) // count] for k in range(count)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, shares))


def grid(extents: Sequence[int], parts: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the boxes of a shape that go so far on each axis, (start, stop) of each.

    >>> list(grid((3, 2), (2, 2)))
    [((0, 2), (0, 2)), ((2, 3), (0, 2))]
    """
    return product(
        *(
            [(start, min(start + part, extent)) for start in range(0, extent, part)]
            for extent, part in zip(extents, parts, strict=True)
        )
    )


def _cores() -> int:
    ours = getattr(os, "sched_getaffinity", None)
    return len(ours(0)) if ours else os.cpu_count() or 1


def _items(source: Array, target: Array) -> tuple[Array, Array]:
    """Return both by items as wide as can be: a loop over a few neighbours costs more than they do."""
    if source.strides[-1:] == target.strides[-1:] == (target.itemsize,):
        item = np.dtype((np.void, target.shape[-1] * target.itemsize))
        if NARROW < item.itemsize <= TOGETHER:
            return source.view(item)[..., 0], target.view(item)[..., 0]
    return source, target


# -- which blocks ----------------------------------------------------------------------------------


def _by_step(array: Array) -> list[int]:
    """Return the axes of an array that step, from the smallest step on."""
    steps = [abs(step) for step in array.strides]
    return sorted((axis for axis in range(array.ndim) if steps[axis]), key=steps.__getitem__)


def _reach(source: Array, target: Array, whole: set[int], room: int) -> list[int]:
    """Return how far a block goes on each axis: its runs on both sides grow in turn until it is full."""
    shape, unit = target.shape, target.itemsize
    reach = [extent if axis in whole else 1 for axis, extent in enumerate(shape)]
    orders = (_by_step(source), ROW / unit), (_by_step(target), COLUMN)
    while prod(reach) * unit < room:
        growing = []
        for order, wanted in orders:
            ends = [place for place, axis in enumerate(order) if reach[axis] < shape[axis]]
            if ends:
                run = prod(reach[axis] for axis in order[: ends[0] + 1])
                growing.append((run / wanted, order[ends[0]]))
        if not growing:
            break
        _, axis = min(growing)
        reach[axis] = shape[axis] if 3 * reach[axis] > shape[axis] else 2 * reach[axis]
    return [-(-extent // -(-extent // part)) for extent, part in zip(shape, reach, strict=True)]


def _runs(array: Array, reach: Sequence[int]) -> int:
    """Return how many runs of bytes that follow one another a block has."""
    step = array.itemsize
    for axis in _by_step(array):
        if reach[axis] > 1 and array.strides[axis] != step:
            break
        step *= reach[axis]
    return -(-prod(reach) * array.itemsize // step)


def _kept_apart(source: Array, reach: Sequence[int]) -> Array:
    """Return a buffer in the order of the source, whose rows begin in different sets of a cache.

    A row is a run of the source, or of ROW bytes; rows are an odd number of lines apart, or nearly.
    """
    unit, row, inner = source.itemsize, source.itemsize, 0
    order = [*_by_step(source), *(axis for axis in range(source.ndim) if not source.strides[axis])]
    for axis in order:
        if reach[axis] > 1 and (source.strides[axis] != row or row >= ROW):
            break
        row, inner = row * reach[axis], inner + 1
    apart = -(-(-(-row // LINE) | 1) * LINE // unit)
    outer = [reach[axis] for axis in order[inner:]][::-1]
    rows = np.empty((*outer, apart), source.dtype)[..., : row // unit]
    held = rows.reshape(*outer, *(reach[axis] for axis in order[:inner][::-1]))
    return held.transpose(np.argsort(order[::-1]))


# -- one block -------------------------------------------------------------------------------------


def assign(source: Array, target: Array) -> None:
    """Write one block to another, by inner loops that are long."""
    for index in _indices(target.shape, source.strides, target.strides, target.nbytes):
        target[index] = source[index]


@lru_cache(maxsize=256)
def _indices(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], size: int
) -> list[tuple[Any, ...]]:
    """Return indices under which NumPy's inner loops are long: it always takes the target's smallest step.

    Where short axes have smaller steps than a long one, each of their values has an index.
    """
    order = sorted(range(len(shape)), key=lambda axis: abs(target[axis]))
    costs, calls = [], 1
    for place, axis in enumerate(order):
        length = shape[axis]
        for below, above in pairwise(order[place:]):  # NumPy takes axes as one that go on where one ends
            if any(steps[above] != steps[below] * shape[below] for steps in (source, target)):
                break
            length *= shape[above]
        costs.append((calls * (CALL + size // LINE * PASS) + prod(shape) // length * LOOP, place))
        calls *= shape[axis]
    short = order[: min(costs)[1]]
    return list(product(*(range(own) if axis in short else [slice(None)] for axis, own in enumerate(shape))))
