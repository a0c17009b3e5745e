"""From the words of an access to its layout, for vectors of any width.

    row:16B    col:2B@st    ldmatrix.x4.trans    wgmma.D:f32:n64:8B    S[(32, 8) : (64, 1)]@ld

Before the width and the operation stands a pattern by name, an entry of the catalogue with its values between
colons or as a call, or a layout.

Patterns are layouts: [request, lane, element] to the tile. Rows, columns and the elements of lanes are cut
into vectors; ldmatrix and stmatrix have rows of 8 x 8 matrices, and TMA has chunks in the order of memory. A
lane whose index is past the end of the tile is inactive.

A register fragment, over laneid and reg, and perhaps warps, gives the lane of each element of one
instruction's part. The tile is cut into such parts, row-major. Each lane moves its elements in the order of
its registers, and every warp executes its own requests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

from tilewise.check.access.access import Stored, on_one_axis
from tilewise.core.axes import m
from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import OPERATIONS, WAVEFRONT
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.catalog.entry import Entry
    from tilewise.hardware.matrices.forms import Form

MATRICES = ("ldmatrix", "stmatrix")
NAMES = "row col tma ldmatrix.x1 ldmatrix.x2 ldmatrix.x4 stmatrix.x4 mma.A wgmma.D".split()
"""Some that a user may mean by an unknown word."""
EXAMPLES = "row:16B, col:2B, ldmatrix.x4.trans, mma.A:m16n8k16, S[(32, 8) : (64, 1)]"
OF_ENGINES = {"descriptor.A": "tilewise match", "descriptor.B": "tilewise match", "boxes": "tilewise tma"}
"""{requests of an engine, and of no lane, as far as a colon: the command for them}."""

_WIDTH = re.compile(r"\s*:\s*(\d+)\s*B$")
_NUMBER = re.compile(r"([A-Za-z_]+?)(\d+)")
_NEARLY_A_WIDTH = re.compile(r"(\w+) *: *(\d+) *[a-zA-Z]*")


# -- words -----------------------------------------------------------------------------------------------


_ALONE = re.compile(r"(cp\.async|ld|st|atom)(?:[.:]?(\d+)B?)?")
"""An operation with its bytes, as in cp.async.16."""

_SHORT = {"rows": "row", "column": "col", "columns": "col", "cols": "col"}


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text: the pattern, the width, and the operation; an operation alone goes along the rows.

    >>> Words.of("wgmma.D:f32:n64:8B@st")
    Words(subject='wgmma.D:f32:n64', bytes=8, operation='st')
    >>> Words.of("cp.async.16"), Words.of("columns:4B").subject
    (Words(subject='row', bytes=16, operation='cp.async'), 'col')
    >>> Words.of("S[(32, 8) : (64, 1)] + 5@m")
    Words(subject='S[(32, 8) : (64, 1)] + 5@m', bytes=None, operation=None)
    """

    subject: str
    bytes: int | None
    operation: str | None

    @classmethod
    def of(cls, text: str) -> Words:
        """Return the words of a text."""
        if alone := _ALONE.fullmatch(text.strip()):
            return cls("row", int(alone[2]) if alone[2] else None, alone[1])
        subject, at, operation = text.strip().rpartition("@")
        if not at or operation.strip() not in OPERATIONS:
            subject, operation = text.strip(), ""
        subject = subject.strip()
        width = _WIDTH.search(subject)
        subject = subject[: width.start()] if width else subject
        if not subject:
            raise LayoutError("TW601", f"{text!r} is no access", hint=f"such as {EXAMPLES}")
        return cls(_SHORT.get(subject, subject), int(width[1]) if width else None, operation.strip() or None)


def spelled(subject: str, bytes: int | None, operation: str | None) -> str:
    """Return the text with these words.

    >>> spelled("row", 16, None), spelled("col", 2, "st")
    ('row:16B', 'col:2B@st')
    """
    width = f":{bytes}B" if bytes else ""
    return subject + width + (f"@{operation}" if operation else "")


