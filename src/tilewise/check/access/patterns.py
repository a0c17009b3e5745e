"""From the words of an access to its layout, for vectors of any width."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from tilewise.check.access.matrices import in_chunks
from tilewise.check.access.spelling import EXAMPLES, as_call
from tilewise.check.access.stored import Stored
from tilewise.check.access.vectors import in_columns, in_rows, in_vectors
from tilewise.core.axes import m
from tilewise.core.builders import S
from tilewise.core.errors import LayoutError, NotDecided, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, spell
from tilewise.core.vectors import ZERO, Vector, along
from tilewise.hardware.limits import LANES
from tilewise.hardware.matrices.kinds import ROW_BYTES
from tilewise.hardware.memory.banks import OPERATIONS
from tilewise.hardware.modes import CHUNK

MATRICES = ("ldmatrix", "stmatrix")
NAMES = "row col tma ldmatrix.x1 ldmatrix.x2 ldmatrix.x4 stmatrix.x4 mma.A wgmma.D".split()
"""Some that may be meant where a word is none."""
OF_ENGINES = {"descriptor.A": "tilewise match", "descriptor.B": "tilewise match", "boxes": "tilewise tma"}
"""{what an engine asks for, and no lane, as far as a colon: who says how}."""
_NEARLY_A_WIDTH = re.compile(r"(row|col) *: *(\d+) *[a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What lanes ask for, before it is known how many elements at once."""

    name: str
    operation: str
    """What moves it, where nothing else is said."""
    index: Callable[[int], Layout]
    """[request, lane, element] to the tile, for vectors of so many elements."""
    bytes: int | None = None
    """The width of a vector, where there is one alone."""
    trans: bool = False


