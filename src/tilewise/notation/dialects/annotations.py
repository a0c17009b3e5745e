"""Shardings in the text of a compiler: where they stand, whose they are, and the types beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tilewise.core.dtypes import DType, known_type
from tilewise.notation.dialects.given import STRING, words
from tilewise.notation.dialects.values import Value, Written, element_type, type_of, value
from tilewise.notation.tokens import END, NAME, Cursor, Token

_ARRAY = r"pred|token|(?:bf|[fsuc])\d\w*"
_DEFINED = r"%(?P<argument>[\w.$-]+)\s*:|%?(?P<named>[\w.$-]+)\s+="


class TensorType(NamedTuple):
    """The type of a tensor in a text: its extents, its element, and where it stands."""

    shape: tuple[int, ...]
    dtype: DType | None
    where: Written


class Annotated(NamedTuple):
    """A sharding in a line of a compiler's text: whose, its brackets, and the types of its line."""

    name: str
    sharding: Value
    types: list[TensorType]


def annotated(cursor: Cursor, begins: str, example: str) -> list[Annotated]:
    """Return the shardings of a text, each with the name and the types that stand before it in its line.

    An operation of MLIR has its types after its attributes: shardings without a type before them take the
    last ones of the operation, one each. A text in braces is a sharding alone.
    """
    pattern = re.compile(begins)
    shardings: list[tuple[Value, int]] = []
    types: list[TensorType] = []
    lines = [("sharding", shardings, types)]
    while cursor.next.kind != END:
        defined = _defined(cursor)
        if defined or (cursor.next.text == "->" and all(before for _, before in shardings)):
            shardings, types = [], []
            lines.append((defined or "result", shardings, types))
        is_alone = cursor.at == 0 and cursor.next.text == "{"
        if is_alone or pattern.match(cursor.source, cursor.next.start):
            while cursor.next.text not in ("{", "<"):
                cursor.take()
            shardings.append((value(cursor), len(types)))
            if is_alone:
                cursor.expect_end("the sharding")
        else:
            types += _type(cursor)
    found: list[Annotated] = []
    names: Counter[str] = Counter()
    for name, shardings, types in lines:
        after = sum(not before for _, before in shardings)
        last = types[-after:] if len(types) >= after else []
        for i, (sharding, before) in enumerate(shardings):
            own = f"{name}.{names[name]}" if names[name] else name
            found.append(Annotated(own, sharding, types[:before] or last[i : i + 1]))
            names[name] += 1
    if not found:
        raise cursor.error("TW004", "no sharding is here", (0, len(cursor.source)), f"such as {example}")
    return found


def _defined(cursor: Cursor) -> str:
    """Return the name that a line defines here, such as %arg0 or param.1, or nothing."""
    start, before = cursor.next, cursor.behind
    begins_line = cursor.at == 0 or "\n" in cursor.source[before.end : start.start] or before.text == "ROOT"
    if not start.text.startswith("%") and not (begins_line and start.kind == NAME):
        return ""
    defined = re.compile(_DEFINED).match(cursor.source, start.start)
    return (defined["argument"] or defined["named"]) if defined else ""


def _type(cursor: Cursor) -> list[TensorType]:
    """Take the next word; return its type if it begins one, `tensor<16x8xf32>` or `f32[16,8]`."""
    start, opening = cursor.take(), cursor.next.text
    if start.text == "tensor" and opening == "<":
        extents, words = type_of(brackets := value(cursor))
        if not words or words[0].kind != NAME:
            message = "a tensor has extents that are known, and a type"
            raise brackets.error("TW202", message, "such as tensor<16x8xf32>")
        word = words[0].text
    elif start.kind == NAME and opening == "[" and re.fullmatch(_ARRAY, start.text):
        extents, word = value(cursor).numbers(), start.text
    else:
        return []
    dtype = known_type("u8") if word in ("pred", "i1") else element_type(word)
    return [TensorType(extents, dtype, Written(cursor.source, cursor.since(start)))]


def unquoting(source: str) -> Iterator[Token]:
    """Yield the words of a text without comments, and those of strings in braces.

    >>> [token.text for token in unquoting('mhlo.sharding = "{replicated}"')]
    ['mhlo.sharding', '=', '{', 'replicated', '}']
    """
    bare = re.sub(r"/\*.*?\*/", lambda comment: " " * len(comment.group()), source)
    for token in words(bare):
        if token.kind != STRING or token.text[1:2] != "{":
            yield token
            continue
        for inner in words(token.text[1:-1]):
            shift = token.start + 1
            yield Token(inner.kind, inner.text, inner.start + shift, inner.end + shift)
