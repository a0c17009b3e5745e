"""The inverse: the indices that live at a place, or at any place that agrees with a partial one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import add

from tilewise.core.axes import SPLITS
from tilewise.core.canonical import merged_replica
from tilewise.core.digits import number
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.facts import landing, lanes_of
from tilewise.core.integers import as_int
from tilewise.core.solve import DEFAULT_BUDGET, BudgetSpent
from tilewise.core.vectors import Vector, as_vector, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.core.layout import Layout, Point

MAX_ANSWERS = 1 << 16


def who(
    layout: Layout, /, *place: Any, shape: Any = None, limit: int | None = None, **steps: int
) -> tuple[tuple[int, ...], ...]:
    """Return the indices that live at a place; with fewer axes than the layout has, at any such place.

    A bare integer is `m`. The answer is sorted, in coordinates of `shape`.

    >>> from tilewise import S
    >>> who(S[(4, 2, 2, 4) : (16, 4, 8, 1)], 27, shape=(8, 8))
    ((2, 7),)
    """
    asked = _asked_place(place, steps)
    layout.asked_in(shape)
    found = _collected((flat for flat, _ in _held(layout, asked)), limit)
    return tuple([layout.coordinates(flat, shape) for flat in sorted(found)])


def matches(
    layout: Layout, /, *place: Any, shape: Any = None, limit: int | None = None, **steps: int
) -> tuple[tuple[tuple[int, ...], Vector], ...]:
    """Return (index, place) of everything that lives at a full or partial place, sorted.

    >>> from tilewise import S, laneid, reg
    >>> matches(S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)], laneid=5)
    (((1, 1, 0), 5@laneid + 0@reg), ((1, 1, 1), 5@laneid + 1@reg))
    """
    asked = _asked_place(place, steps)
    layout.asked_in(shape)
    found = sorted(_collected(_held(layout, asked), limit))
    return tuple([(layout.coordinates(flat, shape), point(layout.axes, at)) for flat, at in found])


def _asked_place(place: tuple[Any, ...], steps: dict[str, int]) -> dict[str, int]:
    """Return {axis name: steps} of arguments: integers (on m), vectors, mappings, keywords."""
    asked: dict[str, int] = {}
    for part in (*place, steps):
        named = part if isinstance(part, Mapping) else as_vector(part, "a place").as_dict() or {"m": 0}
        for axis, value in named.items():
            if str(axis) in asked:
                raise LayoutError("TW203", f"{axis} is given twice", hint="name every axis once")
            asked[str(axis)] = value
    if not asked:
        raise LayoutError("TW203", "no place was given", hint="name at least one axis, such as m=0")
    return asked


def is_partial(layout: Layout, place: Mapping[str, int]) -> bool:
    """Return True if the place leaves an axis of the layout open."""
    asked = on_its_axes(layout, place)
    return any(axis.name not in asked for axis in layout.axes)


EVERYDAY = {
    "lane": ("laneid",),
    "warp": ("warpid", "wid_in_wg"),
    "thread": ("tid_in_wg", "tx", "laneid"),
    "block": ("cbx", "bx"),
}
"""Everyday words, and the axes that they may stand for: the first axis of which a layout has a part."""


def on_its_axes(layout: Layout, place: Mapping[str, int]) -> dict[str, int]:
    """Return the place in the layout's axes: of a thread, say, the warp and the lane.

        postcondition  an element at the place lives there after fuse_axes, on the axis of the question

    A known axis that the layout splits becomes its parts, unless the place gives other numbers for them.
    Where a layout has lane 32, a warp has 64 lanes, as on CDNA. `lane`, `warp` and `thread` stand for
    the layout's axes of that kind, unless it has an axis of that very name.

    >>> from tilewise import S, laneid, reg, wid_in_wg
    >>> on_its_axes(S[(4, 32, 2) : (1@wid_in_wg, 1@laneid, 1@reg)], {"tid_in_wg": 45, "reg": 1})
    {'reg': 1, 'wid_in_wg': 1, 'laneid': 13}
    """
    axes = {axis.name for axis in layout.axes}
    asked = {_meant(name, axes): steps for name, steps in place.items()}
    for name, ways in SPLITS.items():
        if name not in asked or name in axes or not _parts(name) & axes:
            continue
        high, n, low = max(ways, key=lambda way: len((_parts(way[0]) | _parts(way[2])) & axes))
        n = lanes_of(layout) if low == "laneid" else n
        steps = as_int(asked[name], f"the place's {name}")
        parts = {high: steps // n, low: steps % n}
        if all(asked.get(part, step) == step for part, step in parts.items()):
            del asked[name]
            asked |= parts
    return asked


def _meant(name: str, axes: set[str]) -> str:
    """Return the axis that an everyday word stands for, or the word."""
    known = [axis for axis in EVERYDAY.get(name, ()) if _parts(axis) & axes]
    return known[0] if known and name not in axes else name


def _parts(name: str) -> set[str]:
    """Return the axis and all that it splits into."""
    return {name}.union(*(_parts(part) for high, _, low in SPLITS.get(name, ()) for part in (high, low)))


def _collected(found: Iterator[Any], limit: int | None) -> list[Any]:
    """Return the distinct answers: the first `limit` that the search meets, or all; or refuse."""
    bound = MAX_ANSWERS + 1 if limit is None else as_int(limit, "a limit")
    if bound < 1:
        raise LayoutError("TW401", f"a limit must be positive, not {bound}")
    answers: dict[Any, None] = {}
    repeated = 0
    try:
        for answer in found:
            repeated += answer in answers
            answers[answer] = None
            if len(answers) == bound:
                break
            if repeated > DEFAULT_BUDGET:
                raise BudgetSpent
    except BudgetSpent:
        raise NotDecided(
            "who lives there was not decided within the bound",
            hint="the strides are many and unrelated; ask by index, or list a window with table",
        ) from None
    if limit is None and len(answers) == bound:
        raise LayoutError(
            "TW301",
            f"more than {MAX_ANSWERS} elements live there",
            hint="ask with a limit to see some of them",
        )
    return list(answers)


def _held(layout: Layout, place: Mapping[str, int]) -> Iterator[tuple[int, Point]]:
    """Yield (flat index, place) of every element and copy at the place, in the order of the search."""
    asked_at = on_its_axes(layout, place)
    steps = {name: as_int(value, f"the place's {name}") for name, value in asked_at.items()}
    for name in steps:
        if not layout.knows(name):
            layout.axis(name)
    axes = {axis.name for axis in layout.axes}
    if any(value for name, value in steps.items() if name not in axes):
        return
    asked = [axis for axis in layout.axes if axis.name in steps]
    copies, start = merged_replica(layout.replica)
    extents = [it.extent for it in layout.shard]
    first = layout.on_axes(start)
    replica = [layout.on_axes(it.stride) for it in copies]
    at_steps = [steps[axis.name] for axis in asked]
    for x in landing(layout, (*layout.shard, *copies), layout.offset + start, asked, at_steps):
        flat = number(extents, x)
        at = tuple(map(add, layout.before_swizzle(flat), first))
        for step, r in zip(replica, x[len(extents) :], strict=True):
            at = tuple(a + r * s for a, s in zip(at, step, strict=True))
        yield flat, layout.after_swizzle(at)
