"""Shardings in the text of a compiler: where they stand, whose they are, and the types beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType, known_type
from tilewise.notation.dialects.given import SHAPE, STRING, integers, words
from tilewise.notation.tokens import END, NAME, Cursor, Token

Typed = tuple[tuple[int, ...], DType | None, tuple[int, int]]
"""The extents and the element of a tensor's type, and where it stands."""


MAX_WORDS_OF_A_NAME = 32
"""Words that a name falls into, such as those of all-gather.1, at most."""
MAX_DIGITS = 1_000


@dataclass(slots=True)
class Annotated:
    """A sharding in a line of a compiler's text: whose, at which word, and the types of its line."""

    name: str
    at: int
    types: list[Typed] = field(default_factory=list)


def annotated(cursor: Cursor, begins: Callable[[Cursor], bool]) -> list[Annotated]:
    """Return the shardings of a text, each with the name and the types that stand before it in its line.

    An operation of MLIR has its types after its attributes: shardings without a type before them take the
    last ones of the operation.
    """
    found: list[Annotated] = []
    waiting: list[Annotated] = []
    name, types = "", list[Typed]()
    while cursor.next.kind != END:
        defined = _defined(cursor)
        if defined or (cursor.next.text == "->" and not waiting):
            _give(waiting, types)
            name, types, waiting = defined or "result", [], []
        if begins(cursor):
            found.append(Annotated(name or "sharding", cursor.at, list(types)))
            waiting += [] if types else found[-1:]
        taken = _type(cursor)
        if taken is None:
            cursor.take()
        else:
            types.append(taken)
    _give(waiting, types)
    seen: dict[str, int] = {}
    for this in found:
        count = seen[this.name] = seen.get(this.name, -1) + 1
        this.name = f"{this.name}.{count}" if count else this.name
    return found


def _give(waiting: Sequence[Annotated], types: Sequence[Typed]) -> None:
    """Give shardings the last types of their operation, one each."""
    if len(types) >= len(waiting) > 0:
        for this, typed in zip(waiting, types[-len(waiting) :], strict=True):
            this.types = [typed]


def _defined(cursor: Cursor) -> str:
    """Return the name that a line defines here, such as %arg0 or param.1, or nothing."""
    start = cursor.next
    source, end, distance = cursor.source, start.end, 1
    gap = source[cursor.behind.end : start.start]
    begins_line = cursor.at == 0 or "\n" in gap or cursor.behind.text == "ROOT"
    if not start.text.startswith("%") and not (begins_line and start.kind == NAME):
        return ""
    after = cursor.ahead(distance)
    while after.start == end and after.text not in ("=", ":", "{") and distance < MAX_WORDS_OF_A_NAME:
        end = after.end
        distance += 1
        after = cursor.ahead(distance)
    is_named = after.text == "=" and after.start > end
    is_argument = after.text == ":" and start.text.startswith("%")
    return source[start.start : end].lstrip("%") if is_named or is_argument else ""


def _type(cursor: Cursor) -> Typed | None:
    """Take `tensor<16x8xf32>` of MLIR or `f32[16,8]` of HLO, where one is next."""
    start = cursor.next
    if start.kind != NAME:
        return None
    if start.text == "tensor" and cursor.ahead(1).text == "<":
        return tensor_type(cursor)
    if cursor.ahead(1).text != "[" or not _is_array(start.text):
        return None
    cursor.take()
    shape = integers(cursor)
    return shape, _dtype(start.text), cursor.since(start)


def tensor_type(cursor: Cursor) -> Typed:
    """Take `tensor<16x8xf32>`."""
    start = cursor.take()
    opened = cursor.expect("<")
    extents: tuple[int, ...] = ()
    if cursor.next.kind == SHAPE:
        if len(cursor.next.text) > MAX_DIGITS:
            raise cursor.error("TW005", f"a shape of more than {MAX_DIGITS} digits")
        extents = tuple(int(extent) for extent in cursor.take().text.rstrip("x").split("x"))
    if cursor.next.kind != NAME:
        raise cursor.error(
            "TW202",
            f"a tensor of extents that are known, and a type, found {cursor.next}",
            hint="such as tensor<16x8xf32>",
        )
    element = cursor.take().text
    depth = 1
    while depth:
        if cursor.next.kind == END:
            raise cursor.error("TW004", "'<' is never closed", opened.span)
        depth += {"<": 1, ">": -1}.get(cursor.take().text, 0)
    return extents, _dtype(element), cursor.since(start)


_HLO_TYPES = ("pred", "token", "c64", "c128")


def _is_array(word: str) -> bool:
    return word in _HLO_TYPES or known_type(word) is not None or word[:3] in ("f8e", "f4e", "f6e")


def _dtype(word: str) -> DType | None:
    """Return the type that a compiler's word names, where it is one that is known here."""
    spelled = {"pred": "u8", "i1": "u8", "f8e4m3fn": "e4m3", "f8E4M3FN": "e4m3"}.get(word, word)
    spelled = {"f8e5m2": "e5m2", "f8E5M2": "e5m2"}.get(spelled, spelled)
    return known_type(spelled)


def skip_value(cursor: Cursor) -> None:
    """Take a value of any kind: words and signs to the next comma or closing bracket outside brackets."""
    while cursor.next.text not in (",", ")", "]", "}", ">") and cursor.next.kind != END:
        if cursor.next.text in ("(", "[", "{"):
            skip_brackets(cursor)
        else:
            cursor.take()


def skip_brackets(cursor: Cursor) -> None:
    """Take a bracket, what it encloses, and the bracket that closes it."""
    opened = cursor.take()
    depth = 1
    while depth:
        if cursor.next.kind == END:
            raise cursor.error("TW004", f"'{opened.text}' is never closed", opened.span)
        token = cursor.take()
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))


def unquoting(source: str) -> Iterator[Token]:
    """Yield the words of a text, and of what stands in quotes between braces, without the quotes.

    >>> [token.text for token in unquoting('mhlo.sharding = "{replicated}"')]
    ['mhlo.sharding', '=', '{', 'replicated', '}']
    """
    for token in words(source):
        if token.kind != STRING or token.text[1:2] != "{":
            yield token
            continue
        for inner in words(token.text[1:-1]):
            shift = token.start + 1
            yield Token(inner.kind, inner.text, inner.start + shift, inner.end + shift)
