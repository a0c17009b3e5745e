"""Tools that the tests of tables share: a table as the definition gives it, and windows to ask for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import numpy as np

from tilewise import Layout
from tilewise.core.shapes import extents_of
from tilewise.tables import Table, table
from tilewise.testing import as_place, naive_map, naive_places

Entries = dict[tuple[int, ...], list[tuple[int, ...]]]


def entries(asked: Table) -> Entries:
    """{index in the window: its places as tuples, in the table's order}."""
    return {index: _places_at(asked, index) for index in product(*map(range, asked.shape))}


def _places_at(asked: Table, index: tuple[int, ...]) -> list[tuple[int, ...]]:
    columns = [np.atleast_1d(asked.columns[axis][index]).tolist() for axis in asked.axes]
    return list(zip(*columns, strict=True))


def expect_table(layout: Layout, shape: Any = None, window: Any = None) -> Table:
    """The table, after comparing every entry with `Layout.points` and with the definition."""
    found = table(layout, shape=shape, window=window)
    extents = extents_of(layout.asked_in(shape))
    listed = entries(found)
    whole = naive_map(layout) if len(listed) == layout.size else None
    for index, places in listed.items():
        flat = 0
        for extent, i, (start, _) in zip(extents, index, found.window, strict=True):
            flat = flat * extent + start + i
        assert places == layout.points(flat), (layout, shape, window, index)
        named = {as_place(dict(zip(found.axes, place, strict=True))) for place in places}
        expected = whole[flat] if whole else naive_places(layout, flat)
        assert named == expected, (layout, shape, window, index)
    return found


def some_window(rng: Random, extents: tuple[int, ...]) -> tuple[tuple[int, int] | None, ...]:
    """A window of some modes, the others whole."""
    return tuple(_pair(rng, extent) if rng.random() < 0.7 else None for extent in extents)


def _pair(rng: Random, extent: int) -> tuple[int, int]:
    start = rng.randrange(extent)
    return start, rng.randint(start + 1, extent)


def some_shape(rng: Random, size: int) -> tuple[int, ...]:
    """A shape of the size, whose extents need not divide those of any layout."""
    shape = list(_factors(rng, size))
    rng.shuffle(shape)
    return tuple(shape)


def _factors(rng: Random, size: int) -> Iterator[int]:
    while size > 1 and rng.random() < 0.8:
        factor = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        yield factor
        size //= factor
    yield size
