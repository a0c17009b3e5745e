"""A text in a dialect with its user's options, and the reading of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Iter, Layout
from tilewise.core.vectors import Vector, as_vector
from tilewise.notation.tokens import NAME, NUMBER, Cursor, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")

SHAPE, STRING, SIGN = "shape", "string", "sign"
"""Kinds of tokens beside names and numbers: `128x64x` before a type, a quoted text, and signs."""

Extents = tuple[int, ...]
"""Extents of a tensor, a tile, or a mesh; or other numbers, one a dimension."""

_TOKEN = (
    r"(?P<space>\s+)"
    r"|(?P<string>\"[^\"]*\"|'[^']*')"
    r"|(?P<shape>[0-9]+(?:x[0-9]+)+x?(?![0-9])|[0-9]+x(?=[A-Za-z!]))"
    r"|(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[#!@%]?[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*)"
    r"|(?P<sign>->|<=|=>|::|//|.)"
)


@dataclass(frozen=True, slots=True)
class Given:
    """A text, and the options for reading it or for the text to write."""

    text: str = ""
    shape: Extents | None = None
    """The extents of the tensor, where the text does not tell them."""
    part: str | None = None
    """The wanted layout of a text that has several."""
    triton: str | None = None
    """The version of Triton that printed the text, such as 3.2."""
    dtype: DType | None = None
    let: Mapping[str, int] = field(default_factory=dict)
    unit: str = "element"
    """The unit that strides count where the dialect does not fix it."""
    sums: bool = False
    """True if parts of a sum may be read, as copies."""

    def cursor(self, without: str = "") -> Cursor:
        """Return a cursor over the words of the text; matches of `without` are blanks."""
        text = self.text
        if without:
            text = re.sub(without, lambda found: " " * len(found.group()), text)
        cursor = Cursor(text, words)
        cursor.source = self.text
        return cursor

    def needs_shape(self, what: str) -> Extents:
        """Return the shape, or refuse: `what` names the text that has no shape."""
        if self.shape is None:
            raise LayoutError("TW202", f"{what} has no shape", hint="say the tensor's: shape=(128, 64)")
        return self.shape

    def chosen(self, parts: Iterable[str], what: str) -> str:
        """Return the part that `part` names, or the only one; refuse several parts if `part` is None.

        The sign before a name, as in `#blocked`, may be left out.
        """
        names = list(parts)
        asked = [name for name in names if self.part in (name, name.lstrip("#"))]
        if asked or (self.part is None and len(names) == 1):
            return (asked or names)[0]
        listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        if self.part is None:
            message = f"{what} has {len(names)} layouts: {listed}"
            raise LayoutError("TW107", message, hint=f'name one: part="{names[0]}"')
        raise LayoutError("TW107", f"{what} has no layout {self.part!r}", hint=f"its layouts: {listed}")


@dataclass(frozen=True, slots=True)
class Reading:
    """A layout, and the other facts of its text."""

    layout: Layout
    dtype: DType | None = None
    """The type of an element, where the text has it."""
    box: Extents | None = None
    """The extents of the tensor, where the layout is padded beyond them."""
    notes: tuple[str, ...] = ()
    """Sentences for the reader: an alignment, a version that was taken."""
    sums: Mapping[str, str] = field(default_factory=dict)
    """The axes along which copies are parts of a sum, each with its operation."""


def words(source: str) -> Iterator[Token]:
    """Yield the words, numbers, shapes, quoted texts and signs of a text.

    >>> [token.text for token in words('tensor<128x64xf16, #ttg.blocked<{a = "b"}>>')]
    ['tensor', '<', '128x64x', 'f16', ',', '#ttg.blocked', '<', '{', 'a', '=', '"b"', '}', '>', '>']
    """
    for found in re.finditer(_TOKEN, source):
        kind = found.lastgroup or ""
        if kind != "space":
            yield Token({"number": NUMBER, "name": NAME}.get(kind, kind), found.group(), *found.span())


def layout_of_modes(
    modes: Iterable[Sequence[tuple[int, Vector | int]]],
    copies: Iterable[tuple[int, Vector | int]] = (),
    offset: Vector | int = 0,
) -> Layout:
    """Return the layout whose modes have these digits: (extent, stride), the slowest first.

    >>> from tilewise import laneid, reg
    >>> layout_of_modes([[(8, 4 @ laneid)], [(4, 1 @ laneid), (2, 1 @ reg)], []], [(4, 1 @ reg)])
    S[(8, (4, 2), 1) : (4@laneid, (1@laneid, 1@reg), 0)] + R[4 : 1@reg]
    """
    shape: list[int | Extents] = []
    strides: list[Vector] = []
    for digits in modes:
        extents = tuple(extent for extent, _ in digits)
        shape.append(extents if len(extents) > 1 else extents[0] if extents else 1)
        strides += [as_vector(stride) for _, stride in digits] or [Vector()]
    replica = tuple(Iter(extent, as_vector(stride)) for extent, stride in copies)
    return Layout(tuple(shape), tuple(strides), replica=replica, offset=as_vector(offset))


def listed(numbers: Iterable[int]) -> str:
    """Return numbers with commas between them, as dialects print them."""
    return ",".join(map(str, numbers))
