"""XLA's array layouts, read and written.

    bf16[256,512]{1,0:T(8,128)(2,1)S(1)}

The numbers in braces are the array's dimensions, minor first. A tile cuts the minor dimensions,
and its inside becomes new minor dimensions, which the next tile cuts. So a dimension
is a list of digits, and the strides of all digits are row-major over the order that the tiles leave.

Sources, all in https://github.com/openxla/xla: docs/tiled_layout.md for the meaning, xla/layout.cc for the
prints, `ParseLayout` of xla/hlo/parser/hlo_parser.cc for the grammar, xla/layout.h for the attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from tilewise.core.axes import m
from tilewise.core.dtypes import DType, known_type
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.notation.dialects.given import Extents, Given, Reading, layout_of_modes, listed
from tilewise.notation.dialects.tiling import (
    JOINED,
    MAX_DIMENSIONS,
    MAX_TILES,
    layout_in_tiles,
    packed_digits,
    row_major,
    tiled,
    tiled_order,
)
from tilewise.notation.dialects.values import ELEMENTS, Item, Value, Written, between, value
from tilewise.notation.tokens import NAME, Cursor

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
    name: ELEMENTS[name] for name in "f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz f8e8m0fnu f4e2m1fn".split()
}
"""XLA's names of types, and the names here (xla/xla_data.proto)."""
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

    where: Written
    type_name: str | None = None
    shape: Extents | None = None
    order: Extents = ()
    """The dimensions, minor first."""
    tiles: tuple[Extents, ...] = ()
    element_bits: int = 0
    notes: list[str] = field(default_factory=list)


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
    words = _taken(cursor)
    if not (is_named and cursor.next.kind == NAME):
        cursor.expect_end("the layout")
    if words[0].text == "(":
        arrays = {name: _array(inside, None) for name, inside in _inside(words[0], "")}
        if not arrays:
            raise words[0].error("TW004", "an empty tuple has no layout")
        array = arrays[given.chosen(arrays, "a tuple")]
    else:
        array = _array(words, given.shape)
    if array.shape is None:
        raise array.where.error("TW107", f"a {array.type_name} has no layout")
    dtype = _type(array)
    layout = _layout(array, array.shape)
    padded = extents_of(layout.shape)
    return Reading(layout, dtype, array.shape if padded != array.shape else None, tuple(array.notes))


def _taken(cursor: Cursor) -> tuple[Value, ...]:
    """Take a word or brackets, and the brackets that follow."""
    found = [value(cursor)]
    while cursor.next.text in ("[", "{"):
        found.append(value(cursor))
    return tuple(found)


def _inside(brackets: Value, path: str) -> Iterable[tuple[str, tuple[Value, ...]]]:
    """Yield the arrays of a tuple by their numbers; a tuple inside it has its number before theirs: 1.0."""
    for number, item in enumerate(brackets.items):
        if item.text == "(":
            yield from _inside(item.single, f"{path}{number}.")
        else:
            yield f"{path}{number}", item.values


def _array(words: tuple[Value, ...], shape: Extents | None) -> _Array:
    """Return the array of `bf16[256,512]{1,0}`; braces alone take the shape that the caller gives."""
    array = _Array(between(words[0], words[-1]), shape=shape)
    match words:
        case [Value(text="token" | "opaque" as name), *_]:
            array.type_name, array.shape = name, None
        case [Value(kind="name", text=name), Value(text="[", items=extents), *braces] if len(braces) < 2:
            array.type_name, array.shape = name, _extents(extents, array.notes)
            if braces:
                _braces(braces[0], array)
            else:
                array.notes.append("the text has no layout: row-major is XLA's default")
                array.order = tuple(reversed(range(len(array.shape))))
        case [Value(text="{") as braces_alone]:
            _braces(braces_alone, array)
        case [_, _, _, odd, *_] | [odd, *_]:
            raise odd.error("TW004", f"{odd} begins no layout of XLA", "such as bf16[256,512]{1,0:T(8,128)}")
    return array


