"""Facts of a whole layout, by the number of iters and not of elements.

The questions fall apart: axes that no stride joins are independent (a diagonal `1@x + 1@y` joins
two), so each group of axes is solved alone and counts multiply. A swizzle permutes its axis: it moves the
ends of the places, and changes neither the elements that share a place nor the number of places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice, permutations
from math import prod
from operator import add, sub

from tilewise.core.axes import Axis
from tilewise.core.bits import Basis, affine_map
from tilewise.core.canonical import merged_replica
from tilewise.core.digits import number
from tilewise.core.errors import NotDecided
from tilewise.core.integers import number_text
from tilewise.core.polynomials import Stuck, common_divisor, is_named, is_whole, reduced, without_common
from tilewise.core.shapes import coordinates
from tilewise.core.solve import BudgetSpent, Range, Vec, reaches, solutions
from tilewise.core.swizzles import apply_chain, period_of, undo_chain
from tilewise.core.vectors import Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- answers ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a yes-or-no question; a no has a reason and, where there is one, a witness.

    In an `if` it is its answer; an undecided one raises `NotDecided` there.

    >>> bool(Verdict(True)), bool(Verdict(False, "(0, 1) and (1, 0) share 5@m"))
    (True, False)
    """

    answer: bool | None
    reason: str = ""
    witness: Any = None

    def __bool__(self) -> bool:
        if self.answer is None:
            raise NotDecided(self.reason)
        return self.answer


YES = Verdict(True)


def undecided(question: str) -> Verdict:
    """Return the verdict on a question whose search ended at its bound."""
    return Verdict(None, f"not decided within the bound: {question}")


# -- facts -----------------------------------------------------------------------------------------

WARP, WAVE = 32, 64
"""Lanes of a warp, and of a wave of CDNA."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Iter, Layout

MAX_BITSET = 1 << 24
MAX_SCAN = 1 << 14


@dataclass(frozen=True, slots=True)
class Holes:
    """The empty places of a layout's box: their number, and one of them. None: not decided in the bound."""

    count: int | None
    witness: Vector | None = None

    @property
    def none(self) -> Verdict:
        """Return the verdict that there is no hole."""
        if self.count == 0:
            return YES
        if self.count is not None:
            return Verdict(False, f"{number_text(self.count)} places hold nothing", self.witness)
        if self.witness is not None:
            return Verdict(False, f"{self.witness} holds nothing", self.witness)
        return undecided("how many places are taken")


# -- extremes --------------------------------------------------------------------------------------


def extremes(layout: Layout, axis: str) -> tuple[int, int]:
    """Return (min, max) on an axis over all indices and copies.

    >>> from tilewise import S, Swizzle
    >>> extremes(Swizzle(1, 0, 1) @ (S[2 : 1] + 2), "m")
    (2, 3)
    """
    low, high = plain_extremes(layout, axis)
    if layout.swizzled_axis is None or layout.swizzled_axis.name != axis:
        return low, high
    outer = layout.outer[axis]
    image = _Image(layout, axis, low, high)
    try:
        return image.end(largest=False) + outer, image.end(largest=True) + outer
    except BudgetSpent:
        raise NotDecided(
            f"the ends of the swizzled places on {axis} were not decided within the bound"
        ) from None


def plain_extremes(layout: Layout, axis: str) -> tuple[int, int]:
    """Return (min, max) on an axis of D(x) + r + O, before any swizzle."""
    low = high = layout.offset[axis]
    for extent, stride in (*layout.digits, *((it.extent, it.stride) for it in layout.replica)):
        reach = (extent - 1) * stride[axis]
        low, high = low + min(0, reach), high + max(reach, 0)  # of names, 0 or more is known more often
    return low, high


def lanes_of(*layouts: Layout) -> int:
    """Return the lanes of a warp: 64 where a layout has lane 32, as a wave of CDNA has, else 32.

    >>> from tilewise import S, laneid
    >>> lanes_of(S[32 : 1@laneid]), lanes_of(S[64 : 1@laneid])
    (32, 64)
    """
    return WAVE if any(WARP <= plain_extremes(layout, "laneid")[1] < WAVE for layout in layouts) else WARP


