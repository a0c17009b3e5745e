"""Whole texts: definitions of aliases, types of tensors and of descriptors of memory, and encodings alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.given import SHAPE, Given, words
from tilewise.notation.dialects.triton.attributes import Encoding, Reader
from tilewise.notation.tokens import END, MAX_TEXT, NAME, NUMBER, Cursor, Token

_DEFINITION = re.compile(r"^[ \t]*(#[A-Za-z_$][\w$.]*)[ \t]*=[ \t]*(?=(#[A-Za-z_]\w*\.))", re.MULTILINE)
_TYPE = re.compile(r"(?:\btensor|!(?:ttg|tt|triton_gpu)\.memdesc)<(?=\d)")
MAX_PARTS = 4_096
_POINTER_BITS = "b64"
_TYPES = {
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "f8E4M3FNUZ": "e4m3fnuz",
    "f8E5M2FNUZ": "e5m2fnuz",
    "f8E4M3B11FNUZ": "b8",
    "f8E8M0FNU": "ue8m0",
    "f4E2M1FN": "e2m1",
    "f6E2M3FN": "e2m3",
    "f6E3M2FN": "e3m2",
    "i1": "b1",
    "ui8": "u8",
    "ui16": "u16",
    "ui32": "u32",
    "ui64": "u64",
    "index": _POINTER_BITS,
}
"""MLIR's names of types, where they are not ours."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An encoding, and what a type says beside it."""

    encoding: Encoding
    shape: tuple[int, ...] | None = None
    dtype: DType | None = None
    allocation: tuple[int, ...] | None = None


def has_definitions(text: str) -> bool:
    """Return whether a text defines aliases, or is a whole module."""
    return _DEFINITION.search(text) is not None or "\n" in text.strip()


def typed(given: Given) -> Typed:
    """Return the encoding of a text that has one."""
    cursor = given.cursor()
    found = _typed(cursor, {})
    cursor.expect_end("the type" if found.shape is not None else "the encoding")
    return found


def parts_of(given: Given) -> dict[str, Span]:
    """Return the parts of a text with aliases: what is defined, and the types that have an encoding."""
    if len(given.text) > MAX_TEXT:
        raise LayoutError("TW005", f"a text of {len(given.text)} characters; at most {MAX_TEXT} are read")
    parts: dict[str, Span] = {}
    for found in _DEFINITION.finditer(given.text):
        name = found[1]
        if name in parts:
            span = found.span(1)
            raise LayoutError("TW004", f"{name} is defined twice", span=span, source=given.text)
        parts[name] = found.end(), _end_of_line(given.text, found.end())
    for found in _TYPE.finditer(given.text):
        end = _closing(given.text, found.end())
        text = given.text[found.start() : end]
        if "#" in text and text not in parts:
            parts[text] = found.start(), end
        if len(parts) > MAX_PARTS:
            raise LayoutError("TW005", f"a text with more than {MAX_PARTS} layouts")
    return parts


Span = tuple[int, int]


def aliases_of(given: Given, parts: Mapping[str, Span]) -> dict[str, Encoding]:
    """Return what the aliases of a text stand for; one may name those before it."""
    found: dict[str, Encoding] = {}
    for name, span in parts.items():
        if name[0] == "#":
            cursor = _within(given.text, span)
            found[name] = Reader(cursor, found).attribute()
            cursor.expect_end(f"the definition of {name}")
    return found


def part_of(given: Given, span: Span, aliases: Mapping[str, Encoding]) -> Typed:
    """Return one part of a text with aliases."""
    cursor = _within(given.text, span)
    found = _typed(cursor, aliases)
    cursor.expect_end("the layout")
    return found


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _closing(text: str, start: int) -> int:
    """Return where the `<` before `start` is closed, or the end of the line."""
    depth = 1
    line = _end_of_line(text, start)
    for found in re.compile(r"->|<|>").finditer(text, start, line):
        depth += {"<": 1, ">": -1}.get(found[0], 0)
        if not depth:
            return found.end()
    return line


def _within(text: str, span: Span) -> Cursor:
    """Return a cursor over a part of a text, whose spans are those of the whole."""
    start, end = span

    def scan(source: str) -> Iterator[Token]:
        for token in words(source[start:end]):
            if token.text.startswith("//"):
                return
            yield Token(token.kind, token.text, token.start + start, token.end + start)

    cursor = Cursor(text, scan)
    cursor.tokens[-1] = Token(END, "", end, end)
    return cursor


