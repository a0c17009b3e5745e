"""A layout from what the bits of its places hold: a linear map over GF(2), from places to elements.

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

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import bits_of
from tilewise.core.layout import Iter, Layout
from tilewise.core.swizzles import Swizzle, apply_chain
from tilewise.core.vectors import Vector

Held = Mapping[Axis, Sequence[int | None]]
"""By axis, what each bit of a place moves the flat index of its element by, the lowest bit first.

0 stands for a bit that moves nothing: the element has a copy there. None stands for a hole: no element is
there.
"""
Step = tuple[Axis, int]
"""A step of so many along an axis."""


@dataclass(frozen=True, slots=True)
class PlaceBits:
    """Where the bits of an element's index go: a step each, with copies and swizzles."""

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
            digits = _merged(reversed(self.steps[position : position + seen.bit_length() - 1]))
            extents.append(tuple(e for e, _ in digits) if len(digits) > 1 else seen)
            strides += [step @ axis for _, (axis, step) in digits] or [Vector()]
        copies = [Iter(e, step @ axis) for e, (axis, step) in _merged(reversed(self.copies))]
        return Layout(tuple(extents), tuple(strides), replica=tuple(copies), swizzles=self.swizzles)


def _merged(steps: Iterable[Step]) -> list[tuple[int, Step]]:
    """Return (extent, step) of the digits that bits make, the slowest first."""
    merged: list[tuple[int, Step]] = []
    for axis, step in steps:
        if merged and merged[-1][1] == (axis, 2 * step):
            merged[-1] = merged[-1][0] * 2, (axis, step)
        else:
            merged.append((2, (axis, step)))
    return merged


def place_bits(held: Held, shape: Sequence[int]) -> PlaceBits:
    """Return where the elements of a shape live, for places that hold them so.

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
    size = prod(shape)
    needed = _swizzled_axis(held, shape)
    ops: list[tuple[int, int]] = []
    after: dict[Axis, Sequence[int | None]] = dict(held)
    if needed is not None:
        after[needed], ops = _eliminated(held[needed])
        clash = _clash(after)
        if clash is not None:
            raise _refused(clash, shape)
    steps: dict[int, Step] = {}
    copies: list[Step] = []
    for axis, moves in after.items():
        for bit, move in enumerate(moves):
            if move:
                steps[move] = axis, 1 << bit
            elif move == 0:
                copies.append((axis, 1 << bit))
    missing = next((1 << bit for bit in range(size.bit_length() - 1) if 1 << bit not in steps), None)
    if missing is not None:
        index = _coordinates(missing, shape)
        raise Refused("TW202", f"no place holds element {index}", witness=index)
    swizzles = tuple(_swizzles(ops, needed)) if needed is not None else ()
    return PlaceBits(tuple(steps[1 << bit] for bit in range(size.bit_length() - 1)), tuple(copies), swizzles)


def _clash(held: Held) -> tuple[Axis, int, int] | None:
    """Return an axis, one of its bits, and what that moves, where it is not one bit of its own."""
    moved = 0
    for axis, moves in held.items():
        for bit, move in enumerate(moves):
            if move and (move & move - 1 or move & moved):
                return axis, bit, move
            moved |= move or 0
    return None


def _swizzled_axis(held: Held, shape: Sequence[int]) -> Axis | None:
    """Return the storage axis that needs swizzles, if any does; refuse where they would not do."""
    if _clash(held) is None:
        return None
    owners = {axis: moves for axis, moves in held.items() if axis.kind != "storage"}
    clash = _clash(owners)
    if clash is not None:
        raise _refused(clash, shape)
    needed = [axis for axis in held if axis not in owners and _clash({**owners, axis: held[axis]})]
    if len(needed) != 1:
        found = _clash(held)
        assert found is not None
        raise _refused(found, shape)
    return needed[0]


def _refused(clash: tuple[Axis, int, int], shape: Sequence[int]) -> Refused:
    axis, bit, move = clash
    index = _coordinates(move, shape)
    if move & move - 1:
        parts = " and ".join(str(_coordinates(1 << low, shape)) for low in bits_of(move))
        why = f"element {index} lives at {1 << bit}@{axis}, which is no sum of where {parts} live"
    else:
        why = f"element {index} lives at {1 << bit}@{axis} or at another place, and not at both"
    on_axis = "" if axis.kind == "storage" else f"; {axis} is no storage, so no swizzle acts on it"
    return Refused(
        "TW510",
        f"places are XORs here, and no sums: {why}{on_axis}",
        witness=index,
        hint="a layout adds up its digits; XORs it has as swizzles on one storage axis",
    )


def _coordinates(flat: int, shape: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for extent in reversed(shape):
        flat, coordinate = divmod(flat, extent)
        found.append(coordinate)
    return tuple(reversed(found))


def _eliminated(moves: Sequence[int | None]) -> tuple[list[int | None], list[tuple[int, int]]]:
    """Return what the bits move once bits are added to bits, and (source, target) of what was added.

    An entry (s, t) says: bit s of the place flips bit t too. The first acts last. Bits that move one bit of
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


