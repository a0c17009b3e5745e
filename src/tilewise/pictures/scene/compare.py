"""Layouts of one tensor side by side, and in words what has to move from the first to the others.

The words are counted element by element on the places of the scenes, as the page counts them; the tests
hold them to `Layout.relation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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

Columns = dict[str, Sequence[int]]
Places = list[frozenset[tuple[int, ...]]]


def compared(first: Layout, *others: Layout, title: str | None = None, **options: Any) -> Document:
    """Two to four layouts as one document; the options are those of `scene_of`, for all.

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
    scenes = scene_of(first, **options), *(scene_of(layout, **options) for layout in others)
    told = [difference(scenes[0], other) for other in scenes[1:]]
    if len(told) != 1:
        told = [f"To the {name}: {words}" for name, words in zip(_ORDINALS, told, strict=False) if words]
    return Document(scenes, scenes[0].title if title is None else title, " ".join(told))


def difference(first: Scene, second: Scene) -> str:
    """What has to move from the first to the second, in a sentence; nothing of parts that do not match.

    >>> from tilewise import S, laneid, reg
    >>> fragment = scene_of(S[(8, (4, 2)) : (4@laneid, (1@laneid, 1@reg))])
    >>> difference(fragment, scene_of(S[(8, (2, 4)) : (4@laneid, (1@reg, 1@laneid))]))
    '48 of 64 elements move between lanes: 48 along laneid, 32 along reg; 16 stay where they are.'
    """
    here, there = _elements(first), _elements(second)
    if _whole(first) and _whole(second):
        if here != there:
            return f"They have {here} and {there} elements, and are not of one tensor."
        return _Pair(*_paired(first, second)).words()
    if first.window == second.window and prod(first.columns) == prod(second.columns) and here == there:
        return f"In this window: {_Pair(first, second).words()}"
    return ""


def _paired(first: Scene, second: Scene) -> tuple[Scene, Scene, bool]:
    """Return two scenes whose elements belong together one by one, and whether the first was turned.

    As of layouts: elements of one flat index, or of one coordinate where scenes of one shape count otherwise.
    """
    if first.shape == second.shape:
        return first, second, False
    return _by_flat_index(first), _by_flat_index(second), first.order != "row"


def _by_flat_index(scene: Scene) -> Scene:
    """Return a whole scene with its elements in the order of their flat indices, its modes to fit."""
    if scene.order == "row":
        return scene
    from tilewise.pictures.scene.cells import Places

    order = Places(scene).flats.argsort().tolist()
    places = {
        axis: tuple(n for at in order for n in values[at * scene.copies : (at + 1) * scene.copies])
        for axis, values in scene.places.items()
    }
    return replace(scene, shape=scene.shape[::-1], places=places, order="row")


def _elements(scene: Scene) -> int:
    return len(scene.places[scene.axes[0].name]) // scene.copies


def _whole(scene: Scene) -> bool:
    return scene.window == ((0, prod(scene.rows)), (0, prod(scene.columns)))


