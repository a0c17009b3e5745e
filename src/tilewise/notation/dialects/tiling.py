"""Tiles upon tiles, as XLA and Mosaic write them: what each dimension's digits are once all tiles have cut.

A tile cuts the last dimensions of what is there, and what lies inside the tiles becomes new last dimensions,
which the next tile may cut as well (https://openxla.org/xla/tiled_layout). Shapes go forward through the
tiles. Digits go backward: from a stride for each dimension at the end to the digits of the dimensions at the
beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, islice, pairwise, product
from math import prod

from tilewise.core.errors import Refused
from tilewise.core.vectors import Vector

Digits = list[tuple[int, Vector]]
"""The digits of a dimension: (extent, stride), the slowest first."""

JOINED = 0
"""In a tile: the dimension is one with the next, which is minor to it."""
MAX_DIMENSIONS = 64
MAX_TILES = 16
_MAX_SEARCHED = 1 << 12


def tiled(shape: Sequence[int], tile: Sequence[int]) -> tuple[int, ...]:
    """Return the shape after a tile has cut it; what a tile does not fill is padded.

    requires  the tile has no more dimensions than the shape, and its last is a number

    >>> tiled((3, 30, 200), (8, 128))
    (3, 4, 2, 8, 128)
    >>> tiled((2, 7, 8, 11), (JOINED, JOINED, 2, 11))
    (56, 1, 2, 11)
    """
    kept = len(shape) - len(tile)
    outer: list[int] = []
    for members, extent in _cuts(shape[kept:], tile):
        outer.append(-(-prod(members) // extent))
    return (*shape[:kept], *outer, *(extent for extent in tile if extent != JOINED))


def untiled(digits: Sequence[Digits], shape: Sequence[int], tile: Sequence[int]) -> list[Digits]:
    """Return the digits of each dimension before a tile has cut it, from those after it.

    A dimension's digits take at least as many steps as it has, for tiles are padded. Refused (TW503) where
    steps of one tile are left out inside another; `broken_index` finds out whether digits say that.

    >>> from tilewise.core.axes import Axis
    >>> x = 1 @ Axis("x")
    >>> untiled([[(4, 64 * x)], [(2, 32 * x)], [(8, 4 * x)], [(4, x)]], (32, 8), (8, 4))
    [[(4, 64@x), (8, 4@x)], [(2, 32@x), (4, 1@x)]]
    """
    kept = len(shape) - len(tile)
    cuts = _cuts(shape[kept:], tile)
    found = list(digits[:kept])
    outer, inner = digits[kept : kept + len(cuts)], digits[kept + len(cuts) :]
    for (members, extent), major, minor in zip(cuts, outer, inner, strict=True):
        rest: Digits = [*major, *_exactly(minor, extent)]
        shares: list[Digits] = []
        for member in reversed(members[1:]):
            rest, share = _parted(rest, member)
            shares.append(share)
        found += [rest, *reversed(shares)]
    return found


def place_in_tiles(index: Sequence[int], shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> int:
    """Return where an index lies in the tiled array, row by row: the definition, step by step.

    >>> place_in_tiles((6, 5), (8, 8), [(2, 4), (2, 1, 1, 1)])
    51
    """
    at, extents = list(index), tuple(shape)
    for tile in tiles:
        kept = len(extents) - len(tile)
        outer: list[int] = []
        inner: list[int] = []
        position = kept
        for members, extent in _cuts(extents[kept:], tile):
            joined = 0
            for member in members:
                joined = joined * member + at[position]
                position += 1
            outer.append(joined // extent)
            inner.append(joined % extent)
        at, extents = [*at[:kept], *outer, *inner], tiled(extents, tile)
    place = 0
    for step, extent in zip(at, extents, strict=True):
        place = place * extent + step
    return place


def broken_index(place: Callable[[tuple[int, ...]], int], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return an index that shows that no digits a dimension give these places, or None in what was searched.

    Along a dimension steps are equal inside the fastest digit. Two dimensions add up.

    >>> broken_index(lambda index: (index[0] * 5) // 3, (12,))
    (3,)
    """

    def along(*moved: tuple[int, int]) -> tuple[int, ...]:
        index = [0] * len(shape)
        for dimension, step in moved:
            index[dimension] = step
        return tuple(index)

    searched = max(2, _MAX_SEARCHED // max(len(shape), 1))
    lines: list[list[int]] = []
    for dimension, extent in enumerate(shape):
        line = [place(along((dimension, step))) for step in range(min(extent, searched))]
        if (at := _uneven(line)) is not None:
            return along((dimension, at))
        lines.append(line)
    pairs = (
        ((one, x), (other, y))
        for one, other in combinations(range(len(shape)), 2)
        for x, y in product(range(1, min(len(lines[one]), 64)), range(1, min(len(lines[other]), 64)))
    )
    for (one, x), (other, y) in islice(pairs, _MAX_SEARCHED):
        index = along((one, x), (other, y))
        if place(index) != lines[one][x] + lines[other][y] - lines[one][0]:
            return index
    return None


def merged(digits: Sequence[tuple[int, Vector]]) -> Digits:
    """Return the digits with those made one that step on as one.

    >>> from tilewise.core.axes import Axis
    >>> x = 1 @ Axis("x")
    >>> merged([(4, 256 * x), (1, 7 * x), (2, 128 * x), (8, x)])
    [(8, 128@x), (8, 1@x)]
    """
    found: Digits = []
    for extent, stride in digits:
        if extent == 1:
            continue
        if found and found[-1][1] == stride * extent:
            extent *= found.pop()[0]
        found.append((extent, stride))
    return found


def _uneven(line: Sequence[int]) -> int | None:
    """Return the first of these places that no digits give, the fastest digit first; None where all fit."""
    steps = [after - before for before, after in pairwise(line)]
    fastest = next((at + 1 for at, step in enumerate(steps) if step != steps[0]), None)
    if fastest is None:
        return None
    for at, step in enumerate(steps, 1):
        if at % fastest and step != steps[0]:
            return at
    found = _uneven(line[::fastest])
    return None if found is None else found * fastest


def _cuts(shape: Sequence[int], tile: Sequence[int]) -> list[tuple[list[int], int]]:
    """Return each extent of a tile with the extents that it cuts: several where they are joined."""
    cuts: list[tuple[list[int], int]] = []
    members: list[int] = []
    for member, extent in zip(shape, tile, strict=True):
        members.append(member)
        if extent != JOINED:
            cuts.append((members, extent))
            members = []
    return cuts


def _exactly(digits: Sequence[tuple[int, Vector]], extent: int) -> Digits:
    """Return digits of so many steps: those of padding are left out at the slow end."""
    found: Digits = []
    steps = 1
    for many, stride in reversed(merged(digits)):
        if steps * many > extent:
            if extent % steps:
                raise _no_digits(extent, steps)
            many = extent // steps
        if many > 1:
            found.append((many, stride))
        steps *= many
    return found[::-1]


def _parted(digits: Sequence[tuple[int, Vector]], extent: int) -> tuple[Digits, Digits]:
    """Return the slow digits, and the fast ones that take so many steps."""
    rest = merged(digits)
    found: Digits = []
    steps = 1
    while steps < extent:
        many, stride = rest.pop()
        wanted = extent // steps
        if extent % steps or (many > wanted and many % wanted and rest):
            raise _no_digits(extent, steps if extent % steps else steps * many)
        if many > wanted:  # a last part that is padding belongs to no element
            rest.append((many // wanted, stride * wanted))
            many = wanted
        found.append((many, stride))
        steps *= many
    return rest, found[::-1]


def _no_digits(extent: int, steps: int) -> Refused:
    return Refused(
        "TW503",
        f"tiles of {steps} do not fill the {extent} of another tile or dimension",
        witness={"extent": extent, "tile": steps},
    )