def as_call(entry: Entry, words: list[str], dtype: DType) -> str:
    """Return the call of an entry from values between colons; the type is the tile's by default.

    >>> from tilewise.hardware.catalog import find
    >>> as_call(find("wgmma.D"), ["f32", "n64"], DType.of("bf16"))
    'wgmma.D(f32, n=64)'
    >>> as_call(find("mma.A"), ["m16n8k16"], DType.of("bf16"))
    'mma.A(m16n8k16, dtype=bf16)'
    """
    numbers = {parameter.name for parameter in entry.parameters if parameter.number}
    values = []
    for word in words:
        number = _NUMBER.fullmatch(word)
        values.append(f"{number[1]}={number[2]}" if number and number[1] in numbers else word)
    plain = sum("=" not in value for value in values)
    names = [parameter.name for parameter in entry.parameters]
    if "dtype" in names[plain:] and not any(value.startswith("dtype=") for value in values):
        values.append(f"dtype={dtype}")
    return f"{entry.name}({', '.join(values)})"


# -- patterns --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pattern:
    """The elements that lanes request, before the number requested at once is known."""

    name: str
    operation: str
    """The instruction that moves it by default."""
    index: Callable[[int], Layout]
    """[request, lane, element] to the tile, for vectors of so many elements."""
    bytes: int | None = None
    """The width of a vector, where only one is possible."""
    trans: bool = False


def _along_rows(stored: Stored) -> Pattern:
    return Pattern("row", "ld", lambda elements: in_rows(stored.size, elements))


def _down_columns(stored: Stored) -> Pattern:
    rows, columns = stored.matrix("columns are those")
    return Pattern("col", "ld", lambda elements: in_columns(rows, columns, elements))


DIRECTIONS = {"row": _along_rows, "col": _down_columns}
"""{a word that a width may follow: the pattern of a tile}."""


def pattern_of(name: str, stored: Stored) -> Pattern:
    """Return the pattern of that name, of a tile.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(64, 64) : (64, 1)], "f16")
    >>> print(pattern_of("row", tile).index(8))
    S[(16, 32, 8) : (256, 8, 1)]
    """
    if name in DIRECTIONS:
        return DIRECTIONS[name](stored)
    first, *words = (word.strip() for word in name.split(":"))
    if first in OF_ENGINES:
        engine = " --engine tcgen05" if "tcgen05" in words else ""
        hint = f"{OF_ENGINES[first]}{engine} says how, and tilewise show --access {name} draws it"
        raise LayoutError("TW601", f"{name} is what an engine asks for, not lanes", hint=hint)
    if name == "tma":
        return Pattern(name, name, lambda elements: in_chunks(stored, elements), CHUNK)
    instruction = name.split(".")[0]
    if instruction in MATRICES:
        return _matrices(name, instruction, stored)
    from tilewise.hardware.catalog.registry import engine_entries

    there = engine_entries(first)
    call = as_call(there[first], words, stored.dtype) if first in there else name
    entry = call.partition("(")[0].strip()
    if entry in there:
        from tilewise.hardware.calls import parse

        return pattern_from(parse(call), stored, name, "st" if entry.endswith(".D") else "ld")
    try:
        return pattern_from(_layout_of(name, stored), stored)
    except LayoutError as error:
        if error.code in ("TW001", "TW002", "TW004", "TW007") and not any(sign in name for sign in "[("):
            raise _unknown(name) from None
        raise


def _matrices(name: str, instruction: str, stored: Stored) -> Pattern:
    from tilewise.hardware.matrices.forms import Form, short

    form = Form.of(instruction, name)
    if form.kind.padding:
        raise Refused(
            "TW610", f"{form} leaves bytes between its rows", witness={"padding": form.kind.padding}
        )
    index = in_matrices(stored, form)
    return Pattern(f"{instruction}.{short(form)}", instruction, lambda _: index, ROW_BYTES, form.trans)


def _layout_of(text: str, stored: Stored) -> Layout:
    """Return the layout of a text; the tensor of an encoding without a shape is the tile."""
    from tilewise.hardware.calls import parse

    try:
        return parse(text)
    except LayoutError as error:
        if error.code != "TW202":
            raise
        return parse(text, shape=extents_of(stored.layout.shape))


