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
from dataclasses import dataclass
from math import prod

from tilewise.core.axes import m
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import along
from tilewise.notation.dialects.given import (
    Given,
    Reading,
    integer,
    integers,
    layout_of_modes,
    listed,
    words,
)
from tilewise.notation.dialects.packed import packed_digits, tiled_order
from tilewise.notation.dialects.tiling import (
    JOINED,
    MAX_DIMENSIONS,
    MAX_TILES,
    Digits,
    broken_index,
    place_in_tiles,
    tiled,
    untiled,
)
from tilewise.notation.tokens import END, NAME, Cursor, Token

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

_NAMES = {"f8e4m3fn": "e4m3", "f8e5m2": "e5m2", "f8e4m3fnuz": "e4m3fnuz", "f8e5m2fnuz": "e5m2fnuz"}
_NAMES |= {"f8e8m0fnu": "ue8m0", "f4e2m1fn": "e2m1"}
"""XLA's names of types that are known here by another name (xla/xla_data.proto)."""
_SAME = ("f64", "f32", "f16", "bf16", "s64", "s32", "s16", "s8", "s4", "u64", "u32", "u16", "u8", "u4")
_BITS = {"pred": 8, "c64": 64, "c128": 128, "f8e3m4": 8, "f8e4m3": 8, "f8e4m3b11fnuz": 8}
_BITS |= {"s1": 1, "u1": 1, "s2": 2, "u2": 2}
"""Widths of XLA's types that are not known here."""

_COMMENT = re.compile(r"/\*[^*]*\*/")
_ATTRIBUTES = "T(8,128) tiles, S(n) the memory space, E(n) the bits of an element, L(n) and M(n) padding"


@dataclass(frozen=True, slots=True)
class _Array:
    """An array's type and layout as they are written."""

    span: tuple[int, int]
    type_name: str | None = None
    shape: tuple[int, ...] | None = None
    order: tuple[int, ...] = ()
    """The dimensions, minor first."""
    tiles: tuple[tuple[int, ...], ...] = ()
    element_bits: int = 0
    notes: tuple[str, ...] = ()


# -- reading ---------------------------------------------------------------------------------------


def read(given: Given) -> Reading:
    """Return the layout of an array: one mode a dimension, its digits from the outermost tile inwards."""
    cursor = Cursor(_COMMENT.sub(lambda found: " " * len(found.group()), given.text), words)
    named = _skip_name(cursor)
    arrays: dict[str, _Array] = {}
    if cursor.next.text == "(":
        _tuple(cursor, (), arrays)
        array = arrays[given.chosen(arrays, "a tuple")]
    else:
        array = _array(cursor, given.shape)
    if named and cursor.next.kind == NAME:
        cursor.take()
    else:
        cursor.expect_end("the layout")
    if array.shape is None:
        raise LayoutError("TW107", f"a {array.type_name} has no layout", span=array.span, source=given.text)
    dtype, type_notes = _type(array)
    layout = _layout(cursor, array, array.shape)
    padded = tuple(extents_of(layout.shape)) if array.shape else ()
    box = array.shape if padded != array.shape else None
    return Reading(layout, dtype, box, (*array.notes, *type_notes))


def _skip_name(cursor: Cursor) -> bool:
    """Skip `ROOT %name =`, and return whether it was there."""
    signs = [token.text for token in cursor.tokens[:64] if token.text in ("=", "[", "(", "{", ":")]
    if signs[:1] != ["="]:
        return False
    while not cursor.accept("="):
        cursor.take()
    return True


