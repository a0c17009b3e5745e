"""Strided arrays copied at the speed of memory: block by block, turned in a cache, if need be in a buffer.

NumPy writes a target in the order of its addresses. Where the source has another order, each element then
comes from a line of the cache, and often a page, of its own. A block has a run of both, so short that the
lines of one are still in the cache when the other asks for them again. Where these lines displace one
another, the rows of a block are read whole into a buffer, and leave it in the order of the target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from math import inf, prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Box = tuple[slice, ...]
Index = tuple[Any, ...]

BLOCK = 1 << 18
"""Bytes of a block by way of a buffer: it, and the lines of the target that it goes to, are in the second
cache."""

ROW, COLUMN = 512, 256
"""Bytes of a run in its source, elements of a run in its target: they grow in this proportion."""

DIRECT = 1 << 20
"""Bytes of a block without a buffer: a call of NumPy's for each."""

ACROSS = 512
"""Elements of a run in its target, as many lines of the source as are in the first cache."""

LINE = 64
"""Bytes of a line of the caches."""

SETS, WAYS = 64, 9
"""Sets of the first cache, and lines of one set that hardly displace one another."""

STREAMS = 8
"""Runs of the source that need no buffer: as many lines are in one set of a cache."""

NARROW = 4
"""Bytes of elements that are copied slower than their lines are read: reading these first costs too much."""

WIDE, TOGETHER = 4, 512
"""Bytes of neighbours that stay neighbours: with more than the first they are moved as one item, with more
than the second as rows."""

WORKERS = 4
"""Threads at most: between two blocks each needs the interpreter, for which more of them wait."""

ALONE = 1 << 22
"""Bytes, below which one thread is done before a second one has begun."""

SHARES = 8
"""Parts of the work for each thread: one that is held up by others on its core takes fewer of them."""

CALL, LOOP, PASS = 1000, 10, 5
"""Nanoseconds or so of a call of NumPy's, and of an inner loop of it, beyond their items; and of touching a
line of the target again."""


