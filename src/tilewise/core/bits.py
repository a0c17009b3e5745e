"""The GF(2) view: maps whose places are XORs of one column for every bit of the index.

A layout of powers of two is a sum, O + s_0 x_0 + s_1 x_1 + ..., over the bits x_j of the index. Adding s_j
to O flips the bits c_j = (O + s_j) ^ O, and the sum is the XOR of O and the c_j of the bits that are set
**iff no two c_j share a bit** on any axis:

    if       each s_j flips bits of its own, upwards or downwards as O has them, and nothing carries
    only if  XORs flip a shared bit twice, that is not at all, and sums add it twice: they differ by twice
             a sum of distinct powers of two with signs, which is not 0

A swizzle is linear, and acts on O and on the columns. An outer offset P is added to such XORs z. Bit by bit
the carry is the AND, or the OR, of z's bit and the carry so far. Of two affine functions that is affine
iff one is constant or they are equal or opposite; otherwise its second difference over some two bits of
the index is 1. So with P the map is affine iff its second differences at index 0 are all 0.

Negative numbers have endless bits, as in two's complement; XORs and swizzles take them so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import xor

from tilewise.core.axes import Axis, m
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.swizzles import apply_chain
from tilewise.core.vectors import point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.layout import Layout, Point


@dataclass(frozen=True, slots=True)
class Bits:
    """place(x) = origin XOR the columns of the bits of x, the lowest bit first.

    >>> swap = Bits((0,), ((2,), (1,)))
    >>> [swap(x) for x in range(4)], swap.rank, (swap @ swap).columns
    ([(0,), (2,), (1,), (3,)], 2, ((1,), (2,)))
    """

    origin: Point
    columns: tuple[Point, ...]
    axes: tuple[Axis, ...] = (m,)

    def __call__(self, x: int) -> Point:
        return _combined(self.origin, self.columns, x)

    def __matmul__(self, inner: Bits) -> Bits:
        """Return x -> self(inner(x)), for an inner map to indices of this one.

        refused  TW509 an inner map on several axes; TW502 an index that this map has not
        """
        if len(inner.axes) != 1:
            raise Refused(
                "TW509", f"an index is one number, and the inner map has places on {len(inner.axes)} axes"
            )
        size = 1 << len(self.columns)
        for x in (0, *(1 << bit for bit in range(len(inner.columns)))):
            (asked,) = inner(x)
            if not 0 <= asked < size:
                raise Refused(
                    "TW502",
                    f"the inner map names index {asked}, and the outer map has {size} indices",
                    witness={"index": x, "asked": asked, "size": size},
                )
        zero = (0,) * len(self.axes)
        columns = tuple(_combined(zero, self.columns, index) for (index,) in inner.columns)
        return Bits(self(inner.origin[0]), columns, self.axes)

    @property
    def flips(self) -> tuple[int, ...]:
        """Return the columns of a map to one axis, as numbers."""
        return tuple([flip for (flip,) in self.columns])

    @property
    def bases(self) -> dict[str, tuple[int, ...]]:
        """Return the flips of every bit of the index, the lowest first, axis by axis.

        >>> from tilewise import S, laneid, reg
        >>> affine(S[(4, 2) : (1@laneid, 1@reg)]).bases
        {'laneid': (0, 1, 2), 'reg': (1, 0, 0)}
        """
        return {axis.name: tuple(c[i] for c in self.columns) for i, axis in enumerate(self.axes)}

    # -- rank, kernel, image -----------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Return the r for which the map has 2^r places."""
        return rank(self._packed())

    @property
    def injective(self) -> bool:
        """Return True if no two indices have one place."""
        return not self.kernel

    @property
    def kernel(self) -> tuple[int, ...]:
        """Return a basis of the d with place(x ^ d) == place(x) for all x.

        >>> from tilewise import S
        >>> affine(S[(2, 2, 2) : (0, 2, 0)]).kernel
        (1, 4)
        """
        return tuple(kernel(self._packed()))

    @property
    def image(self) -> tuple[Point, ...]:
        """Return a basis of the differences of places: the columns that are no XOR of lower ones."""
        dependent = {d.bit_length() - 1 for d in self.kernel}
        return tuple(column for bit, column in enumerate(self.columns) if bit not in dependent)

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the bits that places need on every axis; one more for the sign where some are below 0."""
        return tuple(
            max(steps.bit_length() for steps in on_axis) + (min(on_axis) < 0)
            for on_axis in zip(self.origin, *self.columns, strict=True)
        )

    def _packed(self) -> list[int]:
        widths = self.widths
        return [_packed(column, widths) for column in self.columns]

    # -- back to indices ---------------------------------------------------------------------------

    def inverse(self) -> Bits:
        """Return the G with G(place(x)) == x; a place is one number, last axis lowest, `widths` bits an axis.

            refused  TW505 where two indices have one place: they and the place are the witness

        >>> from tilewise import S
        >>> Bits((1,), ((2,), (3,))).inverse()
        Bits(origin=(3,), columns=((3,), (1,)), axes=(m,))
        """
        for other in self.kernel:
            place = point(self.axes, self.origin)
            raise Refused(
                "TW505",
                f"indices 0 and {other} share {place}",
                witness=(0, other, place),
                hint="quasi_inverse gives the smallest index of a place",
            )
        return self.quasi_inverse()

    def quasi_inverse(self) -> Bits:
        """Return the G with G(place) == the smallest index that has the place, for every place of the map.

        >>> [Bits((0,), ((1,), (1,), (2,))).quasi_inverse()(place) for place in range(4)]
        [(0,), (1,), (4,), (5,)]
        """
        widths = self.widths
        if min(0, *self.origin, *(steps for column in self.columns for steps in column)) < 0:
            raise Refused("TW505", "places below 0 have endless bits", hint="move the places up first")
        basis = Basis(self._packed())
        places = [1 << bit for bit in range(sum(widths))]
        for place in places:
            basis.define(place, 0)  # a bit that no column has moves nothing
        columns = tuple((basis.combination(place) or 0,) for place in places)
        return Bits(_combined((0,), columns, _packed(self.origin, widths)), columns)


def _combined(place: Point, columns: Iterable[Point], x: int) -> Point:
    """Return a place XORed with the columns of the bits of x."""
    for column in columns:
        if x & 1:
            place = tuple([a ^ b for a, b in zip(place, column, strict=True)])
        x >>= 1
    return place


def _packed(place: Point, widths: Iterable[int]) -> int:
    """Return a place as one number, the last axis lowest."""
    packed = 0
    for steps, width in zip(place, widths, strict=True):
        packed = packed << width | steps & (1 << width) - 1
    return packed


# -- from a layout ---------------------------------------------------------------------------------


def affine(layout: Layout) -> Bits:
    """Return the affine map over GF(2) that a layout is, by the bits of its flat index.

        requires     one copy; extents that are powers of two; no two bits of the index whose steps flip
                     the same bit of a place
        refused      TW512: the witness is two indices a and b for which the places of 0, a, b and a + b do
                     not XOR to 0; or the extent
        not decided  sums that carry, under a swizzle and an outer offset that undoes it

    >>> from tilewise import S, Swizzle
    >>> affine(Swizzle(1, 0, 1) @ (S[(2, 2) : (-2, 1)] + 2))
    Bits(origin=(3,), columns=((1,), (3,)), axes=(m,))
    """
    found = _affine(layout)
    if isinstance(found, Bits):
        return found
    raise found


def affine_map(layout: Layout) -> Bits | None:
    """Return `affine` where it has an answer, with all origins and columns from 0 on; or None.

    >>> from tilewise import S, Swizzle
    >>> affine_map(Swizzle(1, 0, 1) @ S[(2, 2) : (2, 1)]).columns
    ((1,), (3,))
    >>> affine_map(S[(3, 2) : (2, 1)]) is None
    True
    """
    if layout.has_names:  # their bits are not known
        return None
    found = _affine(layout)
    if isinstance(found, LayoutError) or min(map(min, (found.origin, *found.columns))) < 0:
        return None
    return found


def _affine(layout: Layout) -> Bits | LayoutError:
    """Return the map, or the error of a layout that is not affine: most callers need no exception."""
    if any(it.extent > 1 and it.stride for it in layout.replica):
        return Refused("TW512", "an element with copies has no one place", hint="leave R out")
    for extent, _ in layout.digits:
        if extent & extent - 1:
            return Refused(
                "TW512",
                f"extent {extent} is no power of two: its indices have no bits of their own",
                witness={"extent": extent},
            )
    origin, columns, clash = _summed(layout)
    if clash:
        a, b = clash
        places = [layout.after_swizzle(layout.before_swizzle(x)) for x in (0, a, b, a + b)]
        if any(reduce(xor, steps) for steps in zip(*places, strict=True)):
            return _not_affine(layout, a, b)
        return NotDecided("whether the outer offset undoes what carries inside was not decided")
    if not layout.swizzles:
        return Bits(origin, tuple(columns), layout.axes)
    i = layout.axes.index(layout.swizzles[0].axis)
    start, *moves = (apply_chain(layout.swizzles, place[i]) for place in (origin, *columns))
    outer = layout.outer[layout.axes[i]]
    moved = [(start ^ move) + outer ^ start + outer for move in moves]
    for (a, one), (b, other) in combinations(enumerate(moves), 2) if outer else ():
        if (start ^ one ^ other) + outer ^ start + outer != moved[a] ^ moved[b]:
            return _not_affine(layout, 1 << a, 1 << b)
    placed = tuple((*c[:i], move, *c[i + 1 :]) for c, move in zip(columns, moved, strict=True))
    return Bits((*origin[:i], start + outer, *origin[i + 1 :]), placed, layout.axes)


def _summed(layout: Layout) -> tuple[Point, list[Point], tuple[int, int] | None]:
    """Return (O, the flips of the bits of the index, two bits that flip one bit) before any swizzle."""
    origin = layout.on_axes(layout.offset)
    columns: list[Point] = []
    used = (0,) * len(origin)
    for extent, stride in reversed(layout.digits):
        step = layout.on_axes(stride)
        for bit in range(extent.bit_length() - 1):
            column = tuple([(o + (s << bit)) ^ o for o, s in zip(origin, step, strict=True)])
            if any(map(int.__and__, column, used)):
                meets = [any(map(int.__and__, column, other)) for other in columns]
                return origin, columns, (1 << meets.index(True), 1 << len(columns))
            used = tuple(map(int.__or__, column, used))
            columns.append(column)
    return origin, columns, None


def _not_affine(layout: Layout, a: int, b: int) -> Refused:
    places = ", ".join(str(layout.places(x)[0]) for x in (0, a, b, a + b))
    return Refused(
        "TW512",
        f"the steps of indices {a} and {b} carry: 0, {a}, {b} and {a + b} live at {places}",
        witness=(a, b),
        hint="where sums are XORs, the places of 0, a, b and a + b XOR to 0",
    )


# -- vectors ---------------------------------------------------------------------------------------


class Basis:
    """Independent vectors, each with its image under a linear map; vectors and images are integers.

    The n-th vector that `add` or `add_new` takes goes to 1 << n, so that the image of a sum of vectors is
    the combination of those that make it up.

    >>> basis = Basis([3, 6])
    >>> 5 in basis, 1 in basis, len(basis), basis.combination(5)
    (True, False, 2, 3)
    """

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._leading: dict[int, tuple[int, int]] = {}
        self._given = 0
        for vector in vectors:
            self.add(vector)

    def add(self, vector: int) -> bool:
        """Count a vector, and return True if it is no combination of those before it."""
        self._given += 1
        return self._taken(vector, 1 << self._given - 1)

    def add_new(self, vector: int) -> bool:
        """Take and count a vector if it is no combination of those before it; return True if taken."""
        taken = self._taken(vector, 1 << self._given)
        self._given += taken
        return taken

    def define(self, vector: int, image: int) -> bool:
        """Fix the image of a vector; return False if the images so far contradict it.

        >>> swap = Basis()
        >>> swap.define(1, 2), swap.define(2, 1), swap.define(3, 0), swap.combination(3)
        (True, True, False, 3)
        """
        return self._taken(vector, image) or self.combination(vector) == image

    def combination(self, vector: int) -> int | None:
        """Return the image of a vector, or None where it is no combination of those taken."""
        rest, image = self._reduced(vector)
        return None if rest else image

    def rest(self, vector: int) -> int:
        """Return the vector less the leading bits that those taken can remove."""
        return self._reduced(vector)[0]

    def extreme(self, start: int, largest: bool) -> int:
        """Return the largest or smallest XOR of a vector with those taken, all of them at least 0.

        >>> Basis([3, 6]).extreme(8, largest=True), Basis([3, 6]).extreme(10, largest=False)
        (14, 9)
        """
        for top in sorted(self._leading, reverse=True):
            if bool(start >> (top - 1) & 1) != largest:
                start ^= self._leading[top][0]
        return start

    def __contains__(self, vector: int) -> bool:
        return not self._reduced(vector)[0]

    def __len__(self) -> int:
        return len(self._leading)

    def _taken(self, vector: int, image: int) -> bool:
        rest, known = self._reduced(vector)
        if rest:
            self._leading[rest.bit_length()] = rest, image ^ known
        return bool(rest)

    def _reduced(self, vector: int) -> tuple[int, int]:
        image = 0
        while known := self._leading.get(vector.bit_length()):
            vector, image = vector ^ known[0], image ^ known[1]
        return vector, image


def through(
    points: Iterable[tuple[int, int]], bits: int, guesses: Iterable[tuple[int, int]] = ()
) -> Bits | None:
    """Return the affine map of so many bits that sends each x to its y, or None where no affine map does.

    Where the points leave it open, the guesses decide, the first ones first; a bit of which nothing is known
    flips nothing.

    >>> through([(0, 5), (1, 4), (3, 6)], 2).flips, through([(0, 5), (1, 4), (2, 7), (3, 5)], 2)
    ((1, 2), None)
    >>> through([(2, 5)], 2, guesses=[(0, 5), (1, 6)]).flips
    (3, 0)
    """
    known = Basis()
    if not all(known.define(1 | x << 1, y) for x, y in points):
        return None
    for x, y in guesses:
        known.define(1 | x << 1, y)
    origin = known.combination(1) or 0
    values = [known.combination(1 | 2 << bit) for bit in range(bits)]
    return Bits((origin,), tuple((0 if value is None else value ^ origin,) for value in values))


def rank(vectors: Iterable[int]) -> int:
    """Return the dimension of the span of vectors.

    >>> rank([1, 2, 3])
    2
    """
    return len(Basis(vectors))


def combined(vectors: Sequence[int], chosen: int) -> int:
    """Return the XOR of the vectors whose bits are set.

    >>> combined([1, 6, 8], 0b110)
    14
    """
    value = 0
    for vector in vectors:
        if chosen & 1:
            value ^= vector
        chosen >>= 1
    return value


def sums(vectors: Iterable[int], start: int = 0) -> list[int]:
    """Return start XOR the vectors of the bits of x, for x = 0, 1, 2, ...

    >>> sums([1, 4])
    [0, 1, 4, 5]
    """
    values = [start]
    for vector in vectors:
        values += [value ^ vector for value in values]
    return values


def independent(vectors: Iterable[int]) -> list[int]:
    """Return the vectors that are no combination of those before them.

    >>> independent([1, 2, 3, 0, 4])
    [1, 2, 4]
    """
    basis = Basis()
    return [vector for vector in vectors if basis.add_new(vector)]


def kernel(vectors: Sequence[int]) -> list[int]:
    """Return a basis of the combinations of vectors that XOR to 0, each as the bits of its vectors.

    >>> kernel([1, 2, 3])
    [7]
    """
    basis, relations = Basis(), []
    for position, vector in enumerate(vectors):
        combination = basis.combination(vector)
        basis.add(vector)
        if combination is not None:
            relations.append(combination ^ 1 << position)
    return relations


def meet(one: Iterable[int], other: Iterable[int]) -> list[int]:
    """Return a basis of the vectors that lie in both spans.

    >>> meet([1, 2], [3, 4])
    [3]
    """
    first, second = independent(one), independent(other)
    ours = (1 << len(first)) - 1
    return independent(combined(first, relation & ours) for relation in kernel([*first, *second]))
