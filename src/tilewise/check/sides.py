"""The writers and the readers of a tile of shared memory: the byte of every element [row, k], by either.

    Copied     a layout: threads store to, or load from, a pointer plus the layout's address
    Boxes      TMA: boxes that land one after another
    Fed        an engine: the descriptors that walk a tile
    Described  an engine: one descriptor, as it is
    Together   several of them, each for its part of the tile

Each is a sentence and a list of pieces: boxes of the tile with a layout of addresses each, in bytes, and in
bits where elements are narrower. A side without a tile takes the other's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from tilewise.check.operand import intake_of, major_name
from tilewise.core.algebra.slicing import Interval, Piece
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, spell
from tilewise.core.units import converted
from tilewise.core.vectors import as_vector
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, OtherUnit, other_unit_of
from tilewise.hardware.operands.template import check_major_word, check_operand
from tilewise.hardware.tma.landing import per_byte, row_bytes, row_pitch, stacked
from tilewise.hardware.tma.rules import MAX_BOX, SHARED_ALIGNMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from tilewise.hardware.engines import Intake, MatrixDescriptor

Pair = tuple[int, int]
"""(rows, elements along K)."""

Asked = tuple[tuple[str, Any], ...]
"""The options of an engine's instructions, such as (("kind", "mxf4"), ("cta_group", 2))."""


class Part(Piece):
    """A box of the tile, and the address of every element in it: in bytes, or in bits for narrower ones."""

    __slots__ = ()

    @property
    def rows(self) -> Interval:
        """Return the rows of the box."""
        return self.box[0]

    @property
    def k(self) -> Interval:
        """Return the box's elements along K."""
        return self.box[1]


@dataclass(frozen=True, slots=True)
class Side:
    """A writer or a reader in a place: its name, and the addresses of its elements."""

    words: str
    """The side's name, for people."""
    label: str
    """Its swizzle in a word: 128B, 64B, 32B, none."""
    dtype: DType
    tile: Pair
    parts: tuple[Part, ...] = ()
    """Boxes of the tile, and the address of every element in them."""
    period: int = 1
    """Bytes to which the base is aligned where the swizzle does not see it; 1 where it does."""
    instructions: int = 1
    """The number of instructions that the parts belong to."""
    major: str = ""
    """Its contiguous direction, where it says one."""
    operand: Mapping[str, Any] = field(default_factory=dict)
    """The operand and its engine, as arguments of `match`; empty where no engine reads or writes."""
    doubt: OtherUnit | None = None
    """The doubt about the unit: its swizzle is the hardware's only in the other unit."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts shared by both sides: the type where a side names none, the address, the other side's tile."""

    dtype: DType | None = None
    base: int = 0
    tile: Pair | None = None

    def whole(self, own: Pair | None) -> Pair:
        """Return the tile of a side."""
        found = own or self.tile
        if found is None:
            raise LayoutError("TW004", "neither side says its tile", hint="say it at one: tile=128x64")
        return found


def _refused(code: str, found: str, hint: str, **witness: Any) -> Refused:
    return Refused(code, found, witness=witness, hint=hint)


class _Typed:
    """A side that may name its type."""

    dtype: DType | None

    def stored(self, setting: Setting) -> DType:
        """Return the type of an element in memory: its own, or that of both sides."""
        found = self.dtype or setting.dtype
        if found is None:
            raise LayoutError("TW004", "bytes need the type of an element", hint="such as dtype=bf16")
        return found


