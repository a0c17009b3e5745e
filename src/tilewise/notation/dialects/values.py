"""Values in a text, as Python and compilers print them: words, numbers, and brackets with their items.

NamedSharding(mesh=Mesh('x': 2), spec=P('x', None))     a word and brackets, whose items have keys
{devices=[2,1,4]<=[8] last_tile_dim_replicate}          brackets with one item: a key and four values
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewise.core.errors import LayoutError
from tilewise.core.shapes import MAX_NESTING
from tilewise.notation.dialects.given import STRING, integer
from tilewise.notation.tokens import END, NAME, NUMBER, Cursor, Token, shortened

Span = tuple[int, int]
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}


@dataclass(frozen=True, slots=True)
class Value:
    """A word, a number or a sign; or brackets, whose items stand between commas."""

    token: Token
    """The word, or the opening bracket."""
    span: Span
    number: int | None = None
    items: tuple[Item, ...] = ()

    @property
    def text(self) -> str:
        """The word, or the opening bracket."""
        return self.token.text


@dataclass(frozen=True, slots=True)
class Item:
    """The values between two commas, and the key before them: `x=2`, `'x': 2`."""

    key: Token | None
    sign: str
    """The sign after the key: `=` or `:`."""
    values: tuple[Value, ...]
    span: Span

    @property
    def name(self) -> str:
        """The key without quotes, or nothing."""
        return unquoted(self.key) if self.key else ""

    @property
    def text(self) -> str:
        """The first word after the key."""
        return self.values[0].text


def value(cursor: Cursor, depth: int = 0) -> Value:
    """Take one value."""
    start = cursor.next
    if start.kind == NUMBER or (start.text == "-" and cursor.ahead(1).kind == NUMBER):
        number = integer(cursor)
        return Value(start, cursor.since(start), number)
    cursor.take()
    closing = _CLOSING.get(start.text)
    if closing is None:
        return Value(start, start.span)
    if depth == MAX_NESTING:
        raise cursor.error("TW005", f"brackets nested deeper than {MAX_NESTING}", start.span)
    items: list[Item] = []
    while cursor.next.text != closing:
        items.append(_item(cursor, depth + 1))
        if not cursor.accept(","):
            break
    cursor.expect(closing, start)
    return Value(start, cursor.since(start), None, tuple(items))


def _item(cursor: Cursor, depth: int) -> Item:
    start, key, sign = cursor.next, None, ""
    if start.kind in (NAME, STRING) and cursor.ahead(1).text in ("=", ":"):
        key, sign = cursor.take(), cursor.take().text
    found: list[Value] = []
    while cursor.next.kind != END and cursor.next.text not in (",", *_CLOSING.values()):
        found.append(value(cursor, depth))
    if not found and cursor.next.kind != END:
        raise cursor.error("TW004", f"expected a value, found {cursor.next}")
    return Item(key, sign, tuple(found), cursor.since(start))


def values(cursor: Cursor) -> list[Value]:
    """Take the whole text: its values, with or without commas between them.

    >>> from tilewise.notation.dialects.given import Given
    >>> [found.text for found in values(Given("P('x') on {'x': 2}").cursor())]
    ['P', '(', 'on', '{']
    """
    found: list[Value] = []
    while cursor.next.kind != END:
        found.append(value(cursor))
        cursor.accept(",")
    if not found:
        raise cursor.error("TW004", "expected a value, found the end")
    return found


def unquoted(token: Token) -> str:
    """Return a word without its quotes."""
    return token.text[1:-1] if token.kind == STRING else token.text


def single(cursor: Cursor, item: Item) -> Value:
    """Return the one value that an item is, without a key."""
    if item.key or len(item.values) != 1:
        raise _unexpected(cursor, "one value", item)
    return item.values[0]


def number(cursor: Cursor, item: Item) -> int:
    """Return the number that an item is."""
    found = single(cursor, item).number
    if found is None:
        raise _unexpected(cursor, "a number", item)
    return found


def _unexpected(cursor: Cursor, what: str, item: Item) -> LayoutError:
    found = shortened(cursor.source[slice(*item.span)])
    return cursor.error("TW004", f"expected {what}, found '{found}'", item.span)


def numbers(cursor: Cursor, brackets: Value) -> list[int]:
    """Return the numbers that brackets enclose."""
    if brackets.text not in _CLOSING:
        raise cursor.error("TW004", f"expected numbers in brackets, found {brackets.token}", brackets.span)
    return [number(cursor, item) for item in brackets.items]


def named_numbers(
    cursor: Cursor, items: Sequence[Item], sign: str = "=", quoted: bool = False
) -> list[tuple[Token, int]]:
    """Return names with their numbers: x=2, 'y': 4."""
    found: list[tuple[Token, int]] = []
    for item in items:
        if item.key is None or item.sign != sign or (quoted and item.key.kind != STRING):
            what = "a name in quotes" if quoted else "a name"
            raise _unexpected(cursor, f"{what}, '{sign}' and a number", item)
        found.append((item.key, number(cursor, replace(item, key=None))))
    return found


def keyed(brackets: Value) -> dict[str, Item]:
    """Return the items that have keys, by their keys."""
    return {item.name: item for item in brackets.items if item.key}
