"""An operand in shared memory: the byte of each element of [rows, K], and the part of one instruction.

All questions of `match` are asked in bytes. One-bit elements are taken eight at a time, so that K counts
bytes for them too: `elements` says how many elements a cell of the layout holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from tilewise.core.algebra.slicing import Interval, Piece
from tilewise.core.axes import STORAGE, m
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of, leaves, size_of
from tilewise.core.swizzles import Swizzle
from tilewise.core.vectors import Vector, as_vector
from tilewise.hardware.modes import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    from tilewise.core.dtypes import DType
    from tilewise.hardware.engines import Engine, Intake

    class Row(Protocol):
        """What the table of an engine says of a type."""

        @property
        def name(self) -> str:
            """The type's name."""

        @property
        def dtype(self) -> DType:
            """As which an element lies in memory."""

        @property
        def k(self) -> int:
            """Elements along the second mode that one instruction takes."""

        @property
        def majors(self) -> tuple[str, ...]:
            """The directions that may be contiguous."""


NOT_SHARED = {"reg": "registers", "TCol": "tensor memory"}
"""Storage that is no shared memory."""

CELL = "u8"
"""The type as which eight one-bit elements are read."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a layout cannot be read: the rule that it breaks, a sentence, and what shows it."""

    rule: str
    message: str
    witness: Any = None
    hint: str = ""
    repair: Layout | None = None
    """The operand in bytes with this one fault mended, where that makes it legal."""
    mode: Mode | None = None
    """The mode that seems to be meant."""

    def __str__(self) -> str:
        return self.message


class Unreadable(Exception):
    """A reason that ends the questions: without an answer to it nothing else can be asked."""

    def __init__(self, *reasons: Reason) -> None:
        super().__init__(*reasons)
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Reader:
    """How the engine that takes an operand is spoken of."""

    modes: dict[str, str]
    """{operand: its two modes}."""
    copies: tuple[str, str]
    """What it makes of copies, and what to do instead."""
    axes: str
    """From where it reads."""
    registers: str
    """What to do where the layout is one of registers, or of what is said instead."""
    bytes: str
    """What it counts."""
    bits: str
    """In which direction it takes several elements of one byte, {} being their type."""
    other_home: str = "reg"
    """The storage that `registers` is about."""


def reader_of(engine: Engine) -> Reader:
    """An engine that reads operands through descriptors."""
    return Reader(
        modes={"A": "[M, K]", "B": "[N, K]"},
        copies=(
            "and a descriptor names one",
            "match the layout without R; each copy has a descriptor of its own",
        ),
        axes="the tensor core reads bytes of shared memory, one storage axis",
        registers=engine.registers,
        bytes="a descriptor counts bytes, 16 at a time",
        bits=f"{engine.name} reads {{}} K-major alone: lay the tile out with K contiguous",
        other_home=engine.other_home,
    )


def intake_of(engine: Engine, dtype: DType | str, operand: str, asked: Mapping[str, Any]) -> Intake:
    """What the instructions take that are asked for by these words, those that are None left out.

    >>> from tilewise.hardware.engines import engine
    >>> intake_of(engine("wgmma"), "bf16", "B", {"n": 96}).rows
    (96,)
    >>> intake_of(engine("wgmma"), "bf16", "B", {"cta_group": 2})
    Traceback (most recent call last):
    tilewise.LayoutError: TW601: wgmma is not asked for cta_group
      hint: it is asked for n
    """
    said = {name: value for name, value in asked.items() if value is not None}
    for name in said:
        if name not in engine.options:
            raise LayoutError(
                "TW601",
                f"{engine.name} is not asked for {name}",
                hint=f"it is asked for {', '.join(engine.options)}",
            )
    return engine.intake(dtype, operand, **said)


def pair_notes(intake: Intake, rows: int, one: int) -> tuple[str, ...]:
    """What is said of a tile of `rows` in one CTA of a pair, where an instruction reads but `one` of them.

    >>> from tilewise.hardware.engines import engine
    >>> of_pair = engine("tcgen05").intake("bf16", "A", m=256, cta_group=2)
    >>> pair_notes(of_pair, 128, 128), len(pair_notes(of_pair, 256, 128))
    ((), 1)
    """
    if intake.ctas == 1 or rows <= one:
        return ()
    whole = f"{'M' if intake.operand == 'A' else 'N'} = {one * intake.ctas}"
    return (
        f"the tile is one CTA's: of {whole} each CTA of the pair has {one} rows, "
        f"and {rows} take {rows // one} instructions",
    )


