"""`document_from`: a document from plain data, such as JSON from a file or a link.

What comes from elsewhere is looked at before it is believed: every field, every size, every number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from tilewise.core.axes import DEVICE, OWNER, STORAGE
from tilewise.core.errors import LayoutError
from tilewise.core.shapes import ORDERS
from tilewise.show.scene.logical import FAR, MOST_CELLS, MOST_PARTS
from tilewise.show.scene.model import (
    COLUMN,
    KINDS,
    MOST_SCENES,
    ROW,
    SCHEMA,
    Axis,
    Colour,
    Document,
    Encoded,
    Field,
    Head,
    Note,
    Panel,
    Scene,
    Step,
    Term,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

NOTES = ("fact", "yes", "no", "hint")
TEXTS = ("places", "index")
MOST_PANELS, MOST_STEPS, MOST_WORDS = 32, 4096, 100_000
MOST_SLOTS, MOST_BITS = 32, 128
"""The page draws as much, and cuts words instead of refusing them. Panels, axes and notes are as many."""
_FARTHEST = FAR * 1024
"""Numbers of a rule: places in bits, and their multiples."""


def document_from(data: Any) -> Document:
    """The document that plain data is; what `Document.as_dict` gives comes back equal.

        refused  TW108 what is no document of this version, with the field that is wrong

    >>> from tilewise import S
    >>> from tilewise.show.scene.build import document_of
    >>> document = document_of(S[(2, 2)])
    >>> document_from(document.as_dict()) == document
    True
    >>> document_from({"schema": 2, "kind": "tilewise.scene"})
    Traceback (most recent call last):
    tilewise.LayoutError: TW108: scenes of schema 2, and this version reads schema 1
      hint: a newer tilewise wrote it
    """
    fields = _Fields(data, "the document")
    kind = fields.take("kind")
    if kind != "tilewise.scene":
        raise LayoutError(
            "TW108", f"a document of kind {_shown(kind)} is no scene", hint="tilewise show writes them"
        )
    schema = fields.take("schema")
    if type(schema) is not int or schema != SCHEMA:
        hint = "a newer tilewise wrote it" if type(schema) is int and schema > SCHEMA else ""
        raise LayoutError(
            "TW108", f"scenes of schema {_shown(schema)}, and this version reads schema {SCHEMA}", hint=hint
        )
    document = Document(
        scenes=fields.list("scenes", _scene, MOST_SCENES),
        title=fields.text("title"),
        words=fields.text("words"),
    )
    if not document.scenes:
        raise _wrong("the document's scenes", "are none")
    fields.done()
    return document


def _scene(data: Any, where: str) -> Scene:
    fields = _Fields(data, where)
    scene = Scene(
        title=fields.text("title"),
        expression=fields.text("expression"),
        shape=fields.numbers("shape", 1, FAR),
        rows=fields.numbers("rows", 1, FAR),
        columns=fields.numbers("columns", 1, FAR),
        window=fields.read("window", _window),
        copies=fields.number("copies", 1, MOST_CELLS),
        axes=fields.list("axes", _axis, MOST_PANELS),
        places=fields.read("places", _places),
        colour=fields.read("colour", _colour),
        panels=fields.list("panels", _panel, MOST_PANELS),
        dtype=fields.text_or_none("dtype"),
        bits=fields.number_or_none("bits", 1, 1024),
        base=fields.number("base", 0, FAR),
        access=fields.text_or_none("access"),
        steps=fields.list("steps", _step, MOST_STEPS),
        notes=fields.list("notes", _note, MOST_PANELS),
        order=fields.one_of("order", ORDERS),
    )
    fields.done()
    _check_scene(scene, where)
    return scene


def _check_scene(scene: Scene, where: str) -> None:
    """What fields say of one another."""
    names = [axis.name for axis in scene.axes]
    if not names or len(set(names)) != len(names) or set(names) != set(scene.places):
        raise _wrong(f"{where}'s places", "are not those of its axes")
    (top, bottom), (left, right) = scene.window
    if not (top < bottom <= prod(scene.rows) and left < right <= prod(scene.columns)):
        raise _wrong(f"{where}'s window", "is not within its rows and columns")
    entries = {len(places) for places in scene.places.values()}
    count, rest = divmod(entries.pop(), scene.copies)
    room = (bottom - top) * (right - left)
    if entries or rest or not room - (right - left) < count <= room:
        raise _wrong(f"{where}'s places", "are not as many as its window and its copies say")
    for axis in scene.axes:
        if (axis.low, axis.high) != (min(scene.places[axis.name]), max(scene.places[axis.name])):
            raise _wrong(f"{where}'s places on {_shown(axis.name)}", "do not end where its axis does")
    known = {*names, ROW, COLUMN}
    rules = [
        (panel.row, panel.column, panel.block_row, panel.block_column, panel.slot) for panel in scene.panels
    ]
    terms = [term for panel in rules for rule in panel for term in rule]
    for term in (*terms, scene.colour.rule):
        if term.axis not in known:
            raise _wrong(f"{where}'s rule", f"names the axis {_shown(term.axis)}, which it has not")


def _axis(data: Any, where: str) -> Axis:
    fields = _Fields(data, where)
    axis = Axis(
        name=fields.text("name"),
        kind=fields.one_of("kind", (STORAGE, OWNER, DEVICE)),
        low=fields.number("low", -FAR, FAR),
        high=fields.number("high", -FAR, FAR),
    )
    fields.done()
    return axis


def _places(data: Any, where: str) -> dict[str, tuple[int, ...]]:
    if not isinstance(data, dict) or len(data) > MOST_PANELS:
        raise _wrong(where, "are not lists by axis")
    found = {}
    for name, values in data.items():
        if not isinstance(name, str):
            raise _wrong(where, f"are those of an axis called {_shown(name)}")
        found[name] = _numbers(values, f"{where} on {_shown(name)}", -FAR, FAR)
    return found


def _window(data: Any, where: str) -> tuple[tuple[int, int], tuple[int, int]]:
    if not isinstance(data, list | tuple) or len(data) != 2:
        raise _wrong(where, "is not rows and columns")
    (top, bottom), (left, right) = (_pair(ends, where, 0, FAR) for ends in data)
    return (top, bottom), (left, right)


def _colour(data: Any, where: str) -> Colour:
    fields = _Fields(data, where)
    colour = Colour(fields.read("rule", _term), fields.text("words"))
    fields.done()
    return colour


def _panel(data: Any, where: str) -> Panel:
    fields = _Fields(data, where)
    panel = Panel(
        id=fields.text("id"),
        kind=fields.one_of("kind", KINDS),
        title=fields.text("title"),
        blocks=fields.read("blocks", _extents),
        cells=fields.read("cells", _extents),
        row=fields.list("row", _term, MOST_PANELS),
        column=fields.list("column", _term, MOST_PANELS),
        block_row=fields.list("block_row", _term, MOST_PANELS),
        block_column=fields.list("block_column", _term, MOST_PANELS),
        slot=fields.list("slot", _term, MOST_PANELS),
        slots=fields.number("slots", 1, MOST_SLOTS),
        row_name=fields.text("row_name"),
        column_name=fields.text("column_name"),
        block_name=fields.text("block_name"),
        text=fields.one_of("text", TEXTS),
        width=fields.number("width", 1, MOST_SLOTS),
        row_heads=fields.list("row_heads", _head, MOST_PANELS),
        column_heads=fields.list("column_heads", _head, MOST_PANELS),
        block_row_heads=fields.list("block_row_heads", _head, MOST_PANELS),
        block_column_heads=fields.list("block_column_heads", _head, MOST_PANELS),
    )
    fields.done()
    cells = prod(panel.blocks) * prod(panel.cells)
    if cells > MOST_CELLS:
        raise _wrong(where, f"has more than {MOST_CELLS} cells")
    if cells * panel.slots > MOST_PARTS:
        raise _wrong(where, f"has room for more than {MOST_PARTS} elements")
    return panel


def _extents(data: Any, where: str) -> tuple[int, int]:
    return _pair(data, where, 1, MOST_CELLS)


def _term(data: Any, where: str) -> Term:
    fields = _Fields(data, where)
    term = Term(
        axis=fields.text("axis"),
        subtract=fields.number("subtract", -_FARTHEST, _FARTHEST),
        scale=fields.number("scale", 0, 1024),
        divide=fields.number("divide", 1, _FARTHEST),
        modulo=fields.number("modulo", 0, _FARTHEST),
        multiply=fields.number("multiply", 0, MOST_CELLS),
    )
    fields.done()
    return term


def _head(data: Any, where: str) -> Head:
    fields = _Fields(data, where)
    head = Head(
        name=fields.text("name"),
        start=fields.number("start", -_FARTHEST, _FARTHEST),
        divide=fields.number("divide", 1, _FARTHEST),
        modulo=fields.number("modulo", 0, _FARTHEST),
        multiply=fields.number("multiply", 0, MOST_CELLS),
        low=fields.number("low", -FAR, FAR),
    )
    fields.done()
    return head


def _step(data: Any, where: str) -> Step:
    fields = _Fields(data, where)
    step = Step(
        title=fields.text("title"),
        elements=fields.numbers("elements", 0, FAR),
        lanes=fields.numbers("lanes", 0, FAR),
        cost=fields.number_or_none("cost", 0, FAR),
        copies=fields.number_or_none("copies", 1, MOST_CELLS),
        note=fields.text("note"),
        encoded=fields.read_or_none("encoded", _encoded),
    )
    fields.done()
    if step.lanes and len(step.lanes) != len(step.elements):
        raise _wrong(where, "has not as many lanes as elements")
    return step


def _encoded(data: Any, where: str) -> Encoded:
    fields = _Fields(data, where)
    encoded = Encoded(
        name=fields.text("name"),
        width=fields.number("width", 1, MOST_BITS),
        value=fields.text("value"),
        fields=fields.list("fields", _field, MOST_BITS),
    )
    fields.done()
    ends = [-1, *(end for field in encoded.fields for end in (field.low, field.high)), encoded.width]
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        if low >= high:
            raise _wrong(where, "has fields that overlap, or are not in order")
    return encoded


def _field(data: Any, where: str) -> Field:
    fields = _Fields(data, where)
    field = Field(
        name=fields.text("name"),
        low=fields.number("low", 0, MOST_BITS),
        high=fields.number("high", 0, MOST_BITS),
        held=fields.number("held", 0, 2**53 - 1),
        words=fields.text("words"),
    )
    fields.done()
    if field.low > field.high:
        raise _wrong(where, "ends before it begins")
    if field.held >> (field.high - field.low + 1):
        raise _wrong(where, f"has no room for {field.held}")
    return field


def _note(data: Any, where: str) -> Note:
    fields = _Fields(data, where)
    note = Note(fields.one_of("kind", NOTES), fields.text("text"))
    fields.done()
    return note


# -- fields ----------------------------------------------------------------------------------------


class _Fields:
    """The fields of one object, each of which is taken once."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, dict):
            raise _wrong(where, f"is {_shown(data)}, not an object")
        self.data, self.where, self.taken = data, where, set[str]()

    def take(self, name: str) -> Any:
        if name not in self.data:
            raise _wrong(self.where, f"has no {name}")
        self.taken.add(name)
        return self.data[name]

    def done(self) -> None:
        """Refuse what was not asked for."""
        for name in self.data:
            if name not in self.taken:
                raise _wrong(self.where, f"has a field {_shown(name)}, which no version has")

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str) or len(value) > MOST_WORDS:
            raise _wrong(self._called(name), f"is {_shown(value)}, not a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self.take(name) is None else self.text(name)

    def one_of(self, name: str, known: Iterable[str]) -> str:
        value = self.take(name)
        if not isinstance(value, str) or value not in known:
            raise _wrong(self._called(name), f"is {_shown(value)}, none of {', '.join(known)}")
        return value

    def number(self, name: str, low: int, high: int) -> int:
        return _number(self.take(name), self._called(name), low, high)

    def number_or_none(self, name: str, low: int, high: int) -> int | None:
        return None if self.take(name) is None else self.number(name, low, high)

    def numbers(self, name: str, low: int, high: int) -> tuple[int, ...]:
        return _numbers(self.take(name), self._called(name), low, high)

    def read(self, name: str, reader: Callable[[Any, str], T]) -> T:
        return reader(self.take(name), self._called(name))

    def read_or_none(self, name: str, reader: Callable[[Any, str], T]) -> T | None:
        return None if self.take(name) is None else self.read(name, reader)

    def list(self, name: str, reader: Callable[[Any, str], T], most: int) -> tuple[T, ...]:
        values = self.take(name)
        if not isinstance(values, list | tuple) or len(values) > most:
            raise _wrong(self._called(name), f"is no list of {most} at most")
        return tuple(reader(value, f"{self._called(name)}[{i}]") for i, value in enumerate(values))

    def _called(self, name: str) -> str:
        return f"{self.where}'s {name}"


def _pair(data: Any, where: str, low: int, high: int) -> tuple[int, int]:
    if not isinstance(data, list | tuple) or len(data) != 2:
        raise _wrong(where, f"is {_shown(data)}, not two numbers")
    return _number(data[0], where, low, high), _number(data[1], where, low, high)


def _numbers(data: Any, where: str, low: int, high: int) -> tuple[int, ...]:
    if not isinstance(data, list | tuple) or len(data) > MOST_CELLS:
        raise _wrong(where, f"is no list of {MOST_CELLS} numbers at most")
    if set(map(type, data)) == {int} and low <= min(data) and max(data) <= high:
        return tuple(data)
    return tuple([_number(value, where, low, high) for value in data])  # which says what is wrong


def _number(value: Any, where: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise _wrong(where, f"is {_shown(value)}, not a whole number from {low} to {high}")
    return value


def _wrong(where: str, why: str) -> LayoutError:
    return LayoutError("TW108", f"{where} {why}")


def _shown(value: Any) -> str:
    """A value in a message, and no more of it than can be read."""
    if isinstance(value, list | tuple | dict):
        return f"a {type(value).__name__}"
    if type(value) is int and value.bit_length() > 128:
        return "a number beyond all bounds"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
