"""Tiles and sums: two layouts side by side in every mode, and how to take them apart again.

    tile(outer, inner)   (x, y) -> outer(x) .* span(inner) + inner(y)
    direct_sum(a, b)     (x, y) -> a(x) + b(y)

Mode i of the result is (mode i of the first, mode i of the second), the first slow. Where a whole is
such a sum at all, the digits of its modes split between the two, and what one of them leaves over is
the other: found by dividing digits, copies and offsets, and checked by putting it together again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import prod

from tilewise.core import orders
from tilewise.core.algebra.sums import FAST, SLOW, check_units, settled, summed
from tilewise.core.axes import Axis
from tilewise.core.canonical import merged_replica, merged_shard
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Mode, as_shape, coordinates, extents_of, flat_index, leaves, mirrored, spell
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import ZERO, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIRST_PROBES, MAX_PROBES = 1 << 8, 1 << 12
MAX_TRIALS = 64

Scale = Mapping[str, int]
"""{axis name: how many places one step of the slow layout is}; 1 for an axis that is absent."""


# -- putting together ------------------------------------------------------------------------------


def tile(outer: Any, inner: Layout) -> Layout:
    """`inner` laid out again and again by `outer`: (x, y) -> outer(x) .* span(inner) + inner(y).

    On every axis the span is 1 + max - min of inner, copies counted, the offset not; it scales outer's
    strides, copies and offset. An outer that is an extent or a shape is a grid on the storage axis that
    inner moves on, its tiles counted as inner counts; where its rank is not inner's, the smaller has
    extents of 1 as its slowest modes.

        requires       as many modes in both
        postcondition  mode i is (outer's, inner's); copies of both, offsets added
        refused        TW504 where "swizzle each tile" is not "swizzle absolute addresses", or where
                       outer's swizzle does not scale by the span; TW509 a grid on several storage axes

    >>> from tilewise import R, S
    >>> tile(S[(8, 8) : (8, 1)], S[(2, 3) : (3, 1)])
    S[((8, 2), (8, 3)) : ((48, 3), (6, 1))]
    >>> tile(S[2 : 1] + R[2 : 2] + 5, S[4 : 1] + 3)
    S[((2, 4),) : ((4, 1),)] + R[2 : 8] + 23
    """
    if isinstance(inner, Layout) and not isinstance(outer, Layout):
        if inner.order != "row":
            return orders.turned(tile(mirrored(outer), orders.turned(inner)))
        outer, inner = _as_grid(outer, inner)
    return _tiled(outer, inner)


@orders.by_mode
def _tiled(outer: Layout, inner: Layout) -> Layout:
    _check(outer, inner)
    return _side_by_side(_stretched(outer, _spans(inner, outer.axes)), inner)


@orders.by_mode
def direct_sum(a: Layout, b: Layout) -> Layout:
    """Both layouts side by side in every mode, steps as they are: (x, y) -> a(x) + b(y).

        requires       as many modes in both
        postcondition  mode i is (a's, b's); copies of both, offsets added
        refused        TW504 where swizzling the sum is not summing the swizzled

    >>> from tilewise import S
    >>> direct_sum(S[(2, 2) : (8, 2)], S[(2, 2) : (4, 1)])
    S[((2, 2), (2, 2)) : ((8, 4), (2, 1))]
    """
    _check(a, b)
    return _side_by_side(a, b)


def _check(a: Any, b: Any) -> None:
    for layout in (a, b):
        if not isinstance(layout, Layout):
            raise LayoutError(
                "TW107",
                f"a layout belongs here, not the {type(layout).__name__} {layout!r}",
                hint="parse(text) makes a layout of text",
            )
    check_units(a, b)
    if len(a.shape) != len(b.shape):
        raise LayoutError(
            "TW503",
            f"{len(a.shape)} modes, {spell(a.shape)}, beside {len(b.shape)}, {spell(b.shape)}",
            hint="give both as many modes; broadcast(1) inserts one of extent 1",
        )


def _side_by_side(a: Layout, b: Layout) -> Layout:
    shape: list[Mode] = []
    digits: list[tuple[int, Iter]] = []
    for (slow, slow_digits), (fast, fast_digits) in zip(_modes(a), _modes(b), strict=True):
        shape.append((slow, fast))
        digits += [(SLOW, it) for it in slow_digits] + [(FAST, it) for it in fast_digits]
    return summed(tuple(shape), digits, a, b)


def _modes(layout: Layout) -> Iterator[tuple[Mode, tuple[Iter, ...]]]:
    """(mode, its digits) for every top-level mode."""
    start = 0
    for mode in layout.shape:
        stop = start + sum(1 for _ in leaves(mode))
        yield mode, layout.shard[start:stop]
        start = stop


def _as_grid(shape: Any, inner: Layout) -> tuple[Layout, Layout]:
    """A row-major grid of tiles on inner's storage axis, and the tile, both of one rank."""
    from tilewise.core.algebra.widths import storage_axis

    grid = as_shape(shape)
    axis = storage_axis(inner, "a grid of tiles lies")
    strides: list[Vector] = []
    for extent in reversed((*leaves(grid), 1)):
        strides.append(Vector(((axis, extent * strides[-1][axis] if strides else 1),)))
    outer = Layout(grid, tuple(reversed(strides[:-1])), unit=inner.unit)
    rank = max(len(grid), len(inner.shape))
    return _padded(outer, rank), _padded(inner, rank)