class _Pair:
    """Two scenes of as many elements on all axes of both; an axis that one of them lacks is 0 there."""

    def __init__(self, first: Scene, second: Scene, turned: bool = False) -> None:
        self.first, self.second, self.turned = first, second, turned
        self.ours, self.theirs, self.respelled = _spelled_alike(first, second)
        self.names = list(dict.fromkeys((*self.ours, *self.theirs)))
        self.count = _elements(first)
        self.here, self.there = self._on_both(self.names)

    def words(self) -> str:
        first, second = self.first, self.second
        moving = sum(not new <= old for old, new in zip(self.here, self.there, strict=True))
        if not moving and first.copies > second.copies:
            are = "is" if second.copies == 1 else "are"
            return f"Nothing moves: of {first.copies} copies of every element {second.copies} {are} kept."
        if not moving:
            shape = "" if first.shape == second.shape else " in another shape"
            threads = ", with threads counted in another way" if self.respelled else ""
            return f"The same map{shape}{threads}: nothing moves."
        order = self._order()
        view = "" if order is None else f"with the modes in the order ({', '.join(map(str, order))})"
        if view and first.shape != second.shape:
            return f"A view, {view}: nothing moves."
        shift = self._shift()
        if shift:
            return f"Every element moves by {shift}."
        if self._changes_storage():
            here, there = (" and ".join(_storage(scene)) for scene in (first, second))
            return (
                f"The first lives in {here}, the second in {there}: every element is copied.{self._copies()}"
            )
        return self._moves(moving) + (f" Read {view}, the second is the first." if view else "")

    def _on_both(self, names: list[str]) -> tuple[Places, Places]:
        """The places of every element on some axes, in both."""
        return self._on(self.ours, self.first, names), self._on(self.theirs, self.second, names)

    def _on(self, places: Columns, scene: Scene, names: list[str]) -> Places:
        entries = self.count * scene.copies
        columns = [places.get(name, (0,) * entries) for name in names]
        points = list(zip(*columns, strict=True))
        return [frozenset(points[at : at + scene.copies]) for at in range(0, entries, scene.copies)]

    def _order(self) -> tuple[int, ...] | None:
        """The order of the first one's modes in which it is the second."""
        shape = self.first.shape
        if self.first.copies != self.second.copies or len(shape) > _MOST_MODES or not _whole(self.first):
            return None
        for order in permutations(range(len(shape))):
            turned = tuple(shape[mode] for mode in order)
            olds = np.arange(self.count).reshape(shape).transpose(order).reshape(-1).tolist()
            if turned == self.second.shape and all(
                map(frozenset.issubset, self.there, map(self.here.__getitem__, olds))
            ):
                return turned_modes(order) if self.turned else order
        return None

    def _shift(self) -> str | None:
        """The step by which every place moves."""
        if self.first.copies != self.second.copies:
            return None
        steps: list[str] = []
        zeros = (0,) * (self.count * self.first.copies)
        for name in self.names:
            pairs = zip(self.ours.get(name, zeros), self.theirs.get(name, zeros), strict=True)
            found = {new - old for old, new in pairs}
            if len(found) > 1:
                return None
            steps.extend(f"{step}@{name}" for step in found if step)
        return " + ".join(steps)

    def _moves(self, moving: int) -> str:
        along = [(name, self._moving_on(name)) for name in self.names]
        along = [(name, count) for name, count in along if count]
        kinds = {self._kind(name) for name, _ in along}
        farthest = next((kind for kind in OUTERMOST_FIRST if kind in kinds), None)
        how = "" if farthest is None else f" {_BETWEEN[farthest]}"
        told = ", ".join(f"{count} along {name}" for name, count in along)
        staying = self.count - moving
        if staying:
            many = f"{moving} of {self.count} elements move{'s' if moving == 1 else ''}"
            rest = f"; {staying} {'stays where it is' if staying == 1 else 'stay where they are'}"
        else:
            many = f"All {moving} elements move" if moving > 1 else "The element moves"
            rest = ""
        return f"{many}{how}{f': {told}' if told else ''}{rest}.{self._copies()}"

    def _moving_on(self, name: str) -> int:
        pairs = zip(*self._on_both([name]), strict=True)
        return sum(not new <= old for old, new in pairs)

    def _changes_storage(self) -> bool:
        """Return whether the two live in different storage, and no element changes its device or block."""
        ours, theirs = map(_storage, (self.first, self.second))
        far = any(self._kind(name) in ("device", "cta") and self._moving_on(name) for name in self.names)
        return bool(ours and theirs) and not {*ours} & {*theirs} and not far

    def _copies(self) -> str:
        here, there = self.first.copies, self.second.copies
        return "" if here == there else f" Every element has {counted(there, 'place')} instead of {here}."

    def _kind(self, name: str) -> str:
        return _kind(name, *self.second.axes, *self.first.axes)


def _kind(name: str, *axes: Axis) -> str:
    """How far an element goes along an axis of that name."""
    is_storage = any(axis.name == name and axis.kind == STORAGE for axis in axes)
    return kind_of(LayoutAxis(name, storage=True) if is_storage else LayoutAxis(name))


def _storage(scene: Scene) -> list[str]:
    """Return the axes of storage on which some element is not at 0."""
    used = [axis for axis in scene.axes if axis.low or axis.high]
    return [axis.name for axis in used if _kind(axis.name, axis) in ("register", "memory")]


def _spelled_alike(first: Scene, second: Scene) -> tuple[Columns, Columns, bool]:
    """The places of both by axis, threads by their parts where they are not named alike, and whether so."""
    ours, theirs = (
        Columns((axis.name, scene.places[axis.name]) for axis in scene.axes) for scene in (first, second)
    )
    of_warps = all(_of_warps(axis) for axis in (*first.axes, *second.axes))
    if (ours.keys() ^ theirs.keys()) & _THREADS.keys() and of_warps:
        here, there = _parted(ours), _parted(theirs)
        if here is not None and there is not None:
            return here, there, True
    return ours, theirs, False


def _of_warps(axis: Axis) -> bool:
    """Whether it counts as warps of 32 lanes do; a wave has more."""
    return axis.low >= 0 and (axis.name != "laneid" or axis.high < WARP)


def _parted(places: Columns) -> Columns | None:
    """The places with axes of threads in parts; None where one is named beside a part of it."""
    found: Columns = {}
    for name, column in places.items():
        parts: Columns = {
            part: [number // each % end for number in column] for part, each, end in _THREADS.get(name, ())
        } or {name: column}
        if found.keys() & parts.keys():
            return None
        found |= parts
    return found