def _unknown(name: str) -> LayoutError:
    from difflib import get_close_matches

    subject, at, operation = name.rpartition("@")
    if at and operation not in OPERATIONS:
        known = " ".join(OPERATIONS)
        return LayoutError("TW601", f"{operation!r} moves nothing, in {name!r}", hint=f"after @: {known}")
    width = _NEARLY_A_WIDTH.fullmatch(subject or name)
    nearly = width is not None and width[1] in DIRECTIONS
    near = [f"{width[1]}:{width[2]}B"] if width and nearly else get_close_matches(name, NAMES, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return LayoutError("TW601", f"{name!r} is no access", hint=f"{hint}such as {EXAMPLES}")


# -- layouts ---------------------------------------------------------------------------------------------


def pattern_from(layout: Layout, stored: Stored, name: str = "", operation: str = "ld") -> Pattern:
    """Return the pattern of a layout: of indices, or of the elements that lanes hold.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(64, 64) : (64, 1)], "f16")
    >>> print(pattern_from(S[(32, 8) : (64, 1)], tile).index(4))
    S[(2, 32, 4) : (4, 64, 1)]
    """
    name = name or str(layout)
    if any(axis.name in ("laneid", "tid_in_wg", "tx") for axis in layout.axes):
        index = in_fragments(stored, by_coordinates(layout))
    else:
        index = _indices(_flat(layout, stored), stored)
    return Pattern(name, operation, lambda elements: in_vectors(index, elements))


def _flat(layout: Layout, stored: Stored) -> Layout:
    """Return an access by flat row-major indices, of a layout by coordinates e0, e1, ..., or in CuTe's order.

    Flat indices of CuTe's layouts count the first mode fastest.

    >>> from tilewise import parse
    >>> tile = Stored.of(S[(16, 8) : (8, 1)], "f32")
    >>> print(_flat(parse("((4,8),(2,2)):((32,1),(16,8))"), tile))
    S[((8, 4), (2, 2)) : ((8, 2), (64, 1))]
    """
    if layout.replica:
        raise LayoutError("TW509", "a lane asks for an element once, and the access has copies")
    extents, moving = extents_of(stored.layout.shape), set(layout.moving)
    axes = {f"e{mode}": extent for mode, extent in enumerate(extents)}
    weights = tuple(prod(extents[mode + 1 :]) for mode in range(len(extents)))
    turned, layout = layout.order != "row", by_coordinates(layout)
    if not moving <= {"m"}:
        if not moving <= axes.keys() or layout.swizzles:
            raise LayoutError(
                "TW509",
                f"lanes ask for indices of the tile, and the access is on {' and '.join(sorted(moving))}",
                hint="on m it counts flat indices, on e0, e1, ... coordinates; "
                "on laneid it says who holds them",
            )
        for name in sorted(moving):
            _refuse_outside(layout, stored, name, axes[name])
        return S[extents:weights].compose(layout)
    layout = on_one_axis(layout, m)
    if not turned:
        return layout
    _refuse_outside(layout, stored)
    if len(layout.shape) == 1:  # otherwise its digits would become modes
        layout = Layout(
            (*layout.shape, 1), (*layout.strides, ZERO), (), layout.offset, layout.swizzles, layout.outer
        )
    try:
        return S[extents[::-1] : weights[::-1]].compose(layout)
    except (Refused, NotDecided) as no:
        raise Refused(
            "TW610",
            f"{layout} counts down the first mode, of {extents[0]}, and a digit goes past the end of one",
            witness={"extents": list(extents), "why": no.message},
            hint="say it by coordinates, such as S[(8, 4) : (1@e0, 1@e1)], or by row-major indices",
        ) from None


def _indices(layout: Layout, stored: Stored) -> Layout:
    """Return a layout of (lane), (lane, element) or (request, lane, element) with all three modes."""
    shape = layout.shape
    if not 1 <= len(shape) <= 3:
        raise LayoutError(
            "TW202",
            f"an access has the modes (lane, element) or (request, lane, element), not {spell(shape)}",
        )
    before, after = (1,) * (len(shape) < 3), (1,) * (len(shape) == 1)
    lanes = extents_of(shape)[len(shape) == 3]
    if lanes > LANES:
        raise LayoutError(
            "TW201",
            f"{lanes} lanes, and a warp has {LANES}",
            hint="the first of three modes counts requests: such as S[(2, 32, 8) : ...]",
        )
    _refuse_outside(layout, stored)
    strides = (ZERO,) * len(before) + layout.strides + (ZERO,) * len(after)
    return Layout((*before, *shape, *after), strides, (), layout.offset, layout.swizzles, layout.outer)


def _refuse_outside(index: Layout, stored: Stored, axis: str = "m", extent: int = 0) -> None:
    """Refuse an index that the tile lacks, or a coordinate on an axis that would be in the next row."""
    size = extent or stored.size
    low, high = index.extremes(axis)
    if low >= 0 and high < size:
        return
    far = low if low < 0 else high
    if extent:
        message = f"lanes ask for coordinate {far} on {axis}, and the tile has {extent} there"
        raise Refused("TW502", message, witness={"axis": axis, "coordinate": far, "extent": extent})
    message = f"lanes ask for index {far}, and the tile has {size} elements"
    raise Refused("TW502", message, witness={"index": far, "size": size})


# -- layouts of patterns ------------------------------------------------------------------------------


BELOW = {1: 1, 2: 2, 4: 2}
"""{matrices of an instruction: the number of them one below the other}."""
LANE, REG = "laneid", "reg"
TOGETHER = WAVEFRONT // CHUNK
"""Chunks of 16 bytes that TMA writes in one wavefront of 128 bytes."""


def in_rows(size: int, elements: int, most: int = LANES) -> Layout:
    """Return vectors of neighbours in row-major order, `most` a request; the last one may have fewer.

    >>> print(in_rows(1024, 8))
    S[(4, 32, 8) : (256, 8, 1)]
    >>> print(in_rows(64, 8))
    S[(1, 8, 8) : (64, 8, 1)]
    """
    lanes = min(most, -(-size // elements))
    together = lanes * elements
    return S[(-(-size // together), lanes, elements) : (together, elements, 1)]


def in_columns(rows: int, columns: int, elements: int) -> Layout:
    """Return vectors along the rows in column-major order: lanes go down the first mode.

    Where a column has fewer than 32 vectors, a request takes whole columns, as many as fit and divide
    them all; where it has more, the last request of each column may have fewer lanes.

        refused  TW610 rows that are no whole number of vectors

    >>> print(in_columns(64, 32, 1))
    S[((32, 2), 32, 1) : ((1, 1024), 32, 1)]
    >>> print(in_columns(8, 64, 2))
    S[(8, (4, 8), 2) : (8, (2, 64), 1)]
    """
    if columns % elements:
        raise Refused(
            "TW610",
            f"a row of {columns} elements is no whole number of vectors of {elements}",
            witness={"rule": "row", "columns": columns, "elements": elements},
            hint="a vector of a column runs along the row, and ends with it",
        )
    across = columns // elements
    if rows > LANES:
        down = -(-rows // LANES)
        return S[((across, down), LANES, elements) : ((elements, LANES * columns), columns, 1)]
    together = max(count for count in range(1, LANES // rows + 1) if across % count == 0)
    steps = (together * elements, (elements, columns), 1)
    return S[(across // together, (together, rows), elements) : steps]


def in_vectors(index: Layout, elements: int) -> Layout:
    """Return [request, lane, element] with so many elements of a lane at once, one request after the other.

        refused  TW610 a lane whose elements are no whole number of vectors; TW503 digits that do not divide

    >>> from tilewise import S
    >>> print(in_vectors(S[(1, 32, 8) : (0, 64, 1)], 4))
    S[(2, 32, 4) : (4, 64, 1)]
    """
    requests, lanes, held = extents_of(index.shape)
    if held == elements:
        return index
    if held % elements:
        raise Refused(
            "TW610",
            f"a lane has {held} elements, no whole number of vectors of {elements}",
            witness={"rule": "held", "elements": held, "vector": elements},
        )
    cut = index.group(requests, lanes, held // elements, elements).permute(0, 2, 1, 3)
    return cut.group(requests * (held // elements), lanes, elements)


# -- matrices --------------------------------------------------------------------------------------------


def in_matrices(stored: Stored, form: Form) -> Layout:
    """Return [request, lane, element of a row] to the tile, which is cut into blocks of one instruction.

    Blocks go row-major. Matrix 1 is below matrix 0, and of four the other two are to their right; a row of a
    matrix runs along the mode that is contiguous in memory.

        refused  TW610 a tile without contiguous rows of 16 bytes, or of no whole number of instructions

    >>> from tilewise import S
    >>> from tilewise.hardware.matrices.forms import Form
    >>> print(in_matrices(Stored.of(S[(32, 32) : (32, 1)], "f16"), Form("ldmatrix", 4)))
    S[((2, 2), (2, 2, 8), 8) : ((512, 16), (8, 256, 32), 1)]
    >>> print(in_matrices(Stored.of(S[(16, 8) : (1, 16)], "f16"), Form("ldmatrix", 2, trans=True)))
    S[((1, 1), (1, 2, 8), 8) : ((128, 8), (8, 64, 1), 8)]
    """
    rows, columns = stored.matrix("matrices are blocks")
    held, rest = divmod(8 * ROW_BYTES, stored.dtype.bits)
    held = 0 if rest else held
    down = _contiguous_down(stored, rows, columns, held)
    tall, wide = (held, form.rows) if down else (form.rows, held)
    below = BELOW[form.count]
    right = form.count // below
    high, broad = tall * below, wide * right
    if rows % high or columns % broad:
        raise Refused(
            "TW610",
            f"one {form.instruction} of {form.count} matrices takes {high} x {broad} elements of "
            f"{stored.dtype}, and the tile has {rows} x {columns}",
            witness={"block": [high, broad], "tile": [rows, columns]},
            hint="fewer matrices, such as x1, take smaller blocks" if form.count > 1 else "",
        )
    along, across = (columns, 1) if down else (1, columns)
    shape = (rows // high, columns // broad), (right, below, form.rows), held
    return S[shape : ((high * columns, broad), (wide, tall * columns, across), along)]


def _contiguous_down(stored: Stored, rows: int, columns: int, held: int) -> bool:
    """Return True if the first mode is the contiguous one: its first elements follow one another.

    Only those at powers of two are tested. The addresses prove the rest later.
    """
    first = stored.at(0)
    powers = [1 << bit for bit in range((held - 1).bit_length())]
    for down, extent, step in ((False, columns, 1), (True, rows, columns)):
        if 0 < held <= extent and all(stored.at(step * i) == first + stored.step * i for i in powers):
            return down
    row = [first, stored.at(1) if columns > 1 else None]
    raise Refused(
        "TW610",
        f"no mode of the tile has 16 contiguous bytes: a row of a matrix is {held or 'no whole number of'} "
        f"elements of {stored.dtype} that follow one another",
        witness={"elements": [0, 1], "addresses": row},
        hint="tilewise match --engine mma finds what moves it",
    )


def in_chunks(stored: Stored, elements: int) -> Layout:
    """Return [request, chunk, element]: chunks of 16 bytes in the order of memory, as TMA fills boxes.

        refused  TW610 runs of memory that eight chunks neither fill nor divide

    >>> from tilewise import S
    >>> print(in_chunks(Stored.of(S[(8, 64) : (64, 1)], "f16"), 8))
    S[(8, 8, 8) : (64, 8, 1)]
    >>> print(in_chunks(Stored.of(S[(64, 8) : (1, 64)], "f16"), 8))
    S[(8, 8, 8) : (1, 64, 8)]
    >>> print(in_chunks(Stored.of(S[(8, (4, 16)) : (16, (128, 1))], "f16"), 8))
    S[((4, 2), (4, 2), 8) : ((16, 256), (64, 8), 1)]
    """
    lines = in_rows(stored.size, elements, TOGETHER)
    (axis,) = stored.layout.axes
    digits, weight = [], stored.size
    for extent, stride in stored.layout.digits:
        weight //= extent
        if extent > 1:
            digits.append((stride[axis], extent, weight))
    order = sorted(digits, key=lambda digit: -digit[0])
    if order == digits or any(stride < 1 for stride, _, _ in digits):
        return lines
    _, extents, weights = zip(*order, strict=True)
    try:
        return S[extents:weights].compose(lines)  # places of memory, before any swizzle, to elements
    except (Refused, NotDecided):
        run = extents[-1] * stored.dtype.bits // 8
        swapped = len(stored.layout.digits) == len(stored.layout.shape) == 2
        raise Refused(
            "TW610",
            f"the tile lies in memory in runs of {run} bytes, and eight chunks of 16 bytes end inside them",
            witness={"run": run},
            hint="ask about the tile with its modes swapped" if swapped else "ask about one box of it",
        ) from None


# -- register fragments ----------------------------------------------------------------------------------


def in_fragments(stored: Stored, fragment: Layout) -> Layout:
    """Return [request, lane, register] to the tile: for each part, and each warp, all that its lanes hold.

        requires  one fragment, over laneid and reg, and axes of warps; of as many elements as the tile it
                  may have more modes, or fewer, that end where the tile's do
        refused   TW610 lanes or registers that hold nothing; a tile of no whole number of parts

    >>> from tilewise import S, laneid, reg
    >>> part = S[(8, 4, 2) : (4@laneid, 1@laneid, 1@reg)].group(8, 8)
    >>> print(in_fragments(Stored.of(S[(16, 16) : (16, 1)], "f32"), part))
    S[((2, 2), (8, 4), 2) : ((128, 8), (16, 2), 1)]
    """
    held, parts = _by_holder(fragment), S[1:0]
    ends, others = (set(accumulate(extents_of(own.shape), mul)) for own in (stored.layout, fragment))
    if fragment.size != stored.size or not (ends <= others or others <= ends):
        rows, columns = stored.matrix("a fragment is a part")
        if len(fragment.shape) != 2:
            raise Refused(
                "TW610",
                f"a fragment has rows and columns, and {spell(fragment.shape)} "
                f"has {len(fragment.shape)} modes",
                hint="tilewise algebra group gives a layout two modes",
            )
        high, wide = extents_of(fragment.shape)
        if rows % high or columns % wide:
            raise Refused(
                "TW610",
                f"one part is {high} x {wide} elements, and the tile has {rows} x {columns}",
                witness={"part": [high, wide], "tile": [rows, columns]},
                hint="" if rows % wide or columns % high else "it has whole parts with its modes swapped",
            )
        parts = S[(rows // high, columns // wide) : (high * columns, wide)]
        held = S[(high, wide) : (columns, 1)].compose(held)
    *warps, lanes, registers = held.shape
    shape = (*parts.shape, *warps), lanes, registers
    return Layout(shape, (*parts.strides, *held.strides), offset=held.offset)


def _by_holder(fragment: Layout) -> Layout:
    """Return [warp, ..., lane, register] to the index in the fragment: its inverse, a mode for each axis."""
    for name in ("tx", "tid_in_wg"):
        if name in fragment.moving:
            fragment = fragment.split_axis(name)
    for axis in fragment.axes:  # warps shall count from 0; lanes and registers do
        first = fragment.min(axis)
        if first and axis.name in (LANE, REG):
            raise _idle(f"{min(first, 0)}@{axis}")
        fragment = fragment - along(axis, first)
    if not fragment.holes.none:
        raise _idle(str(fragment.holes.none.witness))
    names = sorted((axis.name for axis in fragment.axes), key=lambda name: (name == LANE) + 2 * (name == REG))
    held = fragment.quasi_inverse(tuple(names))
    if REG in names:
        return held
    return Layout((*held.shape, 1), (*held.strides, ZERO), offset=held.offset)


def _idle(place: str) -> Refused:
    return Refused(
        "TW610",
        f"{place} holds nothing, and the lanes of an instruction move alike",
        witness={"place": place},
        hint="say what they move as a layout: [request, lane, element] to the index in the tile",
    )
