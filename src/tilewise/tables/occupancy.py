"""For every place at once: the element that lives there, and the number of elements that do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.tables.build import table
from tilewise.tables.digits import Int64s
from tilewise.tables.request import refuse_too_many

EMPTY = -1
"""The entry of `inverse` for a place that holds nothing."""

_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Box:
    """One number for every place between min and max of every axis, in the layout's axis order.

    postcondition  array[p - start] belongs to the place p
    """

    axes: tuple[str, ...]
    start: tuple[int, ...]
    array: Int64s

    def __repr__(self) -> str:
        return f"Box(axes={self.axes}, start={self.start}, shape={self.array.shape})"


def inverse(layout: Layout, *, smallest: bool = False) -> Box:
    """Return the flat index that lives at every place of the box; -1 at an empty place.

        requires       no place holds two elements, unless `smallest` is set
        postcondition  array[p - start] is the flat index of layout.who(p), or -1

    >>> from tilewise import S
    >>> inverse(S[(2, 3) : (4, 1)] + 8)
    Box(axes=('m',), start=(8,), shape=(7,))
    >>> inverse(S[(2, 3) : (4, 1)] + 8).array.tolist()
    [0, 1, 2, -1, 3, 4, 5]
    >>> inverse(S[(2, 3) : (2, 1)], smallest=True).array.tolist()
    [0, 1, 2, 4, 5]
    """
    box = _box(layout, layout.size)  # beyond every index
    held = box.array.reshape(-1)
    entries = 0
    for flat, places in _blocks(layout, box):
        _settle(held, places, np.broadcast_to(flat[:, None], places.shape), layout.size)
        entries += places.size
    taken = held != layout.size
    if not smallest and np.count_nonzero(taken) < entries:
        raise LayoutError(
            "TW204",
            f"a place holds two elements: {layout.injective.reason or 'no inverse has one index there'}",
            hint="ask for the smallest index of each place, or count them with coverage",
        )
    held[~taken] = EMPTY
    return _frozen(box)


def _settle(held: Int64s, places: Int64s, flat: Int64s, nobody: int) -> None:
    """Write to each place the smaller of the index it holds and the index that comes.

    Most often a place is empty, and one index comes.
    """
    if (held[places] == nobody).all():
        held[places] = flat
        if (held[places] == flat).all():
            return
    np.minimum.at(held, places, flat)


def coverage(layout: Layout) -> Box:
    """Count the elements that hold each place of the box.

        postcondition  array[p - start] == len(layout.who(p));  its sum is layout.size * copies

    >>> from tilewise import S, R
    >>> coverage(S[3 : 2] + R[2 : 4]).array.tolist()
    [1, 0, 1, 0, 2, 0, 1, 0, 1]
    """
    box = _box(layout, 0)
    held = box.array.reshape(-1)
    for _, places in _blocks(layout, box):
        np.add.at(held, places, 1)
    return _frozen(box)


def empty_places(layout: Layout) -> Int64s:
    """Return the holes: the places of the box that hold nothing, a row of steps on the axes each, sorted.

    >>> from tilewise import S
    >>> empty_places(S[(4, 3) : (4, 1)]).tolist()
    [[3], [7], [11]]
    """
    held = coverage(layout)
    return np.argwhere(held.array == 0) + np.array(held.start, np.int64)


def shared_places(layout: Layout) -> Int64s:
    """Return the places that hold several elements, a row of steps on the axes each, sorted.

    >>> from tilewise import S
    >>> shared_places(S[(2, 3) : (2, 1)]).tolist()
    [[2]]
    """
    held = coverage(layout)
    return np.argwhere(held.array > 1) + np.array(held.start, np.int64)


def _box(layout: Layout, fill: int) -> Box:
    """Return the box of every place between the extremes, filled with one number."""
    ends = [layout.extremes(axis) for axis in layout.axes]
    spans = [high - low + 1 for low, high in ends]
    hint = "ask about single places, with who"
    refuse_too_many(prod(spans), "the box of all places", hint)
    refuse_too_many(layout.size, "the layout", hint)
    return Box(
        tuple(axis.name for axis in layout.axes),
        tuple(low for low, _ in ends),
        np.full(spans, fill, np.int64),
    )


def _blocks(layout: Layout, box: Box) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield (flat indices, their places in the flattened box), one block of elements after another."""
    for first in range(0, layout.size, _BLOCK):
        stop = min(first + _BLOCK, layout.size)
        block = table(layout, shape=(layout.size,), window=((first, stop),))
        places = np.zeros((stop - first, block.copies), np.int64)
        for name, start, span in zip(box.axes, box.start, box.array.shape, strict=True):
            places *= span
            places += block.columns[name].reshape(places.shape)
            places -= start
        yield np.arange(first, stop), places


def _frozen(box: Box) -> Box:
    box.array.flags.writeable = False
    return box
