"""Tiles upon tiles, as XLA and Mosaic write them: the digits of each dimension once all tiles have cut.

A tile cuts the last dimensions, and its inside becomes new last dimensions, which the next tile may cut as
well (https://openxla.org/xla/tiled_layout). `in_tiles` finds the place of one index. For all at once the
digits of the dimensions go through the tiles.

Back from a layout, `packed_digits` has the digits in the order in which they lie in memory, and `tiled_order`
finds the fewest tiles that bring them there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, pairwise, permutations, product
from math import prod
from typing import TypeVar

from tilewise.core.algebra.modes import modes_of
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector, along
from tilewise.notation.dialects.given import Extents, layout_of_modes, listed

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
    """The steps that have room: the digit's, and those of padding."""
    weight: int = 1
    """One step of the digit is so many steps of the dimension."""
    leads: bool = True
    """True where it is the slowest of its dimension, which padding makes longer."""


_PADDING = Part(0, 1, 1, leads=False)


def in_tiles(index: Sequence[int], shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> list[Step]:
    """Return an index in the tiled array, (step, extent) a dimension: the definition.

    >>> in_tiles((6, 5), (8, 8), [(2, 4), (2, 1, 1, 1)])
    [(1, 2), (1, 2), (0, 2), (1, 4), (1, 2), (0, 1), (0, 1), (0, 1)]
    """
    return _through(list(zip(index, shape, strict=True)), tiles, _cut_step)


def tiled(shape: Sequence[int], tiles: Sequence[Sequence[int]]) -> Extents:
    """Return the shape after tiles have cut it; a tile that is not filled is padded.

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


def broken_index(place: Callable[[Extents], int], shape: Sequence[int]) -> Extents | None:
    """Return an index whose place no digits a dimension give, or None if the search finds no such index.

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
    """Return the dimensions in tiles; `cut` parts joined ones into the outside and the inside."""
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
    """Return the digits outside of a tile, and those inside, which have `extent` steps."""
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


# -- from a packed array to tiles ------------------------------------------------------------------


_Runs = tuple[Extents, ...]
"""An arrangement: the dimensions of a tiled array, each with its digits, the slowest first."""
MAX_ORDERED = 5
"""The most dimensions whose orders are all tried."""
MAX_STATES = 20_000
"""The most arrangements that are searched for the fewest tiles."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of a dimension, or of copies where the dimension is -1."""

    dimension: int
    extent: int
    stride: Vector
    weight: int = 1
    """One step of the digit is so many steps of the dimension."""


def digits_of(layout: Layout) -> list[list[Digit]]:
    """Return the digits of each mode, the slowest first; those that step on as one are one.

    >>> from tilewise import S
    >>> [[(digit.extent, digit.stride) for digit in run] for run in digits_of(S[(8, (2, 2)) : (1, (16, 8))])]
    [[(8, 1@m)], [(4, 8@m)]]
    """
    runs: list[list[Digit]] = []
    merged = layout.in_order("row").coalesce(by_mode=True)
    for dimension, (_, mode) in enumerate(modes_of(merged)):
        weight, run = 1, []
        for it in reversed(mode):
            if it.extent > 1:
                run.append(Digit(dimension, it.extent, it.stride, weight))
            weight *= it.extent
        runs.append(run[::-1])
    return runs


def packed_digits(layout: Layout, what: str) -> list[Digit]:
    """Return the digits as they lie in memory, the slowest first; TW008 where memory is not packed.

    >>> from tilewise import S
    >>> [(digit.dimension, digit.extent) for digit in packed_digits(S[(8, (4, 2)) : (1, (16, 8))], "XLA")]
    [(1, 8), (0, 8)]
    """
    others = {*layout.moving} - {"m"}
    if layout.replica or layout.swizzles or layout.offset or layout.outer or others:
        message = f"{what} says places in memory, and no copies, swizzles, offsets or other axes"
        raise LayoutError("TW008", message)
    if layout.unit != "element":
        raise LayoutError("TW008", f"{what} counts elements, and this layout {layout.unit}s")
    digits = [digit for run in digits_of(layout) for digit in run]
    digits.sort(key=lambda digit: digit.stride["m"], reverse=True)
    expected = prod(digit.extent for digit in digits)
    for digit in digits:
        expected //= digit.extent
        if digit.stride["m"] != expected:
            raise LayoutError(
                "TW008",
                f"{what} fills memory without holes, and here a step of dimension {digit.dimension} "
                f"is {digit.stride['m']} where {expected} would do so",
            )
    return digits


def major_first(digits: Sequence[Digit], dimensions: int) -> list[int]:
    """Return the dimensions in the order of their slowest digits; one without digits goes before its next.

    >>> from tilewise.core.vectors import ZERO
    >>> major_first([Digit(2, 8, ZERO), Digit(0, 4, ZERO)], 4)
    [1, 2, 0, 3]
    """
    at = [digit.dimension for digit in digits]

    def place(dimension: int) -> int:
        return next((at.index(own) for own in range(dimension, dimensions) if own in at), len(at))

    return sorted(range(dimensions), key=place)


def tiled_order(digits: Sequence[Digit], dimensions: int) -> tuple[list[int], list[Extents]]:
    """Return an order of dimensions, the slowest first, and the tiles with which it lies as the digits do.

    The tiles are the fewest, where the search comes to an end. Where it reaches its bound, each tile brings
    one more digit to its place.

    >>> from tilewise import S
    >>> tiled_order(packed_digits(S[((4, 2), (2, 8)) : ((32, 8), (16, 1))], "XLA"), 2)
    ([0, 1], [(2, 8)])
    """
    goal = tuple(range(len(digits)))
    first = major_first(digits, dimensions)
    orders = [list(order) for order in permutations(first)] if dimensions <= MAX_ORDERED else [first]
    starts = [_runs(digits, order) for order in orders]
    tried = count()
    for many in range(len(goal)):
        for order, start in zip(orders, starts, strict=True):
            insides = _search(start, goal, many, tried)
            if insides is not None:
                return order, _tiles(insides, digits)
    return first, _tiles(_one_by_one(starts[0], goal), digits)


def _runs(digits: Sequence[Digit], order: Sequence[int]) -> _Runs:
    """Return the digits of each dimension, the slowest first, as their indices."""
    by_weight = sorted(range(len(digits)), key=lambda at: -digits[at].weight)
    return tuple(tuple(at for at in by_weight if digits[at].dimension == own) for own in order)


def _fewest(state: _Runs, goal: Extents) -> int:
    """Return the fewest tiles that could bring an arrangement to the goal.

    A tile leaves some digits where they are and brings the others behind them, neither changing their order
    among themselves. So n tiles make at most 2**n rising pieces.
    """
    at = {digit: position for position, digit in enumerate(_flat(state))}
    pieces = 1 + sum(at[after] < at[before] for before, after in pairwise(goal))
    return (pieces - 1).bit_length()


def _search(state: _Runs, goal: Extents, many: int, tried: Iterator[int]) -> list[_Runs] | None:
    """Return the insides of at most `many` tiles; None if no such tiles exist, or the search is too long."""
    if _fewest(state, goal) > many:
        return None
    if _flat(state) == goal:
        return []
    for after, inner in _tilings(state):
        if next(tried) >= MAX_STATES:
            return None
        rest = _search(after, goal, many - 1, tried)
        if rest is not None:
            return [inner, *rest]
    return None


def _flat(state: _Runs) -> Extents:
    return tuple(digit for run in state for digit in run)


def _tiles(insides: Sequence[_Runs], digits: Sequence[Digit]) -> list[Extents]:
    """Return the extents of tiles."""
    return [tuple(prod(digits[at].extent for at in run) for run in inner) for inner in insides]


def _tilings(state: _Runs) -> Iterator[tuple[_Runs, _Runs]]:
    """Yield the results of a tile on an arrangement, and the insides of the tile: short tiles first."""
    for kept in reversed(range(len(state))):
        cut = state[kept:]
        if not cut[0]:
            continue
        for parts in product(*(range(len(run) + 1) for run in cut)):
            outer = tuple(run[:part] for run, part in zip(cut, parts, strict=True))
            inner = tuple(run[part:] for run, part in zip(cut, parts, strict=True))
            if any(outer) and any(inner):
                yield (*state[:kept], *outer, *inner), inner


def _one_by_one(state: _Runs, goal: Extents) -> list[_Runs]:
    """Return the insides of tiles that bring digits to the end one by one, in the order of the goal."""
    insides: list[_Runs] = []
    for digit in goal:
        kept = next(at for at, run in enumerate(state) if digit in run)
        cut = state[kept].index(digit)
        inner = (state[kept][cut:], *(() for _ in state[kept + 1 :]))
        state = (*state[:kept], state[kept][:cut], *state[kept + 1 :], *inner)
        insides.append(inner)
    return insides
