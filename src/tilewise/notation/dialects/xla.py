"""XLA's array layouts, read and written.

    bf16[256,512]{1,0:T(8,128)(2,1)S(1)}

The numbers in braces are the array's dimensions, minor first. A tile cuts the minor dimensions of what is
there, and what lies inside the tiles becomes new minor dimensions, which the next tile cuts. So a dimension
is a list of digits, and the strides of all digits are row-major over the order that the tiles leave.

Sources, all in https://github.com/openxla/xla: docs/tiled_layout.md for the meaning, xla/layout.cc for what
is printed, `ParseLayout` of xla/hlo/parser/hlo_parser.cc for what is taken, xla/layout.h for the attributes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count

from tilewise.core.axes import m
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import (
    Given,
    Reading,
    integer,
    integers,
    items,
    layout_of_modes,
    listed,
    positive,
)
from tilewise.notation.dialects.packed import packed_digits, tiled_order
from tilewise.notation.dialects.tiling import (
    JOINED,
    MAX_DIMENSIONS,
    MAX_TILES,
    layout_in_tiles,
    row_major,
    tiled,
)
from tilewise.notation.tokens import END, NAME, Cursor

EXAMPLES = (
    Given("bf16[256,512]{1,0:T(8,128)(2,1)}"),
    Given("f32[2,100,200]{2,1,0:T(8,128)S(1)}"),
    Given("{0,1}", shape=(64, 32)),
    Given("s4[64,32]{1,0:E(4)}"),
    Given("f32[]{:T(128)}"),
    Given("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,5)}"),
    Given("%p.1 = bf16[256,512]{1,0:T(8,128)(2,1)} parameter(0)"),
    Given("ROOT %t = (f32[2]{0}, /*index=1*/s32[]) tuple(f32[2]{0} %a, s32[] %b)", part="0"),
)

_NAMES = {name: name for name in "f64 f32 f16 bf16 s64 s32 s16 s8 s4 u64 u32 u16 u8 u4".split()} | {
    "f8e4m3fn": "e4m3",
    "f8e5m2": "e5m2",
    "f8e4m3fnuz": "e4m3fnuz",
    "f8e5m2fnuz": "e5m2fnuz",
    "f8e8m0fnu": "ue8m0",
    "f4e2m1fn": "e2m1",
}
"""XLA's names of types, and what they are called here (xla/xla_data.proto)."""
_BITS = {"pred": 8, "c64": 64, "c128": 128, "f8e3m4": 8, "f8e4m3": 8, "f8e4m3b11fnuz": 8}
_BITS |= {"s1": 1, "u1": 1, "s2": 2, "u2": 2}
"""Widths of XLA's types that are not known here."""

_NAMED = r"\s*(?:ROOT\s+)?%?[\w.-]+\s*="
"""The name of an instruction, whose result has the layout."""
_SAYS_NOTHING = r"/\*[^*]*\*/|\bD\((?:D[+~]*,?\s*)+\)|[#*]\((?:u\d+|invalid)\)"
"""Comments, D(D,D) of dimensions that are all dense, and the types of the indices of a sparse array."""
_TOLD = {
    "E": "{} bits an element",
    "S": "memory space {}",
    "L": "the buffer is padded at its end to a multiple of {} elements",
    "M": "{} bytes before the data hold the sizes of its dynamic dimensions",
}
"""{attribute with a number: its note beside the layout}."""
_REFUSED = {
    "SC": "SC splits an array between several memories, which is not read here",
    "P": "P is the physical shape of a sparse array, whose places are data",
    "D": "a dimension that is not D, dense, has places that are data, which no layout tells",
}
_KNOWN = "T(8,128) tiles, S(n) the memory space, E(n) the bits of an element, L(n) and M(n) padding"


@dataclass(slots=True)
class _Array:
    """An array's type and layout as they are written."""

    span: tuple[int, int]
    notes: list[str]
    type_name: str | None = None
    shape: tuple[int, ...] | None = None
    order: tuple[int, ...] = ()
    """The dimensions, minor first."""
    tiles: tuple[tuple[int, ...], ...] = ()
    element_bits: int = 0


# -- reading ---------------------------------------------------------------------------------------


