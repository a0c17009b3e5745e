"""Two layouts of memory as one list of digits: the start of every plan, and of every kernel.

    for all digits:    target[P' + Sw'(O' + sum of digit * write)] = source[P + Sw(O + sum of digit * read)]

Copies of the target are digits that do not move in the source. Where the digits of the two do not divide each
other there is no such list, and each side computes addresses from the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import lcm, prod
from typing import Any

from tilewise.core.axes import STORAGE
from tilewise.core.digits import merged, refined
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned, by_coordinates
from tilewise.core.polynomials import is_positive, is_same
from tilewise.core.shapes import as_shape, extents_of, leaves, spell
from tilewise.core.swizzles import Swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.dtypes import DType

TOO_LARGE = 1 << 63
"""Bytes, or elements, that no kernel counts."""

NO_MEMORY = frozenset(["reg", "TCol"])
"""Storage that no pointer reaches: registers, and the columns of tensor memory."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of the index: its steps in the source and in the target, and its count in each limit."""

    extent: int
    read: int
    write: int
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of digits that count beyond the tensor: where they count to `bound` or more, nothing is read.

    The target then gets the fill, or stays unchanged.
    """

    bound: int
    fills: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One storage: the address of element zero, its size in elements, and the swizzles of its addresses.

    `outer` is added after the swizzles; it is 0 without swizzles.
    """

    start: int
    size: int
    swizzles: tuple[Swizzle, ...] = ()
    outer: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """Source and target over one list of digits; `digits` is None if there is no such list."""

    layouts: tuple[Layout, Layout]
    bits: int
    box: tuple[int, ...] | None
    source: Side
    target: Side
    digits: tuple[Digit, ...] | None
    limits: tuple[Limit, ...] = ()
    spread: bool = False
    """True if elements of 4 bits count as bytes, as they do in shared memory."""

    @property
    def has_names(self) -> bool:
        """Return True if a number of it has a name."""
        source, target = self.layouts
        return source.has_names or target.has_names

    @property
    def holes(self) -> bool:
        """Return True if the target has addresses that no element takes."""
        count = _taken(self.layouts[1])
        return count is None or count != self.target.size

    @property
    def beyond(self) -> int:
        """Return the number of elements that the target has beyond the box."""
        return 0 if self.box is None else self.layouts[1].size - prod(self.box)

    @property
    def bytes(self) -> int:
        """Return the bytes that the layouts touch once, read and written, without the fill of holes.

        Of a source's copies, one is read.
        """
        source, target = self.layouts
        read, written = _taken(replace(source, replica=()) if source.replica else source), _taken(target)
        if self.box is not None:
            read = min(prod(self.box), read or prod(self.box))
        touched = (read or self.layouts[0].size) + (written or self.layouts[1].size)
        return -(-touched * self.bits // 8)


def pair_of(source: Layout, target: Layout, dtype: DType, shape: Any = None) -> Pair:
    """Return the pair: every element, from its place in the source to all its places in the target.

    With `shape` the box of that shape moves, mode by mode. Elements of the target beyond it get the fill;
    elements of the source beyond it are left out.

        requires  one storage axis each, no address below zero, no two elements at one address of the target,
                  and one size; with a shape, a box that lies in both
        refused   TW302 storages of 2^63 bytes and more

    >>> from tilewise import DType, S
    >>> pair = pair_of(S[6, 4], S[(6, 4) : (1, 6)], DType.of("f16"))
    >>> [(digit.extent, digit.read, digit.write) for digit in pair.digits]
    [(6, 4, 1), (4, 1, 6)]
    >>> padded = pair_of(S[5, 4], S[8, 4], DType.of("u8"), shape=(5, 4))
    >>> [(digit.extent, digit.counts) for digit in padded.digits], padded.limits
    ([(8, (1,)), (4, (0,))], (Limit(bound=5, fills=True),))
    """
    box = box_of(source, target, shape)
    if box is None:
        source, target = aligned(source, target)
    else:
        source, target = by_coordinates(source), by_coordinates(target)
    source, target = _in_elements(source, dtype), _in_elements(target, dtype)
    sides = _side(source, "source"), _side(target, "target")
    for side, name in zip(sides, ("source", "target"), strict=True):
        size = -(-side.size * dtype.bits // 8)
        if any(is_positive(own - TOO_LARGE + 1) for own in (size, side.size)):
            raise LayoutError(
                "TW302",
                f"the {name} reaches {size} bytes, and kernels count them in 64-bit integers",
                hint="move a part of it, which a memory holds",
            )
    moving = tuple(it for it in target.replica if it.stride.terms)
    if len(moving) != len(target.replica):  # copies that lie where the elements do
        target = target.with_parts(target.shape, target.strides, moving, target.offset)
    refuse_meeting(target)
    return Pair((source, target), dtype.bits, box, *sides, *_digits(source, target, box))


def storage_size(layout: Layout, dtype: DType) -> int:
    """Return the number of elements of a target's storage.

    >>> from tilewise import DType, S
    >>> storage_size(S[3, 4] + 5, DType.of("f32"))
    17
    """
    return _side(_in_elements(layout, dtype), "target").size


def _in_elements(layout: Layout, dtype: DType) -> Layout:
    return layout if layout.unit == "element" else layout.in_elements(dtype)


def _side(layout: Layout, name: str) -> Side:
    """Return the storage of a layout; refuse addresses below zero."""
    axis = _storage_axis(layout, name)
    try:
        low, high = layout.extremes(axis)
    except NotDecided as error:
        raise NotDecided(f"how far the {name} reaches is not decided: {error.message}") from error
    if low < 0:
        raise LayoutError(
            "TW701",
            f"the {name} has addresses below zero, down to {low}",
            hint=f"a storage begins at address zero: add {-low}, and pass the storage from there",
        )
    return Side(layout.offset[axis], high + 1, layout.swizzles, layout.outer[axis])


def _storage_axis(layout: Layout, name: str) -> str:
    """Return the one axis on which a layout of memory steps; refuse others."""
    names = layout.moving or ("m",)
    owners = [axis.name for axis in layout.axes if axis.name in names and axis.kind != STORAGE]
    if owners or len(names) > 1 or names[0] in NO_MEMORY:
        raise LayoutError(
            "TW701",
            f"the {name} is no layout of one memory: it steps on {', '.join(names)}",
            hint="both are layouts on m alone, or both of registers: memory to registers is a load",
        )
    return names[0]


def refuse_meeting(target: Layout) -> None:
    """Refuse a target where two elements meet: it would keep either of them."""
    verdict = target.injective
    if verdict.answer is None:
        raise NotDecided(f"whether elements meet in the target is not decided: {verdict.reason}")
    if not verdict.answer:
        raise Refused(
            "TW703",
            f"two elements have one place in the target: {verdict.reason}",
            witness=verdict.witness,
            hint="a target holds every element in places of its own; copies are written as R[...]",
        )


def box_of(source: Layout, target: Layout, shape: Any) -> tuple[int, ...] | None:
    """Return the box that moves, or None if all of both layouts moves."""
    ours, theirs = extents_of(source.shape), extents_of(target.shape)
    if shape is None:
        if source.size != target.size:
            raise LayoutError(
                "TW702",
                f"the source has {how_many(source)}, the target {how_many(target)}",
                hint="to pad or to crop say which box moves: shape=" + spell(tuple(map(min, ours, theirs)))
                if len(ours) == len(theirs)
                else "to pad or to crop write both with as many modes, and say which box of them moves",
            )
        return None
    box = extents_of(as_shape(shape))
    sides = zip(box, ours, theirs, strict=False)
    if not len(box) == len(ours) == len(theirs) or any(own > min(both) for own, *both in sides):
        raise LayoutError(
            "TW702",
            f"the box {spell(box)} is not in both {spell(source.shape)} and {spell(target.shape)}",
            hint="a box has one extent for each mode, and lies in the source and in the target",
        )
    return None if box == ours == theirs else box


def how_many(layout: Layout) -> str:
    """Return the number of elements of a layout, with its shape if it has several modes.

    >>> from tilewise import S
    >>> how_many(S[300, 5]), how_many(S[4])
    ('1500 elements in (300, 5)', '4 elements')
    """
    shape = f" in {spell(layout.shape)}" if len(layout.shape) > 1 else ""
    return f"{counted(layout.size, 'element')}{shape}"


# -- digits ----------------------------------------------------------------------------------------


def _digits(
    source: Layout, target: Layout, box: tuple[int, ...] | None
) -> tuple[tuple[Digit, ...] | None, tuple[Limit, ...]]:
    """Return the digits that both sides share, or None where places clash; and the limits of long digits.

    The slowest digits of a mode go as far as the target needs, whatever either side has.
    """
    digits: list[Digit] = []
    limits: list[Limit] = []
    extents = box or (source.size,)
    ends = extents_of(target.shape) if box else extents
    sides = _by_mode(source, box), _by_mode(target, box)
    for extent, end, ours, theirs in zip(extents, ends, *sides, strict=True):
        both = ours, theirs
        reach = end
        if box:  # else both sides have all digits of one size
            inner = lcm(*(prod(count for count, _ in steps[1:]) for steps in both))
            reach = -(-end // inner) * inner
        for steps in both:  # the slowest digit, perhaps of no step, goes as far as the target needs
            step = steps[0][1] if steps else 0
            steps[:1] = [(reach // prod(count for count, _ in steps[1:]), step)]
        common = refined(ours, theirs, is_same)
        if common is None:
            return None, ()
        bounds = [Limit(extent, fills=end > extent)] if reach > extent else []
        bounds += [Limit(end, fills=False)] if reach > end > extent else []
        weight = reach
        for (count, read), (_, write) in zip(*common, strict=True):
            weight //= count
            digits.append(Digit(count, read, write, (0,) * len(limits) + (weight,) * len(bounds)))
        limits += bounds
    axis = _storage_axis(target, "target")
    digits += [Digit(it.extent, 0, it.stride[axis]) for it in target.replica]
    if limits:
        every = len(limits)
        digits = [replace(own, counts=(*own.counts, *(0,) * (every - len(own.counts)))) for own in digits]
    return tuple(digits), tuple(limits)


def _by_mode(layout: Layout, box: tuple[int, ...] | None) -> Iterator[list[tuple[int, int]]]:
    """Yield the digits of each mode, (extent, stride); without a box the flat index is the only mode."""
    axis, iters = _storage_axis(layout, ""), iter(layout.shard)
    for mode in layout.shape if box else [layout.shape]:
        own = islice(iters, sum(1 for _ in leaves(mode)))
        yield merged(((it.extent, it.stride[axis]) for it in own), is_same)


def _taken(layout: Layout) -> int | None:
    """Return the number of addresses that a layout takes, or None if that is not decided."""
    count = layout.holes.count
    if count is None:
        return None
    (axis,) = layout.moving or ("m",)
    low, high = layout.extremes(axis)
    return high - low + 1 - count
