"""`access_of`: from what a user asks for to the access of a tile."""

from __future__ import annotations

from dataclasses import replace

from tilewise.check.access.access import Access
from tilewise.check.access.question import Question
from tilewise.check.access.spelling import Words, spelled
from tilewise.check.access.width import widest_of
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.hardware.memory.banks import Operation

FIXED = ("ldmatrix", "stmatrix", "tma")
"""What no other instruction moves."""


def access_of(
    asked: Access | Layout | str,
    layout: Layout,
    dtype: DType | str,
    operation: Operation | str | None = None,
    base: int = 0,
) -> Access:
    """The access that a text, or a layout, means of a tile.

    Where no width is said, vectors are the widest that there are, of a tile at the byte address `base`.

        requires       a text as docs/access.md has them; a layout of (lane), (lane, element) or (request,
                       lane, element) to flat indices, or of who holds which element over laneid and reg
        postcondition  access_of(access.name, layout, dtype) == access
        refused        TW610 no instruction makes it, and why; TW502 an index that the tile has not

    >>> from tilewise import S
    >>> tile = S[(64, 64) : (64, 1)]
    >>> access = access_of("row", tile, "f16")
    >>> print(access.name, access.operation.name, access.index)
    row:16B ld S[(16, 32, 8) : (256, 8, 1)]
    >>> access_of("wgmma.D:f32:n64", tile, "f16").name
    'wgmma.D:f32:n64:4B'
    >>> access_of(S[(32, 4) : (64, 1)], tile, "f16", "st").name
    'S[(32, 4) : (64, 1)]:8B@st'
    """
    if isinstance(asked, Access):
        return _again(asked, layout, DType.of(dtype), operation)
    question = Question.of(asked, layout, dtype, operation, base)
    return widest_of(question).access if question.bytes is None else question.access(question.bytes)


def _again(access: Access, layout: Layout, dtype: DType, operation: Operation | str | None) -> Access:
    """An access that is one already, of a layout of the same tile."""
    access.check_size(layout.size)
    if dtype != access.dtype:
        raise LayoutError(
            "TW202", f"{access.name} is an access of elements of {access.dtype}, not of {dtype}"
        )
    own = access.operation if operation is None else Operation.of(operation)
    if own == access.operation:
        return access
    words = Words.of(access.name)
    if own.matrix or words.subject.split(".")[0] in FIXED:
        raise LayoutError(
            "TW601", f"{access.name} by {own.name}", hint=f"its instruction is {access.operation.name}"
        )
    return replace(access, name=spelled(words.subject, words.bytes, own.name), operation=own)
