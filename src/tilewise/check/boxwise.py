"""Two parts of one tile, box by box: where each of them is one layout, `same` compares them."""

from __future__ import annotations

from tilewise.core.algebra.slicing import Piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewise.core.algebra.slicing import Interval
    from tilewise.core.layout import Layout

    Box = tuple[Interval, ...]


def boxwise(one: Piece, other: Piece, region: Box) -> Iterator[tuple[Box, Layout, Layout]]:
    """The region cut into boxes in which both parts are one layout each, and these layouts.

    A part's layout counts from the corner of its own box; the layouts that come back count from the
    corner of theirs.

        requires       the region lies in both boxes
        postcondition  the boxes are disjoint and cover the region
        cost           by digits, not by elements

    >>> from tilewise import S
    >>> one = Piece(((0, 6), (0, 2)), S[((2, 3), 2) : ((10, 1), 100)])
    >>> other = Piece(((2, 6), (0, 2)), S[(4, 2) : (1, 100)])
    >>> for box, here, there in boxwise(one, other, other.box):
    ...     print(box, here, there)
    ((2, 3), (0, 2)) S[(1, 2) : (0, 100)] + 2 S[(1, 2) : (0, 100)]
    ((3, 6), (0, 2)) S[((1, 3), 2) : ((10, 1), 100)] + 10 S[(3, 2) : (1, 100)] + 1
    """
    found = []
    for part in (one, other):
        inside = _inside(part, region)
        if len(inside) > 1:
            for piece in inside:
                yield from boxwise(one, other, piece.box)
            return
        found.append(inside[0].layout)
    yield region, found[0], found[1]


def _inside(part: Piece, region: Box) -> list[Piece]:
    """The pieces of a part over a region, their boxes in the tile's own rows and columns."""
    if region == part.box:
        return [part]
    corner = [first for first, _ in part.box]
    pieces = part.layout.slice(*moved(region, [-first for first in corner]))
    return [Piece(moved(piece.box, corner), piece.layout) for piece in pieces]


def moved(box: Box, by: Sequence[int]) -> Box:
    """Return a box so far along each dimension.

    >>> moved(((0, 6), (0, 2)), (64, 16))
    ((64, 70), (16, 18))
    """
    return tuple((first + step, last + step) for (first, last), step in zip(box, by, strict=True))
