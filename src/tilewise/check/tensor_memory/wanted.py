"""The fragment that is wanted, or that there is to be stored: by warps, lanes and registers."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.check.registers.reading import fit, orders
from tilewise.check.tensor_memory.ways import REGISTER, Way
from tilewise.check.tensor_memory.words import PART, Words
from tilewise.core.algebra.modes import refinement
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Iter, Layout
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import Vector
from tilewise.hardware.limits import LANES
from tilewise.hardware.tcgen05.addresses import WARPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_OWNERS = ("wgid", "wid_in_wg", "laneid", "cbx")
_SPLITS = (
    ("tx", ("wgid", WARPS * LANES, "tid_in_wg")),
    ("tid_in_wg", ("wid_in_wg", LANES, "laneid")),
    ("warpid", ("wgid", WARPS, "wid_in_wg")),
)
"""Axes of threads and warps, which are warpgroups, their warps and lanes."""
_WARPGROUPS = 8
"""As many as the 1024 threads of a CTA make up."""


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
        """Of a layout over lanes, warps and reg, of the same elements as `words`."""
        _check_shape(layout, words.layout)
        if any(swizzle.bits for swizzle in layout.swizzles):
            raise Refused(
                "TW610",
                f"the fragment {layout} is swizzled, and no load of tensor memory is",
                witness={"swizzles": len(layout.swizzles)},
                hint="ask for one that is not, and shuffle",
            )
        threads = _threads(layout)
        strange = [name for name in _axes(threads) if name not in (*_OWNERS, "reg")]
        if strange:
            raise LayoutError(
                "TW203",
                f"the fragment {layout} has the axis {strange[0]}, and registers have wid_in_wg laneid reg",
                hint="a warp is wid_in_wg or warpid, a lane laneid, and reg counts elements of a thread",
            )
        many = {"laneid": LANES, "wid_in_wg": WARPS, "wgid": _WARPGROUPS, "cbx": words.ctas}
        for name, count in many.items():
            _check_reach(threads, name, count, words)
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


def _threads(fragment: Layout) -> Layout:
    """The same by warpgroups, their warps and lanes."""
    layout = fragment
    for name, into in _SPLITS:
        if name in _axes(layout):
            try:
                layout = layout.split_axis(name, into)
            except Refused as no:
                raise _unsplit(fragment, name, into, no) from None
    return layout


def _unsplit(fragment: Layout, name: str, into: tuple[str, int, str], no: Refused) -> LayoutError:
    """Why an axis of threads says no warpgroups, warps or lanes."""
    high, many, low = into
    if no.code == "TW509":
        return LayoutError(
            "TW203",
            f"the fragment {fragment} says threads by {name} and by parts of it, {high} or {low}",
            hint="say them by one axis, such as tx, or all by wgid, wid_in_wg and laneid",
        )
    return Refused(
        "TW610",
        f"a digit of the fragment {fragment} goes on past a multiple of {many} on {name}, from one {high} to "
        "the next",
        witness=no.witness,
        hint=f"begin and end it with them: {many} on {name} are one {high}",
    )


def _digits(layout: Layout) -> list[Iter]:
    return [it for it in layout.shard if it.extent > 1]


def _only(vector: Vector, names: Sequence[str]) -> Vector:
    return Vector(tuple((axis, steps) for axis, steps in vector.terms if str(axis) in names))


def _repeats(one: Vector, other: Vector, parts: int) -> bool:
    """Whether a digit steps on whole registers alone, or on warps and CTAs alone, and so does its other."""
    moved = [{str(axis) for axis, steps in step.terms if steps} for step in (one, other)]
    if all(axes == {"reg"} for axes in moved):
        return one["reg"] % parts == other["reg"] % parts == 0
    return one == other and moved[0] <= {"wgid", "wid_in_wg", "cbx"}


def _axes(layout: Layout) -> set[str]:
    return {str(axis) for axis in layout.axes}


def _check_reach(layout: Layout, name: str, many: int, words: Words) -> None:
    low, high = layout.extremes(name) if name in _axes(layout) else (0, 0)
    if low < 0 or high >= many:
        what = {
            "laneid": "a warp has lanes",
            "wid_in_wg": "a warpgroup has warps",
            "wgid": "a CTA has warpgroups",
            "cbx": "the CTAs are",
        }[name]
        raise LayoutError(
            "TW203",
            f"the fragment reaches {name} {low if low < 0 else high}, and {what} 0 to {many - 1}",
            hint=of_each_cta(words)
            if name == "wid_in_wg" and words.ctas > 1
            else "warps count from 0 in their warpgroup, lanes in their warp; a further warpgroup is wgid",
        )


def of_each_cta(words: Words) -> str:
    """What to ask for elements of a pair: the fragment in which the thread of a number holds that lane."""
    names = {"TLane": "tid_in_wg", "TCol": "reg"}
    layout = words.layout
    by_rows = layout.relabel({name: other for name, other in names.items() if name in _axes(layout)})
    return f"each CTA reaches its own tensor memory alone: such as {by_rows}"


def _check_shape(fragment: Layout, layout: Layout) -> None:
    ours, theirs = extents_of(fragment.shape), extents_of(layout.shape)
    if fragment.size == layout.size and fit(ours, theirs):
        return
    order = next(orders(ours, theirs), None) if fragment.size == layout.size else None
    raise LayoutError(
        "TW202",
        f"the fragment is {_times(ours)} and what lies in tensor memory {_times(theirs)}: they are not "
        "layouts of one tensor",
        hint="give a fragment of all of it, over wid_in_wg or warpid, laneid and reg"
        if order is None
        else f"its modes in the order {spell(order)} are: {_ordered(fragment, order, theirs)}",
    )


def _ordered(fragment: Layout, order: tuple[int, ...], extents: tuple[int, ...]) -> Layout:
    """With its modes in an order, grouped as those extents where they can be."""
    moved = fragment.permute(*order)
    try:
        return moved.group(*extents)
    except Refused:
        return moved


def _times(extents: tuple[int, ...]) -> str:
    return " x ".join(map(str, extents))
