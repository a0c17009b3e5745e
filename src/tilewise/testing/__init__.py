"""For tests: claims about layouts that explain a failure, and the definition as the plainest loop.

The definition is slow, short, and independent. It calls nothing of the evaluation, the inverse or the facts
of `Layout`; it reads the fields alone and has separate digits and XOR. Each `naive_` function lists
the whole map, so it is for small layouts.

    from tilewise.testing import assert_same             claims for your tests
    from tilewise.testing import naive_places            the definition
    from tilewise.testing.generate import random_layout  seeded layouts from a `random.Random`
    from tilewise.testing.strategies import layouts      Hypothesis strategies (extra `testing`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewise.core.layout import Layout
from tilewise.core.vectors import Vector
from tilewise.testing.asserts import assert_conflict_free as assert_conflict_free
from tilewise.testing.asserts import assert_matches as assert_matches
from tilewise.testing.asserts import assert_same as assert_same
from tilewise.testing.kernels import assert_reads as assert_reads

Place = tuple[tuple[str, int], ...]
"""A place: (axis name, steps) pairs sorted by name, without the axes that count 0."""

Map = list[frozenset[Place]]
"""A whole map: the places of every flat index."""


def naive_places(layout: Layout, flat: int) -> frozenset[Place]:
    """Return L(x) = { P + Sw(D(x) + r + O) : r in R }, read off the fields of the layout.

    >>> from tilewise import S, R, Swizzle, laneid, m
    >>> sorted(naive_places(Swizzle(1, 0, 1) @ (S[(2, 2) : (4@laneid, 2@m)] + R[2 : 1@m]), 3))
    [(('laneid', 4), ('m', 2)), (('laneid', 4), ('m', 3))]
    """
    return _reader(layout)(flat)


def _reader(layout: Layout) -> Callable[[int], frozenset[Place]]:
    """Return a function from a flat index to its places, with the fields of the layout read once."""
    digits = list(zip(naive_extents(layout.shape), map(_steps, layout.strides), strict=True))
    if layout.order == "row":
        digits.reverse()
    outer = _steps(layout.outer)
    added = []
    for r in product(*(range(copies.extent) for copies in layout.replica)):
        moved: dict[str, int] = {}
        for times, copies in zip(r, layout.replica, strict=True):
            _add(moved, times, _steps(copies.stride))
        _add(moved, 1, _steps(layout.offset))
        added.append(list(moved.items()))

    def places(flat: int) -> frozenset[Place]:
        shard: dict[str, int] = {}
        for extent, stride in digits:
            _add(shard, flat % extent, stride)
            flat //= extent
        found = set()
        for moved in added:
            place = dict(shard)
            _add(place, 1, moved)
            for sw in reversed(layout.swizzles):
                name = sw.axis.name
                place[name] = naive_xor(place.get(name, 0), sw.bits, sw.base, sw.shift)
            _add(place, 1, outer)
            found.add(as_place(place))
        return frozenset(found)

    return places


def naive_digits(flat: int, shape: object) -> list[int]:
    """Return the digits of a flat index in a shape, row-major at every level.

    >>> naive_digits(37, ((4, 2), (2, 4)))
    [2, 0, 1, 1]
    """
    digits = []
    for extent in reversed(naive_extents(shape)):
        digits.append(flat % extent)
        flat = flat // extent
    return digits[::-1]


def naive_extents(shape: object) -> list[int]:
    """Return the extents of a nested shape from left to right."""
    if isinstance(shape, tuple):
        return [extent for mode in shape for extent in naive_extents(mode)]
    assert isinstance(shape, int)
    return [shape]


def naive_xor(address: int, bits: int, base: int, shift: int) -> int:
    """Return `Swizzle<bits, base, shift>` of an address, bit by bit: S > 0 reads high bits, S < 0 low ones.

    >>> naive_xor(0b1_000, 1, 0, 3), naive_xor(0b0_001, 1, 0, -3)
    (9, 9)
    """
    low, high = base, base + abs(shift)
    read, flipped = (high, low) if shift > 0 else (low, high)
    for bit in range(bits):
        if address >> (read + bit) & 1:
            address ^= 1 << (flipped + bit)
    return address


def as_place(steps: Vector | Mapping[str, int]) -> Place:
    """Return a vector or a mapping as a place.

    >>> from tilewise import laneid, reg
    >>> as_place(2@reg + 5@laneid), as_place({"m": 0})
    ((('laneid', 5), ('reg', 2)), ())
    """
    named = steps.as_dict() if isinstance(steps, Vector) else steps
    return tuple(sorted([(name, count) for name, count in named.items() if count]))


def _steps(vector: Vector) -> list[tuple[str, int]]:
    return [(axis.name, steps) for axis, steps in vector.terms]


def _add(place: dict[str, int], times: int, steps: Iterable[tuple[str, int]]) -> None:
    for name, step in steps:
        place[name] = place.get(name, 0) + times * step


# -- the whole map ---------------------------------------------------------------------------------


def naive_map(layout: Layout) -> Map:
    """Return the places of every flat index.

    >>> from tilewise import S
    >>> naive_map(S[2 : 5]) == [{()}, {(("m", 5),)}]
    True
    """
    return list(map(_reader(layout), range(prod(naive_extents(layout.shape)))))


def naive_who(layout: Layout, place: Mapping[str, int]) -> list[int]:
    """Return every flat index with a place that agrees with a full or partial one.

    >>> from tilewise import S
    >>> naive_who(S[(2, 2) : (0, 1)], {"m": 1})
    [1, 3]
    """
    return who_in(naive_map(layout), place)


def who_in(places: Map, place: Mapping[str, int]) -> list[int]:
    """Return `naive_who` of a map already listed."""
    return [flat for flat, held in enumerate(places) if any(_agrees(at, place) for at in held)]


def _agrees(at: Place, place: Mapping[str, int]) -> bool:
    steps = dict(at)
    return all(steps.get(name, 0) == count for name, count in place.items())


def naive_difference(one: Layout, other: Layout) -> int | None:
    """Return the first flat index whose places differ; of other sizes, the first that only one has.

    >>> from tilewise import S
    >>> naive_difference(S[4 : 1], S[(2, 2) : (1, 2)]), naive_difference(S[4 : 1], S[3 : 1])
    (1, 3)
    """
    return difference_in(naive_map(one), naive_map(other))


def difference_in(one: Map, other: Map) -> int | None:
    """Return `naive_difference` of maps already listed."""
    if len(one) != len(other):
        return min(len(one), len(other))
    return next((flat for flat, held in enumerate(one) if held != other[flat]), None)


# -- facts -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NaiveFacts:
    """The facts of a map, by listing it."""

    extremes: dict[str, tuple[int, int]]
    copies: int
    disjoint_copies: bool
    injective: bool
    taken: frozenset[Place]
    holes: int
    first_not_contiguous: int | None

    @property
    def onto(self) -> bool:
        """Return True if every place of the box is taken."""
        return self.holes == 0

    @property
    def contiguous(self) -> bool:
        """Return True if element x lives at base + x on one storage axis, in one copy."""
        return self.first_not_contiguous is None


def naive_facts(layout: Layout, places: Map | None = None) -> NaiveFacts:
    """Return the facts of a layout; `places` saves the listing where the caller has it.

    >>> from tilewise import S
    >>> facts = naive_facts(S[(4, 3) : (4, 1)])
    >>> facts.extremes, facts.holes, facts.injective, facts.first_not_contiguous
    ({'m': (0, 14)}, 3, True, 3)
    """
    places = naive_map(layout) if places is None else places
    taken = frozenset().union(*places)
    extremes = {axis.name: _ends(axis.name, taken) for axis in layout.axes}
    return NaiveFacts(
        extremes=extremes,
        copies=len(places[0]),
        disjoint_copies=len(places[0]) == prod(copies.extent for copies in layout.replica),
        injective=sum(map(len, places)) == len(taken),
        taken=taken,
        holes=prod(high - low + 1 for low, high in extremes.values()) - len(taken),
        first_not_contiguous=_first_not_contiguous(
            places, [axis.name for axis in layout.axes if axis.kind == "storage"]
        ),
    )


def _ends(axis: str, taken: frozenset[Place]) -> tuple[int, int]:
    steps = [dict(place).get(axis, 0) for place in taken]
    return min(steps), max(steps)


def _first_not_contiguous(places: Map, storage: Sequence[str]) -> int | None:
    """Return the first x that is not at base + x, on the storage axis that holds out longest."""
    if len(places[0]) > 1:
        return 0
    if len(places) == 1:
        return None
    first = [next(_not_at_base_plus_x(places, axis), None) for axis in storage]
    return None if None in first else max((x for x in first if x is not None), default=1)


def _not_at_base_plus_x(places: Map, axis: str) -> Iterator[int]:
    base = dict(next(iter(places[0])))
    for x, held in enumerate(places):
        if held != {as_place(base | {axis: base.get(axis, 0) + x})}:
            yield x