def _typed(cursor: Cursor, aliases: Mapping[str, Encoding]) -> Typed:
    """Take a type, or an encoding alone."""
    word = cursor.next
    if word.text.startswith("#"):
        return Typed(Reader(cursor, aliases).attribute())
    if word.text != "tensor" and not word.text.endswith(".memdesc"):
        raise cursor.error(
            "TW001",
            f"expected an encoding or a type, found {word}",
            hint="such as #ttg.blocked<{...}> or tensor<128x64xf16, #ttg.blocked<{...}>>",
        )
    cursor.take()
    opened = cursor.expect("<")
    shape = _shape(cursor)
    dtype = _element(cursor)
    if cursor.next.text != ",":
        cursor.expect(">", opened)
        raise cursor.error(
            "TW004",
            "a type without an encoding has no layout",
            cursor.since(word),
            f"such as {word.text}<128xf16, #ttg.blocked<...>>",
        )
    cursor.take()
    encoding = Reader(cursor, aliases).attribute()
    allocation = _rest(cursor, aliases)
    cursor.expect(">", opened)
    if word.text != "tensor" and dtype is not None and dtype.bits == 1:
        dtype = DType.of("b8")  # a truth value has a byte of memory
    return Typed(encoding, shape, dtype, allocation)


def _shape(cursor: Cursor) -> tuple[int, ...]:
    token = cursor.next
    if token.kind != SHAPE or not token.text.endswith("x"):
        raise cursor.error("TW004", f"expected a shape, found {token}", hint="such as 128x64xf16")
    cursor.take()
    return _extents(cursor, token, token.text[:-1])


def _extents(cursor: Cursor, token: Token, text: str) -> tuple[int, ...]:
    extents = text.split("x")
    if len(extents) > 16 or max(map(len, extents)) > 18:
        raise cursor.error("TW005", "a tensor beyond all machines", token.span)
    shape = tuple(map(int, extents))
    if any(extent < 1 for extent in shape):
        raise cursor.error("TW102", "a tensor of extent 0 holds no element", token.span)
    return shape


def _element(cursor: Cursor) -> DType:
    """Take the type of an element: a number's, or a pointer's."""
    word = cursor.next
    if word.kind != NAME:
        raise cursor.error("TW004", f"expected a type, found {word}", hint="such as f16")
    cursor.take()
    if word.text.startswith("!"):
        opened = cursor.accept("<")
        depth = 1
        while opened is not None and depth:
            if cursor.next.kind == END:
                raise cursor.error("TW004", "'<' is never closed", opened.span, "close it with '>'")
            depth += {"<": 1, ">": -1}.get(cursor.take().text, 0)
        return DType.of(_POINTER_BITS)
    found = known_type(_TYPES.get(word.text, word.text))
    if found is None:
        raise cursor.error("TW105", f"{word} is no type of an element that is known here", word.span)
    return found


def _rest(cursor: Cursor, aliases: Mapping[str, Encoding]) -> tuple[int, ...] | None:
    """Take what follows an encoding in a descriptor: the memory's space, `mutable`, and the allocation."""
    allocation: tuple[int, ...] | None = None
    while cursor.accept(","):
        token = cursor.next
        if token.text.startswith("#"):
            _space(cursor)
        elif token.text == "mutable":
            cursor.take()
        elif token.kind in (SHAPE, NUMBER) and allocation is None:
            cursor.take()
            allocation = _extents(cursor, token, token.text)
        else:
            raise cursor.error(
                "TW002",
                f"{token} is no part of a descriptor",
                hint="after the encoding: #ttg.shared_memory, mutable, the allocation's shape 64x128",
            )
    return allocation


SPACES = ("shared_memory", "tensor_memory", "shared_cluster_memory")


def _space(cursor: Cursor) -> None:
    """Take the memory's space, or a name for it: it does not move an element."""
    token = cursor.take()
    prefix, _, kind = token.text[1:].rpartition(".")
    if prefix and kind not in SPACES:
        raise cursor.error(
            "TW002", f"{token} is no space of memory", token.span, "known: " + " ".join(SPACES)
        )