class _Image:
    """The places of one axis before and after the swizzles, as a set with membership."""

    def __init__(self, layout: Layout, axis: str, low: int, high: int) -> None:
        iters = [it for it in (*layout.shard, *layout.replica) if it.stride[axis] and it.extent > 1]
        self.vectors: list[Vec] = [(it.stride[axis],) for it in iters]
        self.ranges: list[Range] = [(0, it.extent - 1) for it in iters]
        self.base = layout.offset[axis]
        self.low, self.high = low, high
        self.swizzles = tuple(s for s in layout.swizzles if s.bits)
        self.period = period_of(self.swizzles)
        own = layout.axis(axis)
        alone = replace(
            layout,
            shape=tuple(it.extent for it in iters),
            strides=tuple(it.stride[own] @ own for it in iters),
            replica=(),
            offset=self.base @ own,
            outer=Vector(),
        )
        self.affine = affine_map(alone)
        """The swizzled places where they are XORs, copies as digits; None where they are not."""

    def meets(self, low: int, high: int) -> bool:
        """Return True if some place before the swizzle lies in [low, high]."""
        return reaches(self.vectors, self.ranges, (low - self.base,), (high - self.base,))

    def holds(self, swizzled: int) -> bool:
        """Return True if a place after the swizzle is taken."""
        plain = undo_chain(self.swizzles, swizzled)
        return self.meets(plain, plain)

    def end(self, largest: bool) -> int:
        """Return the largest or smallest place after the swizzle, which permutes each aligned period."""
        if self.affine is not None:
            return Basis(self.affine.flips).extreme(self.affine.origin[0], largest)
        edge = self.high if largest else self.low
        block = edge - edge % self.period
        corner = block + (self.period - 1 if largest else 0)
        if self.holds(corner):  # as in every dense image: one question, where a search asks one a bit
            return corner
        if all(s.shift > 0 for s in self.swizzles):
            return self._by_prefix(block, largest)
        inside = self._listed(block, block + self.period - 1)
        return max(inside) if largest else min(inside)

    def _by_prefix(self, block: int, largest: bool) -> int:
        """Return `end` bit by bit from the top: with S > 0, high bits after a swizzle fix those before it."""
        prefix, free = block, self.period.bit_length() - 1
        while free:
            free -= 1
            better = prefix + ((1 << free) if largest else 0)
            start = undo_chain(self.swizzles, better) >> free << free
            if self.meets(start, start + (1 << free) - 1):
                prefix = better
            else:
                prefix += 0 if largest else 1 << free
        return prefix

    def _listed(self, low: int, high: int) -> Iterator[int]:
        lows, highs = (low - self.base,), (high - self.base,)
        found = solutions(self.vectors, self.ranges, lows, highs)
        for count, digits in enumerate(found):
            if count > MAX_SCAN:
                raise BudgetSpent
            plain = self.base + sum(d * v for d, (v,) in zip(digits, self.vectors, strict=True))
            yield apply_chain(self.swizzles, plain)


# -- shared places ---------------------------------------------------------------------------------


def injective(layout: Layout) -> Verdict:
    """Return the verdict that no place is held by two elements, copies counted.

        witness  (one flat index, another, their common place)

    >>> from tilewise import S
    >>> injective(S[(4, 4) : (4, 2)]).witness
    (2, 4, 4@m)
    """
    still = [i for i, it in enumerate(layout.shard) if it.extent > 1 and not it.stride]
    if still:
        return _shared(layout, {still[-1]: 1}, {})
    nested = _nested_clash(layout) if layout.has_names else None
    if nested is not None:
        return nested
    clash = _first_clash(layout.shard, layout.replica, layout.axes)
    if clash is None:
        return undecided("whether two elements share a place")
    return _shared(layout, *clash) if clash[0] else YES


