"""XLA's array layouts, read and written.

    bf16[256,512]{1,0:T(8,128)(2,1)S(1)}

The numbers in braces are the array's dimensions, minor first. A tile cuts the minor dimensions of what is
there, and what lies inside the tiles becomes new minor dimensions, which the next tile cuts. So a dimension
is a list of digits, and the strides of all digits are row-major over the order that the tiles leave.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Given, Reading, integer, integers, layout_of_modes, listed
from tilewise.notation.tokens import NAME, Cursor, Token

EXAMPLES = (
    Given("bf16[256,512]{1,0:T(8,128)(2,1)}"),
    Given("f32[2,100,200]{2,1,0:T(8,128)S(1)}"),
    Given("{0,1}", shape=(64, 32)),
)

_TYPES = {"pred": "u8", "f8e4m3fn": "e4m3", "f8e5m2": "e5m2"}
"""XLA's names of types, where they are not ours."""


@dataclass(frozen=True, slots=True)
class _Digit:
    """A part of a dimension: so many steps in the tiled array."""

    dimension: int
    extent: int


def read(given: Given) -> Reading:
    """Return the layout of an array: one mode a dimension, its digits from the outermost tile inwards."""
    cursor = given.cursor()
    dtype, shape = _array(cursor)
    opened = cursor.expect("{")
    order: list[int] = []
    while cursor.next.text not in (":", "}"):
        if order:
            cursor.expect(",", opened)
        order.append(integer(cursor))
    if shape is None:
        shape = given.needs_shape("a layout of XLA")
    if sorted(order) != [*range(len(shape))]:
        raise cursor.error(
            "TW003",
            f"the order {{{listed(order)}}} is no permutation of the {len(shape)} dimensions",
            cursor.since(opened),
            hint=f"the minor dimension comes first: {{{listed(reversed(range(len(shape))))}}} is row-major",
        )
    digits = [_Digit(dimension, shape[dimension]) for dimension in reversed(order)]
    notes: list[str] = []
    if cursor.accept(":"):
        digits, notes = _attributes(cursor, digits)
    cursor.expect("}", opened)
    cursor.expect_end("the layout")
    layout = _layout(digits, len(shape))
    padded = tuple(extents_of(layout.shape)) if shape else ()
    return Reading(layout, dtype, shape if padded != shape else None, tuple(notes))


def _array(cursor: Cursor) -> tuple[DType | None, tuple[int, ...] | None]:
    """Take `bf16[256,512]`, where it is there."""
    word = cursor.accept(cursor.next.text) if cursor.next.kind == NAME else None
    if word is None:
        return None, None
    spelled = _TYPES.get(word.text, word.text)
    if not known_type(spelled):
        raise cursor.error("TW105", f"'{word.text}' is no type of XLA that is known here", word.span)
    shape = integers(cursor)
    if any(extent < 1 for extent in shape):
        raise cursor.error("TW102", f"an array of {listed(shape)} holds no element", cursor.since(word))
    return DType.of(spelled), shape


def _attributes(cursor: Cursor, digits: list[_Digit]) -> tuple[list[_Digit], list[str]]:
    """Take tiles, the memory space, and the size of an element."""
    notes: list[str] = []
    while cursor.next.text != "}":
        word = cursor.next
        if word.text == "T" and cursor.take():
            while cursor.next.text == "(":
                digits = _tiled(cursor, digits)
        elif word.text in ("S", "E") and cursor.take():
            opened = cursor.expect("(")
            number = integer(cursor)
            cursor.expect(")", opened)
            notes.append(f"memory space {number}" if word.text == "S" else f"{number} bits an element")
        else:
            raise cursor.error(
                "TW002",
                f"{word} is no attribute of an array's layout that is read here",
                hint="known: T(...) tiles, S(n) the memory space, E(n) the bits of an element",
            )
    return digits, notes


def _tiled(cursor: Cursor, digits: list[_Digit]) -> list[_Digit]:
    """Take one tile, and cut the minor digits by it."""
    opened = cursor.next
    tile = _tile(cursor)
    if len(tile) > len(digits):
        raise cursor.error(
            "TW003",
            f"a tile of {len(tile)} dimensions cuts {len(digits)}",
            cursor.since(opened),
        )
    kept, cut = digits[: len(digits) - len(tile)], digits[len(digits) - len(tile) :]
    outer: list[_Digit] = []
    inner: list[_Digit] = []
    for digit, extent in zip(cut, tile, strict=True):
        many = -(-digit.extent // extent)
        if digit.extent % extent and _is_inner(digit, digits):
            raise Refused(
                "TW503",
                f"a tile of {extent} pads each {digit.extent} that another tile has made: no digits say that",
                witness={"extent": digit.extent, "tile": extent},
            )
        outer.append(_Digit(digit.dimension, many))
        inner.append(_Digit(digit.dimension, extent))
    return kept + outer + inner


def _is_inner(digit: _Digit, digits: list[_Digit]) -> bool:
    """Return whether other digits of the dimension lie outside this one."""
    others = (other for other in digits if other is not digit and other.extent > 1)
    return any(other.dimension == digit.dimension for other in others)


def _tile(cursor: Cursor) -> tuple[int, ...]:
    opened: Token = cursor.next
    tile = integers(cursor, "(", ")")
    if not tile or any(extent < 1 for extent in tile):
        raise cursor.error("TW102", "a tile has positive extents", cursor.since(opened), "such as T(8,128)")
    return tile


def _layout(digits: list[_Digit], dimensions: int) -> Layout:
    strides = [prod(digit.extent for digit in digits[at + 1 :]) for at in range(len(digits))]
    modes: list[list[tuple[int, int]]] = [[] for _ in range(dimensions)]
    for digit, stride in zip(digits, strides, strict=True):
        if digit.extent > 1:
            modes[digit.dimension].append((digit.extent, stride))
    return layout_of_modes(modes)


def write(layout: Layout, given: Given) -> str:
    """Return the layout as XLA prints it: the order of the dimensions, and no tiles.

    Refused where the dimensions are no permutation of a row-major array.
    """
    raise LayoutError("TW008", "not written yet")