def _extents(items: Iterable[Item], notes: list[str]) -> Extents:
    """Return the extents in `[256,<=512]`."""
    extents = []
    for at, item in enumerate(items):
        if item.text == "<=":
            notes.append(f"dimension {at} is dynamic: the layout is that of its bound")
            item = replace(item, values=item.values[1:])
        extents.append(item.as_number(1))
    return tuple(extents)


def _braces(braces: Value, array: _Array) -> None:
    """Read `{1,0:T(8,128)(2,1)S(1)}`: the dimensions, minor first and each once, and the attributes."""
    attributes: list[Value] = []
    order: list[int] = []
    for item in braces.items:
        words = [*item.values]
        colon = next((at for at, word in enumerate(words) if word.text == ":"), len(words))
        if colon < len(words) and item is not braces.items[-1]:
            raise words[colon].error("TW004", "attributes follow the whole order")
        attributes += words[colon + 1 :]
        if colon or order:
            alone = item if colon == len(words) else replace(item, values=tuple(words[:colon]))
            order.append(alone.as_number())
    array.order = tuple(order)
    rank = len(order if array.shape is None else array.shape)
    if sorted(order) != [*range(rank)]:
        raise braces.error(
            "TW003",
            f"the order {{{listed(order)}}} is no permutation of the {rank} dimensions",
            f"the minor dimension comes first: {{{listed(reversed(range(rank)))}}} is row-major",
        )
    seen: set[str] = set()
    while attributes:
        word, *attributes = attributes
        given = [*takewhile(lambda following: following.text == "(", attributes)]
        attributes = attributes[len(given) :]
        if word.text in seen:
            raise word.error("TW004", f"{word} is there twice")
        seen.add(word.text)
        _attribute(word, given, array)
    if array.shape is None:
        Given().needs_shape("a layout of XLA")


def _attribute(word: Value, given: Sequence[Value], array: _Array) -> None:
    """Read one attribute after the order, such as `T(8,128)(2,1)`."""
    if word.text in _REFUSED:
        raise word.error("TW008", _REFUSED[word.text])
    if word.text != "T" and word.text not in _TOLD:
        raise word.error("TW002", f"{word} is no attribute of an array's layout", f"known: {_KNOWN}")
    if word.text == "T" and given:
        if len(given) > MAX_TILES:
            raise given[MAX_TILES].error("TW005", f"more than {MAX_TILES} tiles")
        array.tiles = tuple(map(_tile, given))
        return
    numbers = [number for brackets in given for number in brackets.numbers()]
    if len(numbers) != 1 or numbers[0] < 0:
        raise word.error("TW004", f"one number belongs after {word}", "such as S(1)")
    if word.text == "E":
        array.element_bits = numbers[0]
    elif word.text != "S" or numbers[0]:
        array.notes.append(_TOLD[word.text].format(numbers[0]))


def _tile(brackets: Value) -> Extents:
    """Return the extents of `(8,128)`, where `*` joins a dimension with the next."""
    tile = tuple(JOINED if item.spelled == "*" else item.as_number(1) for item in brackets.items)
    if not tile or tile[-1] == JOINED:
        what = "* joins a dimension with the next, and this is the last" if tile else "a tile has extents"
        raise brackets.error("TW004", what, "such as T(8,128)")
    return tile


def _type(array: _Array) -> DType | None:
    """Return the type of an element as it lies in memory, and add notes where it differs from the name.

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


def _layout(array: _Array, shape: Extents) -> Layout:
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
    if given.dtype is None:
        return text
    for name, own in _NAMES.items():
        if known_type(own) == given.dtype:
            return f"{name}[{listed(shape)}]{text}"
    raise LayoutError("TW008", f"XLA has no type {given.dtype}", hint="known: " + " ".join(_NAMES))
