"""Counts of elements that stay and that move between two layouts of one tensor, and views that move nothing.

An element stays where its new places are among its old ones. Axes that no replica joins are decided alone.
Where both maps are XORs of columns, the elements that stay solve a linear system. Of other maps few elements
are listed, and many are not counted; often it is known without a count that all of them stay.

A view reorders the shard alone, so the parts beside it must make no difference. Modes are matched as maps of
their own: by their merged digits, which are unique. Digits are matched by their steps: a digit (e, s) takes
the steps from s up to e s, and is cut where a digit of the other layout begins inside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod

from tilewise.core.algebra.modes import modes_of
from tilewise.core.bits import Basis
from tilewise.core.canonical import canonical, merged_shard, multiple
from tilewise.core.compare import agree, columns_of, places_of
from tilewise.core.digits import refined, split
from tilewise.core.facts import groups
from tilewise.core.solve import BudgetSpent, reaches
from tilewise.core.swizzles import apply_chain, one_permutation
from tilewise.core.vectors import ZERO, Iter, Stepped, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout

MAX_LISTED = 1 << 12
"""The most elements, or copies of one, that are listed where nothing shorter decides."""


def projected(layout: Layout, names: Collection[str]) -> Layout:
    """Return the layout without the other axes, in canonical form.

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
    """Return the names of the axes on which a layout steps or stands aside, by first appearance.

    >>> from tilewise import S, laneid, m, reg
    >>> moving_names(S[(8, 2) : (1@laneid, 0@reg)] + 5@m)
    ['laneid', 'm']
    """
    return list(dict.fromkeys(name for layout in layouts for name in layout.moving))


# -- the questions ---------------------------------------------------------------------------------


