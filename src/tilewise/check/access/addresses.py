"""From an access and a tile in memory to the address of each lane, or the lane that no instruction serves.

An instruction moves neighbouring bytes, from an address that is a multiple of their number. Two proofs need
no list: before swizzles that leave the bits inside a vector alone, the strides tell; and where sums are
XORs, the columns of the address tell. Else every address is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewise.check.access.access import BYTE, INACTIVE, MOST_LISTED, Access, Lanes, Stored, check_listed
from tilewise.core.bits import affine_map
from tilewise.core.digits import merged
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.units import storage_scaled
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray


def lanes_of(access: Access, layout: Layout, base: int = 0, most: int = MOST_LISTED) -> Lanes:
    """Return the byte address of every lane in every request, of a tile at the byte address `base`.

    The layout, and its swizzle, count from there. At most `most` addresses are listed.

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
    """Return the same, of a tile whose elements have addresses."""
    try:
        composed = stored.layout.compose(access.index)
    except (Refused, NotDecided):  # it is no layout, or indices reach past the end
        return Lanes(access, None, _listed(stored, access, most))
    if proven(composed, access.elements, stored.step):
        first = _first_elements(composed, stored.unit)
        if first is not None:
            return Lanes(access, first)
    return Lanes(access, None, _listed(stored, access, most))


# -- without a list --------------------------------------------------------------------------------------


def proven(composed: Layout, elements: int, step: int) -> bool:
    """Return True if each lane's elements are plainly neighbours, a step apart, from a multiple of their width.

        requires  [request, lane, element] to addresses
        false     also where it takes a list to see

    >>> from tilewise import S, Swizzle
    >>> [proven(S[(4, 32, 4) : (512, 16, step)], 4, 2) for step in (2, 4)]
    [True, False]
    >>> proven(Swizzle(1, 2, 3) @ S[(4, 32, 4) : (256, 8, 2)], 4, 2)
    False
    """
    width = elements * step
    if width & width - 1:
        return False
    if any(swizzle.period > 1 and 1 << swizzle.base < width for swizzle in composed.swizzles):
        bits, inside = affine_map(composed), elements.bit_length() - 1
        if bits is None or len(bits.axes) > 1:
            return False
        counting = [step << bit for bit in range(inside)]
        starts = (bits.origin[0], *bits.flips[inside:])
        return [*bits.flips[:inside]] == counting and not any(start % width for start in starts)
    # blocks of the width are moved whole: what holds before the swizzle holds after it
    (axis,) = composed.axes
    digits = [(extent, stride[axis]) for extent, stride in composed.digits if extent > 1]
    inner = sum(extent > 1 for extent in leaves(composed.shape[2]))
    outer = digits[: len(digits) - inner]
    if merged(digits[len(outer) :]) != [(elements, step)] * (elements > 1):
        return False
    starts = (*(steps for _, steps in outer), composed.offset[axis], composed.outer[axis])
    if any(start % width for start in starts):
        return False
    low, _ = plain_extremes(composed, axis.name)  # XORs of numbers from 0 on are not below 0
    return (low >= 0 and composed.outer[axis] >= 0) or composed.min(axis) >= 0


def _first_elements(composed: Layout, unit: int) -> Layout | None:
    """Return [request, lane] to the first element's byte, or None where a swizzle moves bits of a byte."""
    inner = sum(1 for _ in leaves(composed.shape[2]))
    digits = composed.digits[: len(composed.digits) - inner]
    strides = tuple([stride if extent > 1 else ZERO for extent, stride in digits])
    first = composed.with_parts(composed.shape[:2], strides, (), composed.offset)
    if unit == BYTE:
        return first
    try:
        in_bytes = storage_scaled(
            first, unit, BYTE, lambda axis, _: LayoutError("TW106", f"no byte of {axis}")
        )
    except LayoutError:
        return None
    return replace(in_bytes, unit="byte")


# -- with a list -----------------------------------------------------------------------------------------


