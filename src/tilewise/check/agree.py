"""Whether a writer of a tile and its reader mean the same byte by every element.

The tile is [rows, K]. Each side is a list of boxes of it with a layout of addresses each. The reader's
boxes are cut where the writer's end, and piece by piece the two layouts are compared by `same`: in
closed form, whatever the size. A no is the first element, row by row, that is read from another byte
than it was written to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from tilewise.check.boxwise import boxwise
from tilewise.check.sides import (
    Copied,
    Described,
    Part,
    Setting,
    Side,
    Together,
    major_words,
    swizzle_words,
    times,
)
from tilewise.check.spelling import Reading, side_of
from tilewise.core.algebra.slicing import Piece
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.core.verdict import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tilewise.check.sides import Interval, Pair, Spec
    from tilewise.hardware.operands.stepping import Step

MAX_LISTED = 1 << 16
"""The elements of a tile of shared memory, and more."""

MAX_STEPS = 6
"""So many steps of a tile are listed in a hint."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An element that is read from another byte than it was written to.

    Addresses count bytes, and bits where elements are narrower. `written` is None where the writer has
    no such element; `holds` is the element that the writer put where this one is read, None for none, and
    also where the search for it ended at its bound: `searched` is False then.
    """

    index: Pair
    written: int | None
    read: int | None
    holds: Pair | None = None
    unit: str = "byte"
    searched: bool = True


_NOBODY = Side("", "", DType.of("u8"), (0, 0), ())


@dataclass(frozen=True, slots=True)
class Agreement(Verdict):
    """The answer of `agree`: yes with what was proven, no with the first difference, or not decided."""

    first: Difference | None = None
    elements: int = 0
    """How many elements were compared: those that are read."""
    rows: Interval = (0, 0)
    k: Interval = (0, 0)
    """The box of the tile that was compared."""
    proof: str = ""
    hint: str = ""
    notes: tuple[str, ...] = ()
    writer: Side = field(default=_NOBODY, repr=False)
    reader: Side = field(default=_NOBODY, repr=False)
    base: int = 0

    @property
    def agree(self) -> bool | None:
        """Whether the two agree; None where that was not decided."""
        return self.answer


def agree(
    writer: Spec | Layout | str,
    reader: Spec | Layout | str,
    *,
    dtype: DType | str | None = None,
    base: int = 0,
    let: Mapping[str, int] | None = None,
) -> Agreement:
    """Whether what is written by one side is read by the other, element by element, byte by byte.

    Sides are texts as `tilewise.check.spelling` reads them, layouts [rows, K] in elements, or made by
    hand. `base` is the tile's address in shared memory. Of a tile that takes several instructions all are
    compared, and one alone where `wgmma(..., at=(row, k))` names it.

        postcondition  yes iff written(r, k) == read(r, k) for every element that is read, and no byte
                       is written twice; a no has the first element that differs, row by row, or else
                       the first that is written where another one is

    >>> found = agree("tma(128x64, 64B)", "wgmma(A, 128B)", dtype="bf16")
    >>> found.answer, found.first.index, found.first.written, found.first.read
    (False, (0, 32), 8192, 64)
    >>> agree("tma(128x64, 128B)", "wgmma(A, 128B)", dtype="bf16").answer
    True
    """
    element = None if dtype is None else DType.of(dtype)
    reading = Reading(let=let, dtype=element)
    return agree_of(*(_spec(side, reading) for side in (writer, reader)), dtype=element, base=base)


def agree_of(writer: Spec, reader: Spec, *, dtype: DType | None = None, base: int = 0) -> Agreement:
    """`agree` of sides that are read already."""
    base = as_int(base, "the base address")
    if base < 0:
        raise LayoutError("TW203", f"an address of {base} is negative", hint="addresses count from 0")
    shared = Setting(dtype, base)
    tiles = writer.tile, reader.tile
    tile = tiles[1] or (None if tiles[0] else _reach(reader, shared))
    written = writer.placed(replace(shared, tile=tile))
    shared = replace(shared, tile=tiles[0] or written.tile)
    other = _other_type(written, reader, shared)
    if other is not None:
        return other
    read = reader.placed(shared)
    found = _compared(written, read, base)
    period = max(written.period, read.period)
    if found.answer is not False or base % period == 0:
        return found
    aligned = agree_of(writer, reader, dtype=dtype, base=base // period * period)
    return replace(found, hint=_alignment(base, period)) if aligned.answer else found


def _alignment(base: int, period: int) -> str:
    return (
        f"the layout's swizzle counts from the base {base:#x}, the hardware's from address 0: "
        f"align the base to {period} bytes, or let swizzle=address act on addresses"
    )


def _spec(side: Spec | Layout | str, reading: Reading) -> Spec:
    if isinstance(side, str):
        return side_of(side, reading)
    return Copied(side) if isinstance(side, Layout) else side


def _reach(spec: Spec, shared: Setting) -> Pair | None:
    """The tile that one descriptor reaches to, for a writer that does not say its own."""
    return spec.placed(shared).tile if isinstance(spec, Described | Together) else None


# -- the comparison --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Finding:
    """What was found in one piece."""

    answer: bool | None
    index: Pair | None = None
    written: int | None = None
    read: int | None = None
    first: bool = True


def _compared(writer: Side, reader: Side, base: int) -> Agreement:
    rows, k = (_hull([getattr(part, way) for part in reader.parts]) for way in ("rows", "k"))
    elements = sum(_size(part) for part in reader.parts)
    asked = Agreement(
        None, elements=elements, rows=rows, k=k, notes=(), writer=writer, reader=reader, base=base
    )
    found = [finding for part in reader.parts for finding in _pieces(writer, part)]
    different = [finding for finding in found if finding.answer is False]
    if different:
        return _different(asked, min(different, key=lambda finding: finding.index or (0, 0)))
    if any(finding.answer is None for finding in found):
        return replace(asked, reason="not decided within the bound: no closed form compares the two layouts")
    twice = _written_twice(asked)
    if twice is not None:
        return twice
    return replace(asked, answer=True, proof=_proof(asked, len(found)), notes=_notes(asked))


def _pieces(writer: Side, part: Part) -> Iterator[_Finding]:
    """The part of the reader, cut where the writer's parts end, piece by piece."""
    cuts = [sorted({end for own in writer.parts for end in getattr(own, way)}) for way in ("rows", "k")]
    for rows, k in product(_cells(cuts[0], part.rows), _cells(cuts[1], part.k)):
        own = next((own for own in writer.parts if _inside(rows, own.rows) and _inside(k, own.k)), None)
        if own is None:
            address = _address(part, (rows[0], k[0]))
            yield _Finding(False, (rows[0], k[0]), None, address)
        else:
            yield from _same(own, part, rows, k)


