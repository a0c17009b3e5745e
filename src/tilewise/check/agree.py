"""Compare a writer of a tile with its reader: the byte of every element on either side.

The tile is [rows, K]. Each side is a list of pieces: boxes of the tile with a layout of addresses each. The
reader's boxes are cut where the writer's end, and box by box `same` compares the two layouts: in closed form,
whatever the size. A no is the first element, row by row, that is read from another byte than it was written
to.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise, product

from tilewise.check.operand import first_shared, major_name
from tilewise.check.sides import (
    Copied,
    Described,
    Setting,
    Side,
    Together,
    moved,
    swizzle_words,
    times,
)
from tilewise.check.spelling import Reading, side_of
from tilewise.core.algebra.slicing import Piece
from tilewise.core.digits import number
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, NotDecided
from tilewise.core.facts import Verdict
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.solve import BudgetSpent, solutions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tilewise.check.sides import Pair, Part, Spec
    from tilewise.core.algebra.slicing import Interval

    Box = tuple[Interval, ...]

MAX_LISTED = 1 << 16
"""The elements of a tile of shared memory, and more."""

MAX_STEPS = 6
"""The largest number of a tile's steps that a hint lists."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An element that is read from a byte other than the one it was written to.

    Addresses count bytes, and bits where elements are narrower. `written` is None where the writer has no
    such element; `holds` is the element that the writer put where this one is read, or None. If the search
    ended at its bound, `holds` is None and `searched` is False.
    """

    index: Pair
    written: int | None
    read: int
    holds: Pair | None = None
    unit: str = "byte"
    searched: bool = True


_NOBODY = Side("", "", DType.of("u8"), (0, 0))


@dataclass(frozen=True, slots=True)
class Agreement(Verdict):
    """The answer of `agree`: yes with what was proven, no with the first difference, or not decided."""

    first: Difference | None = None
    elements: int = 0
    """The number of elements compared: those that are read."""
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
        """Return True if the two agree; None where this was not decided."""
        return self.answer


def agree(
    writer: Spec | Layout | str,
    reader: Spec | Layout | str,
    *,
    dtype: DType | str | None = None,
    base: int = 0,
    let: Mapping[str, int] | None = None,
) -> Agreement:
    """Return the agreement of a writer and a reader, element by element, byte by byte.

    A side is a text that `tilewise.check.spelling` reads, a layout [rows, K] in elements, or a `OneSide`.
    `base` is the tile's address in shared memory. All instructions of a tile are compared, or the single one
    that `wgmma(..., at=(row, k))` names.

        postcondition  yes iff written(r, k) == read(r, k) for every element that is read, and no byte
                       is written twice; a no has the first element that differs, row by row, or else
                       the first that is written over another one

    >>> found = agree("tma(128x64, 64B)", "wgmma(A, 128B)", dtype="bf16")
    >>> found.answer, found.first.index, found.first.written, found.first.read
    (False, (0, 32), 8192, 64)
    >>> agree("tma(128x64, 128B)", "wgmma(A, 128B)", dtype="bf16").answer
    True
    """
    element = None if dtype is None else DType.of(dtype)

    def spec(side: Spec | Layout | str) -> Spec:
        if isinstance(side, str):
            return side_of(side, Reading(let=let, dtype=element))
        return Copied(side) if isinstance(side, Layout) else side

    return agree_of(spec(writer), spec(reader), dtype=element, base=base)


def agree_of(writer: Spec, reader: Spec, *, dtype: DType | None = None, base: int = 0) -> Agreement:
    """Return `agree` of sides that are already parsed."""
    base = as_int(base, "the base address")
    if base < 0:
        raise LayoutError("TW203", f"an address of {base} is negative", hint="addresses count from 0")
    shared = Setting(dtype, base)
    own, tile = writer.tile, reader.tile
    if own is None and tile is None and isinstance(reader, Described | Together):
        tile = reader.placed(shared).tile  # the reach of one descriptor
    written = writer.placed(replace(shared, tile=tile))
    shared = replace(shared, tile=own or written.tile)
    one, other = written.dtype, reader.stored(shared)
    if one.bits != other.bits:  # no tile can be the other's
        return Agreement(
            False,
            f"written as {one}, {one.bits} bits an element, read as {other}, {other.bits} bits",
            {"written": one.name, "read": other.name},
            hint="give both sides elements of one width",
            writer=written,
            reader=Side(f"a reader of {other}", "", other, written.tile),
            base=base,
        )
    found = _compared(written, reader.placed(shared), base)
    period = max(written.period, found.reader.period)
    if found.answer is not False or base % period == 0:
        return found
    aligned = agree_of(writer, reader, dtype=dtype, base=base // period * period)
    hint = (
        f"the layout's swizzle counts from the base {base:#x}, the hardware's from address 0: "
        f"align the base to {period} bytes, or let swizzle=address act on addresses"
    )
    return replace(found, hint=hint) if aligned.answer else found


# -- the comparison --------------------------------------------------------------------------------


def _compared(writer: Side, reader: Side, base: int) -> Agreement:
    rows, k = (
        (min(first for first, _ in ends), max(last for _, last in ends))
        for ends in zip(*(part.box for part in reader.parts), strict=True)
    )
    elements = sum(part.layout.size for part in reader.parts)
    asked = Agreement(None, elements=elements, rows=rows, k=k, writer=writer, reader=reader, base=base)
    found = [verdict for part in reader.parts for verdict in _boxes(writer, part)]
    different = [verdict for verdict in found if verdict.answer is False]
    if different:
        return _different(asked, min(different, key=lambda verdict: verdict.witness[0]))
    if any(verdict.answer is None for verdict in found):
        return replace(asked, reason="not decided within the bound: no closed form compares the two layouts")
    for part in writer.parts:
        alone = part.layout.injective
        if not alone.answer:
            return _shared(asked, part, alone)
    for one, other in combinations(writer.parts, 2):
        try:
            met = _meeting(one, other)
        except BudgetSpent:
            return replace(
                asked, reason="not decided within the bound: two parts of the writer may share a byte"
            )
        if met is not None:
            return _both_written(asked, sorted(met), _address(one, met[0]), one.layout.unit)
    layout = reader.parts[0].layout.coalesce(by_mode=True)
    proof = f"in closed form: both are {layout} in {layout.unit}s"
    if len(found) > 1:
        proof = f"in closed form, {len(found)} pieces: the first is {layout} in {layout.unit}s for both"
    notes = (
        f"written as {writer.dtype} and read as {reader.dtype}: the bytes are the same, the types are two",
    )
    return replace(asked, answer=True, proof=proof, notes=notes if writer.dtype != reader.dtype else ())


def _boxes(writer: Side, read: Part) -> Iterator[Verdict]:
    """Yield a verdict on each box in which both sides are one layout, or the writer has nothing.

    A no has as its witness an index, the address written to, and the address read from.
    """
    cuts = (
        {*ends, *(cut for own in writer.parts for cut in own.box[way] if ends[0] < cut < ends[1])}
        for way, ends in enumerate(read.box)
    )
    for region in product(*(pairwise(sorted(ends)) for ends in cuts)):
        written = next((own for own in writer.parts if _holds(own, region)), None)
        if written is None:
            corner = region[0][0], region[1][0]
            yield Verdict(False, witness=(corner, None, _address(read, corner)))
            continue
        for ((top, _), (left, right)), one, other in boxwise(written, read, region):
            found = one.same(other)
            if found.answer is not False:
                yield Verdict(found.answer)
                continue
            down, across = divmod(found.witness, right - left)
            index = top + down, left + across
            earlier = "" if found.first else "; an earlier one may differ as well"
            yield Verdict(False, earlier, (index, _address(written, index), _address(read, index)))


def boxwise(one: Piece, other: Piece, region: Box) -> Iterator[tuple[Box, Layout, Layout]]:
    """Yield the boxes of a region in which both parts are one layout each, and these layouts.

    A part's layout counts from the corner of its own box; the layouts that come back count from the
    corner of theirs.

        requires       the region lies in both boxes
        postcondition  the boxes are disjoint and cover the region
        cost           by digits, not by elements

    >>> from tilewise import S
    >>> one = Piece(((0, 6), (0, 2)), S[((2, 3), 2) : ((10, 1), 100)])
    >>> other = Piece(((2, 6), (0, 2)), S[(4, 2) : (1, 100)])
    >>> for box, here, there in boxwise(one, other, other.box):
    ...     print(box, here, there)
    ((2, 3), (0, 2)) S[(1, 2) : (0, 100)] + 2 S[(1, 2) : (0, 100)]
    ((3, 6), (0, 2)) S[((1, 3), 2) : ((10, 1), 100)] + 10 S[(3, 2) : (1, 100)] + 1
    """
    found = []
    for part in (one, other):
        inside = _inside(part, region)
        if len(inside) > 1:
            for piece in inside:
                yield from boxwise(one, other, piece.box)
            return
        found.append(inside[0].layout)
    yield region, found[0], found[1]


def _inside(part: Piece, region: Box) -> list[Piece]:
    """Return the pieces of a part over a region, their boxes in the tile's own rows and columns."""
    if region == part.box:
        return [part]
    corner = [first for first, _ in part.box]
    pieces = part.layout.slice(*moved(region, [-first for first in corner]))
    return [Piece(moved(piece.box, corner), piece.layout) for piece in pieces]