def _nested_clash(layout: Layout) -> Verdict | None:
    """Return the verdict on a layout with names, by two of its strides; None where they do not settle it."""
    joined = layout.coalesce()
    if len(joined.axes) != 1 or joined.replica:
        return None
    (axis,) = joined.axes
    extents = [it.extent for it in joined.shard]
    steps = [it.stride[axis] for it in joined.shard]
    if _separate([*zip(map(abs, steps), extents, strict=True)]):
        return YES
    for (i, step), (j, unit) in permutations(enumerate(steps), 2):
        if is_whole(step, unit) and abs(step // unit) < extents[j] and extents[i] > 1:
            return _shared(layout, {i: 1, j: -(step // unit)}, {}, extents)
    least = _least_meeting(steps[0], steps[1]) if len(steps) == 2 else None
    if least is not None:
        if least[0] < extents[0] and abs(least[1]) < extents[1]:
            return _shared(layout, {0: least[0], 1: -least[1]}, {}, extents)
        return YES
    for i, j in combinations(range(len(steps)), 2):
        one, two = reduced(steps[i], steps[j])
        if abs(two) < extents[i] and abs(one) < extents[j]:
            return _shared(layout, {i: two, j: -one}, {}, extents)  # type: ignore[dict-item]
    return None


def _least_meeting(step: int, other: int) -> tuple[int, int] | None:
    """Return the least a > 0, and the b, with a step = b other; None where their divisors are not known.

    >>> _least_meeting(6, -4)
    (2, -3)
    """
    if other < 0:
        found = _least_meeting(step, -other)
        return None if found is None else (found[0], -found[1])
    one, two = without_common(step, other)
    if two < 0:  # what both have in common is below 0
        one, two = -one, -two
    if is_named(one) and is_named(two):
        return None
    shared = common_divisor(one, two)
    return two // shared, one // shared


def disjoint_copies(layout: Layout) -> Verdict:
    """Return the verdict that no two replicas of an element coincide; the witness: the pair's replica digits.

    >>> from tilewise import S, R
    >>> disjoint_copies(S[4 : 1] + R[(2, 2) : (8, 8)]).witness
    ((0, 1), (1, 0))
    """
    return disjoint_steps(layout.replica, layout.axes)


def disjoint_steps(iters: Sequence[Iter], axes: Iterable[Axis] = ()) -> Verdict:
    """Return the verdict that no two choices of digits add up to one step; the witness is such a pair."""
    for i, it in enumerate(iters):
        if it.extent > 1 and not it.stride:
            return _coinciding(iters, {i: 1})
    clash = _first_clash(iters, (), axes)
    if clash is None:
        return undecided("whether two copies coincide")
    return _coinciding(iters, clash[0]) if clash[0] else YES


def _first_clash(
    first: Sequence[Iter], rest: Sequence[Iter], axes: Iterable[Axis]
) -> tuple[dict[int, int], dict[int, int]] | None:
    """Return {position: digit difference} of first iters and of the rest whose steps add up to nothing.

    Both are empty where no steps do. The result is None where that is not decided.
    """
    open_question = False
    for group in groups((*first, *rest), axes):
        ours, others = (
            [(i, it) for i, it in enumerate(iters) if it.extent > 1 and any(it.stride[a] for a in group)]
            for iters in (first, rest)
        )
        try:
            clash = _clash(group, ours, others)
        except BudgetSpent:
            open_question = True
            continue
        if clash:
            digits = {i: x for (i, _), x in zip(ours, clash, strict=False)}
            return digits, {i: x for (i, _), x in zip(others, clash[len(ours) :], strict=True)}
    return None if open_question else ({}, {})


def _coinciding(iters: Sequence[Iter], digits: dict[int, int]) -> Verdict:
    count = range(len(iters))
    one = tuple(max(0, digits.get(i, 0)) for i in count)
    other = tuple(max(0, -digits.get(i, 0)) for i in count)
    return Verdict(False, "two replicas coincide", tuple(sorted((one, other))))


def groups(iters: Iterable[Iter], axes: Iterable[Axis] = ()) -> list[tuple[Axis, ...]]:
    """Return the axes of iters in groups that no stride joins: those of `axes` first, then by appearance."""
    movements = [it.stride.nonzero.axes for it in iters]
    named = dict.fromkeys([*axes, *chain(*movements)])
    if len(named) == 1:  # as in most layouts
        return [tuple(named)]
    found = [{axis} for axis in dict.fromkeys(axes)]
    for moving in movements:
        touched = set(moving)
        joined = [g for g in found if g & touched]
        if touched and touched not in [g & touched for g in joined]:
            found = [g for g in found if not g & touched] + [touched.union(*joined)]
    return [tuple(axis for axis in named if axis in g) for g in found]


def _clash(
    axes: Sequence[Axis], first: list[tuple[int, Iter]], rest: list[tuple[int, Iter]]
) -> tuple[int, ...] | None:
    """Return digit differences, not all 0 among `first`, whose steps add up to nothing, or None.

    Some difference among `first` is not 0; its sign may be chosen, and it is tried in turn.
    """
    iters = [it for _, it in (*first, *rest)]
    vectors = [tuple(it.stride[a] for a in axes) for it in iters]
    if len(axes) == 1 and _separate([(abs(v), it.extent) for (v,), it in zip(vectors, iters, strict=True)]):
        return None
    zero = (0,) * len(axes)
    for chosen in range(len(first)):
        ranges = [(1 - it.extent, it.extent - 1) for it in iters]
        ranges[chosen] = (1, iters[chosen].extent - 1)
        ranges[:chosen] = [(0, 0)] * chosen  # an earlier one that is not 0 was tried as chosen
        found = next(solutions(vectors, ranges, zero, zero), None)
        if found:
            return found
    return None


def _separate(strides: list[tuple[int, int]]) -> bool:
    """Return True if every step is longer than the reach of all shorter ones: digits of one number."""
    reach = 0
    for step, extent in sorted(strides):
        if step <= reach:
            return False
        reach += step * (extent - 1)
    return True


def _shared(
    layout: Layout, digits: dict[int, int], copies: dict[int, int], extents: Sequence[int] = ()
) -> Verdict:
    """Return the verdict with the two elements that differ by the given digits, and the place they share.

    Digits are those of the layout's extents, or of others that number its elements alike.
    """
    extents = extents or [it.extent for it in layout.shard]
    apart = [digits.get(i, 0) for i in range(len(extents))]
    one, other = (number(extents, [max(0, sign * d) for d in apart]) for sign in (1, -1))
    at = list(layout.before_swizzle(one))
    for i, difference in copies.items():
        step = layout.on_axes(layout.replica[i].stride * max(0, difference))
        at = [a + s for a, s in zip(at, step, strict=True)]
    place = point(layout.axes, layout.after_swizzle(tuple(at)))
    one, other = sorted((one, other))
    spelled = [layout.coordinates(flat) for flat in (one, other)]
    return Verdict(False, f"{spelled[0]} and {spelled[1]} share {place}", (one, other, place))


# -- counts ----------------------------------------------------------------------------------------


def count_copies(layout: Layout) -> int:
    """Return the number of distinct places of each element: the size of the set R.

    >>> from tilewise import S, R
    >>> count_copies(S[4 : 1] + R[(2, 3) : (4, 4)])
    4
    """
    count = _count_taken(groups(layout.replica, layout.axes), layout.replica)
    if count is None:
        raise NotDecided("how many copies are distinct was not decided within the bound")
    return count


def _count_taken(groups: list[tuple[Axis, ...]], iters: Sequence[Iter]) -> int | None:
    """Return the number of distinct sums of the iters; groups of axes multiply, and as a set iters merge."""
    merged, _ = merged_replica(tuple(iters))
    total = 1
    for axes in groups:
        moving = [(i, it) for i, it in enumerate(merged) if any(it.stride[a] for a in axes)]
        count = _count_in_group(axes, moving)
        if count is None:
            return None
        total *= count
    return total


def _count_in_group(axes: Sequence[Axis], moving: list[tuple[int, Iter]]) -> int | None:
    if len(axes) == 1:
        strides = [(abs(it.stride[axes[0]]), it.extent) for _, it in moving if it.extent > 1]
        if _first_gap(0, strides) is None:
            return 1 + sum(step * (extent - 1) for step, extent in strides)
        if len(strides) == 2 and any(is_named(step) for step, _ in strides):
            (one, many), (other, more) = strides
            least = _least_meeting(one, other)
            if least is not None:  # of two pairs that differ by the least meeting one sum counts
                a, b = least
                return many * more - max(0, many - a) * max(0, more - b)
    try:
        if _clash(axes, moving, []) is None:
            return prod(it.extent for _, it in moving)
    except BudgetSpent:
        pass
    if len(axes) == 1:
        taken = taken_bits([(it.extent, it.stride[axes[0]]) for _, it in moving])
        return None if taken is None else taken.bit_count()
    sums: set[Vec] = {(0,) * len(axes)}
    for _, it in moving:
        if len(sums) * it.extent > MAX_BITSET >> 6:
            return None
        step = [it.stride[axis] for axis in axes]
        moves = [[d * s for s in step] for d in range(it.extent)]
        sums = {tuple(map(add, at, move)) for at in sums for move in moves}
    return len(sums)


def taken_bits(iters: Sequence[tuple[int, int]]) -> int | None:
    """Return the distinct sums on one axis, as the bits of one integer, filled by doubling.

    >>> bin(taken_bits([(3, 2), (2, 1)]))
    '0b111111'
    """
    if any(is_named(number) for pair in iters for number in pair):
        return None
    if sum((e - 1) * abs(s) for e, s in iters) > MAX_BITSET:
        return None
    taken = 1
    for extent, step in iters:
        done = 1
        while done < extent:
            more = min(done, extent - done)
            taken |= taken << (more * abs(step))
            done += more
    return taken


# -- holes -----------------------------------------------------------------------------------------


def holes(layout: Layout) -> Holes:
    """Return the number of empty places between min and max of every axis, and one of them.

    >>> from tilewise import S
    >>> holes(S[(4, 3) : (4, 1)])
    Holes(count=3, witness=3@m)
    """
    joined = groups((*layout.shard, *layout.replica), layout.axes)
    try:
        taken = _count_taken(joined, (*layout.shard, *layout.replica))
    except Stuck:  # a hole may be known all the same
        taken = None
    count = None
    try:
        ends = {axis.name: extremes(layout, axis.name) for axis in layout.axes}
        count = None if taken is None else prod(b - a + 1 for a, b in ends.values()) - taken
        return Holes(count, _first_hole(layout, joined, ends) if count != 0 else None)
    except (NotDecided, BudgetSpent):
        return Holes(count)


def _first_hole(
    layout: Layout, groups: list[tuple[Axis, ...]], ends: dict[str, tuple[int, int]]
) -> Vector | None:
    """Return a place of the box that is not taken: the first hole of one group, the rest at a taken place."""
    for axes in groups:
        hole = _hole_in_group(layout, axes, ends)
        if hole is not None:
            taken = layout.after_swizzle(layout.before_swizzle(0))
            steps = dict(zip(layout.axes, taken, strict=True)) | dict(zip(axes, hole, strict=True))
            return point(layout.axes, steps.values())
    return None


def _hole_in_group(
    layout: Layout, axes: tuple[Axis, ...], ends: dict[str, tuple[int, int]]
) -> Sequence[int] | None:
    if len(axes) > 1:
        return _scan_box(layout, axes, ends)
    low, high = plain_extremes(layout, axes[0].name)
    iters = (*layout.shard, *layout.replica)
    strides = [(abs(it.stride[axes[0]]), it.extent) for it in iters if it.extent > 1]
    hole = _first_gap(low, strides)
    if layout.swizzled_axis != axes[0]:
        return None if hole is None else (hole,)
    swizzled = _scan_swizzled(layout, axes[0].name, (low, high), ends[axes[0].name], hole)
    return None if swizzled is None else (swizzled,)


def _first_gap(low: int, strides: list[tuple[int, int]]) -> int | None:
    """Return the first hole of sums of multiples: every step must start inside the part covered so far."""
    covered = 1
    for step, extent in sorted(strides):
        if step > covered:
            return low + covered
        covered += step * (extent - 1)
    return None


def _scan_swizzled(
    layout: Layout, axis: str, plain: tuple[int, int], ends: tuple[int, int], hole: int | None
) -> int | None:
    """Return a hole among swizzled places, in the periods that are not full before the swizzle."""
    image = _Image(layout, axis, *plain)
    period, outer = image.period, layout.outer[axis]
    first, last = (end - outer for end in ends)
    doubtful = [range(p - p % period, p - p % period + period) for p in (*plain, hole) if p is not None]
    for block in (*doubtful, range(first, last + 1)):
        inside = range(max(block.start, first), min(block.stop, last + 1))
        for at in islice(inside, MAX_SCAN):
            if not image.holds(at):
                return at + outer
    return None


def _scan_box(
    layout: Layout, axes: tuple[Axis, ...], ends: dict[str, tuple[int, int]]
) -> Sequence[int] | None:
    """Return the first empty place of a group's box, among its first few."""
    spans = [(low, high - low + 1) for low, high in (ends[axis.name] for axis in axes)]
    iters = (*layout.shard, *layout.replica)
    for place in range(min(prod(span for _, span in spans), MAX_SCAN)):
        digits = coordinates(place, tuple(span for _, span in spans))
        steps = [low + digit for (low, _), digit in zip(spans, digits, strict=True)]
        if next(landing(layout, iters, layout.offset, axes, steps), None) is None:
            return steps
    return None


def landing(
    layout: Layout, iters: Sequence[Iter], start: Vector, axes: Sequence[Axis], steps: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yield the digits of iters, counted from a start, that land at some steps on some axes."""
    pairs = zip(axes, steps, strict=True)
    target = tuple([before_swizzle(layout, axis, at) - start[axis] for axis, at in pairs])
    vectors = [tuple([it.stride[axis] for axis in axes]) for it in iters]
    return solutions(vectors, [(0, it.extent - 1) for it in iters], target, target)


def before_swizzle(layout: Layout, axis: Axis, steps: int) -> int:
    """Return the steps on an axis before the swizzles, for those of a place."""
    if layout.swizzled_axis != axis:
        return steps
    return undo_chain(layout.swizzles, steps - layout.outer[axis])


# -- contiguity ------------------------------------------------------------------------------------


def contiguous(layout: Layout) -> Verdict:
    """Return the verdict that element x lives at base + x on one storage axis, in one copy.

        witness  the first flat index that lives elsewhere

    >>> from tilewise import S
    >>> bool(contiguous(S[(4, 4) : (4, 1)] + 32)), contiguous(S[(4, 4) : (1, 4)]).witness
    (True, 1)
    """
    if any(it.extent > 1 and it.stride for it in layout.replica):
        return Verdict(False, "every element has several copies", 0)
    if layout.size == 1:
        return YES
    (base,), (following,) = layout.points(0), layout.points(1)
    step = point(layout.axes, map(sub, following, base)).nonzero
    axis = step.axes[0] if step.terms else layout.axes[0]
    if step != {axis: 1} or axis.kind != "storage":
        return Verdict(False, f"from element 0 to element 1 is {step}, not one step of storage", 1)
    ideal = replace(
        layout,
        shape=(layout.size,),
        strides=(step,),
        replica=(),
        offset=point(layout.axes, base),
        swizzles=(),
        outer=Vector(),
    )
    answer = layout.same(ideal)
    if answer.answer is not False:
        return Verdict(answer.answer, answer.reason)
    return Verdict(
        False, f"element {answer.witness} does not live at base + {answer.witness}", answer.witness
    )