def pattern_of(name: str, stored: Stored) -> Pattern:
    """The pattern of that name, of a tile.

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
    asked, *words = name.split(":")
    if asked in OF_ENGINES:
        engine = " --engine tcgen05" if "tcgen05" in words else ""
        hint = f"{OF_ENGINES[asked]}{engine} says how, and tilewise show --access {name} draws it"
        raise LayoutError("TW601", f"{name} is what an engine asks for, not lanes", hint=hint)
    if name == "tma":
        return Pattern(name, name, lambda elements: in_chunks(stored, elements), CHUNK)
    head = name.split(".")[0]
    if head in MATRICES:
        return _matrices(name, head, stored)
    from tilewise.hardware.catalog.registry import engine_entries

    first, *more = (word.strip() for word in name.split(":"))
    there = engine_entries(first)
    if first in there:
        return _of_call(name, as_call(there[first], more, stored.dtype), stored)
    if name.partition("(")[0].strip() in there:
        return _of_call(name, name, stored)
    return _of_text(name, stored)


def pattern_from(layout: Layout, stored: Stored, name: str = "", operation: str = "ld") -> Pattern:
    """The pattern that a layout is: of indices, or of what lanes hold.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(64, 64) : (64, 1)], "f16")
    >>> print(pattern_from(S[(32, 8) : (64, 1)], tile).index(4))
    S[(2, 32, 4) : (4, 64, 1)]
    """
    from tilewise.check.access.fragments import in_fragments, is_fragment

    name = name or str(layout)
    if layout.order != "row":
        layout = _in_row_major_order(by_coordinates(layout), stored)
    index = in_fragments(stored, layout) if is_fragment(layout) else _indices(layout, stored)
    return Pattern(name, operation, lambda elements: in_vectors(index, elements))


def _matrices(name: str, instruction: str, stored: Stored) -> Pattern:
    from tilewise.check.access.matrices import in_matrices
    from tilewise.hardware.matrices.forms import Form, short

    form = Form.of(instruction, name)
    if form.kind.padding:
        raise Refused(
            "TW610", f"{form} leaves bytes between its rows", witness={"padding": form.kind.padding}
        )
    index = in_matrices(stored, form)
    return Pattern(f"{instruction}.{short(form)}", instruction, lambda _: index, ROW_BYTES, form.trans)


def _of_call(name: str, call: str, stored: Stored) -> Pattern:
    from tilewise.hardware.calls import parse

    stores = call.partition("(")[0].endswith(".D")
    return pattern_from(parse(call), stored, name, "st" if stores else "ld")


def _of_text(text: str, stored: Stored) -> Pattern:
    try:
        return pattern_from(_layout_of(text, stored), stored)
    except LayoutError as error:
        if error.code in ("TW001", "TW002", "TW004", "TW007") and not any(sign in text for sign in "[("):
            raise _unknown(text) from None
        raise


def _layout_of(text: str, stored: Stored) -> Layout:
    """Return the layout of a text; the tensor of an encoding without a shape is the tile."""
    from tilewise.hardware.calls import parse

    try:
        return parse(text)
    except LayoutError as error:
        if error.code != "TW202":
            raise
        return parse(text, shape=extents_of(stored.layout.shape))


def _in_row_major_order(index: Layout, stored: Stored) -> Layout:
    """An access whose flat indices count the first mode fastest, as those of CuTe's layouts do.

    >>> from tilewise import S
    >>> tile = Stored.of(S[(16, 8) : (8, 1)], "f32")
    >>> print(_in_row_major_order(S[((8, 4), (2, 2)) : ((1, 32), (8, 16))], tile))
    S[((8, 4), (2, 2)) : ((8, 2), (64, 1))]
    """
    if index.moving != ("m",):
        return index
    _refuse_outside(index, stored)
    extents = extents_of(stored.layout.shape)
    weights = [prod(extents[mode + 1 :]) for mode in range(len(extents))]
    if len(index.shape) == 1:  # or its digits would be modes of their own
        shape, strides = (*index.shape, 1), (*index.strides, ZERO)
        index = Layout(shape, strides, index.replica, index.offset, index.swizzles, index.outer)
    try:
        return S[tuple(reversed(extents)) : tuple(reversed(weights))].compose(index)
    except (Refused, NotDecided) as no:
        raise Refused(
            "TW610",
            f"{index} counts down the first mode, of {extents[0]}, and a digit goes past the end of one",
            witness={"extents": list(extents), "why": no.message},
            hint="say it by coordinates, such as S[(8, 4) : (1@e0, 1@e1)], or by row-major indices",
        ) from None


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


def _indices(layout: Layout, stored: Stored) -> Layout:
    """A layout of (lane), (lane, element) or (request, lane, element) with all three modes."""
    layout = _on_one_axis(layout, stored)
    shape = layout.shape
    if not 1 <= len(shape) <= 3:
        raise LayoutError(
            "TW202",
            f"an access has the modes (lane, element) or (request, lane, element), not {spell(shape)}",
        )
    before = (1,) if len(shape) < 3 else ()
    after = (1,) if len(shape) == 1 else ()
    lanes = extents_of(shape)[1 if len(shape) == 3 else 0]
    if lanes > LANES:
        raise LayoutError(
            "TW201",
            f"{lanes} lanes, and a warp has {LANES}",
            hint="the first of three modes counts requests: such as S[(2, 32, 8) : ...]",
        )
    if layout.replica:
        raise LayoutError("TW509", "a lane asks for an element once, and the access has copies")
    _refuse_outside(layout, stored)
    strides = (*(ZERO for _ in before), *layout.strides, *(ZERO for _ in after))
    return Layout((*before, *shape, *after), strides, (), layout.offset, layout.swizzles, layout.outer)


def _refuse_outside(index: Layout, stored: Stored) -> None:
    """Refuse an index that the tile has not."""
    low, high = index.extremes(m)
    if low < 0 or high >= stored.size:
        far = low if low < 0 else high
        raise Refused(
            "TW502",
            f"index {far} is asked for, and the tile has {stored.size} elements",
            witness={"index": far, "size": stored.size},
        )


def _refuse_outside_mode(index: Layout, axis: str, extent: int) -> None:
    """Refuse a coordinate that a mode of the tile has not: it is no element of the next row."""
    low, high = index.extremes(axis)
    if low < 0 or high >= extent:
        far = low if low < 0 else high
        raise Refused(
            "TW502",
            f"lanes ask for coordinate {far} on {axis}, and the tile has {extent} there",
            witness={"axis": axis, "coordinate": far, "extent": extent},
        )


def _on_one_axis(layout: Layout, stored: Stored) -> Layout:
    """An access by flat indices, of one by coordinates e0, e1, ... too."""
    if layout.axes == (m,):
        return layout
    extents = extents_of(stored.layout.shape)
    weights = {f"e{mode}": prod(extents[mode + 1 :]) for mode in range(len(extents))}
    moving = set(layout.moving)
    if moving <= {"m"}:
        weights = {"m": 1}
    elif not moving <= weights.keys() or layout.swizzles:
        raise LayoutError(
            "TW509",
            f"lanes ask for indices of the tile, and the access is on {' and '.join(sorted(moving))}",
            hint="on m it counts flat indices, on e0, e1, ... coordinates; on laneid it says who holds them",
        )

    for name in sorted(moving & weights.keys() - {"m"}):
        _refuse_outside_mode(layout, name, extents[int(name[1:])])

    def flat(vector: Vector) -> Vector:
        return along(m, sum(steps * weights.get(axis.name, 0) for axis, steps in vector.terms))

    parts = tuple(map(flat, layout.strides)), layout.replica, flat(layout.offset)
    return Layout(layout.shape, *parts, layout.swizzles, layout.outer)