def _padded(layout: Layout, rank: int) -> Layout:
    missing = rank - len(layout.shape)
    return replace(layout, shape=(1,) * missing + layout.shape, strides=(ZERO,) * missing + layout.strides)


def _spans(inner: Layout, axes: Iterable[Axis]) -> dict[str, int]:
    return {axis.name: inner.span(axis) for axis in axes}


def _stretched(outer: Layout, scale: Scale) -> Layout:
    """The layout with every place multiplied, axis by axis, its swizzle with it."""
    axis = outer.swizzled_axis
    factor = scale.get(axis.name, 1) if axis else 1
    if factor & (factor - 1):
        outer = settled(outer)
        if outer.swizzles:
            raise Refused(
                "TW504",
                f"outer's swizzle does not scale by {factor}, the tile's span on {axis}: "
                "swizzles move bits, and it is no power of two",
                witness=factor,
                hint="tile with the plain layout and swizzle the result",
            )
    return replace(
        outer,
        strides=tuple(_times(stride, scale) for stride in outer.strides),
        replica=tuple(Iter(it.extent, _times(it.stride, scale)) for it in outer.replica),
        offset=_times(outer.offset, scale),
        swizzles=tuple(swizzle.scaled(factor, 1) for swizzle in outer.swizzles),
        outer=_times(outer.outer, scale),
    )


def _times(vector: Vector, scale: Scale) -> Vector:
    return Vector(tuple((axis, steps * scale.get(axis.name, 1)) for axis, steps in vector.terms))


# -- taking apart ----------------------------------------------------------------------------------


@orders.by_mode
def untile(whole: Layout, inner: Layout) -> Layout:
    """The outer layout of which `whole` is the tiling by `inner`.

        requires       as many modes in both
        postcondition  whole(x, y) == untile(whole, inner)(x) .* span(inner) + inner(y)
        refused        TW507 where there is none; the witness is a flat index of the whole that shows it

    >>> from tilewise import S
    >>> untile(S[((8, 2), (8, 3)) : ((48, 3), (6, 1))], S[(2, 3) : (3, 1)])
    S[(8, 8) : (8, 1)]
    >>> untile(S[(16, 6) : (6, 1)], S[(2, 6) : (12, 1)])
    Traceback (most recent call last):
    tilewise.Refused: TW507: index 6 of the whole is 6@m from where its part starts, and in the part 12@m
      hint: the part must stand in the whole as it is, in every mode
    """
    _check(whole, inner)
    scale = _spans(inner, (*whole.axes, *inner.axes))
    return Parting(whole, inner, scale, part_is_fast=True).rest()


