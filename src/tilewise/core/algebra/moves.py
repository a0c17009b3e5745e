"""Counts of elements that stay and that move between two layouts of one tensor, and views that move nothing.

An element stays where its new places are among its old ones. Axes that no replica joins are asked alone.
How many elements stay along an axis is counted by the number of digits:

    columns  where both maps are XORs of columns, those that stay are the solutions of a linear system
    digits   over common digits b(x) - a(x) is a sum of digits; how often that is a step between two
             copies is counted from the largest digit down, the last two at once

Few elements are listed where neither decides.

A view reorders the shard alone, so the parts beside it must make no difference. Modes are matched as maps of
their own: by their merged digits, which are unique. Digits are matched by their steps: a digit (e, s) takes
the steps from s up to e s, and is cut where a digit of the other layout begins inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.bits import Basis
from tilewise.core.canonical import canonical, merged_shard, multiple
from tilewise.core.compare import agree, columns_of, places_of
from tilewise.core.digits import refined, split
from tilewise.core.facts import groups, taken_bits
from tilewise.core.integers import bits_of
from tilewise.core.solve import BudgetSpent, Suffixes, reaches
from tilewise.core.swizzles import one_permutation
from tilewise.core.vectors import ZERO, Iter, Stepped, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout

MAX_LISTED = 1 << 12
"""So many elements, or copies of one, are listed where nothing shorter decides."""

MAX_TRIED = 1 << 11
"""So many digits are tried to count sums."""

MAX_SPAN = 1 << 20
"""So many places of an axis are kept as the bits of one integer."""


def projected(layout: Layout, names: Collection[str]) -> Layout:
    """The layout without the other axes, in canonical form.

    >>> from tilewise import S, laneid, reg
    >>> projected(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], {"laneid"})
    S[(32, 2) : (1@laneid, 0)]
    """

    def kept(vector: Vector) -> Vector:
        return Vector(tuple([term for term in vector.terms if term[0].name in names]))

    if layout.swizzles and layout.swizzles[0].axis.name not in names:
        layout = replace(layout, swizzles=(), outer=ZERO)
    copies = tuple([Iter(it.extent, kept(it.stride)) for it in layout.replica])
    strides = tuple(map(kept, layout.strides))
    return canonical(layout.with_parts(layout.shape, strides, copies, kept(layout.offset)))


def moving_names(*layouts: Layout) -> list[str]:
    """The names of the axes on which a layout steps or stands aside, by first appearance.

    >>> from tilewise import S, laneid, m, reg
    >>> moving_names(S[(8, 2) : (1@laneid, 0@reg)] + 5@m)
    ['laneid', 'm']
    """
    return list(dict.fromkeys(name for layout in layouts for name in layout.moving))


# -- the questions ---------------------------------------------------------------------------------


class Movement:
    """From `a` to `b`, two canonical layouts of one size and unit: who stays, and who moves.

    >>> from tilewise import R, S, warpid
    >>> Movement(S[(4, 4) : (4, 1)], S[(4, 4) : (1, 4)]).staying("m")
    4
    >>> copied = S[8 : 1] + R[4 : 1@warpid]
    >>> Movement(copied, S[8 : 1] + 2@warpid).stays(), Movement(S[8 : 1] + 2@warpid, copied).stays()
    (True, False)
    """

    def __init__(self, a: Layout, b: Layout) -> None:
        self.a, self.b = a, b
        self.names = moving_names(a, b)
        self._counts: dict[str, int | None] = {}

    def staying(self, name: str) -> int | None:
        """Return how many elements have all new coordinates of an axis among the old; None: not counted."""
        if name not in self._counts:
            pair = _Pair(self.a, self.b, (name,))
            ways = (pair.by_columns, pair.by_digits, pair.by_listing)
            self._counts[name] = next((count for way in ways if (count := way()) is not None), None)
        return self._counts[name]

    def stays(self, names: Iterable[str] | None = None) -> bool | None:
        """Return whether every element stays, as far as some axes tell; None: not decided."""
        asked = set(self.names if names is None else names)
        axes = {axis.name: axis for layout in (self.a, self.b) for axis in layout.axes}
        open_question = False
        for group in groups((*self.a.replica, *self.b.replica), [axes[name] for name in self.names]):
            together = tuple([axis.name for axis in group if axis.name in asked])
            answer = self._stays_on(together) if together else True
            if answer is False:
                return False
            open_question |= answer is None
        return None if open_question else True

    def _stays_on(self, names: tuple[str, ...]) -> bool | None:
        counts = [self.staying(name) for name in names]
        if any(count not in (None, self.a.size) for count in counts):
            return False
        if len(names) == 1 and counts[0] is not None:
            return True
        pair = _Pair(self.a, self.b, names)
        count = pair.by_columns()
        if count is not None:
            return count == self.a.size
        if not pair.old.replica:
            return agree(pair.old, pair.new)
        fits = pair.fits()
        if fits is not None:
            return fits
        count = pair.by_listing()
        return None if count is None else count == self.a.size


class _Pair:
    """Two canonical layouts seen on a few axes, old and new."""

    def __init__(self, a: Layout, b: Layout, names: tuple[str, ...]) -> None:
        self.names = names
        self.old, self.new = projected(a, names), projected(b, names)
        self.size = a.size

    def by_columns(self) -> int | None:
        """Return how many elements stay, where both maps are XORs of columns."""
        if self.old == self.new:
            return self.size
        found = columns_of(self.old, self.new)
        if found is None:
            return None
        (origin, columns, copies), (new_origin, new_columns, new_copies) = found
        span = Basis(copies)
        if any(map(span.rest, new_copies)):
            return 0
        held = len(span)
        for old, new in zip(columns, new_columns, strict=True):
            span.add(old ^ new)
        return 0 if span.rest(origin ^ new_origin) else self.size >> len(span) - held

    def by_digits(self) -> int | None:
        """Return how many elements stay on one axis: how often the difference is a step between copies."""
        (name,) = self.names
        old, new = ([(it.extent, it.stride[name]) for it in x.replica] for x in (self.old, self.new))
        steps = _steps_inside(old, new)
        digits = self._difference()
        if steps is None or digits is None:
            return None
        base = (self.new.offset - self.old.offset)[name]
        return sums_counted([(extent, step[name]) for extent, step in digits], [s - base for s in steps])

    def _difference(self) -> list[Stepped] | None:
        """The new places less the old ones as digits; None under other swizzles, or where digits clash."""
        old, new = self.old, self.new
        if old.outer != new.outer or not one_permutation(old.swizzles, new.swizzles):
            return None
        both = refined(old.digits, new.digits)
        return both and [(extent, other - one) for (extent, one), (_, other) in zip(*both, strict=True)]

    def fits(self) -> bool | None:
        """Return whether all differences, with the new copies on top, are steps between old copies."""
        digits = self._difference()
        if digits is None:
            return None
        digits += [(it.extent, it.stride) for it in self.new.replica]
        digits = [(extent, step) for extent, step in digits if step]
        base = self.new.offset - self.old.offset
        if prod(extent for extent, _ in digits) > MAX_LISTED:
            return self._in_a_row(base, digits)
        steps = [[step * d for d in range(extent)] for extent, step in digits]
        sums = {self._on_names(sum(chosen, base)) for chosen in product(*steps)}
        copies = self.old.replica
        vectors, ranges = [self._on_names(it.stride) for it in copies], [(0, it.extent - 1) for it in copies]
        try:
            return all(reaches(vectors, ranges, at, at) for at in sums)
        except BudgetSpent:
            return None

    def _in_a_row(self, base: Vector, digits: Sequence[Stepped]) -> bool | None:
        """`fits` for any number of steps, where the old copies are one row."""
        if len(self.names) > 1 or len(self.old.replica) > 1:
            return None
        (name,), (row,) = self.names, self.old.replica
        starts = [base[name], *(step[name] for _, step in digits)]
        ends = [(extent - 1) * step[name] for extent, step in digits]
        least = base[name] + sum(min(0, end) for end in ends)
        most = base[name] + sum(max(0, end) for end in ends)
        step = row.stride[name]
        return least >= 0 and most <= (row.extent - 1) * step and not any(start % step for start in starts)

    def _on_names(self, vector: Vector) -> tuple[int, ...]:
        return tuple([vector[name] for name in self.names])

    def by_listing(self) -> int | None:
        """Return how many elements stay, one after another; None beyond the bound."""
        copies = max(prod(it.extent for it in x.replica) for x in (self.old, self.new))
        if self.size * copies > MAX_LISTED:
            return None
        return sum(places_of(self.new, flat) <= places_of(self.old, flat) for flat in range(self.size))


# -- counting sums ---------------------------------------------------------------------------------


def _steps_inside(old: list[tuple[int, int]], new: list[tuple[int, int]]) -> list[int] | None:
    """Every v such that v + the new copies are among the old ones; None: too many."""
    if not old and not new:
        return [0]
    if sum((extent - 1) * abs(step) for extent, step in (*old, *new)) > MAX_SPAN:
        return None
    bits = taken_bits(old) or 0
    for extent, step in new:
        done = 1
        while done < extent:
            more = min(done, extent - done)
            bits &= bits >> (more * abs(step))
            done += more
    if bits.bit_count() > MAX_LISTED:
        return None
    least = sum((e - 1) * min(0, s) for e, s in old) - sum((e - 1) * min(0, s) for e, s in new)
    return [least + i for i in bits_of(bits)]


def sums_counted(digits: Sequence[tuple[int, int]], wanted: Iterable[int]) -> int | None:
    """Return how many choices of digits (extent, step) add up to one of some sums; None beyond the bound.

    >>> sums_counted([(8, 3), (4, -7)], [0])
    2
    """
    free = prod(extent for extent, step in digits if not step)
    moving = sorted((digit for digit in digits if digit[1]), key=lambda digit: -abs(digit[1]))
    rest = Suffixes([(step,) for _, step in moving], [(0, extent - 1) for extent, _ in moving], 1)
    states = Counter(-total for total in wanted)
    if not moving:
        return free * states[0]
    tried = 0
    for level, (_, step) in enumerate(moving[:-2]):
        following: Counter[int] = Counter()
        for reached, times in states.items():
            candidates = rest.candidates(level, (reached,), (0,), (0,))
            tried += len(candidates) + 1
            if tried > MAX_TRIED:
                return None
            for digit in candidates:
                following[reached + digit * step] += times
        states = following
    level = max(0, len(moving) - 2)  # one digit more follows of itself
    found = ((times, rest.candidates(level, (reached,), (0,), (0,))) for reached, times in states.items())
    return free * sum(times * len(candidates) for times, candidates in found)


# -- views -----------------------------------------------------------------------------------------


def find_modes(a: Layout, b: Layout) -> list[int] | None:
    """The permutation of a's modes that makes its shard b's, or None.

    >>> from tilewise import S
    >>> find_modes(S[(8, 4) : (4, 1)], S[(4, 8) : (1, 4)])
    [1, 0]
    """
    return _matched(*([tuple(merged_shard(held)) for _, held in modes_of(x)] for x in (a, b)))


def _matched(old: Sequence[Any], new: Sequence[Any]) -> list[int] | None:
    """The positions in `old` of the parts of `new`, each once; None where one of either is left over."""
    positions: dict[Any, list[int]] = {}
    for position, part in reversed([*enumerate(old)]):
        positions.setdefault(part, []).append(position)
    if len(old) != len(new):
        return None
    order = [positions[part].pop() if positions.get(part) else -1 for part in new]
    return None if -1 in order else order


def find_digits(a: Layout, b: Layout) -> dict[str, list[int]] | None:
    """The shape, and the permutation of its modes, that make a's shard b's, where one was found.

    >>> from tilewise import S
    >>> find_digits(S[(4, 2, 2, 4) : (16, 4, 8, 1)], S[(8, 8) : (8, 1)])
    {'reshape': [4, 2, 2, 4], 'permute': [0, 2, 1, 3]}
    """
    ours, theirs = ([(it.extent, it.stride) for it in merged_shard(x.shard)] for x in (a, b))
    for old, new in (ours, theirs), (_cut_where(ours, theirs), _cut_where(theirs, ours)):
        order = old and new and _matched(old, new)
        if old and order:
            shape, order = _joined([extent for extent, _ in old], order)
            return {"reshape": shape, "permute": order}
    return None


def _cut_where(digits: Sequence[Stepped], others: Sequence[Stepped]) -> list[Stepped] | None:
    """The digits, cut where one of the others begins or ends inside; None where it does not divide one."""
    pieces: list[Stepped] = []
    starts = {start for extent, step in others for start in (step, step * extent) if step}
    for extent, step in digits:
        inside = (multiple(start, step) for start in starts if step)
        cuts = [1, *sorted({q for q in inside if q and 1 < q < extent}), extent]
        if any(later % earlier for earlier, later in pairwise(cuts)):
            return None
        pieces += split([(extent, step)], cuts[:-1])
    return pieces


def _joined(extents: list[int], order: list[int]) -> tuple[list[int], list[int]]:
    """The same permutation with neighbours that stay neighbours as one mode."""
    follows = {before for before, after in pairwise(order) if after == before + 1}
    starts = [i for i in range(len(extents)) if i - 1 not in follows]
    mode_of = {start: i for i, start in enumerate(starts)}
    ends = [*starts[1:], len(extents)]
    shape = [prod(extents[start:end]) for start, end in zip(starts, ends, strict=True)]
    return shape, [mode_of[i] for i in order if i in mode_of]


def dressed_alike(a: Layout, b: Layout) -> bool | None:
    """Return whether two canonical layouts would be one map, were their shards alike; None: not decided.

    >>> from tilewise import S, Swizzle
    >>> dressed_alike(S[4 : 1] + 5, S[8 : 1]), dressed_alike(Swizzle(3, 3, 3) @ S[512 : 1], S[512 : 1])
    (False, False)
    """
    if not a.swizzles and not b.swizzles and (a.offset - b.offset).nonzero.terms:
        return False
    return agree(canonical(replace(a, shape=b.shape, strides=b.strides)), b)
