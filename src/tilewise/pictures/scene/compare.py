"""Layouts of one tensor side by side, and in words what has to move from the first to the others.

The words are counted element by element on the places of the scenes, as the page counts them; the tests
hold them to `Layout.relation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import prod

import numpy as np

from tilewise.core.algebra.relations import OUTERMOST_FIRST, kind_of
from tilewise.core.axes import STORAGE
from tilewise.core.axes import Axis as LayoutAxis
from tilewise.core.errors import LayoutError
from tilewise.core.facts import WARP
from tilewise.core.integers import counted
from tilewise.core.layout import Layout
from tilewise.core.orders import turned_modes
from tilewise.pictures.scene.build import scene_of
from tilewise.pictures.scene.cells import Elements, Numbers, numbered
from tilewise.pictures.scene.model import MOST_SCENES, Axis, Document, Scene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BETWEEN = {
    "device": "between devices",
    "cta": "between CTAs",
    "warp": "between warps",
    "lane": "between lanes",
    "register": "between registers",
    "memory": "in memory",
}
_MANY = 1 << 32
"""More than there are of anything."""

_THREADS = {
    "tx": (("wgid", 4 * WARP, _MANY), ("wid_in_wg", WARP, 4), ("laneid", 1, WARP)),
    "tid_in_wg": (("wid_in_wg", WARP, _MANY), ("laneid", 1, WARP)),
    "warpid": (("wgid", 4, _MANY), ("wid_in_wg", 1, 4)),
}
"""{axis of threads: (part, how many of the axis are one of it, how many there are)} of its parts."""

_MOST_MODES = 4
_ORDINALS = ("second", "third", "fourth")

Columns = dict[str, Numbers]
"""{axis: the coordinate of each copy of each element, as [element, copy]}."""


def compared(first: Layout, *others: Layout, title: str | None = None, **options: Any) -> Document:
    """Return two to four layouts as one document; the options are those of `scene_of`, for all.

        refused  TW301 more than four

    >>> from tilewise import S
    >>> rows, columns = S[(4, 8) : (8, 1)], S[(4, 8) : (1, 4)]
    >>> compared(rows, S[(8, 4) : (1, 8)]).words
    'A view, with the modes in the order (1, 0): nothing moves.'
    >>> compared(rows, rows + 1, columns).words
    'To the second: Every element moves by 1@m. To the third: 30 of 32 elements move in memory: 30 along m; \
2 stay where they are.'
    """
    if len(others) >= MOST_SCENES:
        raise LayoutError(
            "TW301", f"{1 + len(others)} layouts side by side", hint=f"{MOST_SCENES} are the most"
        )
    scenes = tuple(scene_of(layout, **options) for layout in (first, *others))
    told = [difference(scenes[0], other) for other in scenes[1:]]
    if len(told) != 1:
        told = [f"To the {name}: {words}" for name, words in zip(_ORDINALS, told, strict=False) if words]
    return Document(scenes, scenes[0].title if title is None else title, " ".join(told))


def difference(first: Scene, second: Scene) -> str:
    """Return what has to move from the first to the second, in a sentence; nothing of parts that differ.

    >>> from tilewise import S, laneid, reg
    >>> fragment = scene_of(S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))])
    >>> difference(fragment, scene_of(S[(8, (2, 4)) : (4@laneid, (1@reg, 1@laneid))]))
    '48 of 64 elements move between lanes: 48 along laneid, 32 along reg; 16 stay where they are.'
    """
    here, there = (len(scene.places[scene.axes[0].name]) // scene.copies for scene in (first, second))
    if _whole(first) and _whole(second):
        if here != there:
            return f"They have {here} and {there} elements, and are not of one tensor."
        return _Pair(first, second, by_flat_index=first.shape != second.shape).words()
    if first.window == second.window and prod(first.columns) == prod(second.columns) and here == there:
        return f"In this window: {_Pair(first, second).words()}"
    return ""


def _whole(scene: Scene) -> bool:
    return scene.window == ((0, prod(scene.rows)), (0, prod(scene.columns)))


class _Pair:
    """Two scenes of as many elements on all axes of both; an axis that one of them lacks is 0 there.

    As of layouts, the elements of one coordinate belong together, or those of one flat index.
    """

    def __init__(self, first: Scene, second: Scene, by_flat_index: bool = False) -> None:
        self.first, self.second = first, second
        self.turned = by_flat_index and first.order != "row"
        self.shape, self.other_shape = (
            scene.shape[::-1] if by_flat_index and scene.order != "row" else scene.shape
            for scene in (first, second)
        )
        columns = _columns(first, by_flat_index), _columns(second, by_flat_index)
        ours, theirs, self.respelled = _spelled_alike(first, second, *columns)
        self.names = list(dict.fromkeys((*ours, *theirs)))
        self.ours, self.theirs = (
            {name: own.get(name, np.zeros_like(next(iter(own.values())))) for name in self.names}
            for own in (ours, theirs)
        )
        self.count = len(self.ours[self.names[0]])

    def words(self) -> str:
        """Return what has to move, in a sentence."""
        first, second = self.first, self.second
        moving = self._moving(self.names)
        if not moving and first.copies > second.copies:
            are = "is" if second.copies == 1 else "are"
            return f"Nothing moves: of {first.copies} copies of every element {second.copies} {are} kept."
        if not moving:
            shape = "" if self.shape == self.other_shape else " in another shape"
            threads = ", with threads counted in another way" if self.respelled else ""
            return f"The same map{shape}{threads}: nothing moves."
        order = self._order()
        view = "" if order is None else f"with the modes in the order ({', '.join(map(str, order))})"
        if view and self.shape != self.other_shape:
            return f"A view, {view}: nothing moves."
        shift = self._shift()
        if shift:
            return f"Every element moves by {shift}."
        here, there = first.copies, second.copies
        copies = "" if here == there else f" Every element has {counted(there, 'place')} instead of {here}."
        along = {name: many for name in self.names if (many := self._moving([name]))}
        ours, theirs = map(_storage, (first, second))
        if ours and theirs and not {*ours} & {*theirs} and not {"device", "cta"} & {*map(self._kind, along)}:
            stored = f"The first lives in {' and '.join(ours)}, the second in {' and '.join(theirs)}"
            return f"{stored}: every element is copied.{copies}"
        read = f" Read {view}, the second is the first." if view else ""
        return f"{self._moves(moving, along)}{copies}{read}"

    def _moving(self, names: Sequence[str], order: Numbers | None = None) -> int:
        """Return how many elements have a new place on some axes, the first's taken in an order."""
        numbers = np.arange(self.count)[:, None]
        pairs = [
            [np.broadcast_to(numbers, (self.count, scene.copies)) for scene in (self.first, self.second)]
        ]
        for name in names:
            pairs.append([self.ours[name] if order is None else self.ours[name][order], self.theirs[name]])
        keys = numbered([np.concatenate([*map(np.ravel, pair)]) for pair in pairs])
        old, new = np.split(keys, [self.count * self.first.copies])
        return self.count - int(np.isin(new, old).reshape(self.count, -1).all(axis=1).sum())

    def _order(self) -> tuple[int, ...] | None:
        """Return the order of the first one's modes in which it is the second."""
        shape = self.shape
        if self.first.copies != self.second.copies or len(shape) > _MOST_MODES or not _whole(self.first):
            return None
        for order in permutations(range(len(shape))):
            olds = np.arange(self.count).reshape(shape).transpose(order)
            if olds.shape == self.other_shape and not self._moving(self.names, olds.reshape(-1)):
                return turned_modes(order) if self.turned else order
        return None

    def _shift(self) -> str | None:
        """Return the step by which every place moves."""
        if self.first.copies != self.second.copies:
            return None
        steps = {name: self.theirs[name] - self.ours[name] for name in self.names}
        if any(step.min() != step.max() for step in steps.values()):
            return None
        return " + ".join(f"{step[0, 0]}@{name}" for name, step in steps.items() if step[0, 0])

    def _moves(self, moving: int, along: Mapping[str, int]) -> str:
        kinds = {*map(self._kind, along)}
        farthest = next((f" {_BETWEEN[kind]}" for kind in OUTERMOST_FIRST if kind in kinds), "")
        told = ", ".join(f"{count} along {name}" for name, count in along.items())
        staying = self.count - moving
        if staying:
            many = f"{moving} of {self.count} elements move{'s' if moving == 1 else ''}"
            rest = f"; {staying} {'stays where it is' if staying == 1 else 'stay where they are'}"
        else:
            many = f"All {moving} elements move" if moving > 1 else "The element moves"
            rest = ""
        return f"{many}{farthest}{f': {told}' if told else ''}{rest}."

    def _kind(self, name: str) -> str:
        return _kind(name, *self.second.axes, *self.first.axes)


