"""Letter tags of blocked layouts, read and written: `NCHW16c` of TVM, `aBcd16b` and `OIhw4i16o4i` of oneDNN.

The letters stand in the order in which dimensions lie in memory, the slowest first. A number and a small
letter are a block of that dimension, and the letter alone is the rest beside its blocks. Of two blocks of a
dimension the first is the slower: in `ABcd4b16a4b` b is 16 to a block, 4 times 4. A dimension that its blocks
do not divide is padded.

A tag has no shape, and so no order of the tensor's dimensions either. Here the order is that of oneDNN's
logical tensors, for every tag: a, b, c, ... are dimensions 0, 1, 2, ...; images are n, c, d, h, w; weights
g, o, i, d, h, w; sequences t, n, c; and weights and states of RNNs l, d, i, g, o and l, d, n, c. So NHWC and
nhwc are both about a tensor of shape (n, c, h, w), as channels-last tensors of frameworks are.

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
from tilewise.notation.dialects.given import Given, Reading, layout_of_modes, listed
from tilewise.notation.dialects.tiling import major_first, packed_digits, row_major
from tilewise.notation.dialects.values import Written, between

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


@dataclass(slots=True)
class _Piece(Written):
    """A letter of a tag, with the size of its block where it is one."""

    letter: str
    factor: int | None

    @property
    def name(self) -> str:
        """Return the dimension."""
        return self.letter.lower()


# -- reading ---------------------------------------------------------------------------------------


def read(given: Given) -> Reading:
    """Return the layout of a tensor: one mode a dimension, in the order of oneDNN's logical dimensions."""
    pieces = _pieces(given.text)
    names = _names(pieces)
    _check(pieces)
    spelled = ", ".join(names)
    shape = given.needs_shape(f"the tag {given.text.strip()}, which is over {spelled},")
    if len(shape) != len(names):
        counts = f"{len(names)} dimensions, and the shape {listed(shape)} has {len(shape)}"
        raise LayoutError("TW202", f"a tag over {spelled} has {counts}")
    blocks = {name: prod(piece.factor or 1 for piece in pieces if piece.name == name) for name in names}
    whole = {name: -(-extent // blocks[name]) for name, extent in zip(names, shape, strict=True)}
    extents = [piece.factor or whole[piece.name] for piece in pieces]
    digits = list(zip(pieces, extents, row_major(extents, m), strict=True))
    digits.sort(key=lambda digit: digit[0].factor is not None)
    layout = layout_of_modes(
        [(extent, stride) for piece, extent, stride in digits if piece.name == name and extent > 1]
        for name in names
    )
    notes = () if names == [*LETTERS[: len(names)]] else (f"the tensor's dimensions are {spelled}",)
    return Reading(layout, None, shape if extents_of(layout.shape) != shape else None, notes)


def _pieces(text: str) -> list[_Piece]:
    """Return the letters of a tag and their factors."""
    if len(text.strip()) > _MAX_LENGTH:
        raise LayoutError("TW005", f"a tag of more than {_MAX_LENGTH} letters and digits")
    pieces = [
        _Piece(text, found.span(), found[2], int(found[1]) if found[1] else None)
        for found in re.finditer(r"([0-9]*)([A-Za-z])", text)
    ]
    bad = len(text) - len(re.sub(r"\A\s*(?:[0-9]*[A-Za-z])*\s*", "", text))
    if not pieces or bad < len(text):
        where = Written(text, (bad, bad + 1))
        raise where.error("TW002", "a tag has letters, and numbers before letters")
    return pieces


def _names(pieces: Sequence[_Piece]) -> list[str]:
    """Return the names of the dimensions, in the order of the tensor's shape."""
    used = {piece.name for piece in pieces}
    for order in (LETTERS[: len(used)], *_ORDERS):
        if used <= set(order):
            return [name for name in order if name in used]
    message = f"no dimensions are named {', '.join(sorted(used))} together"
    hint = f"known: {LETTERS[0]} to {LETTERS[-1]} without a gap, " + ", ".join(_ORDERS)
    raise between(pieces[0], pieces[-1]).error("TW002", message, hint)


def _check(pieces: Sequence[_Piece]) -> None:
    """Refuse letters that stand twice or not at all, or in the wrong case."""
    names = [piece.name for piece in pieces if piece.factor is None]
    blocked = {piece.name for piece in pieces if piece.factor is not None}
    capitals = {piece.letter.isupper() for piece in pieces}
    seen: set[str] = set()
    for piece in pieces:
        name, is_capital, wrong = piece.name, piece.letter.isupper(), ""
        if piece.factor == 0:
            raise piece.error("TW102", "a block has a positive size")
        if piece.factor is not None:
            if is_capital:
                wrong = f"a block is a small letter: {piece.factor}{name}"
            elif name not in names:
                wrong = f"blocks of {name} are there, and {name.upper()}, what they leave, not"
        elif name in seen:
            wrong = f"the dimension {name} is there twice"
        elif name in blocked and not is_capital:
            wrong = f"a dimension with blocks is a capital: {name.upper()}"
        elif not blocked and is_capital and len(capitals) > 1:
            wrong = f"the dimension {piece.letter} is a capital without blocks"
        if wrong:
            raise piece.error("TW004", wrong)
        if piece.factor is None:
            seen.add(name)


# -- writing ---------------------------------------------------------------------------------------


def write(layout: Layout, given: Given) -> str:
    """Return the tag of a layout in oneDNN's letters; TW008 where no tag has it.

    >>> from tilewise import parse
    >>> write(parse("NCHW16c", shape=(1, 64, 7, 7)), Given())
    'aBcd16b'
    """
    digits = packed_digits(layout, "a tag")
    shape = extents_of(layout.in_order("row").shape)
    if not 1 <= len(shape) <= len(LETTERS):
        message = f"a tag has 1 to {len(LETTERS)} dimensions, and this layout has {len(shape)}"
        raise LayoutError("TW008", message)
    dimensions = [digit.dimension for digit in digits]
    whole = next((at for at, one in enumerate(dimensions) if one in dimensions[:at]), len(digits))
    tag = "".join(
        LETTERS[dimension].upper() if dimension in dimensions[whole:] else LETTERS[dimension]
        for dimension in major_first(digits[:whole], len(shape))
    ) + "".join(f"{digit.extent}{LETTERS[digit.dimension]}" for digit in digits[whole:])
    if not read(Given(tag, shape)).layout.same(layout).answer:
        message = "of two blocks of a dimension the first is the slower in a tag, and not so here"
        raise LayoutError("TW008", message)
    return tag