# -- threads ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copied(_Typed):
    """Threads that store to, or load from, base + layout; with `absolute` the swizzle acts on the address.

    >>> from tilewise import S
    >>> side = Copied(S[(8, 64) : (64, 1)]).placed(Setting(DType.of("bf16"), base=256))
    >>> print(side.parts[0].layout)
    S[(8, 64) : (128, 2)] + 256
    """

    layout: Layout
    dtype: DType | None = None
    absolute: bool = False
    at: Pair = (0, 0)

    @property
    def tile(self) -> Pair:
        """Return the layout's own [rows, K]."""
        extents = extents_of(self.layout.shape)
        if len(extents) != 2:
            raise LayoutError(
                "TW202",
                f"a tile is [rows, K], and the layout's shape is {spell(self.layout.shape)}",
                hint="give it two modes; brackets make one mode of several: S[((4, 8), 64) : ...]",
            )
        return extents[0], extents[1]

    def placed(self, setting: Setting) -> Side:
        """Return the side at its address."""
        element, tile = self.stored(setting), self.tile
        counted = in_units(converted(self._on_one_axis(), "element", element), element)
        units = units_of_a_byte(counted)
        base, sees = setting.base * units, self.absolute or not counted.swizzles
        placed = counted + base if sees else replace(counted, outer=counted.outer + base)
        moving = tuple(swizzle.scaled(1, units) for swizzle in counted.swizzles if swizzle.bits)
        named = (mode.name for mode in BLACKWELL.values() if moving == (mode.swizzle,))
        piece = _whole(placed, tile, self.at)
        return Side(
            f"the layout {self.layout}",
            next(named, " o ".join(map(str, moving)) or "none"),
            element,
            _end(piece),
            (piece,),
            1 if sees else counted.period // units,
            doubt=other_unit_of(self.layout, self.layout.unit, element),
        )

    def _on_one_axis(self) -> Layout:
        """Return the layout on m: an axis of addresses by another name is that."""
        axes = [self.layout.axis(name) for name in self.layout.moving]
        others = [axis for axis in axes if axis.kind != "storage"] or axes[1:]
        if others:
            raise LayoutError(
                "TW203",
                f"the layout moves on {others[0]}, which is no address",
                hint="a tile of shared memory is a layout on m alone",
            )
        if self.layout.copies > 1:
            raise LayoutError(
                "TW509",
                f"every element has {self.layout.copies} places",
                hint="compare one copy of the tile at a time: drop R[...]",
            )
        layout = by_coordinates(self.layout)
        return layout.relabel({axes[0]: m}) if axes and axes[0].name != "m" else layout


