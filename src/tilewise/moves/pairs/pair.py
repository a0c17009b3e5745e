"""Two layouts of memory as one list of digits: what every plan, and every kernel, starts from.

    for all digits:    target[P' + Sw'(O' + sum of digit * write)] = source[P + Sw(O + sum of digit * read)]

Copies of the target are digits that do not move in the source. Where the digits of the two do not divide each
other there is no such list, and each side is asked by the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import prod
from typing import Any

from tilewise.core.axes import STORAGE
from tilewise.core.digits import clash, merged, place_values, split
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import aligned, by_coordinates
from tilewise.core.shapes import as_shape, extents_of, leaves, spell
from tilewise.core.swizzles import Swizzle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.dtypes import DType

_NO_MEMORY = ("reg", "TCol")
"""Storage that no pointer reaches: registers, and the columns of tensor memory."""

Steps = list[tuple[int, int]]
"""(extent, stride) of the digits of a mode, the slowest first."""


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of the index: its steps in the source and in the target, and what it counts in each limit."""

    extent: int
    read: int
    write: int
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """Digits that count further than the tensor goes: where they count to `bound` or more, nothing is read.

    The target then gets the fill, or is left alone.
    """

    bound: int
    fills: bool


@dataclass(frozen=True, slots=True)
class Side:
    """One storage: the address of element zero, what permutes the addresses, how many elements there are.

    `outer` is added to what is permuted; it is none where nothing is.
    """

    start: int
    size: int
    swizzles: tuple[Swizzle, ...] = ()
    outer: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """Source and target over one list of digits; `digits` is None where there is none."""

    layouts: tuple[Layout, Layout]
    bits: int
    box: tuple[int, ...] | None
    source: Side
    target: Side
    digits: tuple[Digit, ...] | None
    limits: tuple[Limit, ...] = ()
    exchanged: int | None = None
    """The digit of two bytes that exchange halves, where elements of 4 bits are counted in bytes."""
    spread: bool = False
    """Whether elements of 4 bits are counted as bytes each, which they are in shared memory alone."""

    @property
    def holes(self) -> bool:
        """Whether the target has addresses that no element takes."""
        count = _taken(self.layouts[1])
        return count is None or count != self.target.size

    @property
    def beyond(self) -> int:
        """How many elements the target has beyond the box."""
        return 0 if self.box is None else self.layouts[1].size - prod(self.box)

    @property
    def bytes(self) -> int:
        """What the layouts touch once, read and written; the fill of holes is not counted.

        Of a source's copies one is read.
        """
        source, target = self.layouts
        read, written = _taken(replace(source, replica=()) if source.replica else source), _taken(target)
        if self.box is not None:
            read = min(prod(self.box), read or prod(self.box))
        touched = (read or self.layouts[0].size) + (written or self.layouts[1].size)
        return -(-touched * self.bits // 8)


def pair_of(source: Layout, target: Layout, dtype: DType, shape: Any = None) -> Pair:
    """What moves: every element, from its place in the source to all its places in the target.

    With `shape` the box of that shape moves, mode by mode: what the target has beyond it gets the fill, and
    what the source has beyond it is left out.

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
    box = _box(source, target, shape)
    if box is None:
        source, target = aligned(source, target)
    else:
        source, target = by_coordinates(source), by_coordinates(target)
    source, target = _in_elements(source, dtype), _in_elements(target, dtype)
    sides = _side(source, "source"), _side(target, "target")
    for side, name in zip(sides, ("source", "target"), strict=True):
        _refuse_beyond_64_bits(side, name, dtype)
    target = _without_idle_copies(target)
    _refuse_meeting(target)
    return Pair((source, target), dtype.bits, box, *sides, *_digits(source, target, box))


def storage_size(layout: Layout, dtype: DType) -> int:
    """How many elements the storage of a target has.

    >>> from tilewise import DType, S
    >>> storage_size(S[3, 4] + 5, DType.of("f32"))
    17
    """
    return _side(_in_elements(layout, dtype), "target").size


def _in_elements(layout: Layout, dtype: DType) -> Layout:
    return layout if layout.unit == "element" else layout.in_elements(dtype)


def _without_idle_copies(layout: Layout) -> Layout:
    """The same map without the copies of elements that lie where these do."""
    moving = tuple(it for it in layout.replica if it.stride.terms)
    if len(moving) == len(layout.replica):
        return layout
    return layout.with_parts(layout.shape, layout.strides, moving, layout.offset)


def _side(layout: Layout, name: str) -> Side:
    """The storage that a layout asks for."""
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


def _refuse_beyond_64_bits(side: Side, name: str, dtype: DType) -> None:
    size = -(-side.size * dtype.bits // 8)
    if max(size, side.size) >= 1 << 63:
        raise LayoutError(
            "TW302",
            f"the {name} reaches {size} bytes, and kernels count them in 64-bit integers",
            hint="move a part of it, which a memory holds",
        )


def _storage_axis(layout: Layout, name: str) -> str:
    """The one axis on which a layout of memory steps."""
    names = layout.moving or ("m",)
    owners = [axis.name for axis in layout.axes if axis.name in names and axis.kind != STORAGE]
    if owners or len(names) > 1 or names[0] in _NO_MEMORY:
        raise LayoutError(
            "TW701",
            f"the {name} is no layout of one memory: it steps on {', '.join(names)}",
            hint="both are layouts on m alone, or both of registers: memory to registers is a load",
        )
    return names[0]


def _refuse_meeting(target: Layout) -> None:
    """A target where two elements meet would keep either of them."""
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


def _box(source: Layout, target: Layout, shape: Any) -> tuple[int, ...] | None:
    """The box that moves, or None where all of both does."""
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
    fits = len(box) == len(ours) == len(theirs) and all(map(_within, box, ours, theirs))
    if not fits:
        raise LayoutError(
            "TW702",
            f"the box {spell(box)} is not in both {spell(source.shape)} and {spell(target.shape)}",
            hint="a box has one extent for each mode, and lies in the source and in the target",
        )
    return None if box == ours == theirs else box


def how_many(layout: Layout) -> str:
    """How many elements a layout has, and in which shape where it has modes.

    >>> from tilewise import S
    >>> how_many(S[300, 5]), how_many(S[4])
    ('1500 elements in (300, 5)', '4 elements')
    """
    shape = f" in {spell(layout.shape)}" if len(layout.shape) > 1 else ""
    return f"{counted(layout.size, 'element')}{shape}"


def _within(box: int, *sides: int) -> bool:
    return box <= min(sides)


# -- digits ----------------------------------------------------------------------------------------


def _digits(
    source: Layout, target: Layout, box: tuple[int, ...] | None
) -> tuple[tuple[Digit, ...] | None, tuple[Limit, ...]]:
    """The digits that both sides have in common, and where they count too far."""
    axes = [_storage_axis(layout, "") for layout in (source, target)]
    digits: list[Digit] = []
    limits: list[Limit] = []
    for extent, goes_on, ours, theirs in _modes(source, target, axes, box):
        common = _common(ours, theirs, goes_on)
        if common is None:
            return None, ()
        own = list(_limits(prod(reach for reach, *_ in common), extent, goes_on))
        for reach, read, write, weight in common:
            digits.append(Digit(reach, read, write, (0,) * len(limits) + (weight,) * len(own)))
        limits += own
    digits += [Digit(it.extent, 0, it.stride[axes[1]]) for it in target.replica]
    return tuple(_counted(digit, len(limits)) for digit in digits), tuple(limits)


def _limits(reach: int, extent: int, goes_on: int) -> Iterator[Limit]:
    """Where digits that count to `reach` go beyond the box, and beyond the target."""
    if reach > extent:
        yield Limit(extent, fills=goes_on > extent)
    if reach > goes_on > extent:
        yield Limit(goes_on, fills=False)


def _counted(digit: Digit, limits: int) -> Digit:
    missing = (0,) * (limits - len(digit.counts))
    return Digit(digit.extent, digit.read, digit.write, digit.counts + missing)


def _modes(
    source: Layout, target: Layout, axes: Sequence[str], box: tuple[int, ...] | None
) -> Iterator[tuple[int, int, Steps, Steps]]:
    """Of each mode: its extent in the box, how far the target goes on, and the digits of both sides.

    Without a box all is one mode, the flat index.
    """
    ours, theirs = (
        [merged((it.extent, it.stride[axis]) for it in mode) for mode in by_mode(layout, box)]
        for layout, axis in zip((source, target), axes, strict=True)
    )
    extents = box or (source.size,)
    ends = extents_of(target.shape) if box else extents
    yield from zip(extents, ends, ours, theirs, strict=True)


def by_mode(layout: Layout, box: tuple[int, ...] | None) -> Iterator[tuple[Any, ...]]:
    if box is None:
        yield layout.shard
        return
    iters = iter(layout.shard)
    for mode in layout.shape:
        yield tuple(islice(iters, sum(1 for _ in leaves(mode))))


def _common(ours: Steps, theirs: Steps, extent: int) -> list[tuple[int, int, int, int]] | None:
    """Return (extent, read, write, weight) of common digits, the slowest first; None where places clash.

    The slowest digits go as far as `extent` needs, whatever either side has.
    """
    values = [place_values(reach for reach, _ in steps) for steps in (ours, theirs)]
    if clash(*values):
        return None
    weights = sorted({1, *values[0], *values[1]})
    size = -(-extent // weights[-1]) * weights[-1]
    cuts = [weight for weight in weights if weight < size]
    read, written = (
        [piece for piece in split(_reaching(steps, size), cuts) if piece[0] > 1] for steps in (ours, theirs)
    )
    return [
        (reach, step, other, weight)
        for (reach, step), (_, other), weight in zip(read, written, reversed(cuts), strict=True)
    ]


def _reaching(steps: Steps, size: int) -> Steps:
    """Return the digits, the slowest of them with the extent that makes them `size` in all."""
    (_, slowest), *faster = steps or [(1, 0)]
    return [(size // prod(extent for extent, _ in faster), slowest), *faster]


def _taken(layout: Layout) -> int | None:
    """How many addresses a layout takes; None where that is not decided."""
    count = layout.holes.count
    if count is None:
        return None
    (axis,) = layout.moving or ("m",)
    low, high = layout.extremes(axis)
    return high - low + 1 - count
