"""The fragment that is wanted, or that there is to be stored: by warps, lanes and registers."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.shuffle.reading import fit
from tilewise.check.tensor_memory.ways import REGISTER, Way
from tilewise.check.tensor_memory.words import PART, Words
from tilewise.core.algebra.modes import refinement
from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.limits import LANES
from tilewise.hardware.tcgen05.addresses import WARPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OWNERS = ("wid_in_wg", "laneid", "cbx")
_THREADS = ("tx", "tid_in_wg")
"""Axes of threads, which are warps and lanes."""


@dataclass(frozen=True)
class Wanted:
    """A fragment by warp, lane, register and part, as `Way.placed` has it."""

    layout: Layout
    words: Words
    threads: Layout
    """Over wid_in_wg, laneid and reg."""
    placed: Layout

    @classmethod
    def of(cls, layout: Layout, words: Words, store: bool = False) -> Wanted:
        """Of a layout over lanes, warps and reg, of the same elements as `words`."""
        _check_shape(layout, words.layout)
        if any(swizzle.bits for swizzle in layout.swizzles):
            raise Refused(
                "TW610",
                f"the fragment {layout} is swizzled, and no load of tensor memory is",
                witness={"swizzles": len(layout.swizzles)},
                hint="ask for one that is not, and shuffle",
            )
        threads = layout
        for name in _THREADS:
            if name in _axes(threads):
                threads = threads.split_axis(name, ("wid_in_wg", LANES, "laneid"))
        if "warpid" in _axes(threads):
            threads = threads.relabel({"warpid": "wid_in_wg"})
        strange = [name for name in _axes(threads) if name not in (*_OWNERS, "reg")]
        if strange:
            raise LayoutError(
                "TW203",
                f"the fragment {layout} has the axis {strange[0]}, and registers have wid_in_wg laneid reg",
                hint=(_of_one_warpgroup(layout, words, store) if strange == ["wgid"] else "")
                or "a warp is wid_in_wg or warpid, a lane laneid, and reg counts elements of a thread",
            )
        for name, many in (("laneid", LANES), ("wid_in_wg", WARPS), ("cbx", words.ctas)):
            _check_reach(threads, name, many, words)
        held = "reg" in _axes(threads)
        placed = threads.split_axis("reg", (REGISTER, words.parts, PART)) if held else threads
        return cls(layout, words, threads, placed)

    def nearing(self, way: Way) -> tuple[Layout, Layout, int]:
        """(a way's fragment, the wanted one, how often) of what is done again and again to get to it.

        Digits that step on whole registers in both, or on warps, only repeat the rest.

            requires  a way that differs in no warp
        """
        ours, theirs = refinement(way.fragment, self.threads)
        kept, times = [], 1
        for one, other in zip(_digits(ours), _digits(theirs), strict=True):
            if _repeats(one.stride, other.stride, self.words.parts):
                times *= one.extent if one.stride["reg"] else 1
            else:
                kept.append((one, other))
        of, to = (
            Layout(
                tuple(it.extent for it in side) or (1,),
                tuple(it.stride for it in side) or (Vector(),),
                replica=tuple(it for it in whole.replica if it.stride["laneid"] or it.stride["reg"]),
                offset=_only(whole.offset, ("laneid", "reg")),
            )
            for side, whole in (([one for one, _ in kept], ours), ([other for _, other in kept], theirs))
        )
        return of, to, times


def _digits(layout: Layout) -> list[Iter]:
    return [it for it in layout.shard if it.extent > 1]


def _only(vector: Vector, names: Sequence[str]) -> Vector:
    return Vector(tuple((axis, steps) for axis, steps in vector.terms if str(axis) in names))


def _repeats(one: Vector, other: Vector, parts: int) -> bool:
    """Whether a digit steps on whole registers alone, or on warps and CTAs alone, and so does its other."""
    moved = [{str(axis) for axis, steps in step.terms if steps} for step in (one, other)]
    if all(axes == {"reg"} for axes in moved):
        return one["reg"] % parts == other["reg"] % parts == 0
    return one == other and moved[0] <= {"wid_in_wg", "cbx"}


def _axes(layout: Layout) -> set[str]:
    return {str(axis) for axis in layout.axes}


def _of_one_warpgroup(fragment: Layout, words: Words, store: bool) -> str:
    """What to ask instead of a fragment that is of several warpgroups; nothing where that is not plain."""
    try:
        sides = refinement(words.layout, fragment)
    except Refused:
        return ""
    steps = [(one.stride, other.stride) for one, other in zip(*map(_digits, sides), strict=True)]
    groups = [at for at, (_, other) in enumerate(steps) if other["wgid"]]
    if len(steps) == 1 or [steps[at][1] for at in groups] != [as_vector(1 @ Axis("wgid"))]:
        return ""
    first, to = (_without_digit(side, groups[0]) for side in sides)
    if "wgid" in _axes(to):
        return ""
    way = "--store --to" if store else "--to"
    return (
        f"one warpgroup at a time: tilewise tmem '{first}' --dtype {words.counted} {way} '{to}' is the "
        f"first's, and the next one's lies at {first + steps[groups[0]][0]}"
    )


def _without_digit(layout: Layout, at: int) -> Layout:
    """The elements of which one digit is 0."""
    left = [it for number, it in enumerate(_digits(layout)) if number != at]
    extents, strides = tuple(it.extent for it in left), tuple(it.stride for it in left)
    return layout.with_parts(extents, strides, layout.replica, layout.offset).coalesce()


def _check_reach(layout: Layout, name: str, many: int, words: Words) -> None:
    low, high = layout.extremes(name) if name in _axes(layout) else (0, 0)
    if low < 0 or high >= many:
        what = {"laneid": "a warp has lanes", "wid_in_wg": "tensor memory has the warps"}.get(
            name, "the CTAs are"
        )
        raise LayoutError(
            "TW203",
            f"the fragment reaches {name} {low if low < 0 else high}, and {what} 0 to {many - 1}",
            hint=f"the elements are of {words.ctas} CTAs, such as {_by_rows(words.layout)}"
            if name == "wid_in_wg" and words.ctas > 1
            else "warps count from 0 in their warpgroup, lanes in their warp",
        )


def _by_rows(layout: Layout) -> Layout:
    """The fragment in which the thread of a number holds the lane of that number."""
    names = {"TLane": "tid_in_wg", "TCol": "reg"}
    return layout.relabel({name: other for name, other in names.items() if name in _axes(layout)})


def _check_shape(fragment: Layout, layout: Layout) -> None:
    ours, theirs = extents_of(fragment.shape), extents_of(layout.shape)
    if fragment.size == layout.size and fit(ours, theirs):
        return
    raise LayoutError(
        "TW202",
        f"the fragment is {_times(ours)} and what lies in tensor memory {_times(theirs)}: they are not "
        "layouts of one tensor",
        hint="give a fragment of all of it, over wid_in_wg or warpid, laneid and reg",
    )


def _times(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
