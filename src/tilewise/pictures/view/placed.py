"""Which element stands in which cell of a panel, by the panel's arithmetic on places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewise.pictures.scene.cells import Numbers, Places, Truths, located
from tilewise.pictures.scene.model import Panel, Scene, Step

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
