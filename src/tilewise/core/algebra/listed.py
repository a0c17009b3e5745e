"""A map that is listed: a table, an array or a function, as one list of numbers an axis.

The numbers stand in the order of the flat index. A function is called at every index of a shape,
and keeps that shape. A table has the shape that it is nested in; a shape that the caller gives is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod

from tilewise.core.algebra.levels import Code, Form, digits_of
from tilewise.core.axes import Axis
from tilewise.core.bits import Bits, sums
from tilewise.core.errors import LayoutError
from tilewise.core.integers import as_int, counted
from tilewise.core.layout import Layout
from tilewise.core.shapes import Shape, as_shape, coordinates, extents_of, leaves, size_of, spell
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_ASKED = 1 << 20
"""A function is called at so many indices at most."""


class Listed:
    """The numbers of a listed map by axis, and its shape; `kept` where the answer must have that shape."""

    def __init__(self, table: Any, axis: Any, shape: Any = None) -> None:
        asked = None if shape is None else as_shape(shape if isinstance(shape, tuple | list) else (shape,))
        axes = tuple(map(_axis, axis)) if isinstance(axis, tuple | list) else (_axis(axis),)
        self.columns: dict[Axis, list[int]] = {}
        if callable(table):
            self.shape: Shape = _shape_of_function(asked)
            self.columns = _by_axis(axes, _called(table, self.shape))
        elif isinstance(table, Mapping):
            self.shape = self._read({_axis(name): _flattened(part) for name, part in table.items()})
        else:
            self.shape, entries = _flattened(table)
            self.columns = _by_axis(axes, entries)
        self.kept = asked is not None
        self.axes = tuple(self.columns)
        self.size = len(self.columns[self.axes[0]])
        if asked is not None:
            self.shape = self._asked(asked)

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

    def _asked(self, shape: Shape) -> Shape:
        if size_of(shape) != self.size:
            raise LayoutError(
                "TW202", f"{spell(shape)} has {size_of(shape)} elements, and the table has {self.size}"
            )
        return shape

    @property
    def places(self) -> list[int]:
        """The place values of the shape that has to be kept: each digit's divides them, or they it."""
        extents = list(leaves(self.shape)) if self.kept else []
        return [prod(extents[at:]) for at in range(1, len(extents))]

    def index(self, flat: int) -> tuple[int, ...]:
        """Return one number a mode."""
        return coordinates(flat, self.shape)

    def width(self, axis: Axis) -> int:
        """Return how many bits the numbers on an axis have, the sign not counted."""
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


# -- functions -------------------------------------------------------------------------------------


def _shape_of_function(asked: Shape | None) -> Shape:
    if asked is None:
        raise LayoutError(
            "TW202", "a function has no shape", hint="say which indices it takes, such as shape=(64, 64)"
        )
    if size_of(asked) > MAX_ASKED:
        raise LayoutError(
            "TW301",
            f"{spell(asked)} has {size_of(asked)} indices; a function is called at {MAX_ASKED} at most",
            hint="an exact answer takes every element; ask about a tile",
        )
    return asked


def _called(function: Callable[..., Any], shape: Shape) -> list[Any]:
    """Return what a function gives at every index, each as plain as its kind."""
    return [_plain(function(*index)) for index in product(*map(range, extents_of(shape)))]


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
    """Return entries as numbers: on the axes, or on their own where they are places or {axis: number}."""
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
            f"{given} an element, for the axes {' and '.join(axis.name for axis in axes)}"
            if len(axes) > 1
            else f"{given} an element, for the axis {axes[0].name}",
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
