"""From an access and a tile in memory to the address of each lane, or the lane that no instruction serves.

An instruction moves neighbouring bytes, from an address that is a multiple of their number. Two proofs need
no list: before swizzles that leave the bits inside a vector alone, the strides tell; and where sums are
XORs, the columns of the address tell. Else every address is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewise.check.access.access import Access, Lanes
from tilewise.check.access.lanes import MOST_LISTED, check_listed
from tilewise.check.access.refusals import Unserved
from tilewise.check.access.stored import BYTE, Stored
from tilewise.core.bits import affine_map
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.layout import Layout
from tilewise.core.shapes import leaves
from tilewise.core.units import storage_scaled
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

INACTIVE = -1
"""The address of a lane that asks for nothing: its elements are past the end of the tile."""


def lanes_of(access: Access, layout: Layout, base: int = 0, most: int = MOST_LISTED) -> Lanes:
    """The byte address of every lane in every request, of a tile at the byte address `base`.

    The layout, and its swizzle, count from there. At most `most` addresses are looked at.

        requires       a tile of as many elements as the access has in mind, one address for each
        postcondition  table[request, lane] is where the lane's first element begins; the others follow it
        refused        TW610 a lane whose elements are no neighbours, or begin at no multiple of their
                       bytes: the witness has request, lane, the elements and where they are

    >>> from tilewise import S, Swizzle
    >>> from tilewise.check.access import access_of
    >>> tile = Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    >>> print(lanes_of(access_of("row:16B", tile, "f16"), tile).layout)
    Swizzle<3,4,3> o S[(16, 32) : (512, 16)]
    """
    stored = Stored.of(layout, access.dtype, base)
    access.check_size(stored.size)
    return lanes_in(stored, access, most)


def lanes_in(stored: Stored, access: Access, most: int = MOST_LISTED) -> Lanes:
    """The same, of a tile whose elements have addresses."""
    vector = Neighbours(access.elements, stored.step)
    composed = _composed(stored.layout, access.index)
    if composed is not None and proven(composed, vector):
        first = _first_elements(composed, stored.unit)
        if first is not None:
            return Lanes(access, first)
    return Lanes(access, None, _listed(stored, access, vector, most))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Elements that one lane moves at once, in the units in which the tile is counted."""

    elements: int
    step: int

    @property
    def width(self) -> int:
        """Units of the whole vector, and what its address is a multiple of."""
        return self.elements * self.step


# -- without a list ------------------------------------------------------------------------------------


def proven(composed: Layout, vector: Neighbours) -> bool:
    """Whether it is plain that each lane's elements are neighbours from a multiple of their width.

        requires  [request, lane, element] to addresses
        false     also where it takes a list to see

    >>> from tilewise import S, Swizzle
    >>> [proven(S[(4, 32, 4) : (512, 16, step)], Neighbours(4, 2)) for step in (2, 4)]
    [True, False]
    >>> proven(Swizzle(1, 2, 3) @ S[(4, 32, 4) : (256, 8, 2)], Neighbours(4, 2))
    False
    """
    by_strides = all(
        swizzle.period == 1 or 1 << swizzle.base >= vector.width for swizzle in composed.swizzles
    )
    if by_strides and vector.width & vector.width - 1 == 0:
        return _by_strides(composed, vector) and _from_zero_on(composed)
    return _by_columns(composed, vector)


def _by_strides(composed: Layout, vector: Neighbours) -> bool:
    """Blocks of `width` are moved whole, so that what holds before the swizzle holds after it."""
    (axis,) = composed.axes
    inner = sum(1 for _ in leaves(composed.shape[2]))
    following = vector.step
    for extent, stride in reversed(composed.digits[len(composed.digits) - inner :]):
        if extent > 1 and stride[axis] != following:
            return False
        following *= extent
    others = composed.digits[: len(composed.digits) - inner]
    starts = [stride[axis] for extent, stride in others if extent > 1]
    return not any(at % vector.width for at in (*starts, composed.offset[axis], composed.outer[axis]))


def _from_zero_on(composed: Layout) -> bool:
    """Whether no address is below 0; XORs of numbers from 0 on are none, and need no search."""
    (axis,) = composed.axes
    low, _ = plain_extremes(composed, axis.name)
    return (low >= 0 and composed.outer[axis] >= 0) or composed.min(axis) >= 0


def _by_columns(composed: Layout, vector: Neighbours) -> bool:
    found = affine_map(composed)
    if found is None or len(found.axes) > 1 or vector.width & vector.width - 1:
        return False
    flips = [flip for (flip,) in found.columns]
    inside = vector.elements.bit_length() - 1
    counting = flips[:inside] == [vector.step << bit for bit in range(inside)]
    return counting and not any(flip % vector.width for flip in (found.origin[0], *flips[inside:]))


def _composed(stored: Layout, index: Layout) -> Layout | None:
    """[request, lane, element] to addresses; None where that is no layout, or indices reach past the end."""
    try:
        return stored.compose(index)
    except (Refused, NotDecided):
        return None


def _first_elements(composed: Layout, unit: int) -> Layout | None:
    """[request, lane] to the byte address of the first element; None where a swizzle moves bits of a byte."""
    inner = sum(1 for _ in leaves(composed.shape[2]))
    digits = composed.digits[: len(composed.digits) - inner]
    strides = tuple([stride if extent > 1 else ZERO for extent, stride in digits])
    first = composed.with_parts(composed.shape[:2], strides, (), composed.offset)
    if unit == BYTE:
        return first
    try:
        return replace(storage_scaled(first, unit, BYTE, _no_byte), unit="byte")
    except LayoutError:
        return None


def _no_byte(axis: object, steps: int) -> LayoutError:
    return LayoutError("TW106", f"{steps}@{axis} is no whole byte")


# -- with a list ---------------------------------------------------------------------------------------


def _listed(stored: Stored, access: Access, vector: Neighbours, most: int) -> NDArray[np.int64]:
    """table[request, lane], every address looked at."""
    _check_first_request(stored, access, vector)
    check_listed(max(access.index.size, stored.size), most)
    import numpy as np

    from tilewise.tables import table

    asked = table(access.index).array.reshape(access.requests, access.lanes, access.elements)
    inside = asked.view(np.uint64) < stored.size  # as unsigned numbers, those below 0 are past the end
    found = table(stored.layout).array.reshape(-1).take(asked, mode="clip")
    first, active = found[..., 0], inside[..., 0]
    wrong = active & ((first % vector.width != 0) | (first < 0))
    if access.elements > 1:
        wrong |= active & (found[..., 1:] - found[..., :-1] != vector.step).any(axis=-1)
        wrong |= (inside != active[..., None]).any(axis=-1)
    for place in np.argwhere(wrong)[:1]:
        request, lane = map(int, place)
        raise Unserved(stored, access, request, lane, asked[request, lane].tolist()).why()
    return np.where(active, first * stored.unit // BYTE, INACTIVE)


def _check_first_request(stored: Stored, access: Access, vector: Neighbours) -> None:
    """Refuse a lane of the first request: most of what is wrong is wrong there, and is seen without NumPy."""
    for lane in range(access.lanes):
        places = range(lane * access.elements, (lane + 1) * access.elements)
        asked = [access.index.points(place)[0][0] for place in places]
        inside = [0 <= index < stored.size for index in asked]
        at = [stored.at(index) for index in asked] if all(inside) else []
        apart = any(address != at[0] + vector.step * i for i, address in enumerate(at))
        if any(inside) and (not at or apart or at[0] < 0 or at[0] % vector.width):
            raise Unserved(stored, access, 0, lane, asked).why()
