"""Requests that cost the same as another: one stands for all of them.

Where all addresses of a request are moved by a word, its words lie in other banks, and meet as before; moved
by a line of 128 bytes, it touches other sectors and lines, and as many. Swizzles move with them by their own
period. A digit of the requests with stride s comes back to a multiple of that distance after distance /
gcd(s, distance) steps, so that no more of its values need to be looked at: of a padded tile one or two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod

from tilewise.check.access.lanes import check_listed
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.swizzles import apply_chain, period_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Folded:
    """Requests that stand for all others.

    postcondition  the addresses of any request are those of the one that stands for it, moved by a multiple
                   of the distance; `weights` says for how many requests each of them stands

    >>> from tilewise import S
    >>> folded = Folded.of(S[((5000, 157), 32) : ((10006, 64), 2)], 128)
    >>> print(folded.layout, folded.of_all)
    S[((64, 2), 32) : ((10006, 64), 2)] (5000, 157)
    >>> folded.weights()[:3], sum(folded.weights()) == 5000 * 157
    ([6241, 6162, 6241], True)
    """

    layout: Layout
    """[request, lane] to bytes, of the requests that stand for others."""
    own: tuple[int, ...]
    """The digits of these requests."""
    of_all: tuple[int, ...]
    """The digits of all requests."""

    @classmethod
    def of(cls, layout: Layout, distance: int) -> Folded:
        """The fewest requests, digit by digit, of a layout [request, lane] to bytes.

        requires  distance: a power of two by which addresses may move at no cost, where nothing is swizzled
        """
        (axis,) = layout.axes
        period = max(distance, period_of(layout.swizzles))
        digits = layout.digits[: sum(1 for _ in leaves(layout.shape[:1]))]
        extents = tuple(extent for extent, _ in digits)
        steps = [period // gcd(stride[axis], period) for _, stride in digits]
        own = tuple(min(extent, step) for extent, step in zip(extents, steps, strict=True))
        shape = (own if len(own) > 1 else own[0], *layout.shape[1:])
        return cls(layout.with_parts(shape, layout.strides, (), layout.offset), own, extents)

    def rows(self) -> Iterator[list[int]]:
        """The addresses of one of these requests after the other.

        >>> from tilewise import S, Swizzle
        >>> [row[:3] for row in Folded.of(Swizzle(1, 4, 3) @ S[(2, 32) : (144, 16)], 4).rows()]
        [[0, 16, 32], [128, 176, 160]]
        """
        (axis,) = self.layout.axes
        places = [self.layout.offset[axis]]
        for extent, stride in self.layout.digits:
            places = [place + step * stride[axis] for place in places for step in range(extent)]
        outer = self.layout.outer[axis]
        found = [apply_chain(self.layout.swizzles, place) + outer for place in places]
        lanes = len(found) // prod(self.own)
        return (found[first : first + lanes] for first in range(0, len(found), lanes))

    def table(self) -> NDArray[np.int64]:
        """The addresses of these requests: table[request, lane].

        refused  TW301 more of them than can be listed
        """
        from tilewise.tables import table

        check_listed(self.layout.size)
        return table(self.layout).array.reshape(prod(self.own), -1)

    def weights(self) -> list[int]:
        """For how many requests each of them stands."""
        found = [1]
        for own, extent in zip(self.own, self.of_all, strict=True):
            whole, rest = divmod(extent, own)
            found = [weight * (whole + (digit < rest)) for weight in found for digit in range(own)]
        return found

    def number(self, request: int) -> int:
        """Which of all requests one of them is.

        >>> from tilewise import S
        >>> Folded.of(S[((5000, 157), 32) : ((10006, 64), 2)], 128).number(3)
        158
        """
        place = prod(self.of_all)
        rest = prod(self.own)
        found = 0
        for own, extent in zip(self.own, self.of_all, strict=True):
            place, rest = place // extent, rest // own
            digit, request = divmod(request, rest)
            found += digit * place
        return found
