"""Which element stands in which cell of a panel, by the panel's arithmetic on places.

The page has the same in `cells.ts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tilewise.pictures.scene.model import COLUMN, ROW, Panel, Rule, Scene, Step

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

EXACT = 1 << 53
"""Numbers below are exact in every evaluator."""


def numbered(columns: Sequence[Numbers]) -> Numbers:
    """Return a number for each entry of columns, equal where all of them are.

    >>> numbered([np.array([0, 5, 0]), np.array([1, 2, 1])]).tolist()
    [0, 11, 0]
    """
    keys = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = int(column.min())
        extent = int(column.max()) - low + 1
        if int(keys.max()) * extent >= EXACT:
            keys, column = (np.unique(x, return_inverse=True)[1].reshape(-1) for x in (keys, column))
            low, extent = 0, len(column)
        keys = keys * extent + (column - low)
    return keys


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a scene as arrays, `@row` and `@column` among them.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> places = Places(scene_of(S[(2, 3) : (1, 2)]))
    >>> places.columns["@row"].tolist(), places.columns["m"].tolist(), places.colours.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 2, 4, 1, 3, 5], [0, 2, 5, 1, 4, 6])
    """

    scene: Scene

    @cached_property
    def columns(self) -> dict[str, Numbers]:
        """{axis: the coordinate of every copy of every element}."""
        scene = self.scene
        columns = {axis: np.array(values, np.int64) for axis, values in scene.places.items()}
        entries = len(next(iter(columns.values())))
        (top, _), (left, right) = scene.window
        position = np.arange(entries) // scene.copies
        return columns | {ROW: top + position // (right - left), COLUMN: left + position % (right - left)}

    @cached_property
    def numbers(self) -> Numbers:
        """The row-major index of every element in the grid."""
        broad = int(np.prod(self.scene.columns, dtype=np.int64))
        numbers: Numbers = (self.columns[ROW] * broad + self.columns[COLUMN])[:: self.scene.copies]
        return numbers

    @cached_property
    def flats(self) -> Numbers:
        """The flat index of every element, in the scene's order."""
        if self.scene.order == "row" or len(self.scene.shape) < 2:
            return self.numbers
        index = np.unravel_index(self.numbers, self.scene.shape)
        return np.ravel_multi_index(index, self.scene.shape, order="F").astype(np.int64)

    @cached_property
    def colours(self) -> Numbers:
        """The colour of every element, 0 to 7: that of its first copy."""
        return self.value((self.scene.colour.rule,))[:: self.scene.copies]

    def value(self, rule: Rule) -> Numbers:
        """A rule for every copy of every element."""
        entries = next(iter(self.columns.values()))
        total = np.zeros(len(entries), np.int64)
        for term in rule:
            value = (self.columns[term.axis] * term.scale - term.subtract) // term.divide
            total += (value % term.modulo if term.modulo else value) * term.multiply
        return total


@dataclass(frozen=True, eq=False)
class Located:
    """Where every copy of every element is in a panel."""

    block_row: Numbers
    block_column: Numbers
    row: Numbers
    column: Numbers
    slot: Numbers


def located(places: Places, panel: Panel) -> Located:
    """The cells of all copies of all elements.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 2) : (1@laneid, 1@reg)])
    >>> found = located(Places(scene), scene.panels[1])
    >>> found.row.tolist(), found.column.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    rules = panel.block_row, panel.block_column, panel.row, panel.column, panel.slot
    return Located(*map(places.value, rules))


NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a scene with the light of a step on them, a number of each array for each."""

    places: Places
    flats: Numbers
    colours: Numbers
    faded: Truths
    copies: int
    """So many copies of each are there by now."""
    lanes: Mapping[int, tuple[int, ...]]
    """{element: the lanes that ask for it in the step}."""

    @property
    def scene(self) -> Scene:
        """The scene that they are of."""
        return self.places.scene


def elements_of(scene: Scene, step: Step | None = None) -> Elements:
    """All elements of a scene, those that a step leaves alone faded.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> elements_of(scene_of(S[(2, 4)], window=((1, 2), (0, 3)))).flats.tolist()
    [4, 5, 6]
    """
    places = Places(scene)
    flats, count = places.flats, len(places.flats)
    faded = np.zeros(count, bool)
    lanes: dict[int, tuple[int, ...]] = {}
    if step is not None and step.elements:
        faded = ~np.isin(flats, np.array(step.elements, np.int64))
        known = {int(flat): number for number, flat in enumerate(flats)}
        for flat, lane in zip(step.elements, step.lanes, strict=False):
            if flat in known:
                lanes[known[flat]] = (*lanes.get(known[flat], ()), lane)
    copies = scene.copies if step is None or step.copies is None else min(step.copies, scene.copies)
    return Elements(places, flats, places.colours % 8, faded, copies, lanes)


@dataclass(frozen=True, slots=True)
class Placed:
    """A panel as one table of small cells: a cell of several slots is so many of them side by side."""

    panel: Panel
    first: Numbers
    """[row, column]: the element that is seen there, or NOWHERE."""
    several: Truths
    """[row, column]: whether others are there, too."""
    starts: Truths
    """[row, column]: whether an element begins there; one that is wider than a cell goes on in the next."""


def shape_of(panel: Panel) -> tuple[int, int]:
    """Rows and columns of small cells."""
    return panel.blocks[0] * panel.cells[0], panel.blocks[1] * panel.cells[1] * panel.slots


def placed_of(panel: Panel, elements: Elements) -> Placed:
    """The cells of a panel.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4) : (1, 2)])
    >>> placed_of(scene.panels[1], elements_of(scene)).first.tolist()
    [[0, 4, 1, 5], [2, 6, 3, 7]]
    """
    rows, columns = shape_of(panel)
    covers = panel.covers
    entries, cells = _cells(panel, elements, columns)
    reached = np.arange(covers)
    room = panel.cells[1] - cells % panel.cells[1]
    own, cell = np.repeat(entries, covers), (cells[:, None] + reached).reshape(-1)
    inside = (reached < room[:, None]).reshape(-1) if covers > 1 else np.ones(len(cell), bool)
    begins = np.tile(reached == 0, len(entries))[inside]
    own, cell = own[inside], cell[inside]
    order = np.lexsort((own, elements.faded[own], cell))  # of several the first that is not faded is seen
    own, cell, begins = own[order], cell[order], begins[order]
    taken, at = np.unique(cell, return_index=True)
    first = np.full(rows * columns, NOWHERE, np.int64)
    first[taken] = own[at]
    starts = np.ones(rows * columns, bool)
    starts[taken] = begins[at]
    several = np.zeros(rows * columns, bool)
    several[cell[first[cell] != own]] = True
    starts |= several
    shape = rows, columns
    return Placed(panel, first.reshape(shape), several.reshape(shape), starts.reshape(shape))


def _cells(panel: Panel, elements: Elements, columns: int) -> tuple[Numbers, Numbers]:
    """Elements, and the small cell in which each of their copies is; none that is outside."""
    copies = elements.scene.copies
    element = np.repeat(np.arange(len(elements.flats)), copies)
    there = np.tile(np.arange(copies) < elements.copies, len(elements.flats))
    at = located(elements.places, panel)
    values = (at.block_row, at.block_column, at.row, at.column, at.slot)
    for value, limit in zip(values, (*panel.blocks, *panel.cells, panel.slots), strict=True):
        there &= (value >= 0) & (value < limit)
    down, across, row, column, slot = (value[there] for value in values)
    wide = (across * panel.cells[1] + column) * panel.slots + slot
    return element[there], (down * panel.cells[0] + row) * columns + wide
