"""Whether a way brings elements to the wanted fragment: the same owners, the same parts of registers.

A place is compared by what it belongs to: its CTA, its warp, its lane, the part of its register; and then by
registers. Which register is which costs nothing: an instruction names the registers that it fills one by one.
So two fragments are one where every element has its owners and its bits of a register in both, and what is
one register of the one is one register of the other, of all threads alike.

Of copies, a load has to fill those that are wanted, and a store those that lie in tensor memory; any one that
is there is enough for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from tilewise.check.tensor_memory.ways import Way
from tilewise.check.tensor_memory.words import Words
from tilewise.core.algebra.modes import refinement
from tilewise.core.errors import Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import spell
from tilewise.core.vectors import Vector
from tilewise.hardware.tcgen05.addresses import WARPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Point = tuple[int, ...]

_COMPARED = {
    "CTA": ("cbx",),
    "warp": ("cbx", "wgid", "wid_in_wg"),
    "lane": ("cbx", "wgid", "wid_in_wg", "laneid"),
    "part of a register": ("cbx", "wgid", "wid_in_wg", "laneid", "part"),
}
"""{stage: the axes that are compared by then}: the last is its own, the others agree already."""
_OWN = _COMPARED["part of a register"]

STAGES = (*_COMPARED, "register")
"""What is compared, in this order."""

BETWEEN_WARPS = ("CTA", "warp")
"""Stages that no exchange inside a warp mends."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """What the fragment that results and the one that is wanted differ in."""

    stage: str
    message: str
    element: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """A way whose fragment is wanted: its register i is register `registers[i]` of the wanted one.

    What it loads into `spare` registers is not wanted; they are counted on after the wanted one's last.
    """

    way: Way
    registers: tuple[int, ...]
    spare: tuple[int, ...] = ()


def compare(way: Way, wanted: Layout) -> Fit | Misfit:
    """What registers of a wanted fragment a way fills, or what it does otherwise.

    requires  a layout as `Way.placed` is one, of the same elements
    """
    ours, theirs = way.placed, wanted
    for stage, axes in _COMPARED.items():
        missing = _missing(*_sides(way, _on(ours, axes), _on(theirs, axes)))
        if missing is not None:
            return _misfit(stage, missing, way, ours, theirs)
    try:
        return _named(way, *refinement(ours, theirs))
    except Refused as no:
        return Misfit("register", f"registers are counted otherwise: {no.reason}")


def _sides(way: Way, ours: Layout, theirs: Layout) -> tuple[Layout, Layout]:
    """(where elements are got from, where each has to be): of a load the wanted fragment says the latter."""
    return (theirs, ours) if way.store else (ours, theirs)


def _on(layout: Layout, axes: Iterable[str]) -> Layout:
    """The same elements, where they are on these axes alone."""
    names = tuple(axes)

    def left(vector: Vector) -> Vector:
        return Vector(tuple((axis, steps) for axis, steps in vector.terms if str(axis) in names))

    copies = [Iter(it.extent, left(it.stride)) for it in layout.replica]
    return layout.with_parts(
        layout.shape,
        tuple(map(left, layout.strides)),
        tuple(it for it in copies if it.stride),
        left(layout.offset),
    )


# -- owners ----------------------------------------------------------------------------------------


def _missing(has: Layout, needs: Layout) -> int | None:
    """The first element that has a place in `needs` which is none of its places in `has`."""
    flats: Iterable[int]
    try:
        has, needs = refinement(has, needs)
        flats = _elements(has, needs, lambda one, other: not _equal(one, other))
    except Refused:
        flats = range(has.same(needs).witness or 0, has.size)  # before it all copies are the same
    for flat in flats:
        if not {*_points(needs, flat, _OWN)} <= {*_points(has, flat, _OWN)}:
            return flat
    return None


def _elements(one: Layout, other: Layout, tells: Callable[[Vector, Vector], bool]) -> Iterator[int]:
    """Elements in their order: a digit stays 0 unless its two strides tell something.

    requires  one flat shape
    """
    extents = [it.extent for it in one.shard]
    digits = [
        range(0, prod(extents[at:]), prod(extents[at + 1 :]))
        for at, (it, its) in enumerate(zip(one.shard, other.shard, strict=True))
        if tells(it.stride, its.stride)
    ]
    return (sum(values) for values in product(*digits))


def _equal(one: Vector, other: Vector) -> bool:
    return all(one[axis] == other[axis] for axis in _OWN)


def _points(layout: Layout, flat: int, axes: tuple[str, ...]) -> list[Point]:
    """Where the copies of an element are on some axes."""
    return [tuple(place[axis] for axis in axes) for place in layout.places(flat)]


def _misfit(stage: str, flat: int, way: Way, ours: Layout, theirs: Layout) -> Misfit:
    """The stage with an element, where it gets to, and where it shall."""
    axes = _COMPARED[stage]
    here, there = ({*_points(layout, flat, axes)} for layout in (ours, theirs))
    has, needs = (there, here) if way.store else (here, there)
    owner = min(needs - has)[:-1]
    before = WARPS * owner[1] if stage == "warp" else 0
    got, asked = (
        sorted(before + point[-1] for point in side if point[:-1] == owner) for side in (here, there)
    )
    of_several = len({point[:-1] for point in needs}) > 1
    index = way.words.layout.coordinates(flat)
    whose = f" of warp {WARPS * owner[1] + owner[2]}" if of_several and owner[2:] else ""
    told = _told(stage, got, asked, way.words, whose)
    return Misfit(stage, f"element {spell(index)} {told}", index)


def _told(stage: str, got: list[int], asked: list[int], words: Words, whose: str) -> str:
    """Where an element gets, and where it shall."""
    if stage == "part of a register":
        bits, others = _bits(words, got), _bits(words, asked)
        return f"gets to bits {bits} of a register{whose}, and bits {others} shall have it"
    if stage == "lane":
        return f"gets to {_counted('lane', got)}{whose}, and {_counted('lane', asked)} shall have it"
    where = "in lanes of" if stage == "warp" else "in"
    return f"is {where} {_counted(stage, got)}, and the fragment has it in {_counted(stage, asked)}"


def _counted(what: str, numbers: list[int]) -> str:
    """As lane 0, or lanes 0, 8 and 16."""
    *most, last = map(str, numbers)
    return f"{what}s {', '.join(most)} and {last}" if most else f"{what} {last}"


def _bits(words: Words, parts: list[int]) -> str:
    first = parts[0] * words.taken
    return f"{first}..{first + words.taken - 1}"


# -- registers -------------------------------------------------------------------------------------


def _named(way: Way, ours: Layout, theirs: Layout) -> Fit | Misfit:
    """The registers one by one.

    requires  one flat shape, and owners that agree
    """
    names: dict[int, int] = {}
    back: dict[int, int] = {}
    first: dict[int, int] = {}
    """{register: the first element that is there}."""

    def tells(one: Vector, other: Vector) -> bool:
        return bool(one["register"] or other["register"]) or not _equal(one, other)

    for flat in _elements(ours, theirs, tells):
        here, there = _by_owner(ours, flat), _by_owner(theirs, flat)
        for owner in here if way.store else there:
            held, asked = here[owner], there[owner]
            if way.store:
                asked = [asked[0]] * len(held)  # a store may name a register again
            elif len(asked) > len(held):
                return _too_few(way, flat, held, asked)
            for register, name in zip(held, asked, strict=False):
                both = (first.setdefault(register, flat), flat)
                if names.setdefault(register, name) != name:
                    return _parted(way, both, (names[register], name))
                if back.setdefault(name, register) != register and not way.store:
                    return _met(way, (first[back[name]], flat), name)
    return _filled_up(way, names)


def _by_owner(layout: Layout, flat: int) -> dict[Point, list[int]]:
    """{who has a copy, and in which part: the registers}."""
    found: dict[Point, list[int]] = {}
    for *owner, register in _points(layout, flat, (*_OWN, "register")):
        found.setdefault(tuple(owner), []).append(register)
    return {owner: sorted(registers) for owner, registers in found.items()}


def _filled_up(way: Way, names: dict[int, int]) -> Fit:
    """With names for the registers that an instruction fills though nothing of them is wanted."""
    last = max(names.values())
    unnamed = [register for register in range(way.registers) if register not in names]
    spare = tuple(range(last + 1, last + 1 + len(unnamed)))
    every = names | dict(zip(unnamed, spare, strict=True))
    return Fit(way, tuple(every[register] for register in range(way.registers)), spare)


def _too_few(way: Way, flat: int, held: list[int], asked: list[int]) -> Misfit:
    index = way.words.layout.coordinates(flat)
    return Misfit(
        "register",
        f"element {spell(index)} shall be in {_counted('register', asked)} of a thread, and a load fills "
        f"{len(held)} of them",
        index,
    )


def _parted(way: Way, flats: tuple[int, int], names: tuple[int, int]) -> Misfit:
    """What is one register of an instruction in all threads, and several of the fragment."""
    index = way.words.layout.coordinates(flats[1])
    come = "leave one register" if way.store else "get to one register"
    apart = f"and the fragment has them in registers {names[0]} and {names[1]}"
    return Misfit("register", f"{_both(way, flats)} {come} of each thread, {apart}", index)


def _met(way: Way, flats: tuple[int, int], name: int) -> Misfit:
    index = way.words.layout.coordinates(flats[1])
    apart = f"and the fragment has them in register {name}"
    return Misfit("register", f"{_both(way, flats)} get to two registers of each thread, {apart}", index)


def _both(way: Way, flats: tuple[int, int]) -> str:
    one, other = (spell(way.words.layout.coordinates(flat)) for flat in flats)
    return f"copies of element {one}" if one == other else f"elements {one} and {other}"