def copy(source: Array, target: Array) -> None:
    """Write the elements of one array to the other, of the same shape and type, which share no memory.

        postcondition  target[i] == source[i], bit by bit, for all i

    >>> given, out = np.arange(6).reshape(2, 3), np.zeros((3, 2), int)
    >>> copy(given, out.T)
    >>> out.tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    if target.nbytes <= BLOCK:
        target[...] = source
        return
    order = _by_step(target)[::-1]
    source, target = _items(source.transpose(order), target.transpose(order))
    reach, buffer = _blocks(source, target)
    boxes = list(_boxes(target.shape, reach))
    in_threads(_Blocks(source, target, buffer), boxes, target.nbytes)


def in_threads(work: Callable[[list[Box]], None], boxes: list[Box], size: int) -> None:
    """Some work on all blocks of that many bytes."""
    workers = min(WORKERS, _cores(), size // ALONE, len(boxes))
    if workers <= 1:
        work(boxes)
        return
    parts = min(SHARES * workers, len(boxes))
    shares = [boxes[len(boxes) * k // parts : len(boxes) * (k + 1) // parts] for k in range(parts)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, shares))


def _cores() -> int:
    ours = getattr(os, "sched_getaffinity", None)
    return len(ours(0)) if ours else os.cpu_count() or 1


def _by_step(array: Array) -> list[int]:
    """The axes of an array, from the smallest step on; last those that do not step."""
    steps = [abs(step) for step in array.strides]
    return sorted(range(array.ndim), key=lambda axis: (steps[axis] == 0, steps[axis]))


def _items(source: Array, target: Array) -> tuple[Array, Array]:
    """The same arrays by items as wide as can be: a loop over a few neighbours costs more than they do."""
    run = target.shape[-1] * target.itemsize
    together = source.strides[-1] == target.strides[-1] == target.itemsize
    if not together or not WIDE < run <= TOGETHER:
        return source, target
    item = np.dtype((np.void, run))
    return source.view(item)[..., 0], target.view(item)[..., 0]


# -- which blocks ----------------------------------------------------------------------------------


def _blocks(source: Array, target: Array) -> tuple[list[int], _Buffer | None]:
    """How far a block goes on each axis, and the buffer that it needs, if any."""
    unit, reach = target.itemsize, _reach(source, target, DIRECT, (2 * ROW, ACROSS))
    if unit >= LINE or _long_rows(source, target):
        return reach, None
    if (unit >= NARROW or _runs(source, reach) <= STREAMS) and not _displaced(source, target, reach):
        return reach, None
    small = _reach(source, target, BLOCK // 2, (ROW // 2, ACROSS))
    if _runs(source, small) == 1:
        return small, None
    reach = _reach(source, target, BLOCK, (ROW, COLUMN), in_turn=True)
    return reach, _buffer(source, reach)


def blocks_within(source: Array, target: Array, whole: Collection[int]) -> list[Box]:
    """Blocks with runs of both arrays that have some axes whole."""
    reach = _reach(source, target, BLOCK, (2 * ROW, LINE))
    shape = target.shape
    return list(_boxes(shape, [shape[axis] if axis in whole else reach[axis] for axis in range(len(shape))]))


def _long_rows(source: Array, target: Array) -> bool:
    """Whether neighbours stay neighbours, and are more than an item."""
    together = source.strides[-1] == target.strides[-1] == target.itemsize
    return together and target.shape[-1] * target.itemsize > TOGETHER


def _reach(
    source: Array, target: Array, room: int, wanted: tuple[int, int], in_turn: bool = False
) -> list[int]:
    """How far a block goes on each axis: its runs in both arrays grow in turn, until it is full.

    Once both are as long as wanted, the one in the source goes on alone, unless they are to take turns.
    """
    shape, unit = target.shape, target.itemsize
    reach = [1] * len(shape)
    rows, columns = ([axis for axis in _by_step(array) if array.strides[axis]] for array in (source, target))
    while prod(reach) * unit < room:
        growing = [
            (run / whole, axis)
            for order, whole in ((rows, wanted[0] / unit), (columns, wanted[1]))
            for run, axis in _growing(order, shape, reach)
        ]
        if not growing:
            break
        shortest, axis = min(growing)
        if shortest >= 1 and not in_turn:
            axis = growing[0][1]
        reach[axis] = shape[axis] if 3 * reach[axis] > shape[axis] else 2 * reach[axis]
    return [_even(extent, part) for extent, part in zip(shape, reach, strict=True)]


def _growing(order: Sequence[int], shape: Sequence[int], reach: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The run of a block in an array, and the axis on which it goes on, if any."""
    run = 1
    for axis in order:
        run *= reach[axis]
        if reach[axis] < shape[axis]:
            yield run, axis
            return


def _runs(array: Array, reach: Sequence[int]) -> int:
    """The runs of a block, of bytes that follow one another."""
    step = array.itemsize
    for axis in _by_step(array):
        if reach[axis] > 1 and array.strides[axis] != step:
            return prod(reach) * array.itemsize // step
        step *= reach[axis]
    return 1


