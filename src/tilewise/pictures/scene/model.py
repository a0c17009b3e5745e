"""A scene: elements with their places, and the panels in which they are drawn.

A scene computes nothing of a layout; it has the places of its elements, copy by copy. Where an element is in
a panel is arithmetic on one place, so that every view finds cells from elements and elements from cells by
the same few numbers. All panels of all scenes of a document speak of elements by their flat index: that is
what links them.

    value of a term   ((x * scale - subtract) // divide % modulo) * multiply, x the place on the term's axis
    row of a cell     the sum of the panel's row terms; columns, blocks and slots likewise
    head of a row     its numbers, each ((i + start) // divide % modulo) * multiply + low, i the row

The axes `@row` and `@column` are the element's position in the logical grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SCHEMA = 1

KINDS = ("index", "memory", "registers", "tensor memory", "mesh", "places")
"""The kinds of panels."""

SHORT = {"mem": "memory", "regs": "registers", "tmem": "tensor memory"}
"""{a short word: the panel that it means}."""

MOST_SCENES = 4
"""So many scenes a document has at most."""

ROW, COLUMN = "@row", "@column"
"""The element's position in the logical grid, as axes of terms."""


@dataclass(frozen=True, slots=True)
class Term:
    """A number out of a place on one axis.

    >>> [Term("m", divide=2, modulo=32)(x) for x in (0, 1, 2, 65)]
    [0, 0, 1, 0]
    """

    axis: str
    subtract: int = 0
    scale: int = 1
    divide: int = 1
    modulo: int = 0
    """0 for none."""
    multiply: int = 1

    def __call__(self, x: int) -> int:
        value = (x * self.scale - self.subtract) // self.divide
        return (value % self.modulo if self.modulo else value) * self.multiply


Rule = tuple[Term, ...]
"""The sum of its terms."""


@dataclass(frozen=True, slots=True)
class Head:
    """One of the numbers at the head of a row, a column or a block, out of its position in the panel.

    >>> [Head("byte", start=2, multiply=128)(row) for row in range(3)]
    [256, 384, 512]
    """

    name: str
    """The number's meaning: laneid, byte, bank; empty for a mode of the index."""
    start: int = 0
    divide: int = 1
    modulo: int = 0
    """0 for none."""
    multiply: int = 1
    low: int = 0

    def __call__(self, position: int) -> int:
        value = (position + self.start) // self.divide
        return (value % self.modulo if self.modulo else value) * self.multiply + self.low


Heads = tuple[Head, ...]
"""The numbers of a head, outermost first; with a comma between them where they are one index."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the places, and what it reaches from and to."""

    name: str
    kind: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture of some of the axes: blocks of cells, each of which holds elements."""

    id: str
    kind: str
    """One of `KINDS`: how a view may treat it."""
    title: str
    blocks: tuple[int, int]
    """Rows and columns of blocks; (1, 1) where there is one."""
    cells: tuple[int, int]
    """Rows and columns of cells of a block."""
    row: Rule
    column: Rule
    block_row: Rule = ()
    block_column: Rule = ()
    slot: Rule = ()
    """Where in its cell an element lies, of `slots`; none where a cell has room for one."""
    slots: int = 1
    row_name: str = ""
    """The meaning of rows, such as laneid; for the head of the panel and for what is read aloud."""
    column_name: str = ""
    block_name: str = ""
    text: str = "places"
    """The text in a cell: places, as the index grid has it, or index, as all others do."""
    width: int = 1
    """Cells of a row that an element takes, from its own on: more than 1 where it is wider than a bank."""
    row_heads: Heads = ()
    column_heads: Heads = ()
    block_row_heads: Heads = ()
    block_column_heads: Heads = ()

    @property
    def covers(self) -> int:
        """Return how many small cells an element takes, from its own on."""
        return self.width if self.slots == 1 else 1


@dataclass(frozen=True, slots=True)
class Field:
    """Some neighbouring bits of a word."""

    name: str
    low: int
    high: int
    held: int
    words: str
    """The field's meaning, in words."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A word that the hardware is given, such as a descriptor, bit by bit."""

    name: str
    width: int
    """The number of its bits."""
    value: str
    """All of it, such as 0x4000004000010000."""
    fields: tuple[Field, ...]
    """From the lowest bits up; bits of none are reserved."""


