"""From an access and a tile in memory to the address of each lane, or the lane that no instruction serves.

An instruction moves neighbouring bytes, from an address that is a multiple of their number. Two proofs need
no list. Before swizzles that leave the bits inside a vector alone, the strides decide. Where sums are XORs,
the columns of the address decide. Otherwise every address is listed.
"""

from __future__ import annotations

from dataclasses import replace

from tilewise.check.access.access import BYTE, INACTIVE, MOST_LISTED, Access, Lanes, Stored, check_listed
from tilewise.core.bits import affine_map
from tilewise.core.digits import merged
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.polynomials import is_named, is_positive
from tilewise.core.shapes import extents_of, leaves
from tilewise.core.units import storage_scaled
from tilewise.core.vectors import ZERO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Int64s = NDArray[np.int64]
    Bools = NDArray[np.bool_]


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
    first = None
    try:
        composed = stored.layout.compose(access.index)
        if proven(composed, access.elements, stored.step):
            first = _first_elements(composed, stored.unit)
    except (Refused, NotDecided):  # no layout, or indices reach past the end
        pass
    return Lanes(access, first, None if first else _listed(stored, access, most))


# -- without a list --------------------------------------------------------------------------------------


def proven(composed: Layout, elements: int, step: int) -> bool:
    """Return True if each lane's elements are neighbours, a step apart, from a multiple of their width.

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

FIRST_REQUESTS = 8
"""Requests in which a fault is searched where their number has names."""


def _listed(stored: Stored, access: Access, most: int) -> Int64s:
    """Return table[request, lane], from a list of every element's address."""
    requests, plain = 1, stored
    if stored.layout.has_names:
        requests, plain = access.requests, _unswizzled(stored, access.elements * stored.step)
    for request in _in_turn(requests):
        for lane in range(access.lanes):  # most faults are in the first request, and need no NumPy
            _check_lane(plain, access, request, lane)
    check_listed(max(access.index.size, stored.size), most)
    import numpy as np

    from tilewise.tables import table

    places = table(stored.layout).array.reshape(-1)
    first, active, wrong = vectors_in(places, indices_of(access), stored.step)
    for request, lane in np.argwhere(wrong)[:1].tolist():
        _check_lane(stored, access, request, lane)
    return np.where(active, first * stored.unit // BYTE, INACTIVE)


def _in_turn(many: int) -> Iterator[int]:
    """Yield 0, 1, ... below a number; of one with names the first ones, and then all take its value."""
    first = 0
    while is_named(many) and first < FIRST_REQUESTS and is_positive(many - first):
        yield first
        first += 1
    yield from range(first, many)


def _unswizzled(stored: Stored, width: int) -> Stored:
    """Return a tile without swizzles that move blocks of the width whole: a vector has the same faults."""
    layout = stored.layout
    if any(own.period > 1 and 1 << own.base < width for own in layout.swizzles) or layout.outer:
        return stored
    return replace(stored, layout=replace(layout, swizzles=()))


def indices_of(access: Access) -> Int64s:
    """Return the flat indices [request, lane, element]; of inactive lanes some are past the end."""
    from tilewise.tables import table

    return table(access.index).array.reshape(access.requests, access.lanes, access.elements)


def vectors_in(places: Int64s, indices: Int64s, step: int) -> tuple[Int64s, Bools, Bools]:
    """Return the starts of the lanes' vectors, the active lanes, and the lanes that no instruction serves.

    requires  places[index] is where an element begins, for indices[request, lane, element]; the elements of
              a vector follow one another by a step
    """
    inside = indices.view("uint64") < len(places)  # as unsigned numbers, those below 0 are past the end
    where = places.take(indices, mode="clip")
    first, active, elements = where[..., 0], inside[..., 0], indices.shape[-1]
    wrong = active & ((first % (elements * step) != 0) | (first < 0))
    if elements > 1:
        wrong |= active & (where[..., 1:] - where[..., :-1] != step).any(axis=-1)
        wrong |= (inside != active[..., None]).any(axis=-1)
    return first, active, wrong


def _check_lane(stored: Stored, access: Access, request: int, lane: int) -> None:
    """Refuse a lane that no instruction serves, with the first fault of its vector as the witness."""
    start, count = (request * access.lanes + lane) * access.elements, access.elements
    indices = [access.index.points(start + element)[0][0] for element in range(count)]
    outside = [index for index in indices if not 0 <= index < stored.size]
    places = [] if outside else [stored.at(index) for index in indices]
    apart = [i for i in range(1, len(places)) if places[i] != places[i - 1] + stored.step]
    misplaced = not outside and (places[0] < 0 or places[0] % (count * stored.step))
    if len(outside) == count or not (outside or apart or misplaced):
        return  # the lane is inactive, or its vector is one
    wrong = [indices[0], *outside[:1]]
    if apart:
        wrong = indices[apart[0] - 1 : apart[0] + 1]
    witness: dict[str, Any] = {"request": request, "lane": lane, "rule": "end", "elements": wrong}
    hint = "a narrower vector ends with the tile"
    why = f" of which element {wrong[-1]} is past the end of the tile"
    if not outside:
        operation, bytes = access.operation, [_byte(stored, index) for index in wrong]
        before = " before the swizzle" * (bool(stored.tile.swizzles) > bool(stored.layout.swizzles))
        hint = f"{operation.name} takes 16-byte rows as they lie, from multiples of 16 on" * operation.matrix
        if apart:
            rule, hint = "neighbours", _turned(stored, access.name) or hint
            why = f", and elements {wrong[0]} and {wrong[1]} are at bytes {bytes[0]} and {bytes[1]}{before}"
            why += ": no neighbours"
        else:
            below = places[0] < 0
            rule, hint = ("negative", "") if below else ("alignment", hint)
            kind = "below 0" if below else f"no multiple of {access.bytes}"
            why = f" from element {wrong[0]} on, which is at byte {bytes[0]}{before}, {kind}"
        witness |= {"rule": rule, "addresses": bytes}
    message = f"lane {lane} of request {request} asks for {counted(access.bytes, 'byte')}{why}"
    raise Refused("TW610", message, witness=witness, hint=hint)


def _byte(stored: Stored, index: int) -> int | str:
    """Return the place of an element in bytes; in bytes and bits where it is no whole byte."""
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