def _kind(name: str, *axes: Axis) -> str:
    """Return how far an element goes along an axis of that name."""
    return kind_of(
        LayoutAxis(name, storage=True)
        if any(axis.name == name and axis.kind == STORAGE for axis in axes)
        else LayoutAxis(name)
    )


def _storage(scene: Scene) -> list[str]:
    """Return the axes of storage on which some element is not at 0."""
    used = [axis for axis in scene.axes if axis.low or axis.high]
    return [axis.name for axis in used if _kind(axis.name, axis) in ("register", "memory")]


def _columns(scene: Scene, by_flat_index: bool) -> Columns:
    """Return the places of a scene, its elements by coordinates or in the order of their flat indices."""
    places = Elements(scene)
    columns = {axis.name: places.columns[axis.name].reshape(-1, scene.copies) for axis in scene.axes}
    if not by_flat_index or scene.order == "row":
        return columns
    order = places.flats.argsort()
    return {name: column[order] for name, column in columns.items()}


def _spelled_alike(
    first: Scene, second: Scene, ours: Columns, theirs: Columns
) -> tuple[Columns, Columns, bool]:
    """Return the places of both, threads by their parts where they are not named alike, and whether so."""
    axes = (*first.axes, *second.axes)
    of_warps = all(axis.low >= 0 and (axis.name != "laneid" or axis.high < WARP) for axis in axes)
    if (ours.keys() ^ theirs.keys()) & _THREADS.keys() and of_warps:  # a wave has more lanes
        here, there = _parted(ours), _parted(theirs)
        if here is not None and there is not None:
            return here, there, True
    return ours, theirs, False


def _parted(places: Columns) -> Columns | None:
    """Return the places with axes of threads in parts; None where one is named beside a part of it."""
    found: Columns = {}
    for name, column in places.items():
        ways = _THREADS.get(name, ())
        parts = {part: column // each % end for part, each, end in ways} or {name: column}
        if found.keys() & parts.keys():
            return None
        found |= parts
    return found