def _listed(stored: Stored, access: Access, most: int) -> NDArray[np.int64]:
    """Return table[request, lane], from a list of every element's address."""
    for lane in range(access.lanes):  # most faults are in the first request, and need no NumPy
        _check_lane(stored, access, 0, lane)
    check_listed(max(access.index.size, stored.size), most)
    import numpy as np

    from tilewise.tables import table

    indices = table(access.index).array.reshape(access.requests, access.lanes, access.elements)
    inside = indices.view(np.uint64) < stored.size  # as unsigned numbers, those below 0 are past the end
    places = table(stored.layout).array.reshape(-1).take(indices, mode="clip")
    first, active = places[..., 0], inside[..., 0]
    wrong = active & ((first % (access.elements * stored.step) != 0) | (first < 0))
    if access.elements > 1:
        wrong |= active & (places[..., 1:] - places[..., :-1] != stored.step).any(axis=-1)
        wrong |= (inside != active[..., None]).any(axis=-1)
    for request, lane in np.argwhere(wrong)[:1].tolist():
        _check_lane(stored, access, request, lane)
    return np.where(active, first * stored.unit // BYTE, INACTIVE)


def _check_lane(stored: Stored, access: Access, request: int, lane: int) -> None:
    """Refuse a lane whose elements no instruction moves at once; the first fault is the witness.

    >>> from tilewise import S
    >>> from tilewise.check.access import access_of
    >>> tile = Stored.of(S[(64, 64) : (1, 64)], "f16")
    >>> _check_lane(tile, access_of("row:4B", S[(64, 64) : (64, 1)], "f16"), 0, 3)
    Traceback (most recent call last):
    tilewise.core.errors.Refused: TW610: lane 3 of request 0 asks for 4 bytes, and elements 6 and 7 are at \
bytes 768 and 896: no neighbours
    """
    start = (request * access.lanes + lane) * access.elements
    indices = [access.index.points(start + element)[0][0] for element in range(access.elements)]
    outside = [index for index in indices if not 0 <= index < stored.size]
    if len(outside) == len(indices):
        return  # the lane is inactive

    def refused(why: str, rule: str, wrong: Sequence[int], hint: str, placed: bool = True) -> Refused:
        witness: dict[str, Any] = {"request": request, "lane": lane, "rule": rule, "elements": [*wrong]}
        if placed:
            witness["addresses"] = [_byte(stored, index) for index in wrong]
        wide = counted(access.bytes, "byte")
        return Refused(
            "TW610", f"lane {lane} of request {request} asks for {wide}{why}", witness=witness, hint=hint
        )

    if outside:
        why = f" of which element {outside[0]} is past the end of the tile"
        hint = "a narrower vector ends with the tile"
        raise refused(why, "end", (indices[0], outside[0]), hint, placed=False)
    operation = access.operation
    whole = (
        f"{operation.name} takes 16-byte rows as they lie, from multiples of 16 on"
        if operation.matrix
        else ""
    )
    places = [stored.at(index) for index in indices]
    for pair, place, after in zip(zip(indices, indices[1:]), places, places[1:], strict=False):
        if after != place + stored.step:
            first, second = (_byte(stored, index) for index in pair)
            why = f", and elements {pair[0]} and {pair[1]} are at bytes {first} and {second}: no neighbours"
            raise refused(why, "neighbours", pair, _turned(stored, access.name) or whole)
    if places[0] < 0 or places[0] % (access.elements * stored.step):
        below = places[0] < 0
        kind = "below 0" if below else f"no multiple of {access.bytes}"
        why = f" from element {indices[0]} on, which is at byte {_byte(stored, indices[0])}, {kind}"
        rule, hint = ("negative", "") if below else ("alignment", whole)
        raise refused(why, rule, indices[:1], hint)


def _byte(stored: Stored, index: int) -> int | str:
    """Return where an element is in bytes; in bytes and bits where that is no whole byte."""
    byte, bit = divmod(stored.at(index) * stored.unit, BYTE)
    return f"{byte} + {bit} bits" if bit else byte


def _turned(stored: Stored, name: str) -> str:
    """Return a hint where elements are neighbours down the columns, not along the rows."""
    extents = extents_of(stored.layout.shape)
    if len(extents) != 2 or min(extents) < 2 or stored.at(extents[1]) != stored.at(0) + stored.step:
        return ""
    across = {"row": "col", "col": "row"}.get(name[:3])
    other = f", and ask for {across}{name[3:]}" if across else ""
    return f"elements are neighbours down the columns: swap the modes, {stored.tile.permute(1, 0)}{other}"