def _tuple(cursor: Cursor, path: tuple[int, ...], arrays: dict[str, _Array]) -> None:
    """Take the arrays of a tuple; a tuple inside it has its number before theirs: 1.0."""
    opened = cursor.expect("(")
    if len(path) > 16:
        raise cursor.error("TW005", "tuples in more than 16 tuples")
    count = 0
    while cursor.next.text != ")":
        if count:
            cursor.expect(",", opened)
        inside = (*path, count)
        if cursor.next.text == "(":
            _tuple(cursor, inside, arrays)
        else:
            arrays[".".join(map(str, inside))] = _array(cursor, None)
        count += 1
    cursor.take()
    if not path and not arrays:
        raise cursor.error("TW004", "an empty tuple has no layout", cursor.since(opened))


def _array(cursor: Cursor, shape: tuple[int, ...] | None) -> _Array:
    """Take `bf16[256,512]{1,0}`; where there are braces alone, the shape is the one given."""
    start = cursor.next
    word = cursor.take() if start.kind == NAME else None
    notes: list[str] = []
    if word is not None:
        if word.text in ("token", "opaque"):
            _skip_brackets(cursor)
            return _Array(word.span, word.text)
        shape = _extents(cursor, word, notes)
    if cursor.next.text != "{" and word is not None:
        notes.append("the text has no layout: row-major is XLA's default")
        order = tuple(reversed(range(len(shape or ()))))
        return _Array(cursor.since(start), word.text, shape, order, notes=tuple(notes))
    opened = cursor.expect("{", hint="such as {1,0:T(8,128)}")
    order = _order(cursor, opened, shape)
    tiles: tuple[tuple[int, ...], ...] = ()
    bits = 0
    if cursor.accept(":"):
        tiles, bits = _attributes(cursor, notes)
    cursor.expect("}", opened)
    if shape is None:
        Given().needs_shape("a layout of XLA")
    return _Array(
        cursor.since(start), None if word is None else word.text, shape, order, tiles, bits, tuple(notes)
    )


def _skip_brackets(cursor: Cursor) -> None:
    if cursor.accept("["):
        cursor.expect("]")


def _extents(cursor: Cursor, word: Token, notes: list[str]) -> tuple[int, ...]:
    """Take `[256,<=512]`."""
    opened = cursor.expect("[")
    shape: list[int] = []
    while cursor.next.text != "]":
        if shape:
            cursor.expect(",", opened)
        if cursor.next.text == "?":
            raise cursor.error("TW102", "a dimension without a bound has no extent")
        if cursor.accept("<="):
            notes.append(f"dimension {len(shape)} is dynamic: the layout is that of its bound")
        shape.append(integer(cursor))
    cursor.take()
    if any(extent < 1 for extent in shape):
        raise cursor.error("TW102", f"an array of {listed(shape)} holds no element", cursor.since(word))
    if len(shape) > MAX_DIMENSIONS:
        raise cursor.error("TW005", f"an array of more than {MAX_DIMENSIONS} dimensions", cursor.since(word))
    return tuple(shape)


def _order(cursor: Cursor, opened: Token, shape: tuple[int, ...] | None) -> tuple[int, ...]:
    """Take the dimensions, minor first: each once."""
    order: list[int] = []
    while cursor.next.text not in (":", "}"):
        if order:
            cursor.expect(",", opened)
        order.append(integer(cursor))
    count = len(order) if shape is None else len(shape)
    if sorted(order) != [*range(count)]:
        raise cursor.error(
            "TW003",
            f"the order {{{listed(order)}}} is no permutation of the {count} dimensions",
            cursor.since(opened),
            hint=f"the minor dimension comes first: {{{listed(reversed(range(count)))}}} is row-major"
            if count <= 16
            else "",
        )
    return tuple(order)


