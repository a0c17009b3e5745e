"""Layouts as maps over GF(2): bases, rank and kernel, and layouts from the elements at each bit of a place.

`tilewise.core.bits.affine` has the map itself, with its inverse and its products.

Compilers write layouts this way round: bit k of a lane's number moves the element that the lane holds by some
XOR. The map of a layout goes the other way, from an element to all of its places. It is a sum of digits
iff, behind some swizzles, every bit of a place moves the element by nothing, or by one bit that no other
place moves:

    if        such a bit of the element is a digit of its own, and a bit that moves nothing doubles the copies
    only if   digits are sums. The places of 0 are a coset of the kernel, and those of any other element
              are that set moved by a constant: XORs with it are sums iff the kernel has no bit in common with
              any digit, and then all bits are as said

A swizzle acts on one storage axis, so a chain of them may add the bits of this axis to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.algebra.recognition import recognise_map
from tilewise.core.axes import Axis, m
from tilewise.core.bits import Bits, affine
from tilewise.core.canonical import merged_shard
from tilewise.core.chains import as_swizzles
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int, bits_of
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import coordinates
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, as_vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout


# -- from places to elements -----------------------------------------------------------------------

Held = Mapping[Axis, Sequence[int | None]]
"""{axis: the step of the flat index for each bit of a place, the lowest bit first}.

0 stands for a bit that moves nothing: the element has a copy there. None stands for a hole: no element is
there.
"""
Step = tuple[Axis, int]
"""An axis, and the number of steps along it."""


@dataclass(frozen=True, slots=True)
class PlaceBits:
    """The places of the bits of an element's index: a step each, with copies and swizzles."""

    steps: tuple[Step, ...]
    """The steps of the bits of the flat index, the lowest first."""
    copies: tuple[Step, ...] = ()
    swizzles: tuple[Swizzle, ...] = ()

    def layout(self, shape: Sequence[int], view: Sequence[int] | None = None) -> Layout:
        """Return the layout of a shape, or of the view that begins where the shape does.

        >>> from tilewise.core.axes import m
        >>> PlaceBits(((m, 1), (m, 2), (m, 4), (m, 8))).layout((4, 4), view=(4, 2))
        S[(4, 2) : (4, 1)]
        """
        extents: list[int | tuple[int, ...]] = []
        strides: list[Vector] = []
        position = len(self.steps)
        for extent, seen in zip(shape, view or shape, strict=True):
            position -= extent.bit_length() - 1
            digits = _merged(self.steps[position : position + seen.bit_length() - 1])
            extents.append(tuple(it.extent for it in digits) if len(digits) > 1 else seen)
            strides += [it.stride for it in digits] or [Vector()]
        return Layout(tuple(extents), tuple(strides), replica=_merged(self.copies), swizzles=self.swizzles)


def _merged(steps: Sequence[Step]) -> tuple[Iter, ...]:
    """Return the digits that bits make, the slowest first."""
    return tuple(merged_shard(tuple(Iter(2, step @ axis) for axis, step in reversed(steps))))


