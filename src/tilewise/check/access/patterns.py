"""From the words of an access to its layout, for vectors of any width.

    row:16B    col:2B@st    ldmatrix.x4.trans    wgmma.D:f32:n64:8B    S[(32, 8) : (64, 1)]@ld

Before the width and the operation stands a pattern by name, an entry of the catalogue with its values between
colons or as a call, or a layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tilewise.check.access.access import Stored, on_one_axis
from tilewise.check.access.indices import (
    in_chunks,
    in_columns,
    in_fragments,
    in_matrices,
    in_rows,
    in_vectors,
)
from tilewise.core.axes import m
from tilewise.core.builders import S
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import OPERATIONS
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.hardware.catalog.entry import Entry

MATRICES = ("ldmatrix", "stmatrix")
NAMES = "row col tma ldmatrix.x1 ldmatrix.x2 ldmatrix.x4 stmatrix.x4 mma.A wgmma.D".split()
"""Some that a user may mean by an unknown word."""
EXAMPLES = "row:16B, col:2B, ldmatrix.x4.trans, mma.A:m16n8k16, S[(32, 8) : (64, 1)]"
OF_ENGINES = {"descriptor.A": "tilewise match", "descriptor.B": "tilewise match", "boxes": "tilewise tma"}
"""{what an engine requests, and no lane, as far as a colon: the command that tells how}."""

_WIDTH = re.compile(r"\s*:\s*(\d+)\s*B$")
_NUMBER = re.compile(r"([A-Za-z_]+?)(\d+)")
_NEARLY_A_WIDTH = re.compile(r"(row|col) *: *(\d+) *[a-zA-Z]*")


# -- words -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text: the pattern, how wide, and whether it is loaded or stored.

    >>> Words.of("wgmma.D:f32:n64:8B@st")
    Words(subject='wgmma.D:f32:n64', bytes=8, operation='st')
    >>> Words.of("S[(32, 8) : (64, 1)] + 5@m")
    Words(subject='S[(32, 8) : (64, 1)] + 5@m', bytes=None, operation=None)
    """

    subject: str
    bytes: int | None
    operation: str | None

    @classmethod
    def of(cls, text: str) -> Words:
        """Return the words of a text."""
        subject, at, operation = text.strip().rpartition("@")
        if not at or operation.strip() not in OPERATIONS:
            subject, operation = text.strip(), ""
        subject = subject.strip()
        width = _WIDTH.search(subject)
        subject = subject[: width.start()] if width else subject
        if not subject:
            raise LayoutError("TW601", f"{text!r} is no access", hint=f"such as {EXAMPLES}")
        return cls(subject, int(width[1]) if width else None, operation.strip() or None)


def spelled(subject: str, bytes: int | None, operation: str | None) -> str:
    """Return the text with these words.

    >>> spelled("row", 16, None), spelled("col", 2, "st")
    ('row:16B', 'col:2B@st')
    """
    width = f":{bytes}B" if bytes else ""
    return subject + width + (f"@{operation}" if operation else "")


def as_call(entry: Entry, words: list[str], dtype: DType) -> str:
    """Return the call of an entry that values between colons mean; the type is the tile's by default.

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
    """The elements that lanes request, before it is known how many of them at once."""

    name: str
    operation: str
    """The instruction that moves it by default."""
    index: Callable[[int], Layout]
    """[request, lane, element] to the tile, for vectors of so many elements."""
    bytes: int | None = None
    """The width of a vector, where there is one alone."""
    trans: bool = False


def pattern_of(name: str, stored: Stored) -> Pattern:
    """Return the pattern of that name, of a tile.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(64, 64) : (64, 1)], "f16")
    >>> print(pattern_of("row", tile).index(8))
    S[(16, 32, 8) : (256, 8, 1)]
    """
    if name == "row":
        return Pattern(name, "ld", lambda elements: in_rows(stored.size, elements))
    if name == "col":
        rows, columns = stored.matrix("columns are those")
        return Pattern(name, "ld", lambda elements: in_columns(rows, columns, elements))
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
    near = [f"{width[1]}:{width[2]}B"] if width else get_close_matches(name, NAMES, n=1)
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
    """Return an access by flat row-major indices, of one by coordinates e0, e1, ..., or in CuTe's order.

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
    if len(layout.shape) == 1:  # or its digits would be modes of their own
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
    """Refuse an index that the tile lacks, or a coordinate on an axis: it is no element of the next row."""
    size = extent or stored.size
    low, high = index.extremes(axis)
    if low >= 0 and high < size:
        return
    far = low if low < 0 else high
    if extent:
        message = f"lanes ask for coordinate {far} on {axis}, and the tile has {extent} there"
        raise Refused("TW502", message, witness={"axis": axis, "coordinate": far, "extent": extent})
    message = f"index {far} is asked for, and the tile has {size} elements"
    raise Refused("TW502", message, witness={"index": far, "size": size})
