"""Compare the fragment that a way makes with the wanted one, or with the one to be stored.

Places are compared by their CTA, warp, lane and part of a register, and then by registers. The order of
registers costs nothing: an instruction names the registers that it fills one by one. So two fragments are one
if every element has the same owners and the same bits of a register in both, and each register of one is a
register of the other, alike in all threads.

A load has to fill every wanted copy of an element. A store has to fill every copy in tensor memory, from any
copy in registers.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewise.check.registers.reading import fit, orders
from tilewise.check.tensor_memory.ways import REGISTER, Way
from tilewise.check.tensor_memory.words import PART, Words, axes_of, refuse_swizzled
from tilewise.core.algebra.modes import refinement
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import Vector
from tilewise.hardware.limits import LANES
from tilewise.hardware.tcgen05.addresses import WARPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OWNERS = ("cbx", "wgid", "wid_in_wg", "laneid")

_COMPARED = {
    "CTA": _OWNERS[:1],
    "warp": _OWNERS[:3],
    "lane": _OWNERS,
    "part of a register": (*_OWNERS, "part"),
}
"""{stage: the axes compared up to it}: the last axis is the stage's; the others agree already."""

STAGES = (*_COMPARED, "register")
"""Stages of a comparison, in this order."""

BETWEEN_WARPS = ("CTA", "warp")
"""Stages that no exchange inside a warp mends."""

_SPLITS = (
    ("tx", ("wgid", WARPS * LANES, "tid_in_wg")),
    ("tid_in_wg", ("wid_in_wg", LANES, "laneid")),
    ("warpid", ("wgid", WARPS, "wid_in_wg")),
)
"""Axes of threads and warps, which are warpgroups, their warps and lanes."""