def _same(writer: Part, reader: Part, rows: Interval, k: Interval) -> Iterator[_Finding]:
    """Both sides over one box of the tile, in boxes in which each is one layout."""
    one, other = (Piece((part.rows, part.k), part.layout) for part in (writer, reader))
    for box, written, read in boxwise(one, other, (rows, k)):
        found = written.same(read)
        if found.answer is not False or found.witness is None:
            yield _Finding(found.answer)
            continue
        (top, _), (left, right) = box
        down, across = divmod(found.witness, right - left)
        index = (top + down, left + across)
        yield _Finding(False, index, _address(writer, index), _address(reader, index), found.first)


def _address(part: Part, index: Pair) -> int:
    return part.layout.place(index[0] - part.rows[0], index[1] - part.k[0])["m"]


def _cells(cuts: list[int], interval: Interval) -> Iterator[Interval]:
    """An interval, cut."""
    inside = [cut for cut in cuts if interval[0] < cut < interval[1]]
    yield from pairwise([interval[0], *inside, interval[1]])


def _inside(inner: Interval, outer: Interval) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _hull(intervals: list[Interval]) -> Interval:
    return min(first for first, _ in intervals), max(last for _, last in intervals)


def _size(part: Part) -> int:
    rows, k = extents_of(part.layout.shape)
    return rows * k