@orders.by_mode
def untile_outer(whole: Layout, outer: Layout) -> Layout:
    """The tile of which `whole` is the tiling by `outer`.

        requires       as many modes in both
        postcondition  whole(x, y) == outer(x) .* span(tile) + tile(y), the tile being untile_outer's
        refused        TW507 where there is none; the witness is a flat index of the whole that shows it;
                       TW504 a swizzle of outer that does not scale as the whole does

    >>> from tilewise import S
    >>> untile_outer(S[((8, 2), (8, 3)) : ((48, 3), (6, 1))], S[(8, 8) : (8, 1)])
    S[(2, 3) : (3, 1)]
    """
    _check(whole, outer)
    refusal: LayoutError | None = None
    for scale in _scales(whole, outer):
        try:
            return _tile_of(whole, outer, scale)
        except (Refused, NotDecided) as no:
            refusal = no if refusal is None or isinstance(no, NotDecided) else refusal
    assert refusal is not None
    raise refusal


@orders.by_mode
def direct_rest(whole: Layout, part: Layout, right: bool = True) -> Layout:
    """The other summand: `whole` is the direct sum of it and `part`, the part on the right or the left.

        requires       as many modes in both
        postcondition  whole(x, y) == direct_rest(whole, part)(x) + part(y);
                       whole(x, y) == part(x) + direct_rest(whole, part, right=False)(y)
        refused        TW507 where there is none; the witness is a flat index of the whole that shows it

    >>> from tilewise import S
    >>> direct_rest(S[(4, 4) : (4, 1)], S[(2, 2) : (4, 1)])
    S[(2, 2) : (8, 2)]
    >>> direct_rest(S[(4, 4) : (4, 1)], S[(2, 2) : (8, 2)], right=False)
    S[(2, 2) : (4, 1)]
    """
    _check(whole, part)
    return Parting(whole, part, {}, part_is_fast=right).rest()