_WARPGROUPS = 8
"""The most warpgroups of a CTA: its 1024 threads."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A difference between the fragment that a way makes and the wanted one."""

    stage: str
    message: str
    element: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Fit:
    """A way that makes the wanted fragment: its register i is register `registers[i]` of the wanted one.

    The elements in `spare` registers are not wanted; these are numbered after the wanted one's last.
    """

    way: Way
    registers: tuple[int, ...]
    spare: tuple[int, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """A fragment by warp, lane, register and part, as `Way.placed` has it."""

    layout: Layout
    words: Words
    threads: Layout
    """Over wid_in_wg, laneid and reg, and wgid of further warpgroups."""
    placed: Layout

    @classmethod
    def of(cls, layout: Layout, words: Words) -> Wanted:
        """Return the fragment of a layout over lanes, warps and reg, of the same elements as `words`."""
        _check_shape(layout, words.layout)
        refuse_swizzled(layout, f"the fragment {layout}", "ask for one that is not, and shuffle")
        threads = _threads(layout)
        for strange in [axis for axis in threads.axes if axis.name not in (*_OWNERS, "reg")]:
            raise LayoutError(
                "TW203",
                f"the fragment {layout} has the axis {strange}, and registers have wid_in_wg laneid reg",
                hint="a warp is wid_in_wg or warpid, a lane laneid, and reg counts elements of a thread",
            )
        for name, count, has in (
            ("laneid", LANES, "a warp has lanes"),
            ("wid_in_wg", WARPS, "a warpgroup has warps"),
            ("wgid", _WARPGROUPS, "a CTA has warpgroups"),
            ("cbx", words.ctas, "the CTAs are"),
        ):
            low, high = threads.extremes(name) if name in axes_of(threads) else (0, 0)
            if low < 0 or high >= count:
                raise LayoutError(
                    "TW203",
                    f"the fragment reaches {name} {low if low < 0 else high}, and {has} 0 to {count - 1}",
                    hint=of_each_cta(words)
                    if name == "wid_in_wg" and words.ctas > 1
                    else "warps count from 0 in their warpgroup, lanes in their warp; a further warpgroup is "
                    "wgid",
                )
        held = "reg" in axes_of(threads)
        placed = threads.split_axis("reg", (REGISTER, words.parts, PART)) if held else threads
        return cls(layout, words, threads, placed)

    def nearing(self, way: Way) -> tuple[Layout, Layout, int]:
        """Return (a way's fragment, the wanted one, the number of repeats) of the repeated part.

        Digits that step on whole registers in both, or on warps, only repeat the rest.

            requires  a way that differs in no warp
        """
        sides = refinement(way.fragment, self.threads)
        kept: list[tuple[Iter, Iter]] = []
        times = 1
        for one, other in zip(sides[0].shard, sides[1].shard, strict=True):
            if one.extent == 1:
                continue
            moved = {axis.name for step in (one.stride, other.stride) for axis, steps in step.terms if steps}
            registers = [one.stride["reg"], other.stride["reg"]]
            if moved == {"reg"} and all(steps and steps % self.words.parts == 0 for steps in registers):
                times *= one.extent
            elif one.stride != other.stride or not moved <= {"wgid", "wid_in_wg", "cbx"}:
                kept.append((one, other))
        of, to = (
            Layout(
                tuple(pair[i].extent for pair in kept) or (1,),
                tuple(pair[i].stride for pair in kept) or (Vector(),),
                replica=tuple(it for it in side.replica if it.stride["laneid"] or it.stride["reg"]),
                offset=_on(side.offset, ("laneid", "reg")),
            )
            for i, side in enumerate(sides)
        )
        return of, to, times

    def compare(self, way: Way) -> Fit | Misfit:
        """Return the registers of the wanted fragment that a way fills, or its difference."""
        ours, theirs, unlike = way.placed, self.placed, ""
        try:
            ours, theirs = refinement(ours, theirs)
        except Refused as no:
            unlike = no.reason
        for stage, axes in _COMPARED.items():
            for flat in range(ours.size) if unlike else _elements(ours, theirs, axes):
                here, there = ({*_points(layout, flat, axes)} for layout in (ours, theirs))
                if not (here <= there if way.store else there <= here):
                    return _misfit(stage, flat, way, here, there)
        if unlike:
            return Misfit("register", f"registers are counted otherwise: {unlike}")
        return _named(way, ours, theirs)


def _on(vector: Vector, names: Iterable[str]) -> Vector:
    """Return a vector on these axes alone."""
    return Vector(tuple((axis, steps) for axis, steps in vector.terms if axis.name in names))


def _threads(fragment: Layout) -> Layout:
    """Return the same by warpgroups, their warps and lanes."""
    layout = fragment
    for name, (high, many, low) in _SPLITS:
        try:
            layout = layout.split_axis(name, (high, many, low)) if name in axes_of(layout) else layout
        except Refused as no:
            if no.code == "TW509":
                raise LayoutError(
                    "TW203",
                    f"the fragment {fragment} says threads by {name} and by parts of it, {high} or {low}",
                    hint="say them by one axis, such as tx, or all by wgid, wid_in_wg and laneid",
                ) from None
            raise Refused(
                "TW610",
                f"a digit of the fragment {fragment} goes on past a multiple of {many} on {name}, from one "
                f"{high} to the next",
                witness=no.witness,
                hint=f"begin and end it with them: {many} on {name} are one {high}",
            ) from None
    return layout


def of_each_cta(words: Words) -> str:
    """Return the hint for elements of a pair: the thread of a number holds the lane of that number."""
    names = {"TLane": "tid_in_wg", "TCol": "reg"}
    by_rows = words.layout.relabel({name: names[name] for name in names.keys() & axes_of(words.layout)})
    return f"each CTA reaches its own tensor memory alone: such as {by_rows}"


def _check_shape(fragment: Layout, layout: Layout) -> None:
    ours, theirs = extents_of(fragment.shape), extents_of(layout.shape)
    if fragment.size == layout.size and fit(ours, theirs):
        return
    order = next(orders(ours, theirs), None) if fragment.size == layout.size else None
    hint = "give a fragment of all of it, over wid_in_wg or warpid, laneid and reg"
    if order is not None:
        moved = fragment.permute(*order)
        with suppress(Refused):  # modes stay where digits do not group
            moved = moved.group(*theirs)
        hint = f"its modes in the order {spell(order)} are: {moved}"
    one, other = (" x ".join(map(str, extents)) for extents in (ours, theirs))
    raise LayoutError(
        "TW202",
        f"the fragment is {one} and what lies in tensor memory {other}: they are not layouts of one tensor",
        hint=hint,
    )


# -- owners and registers --------------------------------------------------------------------------


def _elements(one: Layout, other: Layout, axes: Sequence[str], always: str = "") -> Iterator[int]:
    """Yield elements in their order: a digit stays 0 where its two strides are alike on the axes.

    A digit that steps on the axis `always` counts even so.

    requires  one flat shape
    """
    extents = [it.extent for it in one.shard]
    digits = [
        range(0, prod(extents[at:]), prod(extents[at + 1 :]))
        for at, (it, its) in enumerate(zip(one.shard, other.shard, strict=True))
        if it.stride[always] or its.stride[always] or any(it.stride[own] != its.stride[own] for own in axes)
    ]
    return (sum(values) for values in product(*digits))


def _points(layout: Layout, flat: int, axes: tuple[str, ...]) -> list[tuple[int, ...]]:
    """Return the places of the copies of an element on some axes."""
    return [tuple(place[axis] for axis in axes) for place in layout.places(flat)]


def _misfit(
    stage: str, flat: int, way: Way, here: set[tuple[int, ...]], there: set[tuple[int, ...]]
) -> Misfit:
    """Return the stage with an element, its place in the way's fragment, and its wanted place."""
    needs, has = (here, there) if way.store else (there, here)
    owner = min(needs - has)[:-1]
    before = WARPS * owner[1] if stage == "warp" else 0
    taken = way.words.taken

    def places(points: set[tuple[int, ...]]) -> str:
        numbers = sorted(before + point[-1] for point in points if point[:-1] == owner)
        if stage == "part of a register":
            return f"bits {numbers[0] * taken}..{(numbers[0] + 1) * taken - 1}"
        return _counted(stage, numbers)

    several = len({point[:-1] for point in needs}) > 1 and owner[2:]
    whose = f" of warp {WARPS * owner[1] + owner[2]}" if several else ""
    index = way.words.layout.coordinates(flat)
    told = f"gets to {places(here)}{whose}, and {places(there)} shall have it"
    return Misfit(stage, f"element {spell(index)} {told}", index)


def _counted(what: str, numbers: list[int]) -> str:
    """Return things as text, singular or plural: lane 0, or lanes 0, 8 and 16."""
    *most, last = map(str, numbers)
    return f"{what}s {', '.join(most)} and {last}" if most else f"{what} {last}"


def _named(way: Way, ours: Layout, theirs: Layout) -> Fit | Misfit:
    """Return the names of registers, one by one.

    requires  one flat shape, and owners that agree
    """
    names: dict[int, int] = {}
    back: dict[int, int] = {}
    first: dict[int, int] = {}  # {register: the first element that is there}

    def misfit(flats: tuple[int, ...], ours: list[int], theirs: list[int]) -> Misfit:
        index, *others = (way.words.layout.coordinates(flat) for flat in reversed(flats))
        who = f"element {spell(index)} is"
        if others:
            who = f"elements {spell(others[0])} and {spell(index)} are"
            who = who if others != [index] else f"copies of element {spell(index)} are"
        here, there = (_counted("register", sorted(own)) for own in (ours, theirs))
        message = f"{who} in {here} of the instructions, and in {there} of the fragment"
        return Misfit("register", message, index)

    for flat in _elements(ours, theirs, (*_OWNERS, "part"), "register"):
        here, there = _by_owner(ours, flat), _by_owner(theirs, flat)
        for owner in here if way.store else there:
            held, asked = here[owner], there[owner]
            if way.store:
                asked = [asked[0]] * len(held)  # a store may name a register again
            elif len(asked) > len(held):
                return misfit((flat,), held, asked)
            for register, name in zip(held, asked, strict=False):
                before = first.setdefault(register, flat)
                if names.setdefault(register, name) != name:
                    return misfit((before, flat), [register], [names[register], name])
                other = register if way.store else back.setdefault(name, register)
                if other != register:
                    return misfit((first[other], flat), [other, register], [name])
    last = max(names.values())
    unnamed = [register for register in range(way.registers) if register not in names]
    spare = tuple(range(last + 1, last + 1 + len(unnamed)))
    every = names | dict(zip(unnamed, spare, strict=True))
    return Fit(way, tuple(every[register] for register in range(way.registers)), spare)


def _by_owner(layout: Layout, flat: int) -> dict[tuple[int, ...], list[int]]:
    """Return {(owners of a copy, its part of a register): the registers}."""
    found: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for *owner, register in sorted(_points(layout, flat, (*_OWNERS, "part", "register"))):
        found[tuple(owner)].append(register)
    return found
