"""The cells of a panel as few boxes: runs of one colour, and the gaps between cells drawn over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewise.pictures.paper.drawing import Box, Fill
from tilewise.pictures.scene.cells import Numbers
from tilewise.pictures.view.placed import NOWHERE, Elements, Placed

EMPTY = -1
FADED = 8
"""What is added to a colour's number where it is faded."""


@dataclass(frozen=True, slots=True)
class Line:
    """One direction: where small cells begin."""

    blocks: int
    cells: int
    """Of a block."""
    pitch: int
    gap: int
    """Between blocks."""
    between: int = 0
    """Between neighbouring cells: the last pixels of each."""
    slots: int = 1
    """Small cells of a cell, with nothing between them."""

    def start(self, cell: int) -> int:
        """Where a cell begins.

        >>> [Line(2, 4, 10, 5).start(cell) for cell in (0, 3, 4)]
        [0, 30, 45]
        """
        return cell * self.pitch + cell // self.cells * self.gap

    @property
    def length(self) -> int:
        """From the first cell's beginning to the last one's end."""
        return self.blocks * self.cells * self.pitch + (self.blocks - 1) * self.gap


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring cells of one colour: from a row and a column to those behind the last."""

    colour: int
    top: int
    left: int
    bottom: int
    right: int


def colours_in(placed: Placed, elements: Elements) -> Numbers:
    """[row, column]: the number of the colour that is seen, plus `FADED` where it is faded."""
    seen = elements.colours + FADED * elements.faded
    return np.where(placed.first == NOWHERE, EMPTY, seen[placed.first])


def runs_of(colours: Numbers, rows: int, columns: int) -> list[Run]:
    """Runs within blocks of so many rows and columns; equal ones below each other are one.

    >>> import numpy as np
    >>> runs_of(np.array([[1, 1, 2], [1, 1, 3]]), 2, 3)[0]
    Run(colour=1, top=0, left=0, bottom=2, right=2)
    """
    changes = np.ones(colours.shape, bool)
    changes[:, 1:] = colours[:, 1:] != colours[:, :-1]
    changes[:, ::columns] = True
    open_runs: dict[tuple[int, int], tuple[int, int]] = {}
    found: list[Run] = []
    for row in range(len(colours)):
        lefts = np.flatnonzero(changes[row]).tolist()
        rights = [*lefts[1:], colours.shape[1]]
        pairs = zip(lefts, rights, strict=True)
        now = dict(zip(pairs, colours[row, lefts].tolist(), strict=True))
        for pair, (top, colour) in list(open_runs.items()):
            if row % rows == 0 or now.get(pair) != colour:
                found.append(Run(colour, top, pair[0], row, pair[1]))
                del open_runs[pair]
        for pair, colour in now.items():
            open_runs.setdefault(pair, (row, colour))
    found.extend(Run(c, top, left, len(colours), right) for (left, right), (top, c) in open_runs.items())
    return sorted(found, key=lambda run: (run.top, run.left))


def box_of(run: Run, across: Line, down: Line) -> Box:
    """A run in pixels, less the gap behind its last cell."""
    x, y = across.start(run.left), down.start(run.top)
    right = across.start(run.right - 1) + across.pitch
    right -= across.between if run.right % across.slots == 0 else 0
    bottom = down.start(run.bottom - 1) + down.pitch - down.between
    return Box(x, y, right - x, bottom - y)


def fills_of(placed: Placed, runs: list[Run], across: Line, down: Line) -> Iterator[Fill]:
    """All cells: the empty ones, those of each colour, and then the gaps inside runs."""
    boxes: dict[int, list[Box]] = {}
    for run in runs:
        boxes.setdefault(run.colour, []).append(box_of(run, across, down))
    for colour, own in sorted(boxes.items()):
        yield Fill(_role(colour), tuple(own))
    gaps = (*_rows_between(runs, across, down), *_columns_between(placed, runs, across, down))
    if gaps:
        yield Fill("paper", tuple(gaps))


def _role(colour: int) -> str:
    if colour == EMPTY:
        return "empty"
    return f"c{colour}" if colour < FADED else f"f{colour - FADED}"


def _rows_between(runs: list[Run], across: Line, down: Line) -> Iterator[Box]:
    """Lines below rows, each as long as the panel, where some run goes on in the next row."""
    if not down.between:
        return
    crossed = {row for run in runs for row in range(run.top, run.bottom - 1)}
    for row in sorted(crossed):
        yield Box(0, down.start(row) + down.pitch - 1, across.length, 1)


def _columns_between(placed: Placed, runs: list[Run], across: Line, down: Line) -> Iterator[Box]:
    """Lines behind cells, but none inside an element that is wider than a cell."""
    if not across.between:
        return
    rows, columns = placed.first.shape
    cut = np.zeros((rows, columns), bool)
    for run in runs:
        cut[run.top : run.bottom, run.left : run.right - 1] = True
    cut[:, :-1] &= placed.starts[:, 1:]
    cut[:, (np.arange(columns) + 1) % across.slots != 0] = False
    for column in np.flatnonzero(cut.any(axis=0)).tolist():
        x = across.start(column) + across.pitch - 1
        edges = np.flatnonzero(np.diff(np.concatenate(([False], cut[:, column], [False]))))
        for top, bottom in edges.reshape(-1, 2).tolist():
            y = down.start(top)
            yield Box(x, y, 1, down.start(bottom - 1) + down.pitch - y)