def _holds(part: Part, region: Sequence[Interval]) -> bool:
    ends = zip(part.box, region, strict=True)
    return all(first <= start and stop <= last for (first, last), (start, stop) in ends)


def _address(part: Part, index: Pair) -> int:
    return part.layout.place(index[0] - part.rows[0], index[1] - part.k[0])["m"]


def _index(part: Part, flat: int) -> Pair:
    """Return the element of the tile that a part counts as `flat`."""
    row, k = part.layout.coordinates(flat)
    return part.rows[0] + row, part.k[0] + k


def _holder(side: Side, address: int) -> Pair | None:
    """Return the element of a side at an address, at its first byte or in the middle of it."""
    for part in side.parts:
        for back in range(max(side.dtype.bits // 8, 1) if part.layout.unit == "byte" else 1):
            found = part.layout.who(m=address - back, limit=1)
            if found:
                return _index(part, part.layout.flat_index(*found[0]))
    return None


# -- the answers -----------------------------------------------------------------------------------


def _different(base: Agreement, found: Verdict) -> Agreement:
    writer, reader, (index, written, read) = base.writer, base.reader, found.witness
    holds, searched = None, True
    try:
        holds = _holder(writer, read)
    except NotDecided:
        searched = False
    unit = writer.parts[0].layout.unit
    ways = ["unswizzled" if side.label == "none" else side.label for side in (writer, reader)]
    head = f"written and read {ways[0]}" if ways[0] == ways[1] else f"written {ways[0]}, read {ways[1]}"
    told = f"is read and never written, the writer's tile is {times(writer.tile)}"
    if written is not None:
        held = f", where {holds} is" if holds else ", where nothing is written"
        told = f"is written to {_at(written, unit)} and read from {_at(read, unit)}{held if searched else ''}"
    return replace(
        base,
        answer=False,
        reason=f"{head}: element {index} {told}{found.reason}",
        witness={"index": index, "written": written, "read": read},
        first=Difference(index, written, read, holds, unit, searched),
        hint=_hint(writer, reader)
        if written is not None
        else "write a tile as large as the one that is read",
    )


def _at(address: int, unit: str) -> str:
    return f"byte {address}" if unit == "byte" else f"bit {address % 8} of byte {address // 8}"


def _hint(writer: Side, reader: Side) -> str:
    """Return the changes to make: the plain causes first, then the reader that would match."""
    for side, other in ((writer, reader), (reader, writer)):
        if side.doubt is not None and side.doubt.mode.name == other.label != side.label:
            return str(side.doubt)
    matched = _reader_of(writer, reader)
    if matched:
        return matched
    if writer.label != reader.label:
        return "take one swizzle for both"
    if writer.major and reader.major and writer.major != reader.major:
        return f"the writer is {major_name(writer.major)}, the reader {major_name(reader.major)}"
    same = "neither is swizzled" if writer.label == "none" else "the swizzle is one and the same"
    return f"{same}: steps between rows, atoms or tiles differ"


def _reader_of(writer: Side, reader: Side) -> str:
    """Return the descriptor of the reader's engine that reads the written tile, or why none does."""
    layout = writer.parts[0].layout
    if not reader.operand or len(writer.parts) > 1 or layout.unit != "byte":
        return ""
    from tilewise.check.match import Match, match

    try:
        found = match(layout, **reader.operand)
    except LayoutError:
        return ""
    if not isinstance(found, Match):
        return f"no descriptor reads what is written: {found.reasons[0].message}"
    steps = [str(step.bytes) for step in found.steps]
    if len(steps) > MAX_STEPS:
        steps[MAX_STEPS - 1 : -1] = ["..."]
    return (
        f"what is written is read by descriptor {found.value:#018x}: {swizzle_words(found.mode)}, "
        f"{major_name(found.major)}, lbo {found.descriptor.lbo}, sbo {found.descriptor.sbo} bytes"
        + (f", steps + {', '.join(steps)}" if len(steps) > 1 else "")
    )


def _shared(base: Agreement, part: Part, verdict: Verdict) -> Agreement:
    """Return the verdict that two elements are written to one byte, or that this is not decided."""
    if verdict.answer is None:
        return replace(base, reason=verdict.reason)
    flats = (
        first_shared(part.layout, MAX_LISTED) if part.layout.size <= MAX_LISTED else None
    ) or verdict.witness[:2]
    one, other = sorted(_index(part, flat) for flat in flats)
    address, unit = _address(part, other), part.layout.unit
    return _both_written(base, (one, other), address, unit)


def _both_written(base: Agreement, pair: Sequence[Pair], address: int, unit: str) -> Agreement:
    """Return the verdict that two elements are written to one byte, which keeps one of them."""
    one, other = pair
    return replace(
        base,
        answer=False,
        reason=f"elements {one} and {other} are both written to {_at(address, unit)}",
        witness={"index": other, "written": address, "read": address},
        first=Difference(other, address, address, one, unit),
        hint="a layout that overlaps itself keeps one element of the two",
    )


def _meeting(one: Part, other: Part) -> tuple[Pair, Pair] | None:
    """Return an element of each part that share an address; None where no two do.

    Under one swizzle addresses are equal where they were before it: one equation in the digits of both. Under
    two, the addresses are listed, up to a bound.
    """
    ours, theirs = one.layout, other.layout
    (low, high), (first, last) = ours.extremes("m"), theirs.extremes("m")
    if high < first or last < low:
        return None
    if (ours.swizzles, ours.outer) != (theirs.swizzles, theirs.outer):
        if max(ours.size, theirs.size) > MAX_LISTED:
            raise BudgetSpent
        taken = {ours.place(flat)["m"]: flat for flat in range(ours.size)}
        addresses = (theirs.place(flat)["m"] for flat in range(theirs.size))
        met = next(((flat, at) for flat, at in enumerate(addresses) if at in taken), None)
        return None if met is None else (_index(one, taken[met[1]]), _index(other, met[0]))
    steps = [(stride["m"],) for _, stride in ours.digits] + [(-stride["m"],) for _, stride in theirs.digits]
    ranges = [(0, extent - 1) for extent, _ in (*ours.digits, *theirs.digits)]
    gap = (theirs.offset["m"] - ours.offset["m"],)
    found = next(solutions(steps, ranges, gap, gap), None)
    if found is None:
        return None
    count = len(ours.digits)
    flats = (
        number([extent for extent, _ in layout.digits], digits)
        for layout, digits in ((ours, found[:count]), (theirs, found[count:]))
    )
    return _index(one, next(flats)), _index(other, next(flats))
