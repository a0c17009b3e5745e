"""The texts of questions: an index, a place, a shape, a window."""

from __future__ import annotations

from collections.abc import Mapping

from tilewise.core.errors import LayoutError
from tilewise.core.vectors import Vector
from tilewise.notation.tokens import END, NAME, shortened
from tilewise.notation.trees import Names, NumberCursor, Tree, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMMAS = "separate the parts with commas"


def parse_index(text: str, let: Mapping[str, int] | None = None) -> Any:
    """Return an index: flat, one number a mode, or nested; parentheses around a list may be left out.

    >>> parse_index("37"), parse_index("5,3,1"), parse_index("((1, 0), (2, 3))")
    (37, (5, 3, 1), ((1, 0), (2, 3)))
    """
    cursor = _started(text, let, "an index", "such as 37 or 5,3,1")
    return plain(_listed(cursor, "the index"))


def parse_shape(text: str, let: Mapping[str, int] | None = None) -> Any:
    """Return a shape, such as `8,8` or `((4,2),(2,4))`.

    >>> parse_shape("8,8"), parse_shape("((4,2),8)")
    ((8, 8), ((4, 2), 8))
    """
    cursor = _started(text, let, "a shape", "such as 8,8", given=True)
    return cursor.shape_of(_listed(cursor, "the shape"))


def parse_place(text: str, let: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return a full or partial place: `laneid=5,reg=1`, `5@laneid + 1@reg`, or a bare integer, which is m.

    >>> parse_place("laneid=5,reg=1"), parse_place("27"), parse_place("5@laneid + 1@reg")
    ({'laneid': 5, 'reg': 1}, {'m': 27}, {'laneid': 5, 'reg': 1})
    """
    cursor = _started(text, let, "a place", "such as laneid=5,reg=1")
    place: dict[str, int] = {}
    while True:
        start = cursor.next
        if start.kind == NAME:
            on = cursor.axis()
            cursor.expect("=", hint=f"write {shortened(start.text)}=0")
            named = {on.name: cursor.factor()}
        else:
            value = cursor.vector().value
            assert isinstance(value, Vector)
            named = value.as_dict() or {"m": 0}
        for name, steps in named.items():
            if name in place:
                raise cursor.error("TW203", f"{name} is given twice", cursor.since(start))
            place[name] = steps
        if not cursor.accept(","):
            break
    cursor.expect_end("the place", _COMMAS)
    return place


def parse_window(
    text: str, let: Mapping[str, int] | None = None
) -> tuple[tuple[int | None, int | None], ...]:
    """Return one range a mode: `0:16,8:24`; an empty side is the end of the mode, a number one index.

    >>> parse_window("0:16,8:24"), parse_window(":,3")
    (((0, 16), (8, 24)), ((None, None), (3, 4)))
    """
    cursor = _started(text, let, "a window", "such as 0:16,8:24")
    parts = _parts(cursor, "the window")
    return tuple([(part.start, part.stop) if isinstance(part, slice) else (part, part + 1) for part in parts])


def parse_region(text: str, let: Mapping[str, int] | None = None) -> tuple[slice | int, ...]:
    """Return one range or index a mode, for `Layout.slice`; an index picks, a range of 1 does not.

    Both `:` and `_` keep a mode whole.

    >>> parse_region("0:4,3,:,_")
    (slice(0, 4, None), 3, slice(None, None, None), slice(None, None, None))
    """
    try:
        cursor = _started(text, let, "a region", "such as 0:4,3")
        return tuple(_parts(cursor, "the region"))
    except LayoutError as error:
        if error.hint not in ("", _COMMAS) and error.code != "TW101":
            raise
        hint = "a range or an index a mode, such as 2:4,0,: with : or _ for a whole mode"
        raise LayoutError(
            error.code, error.message, hint=hint, span=error.span, source=error.source
        ) from None


def _parts(cursor: NumberCursor, what: str) -> list[slice | int]:
    found = [_part(cursor)]
    while cursor.accept(","):
        found.append(_part(cursor))
    cursor.expect_end(what, _COMMAS)
    return found


def _part(cursor: NumberCursor) -> slice | int:
    if cursor.accept("_"):
        return slice(None)
    if cursor.next.text == "(":
        raise cursor.error(
            "TW004",
            "a region has one range a mode, and none inside a mode",
            hint="give the inner modes a shape, such as shape=(8, 16, 64) for ((8, 16), 64)",
        )
    start = None if cursor.next.text == ":" else cursor.factor()
    if not cursor.accept(":"):
        if start is None:
            raise cursor.error("TW004", "expected a range such as 0:16")
        return start
    at_end = cursor.next.kind == END or cursor.next.text == ","
    stop = None if at_end else cursor.factor()
    if cursor.next.text == ":":
        raise cursor.error(
            "TW004",
            "a range has no step",
            hint="every n-th element is a composition: compose with S[extent : n]",
        )
    return slice(start, stop)


def _started(
    text: str, let: Mapping[str, int] | None, what: str, example: str, given: bool = False
) -> NumberCursor:
    cursor = NumberCursor(text, Names(let or {}, frozenset(), given=given or bool(let)))
    if cursor.next.kind == END:
        raise cursor.error("TW004", f"expected {what}, found nothing", hint=example)
    return cursor


def _listed(cursor: NumberCursor, what: str) -> Tree:
    found, _ = cursor.trees(cursor.integer, "")
    cursor.expect_end(what, _COMMAS)
    return found