def read(given: Given) -> Reading:
    """Return the layout of an array: one mode a dimension, its digits from the outermost tile inwards."""
    is_named = re.match(_NAMED, given.text) is not None
    lines = {
        line.split("=")[0].split()[-1]: line for line in given.text.splitlines() if re.match(_NAMED, line)
    }
    if len(lines) > 1:
        return read(replace(given, text=lines[given.chosen(lines, "the text")], part=None))
    cursor = given.cursor(rf"\A{_NAMED}|{_SAYS_NOTHING}")
    arrays: dict[str, _Array] = {}
    if cursor.next.text == "(":
        _tuple(cursor, "", arrays)
        array = arrays[given.chosen(arrays, "a tuple")]
    else:
        array = _array(cursor, given.shape)
    if not (is_named and cursor.next.kind == NAME):
        cursor.expect_end("the layout")
    if array.shape is None:
        raise cursor.error("TW107", f"a {array.type_name} has no layout", array.span)
    dtype = _type(array)
    layout = _layout(array, array.shape)
    padded = extents_of(layout.shape)
    return Reading(layout, dtype, array.shape if padded != array.shape else None, tuple(array.notes))


def _tuple(cursor: Cursor, path: str, arrays: dict[str, _Array]) -> None:
    """Take the arrays of a tuple; a tuple inside it has its number before theirs: 1.0."""
    opened = cursor.expect("(")
    if path.count(".") > 16:
        raise cursor.error("TW005", "tuples in more than 16 tuples")
    numbers = count()

    def one(cursor: Cursor) -> None:
        inside = f"{path}{next(numbers)}"
        if cursor.next.text == "(":
            _tuple(cursor, f"{inside}.", arrays)
        else:
            arrays[inside] = _array(cursor, None)

    items(cursor, opened, ")", one)
    if not path and not arrays:
        raise cursor.error("TW004", "an empty tuple has no layout", cursor.since(opened))


def _array(cursor: Cursor, shape: tuple[int, ...] | None) -> _Array:
    """Take `bf16[256,512]{1,0}`; where there are braces alone, the shape is the one given."""
    start = cursor.next
    array = _Array(start.span, [], shape=shape)
    if start.kind == NAME:
        array.type_name = cursor.take().text
        if start.text in ("token", "opaque"):
            if cursor.next.text == "[":
                integers(cursor)
            array.shape = None
            return array
        array.shape = _extents(cursor, array.notes)
    if array.type_name and cursor.next.text != "{":
        array.notes.append("the text has no layout: row-major is XLA's default")
        array.order = tuple(reversed(range(len(array.shape or ()))))
    else:
        _braces(cursor, array)
    array.span = cursor.since(start)
    return array


def _extents(cursor: Cursor, notes: list[str]) -> tuple[int, ...]:
    """Take `[256,<=512]`."""
    opened = cursor.expect("[")

    def extent(cursor: Cursor) -> tuple[int, bool]:
        is_bound = cursor.accept("<=") is not None
        return positive(cursor), is_bound

    found = items(cursor, opened, "]", extent)
    for at, (_, is_bound) in enumerate(found):
        if is_bound:
            notes.append(f"dimension {at} is dynamic: the layout is that of its bound")
    return tuple(number for number, _ in found)


def _braces(cursor: Cursor, array: _Array) -> None:
    """Take `{1,0:T(8,128)(2,1)S(1)}`: the dimensions, minor first and each once, and the attributes."""
    opened = cursor.expect("{", hint="such as {1,0:T(8,128)}")
    while cursor.next.text not in (":", "}"):
        if array.order:
            cursor.expect(",", opened)
        array.order = (*array.order, integer(cursor))
    rank = len(array.order if array.shape is None else array.shape)
    if sorted(array.order) != [*range(rank)]:
        raise cursor.error(
            "TW003",
            f"the order {{{listed(array.order)}}} is no permutation of the {rank} dimensions",
            cursor.since(opened),
            hint=f"the minor dimension comes first: {{{listed(reversed(range(rank)))}}} is row-major",
        )
    seen: set[str] = set()
    if cursor.accept(":"):
        while cursor.next.text != "}" and cursor.next.kind != END:
            _attribute(cursor, array, seen)
    cursor.expect("}", opened)
    if array.shape is None:
        Given().needs_shape("a layout of XLA")


