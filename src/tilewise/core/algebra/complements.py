"""The complement: the repeats of a layout that fill an interval without overlap.

Translates of a finite set that fill [0, size) are forced, place by place: the smallest place that is free
must begin a translate. So there is at most one complement, as a set. For sums of multiples of
steps it exists iff, after merging steps that continue one another, and with c = 1 at first,

    for (step, extent), ascending:   c divides step;  repeat step // c times every c;  c = step * extent
    at the end                       c divides size;  repeat size // c times every c

(de Bruijn's theorem on sums that fill an interval). Copies are places like others. Neither the direction of
a step nor an offset matters: a step downwards fills the same interval, and an offset moves everything alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewise.core import orders
from tilewise.core.axes import Axis, m
from tilewise.core.canonical import merged_replica
from tilewise.core.errors import Refused
from tilewise.core.facts import plain_extremes
from tilewise.core.integers import as_extent
from tilewise.core.layout import Iter, Layout
from tilewise.core.polynomials import if_settled
from tilewise.core.shapes import all_extents
from tilewise.core.vectors import ZERO, along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import SupportsIndex

Step = tuple[int, int]
"""(step, extent)."""

_ELEMENTS = Layout((), ())


def complement(
    layout: Layout, size: SupportsIndex | None = None, weak: bool = False, round_up: bool = False
) -> Layout:
    """Return the layout C whose translates of L, moved to begin at 0, fill [0, size): each place once.

    L moves on one axis, and so does C, in ascending order. Without a size, C fills the least interval that
    can be filled. The size counts places: L with C covers all of them, whatever L's offset.

        requires       L moves on one axis
        postcondition  {p - min(L) + c : p in L, c in C} == [0, size), each once as a set of places
        refused        TW506 no such layout: filling place by place, each free place by a translate that
                       begins there, ends in an overlap at the witness or before; TW504 the swizzled
                       places are not whole periods; TW509 several axes

    `round_up=True` is CuTe's complement where only the size is in the way: it fills the least interval that
    has all of [0, size). `weak=True` is CuTe's also where no other exists: translates that do not overlap, as
    many as fit below each step, then blocks of all these until `size` is reached. They may leave holes, and
    run past the end.

    >>> from tilewise import S
    >>> complement(S[(2, 2) : (6, 1)], 24)
    S[(2, 3) : (12, 2)]
    >>> complement(S[(8, 4) : (64, 4)])
    S[(4, 4) : (16, 1)]
    >>> complement(S[(2, 2) : (3, 1)], 12, weak=True)
    S[2 : 6]
    >>> complement(S[4 : 2], 12)
    Traceback (most recent call last):
    tilewise.Refused: TW506: no translates fill [0, 12): they fill 8 places at a time
      hint: round_up=True fills [0, 16), as CuTe does: S[(2, 2) : (8, 1)]
    """
    try:
        return _complement(layout, size, weak, round_up)
    except Refused as no:
        if no.code == "TW506" and not (weak or round_up) and size is not None:
            no.hint = if_settled(lambda: _rounded_up(layout, size)) or no.hint
        raise


def _rounded_up(layout: Layout, size: SupportsIndex) -> str:
    more = _complement(layout, size, False, True)
    end = 1 + reach(image_of(more)[1]) + reach(image_of(layout)[1])
    return f"round_up=True fills [0, {end}), as CuTe does: {more}"


@orders.by_flat
def _complement(layout: Layout, size: SupportsIndex | None, weak: bool, round_up: bool) -> Layout:
    asked = None if size is None else as_extent(size)
    axis, steps = image_of(layout)
    try:
        tiling = _weak(steps) if weak else tiling_of(steps, None if round_up else asked)
    except Refused as no:
        if not layout.swizzles:
            raise
        raise Refused(
            "TW504",
            f"a complement covers places before the swizzle alone, and there {no.reason}",
            hint="complement the layout without its swizzle, or list the map (table)",
        ) from None  # the places after it may be another matter
    count = 1 if asked is None else -(-asked // tiling.block)
    repeats = [*tiling.repeats, (tiling.block, count)] if count > 1 else tiling.repeats
    acting = layout.canonical() if layout.swizzles else layout
    if acting.swizzles and acting.swizzled_axis == axis:
        # translates by whole periods of whole periods are as good swizzled as plain
        lengths = [step for step, _ in repeats]
        lengths += [] if weak else [plain_extremes(acting, axis.name)[0], tiling.block]
        odd = next((places for places in lengths if places % acting.period), None)
        if odd is not None:
            raise Refused(
                "TW504",
                f"the swizzle repeats every {acting.period} places, and {odd} is no multiple of it",
                witness=odd,
                hint="take the complement without the swizzle, and swizzle what comes of it",
            )
    return repeated(layout, axis, repeats)


def repeated(layout: Layout, axis: Axis, repeats: Sequence[Step]) -> Layout:
    """Return the layout of steps in ascending order, in the unit of `layout`.

    >>> from tilewise import S, m
    >>> repeated(S[4 : 1], m, [(4, 2), (16, 3)])
    S[(3, 2) : (16, 4)]
    """
    shape = tuple([extent for _, extent in reversed(repeats)]) or (1,)
    strides = tuple([along(axis, step) for step, _ in reversed(repeats)]) or (ZERO,)
    made = _ELEMENTS.with_parts(shape, strides, (), ZERO)
    return made if layout.unit == "element" else made.counted(layout.unit)


# -- the image -------------------------------------------------------------------------------------


def reach(steps: Iterable[Step]) -> int:
    """Return the sum of all steps, each as often as its extent allows."""
    return sum([step * (extent - 1) for step, extent in steps])


def image_of(layout: Layout) -> tuple[Axis, list[Step]]:
    """Return the axis and the sorted steps of a layout, copies included; refuse moves on several axes."""
    digits = [*zip(all_extents(layout.shape), layout.strides, strict=True)]
    digits += [(it.extent, it.stride) for it in layout.replica]
    steps: list[Step] = []
    named: dict[str, Axis] = {}
    for extent, stride in digits:
        if extent > 1:
            for axis, step in stride.terms:
                if step:
                    named[axis.name] = axis
                    steps.append((abs(step), extent))
    if len(named) > 1:
        raise Refused(
            "TW509",
            f"the layout moves on {' and '.join(sorted(named))}, and an interval has one axis",
            witness=sorted(named),
            hint="take the axes one at a time: footprint(axis, ...) drops axes",
        )
    steps.sort()
    return next(iter(named.values())) if named else layout.axes[0], steps


# -- the decision ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tiling:
    """Repeats in ascending order, and the block [0, block) that they and the steps fill together.

    `end` is the first step that is no multiple of the block of the smaller steps; 0 where all are.
    """

    repeats: list[Step]
    block: int
    end: int = 0


def tiling_of(steps: list[Step], size: int | None = None) -> Tiling:
    """Return the perfect repeats of sorted steps, with a size those that fill [0, size); or raise TW506.

    >>> tiling_of([(1, 2), (6, 2)])
    Tiling(repeats=[(2, 3)], block=12, end=0)
    """
    tiling = _tiling(steps)
    if tiling.end:
        steps = saturated(steps)
        tiling = _tiling(steps)
    if tiling.end or (size and size % tiling.block):
        raise _untiled(tiling, steps, size)
    return tiling


def _untiled(tiling: Tiling, steps: list[Step], size: int | None) -> Refused:
    """Return the refusal of a complement; its witness is a place by which the tiling ends.

    All translates before that place are forced. A translate there would meet the broken step, or run past
    the size; if larger steps meet earlier still, the tiling ended before.
    """
    if tiling.end:
        reason = f"smaller steps fill {tiling.block} places, and step {tiling.end} is no multiple of that"
    else:
        reason = f"they fill {tiling.block} places at a time"
    return Refused(
        "TW506",
        f"no translates fill {'an interval' if size is None else f'[0, {size})'}: {reason}",
        witness=if_settled(lambda: _ended_by(tiling, steps, size)),
        hint="weak=True gives translates that do not overlap, and may leave holes",
    )


def _ended_by(tiling: Tiling, steps: list[Step], size: int | None) -> int:
    """Return a place by which the tiling has ended."""
    free = []
    if end := tiling.end:
        inside = end < tiling.block  # then some translate that fills the block meets it
        below = reach(step for step in steps if step[0] < end)
        free.append(reach(tiling.repeats) if inside else _first_start(tiling, end - below))
    if size is not None:
        free.append(_first_start(tiling, size - reach(steps)))
    return min(free)


def _first_start(tiling: Tiling, bound: int) -> int:
    """Return the start of the first translate at `bound` or later."""
    whole = max(0, bound) // tiling.block * tiling.block
    inside = least_repeat(tiling.repeats, bound - whole)
    return whole + (tiling.block if inside is None else inside)


def _tiling(steps: Iterable[Step]) -> Tiling:
    repeats: list[Step] = []
    block = 1
    for step, extent in steps:
        if step != block:
            times, rest = divmod(step, block)
            if rest or not times:
                return Tiling(repeats, block, step)
            repeats.append((block, times))
        block = step * extent
    return Tiling(repeats, block)


def saturated(steps: Iterable[Step]) -> list[Step]:
    """Return fewer steps with the same sums: (s, e) and (q s, f), 1 <= q <= e, are (s, e + q (f - 1)).

    >>> saturated([(1, 4), (3, 2)]), saturated([(2, 2), (3, 2)])
    ([(1, 7)], [(2, 2), (3, 2)])
    """
    iters, _ = merged_replica(tuple([Iter(extent, along(m, step)) for step, extent in steps]))
    return [(it.stride[m], it.extent) for it in iters]


def _weak(steps: list[Step]) -> Tiling:
    """Return as many repeats as fit below each step; raise TW506 if a step begins inside the block below."""
    repeats: list[Step] = []
    block = 1
    for step, extent in steps:
        if step < block:
            merged = saturated(steps)
            if len(merged) < len(steps):
                return _weak(merged)
            raise Refused(
                "TW506",
                f"step {step} begins inside [0, {block}), which smaller steps and their repeats fill",
                witness=step,
                hint="the places of the layout overlap one another",
            )
        if step >= 2 * block:
            repeats.append((block, step // block))
        block = step * extent
    return Tiling(repeats, block)


def least_repeat(repeats: Sequence[Step], bound: int) -> int | None:
    """Return the smallest sum of repeats that is at least `bound`.

    >>> [least_repeat([(1, 2), (6, 3)], bound) for bound in (-1, 1, 2, 8, 14)]
    [0, 1, 6, 12, None]
    """
    total, below = 0, reach(repeats)
    if bound > below:
        return None
    for step, extent in reversed(repeats):
        below -= step * (extent - 1)
        total += max(0, -((total + below - bound) // step)) * step
    return total