def _holder(side: Side, address: int) -> Pair | None:
    """The element that a side has at an address, at its first byte or in the middle of it."""
    unit = max(side.dtype.bits // 8, 1) if side.parts[0].layout.unit == "byte" else 1
    for part in side.parts:
        for back in range(unit):
            found = part.layout.who(m=address - back, limit=1)
            if found:
                return _index(part, part.layout.flat_index(*found[0]))
    return None


def _index(part: Part, flat: int) -> Pair:
    """The element of the tile that a part counts as `flat`."""
    row, k = part.layout.coordinates(flat)
    return part.rows[0] + row, part.k[0] + k


# -- the answers -----------------------------------------------------------------------------------


def _different(base: Agreement, found: _Finding) -> Agreement:
    writer, reader, index = base.writer, base.reader, found.index or (0, 0)
    holds, searched = None, True
    try:
        holds = None if found.read is None else _holder(writer, found.read)
    except NotDecided:
        searched = False
    first = Difference(index, found.written, found.read, holds, writer.parts[0].layout.unit, searched)
    head = f"written {_way(writer)}, read {_way(reader)}"
    if writer.label == reader.label:
        head = f"written and read {_way(writer)}"
    earlier = "" if found.first else "; an earlier one may differ as well"
    return replace(
        base,
        answer=False,
        reason=f"{head}: {_told(first, writer)}{earlier}",
        witness={"index": index, "written": first.written, "read": first.read},
        first=first,
        hint=_way_on(base, first),
    )


def _way(side: Side) -> str:
    return "unswizzled" if side.label == "none" else side.label


def _told(first: Difference, writer: Side) -> str:
    element = f"element {first.index}"
    if first.written is None:
        return f"{element} is read and never written, the writer's tile is {times(writer.tile)}"
    held = f", where {first.holds} is" if first.holds else ", where nothing is written"
    places = [_at(address, first.unit) for address in (first.written, first.read)]
    return f"{element} is written to {places[0]} and read from {places[1]}{held if first.searched else ''}"


def _at(address: int | None, unit: str) -> str:
    if address is None or unit == "byte":
        return f"byte {address}"
    return f"bit {address % 8} of byte {address // 8}"


def _way_on(base: Agreement, first: Difference) -> str:
    """What to change: the plain causes first, then what the reader would have to be."""
    writer, reader = base.writer, base.reader
    if first.written is None:
        return "write a tile as large as the one that is read"
    for side, other in ((writer, reader), (reader, writer)):
        if side.doubt is not None and side.doubt.mode.name == other.label != side.label:
            return str(side.doubt)
    return _reader_of(writer, reader) or _words_of_a_difference(writer, reader)


def _words_of_a_difference(writer: Side, reader: Side) -> str:
    if writer.label != reader.label:
        return "take one swizzle for both"
    if writer.major and reader.major and writer.major != reader.major:
        return f"the writer is {major_words(writer.major)}, the reader {major_words(reader.major)}"
    same = "neither is swizzled" if writer.label == "none" else "the swizzle is one and the same"
    return f"{same}: steps between rows, atoms or tiles differ"


def _reader_of(writer: Side, reader: Side) -> str:
    """What the engine would have to be told to read what is written, or why nothing does."""
    part = writer.parts[0]
    if not reader.operand or len(writer.parts) > 1 or part.layout.unit != "byte":
        return ""
    from tilewise.check.match import Match, match

    try:
        asked = dict(reader.asked)
        found = match(part.layout, engine=reader.engine, operand=reader.operand, dtype=reader.type, **asked)
    except LayoutError:
        return ""
    if isinstance(found, Match):
        return (
            f"what is written is read by descriptor {found.value:#018x}: {swizzle_words(found.mode)}, "
            f"{major_words(found.major)}, lbo {found.descriptor.lbo}, sbo {found.descriptor.sbo} bytes"
            + _walked(found.steps)
        )
    return f"no descriptor reads what is written: {found.reasons[0].message}"


def _walked(steps: Sequence[Step[Any]]) -> str:
    """How far the steps of a tile go, where it has several."""
    if len(steps) == 1:
        return ""
    shown = [str(step.bytes) for step in steps]
    listed = ", ".join(shown if len(shown) <= MAX_STEPS else [*shown[: MAX_STEPS - 1], "...", shown[-1]])
    return f", steps + {listed}"


def _other_type(written: Side, reader: Spec, shared: Setting) -> Agreement | None:
    """No, where the elements that are read have another width: then no tile is the other's."""
    one, other = written.dtype, reader.stored(shared)
    if one.bits == other.bits:
        return None
    read = Side(f"a reader of {other}", "", other, written.tile, ())
    return Agreement(
        False,
        f"written as {one}, {one.bits} bits an element, read as {other}, {other.bits} bits",
        {"written": one.name, "read": other.name},
        hint="give both sides elements of one width",
        writer=written,
        reader=read,
        base=shared.base,
    )


def _written_twice(base: Agreement) -> Agreement | None:
    """No, where two elements are written to one byte; not decided, where that is not; else nothing."""
    for part in base.writer.parts:
        verdict = part.layout.injective
        if verdict.answer is None:
            return replace(base, reason=verdict.reason)
        if not verdict.answer:
            return _shared(base, part, verdict.witness)
    return None


def _shared(base: Agreement, part: Part, witness: Sequence[Any]) -> Agreement:
    flats = _first_shared(part.layout) or witness[:2]
    one, other = sorted(_index(part, flat) for flat in flats)
    address = _address(part, other)
    unit = part.layout.unit
    return replace(
        base,
        answer=False,
        reason=f"elements {one} and {other} are both written to {_at(address, unit)}",
        witness={"index": other, "written": address, "read": address},
        first=Difference(other, address, address, one, unit),
        hint="a layout that overlaps itself keeps one element of the two",
    )


def _first_shared(layout: Layout) -> tuple[int, int] | None:
    """The first element whose address an earlier one has, and that one, in layouts that can be listed."""
    taken: dict[tuple[int, ...], int] = {}
    for flat in range(layout.size if layout.size <= MAX_LISTED else 0):
        earlier = taken.setdefault(layout.before_swizzle(flat), flat)
        if earlier != flat:
            return earlier, flat
    return None


def _proof(base: Agreement, pieces: int) -> str:
    layout = base.reader.parts[0].layout.coalesce(by_mode=True)
    if pieces == 1:
        return f"in closed form: both are {layout} in {layout.unit}s"
    return f"in closed form, {pieces} pieces: the first is {layout} in {layout.unit}s for both"


def _notes(base: Agreement) -> tuple[str, ...]:
    writer, reader = base.writer.dtype, base.reader.dtype
    if writer.name == reader.name:
        return ()
    return (f"written as {writer} and read as {reader}: the bytes are the same, the types are two",)