def place_bits(held: Held, shape: Sequence[int]) -> PlaceBits:
    """Return the places of the elements of a shape, from the elements that each bit of a place holds.

        requires  extents that are powers of two
        refused   TW510 where the map is no layout: an element that shows it is the witness;
                  TW202 where no place holds some element

    >>> from tilewise.core.axes import m
    >>> found = place_bits({Axis("laneid"): (1, 2), Axis("warpid"): (0, 4), Axis("reg"): (8,)}, (4, 4))
    >>> found.layout((4, 4))
    S[((2, 2), 4) : ((1@reg, 2@warpid), 1@laneid)] + R[2 : 1@warpid]
    >>> place_bits({m: (1, 2, 4 ^ 1, 8 ^ 2)}, (4, 4)).layout((4, 4))
    Swizzle(2, 0, 2) @ S[(4, 4) : (4, 1)]
    """
    after, swizzles, clash = held, tuple[Swizzle, ...](), _clash(held)
    for storage in [axis for axis in held if axis.kind == "storage" and clash]:
        freed, ops = _eliminated(held[storage])
        after, swizzles = {**held, storage: freed}, tuple(as_swizzles(ops, storage))
        clash = _clash(after)
        if not clash:
            break
    if clash:
        axis, bit, moved = clash
        extents = tuple(shape)
        index = coordinates(moved, extents)
        if moved & moved - 1:
            parts = " and ".join(str(coordinates(1 << low, extents)) for low in bits_of(moved))
            why = f"element {index} lives at {1 << bit}@{axis}, which is no sum of where {parts} live"
        else:
            why = f"element {index} lives at {1 << bit}@{axis} or at another place, and not at both"
        on_axis = "" if axis.kind == "storage" else f"; {axis} is no storage, so no swizzle acts on it"
        raise Refused(
            "TW510",
            f"places are XORs here, and no sums: {why}{on_axis}",
            witness=index,
            hint="a layout adds up its digits; XORs it has as swizzles on one storage axis",
        )
    steps: dict[int, Step] = {}
    copies: list[Step] = []
    for axis, moves in after.items():
        for bit, move in enumerate(moves):
            if move:
                steps[move] = axis, 1 << bit
            elif move == 0:
                copies.append((axis, 1 << bit))
    bits = [1 << bit for bit in range(prod(shape).bit_length() - 1)]
    for bit in bits:
        if bit not in steps:
            index = coordinates(bit, tuple(shape))
            raise Refused("TW202", f"no place holds element {index}", witness=index)
    return PlaceBits(tuple(steps[bit] for bit in bits), tuple(copies), swizzles)


def _clash(held: Held) -> tuple[Axis, int, int] | None:
    """Return an axis, one of its bits, and the bit's move, where that is not one bit that no other moves.

    On storage swizzles may help, so other axes come first.
    """
    moved = 0
    for axis in sorted(held, key=lambda axis: axis.kind == "storage"):
        for bit, move in enumerate(held[axis]):
            if move and (move & move - 1 or move & moved):
                return axis, bit, move
            moved |= move or 0
    return None


def _eliminated(moves: Sequence[int | None]) -> tuple[list[int | None], list[tuple[int, int]]]:
    """Return the moves of the bits once bits are added to bits, and the (source, target) of each addition.

    An entry (s, t): bit s of the place flips bit t too. The first acts last. Bits that move one bit of
    the element stay as they are, and the others are freed of these bits: so swizzles come out as they were
    written.
    """
    left = list(moves)
    ops: list[tuple[int, int]] = []
    pending = {bit for bit, move in enumerate(left) if move}
    while pending:
        pivot = min(pending, key=lambda bit: ((left[bit] or 0).bit_count(), bit))
        pending.discard(pivot)
        taken = left[pivot] or 0
        top = 1 << taken.bit_length() - 1 if taken else 0
        for bit, move in enumerate(left):
            if bit != pivot and move and move & top:
                left[bit] = move ^ taken
                ops.append((bit, pivot))
    return left, ops


def held_by(layout: Layout) -> dict[Axis, tuple[int | None, ...]]:
    """Return the elements that the bits of the places hold: the inverse of `place_bits`.

        postcondition  place_bits(held_by(L), shape of L).layout(shape of L) is the same map as L
        refused        TW512 where extents or single steps are no powers of two, or an offset moves all

    >>> from tilewise import R, S, laneid, reg, warpid
    >>> held_by(S[(4, 2) : (1@laneid, 1@reg)] + R[2 : 1@warpid])
    {laneid: (2, 4), reg: (1,), warpid: (0,)}
    """
    if layout.offset or layout.outer:
        raise Refused(
            "TW512", f"an offset of {layout.offset + layout.outer} moves all places", hint="leave it out"
        )
    digits = [*((it.extent, it.stride) for it in layout.replica), *layout.digits]
    for extent, stride in digits:
        steps = [step for _, step in stride.terms if step]
        if extent > 1 and (len(steps) > 1 or sum(map(int.bit_count, steps)) != 1 or steps[0] < 1):
            raise Refused(
                "TW512",
                f"a step of {stride or 0} moves no single bit of a place",
                witness={"stride": str(stride)},
            )
    # the bits of copies as further elements: an XOR of columns for every place, and its inverse
    extents, strides = tuple(extent for extent, _ in digits), tuple(stride for _, stride in digits)
    placed = affine(Layout(extents, strides, swizzles=layout.swizzles))
    elements = [element for (element,) in placed.quasi_inverse().columns]
    found: dict[Axis, tuple[int | None, ...]] = dict.fromkeys(layout.axes, ())
    for axis, width in reversed([*zip(placed.axes, placed.widths, strict=True)]):
        found[axis] = tuple(element & layout.size - 1 if element else None for element in elements[:width])
        for bit, element in enumerate(elements[:width]):
            if element and point(placed.axes, placed(element)).nonzero != (1 << bit) @ axis:
                raise Refused("TW512", f"bit {bit} of {axis} lies in a hole for some elements alone")
        elements = elements[width:]
    return found