def _displaced(source: Array, target: Array, reach: Sequence[int]) -> bool:
    """Whether lines of the source displace one another before a run of the target is written."""
    places = np.zeros(1, np.int64)
    for axis in _by_step(target):
        count = min(reach[axis], -(-ACROSS // len(places)))
        places = np.add.outer(np.arange(count) * source.strides[axis], places).reshape(-1)
    lines = np.unique(places // LINE)
    return int(np.bincount(lines % SETS).max()) > WAYS


def _even(extent: int, part: int) -> int:
    """About that part of an extent, so that none that is left over is much smaller."""
    return -(-extent // -(-extent // part))


def _boxes(shape: Sequence[int], reach: Sequence[int]) -> Iterator[Box]:
    """The blocks of a shape, in the order of the axes."""
    return product(
        *(
            [slice(start, min(start + part, extent)) for start in range(0, extent, part)]
            for extent, part in zip(shape, reach, strict=True)
        )
    )


# -- the buffer ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Buffer:
    """A block of elements in the order of the source, runs of which begin in different sets of a cache."""

    reach: Sequence[int]
    strides: Sequence[int]
    bytes: int

    def memory(self, kind: np.dtype[Any]) -> Array:
        """A block of them that is new."""
        room = np.empty(self.bytes, np.uint8)[: self.bytes // kind.itemsize * kind.itemsize]
        return np.lib.stride_tricks.as_strided(room.view(kind), self.reach, self.strides)


def _buffer(source: Array, reach: Sequence[int], longest: float = inf) -> _Buffer | None:
    """What keeps the runs of a block apart, none of which goes on after that many bytes.

    None where they are so few that nothing is won.
    """
    order, unit = _by_step(source), source.itemsize
    strides, step, runs = [0] * len(order), unit, 0
    for axis in order:
        if reach[axis] == 1:
            continue
        if not runs and (source.strides[axis] != step or step >= longest):
            runs = prod(reach) * unit // step
            step = _odd_lines(step, unit)
        strides[axis] = step
        step *= reach[axis]
    return _Buffer(reach, strides, step) if runs > STREAMS else None


def _odd_lines(step: int, unit: int) -> int:
    """That many bytes or some more: whole items, in an odd number of lines or nearly."""
    lines = (-(-step // LINE)) | 1
    return -(-lines * LINE // unit) * unit


# -- blocks copied ---------------------------------------------------------------------------------


def kept_apart(source: Array, target: Array) -> Callable[[Array], Array]:
    """What brings blocks such as the source where their lines do not displace one another."""
    displaced = _displaced(source, target, source.shape)
    buffer = _buffer(source, source.shape, ROW) if displaced else None
    if buffer is None:
        return lambda block: block
    held = buffer.memory(source.dtype)

    def brought(block: Array) -> Array:
        assign(block, held)
        return held

    return brought


@dataclass(frozen=True)
class _Blocks:
    """Blocks read by the order of the source, and written by that of the target."""

    source: Array
    target: Array
    buffer: _Buffer | None

    def __call__(self, boxes: Iterable[Box]) -> None:
        held = None if self.buffer is None else self.buffer.memory(self.target.dtype)
        for box in boxes:
            given, taken = self.source[box], self.target[box]
            if held is not None:
                block = held if taken.shape == held.shape else held[tuple(map(slice, taken.shape))]
                assign(given, block)
                given = block
            assign(given, taken)


def assign(source: Array, target: Array) -> None:
    """One block written to another, by inner loops that are long."""
    for index in _indices(target.shape, source.strides, target.strides, target.nbytes):
        target[index] = source[index]


@lru_cache(maxsize=256)
def _indices(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], held: int
) -> list[Index]:
    """Indices under which NumPy's inner loops are long: it always takes the smallest step of the target.

    Where short axes have smaller steps than a long one, they are gone through here.
    """
    order = sorted(range(len(shape)), key=lambda axis: abs(target[axis]))
    costs, calls = [], 1
    for place, axis in enumerate(order):
        length = _length(order[place:], shape, (source, target))
        costs.append((calls * (CALL + held // LINE * PASS) + prod(shape) // length * LOOP, place))
        calls *= shape[axis]
    peeled = order[: min(costs)[1]]
    if not peeled:
        return [()]
    return list(
        product(*(range(extent) if axis in peeled else [slice(None)] for axis, extent in enumerate(shape)))
    )


def _length(order: Sequence[int], shape: Sequence[int], sides: Sequence[Sequence[int]]) -> int:
    """The items of an inner loop over the first axis, and over those that go on where it ends."""
    length = shape[order[0]]
    for below, above in pairwise(order):
        if any(strides[above] != strides[below] * shape[below] for strides in sides):
            break
        length *= shape[above]
    return length