@dataclass(frozen=True, slots=True)
class Parting:
    """What of `whole` is left without `part`: whole = slow(x) .* scale + fast(y), one of them known."""

    whole: Layout
    part: Layout
    scale: Scale
    part_is_fast: bool

    def rest(self) -> Layout:
        """The other summand, or a refusal."""
        self.check_sizes()
        undecided: NotDecided | None = None
        for part in _spellings(self.part):
            asked = replace(self, part=part)
            for rest in islice(asked._candidates(), MAX_TRIALS):
                try:
                    if asked.together(rest).same(self.whole):
                        return rest
                except Refused:
                    continue
                except NotDecided as no:
                    undecided = no
        self._refute()
        raise undecided or NotDecided(
            "whether a layout is left was not decided within the bound",
            hint="nothing was found that speaks against it, nor the layout",
        )

    def together(self, rest: Layout) -> Layout:
        """The sum of the part and the rest."""
        if self.part_is_fast:
            return _side_by_side(_stretched(rest, self.scale), self.part)
        return _side_by_side(self.part, rest)

    def check_sizes(self) -> None:
        for i, (all_of_it, some) in enumerate(
            zip(extents_of(self.whole.shape), extents_of(self.part.shape), strict=True)
        ):
            if all_of_it % some:
                raise Refused(
                    "TW507",
                    f"mode {i} has {all_of_it} elements, and those of the part, {some}, do not divide them",
                    witness={"mode": i, "sizes": (all_of_it, some)},
                )

    # -- candidates ------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[Layout]:
        """Layouts that may be the rest; `same` decides."""
        modes = self._modes_left()
        if modes is None:
            return
        shape = tuple(mode for mode, _ in modes)
        strides = tuple(it.stride for _, digits in modes for it in digits)
        for whole in _spellings(self.whole):
            for copies, start in self._copies_left():
                inside = whole.offset - self.part.offset + start
                for chain, offset, outer in self._offsets_left(whole, inside):
                    yield Layout(shape, strides, copies, offset, chain, outer, whole.unit)

    def _modes_left(self) -> list[tuple[Mode, list[Iter]]] | None:
        """The rest's modes and digits, divided by the scale; None where they do not split or divide."""
        left = []
        for (mode, digits), extent in zip(_modes(self.whole), extents_of(self.part.shape), strict=True):
            size = prod(it.extent for it in digits)
            fast = extent if self.part_is_fast else size // extent
            halves = _cut(digits, fast) or _cut(merged_shard(digits), fast)
            divided = halves and self._divided(halves[0] if self.part_is_fast else halves[1])
            if divided is None:
                return None
            extents = [it.extent for it in divided]
            left.append(
                (mode if extents == list(leaves(mode)) else _mode_of(extents), divided or [Iter(1, ZERO)])
            )
        return left

    def _divided(self, iters: Iterable[Iter]) -> list[Iter] | None:
        divided = []
        for it in iters:
            stride = self._quotient(it.stride) if it.extent > 1 else ZERO
            if stride is None:
                return None
            divided.append(Iter(it.extent, stride))
        return divided

    def _quotient(self, vector: Vector) -> Vector | None:
        if not self.part_is_fast:
            return vector
        return _quotient(vector, self.scale)

    def _copies_left(self) -> Iterator[tuple[tuple[Iter, ...], Vector]]:
        """(copies of the rest, where the whole's start less where the part's do)."""
        all_copies, start = merged_replica(self.whole.replica)
        own, own_start = merged_replica(self.part.replica)
        for left in _without(all_copies, own):
            divided = self._divided(left)
            if divided is not None:
                yield tuple(divided), start - own_start

    def _offsets_left(
        self, whole: Layout, inside: Vector
    ) -> Iterator[tuple[tuple[Swizzle, ...], Vector, Vector]]:
        """(swizzles, O, P) of the rest. A constant may stand inside the swizzle or outside."""
        outside = whole.outer - self.part.outer
        for chain in self._chains_left(whole):
            for shift in self._shifts(outside) if chain else [outside]:
                offset, outer = self._quotient(inside + shift), self._quotient(outside - shift)
                if offset is not None and outer is not None:
                    yield chain, offset.nonzero, outer.nonzero

    def _chains_left(self, whole: Layout) -> Iterator[tuple[Swizzle, ...]]:
        """No swizzle, the whole's, or what is left of them without the part's."""
        own, count = self.part.swizzles, len(self.part.swizzles)
        chains = [(), whole.swizzles]
        if own and whole.swizzles[-count:] == own:
            chains.append(whole.swizzles[:-count])
        if own and whole.swizzles[:count] == own:
            chains.append(whole.swizzles[count:])
        for chain in dict.fromkeys(chains):
            factor = self.scale.get(chain[0].axis.name, 1) if chain and self.part_is_fast else 1
            try:
                yield tuple(swizzle.scaled(1, factor) for swizzle in chain)
            except LayoutError:
                continue

    def _shifts(self, outside: Vector) -> Iterator[Vector]:
        """What may have moved from inside the swizzle to outside of it."""
        yield ZERO
        yield outside
        axes = self.part.axes
        least = Vector(tuple((axis, self.part.min(axis)) for axis in axes))
        yield least - self.part.outer
        yield self.part.offset

    # -- refusals --------------------------------------------------------------------------------

    def _refute(self) -> None:
        """Refuse with an index that no summand can put right, if there is one.

        The least place of an element in the order of the axes adds up in sums of sets. So it must move
        along the part in the whole as in the part, and what it leaves must be a multiple of the scale.
        """
        axes = tuple(sorted({*self.whole.axes, *self.part.axes}, key=str))
        whole, part = _least_places(self.whole, axes), _least_places(self.part, axes)
        shape = self.whole.shape
        factors = [self.scale.get(axis.name, 1) if self.part_is_fast else 1 for axis in axes]
        extents = [*zip(extents_of(shape), extents_of(self.part.shape), strict=True)]
        for flat in self._telling():
            of_part, of_rest = self._indices(flat, extents)
            moved = _difference(whole(flat), whole(of_rest))
            alone = _difference(part(of_part), part(0))
            if moved != alone:
                raise Refused(
                    "TW507",
                    f"index {flat} of the whole is {_named(axes, moved)} from where its part starts, "
                    f"and in the part {_named(axes, alone)}",
                    witness=flat,
                    hint="the part must stand in the whole as it is, in every mode",
                )
            left = _difference(whole(of_rest), part(0))
            if any(steps % factor for steps, factor in zip(left, factors, strict=True)):
                raise Refused(
                    "TW507",
                    f"the tile at index {of_rest} is {_named(axes, left)} from the tile itself, "
                    f"no multiple of its span {_named(axes, factors)}",
                    witness=of_rest,
                    hint="tiles are steps of whole spans apart; direct_rest takes any distance",
                )
        self._refute_copies()

    def _telling(self) -> Iterator[int]:
        """Flat indices that show where digits do not split or differ, among the first ones; then more."""
        shape = self.whole.shape
        zero = [0] * len(shape)
        likely = set()
        for i, ((_, digits), (_, own), extent) in enumerate(
            zip(_modes(self.whole), _modes(self.part), extents_of(self.part.shape), strict=True)
        ):
            size = prod(it.extent for it in digits)
            fast = extent if self.part_is_fast else size // extent
            places = {fast, *_places(digits), *_places(own), *(fast * place for place in _places(own))}
            near = {p + d for place in places for p in (place, place + fast, place % fast) for d in (0, -1)}
            likely |= {flat_index((*zero[:i], z, *zero[i + 1 :]), shape) for z in near if 0 <= z < size}
        yield from sorted(likely.union(range(min(self.whole.size, FIRST_PROBES))))
        yield from range(FIRST_PROBES, min(self.whole.size, MAX_PROBES))

    def _indices(self, flat: int, extents: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """For an index of the whole: the part's own flat index, and that of the whole with the part at 0.

        requires  extents are those of each mode, (of the whole, of the part)
        """
        of_part = of_rest = 0
        weight = weight_of_part = 1
        for all_of_it, extent in reversed(extents):
            flat, z = divmod(flat, all_of_it)
            x, y = divmod(z, extent if self.part_is_fast else all_of_it // extent)
            of_part += weight_of_part * (y if self.part_is_fast else x)
            of_rest += weight * (z - y if self.part_is_fast else y)
            weight, weight_of_part = weight * all_of_it, weight_of_part * extent
        return of_part, of_rest

    def _refute_copies(self) -> None:
        """Refuse where the copies of the first element are not those of the part, moved."""
        if any(prod([it.extent for it in side.replica]) > MAX_PROBES for side in (self.whole, self.part)):
            return
        axes = tuple(sorted({*self.whole.axes, *self.part.axes}, key=str))
        taken, own = (
            {tuple(place[axis] for axis in axes) for place in layout.places(0)}
            for layout in (self.whole, self.part)
        )
        if len(taken) * len(own) > MAX_PROBES:
            return
        covered: set[tuple[int, ...]] = set()
        first = min(own)
        for place in taken:
            move = _difference(place, first)
            moved = {tuple(map(int.__add__, at, move)) for at in own}
            factors = [self.scale.get(axis.name, 1) if self.part_is_fast else 1 for axis in axes]
            if moved <= taken and not any(s % f for s, f in zip(move, factors, strict=True)):
                covered |= moved
        if covered != taken:
            place = min(taken - covered)
            raise Refused(
                "TW507",
                f"the first element has a copy at {_named(axes, place)} that is no copy of the part, moved",
                witness=0,
                hint="every copy of the part comes with every copy of the rest",
            )


def _spellings(layout: Layout) -> Iterator[Layout]:
    """The layout, then the same without idle swizzles if there are some."""
    yield layout
    if layout.swizzles:
        calm = settled(layout)
        if calm != layout:
            yield calm


def _quotient(vector: Vector, scale: Scale) -> Vector | None:
    if any(steps % scale.get(axis.name, 1) for axis, steps in vector.terms):
        return None
    return Vector(tuple((axis, steps // scale.get(axis.name, 1)) for axis, steps in vector.terms))


def _mode_of(extents: list[int]) -> Mode:
    return tuple(extents) if len(extents) > 1 else extents[0] if extents else 1


def _cut(digits: Iterable[Iter], fast: int) -> tuple[list[Iter], list[Iter]] | None:
    """Digits as (slow, fast), the fast ones of the given size; None where no digit splits there."""
    slow: list[Iter] = list(digits)
    taken: list[Iter] = []
    while fast > 1:
        it = slow.pop()
        if fast % it.extent == 0:
            taken.append(it)
        elif it.extent % fast == 0:
            taken.append(Iter(fast, it.stride))
            slow.append(Iter(it.extent // fast, it.stride * fast))
        else:
            return None
        fast //= taken[-1].extent
    return slow, taken[::-1]


def _without(copies: list[Iter], own: list[Iter]) -> Iterator[list[Iter]]:
    """Lists of iters that, joined to `own`, may reach what `copies` reach; all of them merged ones.

    {0..e-1} s is {0..f-1} s + {0..k-1} q s where q <= f and e = f + q (k - 1): either may be `own`.
    """
    if not own:
        yield copies
        return
    first, *others = own
    for i, it in enumerate(copies):
        for left in _split_copies(it, first):
            yield from _without([*copies[:i], *left, *copies[i + 1 :]], others)


def _split_copies(it: Iter, own: Iter) -> Iterator[list[Iter]]:
    if it == own:
        yield []
    if it.stride == own.stride:
        surplus = it.extent - own.extent
        for q in range(min(own.extent, surplus), 0, -1):
            if surplus % q == 0:
                yield [Iter(surplus // q + 1, it.stride * q)]
        return
    axis, steps = it.stride.terms[0]
    q = own.stride[axis] // steps
    finer = it.extent - q * (own.extent - 1)
    if q > 1 and it.stride * q == own.stride and finer >= q:
        yield [Iter(finer, it.stride)]


def _places(digits: Iterable[Iter]) -> list[int]:
    """Where every digit starts to count."""
    places, place = [], 1
    for it in reversed(tuple(digits)):
        places.append(place)
        place *= it.extent
    return places


def _least_places(layout: Layout, axes: tuple[Axis, ...]) -> Callable[[int], tuple[int, ...]]:
    """The least place of a flat index, in the order of the axes."""

    _, start = merged_replica(layout.replica)
    first = tuple(start[axis] for axis in axes)
    named = {axis.name: at for at, axis in enumerate(layout.axes)}
    own = [named.get(axis.name) for axis in axes]  # where each axis stands in the layout's own points

    def swizzled(flat: int) -> tuple[int, ...]:
        return min(tuple([0 if at is None else point[at] for at in own]) for point in layout.points(flat))

    def plain(flat: int) -> tuple[int, ...]:
        point = layout.before_swizzle(flat)
        return tuple([s if at is None else point[at] + s for at, s in zip(own, first, strict=True)])

    return swizzled if layout.swizzles else plain


def _difference(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(int.__sub__, one, other))


def _named(axes: tuple[Axis, ...], steps: Iterable[int]) -> str:
    return str(Vector(tuple(zip(axes, steps, strict=True))).nonzero)


# -- the span that a known outer asks for ----------------------------------------------------------


def _tile_of(whole: Layout, outer: Layout, scale: dict[str, int]) -> Layout:
    """The tile whose spans are the scale, or a refusal. Where outer merely starts, the tile says the span."""
    inner = Parting(whole, _stretched(outer, scale), {}, part_is_fast=False).rest()
    spans = _spans(inner, outer.axes)
    starts = {axis.name for axis in outer.axes} - scale.keys()
    if any(spans[name] != 1 for name in starts):
        scale = scale | {name: spans[name] for name in starts}
        inner = Parting(whole, _stretched(outer, scale), {}, part_is_fast=False).rest()
    for name, factor in scale.items():
        if spans[name] != factor:
            raise Refused(
                "TW507",
                f"one step of outer is {factor} on {name}, and the tile that is left spans {spans[name]}",
                witness={"axis": name, "step": factor, "span": spans[name]},
                hint="tiles are steps of whole spans apart; direct_rest takes any distance",
            )
    return inner


def _scales(whole: Layout, outer: Layout) -> Iterator[dict[str, int]]:
    """What one step of outer may be in the whole, on every axis on which outer moves."""
    scale = _scale_of_digits(whole, outer)
    copies, _ = merged_replica(outer.replica)
    by_copies = {axis: it.stride[axis] for it in copies for axis in it.stride.axes if axis.name not in scale}
    names = [axis.name for axis in by_copies]
    in_whole, _ = merged_replica(whole.replica)
    ratios, ranges = [], []
    for axis, step in by_copies.items():
        reach = sum((it.extent - 1) * abs(it.stride[axis]) for it in in_whole) // abs(step)
        multiples = [abs(it.stride[axis]) // abs(step) for it in in_whole if it.stride[axis] % step == 0]
        ratios.append(sorted({1, *multiples} - {0}))
        ranges.append(range(1, max(reach, 1) + 1))
    for factors in islice(product(*ratios), MAX_TRIALS):
        yield scale | dict(zip(names, factors, strict=True))
    if prod(map(len, ranges)) > MAX_TRIALS:
        raise NotDecided("which span the copies of outer ask for was not decided within the bound")
    for factors in product(*ranges) if names else ():
        yield scale | dict(zip(names, factors, strict=True))


def _scale_of_digits(whole: Layout, outer: Layout) -> dict[str, int]:
    """What one step of outer is in the whole, by its digits; refused where they do not agree."""
    Parting(whole, outer, {}, part_is_fast=False).check_sizes()
    axes = tuple(sorted({*whole.axes, *outer.axes}, key=str))
    in_whole, in_outer = _least_places(whole, axes), _least_places(outer, axes)
    scale: dict[str, int] = {}
    tile_shape = [w // o for w, o in zip(extents_of(whole.shape), extents_of(outer.shape), strict=True)]
    for place in _places(outer.shard):
        if place >= outer.size:
            continue
        corner = [x * y for x, y in zip(coordinates(place, outer.shape), tile_shape, strict=True)]
        flat = flat_index(tuple(corner), extents_of(whole.shape))
        moved = _difference(in_whole(flat), in_whole(0))
        asked = _difference(in_outer(place), in_outer(0))
        for axis, there, here in zip(axes, moved, asked, strict=True):
            factor = there // here if here else 0
            if (
                factor * here != there
                or (here and scale.setdefault(axis.name, factor) != factor)
                or (here and factor < 1)
            ):
                raise Refused(
                    "TW507",
                    f"index {flat} of the whole is {_named(axes, moved)} from the first, and of outer "
                    f"{_named(axes, asked)}: no span of a tile makes the one of the other",
                    witness=flat,
                    hint="on every axis the whole moves as outer does, times one positive number",
                )
    return scale