@dataclass(frozen=True, slots=True)
class Step:
    """A moment: the elements that move in it."""

    title: str
    elements: tuple[int, ...]
    """Their flat indices; none where all do."""
    lanes: tuple[int, ...] = ()
    """The lane that asks for each element; empty where no lane does."""
    cost: int | None = None
    """Wavefronts that it takes to serve all lanes that go together with these: 1 where nothing conflicts."""
    copies: int | None = None
    """So many copies of every element are there by now; None for all."""
    note: str = ""
    encoded: Encoded | None = None
    """The word that the hardware gets in this step."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence on the whole scene: a fact, a yes, a no, or a hint."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Colour:
    """The rule that gives an element one of eight colours, and the same in words."""

    rule: Term
    words: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One layout, or a part of it, with everything that a view draws.

    postcondition  places[axis][e * copies + c] is where copy c of the e-th element of the window is
    """

    title: str
    expression: str
    shape: tuple[int, ...]
    rows: tuple[int, ...]
    """The extents of the modes that are rows of the logical grid."""
    columns: tuple[int, ...]
    """Those that are its columns: row * columns of the whole grid + column is the row-major index."""
    window: tuple[tuple[int, int], tuple[int, int]]
    """Rows and columns of the grid that the scene has, from and to."""
    copies: int
    axes: tuple[Axis, ...]
    places: Mapping[str, tuple[int, ...]] = field(repr=False)
    colour: Colour
    panels: tuple[Panel, ...]
    dtype: str | None = None
    bits: int | None = None
    """Of an element."""
    base: int = 0
    """The byte address at which the layout begins to count."""
    access: str | None = None
    """Whose wavefronts the steps are."""
    steps: tuple[Step, ...] = ()
    notes: tuple[Note, ...] = ()
    order: str = "row"
    """The order in which flat indices count: "row", or "cute" with the leftmost mode fastest."""

    def as_dict(self) -> dict[str, Any]:
        """Return the scene as plain data."""
        places = {axis: list(values) for axis, values in self.places.items()}
        return asdict(replace(self, places={})) | {"places": places}  # `asdict` copies number by number


@dataclass(frozen=True, slots=True)
class Document:
    """Scenes of one view: one, or two side by side."""

    scenes: tuple[Scene, ...]
    title: str = ""
    words: str = ""
    """The text below the title: a sentence or two."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "schema": SCHEMA,
            "kind": "tilewise.scene",
            "title": self.title,
            "words": self.words,
            "scenes": [scene.as_dict() for scene in self.scenes],
        }


def value(rule: Iterable[Term], place: Mapping[str, int]) -> int:
    """Return the sum of a rule's terms at a place.

    >>> value((Term("laneid"), Term("warpid", multiply=32)), {"laneid": 5, "warpid": 2})
    69
    """
    return sum(term(place[term.axis]) for term in rule)


MOST_STEPS = 128
"""So many wavefronts, instructions or boxes are steps."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The part of a scene that an access adds: its name, its steps, and notes on all of it."""

    name: str | None
    steps: tuple[Step, ...]
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, name: str, steps: Iterable[Step], total: int, noun: str, notes: Iterable[Note]) -> Asked:
        """Return the first steps of so many; where they are not all, a hint says so.

        >>> Asked.of("row", (Step(f"wavefront {i}", ()) for i in range(200)), 200, "wavefronts", ()).notes
        (Note(kind='hint', text='the first 128 of 200 wavefronts are steps'),)
        """
        first = tuple(islice(steps, MOST_STEPS))
        cut = f"the first {len(first)} of {total} {noun} are steps"
        return cls(name, first, (*notes, *((Note("hint", cut),) if len(first) < total else ())))

    @classmethod
    def refused(cls, name: str, why: str, *hints: str) -> Asked:
        """Return no step, the reason, and the way out."""
        return cls(name, (), (Note("no", f"{name}: {why}"), Note("hint", "; ".join(filter(None, hints)))))
