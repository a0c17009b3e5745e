"""The layout: a map from a logical index to a set of places.

    L(x) = { P + Sw(D(x) + r + O) : r in R }

    D   the shard: iters (extent, stride), the first is the slowest digit of the index
    R   the replicas: iters as well; one element at several places
    O   the offset;  Sw  a chain of XOR swizzles on one storage axis;  P  the outer offset

Strides, offsets and places are vectors on named axes. `==` and `hash` compare the spelling, `same`
the map. The definition as the plainest loop is `tilewise.testing.naive_places`, and everything here
equals it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from numbers import Number
from operator import add

from tilewise.core.algebra.methods import Algebra, LaterModule
from tilewise.core.axes import CALLED, KNOWN, Axis, m
from tilewise.core.errors import LayoutError, of_kind
from tilewise.core.shapes import (
    MAX_ITERS,
    ORDERS,
    Shape,
    all_extents,
    as_shape,
    coordinates,
    extents_of,
    flat_index,
    size_of,
    spell,
)
from tilewise.core.swizzles import Swizzle, apply_chain, period_of
from tilewise.core.vectors import ZERO, Term, Vector, as_vector, point
from tilewise.core.vectors import Iter as Iter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsIndex

    from tilewise.core import canonical, compare, facts, inverse, orders, text, units
    from tilewise.core.compare import Comparison
    from tilewise.core.dtypes import DType
    from tilewise.core.facts import Holes, Verdict

if not TYPE_CHECKING:
    canonical = LaterModule("canonical")
    compare = LaterModule("compare")
    facts = LaterModule("facts")
    inverse = LaterModule("inverse")
    orders = LaterModule("orders")
    text = LaterModule("text")
    units = LaterModule("units")

UNITS = ("element", "byte", "bit")
MAX_SWIZZLES = 64

Point = tuple[int, ...]

drawer: Callable[[Layout, str], str | None] | None = None
"""From a layout and a form, svg or html, to its picture, or None. The core does not draw: `tilewise` puts
the function here.
"""

questions: dict[str, Callable[..., Any]] = {}
"""The functions that answer questions, by name. The core has no functions here: `tilewise` adds them."""


@dataclass(frozen=True, slots=True, repr=False)
class Replicas:
    """`R[...]`: iters along which an element has copies. A multiset in text, a set in meaning.

    An offset that is added before the shard waits here for it.

    >>> from tilewise import R, S, warpid
    >>> R[2 : 4@warpid] + R[3 : 1]
    R[(2, 3) : (4@warpid, 1@m)]
    >>> 5 + R[2 : 4] + S[8 : 1]
    S[8 : 1] + R[2 : 4] + 5
    """

    iters: tuple[Iter, ...] = ()
    offset: Vector = ZERO

    def __post_init__(self) -> None:
        object.__setattr__(self, "iters", _all_of(Iter, self.iters, "replicas are"))

    def __add__(self, other: Replicas | Vector | SupportsIndex) -> Replicas:
        if isinstance(other, Replicas):
            return Replicas(self.iters + other.iters, self.offset + other.offset)
        if isinstance(other, Layout):
            return NotImplemented
        return Replicas(self.iters, self.offset + as_vector(other, "an offset"))

    def __radd__(self, other: Vector | SupportsIndex) -> Replicas:
        return Replicas(self.iters, as_vector(other, "an offset") + self.offset)

    def __sub__(self, other: Vector | SupportsIndex) -> Replicas:
        return self + -as_vector(other, "an offset")

    def __repr__(self) -> str:
        offset = f" + {self.offset}" if self.offset.terms else ""
        return text.replica_text(self.iters) + offset


@dataclass(frozen=True, repr=False)
class Layout(Algebra):
    """A layout. Write one with `S`, `R` and `O`, or read one with `parse`.

    >>> from tilewise import S, R, laneid, reg, warpid
    >>> L = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)]
    >>> L.place(5, 3, 1)
    23@laneid + 1@reg
    >>> L.who(laneid=5)
    ((1, 1, 0), (1, 1, 1))
    >>> (L + R[2 : 4@warpid]).places(5, 3, 1)
    (23@laneid + 1@reg + 0@warpid, 23@laneid + 1@reg + 4@warpid)
    """

    shape: Shape
    strides: tuple[Vector, ...]
    replica: tuple[Iter, ...] = ()
    offset: Vector = ZERO
    swizzles: tuple[Swizzle, ...] = ()
    outer: Vector = ZERO
    unit: str = "element"
    order: str = "row"

    __array_ufunc__ = None  # NumPy integers on the left of `+` then ask us

    def __post_init__(self) -> None:
        strides = self.strides if isinstance(self.strides, tuple | list) else (self.strides,)
        self.__dict__.update(  # a frozen class takes no other assignment
            shape=as_shape(self.shape),
            strides=tuple([as_vector(stride) for stride in strides]),
            replica=_all_of(Iter, self.replica, "replicas are"),
            offset=as_vector(self.offset, "an offset"),
            swizzles=_all_of(Swizzle, self.swizzles, "a chain of swizzles is"),
            outer=as_vector(self.outer, "an outer offset"),
        )
        self._check()
        self._fold_outer()

    def _check(self) -> None:
        extents = len(all_extents(self.shape))
        if extents != len(self.strides):
            raise LayoutError(
                "TW003",
                f"{extents} extents and {len(self.strides)} strides",
                hint="every extent has one stride; write 0 for a digit that does not move",
            )
        if len(self.replica) > MAX_ITERS:
            raise LayoutError("TW005", f"more than {MAX_ITERS} replica iters")
        if len(self.swizzles) > MAX_SWIZZLES:
            raise LayoutError("TW005", f"a chain of more than {MAX_SWIZZLES} swizzles")
        if self.unit not in UNITS:
            raise LayoutError("TW106", f"unknown unit {self.unit!r}", hint="known: " + " ".join(UNITS))
        if self.order not in ORDERS:
            raise LayoutError("TW008", f"unknown order {self.order!r}", hint="known: " + " ".join(ORDERS))
        if len(self.swizzles) > 1 and len({swizzle.axis for swizzle in self.swizzles}) > 1:
            raise LayoutError(
                "TW104",
                "the swizzles of a chain act on one axis, here on "
                + " and ".join(sorted({s.axis.name for s in self.swizzles})),
            )
        declared: dict[str, bool | None] = {}
        for axis in self._named_axes():
            if declared.setdefault(axis.name, axis.storage) is not axis.storage:
                raise LayoutError(
                    "TW103",
                    f"axis {axis} is storage in one place and an owner in another",
                    hint=f'make it once: {axis} = Axis("{axis}", storage=True)',
                )

    def _fold_outer(self) -> None:
        """Move P into O wherever no swizzle stands between them, or the swizzles repeat by it."""
        if not self.outer.terms:
            return
        inside: list[Term] = []
        outside: list[Term] = []
        period = period_of(self.swizzles)
        for axis, steps in self.outer.terms:
            passes = axis != self.swizzled_axis or steps % period == 0
            (inside if passes else outside).append((axis, steps))
        if inside:
            object.__setattr__(self, "offset", self.offset + Vector(tuple(inside)))
            object.__setattr__(self, "outer", Vector(tuple(outside)))

    def with_parts(
        self, shape: Shape, strides: tuple[Vector, ...], replica: tuple[Iter, ...], offset: Vector
    ) -> Layout:
        """Return this layout with other S, R and O, for parts that an operation has made, without a check.

        requires  the parts are as the constructor leaves them, and no axis is declared in two ways
        """
        made = object.__new__(Layout)
        made.__dict__.update(
            shape=shape,
            strides=strides,
            replica=replica,
            offset=offset,
            swizzles=self.swizzles,
            outer=self.outer,
            unit=self.unit,
            order=self.order,
        )
        return made

    def with_vectors(
        self, change: Callable[[Vector], Vector], swizzles: Iterable[Swizzle] | None = None
    ) -> Layout:
        """Return the layout with all strides, steps of copies and offsets changed by a linear function.

        >>> from tilewise import S, R
        >>> (S[(2, 3) : (3, 1)] + R[2 : 6] + 1).with_vectors(lambda vector: vector * 4)
        S[(2, 3) : (12, 4)] + R[2 : 24] + 4
        """
        return replace(
            self,
            strides=tuple(map(change, self.strides)),
            replica=tuple([Iter(it.extent, change(it.stride)) for it in self.replica]),
            offset=change(self.offset),
            swizzles=self.swizzles if swizzles is None else tuple(swizzles),
            outer=change(self.outer),
        )

    # -- the written parts -------------------------------------------------------------------------

    @cached_property
    def shard(self) -> tuple[Iter, ...]:
        """Return D: the iters of the index, slowest first."""
        return tuple([Iter(extent, stride) for extent, stride in self.digits])

    @cached_property
    def digits(self) -> tuple[tuple[int, Vector], ...]:
        """Return (extent, stride) of every digit of the index, slowest first: the shard as plain pairs."""
        digits = tuple(zip(all_extents(self.shape), self.strides, strict=True))
        return digits if self.order == "row" else digits[::-1]

    @cached_property
    def size(self) -> int:
        """Return the number of elements."""
        return size_of(self.shape)

    @property
    def named_numbers(self) -> list[Any]:
        """Return the extents, strides and offsets that have names in them.

        >>> from tilewise import S, name
        >>> S[(name("M"), 64) : (64, 1)].named_numbers, S[(8, 64) : (64, 1)].named_numbers
        ([M], [])
        """
        vectors = [*self.strides, self.offset, self.outer, *(it.stride for it in self.replica)]
        numbers: list[Any] = [*all_extents(self.shape), *(it.extent for it in self.replica)]
        numbers += [steps for vector in vectors for _, steps in vector.terms]
        return [number for number in numbers if type(number) is not int]

    @cached_property
    def has_names(self) -> bool:
        """Return True if a number of the layout has a name in it."""
        for extent in all_extents(self.shape):
            if type(extent) is not int:
                return True
        for stride in self.strides:
            for _, steps in stride.terms:
                if type(steps) is not int:
                    return True
        return bool((self.offset.terms or self.outer.terms or self.replica) and self.named_numbers)

    def with_numbers(self, number: Callable[[Any], Any]) -> Layout:
        """Return a layout of the same form whose extents, strides and offsets are changed one by one.

        >>> from tilewise import S, name
        >>> S[(name("M"), 64) : (64, 1)].with_numbers(lambda own: own * 2)
        S[(2*M, 128) : (128, 2)]
        """

        def vector(own: Vector) -> Vector:
            return Vector(tuple([(axis, number(steps)) for axis, steps in own.terms]))

        def mode(own: Any) -> Any:
            return tuple(map(mode, own)) if isinstance(own, tuple) else number(own)

        return replace(
            self,
            shape=mode(self.shape),
            strides=tuple(map(vector, self.strides)),
            replica=tuple([Iter(number(it.extent), vector(it.stride)) for it in self.replica]),
            offset=vector(self.offset),
            outer=vector(self.outer),
        )

    @property
    def swizzled_axis(self) -> Axis | None:
        """Return the axis on which the swizzles act, or None."""
        return self.swizzles[0].axis if self.swizzles else None

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Return the axes that the layout names, by first appearance in S, R, O; `m` if it names none."""
        return tuple({axis.name: axis for axis in self._named_axes()}.values()) or (m,)

    def _named_axes(self) -> list[Axis]:
        """Return the axes of S, of R, of O and of the swizzles and P, in this order."""
        named = [axis for stride in self.strides for axis, _ in stride.terms]
        if self.replica or self.offset.terms or self.swizzles or self.outer.terms:
            named += [axis for it in self.replica for axis, _ in it.stride.terms]
            named += self.offset.axes
            named += [swizzle.axis for swizzle in self.swizzles]
            named += self.outer.axes
        return named

    @property
    def moving(self) -> tuple[str, ...]:
        """Return the names of the axes on which it steps or stands aside, by first appearance.

        >>> from tilewise import S, laneid, m, reg
        >>> (S[(8, 1, 2) : (1@laneid, 7@reg, 0@reg)] + 5@m).moving
        ('laneid', 'm')
        """
        vectors = [stride for extent, stride in self.digits if extent > 1]
        vectors += [it.stride for it in self.replica if it.extent > 1]
        terms = [term for vector in (*vectors, self.offset, self.outer) for term in vector.terms]
        return tuple({axis.name: None for axis, steps in terms if steps})

    def axis(self, axis: Axis | str) -> Axis:
        """Return the layout's axis of that name."""
        for own in self.axes:
            if own.name == str(axis):
                return own
        from difflib import get_close_matches

        names = [own.name for own in self.axes]
        near = get_close_matches(str(axis), names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        hint = f"{CALLED[str(axis)]}; " if str(axis) in CALLED else hint
        raise LayoutError("TW203", f"the layout has no axis {axis}", hint=f"{hint}it has {', '.join(names)}")

    def knows(self, axis: str) -> bool:
        """Return True for the name of an axis of the layout, or of a known one, which is 0 here."""
        return axis in KNOWN or any(own.name == axis for own in self.axes)

    # -- writing -----------------------------------------------------------------------------------

    def __add__(self, other: Replicas | Vector | SupportsIndex) -> Layout:
        if isinstance(other, Layout):
            raise LayoutError(
                "TW107", "two layouts do not add up to one", hint="join their modes in one S[...]"
            )
        if isinstance(other, Replicas):
            return replace(self, replica=self.replica + other.iters, offset=self.offset + other.offset)
        if isinstance(other, Vector | Number) or hasattr(other, "__index__"):
            return replace(self, offset=self.offset + as_vector(other, "an offset"))
        return NotImplemented

    def __radd__(self, other: object) -> Layout:
        if isinstance(other, Vector | Number) or hasattr(other, "__index__"):
            return replace(self, offset=as_vector(other, "an offset") + self.offset)
        if isinstance(other, Replicas):
            return replace(self, replica=other.iters + self.replica, offset=other.offset + self.offset)
        return NotImplemented

    def __rmatmul__(self, outer: object) -> Layout:
        return self.swizzled((), outer) if isinstance(outer, Vector) else NotImplemented

    def __sub__(self, other: Vector | SupportsIndex) -> Layout:
        return self + -as_vector(other, "an offset")

    def swizzled(self, swizzles: tuple[Swizzle, ...], outer: Vector = ZERO) -> Layout:
        """Return `O[outer] o swizzles o self`; in Python `outer @ Swizzle(...) @ self`."""
        if self.outer and swizzles:
            raise LayoutError(
                "TW104",
                f"an outer offset {self.outer} between two swizzles",
                hint="an outer offset stands leftmost, once",
            )
        return replace(self, swizzles=swizzles + self.swizzles, outer=outer + self.outer)

    # -- evaluation --------------------------------------------------------------------------------

    def flat_index(self, *index: Any, shape: Any = None) -> int:
        """Return the flat integer of an index: flat, one number a mode, or the nested profile.

        It counts in the layout's order. With `shape`, the index is one of that shape, which must have the
        layout's size.

        >>> from tilewise import S
        >>> S[(8, 8) : (8, 1)].flat_index(1, 2, 3, shape=(4, 4, 4))
        27
        """
        if shape is None:
            flat = self._plain_index(index)
            if flat is not None:
                return flat
        return flat_index(index, self.asked_in(shape), self.order)

    def _plain_index(self, index: tuple[Any, ...]) -> int | None:
        """Return the flat index of plain numbers within their extents, or None: the fast path of a lookup."""
        extents = self._extents if len(index) == len(self._extents) else (self.size,)
        if len(index) != len(extents):
            return None
        if self.order != "row":
            index, extents = index[::-1], extents[::-1]
        flat = 0
        for number, extent in zip(index, extents, strict=True):
            if type(number) is not int or not 0 <= number < extent:
                return None
            flat = flat * extent + number
        return flat

    @cached_property
    def _extents(self) -> tuple[int, ...]:
        return extents_of(self.shape)

    def asked_in(self, shape: Any = None) -> Shape:
        """Return `shape` as a shape of the layout's size; by default the layout's."""
        if shape is None:
            return self.shape
        asked = as_shape(shape)
        if size_of(asked) != self.size:
            raise LayoutError(
                "TW202",
                f"shape {spell(asked)} has {size_of(asked)} elements, and the layout has {self.size}",
                hint=f"ask in any shape of {self.size} elements; the layout's own is {spell(self.shape)}",
            )
        return asked

    def coordinates(self, flat: int, shape: Any = None) -> tuple[int, ...]:
        """Return one number a top-level mode of the shape, for a flat index."""
        return coordinates(self.flat_index(flat), self.asked_in(shape), self.order)

    def places(self, *index: Any, shape: Any = None) -> tuple[Vector, ...]:
        """Return every place of an element: its distinct copies, sorted by the axes' order.

        >>> from tilewise import S, R, gpuid_x, gpuid_y, m
        >>> mesh = S[(2, 4, 8) : (1@gpuid_y, 8@m, 1@m)] + R[2 : 1@gpuid_x]
        >>> mesh.places(1, 2, 3)
        (1@gpuid_y + 19@m + 0@gpuid_x, 1@gpuid_y + 19@m + 1@gpuid_x)
        """
        return self.places_at(self.flat_index(*index, shape=shape))

    def places_at(self, flat: int) -> tuple[Vector, ...]:
        """Return `places` of a flat index that is known to be one of the layout's."""
        return tuple(point(self.axes, place) for place in self.points(flat))

    def place(self, *index: Any, shape: Any = None) -> Vector:
        """Return the place of an element that has only one.

        >>> from tilewise import S, Swizzle
        >>> (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]).place(1, 8)
        64@m
        """
        places = self.places(*index, shape=shape)
        if len(places) > 1:
            raise LayoutError("TW204", f"the element has {len(places)} places", hint="ask with places(...)")
        return places[0]

    def points(self, flat: int) -> list[Point]:
        """Return the distinct places of a flat index as tuples on `axes`, sorted: `places` without names.

        For loops: the index is taken as it is, and must be one of the layout's.
        """
        base = self.before_swizzle(flat)
        copies = self.copy_steps
        if len(copies) == 1:
            return [self.after_swizzle(base)]
        moved = [tuple(map(add, base, copy)) for copy in copies]
        return sorted(map(self.after_swizzle, moved)) if self.swizzles else moved

    def before_swizzle(self, flat: int) -> Point:
        """Return D(x) + O as a tuple on `axes`."""
        place = list(self._origin)
        for extent, terms in self._digits:
            flat, digit = divmod(flat, extent)
            for position, steps in terms:
                place[position] += digit * steps
        return tuple(place)

    def after_swizzle(self, place: Point) -> Point:
        """Return P + Sw(place)."""
        if not self.swizzles:
            return place
        i, outer = self._swizzled
        moved = apply_chain(self.swizzles, place[i]) + outer
        return (*place[:i], moved, *place[i + 1 :])

    @cached_property
    def _swizzled(self) -> tuple[int, int]:
        """Return the position of the swizzled axis in `axes`, and P on it."""
        axis = self.swizzles[0].axis
        return self.axes.index(axis), self.outer[axis]

    @cached_property
    def _origin(self) -> Point:
        return self.on_axes(self.offset)

    @cached_property
    def _digits(self) -> tuple[tuple[int, tuple[tuple[int, int], ...]], ...]:
        """Return (extent, ((axis position, steps), ...)) a digit, fastest first."""
        position = {axis: i for i, axis in enumerate(self.axes)}
        return tuple(  # a name may move, and no case is needed to tell
            (
                extent,
                tuple(
                    [
                        (position[axis], steps)
                        for axis, steps in stride.terms
                        if type(steps) is not int or steps
                    ]
                ),
            )
            for extent, stride in reversed(self.digits)
            if type(extent) is not int or extent > 1
        )

    @cached_property
    def copy_steps(self) -> tuple[Point, ...]:
        """Return the distinct values of r in R as tuples on `axes`, sorted."""
        if not self.replica:
            return ((0,) * len(self.axes),)
        from tilewise.core.canonical import MAX_COPIES, merged_replica

        iters, start = merged_replica(self.replica)
        if prod(it.extent for it in iters) > MAX_COPIES:
            raise LayoutError(
                "TW301",
                f"an element with more than {MAX_COPIES} copies cannot list its places",
                hint="ask about the map without R, or about one place with who",
            )
        moves = [[self.on_axes(it.stride * d) for d in range(it.extent)] for it in iters]
        first = self.on_axes(start)
        return tuple(sorted({tuple(map(sum, zip(first, *r, strict=True))) for r in product(*moves)}))

    def on_axes(self, vector: Vector) -> Point:
        """Return a vector as a tuple of its steps on `axes`."""
        return tuple(vector[axis] for axis in self.axes)

    # -- the inverse -------------------------------------------------------------------------------

    who = inverse.who
    matches = inverse.matches

    # -- facts -------------------------------------------------------------------------------------

    def min(self, axis: Axis | str = m) -> int:
        """Return the smallest coordinate on an axis over all indices and copies, swizzled and offset."""
        return self.extremes(axis)[0]

    def max(self, axis: Axis | str = m) -> int:
        """Return the largest coordinate on an axis over all indices and copies, swizzled and offset."""
        return self.extremes(axis)[1]

    def span(self, axis: Axis | str = m) -> int:
        """Return 1 + max - min on an axis: copies counted, the offset not.

        >>> from tilewise import S
        >>> (S[8 : -1] + 5).span(), (S[8 : -1] + 5).min()
        (8, -2)
        """
        low, high = self.extremes(axis)
        return 1 + high - low

    def extremes(self, axis: Axis | str = m) -> tuple[int, int]:
        """Return (min, max) on an axis. A known axis that the layout does not name is 0 everywhere."""
        if isinstance(axis, str) and not self.knows(axis):
            self.axis(axis)
        return facts.extremes(self, str(axis))

    @cached_property
    def copies(self) -> int:
        """Return the number of distinct places of each element."""
        return facts.count_copies(self)

    @cached_property
    def injective(self) -> Verdict:
        """Return the verdict that no two elements share a place; the witness is two indices that do."""
        return facts.injective(self)

    @cached_property
    def disjoint_copies(self) -> Verdict:
        """Return the verdict that the replicas of an element never coincide."""
        return facts.disjoint_copies(self)

    @cached_property
    def holes(self) -> Holes:
        """Return the places between min and max of every axis that hold nothing: their number, and one."""
        return facts.holes(self)

    @cached_property
    def contiguous(self) -> Verdict:
        """Return the verdict that element x lives at base + x on one storage axis, in one copy."""
        return facts.contiguous(self)

    @property
    def onto(self) -> Verdict:
        """Return the verdict that every place between min and max of every axis is taken."""
        return self.holes.none

    @property
    def period(self) -> int:
        """Return the period of the swizzles, to which the base must be aligned."""
        return period_of(self.swizzles)

    # -- the map -----------------------------------------------------------------------------------

    canonical = canonical.canonical

    def same(self, other: Layout) -> Comparison:
        """Return the comparison of two layouts as maps, by flat index; false carries the first difference.

        Two layouts that count in different orders are compared by coordinates where their modes have the same
        extents, and else each by its flat index.

        >>> from tilewise import S
        >>> bool(S[(4, 4) : (4, 1)].same(S[16 : 1]))
        True
        >>> S[(4, 4) : (4, 1)].same(S[(4, 4) : (1, 4)]).witness
        1
        """
        return compare.same(self, as_layout(other))

    def counted(self, unit: str) -> Layout:
        """Return the same numbers, counting another unit: element, byte or bit. It converts nothing.

        >>> from tilewise import S
        >>> S[(8, 64) : (128, 2)].counted("byte").in_elements("bf16")
        S[(8, 64) : (64, 1)]
        """
        return replace(self, unit=unit)

    def ordered(self, order: str) -> Layout:
        """Return the layout with the same shape and strides, indexed in another order: "row" or "cute".

        It converts nothing; `in_order` does.

        >>> from tilewise import S
        >>> S[(4, 8) : (1, 4)].ordered("cute").place(5)
        5@m
        """
        return replace(self, order=order)

    def in_order(self, order: str) -> Layout:
        """Return the layout indexed in another order, with the same place at every coordinate of its modes.

        >>> from tilewise import S, parse
        >>> print(S[((2, 8), (4, 4)) : ((64, 8), (4, 1))].in_order("cute"))
        ((8,2),(4,4)):((8,64),(1,4))
        >>> parse("((8,2),(4,4)):((8,64),(1,4))").in_order("row")
        S[((2, 8), (4, 4)) : ((64, 8), (4, 1))]
        """
        return self.ordered(order) if order == self.order or order not in ORDERS else orders.mirrored(self)

    def in_bytes(self, dtype: DType | str) -> Layout:
        """Return the layout with every element at its first byte.

        >>> from tilewise import S, Swizzle
        >>> (Swizzle(3, 3, 3) @ S[(8, 64) : (64, 1)]).in_bytes("bf16")
        (Swizzle(3, 4, 3) @ S[(8, 64) : (128, 2)]).counted('byte')
        """
        return units.converted(self, "byte", dtype)

    def in_elements(self, dtype: DType | str) -> Layout:
        """Return the layout in elements of `dtype`; refuse a step that is not a whole number."""
        return units.converted(self, "element", dtype)

    def in_bits(self, dtype: DType | str) -> Layout:
        """Return the layout with every element at its first bit."""
        return units.converted(self, "bit", dtype)

    # -- first attempts of users ---------------------------------------------------------------------

    def __call__(self, *index: Any) -> Vector:
        """Return the place of an element, as `place` does.

        >>> from tilewise import S
        >>> S[(4, 8) : (8, 1)](2, 3)
        19@m
        """
        return self.place(*index)

    @property
    def T(self) -> Layout:  # noqa: N802 - as NumPy and torch have it
        """Return the layout with its modes in the opposite order.

        >>> from tilewise import S
        >>> S[(4, 8) : (8, 1)].T
        S[(8, 4) : (1, 8)]
        """
        return self.permute(*reversed(range(len(self.shape))))

    def info(self, **options: Any) -> Any:
        """Return the facts of the layout, as `tilewise.info` does."""
        return questions["info"](self, **options)

    def show(self, **options: Any) -> Any:
        """Return a picture of the layout, as `tilewise.show` does, or write a file: svg="a.svg"."""
        return questions["show"](self, **options)

    def explain(self, *index: Any, **options: Any) -> Any:
        """Return the layout on one screen, or the steps to a place, as `tilewise.explain` does."""
        return questions["explain"](self, index if len(index) > 1 else index[0] if index else None, **options)

    def table(self, **options: Any) -> Any:
        """Return the whole map, or a window of it, as `tilewise.table` does."""
        return questions["table"](self, **options)

    # -- text --------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return text.layout_text(self)

    def __repr__(self) -> str:
        return text.layout_python(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print a layout in IPython and Hypothesis as `repr` does, not field by field."""
        printer.text(repr(self))

    def _repr_svg_(self) -> str | None:
        """Return its picture for a notebook; None where it is too large for one."""
        return drawer(self, "svg") if drawer else None

    def _repr_html_(self) -> str | None:
        """Return the same picture, for notebooks that prefer HTML."""
        return drawer(self, "html") if drawer else None

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.shape, self.strides, self.replica, self.offset, self.swizzles, self.outer)
        return Layout, (*fields, self.unit, self.order)


def as_layout(value: Any) -> Layout:
    """Return the layout itself; refuse text with a hint to parse it.

    >>> as_layout("S[4 : 1]")
    Traceback (most recent call last):
    tilewise.LayoutError: TW107: a layout belongs here, not the str 'S[4 : 1]'
      hint: parse(text) makes a layout of text
    """
    return of_kind(value, Layout, "a layout", "parse(text) makes a layout of text")


def _all_of(kind: type[Any], parts: Any, what: str) -> tuple[Any, ...]:
    given = tuple(parts) if isinstance(parts, tuple | list) else (parts,)
    for part in given:
        if not isinstance(part, kind):
            raise LayoutError("TW107", f"{what} made of {kind.__name__}, not of {type(part).__name__}")
    return given
