"""The logical grid of a layout: the modes that are its rows, and the part of it that a window shows."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, extents_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROW_OF_A_LINE = 16
MOST_CELLS = 1 << 20
"""So many cells a panel has at most, and so many places a scene."""

MOST_PARTS = 1 << 22
"""So many elements have room in the cells of a panel at most."""

FAR = 1 << 44
"""Places and indices of a scene are nearer to 0, so that arithmetic on them is exact in every view."""


@dataclass(frozen=True, slots=True)
class Logical:
    """Rows and columns of a grid, and those of them that a scene has.

    >>> from tilewise import S
    >>> part = logical_of(S[(4, 2, 2, 4)], window=((2, 4), (0, 3)))
    >>> part.rows, part.columns, list(part.flats)
    ((4, 2), (2, 4), [16, 17, 18, 24, 25, 26])
    """

    size: int
    """Elements of the whole layout."""
    shape: Shape
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    window: tuple[tuple[int, int], tuple[int, int]]

    @property
    def broad(self) -> int:
        """Columns of the whole grid."""
        return prod(self.columns)

    @property
    def whole(self) -> bool:
        """Return whether the window is all of the grid."""
        return self.window == ((0, prod(self.rows)), (0, self.broad))

    @property
    def flats(self) -> tuple[int, ...]:
        """Return the flat indices of the elements, row by row; the last row of the grid may have fewer."""
        (top, bottom), (left, right) = self.window
        starts = (row * self.broad for row in range(top, bottom))
        return tuple(flat for at in starts for flat in range(at + left, at + right) if flat < self.size)


def logical_of(layout: Layout, shape: Any = None, window: Any = None) -> Logical:
    """Return the grid of a layout in a shape, and a window ((top, bottom), (left, right)) of it.

    `None` for an end, or for a pair, is all.
    """
    asked = layout.asked_in(shape)
    rows, columns = split(asked, layout.size)
    return Logical(layout.size, asked, rows, columns, _window(window, prod(rows), prod(columns)))


def split(asked: Shape, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the modes that make the rows, and those that make the columns: as square as they can be.

    >>> split((4, 2, 2, 4), 64), split((20,), 20)
    (((4, 2), (2, 4)), ((2,), (16,)))
    """
    extents = extents_of(asked)
    if len(extents) == 1:
        columns = min(_ROW_OF_A_LINE, size)
        return (-(-size // columns),), (columns,)
    splits = [(extents[:k], extents[k:]) for k in range(1, len(extents))]
    return min(splits, key=lambda s: (max(prod(s[0]), prod(s[1])), prod(s[1]))) if splits else ((1,), (1,))


def _window(window: Any, rows: int, columns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    given = tuple(window or ())
    if len(given) > 2:
        raise LayoutError("TW201", f"a window of {len(given)} ranges", hint="a grid has rows and columns")
    given = (*given, None, None)
    return _range("rows", given[0], rows), _range("columns", given[1], columns)


def _range(name: str, given: Any, extent: int) -> tuple[int, int]:
    if given is None:
        return 0, extent
    pair = tuple(given)
    if len(pair) != 2:
        raise LayoutError("TW201", f"{name} from and to are two numbers, not {len(pair)}")
    first = 0 if pair[0] is None else as_int(pair[0], "a window's end")
    last = extent if pair[1] is None else as_int(pair[1], "a window's end")
    if not 0 <= first < last <= extent:
        raise LayoutError(
            "TW201", f"{name} {first}:{last} are not within 0:{extent}", hint=f"the grid has {extent} {name}"
        )
    return first, last