def _attributes(cursor: Cursor, notes: list[str]) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Take what follows the order; return the tiles, and the bits of an element, 0 where they do not say."""
    tiles: list[tuple[int, ...]] = []
    bits = 0
    seen: set[str] = set()
    while cursor.next.text != "}":
        word = cursor.next
        if word.kind == END:
            return tuple(tiles), bits  # the brace that is never closed is told by the caller
        if word.text in seen:
            raise cursor.error("TW004", f"{word} is there twice")
        seen.add(word.text)
        if cursor.accept("T"):
            tiles = _tiles(cursor)
        elif cursor.accept("D"):
            _dense(cursor)
        elif cursor.accept("#", "*"):
            _only_sparse(cursor, word)
        elif cursor.accept("E", "S", "L", "M"):
            (number,) = _number(cursor)
            bits = number if word.text == "E" else bits
            notes += _told(word.text, number)
        elif word.text in ("SC", "P"):
            raise cursor.error("TW008", _REFUSED[word.text])
        else:
            raise cursor.error(
                "TW002", f"{word} is no attribute of an array's layout", hint=f"known: {_ATTRIBUTES}"
            )
    return tuple(tiles), bits


_REFUSED = {
    "SC": "SC splits an array between several memories, which is not read here",
    "P": "P is the physical shape of a sparse array, whose places are data",
}


def _told(attribute: str, number: int) -> list[str]:
    """Return what an attribute says beside the layout, in words."""
    return {
        "E": [],
        "S": [f"memory space {number}"] if number else [],
        "L": [f"the buffer is padded at its end to a multiple of {number} elements"],
        "M": [f"{number} bytes before the data hold the sizes of its dynamic dimensions"],
    }[attribute]


def _number(cursor: Cursor) -> tuple[int]:
    """Take `(5)`."""
    opened = cursor.next
    found = integers(cursor, "(", ")")
    if len(found) != 1 or found[0] < 0:
        raise cursor.error("TW004", "one number belongs here", cursor.since(opened), "such as S(1)")
    return (found[0],)


def _dense(cursor: Cursor) -> None:
    """Take `D(D,D)`, which says that each dimension is dense."""
    opened = cursor.expect("(")
    while not cursor.accept(")"):
        word = cursor.take()
        if word.text in ("C", "S", "H"):
            raise cursor.error(
                "TW008", "a sparse array's places are data, which no layout tells", word.span, "D is dense"
            )
        if word.text != "D":
            raise cursor.error("TW004", f"expected 'D', found {word}", word.span)
        while cursor.accept("+", "~"):
            pass
        if cursor.next.text != ")":
            cursor.expect(",", opened)


def _only_sparse(cursor: Cursor, word: Token) -> None:
    """Take `#(u32)`: the type of a sparse array's indices, which says nothing of a dense one."""
    opened = cursor.expect("(")
    if not re.fullmatch(r"u\d+|invalid", cursor.next.text):
        raise cursor.error("TW105", f"{word} has an unsigned type, such as u32, not {cursor.next}")
    cursor.take()
    cursor.expect(")", opened)


def _tiles(cursor: Cursor) -> list[tuple[int, ...]]:
    """Take `(8,128)(2,1)`."""
    tiles = [_tile(cursor)]
    while cursor.next.text == "(":
        if len(tiles) == MAX_TILES:
            raise cursor.error("TW005", f"more than {MAX_TILES} tiles")
        tiles.append(_tile(cursor))
    return tiles


def _tile(cursor: Cursor) -> tuple[int, ...]:
    """Take `(8,*,128)`."""
    opened = cursor.expect("(")
    tile: list[int] = []
    while cursor.next.text != ")":
        if tile:
            cursor.expect(",", opened)
        if cursor.accept("*"):
            tile.append(JOINED)
            continue
        extent = integer(cursor)
        if extent < 1:
            raise cursor.error("TW102", "a tile has positive extents", cursor.behind.span, "such as T(8,128)")
        tile.append(extent)
    cursor.expect(")", opened)
    if not tile or tile[-1] == JOINED:
        what = "* joins a dimension with the next, and there is none" if tile else "a tile has extents"
        raise cursor.error("TW004", what, cursor.since(opened), "such as T(8,128)")
    return tuple(tile)