def known_hint(name: object, known: Iterable[str]) -> str:
    """The names there are, and the one that was perhaps meant.

    >>> known_hint("tcgen5", ("wgmma", "tcgen05")), known_hint("abacus", ("k", "mn"))
    ('did you mean tcgen05? known: wgmma tcgen05', 'known: k mn')
    """
    from difflib import get_close_matches

    names = [*known]
    near = get_close_matches(str(name).lower(), names, n=1)
    return (f"did you mean {near[0]}? " if near else "") + "known: " + " ".join(names)


@dataclass(frozen=True)
class Operand:
    """[rows, K] in bytes of shared memory; element (0, 0) of the layout's own numbers is at `base`."""

    name: str
    row: Row
    layout: Layout
    """In bytes, on the axis m, of two modes, in one copy."""
    base: int = 0
    elements: int = 1
    """Elements in a cell of the layout: 8 where they are bits."""

    @cached_property
    def rows(self) -> int:
        """M of A, N of B."""
        return extents_of(self.layout.shape)[0]

    @cached_property
    def columns(self) -> int:
        """Cells along K."""
        return extents_of(self.layout.shape)[1]

    @property
    def size(self) -> int:
        """Bytes of a cell."""
        return max(8, self.row.dtype.bits) // 8

    @property
    def type(self) -> str:
        """The type as which a cell is read."""
        return CELL if self.elements > 1 else self.row.dtype.name

    @property
    def k(self) -> int:
        """Cells along K that one instruction reads."""
        return self.row.k // self.elements

    @cached_property
    def chain(self) -> tuple[Swizzle, ...]:
        """The swizzles that are written, on bytes."""
        return tuple(swizzle for swizzle in self.layout.swizzles if swizzle.bits)

    @cached_property
    def pattern(self) -> int:
        """Where the swizzle's pattern starts."""
        return self.base + self.layout.outer[m]

    def byte(self, row: int, column: int) -> int:
        """The address of a cell."""
        return self.base + self._relative(row * self.columns + column)

    def _relative(self, flat: int) -> int:
        place = self.layout.after_swizzle(self.layout.before_swizzle(flat))
        return sum(place)

    def plain(self, row: int, column: int) -> int:
        """The address of a cell before the layout's own swizzle."""
        return sum(self.layout.before_swizzle(row * self.columns + column)) + self.pattern

    def with_layout(self, layout: Layout) -> Operand:
        """The same question about another layout."""
        return replace(self, layout=layout)

    def of(self, layout: Layout) -> Operand:
        """The same operand with the elements of another layout, in elements."""
        cells, _ = _in_cells(layout, self.row)
        return replace(self, layout=cells.coalesce(by_mode=True), base=0)

    def in_elements(self) -> Layout | None:
        """The layout in elements; None where it has no whole ones."""
        try:
            if self.elements > 1:
                return self.layout.counted("element").unpack(self.elements)
            return self.layout.in_elements(self.row.dtype)
        except LayoutError:
            return None

    def blocks(self, n: int) -> Blocks | None:
        """The tile cut into parts of n rows and the K of one instruction; None where digits do not divide."""
        shape = (self.rows // n, n), (self.columns // self.k, self.k)
        try:
            return Blocks(self, n, self.layout.group(*shape))
        except Refused:
            return None

    def cuts(self, n: int) -> Cuts:
        """The same parts, of which each may be several layouts."""
        return Cuts(self, n)

    def index(self, flat: int) -> tuple[int, int]:
        """(row, k) of a flat index, k in elements."""
        row, column = divmod(flat, self.columns)
        return row, column * self.elements


@dataclass(frozen=True)
class Cuts:
    """The parts of a tile that single instructions read, cut out of it wherever they begin."""

    operand: Operand
    n: int

    @property
    def counts(self) -> tuple[int, int]:
        """How many there are along the rows and along K."""
        (many_rows, _), (many_k, _) = self._modes
        return many_rows, many_k

    @cached_property
    def _modes(self) -> Any:
        operand = self.operand
        return (operand.rows // self.n, self.n), (operand.columns // operand.k, operand.k)

    def pieces(self, row: int, column: int) -> list[Piece]:
        """The layouts of one part, in the operand's own bytes; their boxes count from its corner."""
        corner = row * self.n, column * self.operand.k
        ends = corner[0] + self.n, corner[1] + self.operand.k
        found = self.operand.layout.slice(*zip(corner, ends, strict=True))
        return [Piece(_counted_from(corner, piece.box), piece.layout) for piece in found]


@dataclass(frozen=True)
class Blocks(Cuts):
    """The parts of a tile of which each is one layout, and all are by one rule."""

    grouped: Layout
    """The operand's layout in the shape ((blocks, n), (blocks, k))."""

    def pieces(self, row: int, column: int) -> list[Piece]:
        """The layout of one part."""
        return [Piece(((0, self.n), (0, self.operand.k)), self.block(row, column))]

    @cached_property
    def digits(self) -> list[list[tuple[int, Vector]]]:
        """The digits of (which rows, rows, which K, K), each slowest first."""
        digits, found = iter(self.grouped.digits), []
        for mode in self._modes:
            for extent in mode:
                part: list[tuple[int, Vector]] = []
                covered = 1
                while covered < extent or (extent == 1 and not part):
                    part.append(next(digits))
                    covered *= part[-1][0]
                found.append(part)
        return found

    def block(self, row: int, column: int) -> Layout:
        """The layout of one part, in the operand's own bytes."""
        which_rows, rows, which_k, columns = self.digits
        offset = self.grouped.offset + _stepped(which_rows, row) + _stepped(which_k, column)
        modes = [tuple(extent for extent, _ in part) for part in (rows, columns)]
        shape = tuple(mode[0] if len(mode) == 1 else mode for mode in modes)
        strides = tuple(stride for _, stride in (*rows, *columns))
        return self.grouped.with_parts(shape, strides, (), offset)


def _counted_from(corner: tuple[int, int], box: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """A box, counted from a corner."""
    return tuple((first - at, last - at) for at, (first, last) in zip(corner, box, strict=True))


def _stepped(digits: list[tuple[int, Vector]], index: int) -> Vector:
    total = Vector()
    for extent, stride in reversed(digits):
        index, digit = divmod(index, extent)
        total = total + stride * digit
    return total


# -- from a layout -------------------------------------------------------------------------------------


def operand_of(
    layout: Layout,
    name: str,
    row: Row,
    reader: Reader,
    base: int = 0,
    pattern: str = "tile",
) -> Operand:
    """The operand that a layout describes; `Unreadable` where it is no [rows, K] of bytes.

    With the pattern "address" the swizzle counts from address 0: the base is part of what it acts on.
    """
    placed = _in_one_memory(_in_one_copy(layout, reader), reader)
    if len(extents_of(placed.shape)) != 2:
        raise Unreadable(_rank(placed, name, row, reader))
    try:
        cells, elements = _in_cells(placed, row, base if pattern == "address" else 0)
    except LayoutError as error:
        raise Unreadable(_scattered(placed, row, error, reader)) from None
    return Operand(name, row, cells.coalesce(by_mode=True), base if pattern == "tile" else 0, elements)


def _in_one_copy(layout: Layout, reader: Reader) -> Layout:
    if layout.copies != 1:
        said, hint = reader.copies
        message = f"every element has {layout.copies} copies (R), {said}"
        raise Unreadable(Reason("copies", message, {"copies": layout.copies}, hint))
    return replace(layout, replica=(), offset=layout.canonical().offset if layout.replica else layout.offset)


def _in_one_memory(layout: Layout, reader: Reader) -> Layout:
    moving = [layout.axis(name) for name in layout.moving]
    owners = [axis.name for axis in moving if axis.kind != STORAGE]
    elsewhere = {axis.name: NOT_SHARED[axis.name] for axis in moving if axis.name in NOT_SHARED}
    if owners or elsewhere:
        what = ", ".join([*owners, *(f"{name} ({where})" for name, where in elsewhere.items())])
        raise Unreadable(
            Reason(
                "axis",
                f"the layout moves on {what}: {reader.axes}",
                {"axes": [axis.name for axis in moving]},
                reader.registers
                if reader.other_home in elsewhere
                else "slice the layout of one owner's memory first",
            )
        )
    if len(moving) > 1:
        names = [axis.name for axis in moving]
        message = f"the layout moves on {' and '.join(names)}, and a tile lies in one memory"
        raise Unreadable(Reason("axis", message, {"axes": names}, "match each of them alone"))
    return _on_m(layout, moving[0].name) if moving else layout


def _on_m(layout: Layout, axis: str) -> Layout:
    return replace(
        layout,
        strides=tuple(as_vector(stride[axis]) for stride in layout.strides),
        offset=as_vector(layout.offset[axis]),
        outer=as_vector(layout.outer[axis]),
        swizzles=tuple(Swizzle(s.bits, s.base, s.shift) for s in layout.swizzles),
    )


def departed(layout: Layout, deep: int) -> Layout | None:
    """The first stage [rows, K] of an operand that CuTe has partitioned for instructions of `deep` along K.

    It is printed as ((MN, K), mn, k), and stages last. Inside a mode CuTe counts the first digit fastest, and
    a layout here the last: read from there, the first mode is (K, MN). None where it is no such layout.

        postcondition  departed(layout, deep) at (mn * MN + i, k * K + j) is layout at (j * MN + i, mn, k, 0)

    >>> from tilewise import parse
    >>> print(departed(parse("((_64,_16),_2,_4,_3):((_64,_1),_4096,_16,_8192)").in_order("row"), 16))
    S[(128, 64) : (64, 1)]
    >>> departed(parse("S[(4, 128, 64) : (8192, 64, 1)]"), 16)
    """
    if len(layout.shape) not in (3, 4):
        return None
    first, many_rows, many_k, *_ = layout.shape
    if not isinstance(first, tuple) or len(first) != 2:
        return None
    columns, rows = first
    if size_of(columns) != deep:
        return None
    strides = iter(layout.strides)
    of_columns, of_rows, of_many_rows, of_many_k = (
        tuple(islice(strides, len([*leaves(mode)]))) for mode in (columns, rows, many_rows, many_k)
    )
    shape = (many_rows, rows), (many_k, columns)
    moved = (*of_many_rows, *of_rows, *of_many_k, *of_columns)
    return layout.with_parts(shape, moved, layout.replica, layout.offset).coalesce(by_mode=True)


def _rank(layout: Layout, name: str, row: Row, reader: Reader) -> Reason:
    extents = extents_of(layout.shape)
    wanted = reader.modes[name]
    witness: dict[str, Any] = {"shape": list(extents)}
    tile = departed(layout, row.k)
    if tile is not None:
        rows = wanted[1]
        stages, what = (", stages", "its first stage") if len(extents) == 4 else ("", "it")
        shape = list(extents_of(tile.shape))
        partition = f"(({rows}, K), {rows.lower()}, k{stages})"
        hint = f"CuTe's partition {partition}? match a tile: {what}, {shape}, is {tile}"
    elif len(extents) == 3:
        hint = (
            "of several stages match one: tilewise algebra slice LAYOUT 0, "
            "or ':,:,0' where the last mode says which"
        )
    else:
        hint = f"give it the shape ({wanted[1:-1]}): tilewise algebra reshape"
        witness["modes"] = wanted[1:-1].split(", ")
    message = f"{name} is {wanted}, two modes, and the layout has {len(extents)}: {extents}"
    return Reason("rank", message, witness, hint)


def _scattered(layout: Layout, row: Row, error: LayoutError, reader: Reader) -> Reason:
    """Why elements do not lie at whole bytes: those of a byte are apart, or steps are no whole bytes."""
    if row.dtype.bits >= 8 or layout.unit == "byte":
        message = f"{error.message}: {row.name} elements do not lie at whole bytes"
        return Reason("unit", message, hint=reader.bytes)
    columns, bits = extents_of(layout.shape)[1], row.dtype.bits
    many = 8 // bits
    counted = {8: "eight", 2: "two"}.get(many, str(many))
    places = [sum(layout.before_swizzle(flat)) for flat in range(min(columns, many))]
    apart = next((i for i, at in enumerate(places) if at != places[0] + i), None)
    if apart is None:
        message = f"{error.message}: {counted} {row.name} elements of one byte do not stay together"
        return Reason("chunk", message, hint=error.hint)
    found, wanted = (places[apart] - places[0]) * bits, apart * bits
    return Reason(
        "chunk",
        f"{counted} {row.name} elements along K share a byte: k = {apart} is {found} bits "
        f"from k = 0, wanted {wanted}",
        {"element": apart, "found": found, "wanted": wanted},
        reader.bits.format(row.name),
    )


def _in_cells(layout: Layout, row: Row, start: int = 0) -> tuple[Layout, int]:
    """The layout in bytes, `start` bytes further before its swizzle, and how many elements a byte holds.

    The start comes first: what a swizzle does there it may not do at 0, and packing keeps what it does.
    """
    if row.dtype.bits >= 8:
        return _further(layout.in_bytes(row.dtype), start), 1
    many = 8 // row.dtype.bits
    rows, columns = extents_of(layout.shape)
    if columns % many:
        raise LayoutError("TW106", f"K of {columns} {row.name} ends inside a byte")
    if layout.unit != "byte":
        return _further(layout.in_elements(row.dtype), start * many).pack(many).counted("byte"), many
    grouped = _further(layout, start).group(rows, columns // many, many)
    if grouped.slice(0, 0).layout.span() != 1:
        raise LayoutError("TW106", f"{many} {row.name} that follow along K are in several bytes")
    return grouped.slice(None, None, 0).layout, many


def _further(layout: Layout, steps: int) -> Layout:
    return replace(layout, offset=layout.offset + steps)
