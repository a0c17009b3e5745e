"""Calls of Python and attributes of MLIR, which say the same in other brackets.

Replicated(times=4)          #mosaic_gpu.Replicated<times = 4>
"""

from __future__ import annotations

from collections.abc import Callable

from tilewise.notation.dialects.given import items, positive
from tilewise.notation.tokens import NAME, Cursor, Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tilewise.notation.dialects.given import Item

CLOSING = {"(": ")", "[": "]", "<": ">"}


def kind_of(token: Token) -> str:
    """Return the name that a text begins with, without its module."""
    return token.text.rpartition(".")[2] if token.kind == NAME else ""


def arguments(cursor: Cursor, **taken: Callable[[Cursor], Any]) -> tuple[list[Any], list[tuple[int, int]]]:
    """Take arguments in brackets, in this order, each with its name or without; return where they stand, too.

    >>> from tilewise.notation.dialects.given import Given
    >>> cursor = Given("([8, 4], vec_size=2)").cursor()
    >>> arguments(cursor, shape=numbers, vec_size=positive)
    ([(8, 4), 2], [(1, 7), (18, 19)])
    """
    opened = cursor.accept("(", "<")
    if opened is None:
        raise cursor.error("TW004", f"expected '(' or '<', found {cursor.next}")
    values: list[Any] = []
    spans: list[tuple[int, int]] = []
    for name, take in taken.items():
        if values and not cursor.accept(","):
            raise cursor.error("TW004", f"expected {name}, found {cursor.next}", hint=f"such as {name}=-1")
        if cursor.accept(name):
            cursor.expect("=")
        start = cursor.next
        values.append(take(cursor))
        spans.append(cursor.since(start))
    cursor.accept(",")
    cursor.expect(CLOSING[opened.text], opened, hint=f"what is read here: {', '.join(taken)}")
    return values, spans


def bracketed(cursor: Cursor, take: Callable[[Cursor], Item]) -> tuple[Item, ...]:
    """Take what stands in brackets of either kind."""
    opened = cursor.accept("(", "[")
    if opened is None:
        message = f"expected numbers in brackets, found {cursor.next}"
        raise cursor.error("TW004", message, hint="such as (64, 8)")
    return tuple(items(cursor, opened, CLOSING[opened.text], take))


def numbers(cursor: Cursor) -> tuple[int, ...]:
    """Take `(64, 8)`, `(2,)` or `[64, 8]`."""
    return bracketed(cursor, positive)
