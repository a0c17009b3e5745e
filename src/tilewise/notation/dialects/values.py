"""Values in a text, as Python and compilers print them: words, numbers, and brackets with their items.

    NamedSharding(mesh=Mesh('x': 2), spec=P('x', None))     a word and brackets, whose items have keys
    {devices=[2,1,4]<=[8] last_tile_dim_replicate}          brackets with one item: a key and four values

Every piece of this tree has its place in the text, and makes the errors that show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.integers import MAX_DIGITS
from tilewise.core.shapes import MAX_NESTING
from tilewise.notation.dialects.given import SHAPE, STRING, Extents
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Span, shortened

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ENDS = {",", *_CLOSING.values()}


@dataclass(slots=True, eq=False)
class Written:
    """A piece of a text."""

    source: str
    span: Span

    @property
    def spelled(self) -> str:
        """Return the piece as it is written."""
        return self.source[slice(*self.span)]

    def __str__(self) -> str:
        """Return the piece in quotes, for errors."""
        return f"'{shortened(self.spelled)}'"

    def error(self, code: str, message: str, hint: str = "") -> LayoutError:
        """Return an error that shows the piece."""
        return LayoutError(code, message, hint=hint, span=self.span, source=self.source)

    @contextmanager
    def blame(self) -> Iterator[None]:
        """Let errors inside that have no span show the piece."""
        try:
            yield
        except LayoutError as error:
            if error.span is None:
                error.span, error.source = self.span, self.source
            raise


@dataclass(slots=True, eq=False)
class Value(Written):
    """A word, a number or a sign; or brackets, whose items stand between commas."""

    kind: str
    text: str
    """The word without quotes, or the opening bracket."""
    number: int | None = None
    items: tuple[Item, ...] = ()

    @property
    def name(self) -> str:
        """Return the word without its module."""
        return self.text.rpartition(".")[2]

    @property
    def keyed(self) -> dict[str, Item]:
        """Return the items that have keys, by their keys."""
        return {item.name: item for item in self.items if item.key}

    def numbers(self, least: int | None = None) -> Extents:
        """Return the numbers that brackets enclose."""
        if self.text not in _CLOSING:
            raise self.error("TW004", f"expected numbers in brackets, found {self}", "such as (64, 8)")
        return tuple(item.as_number(least) for item in self.items)


@dataclass(slots=True, eq=False)
class Item(Written):
    """The values between two commas, and the key before them: `x=2`, `'x': 2`."""

    key: Value | None
    sign: str
    """The sign after the key: `=` or `:`."""
    values: tuple[Value, ...]

    @property
    def name(self) -> str:
        """Return the key, or ''."""
        return self.key.text if self.key else ""

    @property
    def text(self) -> str:
        """Return the first word after the key."""
        return self.values[0].text

    @property
    def without_key(self) -> Item:
        """Return the item with its values alone."""
        return replace(self, key=None) if self.key else self

    @property
    def single(self) -> Value:
        """Return the one value that the item is, without a key."""
        if len(self.values) > 1:
            raise self.values[1].error("TW004", f"expected ',' before {self.values[1]}")
        if self.key or not self.values:
            raise self.unexpected("one value")
        return self.values[0]

    def as_number(self, least: int | None = None) -> int:
        """Return the number that the item is."""
        number = self.single.number
        if number is None:
            raise self.unexpected("a number")
        if least is not None and number < least:
            raise self.error("TW102", f"a number from {least} on belongs here, not {number}")
        return number

    def unexpected(self, what: str) -> LayoutError:
        """Return the error of an item that stands where something else belongs."""
        return self.error("TW004", f"expected {what}, found {self}")


def value(cursor: Cursor, depth: int = 0) -> Value:
    """Take one value."""
    source, start = cursor.source, cursor.take()
    if start.text == "-" and cursor.next.kind == NUMBER:
        found = value(cursor, depth)
        return Value(source, cursor.since(start), NUMBER, start.text, -(found.number or 0))
    if start.kind == NUMBER:
        if len(start.text) > MAX_DIGITS:
            raise cursor.error("TW005", f"a number of more than {MAX_DIGITS} digits", start.span)
        number = int(start.text, 16 if start.text[:2] in ("0x", "0X") else 10)
        return Value(source, start.span, NUMBER, start.text, number)
    closing = _CLOSING.get(start.text)
    if closing is None:
        word = start.text[1:-1] if start.kind == STRING else start.text
        return Value(source, start.span, start.kind, word)
    if depth == MAX_NESTING:
        raise cursor.error("TW005", f"brackets nested deeper than {MAX_NESTING}", start.span)
    items: list[Item] = []
    while cursor.next.text != closing:
        items.append(_item(cursor, depth + 1))
        if not cursor.accept(","):
            break
    cursor.expect(closing, start)
    return Value(source, cursor.since(start), start.kind, start.text, None, tuple(items))


def _item(cursor: Cursor, depth: int) -> Item:
    start, key, sign = cursor.next, None, ""
    if start.kind in (NAME, STRING) and cursor.ahead(1).text in ("=", ":"):
        key, sign = value(cursor), cursor.take().text
    found: list[Value] = []
    while cursor.next.kind != END and cursor.next.text not in _ENDS:
        found.append(value(cursor, depth))
    if not found and cursor.next.kind != END:
        raise cursor.error("TW004", f"expected a value, found {cursor.next}")
    return Item(cursor.source, cursor.since(start), key, sign, tuple(found))


def values(cursor: Cursor, commas: bool = False) -> tuple[Value, ...]:
    """Take the whole text: its values, with optional commas between them if `commas` is True.

    >>> from tilewise.notation.dialects.given import Given
    >>> [found.text for found in values(Given("P('x') on {'x': 2}").cursor())]
    ['P', '(', 'on', '{']
    """
    found: list[Value] = []
    while cursor.next.kind != END:
        found.append(value(cursor))
        if commas:
            cursor.accept(",")
    if not found:
        raise cursor.error("TW004", "expected a value, found the end")
    return tuple(found)


def between(first: Written, last: Written) -> Written:
    """Return the piece of a text from one piece to another."""
    return Written(first.source, (first.span[0], last.span[1]))


def named_numbers(items: Iterable[Item], sign: str = "=", quoted: bool = False) -> list[tuple[Value, int]]:
    """Return names with their numbers: x=2, 'y': 4."""
    found: list[tuple[Value, int]] = []
    for item in items:
        if item.key is None or item.sign != sign or (quoted and item.key.kind != STRING):
            what = "a name in quotes" if quoted else "a name"
            raise item.unexpected(f"{what}, '{sign}' and a number")
        found.append((item.key, item.without_key.as_number()))
    return found


# -- types of tensors ------------------------------------------------------------------------------


ELEMENTS = {
    "f8e4m3fn": "e4m3",
    "f8e5m2": "e5m2",
    "f8e4m3fnuz": "e4m3fnuz",
    "f8e5m2fnuz": "e5m2fnuz",
    "f8e8m0fnu": "ue8m0",
    "f4e2m1fn": "e2m1",
    "f6e2m3fn": "e2m3",
    "f6e3m2fn": "e3m2",
    "f8e4m3b11fnuz": "b8",
    "ui8": "u8",
    "ui16": "u16",
    "ui32": "u32",
    "ui64": "u64",
    "i1": "b1",
}
"""Names of types in MLIR and in HLO, where they are not ours."""


def element_type(word: str) -> DType | None:
    """Return the type that a compiler's word names, where it is one that is known here.

    >>> element_type("f8E4M3FN"), element_type("what")
    (e4m3, None)
    """
    word = word.lower()
    return known_type(ELEMENTS.get(word, word))


def type_of(brackets: Value) -> tuple[Extents, tuple[Value, ...]]:
    """Return the extents of `<128x64xf16, ...>`, and the words of its element; () where it has no shape.

    >>> from tilewise.notation.dialects.given import Given
    >>> extents, words = type_of(value(Given("<128x64xf16, #blocked>").cursor()))
    >>> extents, words[0].text
    ((128, 64), 'f16')
    """
    words = brackets.items[0].values if brackets.items else ()
    return (extents_in(words[0]), words[1:]) if words and words[0].kind == SHAPE else ((), words)


def extents_in(word: Value) -> Extents:
    """Return the extents of `128x64x`."""
    if len(word.text) > MAX_DIGITS:
        raise word.error("TW005", f"a shape of more than {MAX_DIGITS} digits")
    return tuple(int(extent) for extent in word.text.rstrip("x").split("x"))
