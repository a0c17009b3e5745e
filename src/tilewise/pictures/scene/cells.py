"""The cell of a panel in which each element stands, by the panel's arithmetic on places.

The page has the same in `cells.ts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

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
class Elements:
    """The elements of a scene as arrays, with the light of a step on them.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> elements = Elements(scene_of(S[(2, 3) : (1, 2)]))
    >>> elements.columns["@row"].tolist(), elements.columns["m"].tolist(), elements.colours.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 2, 4, 1, 3, 5], [0, 2, 5, 1, 4, 6])
    >>> Elements(scene_of(S[(2, 4)], window=((1, 2), (0, 3)))).flats.tolist()
    [4, 5, 6]
    """

    scene: Scene
    step: Step | None = None

    @cached_property
    def columns(self) -> dict[str, Numbers]:
        """{axis: the coordinate of every copy of every element}, `@row` and `@column` among them."""
        scene = self.scene
        columns = {axis: np.array(values, np.int64) for axis, values in scene.places.items()}
        entries = len(next(iter(columns.values())))
        (top, _), (left, right) = scene.window
        position = np.arange(entries) // scene.copies
        return columns | {ROW: top + position // (right - left), COLUMN: left + position % (right - left)}

    @cached_property
    def numbers(self) -> Numbers:
        """Return the row-major index of every element in the grid."""
        numbers: Numbers = self.columns[ROW] * prod(self.scene.columns) + self.columns[COLUMN]
        return numbers[:: self.scene.copies]

    @cached_property
    def flats(self) -> Numbers:
        """Return the flat index of every element, in the scene's order."""
        if self.scene.order == "row" or len(self.scene.shape) < 2:
            return self.numbers
        index = np.unravel_index(self.numbers, self.scene.shape)
        return np.ravel_multi_index(index, self.scene.shape, order="F").astype(np.int64)

    @cached_property
    def colours(self) -> Numbers:
        """Return the colour of every element, 0 to 7: that of its first copy."""
        return self.value((self.scene.colour.rule,))[:: self.scene.copies] % 8

    @cached_property
    def faded(self) -> Truths:
        """Return True where a step leaves an element alone."""
        if self.step is None or not self.step.elements:
            return np.zeros(len(self.flats), bool)
        return ~np.isin(self.flats, np.array(self.step.elements, np.int64))

    @cached_property
    def lanes(self) -> dict[int, list[int]]:
        """{element: the lanes that ask for it in the step}."""
        lanes: dict[int, list[int]] = {}
        if self.step is not None and self.step.lanes:
            known = {flat: element for element, flat in enumerate(self.flats.tolist())}
            for flat, lane in zip(self.step.elements, self.step.lanes, strict=False):
                if flat in known:
                    lanes.setdefault(known[flat], []).append(lane)
        return lanes

    @property
    def copies(self) -> int:
        """So many copies of each are there by now."""
        there = None if self.step is None else self.step.copies
        return self.scene.copies if there is None else min(there, self.scene.copies)

    def value(self, rule: Rule) -> Numbers:
        """Return a rule for every copy of every element."""
        total = np.zeros(len(self.columns[ROW]), np.int64)
        for term in rule:
            value = (self.columns[term.axis] * term.scale - term.subtract) // term.divide
            total += (value % term.modulo if term.modulo else value) * term.multiply
        return total


class Located(NamedTuple):
    """The cell of every copy of every element in a panel."""

    block_row: Numbers
    block_column: Numbers
    row: Numbers
    column: Numbers
    slot: Numbers


def located(elements: Elements, panel: Panel) -> Located:
    """Return the cells of all copies of all elements.

    >>> from tilewise import S, laneid, reg
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 2) : (1@laneid, 1@reg)])
    >>> found = located(Elements(scene), scene.panels[1])
    >>> found.row.tolist(), found.column.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    rules = panel.block_row, panel.block_column, panel.row, panel.column, panel.slot
    return Located(*map(elements.value, rules))


NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Placed:
    """A panel as one table of small cells: a cell of several slots is so many of them side by side."""

    panel: Panel
    elements: Elements
    first: Numbers
    """[row, column]: the element that is seen there, or NOWHERE."""
    several: Truths
    """[row, column]: whether others are there, too."""
    starts: Truths
    """[row, column]: whether an element begins there; one that is wider than a cell goes on in the next."""


def shape_of(panel: Panel) -> tuple[int, int]:
    """Return rows and columns of small cells."""
    return panel.blocks[0] * panel.cells[0], panel.blocks[1] * panel.cells[1] * panel.slots


def placed_of(panel: Panel, elements: Elements) -> Placed:
    """Return the cells of a panel.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4) : (1, 2)])
    >>> placed_of(scene.panels[1], Elements(scene)).first.tolist()
    [[0, 4, 1, 5], [2, 6, 3, 7]]
    """
    shape, covers = shape_of(panel), panel.covers
    entries, cells = _cells(panel, elements)
    reached = np.arange(covers)
    inside = (reached < (panel.cells[1] - cells % panel.cells[1])[:, None]) | (covers == 1)
    entry, nth = inside.nonzero()
    element, cell = entries[entry], cells[entry] + nth
    order = np.lexsort((element, elements.faded[element], cell))  # the first that is not faded is seen
    element, cell, begins = element[order], cell[order], nth[order] == 0
    taken, at = np.unique(cell, return_index=True)
    first = np.full(prod(shape), NOWHERE, np.int64)
    first[taken] = element[at]
    several = np.zeros(prod(shape), bool)
    several[cell[first[cell] != element]] = True
    starts = np.ones(prod(shape), bool)
    starts[taken] = begins[at]
    starts |= several
    return Placed(panel, elements, first.reshape(shape), several.reshape(shape), starts.reshape(shape))


def _cells(panel: Panel, elements: Elements) -> tuple[Numbers, Numbers]:
    """Return elements, and the small cell in which each of their copies is; none that is outside."""
    values = located(elements, panel)
    count, copies = len(elements.flats), elements.scene.copies
    there = np.tile(np.arange(copies) < elements.copies, count)
    for value, limit in zip(values, (*panel.blocks, *panel.cells, panel.slots), strict=True):
        there &= (value >= 0) & (value < limit)
    down, across, row, column, slot = (value[there] for value in values)
    wide = (across * panel.cells[1] + column) * panel.slots + slot
    cells = (down * panel.cells[0] + row) * shape_of(panel)[1] + wide
    return np.repeat(np.arange(count), copies)[there], cells