class Movement:
    """The moves from `a` to `b`, two canonical layouts of one size and unit.

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
        """Return the number of elements with all new coordinates of an axis among the old, or None."""
        if name not in self._counts:
            self._counts[name] = _staying(projected(self.a, [name]), projected(self.b, [name]), [name])
        return self._counts[name]

    def stays(self, names: Iterable[str] | None = None) -> bool | None:
        """Return True if every element stays on some axes; None if not decided."""
        asked = set(self.names if names is None else names)
        axes = {axis.name: axis for layout in (self.a, self.b) for axis in layout.axes}
        open_question = False
        for group in groups((*self.a.replica, *self.b.replica), [axes[name] for name in self.names]):
            together = [axis.name for axis in group if axis.name in asked]
            answer = self._stays_on(together) if together else True
            if answer is False:
                return False
            open_question |= answer is None
        return None if open_question else True

    def _stays_on(self, names: Sequence[str]) -> bool | None:
        counts = [self.staying(name) for name in names]
        if any(count not in (None, self.a.size) for count in counts):
            return False
        if len(names) == 1 and counts[0] is not None:
            return True
        old, new = projected(self.a, names), projected(self.b, names)
        if not old.replica:
            return agree(old, new)
        count = _staying(old, new, names) if len(names) > 1 else None
        return _fits(old, new) if count is None else count == self.a.size


def _staying(old: Layout, new: Layout, names: Sequence[str]) -> int | None:
    """Return the number of elements with all new places among the old ones, or None.

    XORs of columns are counted as such, and other maps one element after another, up to a bound.
    """
    if old == new:
        return old.size
    found = columns_of(old, new)
    if found is None:
        copies = max(prod(it.extent for it in layout.replica) for layout in (old, new))
        if old.has_names or new.has_names or old.size * copies > MAX_LISTED:
            return None
        held = zip(_listed(old, names), _listed(new, names), strict=True)
        return sum(after <= before for before, after in held)
    (origin, columns, copied), (new_origin, new_columns, new_copied) = found
    span = Basis(copied)
    if any(map(span.rest, new_copied)):
        return 0
    copied_bits = len(span)
    for one, other in zip(columns, new_columns, strict=True):
        span.add(one ^ other)
    return 0 if span.rest(origin ^ new_origin) else old.size >> len(span) - copied_bits


def _listed(layout: Layout, names: Sequence[str]) -> Iterable[set[Any]]:
    """Return the places of every element on some axes: on one axis, as numbers."""
    axis = names[0]
    if len(names) > 1:
        return (places_of(layout, flat) for flat in range(layout.size))
    values, copies = [layout.offset[axis]], [0]
    for extent, stride in layout.digits:
        values = [value + stride[axis] * digit for value in values for digit in range(extent)]
    for it in layout.replica:
        copies = [copy + it.stride[axis] * digit for copy in copies for digit in range(it.extent)]
    places = ({value + copy for copy in copies} for value in values)
    if not layout.swizzles:
        return places
    outer = layout.outer[axis]
    return ({apply_chain(layout.swizzles, place) + outer for place in held} for held in places)


def _fits(old: Layout, new: Layout) -> bool | None:
    """Return True if all differences, the new copies on top, are steps between old copies; None if open."""
    both = refined(old.digits, new.digits)
    if not both or old.outer != new.outer or not one_permutation(old.swizzles, new.swizzles):
        return None
    digits = [(extent, after - before) for (extent, before), (_, after) in zip(*both, strict=True)]
    digits += [(it.extent, it.stride) for it in new.replica]
    digits = [(extent, step) for extent, step in digits if step]
    if prod(extent for extent, _ in digits) > MAX_LISTED:
        return None
    axes = tuple(dict.fromkeys((*old.axes, *new.axes)))
    moves = product(*([step * digit for digit in range(extent)] for extent, step in digits))
    sums = {sum(chosen, new.offset - old.offset).nonzero for chosen in moves}
    targets = [tuple([total[axis] for axis in axes]) for total in sums]
    vectors = [tuple([it.stride[axis] for axis in axes]) for it in old.replica]
    ranges = [(0, it.extent - 1) for it in old.replica]
    try:
        return all(reaches(vectors, ranges, target, target) for target in targets)
    except BudgetSpent:
        return None


# -- views -----------------------------------------------------------------------------------------


def find_modes(a: Layout, b: Layout) -> list[int] | None:
    """Return the permutation of a's modes that makes its shard b's, or None.

    >>> from tilewise import S
    >>> find_modes(S[(8, 4) : (4, 1)], S[(4, 8) : (1, 4)])
    [1, 0]
    """
    return _matched(*([tuple(merged_shard(held)) for _, held in modes_of(x)] for x in (a, b)))


def _matched(old: Sequence[Any], new: Sequence[Any]) -> list[int] | None:
    """Return the positions in `old` of the parts of `new`, each once, or None if some part is left over."""
    positions: dict[Any, list[int]] = {}
    for position, part in reversed([*enumerate(old)]):
        positions.setdefault(part, []).append(position)
    if len(old) != len(new):
        return None
    order = [positions[part].pop() if positions.get(part) else -1 for part in new]
    return None if -1 in order else order


def find_digits(a: Layout, b: Layout) -> dict[str, list[int]] | None:
    """Return the shape, and the permutation of its modes, that make a's shard b's, or None if not found.

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
    """Return the digits, cut where other digits begin or end inside; None where a cut does not divide one."""
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
    """Return the same permutation with neighbours that stay neighbours as one mode."""
    follows = {before for before, after in pairwise(order) if after == before + 1}
    starts = [i for i in range(len(extents)) if i - 1 not in follows]
    mode_of = {start: i for i, start in enumerate(starts)}
    ends = [*starts[1:], len(extents)]
    shape = [prod(extents[start:end]) for start, end in zip(starts, ends, strict=True)]
    return shape, [mode_of[i] for i in order if i in mode_of]


def dressed_alike(a: Layout, b: Layout) -> bool | None:
    """Return True if two canonical layouts with one shard would be one map; None if not decided.

    >>> from tilewise import S, Swizzle
    >>> dressed_alike(S[4 : 1] + 5, S[8 : 1]), dressed_alike(Swizzle(3, 3, 3) @ S[512 : 1], S[512 : 1])
    (False, False)
    """
    if not a.swizzles and not b.swizzles and (a.offset - b.offset).nonzero.terms:
        return False
    return agree(canonical(replace(a, shape=b.shape, strides=b.strides)), b)