def _swizzles(ops: list[tuple[int, int]], axis: Axis) -> Iterable[Swizzle]:
    """Yield swizzles that do the same, the outermost first: those that commute are gathered into few."""
    gathered: list[list[tuple[int, int]]] = []
    sources: set[int] = set()
    targets: set[int] = set()
    for source, target in ops:
        if not gathered or source in targets or target in sources:
            gathered.append([])
            sources, targets = set(), set()
        gathered[-1].append((source, target))
        sources.add(source)
        targets.add(target)
    for group in gathered:
        ordered = sorted((source - target, min(source, target)) for source, target in group)
        while ordered:
            shift, base = ordered.pop(0)
            bits = 1
            while (shift, base + bits) in ordered:
                ordered.remove((shift, base + bits))
                bits += 1
            yield Swizzle(bits, base, shift, axis)


def bits_in(shape: Sequence[int], what: str) -> tuple[int, ...]:
    """Return how many bits the index has in each dimension; refuse an extent that is no power of two.

    >>> bits_in((4, 1, 8), "the shape")
    (2, 0, 3)
    """
    for extent in shape:
        if extent < 1 or extent & extent - 1:
            raise LayoutError("TW202", f"{what} has the extent {extent}, which is no power of two")
    return tuple(extent.bit_length() - 1 for extent in shape)


def held_by(layout: Layout) -> dict[Axis, tuple[int | None, ...]]:
    """Return what the bits of the places hold: the inverse of `place_bits`, for a layout that is such a map.

        postcondition  place_bits(held_by(L), shape of L).layout(shape of L) is the same map as L
        refused        TW512 where extents or steps are no powers of two of their own, or an offset moves all

    >>> from tilewise import R, S, laneid, reg, warpid
    >>> held_by(S[(4, 2) : (1@laneid, 1@reg)] + R[2 : 1@warpid])
    {laneid: (2, 4), reg: (1,), warpid: (0,)}
    """
    if layout.offset or layout.outer:
        raise Refused(
            "TW512", f"an offset of {layout.offset + layout.outer} moves all places", hint="leave it out"
        )
    homes: dict[Axis, dict[int, int]] = {axis: {} for axis in layout.axes}
    element = 1
    for extent, stride in reversed(layout.digits):
        for bit in range(_exact_bits(extent)):
            _put(homes, stride, bit, element << bit)
        element *= extent
    for it in layout.replica:
        for bit in range(_exact_bits(it.extent)):
            _put(homes, it.stride, bit, 0)
    found: dict[Axis, tuple[int | None, ...]] = {}
    for axis, moves in homes.items():
        if axis == layout.swizzled_axis:
            found[axis] = _behind(layout.swizzles, moves)
        else:
            found[axis] = tuple(moves.get(bit) for bit in range(max(moves, default=-1) + 1))
    return found


def _exact_bits(extent: int) -> int:
    if extent & extent - 1:
        raise Refused("TW512", f"extent {extent} is no power of two", witness={"extent": extent})
    return extent.bit_length() - 1


def _put(homes: dict[Axis, dict[int, int]], stride: Vector, bit: int, element: int) -> None:
    """Note that one bit of a place moves an element so."""
    steps = [(axis, steps) for axis, steps in stride.terms if steps]
    if len(steps) != 1 or steps[0][1] < 1 or steps[0][1] & steps[0][1] - 1:
        raise Refused(
            "TW512",
            f"a step of {stride or 0} moves no single bit of a place",
            witness={"stride": str(stride)},
        )
    axis, step = steps[0]
    place = step.bit_length() - 1 + bit
    if place in homes[axis]:
        raise Refused(
            "TW512", f"two digits move bit {place} of {axis}", witness={"axis": axis.name, "bit": place}
        )
    homes[axis][place] = element


def _behind(swizzles: Sequence[Swizzle], moves: Mapping[int, int]) -> tuple[int | None, ...]:
    """Return what the bits of an address move, where these places are swizzled."""
    addresses = [apply_chain(swizzles, 1 << bit) for bit in moves]
    found: list[int | None] = []
    for bit in range(max(addresses, default=0).bit_length()):
        parts = bits_of(apply_chain(swizzles[::-1], 1 << bit))
        known = [moves[part] for part in parts if part in moves]
        if known and len(known) < len(parts):
            raise Refused("TW512", f"bit {bit} of an address lies in a hole for some elements alone")
        total = 0
        for move in known:
            total ^= move
        found.append(total if known else None)
    return tuple(found)
