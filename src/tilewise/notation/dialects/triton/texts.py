"""Whole texts: definitions of aliases, types of tensors and of descriptors of memory, and encodings alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.notation.dialects.given import SHAPE, Given, words
from tilewise.notation.dialects.triton.attributes import KEYS, MAX_EXTENT, Encoding, Reader, Span
from tilewise.notation.tokens import END, MAX_TEXT, NUMBER, Cursor, Token

_DEFINITION = re.compile(r"^[ \t]*(#[A-Za-z_$][\w$.]*)[ \t]*=[ \t]*(#[A-Za-z_]\w*\..*)", re.MULTILINE)
_TYPE = re.compile(r"(?:\btensor|!(?:ttg|tt|triton_gpu)\.memdesc)<(?=\d)")
_BRACKETS = re.compile(r"->|<|>")
_DEPTH = {"<": 1, ">": -1}
MAX_PARTS = 4_096
_TYPES = {
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "f8E4M3FNUZ": "e4m3fnuz",
    "f8E5M2FNUZ": "e5m2fnuz",
    "f8E8M0FNU": "ue8m0",
    "f4E2M1FN": "e2m1",
    "f6E2M3FN": "e2m3",
    "f6E3M2FN": "e3m2",
    "ui8": "u8",
    "ui16": "u16",
    "ui32": "u32",
    "ui64": "u64",
    "f8E4M3B11FNUZ": "b8",
    "i1": "b1",
}
"""MLIR's names of types, where they are not ours."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An encoding, and what a type says beside it."""

    encoding: Encoding
    shape: tuple[int, ...] | None = None
    dtype: DType | None = None
    allocation: tuple[int, ...] | None = None


def chosen(given: Given) -> Typed:
    """Return the layout of a text; of one with aliases and types, the chosen part.

    The parts of such a text are the aliases of layouts, and the types that have an encoding.
    """
    text = given.text
    if len(text) > MAX_TEXT:
        raise LayoutError("TW005", f"a text of {len(text)} characters; at most {MAX_TEXT} are read")
    aliases: dict[str, Encoding] = {}
    for found in _DEFINITION.finditer(text):
        name = found[1]
        if name in aliases:
            raise LayoutError("TW004", f"{name} is defined twice", span=found.span(1), source=text)
        aliases[name] = _typed(text, found.span(2), aliases).encoding
    types: dict[str, Span] = {}
    for found in _TYPE.finditer(text) if aliases or "\n" in text.strip() else ():
        start, end = found.start(), _closing(text, found.end())
        if "#" in text[start:end]:
            types.setdefault(text[start:end], (start, end))
        if len(types) > MAX_PARTS:
            raise LayoutError("TW005", f"a text with more than {MAX_PARTS} layouts")
    names = [name for name, encoding in aliases.items() if encoding.kind in KEYS]
    if not names and not types:
        return _typed(text, (0, len(text)), aliases)
    only = given.part is None and len(types) == 1
    name = given.chosen(types if only else [*names, *types], "the text")
    return _typed(text, types[name], aliases) if name in types else Typed(aliases[name])


def _closing(text: str, start: int) -> int:
    """Return where the `<` before `start` is closed, or the end of the text."""
    depth = 1
    for found in _BRACKETS.finditer(text, start):
        depth += _DEPTH.get(found[0], 0)
        if not depth:
            return found.end()
    return len(text)


def _typed(text: str, span: Span, aliases: Mapping[str, Encoding]) -> Typed:
    """Return a part of a text, which is a type, or an encoding alone; spans are those of the whole text."""
    start, end = span

    def scan(source: str) -> Iterator[Token]:
        for token in words(source[start:end].partition("//")[0]):
            yield Token(token.kind, token.text, token.start + start, token.end + start)

    cursor = Cursor(text, scan)
    cursor.tokens[-1] = Token(END, "", end, end)
    if cursor.next.text.startswith("#"):
        found = Typed(Reader(cursor, aliases).attribute())
    else:
        found = _type(cursor, aliases)
    cursor.expect_end("the layout")
    return found


def _type(cursor: Cursor, aliases: Mapping[str, Encoding]) -> Typed:
    """Take a type of a tensor, or of a descriptor of memory."""
    word = cursor.next
    if word.text != "tensor" and not word.text.endswith(".memdesc"):
        raise cursor.error(
            "TW001",
            f"expected an encoding or a type, found {word}",
            hint="such as #ttg.blocked<{...}> or tensor<128x64xf16, #ttg.blocked<{...}>>",
        )
    cursor.take()
    opened = cursor.expect("<")
    if not cursor.next.text.endswith("x"):
        raise cursor.error("TW004", f"expected a shape, found {cursor.next}", hint="such as 128x64xf16")
    shape, dtype = _extents(cursor), _element(cursor)
    if cursor.accept(">"):
        raise cursor.error(
            "TW004",
            "a type without an encoding has no layout",
            cursor.since(word),
            f"such as {word.text}<128xf16, #ttg.blocked<...>>",
        )
    cursor.expect(",", opened)
    encoding = Reader(cursor, aliases).attribute()
    allocation = _rest(cursor)
    cursor.expect(">", opened)
    if word.text != "tensor" and dtype.bits == 1:
        dtype = DType.of("b8")  # a truth value has a byte of memory
    return Typed(encoding, shape, dtype, allocation)


def _extents(cursor: Cursor) -> tuple[int, ...]:
    token = cursor.take()
    extents = tuple(int(digits[:20]) for digits in re.findall(r"\d+", token.text))
    fits = 0 < len(extents) <= 16 and 0 < min(extents) <= max(extents) <= MAX_EXTENT
    if token.kind not in (SHAPE, NUMBER) or not fits:
        message = f"{token} is no shape: it has up to 16 extents, from 1 to {MAX_EXTENT}"
        raise cursor.error("TW102", message, token.span, "such as 128x64xf16")
    return extents


def _element(cursor: Cursor) -> DType:
    """Take the type of an element: a number's, or a pointer's."""
    word = cursor.take()
    if word.text.startswith("!"):
        opened = cursor.accept("<")
        depth = 1
        while opened is not None and depth:
            if cursor.next.kind == END:
                raise cursor.error("TW004", "'<' is never closed", opened.span, "close it with '>'")
            depth += _DEPTH.get(cursor.take().text, 0)
        return DType.of("b64")
    found = known_type(_TYPES.get(word.text, word.text))
    if found is None:
        raise cursor.error("TW105", f"{word} is no type of an element that is known here", word.span)
    return found


def _rest(cursor: Cursor) -> tuple[int, ...] | None:
    """Take what follows an encoding in a descriptor: the memory's space, `mutable`, and the allocation.

    The space, or a name for it, does not move an element.
    """
    allocation: tuple[int, ...] | None = None
    while cursor.accept(","):
        token = cursor.next
        prefix, _, kind = token.text.rpartition(".")
        if token.kind in (SHAPE, NUMBER) and allocation is None:
            allocation = _extents(cursor)
        elif token.text == "mutable" or (token.text[:1] == "#" and (kind in _SPACES or not prefix)):
            cursor.take()
        else:
            raise cursor.error(
                "TW002",
                f"{token} is no part of a descriptor",
                hint="after the encoding: #ttg.shared_memory, mutable, the allocation's shape 64x128",
            )
    return allocation


_SPACES = ("shared_memory", "tensor_memory", "shared_cluster_memory")
