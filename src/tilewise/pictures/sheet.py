"""A panel of a scene as text: a grid for each block, as much as there is room for, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tilewise.pictures.grid import LEAST, NONE, Cell, Grid, fitting, grid_width
from tilewise.pictures.scene.cells import NOWHERE, Elements, Numbers, Truths, placed_of
from tilewise.pictures.scene.model import Head, Heads, Panel
from tilewise.pictures.scene.words import axes_words, block_words, head_text, text_of
from tilewise.pictures.terminal import GAP, PALE

_CHUNK = 4
OTHERS = "see others with --window 0:16,0:16, or all with --svg FILE"


@dataclass(frozen=True, slots=True)
class Room:
    """Columns of the terminal, and the rows that a panel may take of it."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """A panel as text."""

    title: str
    key: str
    blocks: tuple[Grid, ...]
    abreast: int
    """So many blocks stand side by side."""
    note: str


def sheet_of(panel: Panel, elements: Elements, room: Room) -> Sheet:
    """Return a panel in a room; of elements that are faded there are points.

    Neighbours in a row of elements share a cell where cells of their own would not fit: of memory in rows of
    128 bytes a chunk of 16 bytes is a cell, and says its first element.

    >>> from tilewise import S
    >>> from tilewise.pictures.scene.cells import Elements
    >>> from tilewise.pictures.scene.build import scene_of
    >>> scene = scene_of(S[(2, 4) : (1, 2)])
    >>> sheet = sheet_of(scene.panels[1], Elements(scene), Room(80, 40))
    >>> sheet.title, sheet.key
    ('memory, 4 elements a row', 'rows m; columns add; cells coordinates')
    >>> [[cell.text for cell in row] for row in sheet.blocks[0].cells]
    [['0,0', '1,0', '0,1', '1,1'], ['0,2', '1,2', '0,3', '1,3']]
    """
    return _Table(panel, elements, room).sheet()


def seen(lit: Truths, most: int) -> range:
    """So many positions at most: from the first on, or from the first that is lit where others would hide it.

    >>> import numpy as np
    >>> seen(np.array([False, False, True, False]), 3), seen(np.array([False, False, False, True]), 3)
    (range(0, 3), range(1, 4))
    """
    places = lit.nonzero()[0]
    far = len(places) and int(places[-1]) >= most
    first = min(int(places[0]), max(0, len(lit) - most)) if far else 0
    return range(first, min(len(lit), first + most))


class _Table:
    """The cells of a panel by block, row and column."""

    def __init__(self, panel: Panel, elements: Elements, room: Room) -> None:
        self.panel, self.elements, self.room = panel, elements, room
        self.wide = panel.cells[1] * panel.slots
        placed = placed_of(panel, elements)
        self.first, self.several = self._by_block(placed.first), self._by_block(placed.several)
        self.lit = (self.first != NOWHERE) & ~elements.faded[self.first]

    def _by_block(self, table: NDArray[np.generic]) -> NDArray[np.generic]:
        (down, across), (rows, _) = self.panel.blocks, self.panel.cells
        blocks = table.reshape(down, rows, across, self.wide).transpose(0, 2, 1, 3)
        return blocks.reshape(down * across, rows, self.wide)

    def sheet(self) -> Sheet:
        """Return as much of it as fits."""
        panel, room = self.panel, self.room
        rows = seen(self.lit.any(axis=(0, 2)), room.height)
        blocks = seen(self.lit.any(axis=(1, 2)), room.height)
        share, columns = self._columns(blocks, rows)
        grids = [self._grid(block, rows, columns, share) for block in blocks]
        fit = max(1, (room.width + GAP) // (max(map(grid_width, grids)) + GAP))
        abreast = min(fit, panel.blocks[1] if panel.blocks[1] > 1 else panel.blocks[0])
        many = abreast * max(1, room.height // (len(rows) + 2))
        kept = seen(self.lit[blocks.start : blocks.stop].any(axis=(1, 2)), many)
        each = share // panel.covers
        key = axes_words(panel, self.elements.scene, "full").replace(" · ", "; ")
        key += f", {each} elements each" if each > 1 else ""
        return Sheet(
            panel.title,
            key + ("; +: others are there, too" if self.several.any() else ""),
            tuple(grids[kept.start : kept.stop]),
            abreast,
            self._left_out(rows, columns, share, blocks[kept.start : kept.stop]),
        )

    # -- columns ---------------------------------------------------------------------------------------

    def _columns(self, blocks: range, rows: range) -> tuple[int, range]:
        """Return how many small cells share one, and which of those are drawn: the fewest that let all be
        drawn.
        """
        for share in self._shares():
            whole = range(self.wide // share)
            lit = self.lit.reshape(-1, len(whole), share).any(axis=(0, 2))
            near = seen(lit, max(1, self.room.width // LEAST))
            fits = min(fitting(self._grid(block, rows, near, share), self.room.width) for block in blocks)
            if fits >= len(whole):
                return share, whole
        kept = seen(lit[near.start : near.stop], fits)
        return share, near[kept.start : kept.stop]

    def _shares(self) -> Iterator[int]:
        """Yield how many small cells may be one: 1, else those of 4 cells, as in a chunk of 16 bytes, or
        fewer.
        """
        share, chunk = self.panel.covers if self._alike(self.panel.covers) else 1, _CHUNK * self.panel.slots
        yield share
        while self.panel.text == "index" and share < chunk and self._alike(2 * share):
            share *= 2
            if share >= chunk or self.elements.lanes or not self._alike(2 * share):  # lanes ask a bank
                yield share

    def _alike(self, share: int) -> bool:
        """Return whether cells of so many small ones have one thing to say: neighbours in a row, or one
        lane.
        """
        if self.wide % share:
            return False
        own, lit = self.first.reshape(-1, share), self.lit.reshape(-1, share)
        lead = lit.argmax(axis=1)[:, None]
        if self.elements.lanes:
            codes = self._lanes[own]
            agree = codes == np.take_along_axis(codes, lead, axis=1)
        else:
            numbers = self.elements.numbers[own]
            start = np.take_along_axis(numbers, lead, axis=1)
            row = self.elements.scene.shape[-1] if self.elements.scene.shape else 1
            steps = np.arange(share) // self.panel.covers - lead // self.panel.covers
            agree = (numbers - start == steps) & (numbers // row == start // row)
        full = self.elements.faded.any() or (lit.any(axis=1) == lit.all(axis=1)).all()
        return bool(full and (agree | ~lit).all())

    @cached_property
    def _lanes(self) -> Numbers:
        """Return a number for each element, equal where the same lanes access it."""
        codes = np.full(len(self.elements.flats), -1, np.int64)
        known: dict[tuple[int, ...], int] = {}
        for element, lanes in self.elements.lanes.items():
            codes[element] = known.setdefault(tuple(lanes), len(known))
        return codes

    # -- cells -----------------------------------------------------------------------------------------

    def _grid(self, block: int, rows: range, columns: range, share: int) -> Grid:
        heads, slots = self.panel.column_heads, self.panel.slots
        labels = (
            "" if column * share % slots else head_text(heads, column * share // slots) for column in columns
        )
        return Grid(
            title=block_words(self.panel, *divmod(block, self.panel.blocks[1]))[0],
            key="",
            row_labels=tuple(head_text(self.panel.row_heads, row) for row in rows),
            column_labels=tuple(labels),
            cells=tuple(self._cells(block, rows, columns, share)),
            note="",
        )

    def _cells(self, block: int, rows: range, columns: range, share: int) -> Iterator[tuple[Cell, ...]]:
        part = slice(columns.start * share, columns.stop * share)
        for row in rows:
            line = (table[block, row, part].tolist() for table in (self.first, self.lit, self.several))
            small = [*zip(*line, strict=True)]
            yield tuple(self._cell(small[at : at + share]) for at in range(0, len(small), share))

    def _cell(self, small: list[tuple[int, bool, bool]]) -> Cell:
        """Return one cell: the first element that is lit; a + says that others are in the same place."""
        lead = next((element for element, lit, _ in small if lit), NOWHERE)
        if lead != NOWHERE:
            more = "+" * any(several for _, lit, several in small if lit)
            return Cell(text_of(self.panel, self.elements, lead) + more, int(self.elements.colours[lead]))
        return Cell("", NONE) if all(element == NOWHERE for element, *_ in small) else Cell(".", PALE)

    def _left_out(self, rows: range, columns: range, share: int, blocks: range) -> str:
        panel, slots = self.panel, self.panel.slots
        whole = range(columns.start * share // slots, -(-columns.stop * share // slots))
        parts = [
            _part(name, drawn, extent, heads)
            for name, drawn, extent, heads in (
                ("row", rows, panel.cells[0], panel.row_heads),
                ("column", whole, panel.cells[1], panel.column_heads),
                ("block", blocks, len(self.first), ()),
            )
            if len(drawn) < extent
        ]
        return f"{', '.join(parts)}; {OTHERS}" if parts else ""


def _part(name: str, drawn: range, extent: int, heads: Heads) -> str:
    """Return which rows or columns are drawn of how many; by their heads where those count on from others."""
    head = heads[0] if len(heads) == 1 else Head("")
    start = head(0) if head.start > 0 and head(extent - 1) - head(0) == extent - 1 else 0
    whole = f"{start}..{start + extent - 1}" if start else str(extent)
    first, last = start + drawn.start, start + drawn.stop - 1
    return f"{name} {first} of {whole}" if first == last else f"{name}s {first}..{last} of {whole}"
