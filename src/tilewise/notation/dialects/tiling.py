"""Tiles upon tiles, as XLA and Mosaic write them: what each dimension's digits are once all tiles have cut.

A tile cuts the last dimensions of what is there, and what lies inside the tiles becomes new last dimensions,
which the next tile may cut as well (https://openxla.org/xla/tiled_layout). `in_tiles` says where one index
comes to. For all at once the digits of the dimensions go through the tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from math import prod
from typing import TypeVar

from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, along
from tilewise.notation.dialects.given import layout_of_modes, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.axes import Axis

Cut = TypeVar("Cut")
Step = tuple[int, int]

JOINED = 0
"""In a tile: the dimension is one with the next, which is minor to it."""
MAX_DIMENSIONS = 64
MAX_TILES = 16
_MAX_SEARCHED = 1 << 12


@dataclass(frozen=True, slots=True)
class Part:
    """A digit of a dimension, on its way through the tiles."""

    dimension: int
    extent: int
    room: int
    """There is place for so many steps: its own, and those of padding."""
    weight: int = 1
    """One step of the digit is so many steps of the dimension."""
    leads: bool = True
    """True where it is the slowest of its dimension, which padding makes longer."""


_PADDING = Part(0, 1, 1, leads=False)


def in_tiles(index: Sequence[int], shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> list[Step]:
    """Return where an index lies in the tiled array, (step, extent) a dimension: the definition.

    >>> in_tiles((6, 5), (8, 8), [(2, 4), (2, 1, 1, 1)])
    [(1, 2), (1, 2), (0, 2), (1, 4), (1, 2), (0, 1), (0, 1), (0, 1)]
    """
    return _through(list(zip(index, shape, strict=True)), tiles, _cut_step)


def tiled(shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the shape after tiles have cut it; what a tile does not fill is padded.

    requires  the last extent of each tile is a number

    >>> tiled((3, 30, 200), [(8, 128)])
    (3, 4, 2, 8, 128)
    >>> tiled((2, 7, 8, 11), [(JOINED, JOINED, 2, 11)])
    (56, 1, 2, 11)
    """
    return tuple(extent for _, extent in in_tiles([0] * len(shape), shape, tiles))


def row_major(extents: Sequence[int], axis: Axis) -> list[Vector]:
    """Return the strides of dimensions that lie row by row on an axis."""
    return [along(axis, prod(extents[at + 1 :])) for at in range(len(extents))]