def _attribute(cursor: Cursor, array: _Array, seen: set[str]) -> None:
    """Take one of what follows the order."""
    word = cursor.next
    if word.text in seen:
        raise cursor.error("TW004", f"{word} is there twice")
    seen.add(word.text)
    if word.text in _REFUSED:
        raise cursor.error("TW008", _REFUSED[word.text])
    if word.text != "T" and word.text not in _TOLD:
        raise cursor.error("TW002", f"{word} is no attribute of an array's layout", hint=f"known: {_KNOWN}")
    cursor.take()
    if word.text == "T":
        array.tiles = _tiles(cursor)
        return
    opened = cursor.next
    number, *others = integers(cursor, "(", ")") or (-1,)
    if others or number < 0:
        raise cursor.error("TW004", "one number belongs here", cursor.since(opened), "such as S(1)")
    if word.text == "E":
        array.element_bits = number
    elif word.text != "S" or number:
        array.notes.append(_TOLD[word.text].format(number))


def _tiles(cursor: Cursor) -> tuple[tuple[int, ...], ...]:
    """Take `(8,128)(2,1)`."""
    tiles: list[tuple[int, ...]] = []
    while not tiles or cursor.next.text == "(":
        if len(tiles) == MAX_TILES:
            raise cursor.error("TW005", f"more than {MAX_TILES} tiles")
        opened = cursor.expect("(")
        tile = items(cursor, opened, ")", _extent_of_tile)
        if not tile or tile[-1] == JOINED:
            what = "* joins a dimension with the next, and this is the last" if tile else "a tile has extents"
            raise cursor.error("TW004", what, cursor.since(opened), "such as T(8,128)")
        tiles.append(tuple(tile))
    return tuple(tiles)


def _extent_of_tile(cursor: Cursor) -> int:
    """Take a number, or `*`."""
    return JOINED if cursor.accept("*") else positive(cursor)


def _type(array: _Array) -> DType | None:
    """Return the type of an element as it lies in memory, and note what is to be said about it.

    Without E(n) an element has whole bytes, also one of fewer bits (`element_size_in_bits` of xla/layout.h).
    """
    name, bits = array.type_name, array.element_bits
    if name is None:
        array.notes += [f"{bits} bits an element"] if bits else []
        return None
    known = known_type(_NAMES[name]) if name in _NAMES else None
    own = known.bits if known else _BITS.get(name)
    if own is None:
        array.notes.append(f"the type {name} is not known here")
        return None
    width = bits or max(8, own)
    if known is not None and width == own:
        return known
    array.notes.append(f"an element is of the type {name}, and has {width} bits in memory")
    return known_type(f"b{width}")


def _layout(array: _Array, shape: tuple[int, ...]) -> Layout:
    """Return the layout that the order and the tiles make of a shape."""
    if not shape:
        return layout_of_modes([])  # a scalar in a tile is its first element
    order = array.order[::-1]
    physical = [shape[dimension] for dimension in order]
    extents = tiled(physical, array.tiles)
    if len(extents) > MAX_DIMENSIONS:
        raise LayoutError("TW005", f"tiles that make more than {MAX_DIMENSIONS} dimensions")
    return layout_in_tiles(physical, array.tiles, row_major(extents, m), order=order)


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return the layout as XLA prints it: the order of the dimensions, and the fewest tiles.

    Refused (TW008) where the array is not packed. With a type the array stands before its layout.

    >>> from tilewise import S
    >>> write(S[((32, 4, 2), (4, 128)) : ((4096, 256, 1), (1024, 2))], Given(dtype=DType.of("bf16")))
    'bf16[256,512]{1,0:T(8,128)(2,1)}'
    """
    digits = packed_digits(layout, "XLA")
    shape = extents_of(layout.in_order("row").shape)
    order, tiles = tiled_order(digits, len(shape))
    said = ("T" if tiles else "") + "".join(f"({listed(tile)})" for tile in tiles)
    if given.dtype is not None and given.dtype.bits % 8:
        said += f"E({given.dtype.bits})"
    text = "{" + listed(reversed(order)) + (f":{said}" if said else "") + "}"
    return text if given.dtype is None else f"{_xla_name(given.dtype)}[{listed(shape)}]{text}"


def _xla_name(dtype: DType) -> str:
    """Return XLA's name of a type; TW008 where it has none."""
    for name, own in _NAMES.items():
        if known_type(own) == dtype:
            return name
    raise LayoutError("TW008", f"XLA has no type {dtype}", hint="known: " + " ".join(_NAMES))
