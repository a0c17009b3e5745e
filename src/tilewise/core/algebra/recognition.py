"""From a listed map back to `Swizzle<B,M,S> o (S[...] + o)`, or the proof that no such form exists.

A swizzle undoes itself, so T = Sw o L iff Sw o T is a layout L, which the gcd law decides in one pass
(`levels.beginning`). It remains to choose the swizzles to try:

    XORs     Where T is affine over GF(2), Sw o T is too, and such a map is a layout iff no two of its
             columns share a bit (`gf2`). A bit that two columns share must be flipped in one of them, by
             a bit that one of them has: that leaves few S, and with S the bits to flip are given.
    any map  The bits of T end at some n, and so do those that a swizzle needs. One that reads above n
             reads zeros. One that flips bits from n + 1 on alone leaves T modulo 2^(n+1), where steps
             are still told apart: T would be a layout itself. Numbers below 0 repeat their sign above n,
             and two bits more tell their steps apart. All others are tried, B ascending, each on a few
             steps that broke the law before the whole map.

Where no layout explains T, each swizzle has a first index up to which Sw o T still begins a layout.
The last of these indices is the witness: a layout has all that comes before it, and no layout has it too.

The numbers stand in the order of the flat index. A function is called at every index of a shape,
and keeps that shape. A table has the shape that it is nested in; a shape that the caller gives is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import gcd, prod
from operator import add, or_

from tilewise.core.algebra.levels import Code, Form, beginning, digits_of
from tilewise.core.axes import Axis, m
from tilewise.core.bits import Bits, sums
from tilewise.core.bits import affine as affine_of
from tilewise.core.canonical import merged_shard
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.integers import as_int, bits_of, counted
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import Shape, as_shape, coordinates, extents_of, leaves, size_of, spell
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# -- a map that is listed --------------------------------------------------------------------------

MAX_ASKED = 1 << 20
"""The most indices at which a function is called."""


class Listed:
    """The numbers of a listed map by axis, and its shape; `kept` where the answer must have that shape."""

    def __init__(self, table: Any, axis: Any, shape: Any = None) -> None:
        asked = None if shape is None else as_shape(shape if isinstance(shape, tuple | list) else (shape,))
        axes = tuple(map(_axis, axis)) if isinstance(axis, tuple | list) else (_axis(axis),)
        self.columns: dict[Axis, list[int]] = {}
        if callable(table):
            if asked is None:
                raise LayoutError(
                    "TW202",
                    "a function has no shape",
                    hint="say which indices it takes, such as shape=(64, 64)",
                )
            if size_of(asked) > MAX_ASKED:
                raise LayoutError(
                    "TW301",
                    f"{spell(asked)} has {size_of(asked)} indices; "
                    f"a function is called at {MAX_ASKED} at most",
                    hint="an exact answer takes every element; ask about a tile",
                )
            self.shape: Shape = asked
            indices = product(*map(range, extents_of(asked)))
            self.columns = _by_axis(axes, [_plain(table(*index)) for index in indices])
        elif isinstance(table, Mapping):
            self.shape = self._read({_axis(name): _flattened(part) for name, part in table.items()})
        else:
            self.shape, entries = _flattened(table)
            self.columns = _by_axis(axes, entries)
        self.kept = asked is not None
        self.axes = tuple(self.columns)
        self.size = len(self.columns[self.axes[0]])
        if asked is not None:
            if size_of(asked) != self.size:
                raise LayoutError(
                    "TW202", f"{spell(asked)} has {size_of(asked)} elements, and the table has {self.size}"
                )
            self.shape = asked

    def _read(self, tables: dict[Axis, tuple[tuple[int, ...], list[Any]]]) -> tuple[int, ...]:
        """Take one table an axis, and return their shape."""
        shapes = {shape for shape, _ in tables.values()}
        if len(shapes) != 1:
            raise LayoutError(
                "TW107",
                "the tables of the axes have shapes " + " and ".join(map(spell, sorted(shapes)))
                if shapes
                else "a table without an axis",
                hint="one table an axis, all of one shape",
            )
        for name, (_, entries) in tables.items():
            self.columns |= _by_axis((name,), entries)
        return shapes.pop()

    @property
    def places(self) -> list[int]:
        """Return the place values of the kept shape: each digit's divides them, or they it."""
        extents = list(leaves(self.shape)) if self.kept else []
        return [prod(extents[at:]) for at in range(1, len(extents))]

    def width(self, axis: Axis) -> int:
        """Return the number of bits that the numbers on an axis have, the sign not counted."""
        low, high = min(self.columns[axis]), max(self.columns[axis])
        return max(high, ~low).bit_length()

    def affine(self) -> Bits | None:
        """Return the map as XORs of columns, if it is that."""
        bits = self.size.bit_length() - 1
        if self.size != 1 << bits:
            return None
        columns = []
        for values in self.columns.values():
            flips = [values[1 << bit] ^ values[0] for bit in range(bits)]
            if sums(flips, values[0]) != values:
                return None
            columns.append(flips)
        origin = tuple(values[0] for values in self.columns.values())
        return Bits(origin, tuple(zip(*columns, strict=True)), self.axes)

    def code(self, axes: tuple[Axis, ...]) -> Code:
        """Return the code of places: room for all differences and strides, the first axis lowest."""
        largest = max(max(map(abs, (min(v), max(v)))) for v in self.columns.values())
        return Code(axes, 2 * largest.bit_length() + self.size.bit_length() + 8)

    def encoded(self, code: Code, axes: tuple[Axis, ...]) -> list[int]:
        """Return the places as the numbers of a code, on some of its axes."""
        if axes == code.axes[:1]:
            return self.columns[axes[0]]
        fields = [code.field[axis.name] for axis in axes]
        columns = [self.columns[axis] for axis in axes]
        return [
            sum([value << field for value, field in zip(place, fields, strict=True)])
            for place in zip(*columns, strict=True)
        ]

    def layout(self, code: Code, form: Form, start: int, swizzle: Swizzle | None) -> Layout:
        """Return the layout of a form."""
        digits = [digit for digit in digits_of(form, self.size) if digit[0] > 1]
        return Layout(
            tuple(extent for extent, _ in digits),
            tuple(code.vector(stride) for _, stride in digits),
            offset=code.vector(start),
            swizzles=(swizzle,) if swizzle else (),
        )

    def place(self, flat: int) -> Vector:
        """Return the place that is listed at a flat index."""
        return Vector(tuple([(axis, values[flat]) for axis, values in self.columns.items()]))


