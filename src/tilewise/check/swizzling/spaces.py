"""What an access asks of the digits of an index: in closed form where they are affine, else listed in NumPy.

Where the extents of the tile are powers of two, its flat index has the digits of its modes as bits; and where
the bits of request, lane and element flip bits of it, a request is a coset of what the others ask for: one
stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from tilewise.check.access import Access
from tilewise.check.access.addresses import INACTIVE
from tilewise.core.axes import m
from tilewise.core.bits import affine_map
from tilewise.core.shapes import extents_of, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Digits:
    """The binary digits of the index of a tile, numbered from the lowest of the last mode.

    >>> digits = Digits((64, 48))
    >>> digits.widths, digits.count, digits.outer
    ((6, 6), 12, (4, 5))
    """

    extents: tuple[int, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """How many digits every mode has."""
        return tuple((extent - 1).bit_length() for extent in self.extents)

    @property
    def count(self) -> int:
        """Digits of all modes."""
        return sum(self.widths)

    def first(self, mode: int) -> int:
        """The number of the lowest digit of a mode."""
        return sum(self.widths[mode + 1 :])

    @property
    def odd(self) -> tuple[int, ...]:
        """The modes whose extent is no power of two."""
        return tuple(mode for mode, extent in enumerate(self.extents) if extent & extent - 1)

    @property
    def outer(self) -> tuple[int, ...]:
        """The digits that count an odd factor: not all that they can say is an index."""
        found: list[int] = []
        for mode in self.odd:
            low = (self.extents[mode] & -self.extents[mode]).bit_length() - 1
            found += range(self.first(mode) + low, self.first(mode) + self.widths[mode])
        return tuple(found)

    def packed(self, flat: NDArray[np.int64]) -> NDArray[np.int64]:
        """Flat row-major indices as numbers whose bits are the digits; INACTIVE stays.

        >>> import numpy as np
        >>> Digits((64, 48)).packed(np.array([48 * 2 + 5])).tolist()
        [133]
        """
        import numpy as np

        points = np.zeros_like(flat)
        for mode, coordinate in enumerate(np.unravel_index(np.maximum(flat, 0), self.extents)):
            points |= coordinate.astype(np.int64) << self.first(mode)
        return np.where(flat < 0, INACTIVE, points)


@dataclass(frozen=True, slots=True)
class Space:
    """What the lanes and the elements of requests ask for, in digits.

    postcondition  a request asks what one of `rows` does, moved by some digits
    """

    rows: tuple[tuple[int, tuple[int, ...]], ...]
    """(how many requests, the first element of every lane); INACTIVE where a lane asks for nothing."""
    steps: tuple[int, ...] | None
    """The digits that lead from the first element of a vector to every other; None where vectors differ."""
    reached: int
    """The digits that any first element has."""

    @classmethod
    def of(cls, access: Access) -> Space:
        """Of an access, in closed form where there is one.

        >>> from tilewise import S
        >>> from tilewise.check.access import access_of
        >>> found = Space.of(access_of("row:4B", S[(8, 8) : (8, 1)], "f16"))
        >>> found.rows[0][1][:4], found.steps, found.reached
        ((0, 2, 4, 6), (0, 1), 62)
        """
        return affine_space(access) or listed_space(access)


def affine_space(access: Access) -> Space | None:
    """The space of an access whose lanes all ask, for digits that are affine in theirs; or None."""
    found = affine_map(access.index)
    odd = any(extent & extent - 1 for extent in extents_of(access.tile))
    if odd or found is None or found.axes != (m,) or access.index.max(m) >= size_of(access.tile):
        return None
    flips = [flip for (flip,) in found.columns]
    inside, both = access.elements.bit_length() - 1, (access.elements * access.lanes).bit_length() - 1
    row = _reached(flips[inside:both], found.origin[0])
    return Space(
        ((access.requests, tuple(row)),),
        tuple(_reached(flips[:inside])),
        reduce(or_, flips[inside:], found.origin[0]),
    )


def _reached(flips: list[int], start: int = 0) -> list[int]:
    """Where the bits of a number lead, number by number."""
    found = [start]
    for flip in flips:
        found += [place ^ flip for place in found]
    return found


def listed_space(access: Access) -> Space:
    """The space of any access, every index looked at."""
    import numpy as np

    elements = elements_of(access)
    digits = Digits(extents_of(access.tile))
    points = digits.packed(elements[:, :, 0])
    first = np.maximum.reduce(points, axis=1, keepdims=True)
    moved = np.where(points < 0, INACTIVE, points ^ first)
    different, times = np.unique(moved, axis=0, return_counts=True)
    rows = zip(times.tolist(), map(tuple, different.tolist()), strict=True)
    vectors = digits.packed(elements[elements[:, :, 0] >= 0])
    steps = vectors ^ vectors[:, :1]
    own = None if (steps != steps[0]).any() else tuple(steps[0].tolist())
    return Space(tuple(rows), own, int(np.bitwise_or.reduce(vectors[:, 0])))


def elements_of(access: Access) -> NDArray[np.int64]:
    """The flat indices [request, lane, element]; INACTIVE where a lane asks for nothing."""
    import numpy as np

    from tilewise.tables import table

    flat = table(access.index).array.reshape(access.requests, access.lanes, access.elements)
    return np.where((flat >= 0) & (flat < size_of(access.tile)), flat, INACTIVE)