# -- bases, rank and kernel ------------------------------------------------------------------------


def bases(layout: Layout) -> dict[str, tuple[int, ...]]:
    """Return the flips of every bit of the flat index on every axis, the lowest bit first.

        postcondition  place(x) == place(0) XOR the bases of the bits of x, axis by axis
        refused        TW512 where sums are no XORs, with two indices whose steps carry

    >>> from tilewise import S, Swizzle, laneid, reg
    >>> bases(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)])
    {'laneid': (0, 1, 2, 4, 8, 16), 'reg': (1, 0, 0, 0, 0, 0)}
    >>> bases(Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)])
    {'m': (1, 2, 5)}
    """
    return affine(layout).bases


def from_bases(bases: Any, origin: Any = 0, shape: Any = None) -> Layout:
    """Return the layout of XORs of bases, swizzled if need be: `{axis: a number a bit}`, or a list on m.

        postcondition  place(x) == origin XOR the bases of the bits of x, axis by axis
        refused        TW510 where no swizzle makes such a layout

    >>> from tilewise import laneid
    >>> from_bases({laneid: (0, 1, 2), "reg": (1, 0, 0)})
    S[(4, 2) : (1@laneid, 1@reg)]
    >>> from_bases([1, 2, 5], shape=(2, 4))
    Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)]
    """
    by_axis = dict(bases) if isinstance(bases, Mapping) and bases else {m: bases}
    axes = tuple(axis if isinstance(axis, Axis) else Axis(axis) for axis in by_axis)
    columns: list[tuple[int, ...]] = []
    for axis, values in zip(axes, by_axis.values(), strict=True):
        if not isinstance(values, Iterable):
            raise LayoutError(
                "TW107", f"the bases on {axis} are a list, one number a bit of the index, not {values!r}"
            )
        columns.append(tuple(as_int(value, f"a base on {axis}") for value in values))
    if len(set(map(len, columns))) > 1:
        counts = ", ".join(f"{len(column)} on {axis}" for axis, column in zip(axes, columns, strict=True))
        raise LayoutError(
            "TW107", f"bases of {counts}", hint="one number a bit of the index, 0 where it does not move"
        )
    start = as_vector(origin, "an origin")
    axes += tuple(axis for axis in start.axes if axis not in axes)
    columns += [(0,) * len(columns[0])] * (len(axes) - len(columns))
    places = Bits(tuple(start[axis] for axis in axes), tuple(zip(*columns, strict=True)), axes)
    found = recognise_map(places)
    return found if shape is None else found.reshape(shape)


def rank(layout: Layout) -> int:
    """Return the r for which the layout has 2^r places.

    >>> from tilewise import S
    >>> rank(S[(4, 2, 8) : (8, 0, 1)])
    5
    """
    return affine(layout).rank


def kernel(layout: Layout) -> tuple[int, ...]:
    """Return a basis of the indices d for which x and x ^ d have one place, for all x.

        postcondition  the XORs of the kernel are 2^(bits - rank) indices, all at the place of index 0

    >>> from tilewise import S
    >>> kernel(S[(4, 2, 8) : (8, 0, 1)])
    (8,)
    """
    return affine(layout).kernel
