"""Letter tags of blocked layouts, read and written: `NCHW16c` of TVM, `aBcd16b` and `OIhw4i16o4i` of oneDNN.

The letters stand in the order in which dimensions lie in memory, the slowest first. A number and a small
letter are a block of that dimension, and the letter alone is what the blocks leave of it. Of two blocks of a
dimension the first is the slower: in `ABcd4b16a4b` b is 16 to a block, 4 times 4. A dimension that its blocks
do not divide is padded.

A tag says no shape, and so no order of the tensor's dimensions either. Here it is that of oneDNN's logical
tensors, for every tag: a, b, c, ... are dimensions 0, 1, 2, ...; images are n, c, d, h, w; weights g, o, i,
d, h, w; sequences t, n, c; and weights and states of RNNs l, d, i, g, o and l, d, n, c. So NHWC and nhwc are
both about a tensor of shape (n, c, h, w), as channels-last tensors of frameworks are.

Sources: dnnl_format_tag_t in include/oneapi/dnnl/dnnl_types.h and
doc/advanced/understanding_memory_formats.md of https://github.com/uxlfoundation/oneDNN; `SLayout` in
python/tvm/s_tir/data_layout.py of https://github.com/apache/tvm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewise.core.axes import m
from tilewise.core.errors import LayoutError
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.vectors import along
from tilewise.notation.dialects.given import Given, Reading, layout_of_modes, listed
from tilewise.notation.dialects.packed import Digit, major_first, packed_digits
from tilewise.notation.dialects.tiling import Digits

EXAMPLES = (
    Given("NCHW16c", shape=(1, 64, 7, 7)),
    Given("aBcd16b", shape=(2, 32, 3, 3)),
    Given("ABcd4b16a4b", shape=(32, 32, 3, 3)),
    Given("OIhw4i16o4i", shape=(30, 32, 3, 3)),
    Given("nhwc", shape=(2, 3, 4, 5)),
    Given("NCHW", shape=(2, 3, 4, 5)),
    Given("acdb", shape=(2, 3, 4, 5)),
)

LETTERS = "abcdefghijkl"
_ORDERS = ("ncdhw", "goidhw", "tnc", "ldigo", "ldnc")
"""The order of a tensor's dimensions, of which a tag may lack some."""
_MAX_LENGTH = 200
_PIECE = re.compile(r"(?P<factor>[0-9]*)(?P<letter>[A-Za-z])")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A letter of a tag, with the size of its block where it is one."""

    letter: str
    factor: int | None
    span: tuple[int, int]


# -- reading ---------------------------------------------------------------------------------------


def read(given: Given) -> Reading:
    """Return the layout of a tensor: one mode a dimension, in the order of oneDNN's logical dimensions."""
    pieces = _pieces(given.text)
    names = _names(given.text, pieces)
    _check(given.text, pieces)
    spelled = ", ".join(names)
    shape = given.needs_shape(f"the tag {given.text.strip()}, which is over {spelled},")
    if len(shape) != len(names):
        counts = f"{len(names)} dimensions, and the shape {listed(shape)} has {len(shape)}"
        raise LayoutError("TW202", f"a tag over {spelled} has {counts}")
    blocks = {name: prod(p.factor for p in pieces if p.factor and p.letter.lower() == name) for name in names}
    extents = [
        piece.factor or -(-shape[names.index(piece.letter.lower())] // blocks[piece.letter.lower()])
        for piece in pieces
    ]
    modes: dict[str, Digits] = {name: [] for name in names}
    whole: dict[str, Digits] = {name: [] for name in names}
    for at, (piece, extent) in enumerate(zip(pieces, extents, strict=True)):
        digit = (extent, along(m, prod(extents[at + 1 :])))
        (whole if piece.factor is None else modes)[piece.letter.lower()].append(digit)
    layout = layout_of_modes(
        [digit for digit in (*whole[name], *modes[name]) if digit[0] > 1] for name in names
    )
    padded = extents_of(layout.shape)
    notes = () if names == [*LETTERS[: len(names)]] else (f"the tensor's dimensions are {spelled}",)
    return Reading(layout, None, shape if padded != shape else None, notes)


def _pieces(text: str) -> list[_Piece]:
    """Return the letters of a tag and their factors."""
    if len(text.strip()) > _MAX_LENGTH:
        raise LayoutError("TW005", f"a tag of more than {_MAX_LENGTH} letters and digits")
    start = len(text) - len(text.lstrip())
    pieces: list[_Piece] = []
    while start < len(text.rstrip()):
        found = _PIECE.match(text, start)
        if found is None:
            raise _error(text, (start, start + 1), "TW002", "a tag has letters, and numbers before letters")
        digits = found["factor"]
        if digits and not int(digits):
            raise _error(text, found.span(), "TW102", "a block has a positive size")
        pieces.append(_Piece(found["letter"], int(digits) if digits else None, found.span()))
        start = found.end()
    if not pieces:
        raise _error(text, (0, len(text)), "TW004", "a tag has letters")
    return pieces


def _names(text: str, pieces: Sequence[_Piece]) -> list[str]:
    """Return the names of the dimensions, in the order of the tensor's shape."""
    used = {piece.letter.lower() for piece in pieces}
    for order in (LETTERS[: len(used)], *_ORDERS):
        if used <= set(order):
            return [name for name in order if name in used]
    odd = next(
        (piece for piece in pieces if not any(piece.letter.lower() in order for order in _ORDERS)), None
    )
    raise _error(
        text,
        odd.span if odd else (pieces[0].span[0], pieces[-1].span[1]),
        "TW002",
        f"no dimensions are named {', '.join(sorted(used))} together",
        f"known: {LETTERS[0]} to {LETTERS[-1]} without a gap, " + ", ".join(_ORDERS),
    )


def _check(text: str, pieces: Sequence[_Piece]) -> None:
    """Refuse letters that stand twice or not at all, or in the wrong case."""
    whole = [piece for piece in pieces if piece.factor is None]
    seen: set[str] = set()
    for piece in whole:
        name = piece.letter.lower()
        if name in seen:
            raise _error(text, piece.span, "TW004", f"the dimension {name} is there twice")
        seen.add(name)
    capitals = {piece.letter for piece in whole if piece.letter.isupper()}
    blocked = {piece.letter.lower() for piece in pieces if piece.factor is not None}
    for piece in pieces:
        name = piece.letter.lower()
        if piece.factor is not None and piece.letter.isupper():
            raise _error(text, piece.span, "TW002", f"a block is a small letter: {piece.factor}{name}")
        if piece.factor is not None and name not in seen:
            raise _error(
                text,
                piece.span,
                "TW004",
                f"blocks of {name} are there, and {name.upper()}, what they leave, not",
            )
        if piece.factor is None and name in blocked and piece.letter not in capitals:
            raise _error(text, piece.span, "TW002", f"a dimension with blocks is a capital: {name.upper()}")
    lone = [piece for piece in whole if piece.letter.isupper() and piece.letter.lower() not in blocked]
    if lone and not blocked and len(capitals) < len(whole):
        name = lone[0].letter
        raise _error(text, lone[0].span, "TW002", f"the dimension {name} is a capital without blocks")


def _error(text: str, span: tuple[int, int], code: str, message: str, hint: str = "") -> LayoutError:
    return LayoutError(code, message, hint=hint, span=span, source=text)


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return the tag of a layout in oneDNN's letters; TW008 where it has none.

    >>> from tilewise import parse
    >>> write(parse("NCHW16c", shape=(1, 64, 7, 7)), Given())
    'aBcd16b'
    """
    digits = packed_digits(layout, "a tag")
    shape = extents_of(layout.in_order("row").shape) if layout.shape else ()
    if not 1 <= len(shape) <= len(LETTERS):
        raise LayoutError(
            "TW008", f"a tag has 1 to {len(LETTERS)} dimensions, and this layout has {len(shape)}"
        )
    whole: list[Digit] = []
    blocks: list[Digit] = []
    weights: dict[int, int] = {}
    for digit in digits:
        if digit.weight > weights.get(digit.dimension, digit.weight):
            raise LayoutError(
                "TW008",
                f"of two blocks of a dimension the first is the slower, and not so in {digit.dimension}",
            )
        is_first = digit.dimension not in weights
        weights[digit.dimension] = digit.weight
        (whole if is_first and not blocks else blocks).append(digit)
    blocked = {digit.dimension for digit in blocks}
    outer = [
        LETTERS[dimension].upper() if dimension in blocked else LETTERS[dimension]
        for dimension in major_first(whole, len(shape))
    ]
    return "".join(outer) + "".join(f"{digit.extent}{LETTERS[digit.dimension]}" for digit in blocks)
