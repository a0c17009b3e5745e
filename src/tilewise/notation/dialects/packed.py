"""Layouts that are packed arrays: every place of a piece of memory holds one element, digit by digit.

What writes such layouts asks here for their digits, in the order in which they lie in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, pairwise, permutations, product
from math import prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector

_Runs = tuple[tuple[int, ...], ...]
"""An arrangement: the dimensions of a tiled array, each with its digits, the slowest first."""
MAX_ORDERED = 5
"""Up to so many dimensions, all their orders are tried."""
MAX_STATES = 20_000
"""At most so many arrangements are searched for the fewest tiles."""


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


def tiled_order(digits: Sequence[Digit], dimensions: int) -> tuple[list[int], list[tuple[int, ...]]]:
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


def _fewest(state: _Runs, goal: tuple[int, ...]) -> int:
    """Return how many tiles are needed at least to bring an arrangement to the goal.

    A tile leaves some digits where they are and brings the others behind them, neither changing their order
    among themselves. So n tiles make at most 2**n rising pieces.
    """
    at = {digit: position for position, digit in enumerate(_flat(state))}
    pieces = 1 + sum(at[after] < at[before] for before, after in pairwise(goal))
    return (pieces - 1).bit_length()


def _search(state: _Runs, goal: tuple[int, ...], many: int, tried: Iterator[int]) -> list[_Runs] | None:
    """Return the insides of so many tiles at most; None where no such tiles exist, or too many were tried."""
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


def _flat(state: _Runs) -> tuple[int, ...]:
    return tuple(digit for run in state for digit in run)


def _tiles(insides: Sequence[_Runs], digits: Sequence[Digit]) -> list[tuple[int, ...]]:
    """Return the extents of tiles."""
    return [tuple(prod(digits[at].extent for at in run) for run in inner) for inner in insides]


def _tilings(state: _Runs) -> Iterator[tuple[_Runs, _Runs]]:
    """Yield what a tile can make of an arrangement, and the insides of the tile: short tiles first."""
    for kept in reversed(range(len(state))):
        cut = state[kept:]
        if not cut[0]:
            continue
        for parts in product(*(range(len(run) + 1) for run in cut)):
            outer = tuple(run[:part] for run, part in zip(cut, parts, strict=True))
            inner = tuple(run[part:] for run, part in zip(cut, parts, strict=True))
            if any(outer) and any(inner):
                yield (*state[:kept], *outer, *inner), inner


def _one_by_one(state: _Runs, goal: tuple[int, ...]) -> list[_Runs]:
    """Return the insides of tiles that bring digits to the end one by one, in the order of the goal."""
    insides: list[_Runs] = []
    for digit in goal:
        kept = next(at for at, run in enumerate(state) if digit in run)
        cut = state[kept].index(digit)
        inner = (state[kept][cut:], *(() for _ in state[kept + 1 :]))
        state = (*state[:kept], state[kept][:cut], *state[kept + 1 :], *inner)
        insides.append(inner)
    return insides
