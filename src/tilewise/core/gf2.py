"""The GF(2) view: where no two terms of a layout share a bit, sums are XORs.

Then the map is affine over GF(2): the place of x is the place of 0, XORed with one column for every
bit of x that is set. A swizzle is linear and acts on the columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewise.core.swizzles import apply_chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout, Point


@dataclass(frozen=True, slots=True)
class AffineMap:
    """place(x) = origin XOR the columns of the bits of x, the lowest bit first."""

    origin: Point
    columns: tuple[Point, ...]

    def __call__(self, x: int) -> Point:
        place = self.origin
        for column in self.columns:
            if x & 1:
                place = tuple(a ^ b for a, b in zip(place, column, strict=True))
            x >>= 1
        return place


def affine_map(layout: Layout) -> AffineMap | None:
    """The affine map over GF(2) that a layout without copies is, or None where its sums carry.

    >>> from tilewise import S, Swizzle
    >>> affine_map(Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)]).columns
    ((1,), (3,))
    >>> affine_map(S[(3, 2) : (2, 1)]) is None
    True
    """
    if layout.replica or layout.outer:
        return None
    columns: list[Point] = []
    used = list(layout.on_axes(layout.offset))
    for it in reversed(layout.shard):
        step = layout.on_axes(it.stride)
        if it.extent & (it.extent - 1) or min(step + tuple(used)) < 0:
            return None
        for bit in range(it.extent.bit_length() - 1):
            column = tuple(s << bit for s in step)
            if any(c & u for c, u in zip(column, used, strict=True)):
                return None
            used = [c | u for c, u in zip(column, used, strict=True)]
            columns.append(column)
    return AffineMap(
        _swizzled(layout, layout.on_axes(layout.offset)),
        tuple(_swizzled(layout, column) for column in columns),
    )


def _swizzled(layout: Layout, place: Point) -> Point:
    axis = layout.swizzled_axis
    return tuple(
        apply_chain(layout.swizzles, p) if a == axis else p for a, p in zip(layout.axes, place, strict=True)
    )


class Span:
    """All XORs of some columns, which are integers here.

    >>> span = Span([0b011, 0b110])
    >>> span.rest(0b101), span.rest(0b001), span.rank
    (0, 1, 2)
    """

    def __init__(self, columns: Iterable[int] = ()) -> None:
        self._leading: dict[int, int] = {}
        for column in columns:
            self.add(column)

    @property
    def rank(self) -> int:
        """How many of the columns are no XOR of others."""
        return len(self._leading)

    def add(self, column: int) -> None:
        """Let the span hold the column."""
        column = self.rest(column)
        if column:
            self._leading[column.bit_length()] = column

    def rest(self, column: int) -> int:
        """The column less what the span holds of it: 0 where it holds it all."""
        while column:
            leading = self._leading.get(column.bit_length())
            if leading is None:
                return column
            column ^= leading
        return 0