# -- tables ----------------------------------------------------------------------------------------


def _axis(name: Any) -> Axis:
    return name if isinstance(name, Axis) else Axis(name)


def _flattened(table: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return (shape, entries) of a nested table."""
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
    """Return an array of any package as Python's own lists and numbers."""
    return table.tolist() if hasattr(table, "tolist") else table


# -- entries ---------------------------------------------------------------------------------------


def _by_axis(axes: tuple[Axis, ...], entries: list[Any]) -> dict[Axis, list[int]]:
    """Return entries as numbers on the axes, or on the axes that places or {axis: number} name."""
    kinds = set(map(type, entries))
    if kinds == {int} and len(axes) == 1:
        return {axes[0]: entries}
    if kinds == {Vector}:
        named = {own.name: own for place in entries for own in place.axes} or {axes[0].name: axes[0]}
        return {own: [place[own] for place in entries] for own in named.values()}
    if kinds == {dict}:
        names = list(entries[0])
        if not names or any(entry.keys() != entries[0].keys() for entry in entries):
            raise LayoutError("TW107", "entries name different axes", hint="write 0 where one stands still")
        return {_axis(name): _numbers([entry[name] for entry in entries]) for name in names}
    counts = {len(entry) if isinstance(entry, tuple | list) else 1 for entry in entries}
    if counts != {len(axes)}:
        given = " and ".join(counted(count, "number") for count in sorted(counts))
        raise LayoutError(
            "TW107",
            f"{given} an element, for the {'axes' if len(axes) > 1 else 'axis'} "
            + " and ".join(axis.name for axis in axes),
            hint='name an axis for each, such as axis=("laneid", "reg")',
        )
    rows = [entry if isinstance(entry, tuple | list) else (entry,) for entry in entries]
    return {axis: _numbers(column) for axis, column in zip(axes, zip(*rows, strict=True), strict=True)}


def _numbers(entries: Sequence[Any]) -> list[int]:
    fraction = next((entry for entry in entries if isinstance(entry, float)), None)
    if fraction is not None:
        raise LayoutError(
            "TW101",
            f"an entry of the table must be an integer, not the float {fraction!r}",
            hint="a table lists places, which are whole numbers: astype(int) where these are",
        )
    return [as_int(entry, "an entry of the table") for entry in entries]


# -- layouts of a table ----------------------------------------------------------------------------

Law = list[tuple[int, int, int, int]]
"""Steps as (position, value before, value after, step on other axes); the first is one of the others too."""

MAX_TRIED = 1 << 18
"""The most swizzles that are tried on a map of numbers beyond all addresses."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A layout that a table is the list of; `note` is the reason where its shape is not the table's."""

    layout: Layout
    note: str = ""

    @property
    def swizzle(self) -> Swizzle | None:
        """Return the swizzle, or None for a plain layout."""
        return self.layout.swizzles[0] if self.layout.swizzles else None


def recognise(table: Any, axis: Any = m, shape: Any = None) -> Layout:
    """Return the layout that a table lists, with the swizzle of the fewest bits, or without one if possible.

    A table is a list of integers or an array, nested as its shape is; or a list of places; or one such
    table an axis, by name. Or it is a function of the coordinates of `shape`, which
    returns a number on `axis`, a place, {axis: number}, or as many numbers as `axis` names axes.

    The result has the modes of `shape`. Without one it has the table's shape where its digits divide
    it, else it is flat, with the reason in `explanations`. Of swizzles with as few bits, S > 0 comes first,
    then small `|S|` and M.

        postcondition  recognise(T).place(x) == T[x] for every flat index x
        refused        TW510 where no layout and no swizzle of one, in that shape, explains the table; the
                       witness is an index: a layout has all that comes before it, and no layout has it too

    >>> from tilewise import S
    >>> recognise([[0, 1, 2, 3], [5, 4, 7, 6]])
    Swizzle(1, 0, 2) @ S[(2, 4) : (4, 1)]
    >>> recognise([5, 6, 7, 15, 16, 17])
    S[(2, 3) : (10, 1)] + 5
    >>> recognise({"laneid": [0, 0, 1, 1], "reg": [1, 0, 1, 0]})
    S[(2, 2) : (1@laneid, -1@reg)] + 1@reg
    >>> recognise(lambda i, j: i * 64 + (j ^ i % 8 * 8), shape=(64, 64))
    Swizzle(3, 3, 3) @ S[(64, 64) : (64, 1)]
    >>> recognise(lambda i, j: (i * 4 + j // 2, j % 2), ("laneid", "reg"), (8, 8))
    S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))]
    >>> recognise([0, 1, 2, 5])
    Traceback (most recent call last):
    tilewise.Refused: TW510: element 3 is at 5@m, and no layout of 4 that has the elements before it puts it \
there, swizzled on m or not
      hint: S[4 : 1] has the elements before it, and puts it at 3@m
    """
    listed = Listed(table, axis, shape)
    affine = listed.affine()
    with suppress(Refused):  # which has no index of the table for a witness
        if affine is not None:
            return _shaped(listed, recognise_map(affine)).layout
    return next(_explained(listed)).layout


def explanations(table: Any, axis: Any = m, shape: Any = None) -> Iterator[Explanation]:
    """Yield every `Swizzle<B,M,S> o layout` that a table is the list of, fewest bits first.

    A table of less than a whole period may have several: no place that it names tells them apart. Of
    swizzles that act alike on it the one with the fewest bits stands for all. Those that flip bits above
    the table's are left out, unless there is no other: then the first of them is the answer.

    >>> [str(found.layout) for found in explanations([[0, 3], [4, 7]])]
    ['S[(2, 2) : (4, 3)]', 'Swizzle<1,0,1> o S[(2, 2) : (4, 2)]', 'Swizzle<1,0,-1> o S[(2, 2) : (4, 1)]']
    """
    listed = Listed(table, axis, shape)
    beyond: Explanation | None = None
    inside = False
    for found in _explained(listed):
        swizzle = found.swizzle
        if swizzle is None or swizzle.target < 1 << listed.width(swizzle.axis):
            inside = True
            yield found
        beyond = beyond or found
    if beyond and not inside:
        yield beyond


def recognise_map(affine: Bits | Layout) -> Layout:
    """Return the layout, swizzled where it must be, of an affine map over GF(2) or of a layout's map.

        postcondition  recognise_map(A).place(x) == A(x) for every index x of its bits
        refused        TW510 where no swizzle on one storage axis makes one; the witness are two indices
                       of one bit each whose columns share a bit, so that with index 0 and their sum they
                       show that there is no plain layout

    It costs by the number of bits. Of all swizzles the one with the fewest bits is taken, as in `recognise`.

    >>> from tilewise.core.bits import affine
    >>> recognise_map(Bits((0,), ((1,), (2,), (4,), (9,), (18,))))
    Swizzle(2, 0, 3) @ S[32 : 1]
    >>> from tilewise import S
    >>> recognise_map(affine(Swizzle(3, 4, 3) @ S[2**20, 2**20]))
    Swizzle(3, 4, 3) @ S[1099511627776 : 1]
    """
    if isinstance(affine, Layout):
        affine = affine_of(affine)
    overlaps = [i for i in range(len(affine.axes)) if _shared([c[i] for c in affine.columns])]
    if not overlaps:
        return _separated(affine, None)
    i = overlaps[0]
    columns = [column[i] for column in affine.columns]
    swizzle = _parting(columns, affine.axes[i]) if len(overlaps) == 1 else None
    if swizzle is not None:
        return _separated(affine, swizzle)
    a, b, _ = _shared(columns) or (0, 0, 0)
    axis, *others = (affine.axes[i] for i in overlaps)
    where = "" if axis.kind == "storage" else f": {axis} is no storage"
    where = f" of both {axis} and {others[0]}" if others else where
    raise Refused(
        "TW510",
        f"no layout: the bits {1 << a} and {1 << b} of the index flip "
        f"{point(affine.axes, affine.columns[a])} and {point(affine.axes, affine.columns[b])}, "
        "and no swizzle parts the columns" + where,
        witness=(1 << a, 1 << b),
        hint="XORs are a layout where no two bits of the index flip one bit of a place",
    )


# -- a map of XORs ---------------------------------------------------------------------------------


def _shared(columns: Sequence[int]) -> tuple[int, int, int] | None:
    """Return the first two columns that share a bit, and the bits that they share."""
    used = 0
    for b, column in enumerate(columns):
        if column & used:
            a = next(a for a in range(b) if columns[a] & column)
            return a, b, columns[a] & column
        used |= column
    return None


def _parting(columns: Sequence[int], axis: Axis) -> Swizzle | None:
    """Return the swizzle with the fewest bits after which no two columns share a bit, or None."""
    found = _shared(columns)
    if found is None or axis.kind != "storage":
        return None
    a, b, common = found
    if common < 0:
        return None
    first = (common & -common).bit_length() - 1
    width = 2 * max(column.bit_length() for column in columns) + 2  # endless bits repeat: enough of them
    apart = columns[a] ^ columns[b]
    used = common = 0  # the bits that two or more columns have
    for column in columns:
        common |= used & column
        used |= column
    choices = []
    for bit in bits_of(apart & (1 << width) - 1):
        shift = bit - first
        swizzle = _reading(common, shift, axis)
        if swizzle is not None and _shared([swizzle(column) for column in columns]) is None:
            choices.append(swizzle)
    return min(choices, key=lambda s: (s.bits, s.shift < 0, abs(s.shift), s.base), default=None)


def _reading(flipped: int, shift: int, axis: Axis) -> Swizzle | None:
    """Return the smallest swizzle at this distance that may flip all of these bits."""
    if flipped < 0:
        return None
    low = (flipped & -flipped).bit_length() - 1
    bits = flipped.bit_length() - low
    base = low + min(shift, 0)
    return Swizzle(bits, base, shift, axis) if bits <= abs(shift) and base >= 0 else None


def _separated(affine: Bits, swizzle: Swizzle | None) -> Layout:
    """Return the layout whose columns share no bit once the swizzle is undone."""
    places = [affine.origin, *affine.columns]
    if swizzle:
        i = affine.axes.index(swizzle.axis)
        places = [(*place[:i], swizzle(place[i]), *place[i + 1 :]) for place in places]
    origin, *columns = places
    steps = [tuple((o ^ c) - o for o, c in zip(origin, column, strict=True)) for column in columns]
    digits = merged_shard(tuple(Iter(2, point(affine.axes, step)) for step in reversed(steps)))
    return Layout(
        tuple(it.extent for it in digits),
        tuple(it.stride for it in digits),
        offset=point(affine.axes, origin).nonzero,
        swizzles=(swizzle,) if swizzle else (),
    )


# -- which swizzle ---------------------------------------------------------------------------------


def _explained(listed: Listed) -> Iterator[Explanation]:
    """Yield the layouts that explain a map, in its shape: the plain one, then by the number of swizzled bits.

    A map that no layout explains is refused at the first index to which none comes. Where steps up to some
    position break the law, the map behind that swizzle comes no further as a layout.
    """
    places = listed.places
    code = listed.code(listed.axes)
    values = listed.encoded(code, listed.axes)
    farthest, steps, form = beginning(values, places)
    nearest = listed.layout(code, form, values[0], None)
    explained = farthest == listed.size
    if explained:
        yield _shaped(listed, nearest)
    searches = [_Search(listed, axis, steps) for axis in listed.axes if axis.kind == "storage"]
    most = max([search.top for search in searches], default=0)
    fields = ((axis, b, *field) for b in range(1, most + 1) for axis in searches for field in axis.fields(b))
    for tried, (search, bits, base, shift) in enumerate(fields):
        if tried == MAX_TRIED:
            raise NotDecided(
                f"whether a swizzle explains the table was not decided within {MAX_TRIED} of them"
            )
        moved = search.moved(bits, base, shift, farthest)
        if moved is None:
            continue
        reached, steps, form = beginning(moved, places)
        search.learn(steps)
        if reached > farthest or reached == listed.size:
            farthest = reached
            nearest = listed.layout(search.code, form, moved[0], Swizzle(bits, base, shift, search.axis))
        if reached == listed.size:
            explained = True
            yield _shaped(listed, nearest)
    if not explained:
        raise _unexplained(listed, farthest, _shaped(listed, nearest).layout)


def _unexplained(listed: Listed, flat: int, nearest: Layout) -> Refused:
    index = coordinates(flat, listed.shape)
    shown, told = (index, str(index)) if len(index) > 1 else (flat, str(flat))
    swizzled = " or ".join(axis.name for axis in listed.axes if axis.kind == "storage")
    return Refused(
        "TW510",
        f"element {told} is at {listed.place(flat)}, and no layout of {spell(listed.shape)} that has the "
        "elements before it puts it there" + (f", swizzled on {swizzled} or not" if swizzled else ""),
        witness=shown,
        hint=f"{nearest} has the elements before it, and puts it at {nearest.place(flat)}",
    )


def _shaped(listed: Listed, found: Layout) -> Explanation:
    """Return the layout in the map's shape, where its digits divide it."""
    if len(listed.shape) < 2 and not listed.kept:
        return Explanation(found)
    try:
        return Explanation(found.reshape(listed.shape))
    except Refused as no:
        if listed.kept:
            raise
        return Explanation(found, no.reason)


class _Search:
    """Swizzles on one axis of a table, and the steps at which one of them may break the gcd law."""

    def __init__(self, listed: Listed, axis: Axis, steps: Sequence[int]) -> None:
        self.axis = axis
        others = tuple(other for other in listed.axes if other != axis)
        self.code = listed.code((axis, *others))
        self.values = listed.columns[axis]
        self.rest = listed.encoded(self.code, others) if others else []
        self.signed = min(self.values) < 0
        self.width = listed.width(axis)
        self.top = self.width + 2 * self.signed
        """Where the bits end that a swizzle may have to read."""
        self.used = reduce(or_, self.values)
        self.laws: list[Law] = []
        size = listed.size
        near = {size - (odd << bit) for bit in range(size.bit_length()) for odd in (3, 5, 7, 21)}
        for position in sorted(near | {size * k // 29 for k in range(1, 29)}, reverse=True):
            if position > 0:
                self.learn((gcd(position, size), position))
        self.learn(steps)

    def fields(self, bits: int) -> Iterator[tuple[int, int]]:
        """Yield (base, shift) of the swizzles of so many bits that differ: no zeros read at either end."""
        last = bits - 1
        used, top, width = self.used, self.top, self.width
        reads = [k for k in range(top + 1) if used >> k & 1 and used >> k + last & 1]
        for distance in range(bits, top + 1):
            for first in reads:
                if first >= distance and (
                    first + last < width or (self.signed and first - distance + bits <= top)
                ):
                    yield first - distance, distance
        for distance in range(bits, top + 1):
            for first in reads:
                if first + distance <= width + self.signed and first + last < top:
                    yield first, -distance

    def moved(self, bits: int, base: int, shift: int, farthest: int) -> list[int] | None:
        """Return the map behind a swizzle as numbers of the search's code.

        It is None where one of the laws shows that the map comes no further than `farthest` as a layout.
        """
        move = _move(bits, base, shift)
        for i, law in enumerate(self.laws):
            if law[-1][0] > farthest:
                continue
            first, *others = [move(after) - move(before) + rest for _, before, after, rest in law]
            if first not in others:
                self.laws.insert(0, self.laws.pop(i))  # a law that broke one breaks many
                return None
        moved = map(move, self.values)
        return list(map(add, moved, self.rest) if self.rest else moved)

    def learn(self, positions: Sequence[int]) -> None:
        """Put first the steps into positions, ascending, where the gcd law was broken or may be."""
        if positions:
            values, rest = self.values, self.rest
            law = [(p, values[p - 1], values[p], rest[p] - rest[p - 1] if rest else 0) for p in positions]
            self.laws.insert(0, law)


def _move(bits: int, base: int, shift: int) -> Callable[[int], int]:
    """Return `Swizzle(bits, base, shift)` as a bare function."""
    read = (1 << bits) - 1 << base + max(shift, 0)
    if shift > 0:
        return lambda address: address ^ (address & read) >> shift
    return lambda address: address ^ (address & read) << -shift
