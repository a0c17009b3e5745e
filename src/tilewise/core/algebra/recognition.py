"""From a listed map back to `Swizzle<B,M,S> o (S[...] + o)`, or the proof that there is none.

A swizzle undoes itself, so T = Sw o L iff Sw o T is a layout L, which the gcd law decides in one pass
(`levels.form_of`). What is left is which swizzles to ask:

    XORs     Where T is affine over GF(2), Sw o T is too, and such a map is a layout iff no two of its
             columns share a bit (`gf2`). A bit that two columns share must be flipped in one of them, by
             a bit that one of them has: that leaves few S, and with S the bits to flip are given.
    any map  The bits of T end at some n, and so do those that a swizzle needs. One that reads above n
             reads zeros. One that flips bits from n + 1 on alone leaves T modulo 2^(n+1), where steps
             are still told apart: T would be a layout itself. Numbers below 0 repeat their sign above n,
             and two bits more tell their steps apart. All others are tried, B ascending, each on a few
             steps that broke the law before it is asked the whole map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd
from operator import or_

from tilewise.core.algebra.levels import Code, Form, digits_of, form_of
from tilewise.core.axes import Axis, m
from tilewise.core.canonical import merged_shard
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.gf2 import AffineMap
from tilewise.core.integers import as_int, bits_of
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import spell
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Law = list[tuple[int, int, int]]
"""Steps as (value before, value after, what other axes add), the first equal to one of the others."""

MAX_TRIED = 1 << 18
"""So many swizzles are tried on a map of numbers beyond all addresses."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A layout that a table is the list of; `note` says why it has not the table's own shape."""

    layout: Layout
    note: str = ""

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle, or None for a plain layout."""
        return self.layout.swizzles[0] if self.layout.swizzles else None


def recognise(table: Any, axis: Axis = m) -> Layout:
    """The layout that a table lists: the swizzle with the fewest bits that explains it, none if possible.

    A table is a list of integers or an array, nested as its shape is; or a list of places; or one such
    table an axis, by name. The result has the table's shape where its digits divide it, else it is flat
    (`explanations` says why). Of swizzles with as few bits, S > 0 comes first, then small `|S|` and M.

        postcondition  recognise(T).place(x) == T[x] for every flat index x
        refused        TW510 where no layout and no swizzle of one explains the table; the witness are two
                       positions at which it steps as no layout does: of m, m' and gcd(m, m') the step into
                       the last is one of the other two; with m' = size, that into m

    >>> from tilewise import S
    >>> recognise([[0, 1, 2, 3], [5, 4, 7, 6]])
    Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)]
    >>> recognise([5, 6, 7, 15, 16, 17])
    S[(2, 3) : (10, 1)] + 5
    >>> recognise({"laneid": [0, 0, 1, 1], "reg": [1, 0, 1, 0]})
    S[(2, 2) : (1@laneid, -1@reg)] + 1@reg
    >>> recognise([0, 1, 2, 5])
    Traceback (most recent call last):
    tilewise.Refused: TW510: no layout of 4 elements steps by 1@m into position 1, by 3@m into position 3, \