# -- TMA -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boxes(_Typed):
    """A tile that TMA fills: boxes of [rows, K], one after another down `order` first.

    In a box, `inner` elements of the major direction are its inner dimension; groups of them follow one
    another as TMA's further dimensions do. By default `inner` is a row of the swizzle's atom, or all of a
    narrower tile; without a swizzle all of it.

    >>> side = Boxes(Mode.of("128B"), tile=(128, 128)).placed(Setting(DType.of("bf16")))
    >>> print(side.parts[0].layout)
    Swizzle<3,4,3> o S[(128, (2, 64)) : (128, (16384, 2))]
    """

    mode: Mode
    tile: Pair | None = None
    major: str = "k"
    order: str | None = None
    box: Pair | None = None
    inner: int | None = None
    start: int | None = None
    at: Pair = (0, 0)
    dtype: DType | None = None

    def placed(self, setting: Setting) -> Side:
        """Return the side at its address, which TMA can write to."""
        element, tile = self.stored(setting), setting.whole(self.tile)
        box = self.box or tile
        start = setting.base if self.start is None else self.start
        _check_address(start)
        if any(many % one for many, one in zip(tile, box, strict=True)):
            found = f"a tile of {times(tile)} is no whole number of boxes of {times(box)}"
            hint = "take a box that divides the tile both ways"
            raise _refused("TW603", found, hint, tile=list(tile), box=list(box))
        order = self.order or first_down(self.major)
        (along, inner), *others = self._digits(element, box, order)
        count = prod(tile) // prod(box)
        if count > 1:
            size = row_pitch(self.mode, row_bytes(inner, element)) * prod(extent for _, extent in others)
            _check_address(start + size, ", and the second box begins there")
        for extent in (inner // per_byte(element), *(extent for _, extent in others)):
            count *= -(-extent // MAX_BOX)
        others += [(way, tile[way] // box[way]) for way in ((0, 1) if order == "mn" else (1, 0))]
        digits = [(along, inner), *(digit for digit in others if digit[1] > 1)]
        landed = in_units(stacked(digits, 2, element, self.mode), element)
        piece = _whole(landed + start * units_of_a_byte(landed), tile, self.at)
        what = f"{count} boxes, {times(tile)} {element}" if count > 1 else f"{times(box)} {element} a box"
        words = f"TMA, {what}, {major_name(self.major)}, {swizzle_words(self.mode)}"
        return Side(words, self.mode.name, element, _end(piece), (piece,), major=self.major)

    def _digits(self, element: DType, box: Pair, order: str) -> list[tuple[int, int]]:
        """Return (direction, extent) of each digit of a box, the fastest first; 0 is rows, 1 is K."""
        along, across = (1, 0) if self.major == "k" else (0, 1)
        widest = self.mode.elements(element)
        inner = self.inner or (min(box[along], widest) if self.mode.bits else box[along])
        groups, deep = -(-box[along] // inner), box[across]
        if groups > 1 and order != first_down(self.major):
            deep = self.mode.rows
        for extent, part, way in ((box[along], inner, "along"), (box[across], deep, "across")):
            if extent % part:
                found = f"{extent} elements {way} the major direction are no whole number of {part}"
                hint = "take a narrower mode, or say inner=... that divides it"
                raise _refused("TW603", found, hint, of=part)
        size, travelling = inner * element.bits, inner * min(element.bits, 8) // 8
        if size % (8 * CHUNK):
            found = f"TMA does not copy an inner row of {size / 8:g} bytes"
            hint = "an inner row is a multiple of 16 bytes"
            raise _refused("TW607", found, hint, inner=inner, dtype=element.name)
        if travelling > MAX_BOX:
            found = f"an inner row of {travelling} elements is more than a box has along one dimension"
            hint = f"say inner=..., at most {MAX_BOX}, or box=..."
            raise _refused("TW607", found, hint, inner=inner, limit=MAX_BOX)
        if self.mode.bits and inner > widest:
            found = f"an inner row of {size // 8} bytes is wider than the {self.mode} swizzle"
            hint = f"an inner row is at most {widest} elements of {element}"
            raise _refused("TW607", found, hint, inner=inner, mode=self.mode.name)
        return [(along, inner), (across, deep), (along, groups), (across, box[across] // deep)]


def first_down(major: str) -> str:
    """Return the order of atoms in which a whole tile is one box: across the major direction first.

    >>> first_down("k"), first_down("mn")
    ('mn', 'k')
    """
    return "mn" if major == "k" else "k"


def _check_address(start: int, why: str = "") -> None:
    if start % SHARED_ALIGNMENT:
        found = (
            f"TMA does not write to {start:#x}: its shared address is a multiple of {SHARED_ALIGNMENT}{why}"
        )
        hint = f"{start // SHARED_ALIGNMENT * SHARED_ALIGNMENT:#x} is the multiple below"
        raise _refused("TW607", found, hint, address=start)


# -- engines with descriptors ----------------------------------------------------------------------


class _Read(_Typed):
    """An operand that an engine reads through descriptors."""

    operand: str
    major: str
    n: int | None
    engine: str
    asked: Asked

    def intake(self, setting: Setting) -> Intake:
        """Return the part of the operand that one instruction takes."""
        asked = {"n": self.n if self.operand == "B" else None, **dict(self.asked)}
        return intake_of(engine_of(self.engine), super().stored(setting), self.operand, asked)

    def stored(self, setting: Setting) -> DType:
        """Return the type of an element in memory."""
        return self.intake(setting).dtype

    def _in_its_major(self, setting: Setting) -> Intake:
        """Return the intake; refuse a major that no instruction reads."""
        intake = self.intake(setting)
        if check_major_word(self.major) not in intake.majors:
            why, hint = intake.no_major
            raise _refused("TW602", why, hint, dtype=intake.name, major=self.major)
        return intake

    def _side(
        self,
        words: str,
        mode: Mode,
        intake: Intake,
        tile: Pair | None,
        read: Mapping[Pair, MatrixDescriptor],
        rows: int,
    ) -> Side:
        """Return the side of the instructions of so many rows that begin at some elements.

        One of them has two pieces where N ends inside an atom. Without a tile it ends where the last does.
        """
        parts = []
        for at, descriptor in read.items():
            for piece in engine_of(self.engine).read(
                descriptor, dtype=intake.dtype, major=self.major, rows=rows, k=intake.k
            ):
                layout = piece.layout
                if intake.dtype.bits < 8:  # cells are bytes; the fastest digit walks inside
                    layout = in_units(layout, intake.dtype)
                    layout = replace(layout, strides=(*layout.strides[:-1], as_vector(intake.dtype.bits)))
                parts.append(Part(moved(piece.box, at), layout))
        return Side(
            f"{words}, {major_name(self.major)}, {swizzle_words(mode)}",
            mode.name,
            intake.dtype,
            tile or _end(parts[-1]),
            tuple(parts),
            instructions=len(read),
            major=self.major,
            operand={
                "engine": self.engine,
                "operand": self.operand,
                "dtype": intake.name,
                **dict(self.asked),
            },
        )


@dataclass(frozen=True)
class Fed(_Read):
    """A tile that an engine reads, walked by descriptors: by default those of the mode's own tile.

    All its instructions are compared, or with `at` only the one that begins there. With the pattern "address"
    the base offset is 0, and the swizzle acts on addresses; with "tile" the base offset moves it to where the
    tile begins.

    >>> side = Fed("B", Mode.of("128B"), tile=(128, 64)).placed(Setting(DType.of("bf16")))
    >>> print(side.parts[0].layout)
    Swizzle<3,4,3> o S[((16, 8), (2, 8)) : ((1024, 128), (16, 2))]
    """

    operand: str
    mode: Mode
    tile: Pair | None = None
    major: str = "k"
    order: str | None = None
    n: int | None = None
    lbo: int | None = None
    sbo: int | None = None
    start: int | None = None
    base_offset: int | None = None
    at: Pair | None = None
    dtype: DType | None = None
    pattern: str = "address"
    engine: str = "wgmma"
    asked: Asked = ()

    def placed(self, setting: Setting) -> Side:
        """Return the side at its address."""
        intake = self._in_its_major(setting)
        tile = setting.whole(self.tile)
        fed = engine_of(self.engine).feed(
            intake,
            self.mode,
            self.major,
            *tile,
            self.order or first_down(self.major),
            one=intake.rows[0] if len(intake.rows) == 1 else None,
            base=setting.base if self.start is None else self.start,
            pattern=self.pattern,
        )
        steps = {(step.mn * fed.n, step.k * fed.depth): step.descriptor for step in fed.steps}
        chosen = {at: steps[at] for at in steps if self.at in (None, at)}
        if not chosen:
            hint = f"they begin at multiples of {times((fed.n, fed.depth))} inside the tile"
            raise LayoutError("TW201", f"no instruction begins at {self.at}", hint=hint)
        fields = {"lbo": self.lbo, "sbo": self.sbo, "base_offset": self.base_offset}
        said = {name: value for name, value in fields.items() if value is not None}
        read = {at: replace(descriptor, **said) for at, descriptor in chosen.items()}
        n = f" with n = {fed.n * intake.ctas}" if self.operand == "B" else ""
        side = self._side(f"{self.engine}'s {self.operand}{n}", self.mode, intake, tile, read, fed.n)
        which = f", {len(chosen)} of {len(steps)} instructions" if len(steps) > 1 else ""
        return replace(side, words=side.words + which)


@dataclass(frozen=True)
class Described(_Read):
    """The elements that one descriptor reads, the operand's from `at` on; the address is the descriptor's."""

    descriptor: MatrixDescriptor
    operand: str
    major: str = "k"
    n: int | None = None
    at: Pair = (0, 0)
    dtype: DType | None = None
    engine: str = "wgmma"
    asked: Asked = ()

    tile = None  # one instruction reads a part of an unknown tile

    def intake(self, setting: Setting) -> Intake:
        """Return the part that the instruction takes, which has to be unique."""
        if check_operand(self.operand) == "B" and self.n is None:
            raise LayoutError("TW004", "a descriptor of operand B needs n", hint="such as n=64")
        found = super().intake(setting)
        if len(found.rows) > 1:
            raise LayoutError("TW004", "a descriptor of operand A needs m", hint="such as m=128")
        return found

    def placed(self, setting: Setting) -> Side:
        """Return the side."""
        intake = self._in_its_major(setting)
        words = f"the descriptor {self.descriptor.value:#x} of {self.operand}"
        read = {self.at: self.descriptor}
        return self._side(words, self.descriptor.mode, intake, None, read, intake.rows[0])


# -- several ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Together:
    """Several sides, each for its part of the tile: boxes at their addresses, a descriptor for each step.

    >>> halves = [Boxes(Mode.of("128B"), (64, 64), at=(row, 0), start=row * 128) for row in (0, 64)]
    >>> side = Together(tuple(halves)).placed(Setting(DType.of("bf16")))
    >>> side.tile, [part.rows for part in side.parts]
    ((128, 64), [(0, 64), (64, 128)])
    """

    sides: tuple[Copied | Boxes | Fed | Described, ...]

    tile = None  # the tile of each side is a part

    @property
    def dtype(self) -> DType | None:
        """Return the type that a side names, or None."""
        return next((side.dtype for side in self.sides if side.dtype is not None), None)

    def stored(self, setting: Setting) -> DType:
        """Return the type of an element in memory, by the first side that names one."""
        return next((side for side in self.sides if side.dtype is not None), self.sides[0]).stored(setting)

    def placed(self, setting: Setting) -> Side:
        """Return all parts as one side."""
        sides = [side.placed(setting) for side in self.sides]
        types, majors = dict.fromkeys(side.dtype for side in sides), {side.major for side in sides}
        if len(types) > 1:
            one, other, *_ = types
            raise LayoutError(
                "TW106",
                f"one part of the tile is {one}, another {other}",
                hint="the parts of a tile have one type",
            )
        return Side(
            f"{len(sides)} parts: " + "; ".join(dict.fromkeys(side.words for side in sides)),
            " and ".join(dict.fromkeys(side.label for side in sides)),
            sides[0].dtype,
            (max(side.tile[0] for side in sides), max(side.tile[1] for side in sides)),
            tuple(piece for side in sides for piece in side.parts),
            max(side.period for side in sides),
            sum(side.instructions for side in sides),
            majors.pop() if len(majors) == 1 else "",
        )


if TYPE_CHECKING:
    Spec: TypeAlias = Copied | Boxes | Fed | Described | Together


# -- units and words -------------------------------------------------------------------------------


def in_units(layout: Layout, dtype: DType) -> Layout:
    """Return the layout in bytes, and in bits where elements are narrower."""
    return converted(layout, "byte" if dtype.bits % 8 == 0 else "bit", dtype)


def units_of_a_byte(layout: Layout) -> int:
    """Return the number of units of such a layout in a byte."""
    return 8 if layout.unit == "bit" else 1


def moved(box: tuple[Interval, ...], by: Sequence[int]) -> tuple[Interval, ...]:
    """Return a box so far along each dimension.

    >>> moved(((0, 6), (0, 2)), (64, 16))
    ((64, 70), (16, 18))
    """
    return tuple((first + step, last + step) for (first, last), step in zip(box, by, strict=True))


def _whole(layout: Layout, tile: Pair, at: Pair) -> Part:
    """Return a whole tile as one piece, from `at` on."""
    return Part(moved(tuple((0, extent) for extent in tile), at), layout)


def _end(part: Part) -> Pair:
    """Return the end of a part."""
    return part.rows[1], part.k[1]


def times(pair: Pair) -> str:
    """Return a pair in words.

    >>> times((128, 64))
    '128 x 64'
    """
    return f"{pair[0]} x {pair[1]}"


def swizzle_words(mode: Mode) -> str:
    """Return a mode, for people."""
    return f"{mode} swizzle" if mode.bits else "no swizzle"
