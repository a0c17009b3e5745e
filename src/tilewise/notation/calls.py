"""Calls in a text: a name with dots, and its arguments.

    call      =  words [ "(" [ argument { "," argument } ] ")" ]
    argument  =  [ name "=" ] ( number | words | "128B" | "128B_ATOM_32B" | "4X" | "32x32x8" | "16x32bx2" )
    words     =  name { ( "." | "::" ) ( name | "4X" ) }

The notation reads calls and knows no names: `Catalog`, which callers give, makes a layout of a name and
its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.notation.tokens import NAME, NUMBER, WIDTH, Cursor, Span, Token
from tilewise.notation.trees import Names, NumberCursor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@dataclass(frozen=True, slots=True)
class Argument:
    """The value of a parameter, as a word and, where it is one, as a number."""

    name: str
    """The parameter, or '' where the position decides."""
    text: str
    number: int | None
    span: Span


Catalog = Callable[[str], Callable[[Sequence[Argument]], Layout]]
"""From a name to a function that makes a layout of arguments; it refuses unknown names.

A refusal has the span of the argument at fault, or no span where the whole call is.
"""


def dotted(cursor: Cursor) -> list[Token]:
    """Return the names ahead that dots join."""
    words = [cursor.next]
    while cursor.ahead(2 * len(words) - 1).text == "." and cursor.ahead(2 * len(words)).kind == NAME:
        words.append(cursor.ahead(2 * len(words)))
    return words


def _joins(cursor: Cursor) -> int:
    """Return the number of signs that join the next word to the last: one dot, PTX's two colons, or 0."""
    for signs in (".", "::"):
        ahead = [cursor.ahead(at).text for at in range(len(signs))]
        if ahead == [*signs] and cursor.ahead(len(signs)).kind in (NAME, WIDTH):
            return len(signs)
    return 0


def opens_call(cursor: Cursor) -> bool:
    """Return True if a call is ahead: a name with dots, or one with an opening parenthesis after it."""
    return cursor.next.kind == NAME and (len(dotted(cursor)) > 1 or cursor.ahead(1).text == "(")


def whole_call(
    text: str,
    catalog: Callable[[str], Callable[[Sequence[Argument]], Any]],
    let: Mapping[str, int] | None = None,
) -> Any:
    """Return the catalogue's result for a text that is one call; `let` gives values to names."""
    reader = NumberCursor(text, Names(let or {}, frozenset()))
    made = call(reader, catalog)
    reader.expect_end("the call")
    return made


def call(reader: NumberCursor, catalog: Callable[[str], Callable[[Sequence[Argument]], Any]]) -> Any:
    """Return the catalogue's result for the call ahead."""
    start, words = reader.next, dotted(reader)
    reader.at += 2 * len(words) - 1
    with reader.blame(start):
        made_of = catalog(".".join(word.text for word in words))
    opened = reader.accept("(")
    arguments: list[Argument] = []
    while opened and not reader.accept(")"):
        if arguments and not reader.accept(","):
            reader.expect(")", opened, "separate the arguments with commas")
        if reader.accept(")"):
            break
        arguments.append(_argument(reader))
    try:
        with reader.blame(start):
            return made_of(arguments)
    except LayoutError as error:
        error.source = error.source or reader.source
        raise


def _argument(reader: NumberCursor) -> Argument:
    start, name = reader.next, ""
    if start.kind == NAME and reader.ahead(1).text == "=":
        name = reader.take().text
        reader.take()
    first = reader.next
    number = None
    if (
        first.kind == NUMBER
        or first.text in ("+", "-", "(")
        or reader.rounds
        or first.text in reader.names.values
    ):
        number = reader.number()
    elif first.kind in (NAME, WIDTH):
        reader.take()
        while first.kind == NAME and (joins := _joins(reader)):  # mxf4nvf4.block_scale.scale_vec::4X
            reader.at += joins + 1
    else:
        raise reader.error("TW004", f"expected a value, found {first}", hint="such as f32, n=64, mode=128B")
    text = reader.source[slice(*reader.since(first))]
    return Argument(name, text, number, reader.since(start))