def parts_in_tiles(shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> list[list[Part]]:
    """Return the digits through which each dimension of the tiled array counts, the slowest first.

    Refused (TW503) where a tile does not fill another, or where joined dimensions are cut askew.

    >>> [[(part.dimension, part.extent) for part in run] for run in parts_in_tiles((32, 8), [(8, 4)])]
    [[(0, 4)], [(1, 2)], [(0, 8)], [(1, 4)]]
    """
    runs = [[Part(dimension, extent, extent)] for dimension, extent in enumerate(shape)]
    return _through(runs, tiles, _cut_parts)


def layout_in_tiles(
    shape: Sequence[int],
    tiles: Sequence[Sequence[int]],
    strides: Sequence[Vector],
    *,
    order: Sequence[int] | None = None,
    copies: Sequence[tuple[int, Vector]] = (),
) -> Layout:
    """Return the layout of an array whose dimensions have these strides once tiles have cut it.

    `order` gives the layout's mode of each dimension. Refused (TW510) with an index where no digits are such
    a map.

    >>> from tilewise.core.axes import m
    >>> layout_in_tiles((32, 8), [(8, 4)], row_major((4, 2, 8, 4), m))
    S[((4, 8), (2, 4)) : ((64, 4), (32, 1))]
    """
    order = range(len(shape)) if order is None else order
    axes = list(dict.fromkeys(axis for stride in strides for axis in stride.axes))
    # steps on several axes are one number each, far apart
    numbers = [sum(stride[axis] << 64 * at for at, axis in enumerate(axes)) for stride in strides]

    def place(index: Sequence[int]) -> int:
        found = in_tiles(index, shape, tiles)
        return sum(step * number for (step, _), number in zip(found, numbers, strict=True))

    try:
        runs = parts_in_tiles(shape, tiles)
    except Refused as no:
        at = broken_index(place, shape)
        if at is None:
            raise
        index = tuple(step for _, step in sorted(zip(order, at, strict=True)))
        witness = {"index": index, "place": place(at)} if len(axes) == 1 else {"index": index}
        hint = f"element {listed(index)} breaks the steps of those before it"
        raise Refused("TW510", f"{no.reason}, and no digits say that", witness=witness, hint=hint) from None
    modes: list[list[tuple[int, int, Vector]]] = [[] for _ in shape]
    for run, stride in zip(runs, strides, strict=True):
        for part in reversed(run):
            if part.extent > 1:
                modes[order[part.dimension]].append((part.weight, part.extent, stride))
            stride = stride * part.room
    for mode in modes:
        mode.sort(key=lambda digit: -digit[0])
    return layout_of_modes(([(extent, stride) for _, extent, stride in mode] for mode in modes), copies)


def broken_index(place: Callable[[tuple[int, ...]], int], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return an index that shows that no digits a dimension give these places, or None in what was searched.

    Index 0 is at place 0. Along a dimension steps are equal inside the fastest digit. Dimensions add up.

    >>> broken_index(lambda index: (index[0] * 5) // 3, (12,))
    (3,)
    """

    rank = max(len(shape), 1)
    lines: list[list[int]] = []
    for dimension, extent in enumerate(shape):
        unit = [int(at == dimension) for at in range(rank)]
        steps = [tuple(step * one for one in unit) for step in range(min(extent, _MAX_SEARCHED // rank))]
        lines.append([place(step) for step in steps])
        if (uneven := _uneven(lines[-1])) is not None:
            return steps[uneven]
    near = max(2, round(_MAX_SEARCHED ** (1 / rank)))
    for index in islice(product(*(range(min(extent, near)) for extent in shape)), _MAX_SEARCHED):
        if place(index) != sum(line[step] for line, step in zip(lines, index, strict=True)):
            return index
    return None


def _through(
    dimensions: list[Cut], tiles: Sequence[Sequence[int]], cut: Callable[[list[Cut], int], tuple[Cut, Cut]]
) -> list[Cut]:
    """Return what tiles make of dimensions; `cut` parts joined ones into the outside and the inside."""
    for tile in tiles:
        kept = len(dimensions) - len(tile)
        if kept < 0:
            raise LayoutError("TW003", f"a tile of {len(tile)} dimensions cuts {len(dimensions)}")
        outer: list[Cut] = []
        inner: list[Cut] = []
        members: list[Cut] = []
        for dimension, extent in zip(dimensions[kept:], tile, strict=True):
            members.append(dimension)
            if extent != JOINED:
                slow, fast = cut(members, extent)
                outer.append(slow)
                inner.append(fast)
                members = []
        dimensions = [*dimensions[:kept], *outer, *inner]
    return dimensions


def _cut_step(members: list[Step], extent: int) -> tuple[Step, Step]:
    """Return the step and the extent outside of a tile, and those inside."""
    step, size = 0, 1
    for own, many in members:
        step, size = step * many + own, size * many
    return (step // extent, -(-size // extent)), (step % extent, extent)


def _cut_parts(members: list[list[Part]], extent: int) -> tuple[list[Part], list[Part]]:
    """Return the digits outside of a tile, and those inside, which have so many steps."""
    first, *others = members
    inner: list[Part] = []
    outer = first + [replace(part, leads=False) for run in others for part in run]
    while extent > 1:
        part = outer.pop() if outer else _PADDING
        if outer and extent % part.room == 0:
            inner.append(part)
            extent //= part.room
            continue
        room = part.room if outer else -(-part.room // extent) * extent  # padding is at the slow end
        steps = room if part.leads else part.extent
        inside = min(steps, extent)
        if room % extent or steps % inside:
            message = f"tiles of {extent} do not fill the {part.extent} of another tile or dimension"
            raise Refused("TW503", message, witness={"extent": part.extent, "tile": extent})
        inner.append(replace(part, extent=inside, room=extent, leads=False))
        if part.leads or room > extent:
            weight = part.weight * inside
            outer.append(replace(part, extent=steps // inside, room=room // extent, weight=weight))
        extent = 1
    return outer, inner[::-1]


def _uneven(line: Sequence[int]) -> int | None:
    """Return the first of these places that no digits give, the fastest digit first; None where all fit."""
    steps = [after - before for before, after in pairwise(line)]
    fastest = next((at for at, step in enumerate(steps, 1) if step != steps[0]), None)
    if fastest is None:
        return None
    for at, step in enumerate(steps, 1):
        if at % fastest and step != steps[0]:
            return at
    found = _uneven(line[::fastest])
    return None if found is None else found * fastest