def _type(array: _Array) -> tuple[DType | None, list[str]]:
    """Return the type of an element as it lies in memory, and what is to be said about it.

    Without E(n) an element has whole bytes, also one of fewer bits (`element_size_in_bits` of xla/layout.h).
    """
    name, bits = array.type_name, array.element_bits
    if name is None:
        return None, [f"{bits} bits an element"] if bits else []
    known = known_type(_NAMES.get(name, name)) if name in (*_SAME, *_NAMES) else None
    own = known.bits if known else _BITS.get(name)
    if own is None:
        return None, [f"the type {name} is not known here"]
    width = bits or max(8, own)
    if known is not None and width == own:
        return known, []
    return known_type(f"b{width}"), [f"an element is of the type {name}, and has {width} bits in memory"]


def _layout(cursor: Cursor, array: _Array, shape: tuple[int, ...]) -> Layout:
    """Return the layout that the order and the tiles make of a shape."""
    physical = tuple(shape[dimension] for dimension in reversed(array.order))
    stages = [physical]
    for tile in array.tiles:
        if not stages[-1] and len(tile) == 1:
            stages[-1] = (1,)  # a scalar in a tile is its first element
        if len(tile) > len(stages[-1]):
            raise cursor.error(
                "TW003", f"a tile of {len(tile)} dimensions cuts {len(stages[-1])}", array.span
            )
        stages.append(tiled(stages[-1], tile))
        if len(stages[-1]) > MAX_DIMENSIONS:
            raise cursor.error("TW005", f"tiles that make more than {MAX_DIMENSIONS} dimensions", array.span)
    *before, last = stages
    digits = [[(extent, along(m, prod(last[at + 1 :])))] for at, extent in enumerate(last)]
    try:
        for stage, tile in zip(reversed(before), reversed(array.tiles), strict=True):
            digits = untiled(digits, stage, tile)
    except Refused as no:
        at = broken_index(lambda index: place_in_tiles(index, physical, array.tiles), physical)
        if at is None:
            raise
        index = [0] * len(at)
        for dimension, step in zip(reversed(array.order), at, strict=True):
            index[dimension] = step
        raise Refused(
            "TW510",
            f"{no.reason}, and no digits say that",
            witness={"index": tuple(index), "place": place_in_tiles(at, physical, array.tiles)},
            hint=f"element {listed(index)} breaks the steps of those before it",
        ) from None
    modes: list[Digits] = [[] for _ in shape]
    for dimension, found in zip(reversed(array.order), digits, strict=False):
        modes[dimension] = [digit for digit in found if digit[0] > 1]
    return layout_of_modes(modes)


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return the layout as XLA prints it: the order of the dimensions, and the fewest tiles.

    Refused (TW008) where the array is not packed. With a type the array stands before its layout.

    >>> from tilewise import S
    >>> write(S[((32, 4, 2), (4, 128)) : ((4096, 256, 1), (1024, 2))], Given(dtype=DType.of("bf16")))
    'bf16[256,512]{1,0:T(8,128)(2,1)}'
    """
    digits = packed_digits(layout, "XLA")
    shape = tuple(extents_of(layout.in_order("row").shape)) if layout.shape else ()
    order, tiles = tiled_order(digits, len(shape))
    said = ("T" if tiles else "") + "".join(f"({listed(tile)})" for tile in tiles)
    if given.dtype is not None and given.dtype.bits % 8:
        said += f"E({given.dtype.bits})"
    text = "{" + listed(reversed(order)) + (f":{said}" if said else "") + "}"
    if given.dtype is None:
        return text
    return f"{_xla_name(given.dtype)}[{listed(shape)}]{text}"


def _xla_name(dtype: DType) -> str:
    """Return XLA's name of a type; TW008 where it has none."""
    for name in (*_SAME, *_NAMES):
        if known_type(_NAMES.get(name, name)) == dtype:
            return name
    raise LayoutError("TW008", f"XLA has no type {dtype}", hint="known: " + " ".join((*_SAME, *_NAMES)))
