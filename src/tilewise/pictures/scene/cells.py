"""From elements to the cells of a panel, all at once; the page has the same in `cells.ts`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tilewise.pictures.scene.model import COLUMN, ROW, Panel, Rule, Scene

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]


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