and no swizzle on m makes the table one
      hint: a layout steps into m as it does into gcd(m, size), and into gcd(m, m') as into m or m'
    """
    listed = _Listed(table, axis)
    affine = listed.affine()
    if affine is None:
        return listed.explained(next(_searched(listed), None)).layout
    try:
        return listed.explained(recognise_map(affine)).layout
    except Refused:
        return listed.explained(None).layout


def explanations(table: Any, axis: Axis = m) -> Iterator[Explanation]:
    """Every `Swizzle<B,M,S> o layout` that a table is the list of, fewest bits first.

    A table of less than a whole period may have several: no place that it names tells them apart. Of
    swizzles that act alike on it the one with the fewest bits stands for all. Those that flip bits above
    the table's are left out, unless there is no other: then the first of them is the answer.

    >>> [str(found.layout) for found in explanations([[0, 3], [4, 7]])]
    ['S[(2, 2) : (4, 3)]', 'Swizzle<1,0,1> o S[(2, 2) : (4, 2)]', 'Swizzle<1,0,-1> o S[(2, 2) : (4, 1)]']
    """
    listed = _Listed(table, axis)
    beyond: Layout | None = None
    inside = False
    for found in _searched(listed):
        if all(swizzle.target < 1 << listed.width(swizzle.axis) for swizzle in found.swizzles):
            inside = True
            yield listed.explained(found)
        beyond = beyond or found
    if not inside:
        yield listed.explained(beyond)


def recognise_map(affine: AffineMap) -> Layout:
    """The layout, swizzled where it must be, that an affine map over GF(2) is.

        postcondition  recognise_map(A).place(x) == A(x) for every index x of its bits
        refused        TW510 where no swizzle on one storage axis makes one; the witness are two indices
                       of one bit each whose columns share a bit, so that with index 0 and their sum they
                       show that there is no plain layout

    Cost by the number of bits. Of all swizzles the one with the fewest bits is taken, as `recognise` does.

    >>> from tilewise.core.gf2 import affine
    >>> recognise_map(AffineMap((0,), ((1,), (2,), (4,), (9,), (18,))))
    Swizzle(2, 0, 3) @ S[32 : 1]
    >>> from tilewise import S
    >>> recognise_map(affine(Swizzle(3, 4, 3) @ S[2**20, 2**20]))
    Swizzle(3, 4, 3) @ S[1099511627776 : 1]
    """
    overlaps = [i for i in range(len(affine.axes)) if _shared([c[i] for c in affine.columns])]
    if not overlaps:
        return _separated(affine, None)
    i = overlaps[0]
    columns = [column[i] for column in affine.columns]
    swizzle = _parting(columns, affine.axes[i]) if len(overlaps) == 1 else None
    if swizzle is not None:
        return _separated(affine, swizzle)
    a, b, _ = _shared(columns) or (0, 0, 0)
    raise Refused(
        "TW510",
        f"no layout: the bits {1 << a} and {1 << b} of the index flip "
        f"{point(affine.axes, affine.columns[a])} and {point(affine.axes, affine.columns[b])}, "
        "and no swizzle parts the columns" + _where(affine, overlaps),
        witness=(1 << a, 1 << b),
        hint="XORs are a layout where no two bits of the index flip one bit of a place",
    )


# -- a map of XORs ---------------------------------------------------------------------------------


def _shared(columns: Sequence[int]) -> tuple[int, int, int] | None:
    """The first two columns that share a bit, and the bits that they share."""
    used = 0
    for b, column in enumerate(columns):
        if column & used:
            a = next(a for a in range(b) if columns[a] & column)
            return a, b, columns[a] & column
        used |= column
    return None


def _where(affine: AffineMap, overlaps: Sequence[int]) -> str:
    if len(overlaps) > 1:
        return f" of both {affine.axes[overlaps[0]]} and {affine.axes[overlaps[1]]}"
    axis = affine.axes[overlaps[0]]
    return "" if axis.kind == "storage" else f": {axis} is no storage"


def _parting(columns: Sequence[int], axis: Axis) -> Swizzle | None:
    """The swizzle with the fewest bits after which no two columns share a bit, if there is one."""
    found = _shared(columns)
    if found is None or axis.kind != "storage":
        return None
    a, b, common = found
    if common < 0:
        return None
    first = (common & -common).bit_length() - 1
    width = 2 * max(column.bit_length() for column in columns) + 2  # endless bits repeat: enough of them
    apart = columns[a] ^ columns[b]
    common = _overlap(columns)
    choices = []
    for bit in bits_of(apart & (1 << width) - 1):
        shift = bit - first
        swizzle = _reading(common, shift, axis)
        if swizzle is not None and _shared([swizzle(column) for column in columns]) is None:
            choices.append(swizzle)
    return min(choices, key=_preference, default=None)


def _overlap(columns: Sequence[int]) -> int:
    """The bits that two or more columns have."""
    used = common = 0
    for column in columns:
        common |= used & column
        used |= column
    return common


def _reading(flipped: int, shift: int, axis: Axis) -> Swizzle | None:
    """The smallest swizzle at this distance that may flip all of these bits."""
    if flipped < 0:
        return None
    low = (flipped & -flipped).bit_length() - 1
    bits = flipped.bit_length() - low
    base = low + min(shift, 0)
    return Swizzle(bits, base, shift, axis) if bits <= abs(shift) and base >= 0 else None


def _preference(swizzle: Swizzle) -> tuple[int, bool, int, int]:
    return swizzle.bits, swizzle.shift < 0, abs(swizzle.shift), swizzle.base


def _separated(affine: AffineMap, swizzle: Swizzle | None) -> Layout:
    """The layout whose columns share no bit once the swizzle is undone."""
    origin, *columns = (_undone(affine, swizzle, place) for place in (affine.origin, *affine.columns))
    steps = [tuple((o ^ c) - o for o, c in zip(origin, column, strict=True)) for column in columns]
    digits = merged_shard(tuple(Iter(2, point(affine.axes, step)) for step in reversed(steps)))
    return Layout(
        tuple(it.extent for it in digits),
        tuple(it.stride for it in digits),
        offset=point(affine.axes, origin).nonzero,
        swizzles=(swizzle,) if swizzle else (),
    )


def _undone(affine: AffineMap, swizzle: Swizzle | None, place: tuple[int, ...]) -> tuple[int, ...]:
    if swizzle is None:
        return place
    return tuple(swizzle(p) if a == swizzle.axis else p for a, p in zip(affine.axes, place, strict=True))


# -- a listed map ----------------------------------------------------------------------------------


class _Listed:
    """A table as one list of numbers an axis, with the shape that it is nested in."""

    def __init__(self, table: Any, axis: Axis) -> None:
        self.columns: dict[Axis, list[int]] = {}
        if isinstance(table, Mapping):
            read = {_axis(name): _flattened(part) for name, part in table.items()}
        else:
            read = {axis: _flattened(table)}
        shapes = {shape for shape, _ in read.values()}
        if len(shapes) != 1:
            raise LayoutError(
                "TW107",
                "the tables of the axes have shapes " + " and ".join(map(spell, sorted(shapes)))
                if shapes
                else "a table without an axis",
                hint="one table an axis, all of one shape",
            )
        (self.shape,) = shapes
        for name, (_, entries) in read.items():
            self.columns |= _by_axis(name, entries)
        self.axes = tuple(self.columns)
        self.size = len(self.columns[self.axes[0]])

    def width(self, axis: Axis) -> int:
        """How many bits the table's numbers have on an axis, the sign not counted."""
        low, high = min(self.columns[axis]), max(self.columns[axis])
        return max(high, ~low).bit_length()

    def affine(self) -> AffineMap | None:
        """The table as XORs of columns, if it is that."""
        bits = self.size.bit_length() - 1
        if self.size != 1 << bits:
            return None
        columns = []
        for values in self.columns.values():
            start, listed, flips = values[0], values[:1], []
            for bit in range(bits):
                flip = values[1 << bit] ^ start
                listed += [value ^ flip for value in listed]
                flips.append(flip)
            if listed != values:
                return None
            columns.append(flips)
        origin = tuple(values[0] for values in self.columns.values())
        return AffineMap(origin, tuple(zip(*columns, strict=True)), self.axes)

    def explained(self, found: Layout | None) -> Explanation:
        """The layout in the table's shape, where its digits divide it; a refusal where there is none."""
        if found is None:
            raise self._unexplained()
        if len(self.shape) < 2:
            return Explanation(found)
        from tilewise.core.algebra.modes import reshape

        try:
            return Explanation(reshape(found, self.shape))
        except Refused as no:
            return Explanation(found, no.reason)

    def _unexplained(self) -> Refused:
        code = self.code(self.axes)
        listed = self.encoded(code, self.axes)
        found = form_of(listed)
        assert isinstance(found, tuple)
        m, other = found
        positions = sorted({p for p in (gcd(m, other), m, other) if p < self.size})
        steps = [f"by {code.vector(listed[p] - listed[p - 1])} into position {p}" for p in positions]
        storage = " or ".join(axis.name for axis in self.axes if axis.kind == "storage")
        return Refused(
            "TW510",
            f"no layout of {self.size} elements steps {', '.join(steps)}"
            + (f", and no swizzle on {storage} makes the table one" if storage else ""),
            witness=(m, other),
            hint="a layout steps into m as it does into gcd(m, size), and into gcd(m, m') as into m or m'",
        )

    def code(self, axes: tuple[Axis, ...]) -> Code:
        """Places as single numbers, with room for all differences and strides, the first axis lowest."""
        largest = max(max(map(abs, (min(v), max(v)))) for v in self.columns.values())
        return Code(axes, 2 * largest.bit_length() + self.size.bit_length() + 8)

    def encoded(self, code: Code, axes: tuple[Axis, ...]) -> list[int]:
        """The places as the numbers of a code, on some of its axes."""
        if axes == code.axes[:1]:
            return self.columns[axes[0]]
        fields = [code.field[axis.name] for axis in axes]
        columns = [self.columns[axis] for axis in axes]
        return [
            sum([value << field for value, field in zip(place, fields, strict=True)])
            for place in zip(*columns, strict=True)
        ]

    def layout(self, code: Code, form: Form, start: int, swizzle: Swizzle | None) -> Layout:
        """The layout of a form."""
        digits = [digit for digit in digits_of(form, self.size) if digit[0] > 1]
        return Layout(
            tuple(extent for extent, _ in digits),
            tuple(code.vector(stride) for _, stride in digits),
            offset=code.vector(start),
            swizzles=(swizzle,) if swizzle else (),
        )


def _axis(name: Any) -> Axis:
    return name if isinstance(name, Axis) else Axis(name)


def _flattened(table: Any) -> tuple[tuple[int, ...], list[Any]]:
    """(shape, entries) of a nested table."""
    table = _plain(table)
    if not isinstance(table, Iterable):
        return (), [table]
    entries = list(table)
    if entries and hasattr(entries[0], "tolist"):
        entries = list(map(_plain, entries))
    shape = [len(entries)]
    while entries and isinstance(entries[0], list | tuple):
        lengths = {len(row) if isinstance(row, list | tuple) else 0 for row in entries}
        if len(lengths) > 1:
            raise LayoutError(
                "TW107",
                f"a table with rows of {' and '.join(map(str, sorted(lengths)))} entries",
                hint="every row has as many; 0 stands for an entry beside rows",
            )
        shape.append(lengths.pop())
        entries = [entry for row in entries for entry in row]
    if not entries:
        raise LayoutError("TW102", "a table without an entry is no layout's")
    return tuple(shape), entries


def _plain(table: Any) -> Any:
    """An array of any package as Python's own lists and numbers."""
    return table.tolist() if hasattr(table, "tolist") else table


def _by_axis(axis: Axis, entries: list[Any]) -> dict[Axis, list[int]]:
    """Entries as numbers: on the axis, or on their own where they are places."""
    kinds = set(map(type, entries))
    if kinds == {int}:
        return {axis: entries}
    if kinds == {Vector}:
        named = {own.name: own for place in entries for own in place.axes} or {axis.name: axis}
        return {own: [place[own] for place in entries] for own in named.values()}
    fraction = next((entry for entry in entries if isinstance(entry, float)), None)
    if fraction is not None:
        raise LayoutError(
            "TW101",
            f"an entry of the table must be an integer, not the float {fraction!r}",
            hint="a table lists places, which are whole numbers: astype(int) where these are",
        )
    return {axis: [as_int(entry, "an entry of the table") for entry in entries]}


# -- which swizzle ---------------------------------------------------------------------------------


def _searched(listed: _Listed) -> Iterator[Layout]:
    """The layouts that explain a table: the plain one first, then those with the fewest bits swizzled."""
    code = listed.code(listed.axes)
    values = listed.encoded(code, listed.axes)
    plain = form_of(values)
    if isinstance(plain, dict):
        yield listed.layout(code, plain, values[0], None)
    searches = [_Search(listed, axis) for axis in listed.axes if axis.kind == "storage"]
    for search in searches if isinstance(plain, tuple) else ():
        search.learn(*plain)
    tried = 0
    for bits in range(1, 1 + max([search.top for search in searches], default=0)):
        for search in searches:
            for base, shift in search.fields(bits):
                tried += 1
                if tried > MAX_TRIED:
                    raise NotDecided(
                        f"whether a swizzle explains the table was not decided within {MAX_TRIED} of them"
                    )
                found = search.layout(bits, base, shift)
                if found is not None:
                    yield found


class _Search:
    """Swizzles on one axis of a table, and the steps at which one of them may break the gcd law."""

    def __init__(self, listed: _Listed, axis: Axis) -> None:
        self.listed, self.axis = listed, axis
        others = tuple(other for other in listed.axes if other != axis)
        self.code = listed.code((axis, *others))
        self.values = listed.columns[axis]
        self.rest = listed.encoded(self.code, others) if others else []
        self.signed = min(self.values) < 0
        self.width = listed.width(axis)
        self.top = self.width + 2 * self.signed
        """Where the bits end that a swizzle may have to read."""
        self.used = reduce(or_, self.values)
        size = listed.size
        near = {odd << bit for bit in range(size.bit_length()) for odd in (3, 5, 7, 21)}
        spread = {size * k // 29 for k in range(1, 29)} | {size - m for m in near}
        self.laws = [self._law(m, size) for m in sorted(near | spread) if 0 < m < size]

    def fields(self, bits: int) -> Iterator[tuple[int, int]]:
        """(base, shift) of all swizzles of so many bits that tell apart: they read no zeros at either end."""
        last = bits - 1
        used, top, width = self.used, self.top, self.width
        reads = [k for k in range(top + 1) if used >> k & 1 and used >> k + last & 1]
        for distance in range(bits, top + 1):
            for first in reads:
                if first >= distance and (first + last < width or self._above(first, distance, bits)):
                    yield first - distance, distance
        for distance in range(bits, top + 1):
            for first in reads:
                if first + distance <= width + self.signed and first + last < top:
                    yield first, -distance

    def _above(self, first: int, distance: int, bits: int) -> bool:
        """Whether reading the endless sign bits may be worth a try."""
        return self.signed and first - distance + bits <= self.top

    def layout(self, bits: int, base: int, shift: int) -> Layout | None:
        """The layout that the table is behind this swizzle, if it is one."""
        move = _move(bits, base, shift)
        for i, law in enumerate(self.laws):
            first, *others = [move(after) - move(before) + rest for before, after, rest in law]
            if first not in others:
                self.laws.insert(0, self.laws.pop(i))  # what broke one breaks many
                return None
        moved = list(map(move, self.values))
        if self.rest:
            moved = list(map(int.__add__, moved, self.rest))
        form = form_of(moved)
        if isinstance(form, tuple):
            self.learn(*form)
            return None
        swizzle = Swizzle(bits, base, shift, self.axis)
        return self.listed.layout(self.code, form, moved[0], swizzle)

    def learn(self, m: int, other: int) -> None:
        """Ask first for the steps at two positions where the gcd law was broken."""
        self.laws.insert(0, self._law(m, other))

    def _law(self, m: int, other: int) -> Law:
        """The steps into gcd(m, other), m and other; other = size stands for none."""
        values, rest = self.values, self.rest
        return [
            (values[p - 1], values[p], rest[p] - rest[p - 1] if rest else 0)
            for p in (gcd(m, other), m, other)
            if p < len(values)
        ]


def _move(bits: int, base: int, shift: int) -> Callable[[int], int]:
    """`Swizzle(bits, base, shift)` as a bare function."""
    read = (1 << bits) - 1 << base + max(shift, 0)
    if shift > 0:
        return lambda address: address ^ (address & read) >> shift
    return lambda address: address ^ (address & read) << -shift
