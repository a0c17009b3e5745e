"""Who writes a tile of shared memory, and who reads it: the byte of every element [row, k], by either.

    Copied     a layout: threads store to, or load from, a pointer plus what the layout says
    Boxes      TMA: boxes that land one after another
    Fed        an engine: the descriptors that walk a tile
    Described  an engine: one descriptor, as it is
    Together   several of them, each for its part of the tile

A side that does not say its tile takes the other's. What comes of it is a list of parts: boxes of the
tile with a layout of addresses each, in bytes, and in bits where elements are narrower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tilewise.check.operand import intake_of
from tilewise.core.axes import m
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.core.orders import by_coordinates
from tilewise.core.shapes import extents_of, leaves, spell
from tilewise.core.swizzles import Swizzle
from tilewise.core.units import converted
from tilewise.core.vectors import as_vector
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.modes import BLACKWELL, CHUNK, Mode, OtherUnit, other_unit_of
from tilewise.hardware.operands.majors import check_major_word, check_operand
from tilewise.hardware.tma.landing import landing
from tilewise.hardware.tma.rules import MAX_BOX, SHARED_ALIGNMENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from tilewise.core.shapes import Mode as Extents
    from tilewise.hardware.engines import Descriptor, Engine, Intake

    Digits: TypeAlias = list[tuple[int, int]]
    Dims: TypeAlias = tuple[int, ...]

Interval = tuple[int, int]
"""[first, past the last)."""

Pair = tuple[int, int]
"""(rows, elements along K)."""

Asked = tuple[tuple[str, Any], ...]
"""What an engine's instructions are asked for, such as (("kind", "mxf4"), ("cta_group", 2))."""


@dataclass(frozen=True, slots=True)
class Part:
    """A box of the tile, and the address of every element in it."""

    rows: Interval
    k: Interval
    layout: Layout
    """[rows, K], counted in bytes, or in bits where elements are narrower."""


@dataclass(frozen=True, slots=True)
class Side:
    """A writer or a reader in a place: what it is called, and where it has its elements."""

    words: str
    """What it is, for people."""
    label: str
    """Its swizzle in a word: 128B, 64B, 32B, none."""
    dtype: DType
    tile: Pair
    parts: tuple[Part, ...]
    period: int = 1
    """Bytes to which the base is aligned where the swizzle does not see it; 1 where it does."""
    instructions: int = 1
    """How many instructions the parts are of."""
    major: str = ""
    """Its contiguous direction, where it says one."""
    operand: str = ""
    """The operand of an engine that it is, where it is one."""
    engine: str = ""
    """That engine."""
    type: str = ""
    """The type that the engine multiplies: its elements may have more room than they need."""
    asked: Asked = ()
    """What its instructions are asked for besides the type."""
    doubt: OtherUnit | None = None
    """That its swizzle is the hardware's where it counts the other unit alone."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What both sides share: the type where a side names none, the address, the other side's tile."""

    dtype: DType | None = None
    base: int = 0
    tile: Pair | None = None

    def element(self, own: DType | None) -> DType:
        """The type of a side."""
        found = own or self.dtype
        if found is None:
            raise LayoutError("TW004", "bytes need the type of an element", hint="such as dtype=bf16")
        return found


# -- threads ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copied:
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
        """The layout's own [rows, K]."""
        extents = extents_of(self.layout.shape)
        if len(extents) != 2:
            raise LayoutError(
                "TW202",
                f"a tile is [rows, K], and the layout's shape is {spell(self.layout.shape)}",
                hint="give it two modes; brackets make one mode of several: S[((4, 8), 64) : ...]",
            )
        return extents[0], extents[1]

    def stored(self, setting: Setting) -> DType:
        """As which an element lies in memory."""
        return setting.element(self.dtype)

    def placed(self, setting: Setting) -> Side:
        """The side at its address."""
        element = setting.element(self.dtype)
        rows, k = self.tile
        unit = _unit(element)
        counted = converted(converted(self._on_one_axis(), "element", element), unit, element)
        base = setting.base * _units_of_a_byte(unit)
        sees = self.absolute or not counted.swizzles
        placed = (
            replace(counted, offset=counted.offset + base)
            if sees
            else replace(counted, outer=counted.outer + base)
        )
        end = self.at[0] + rows, self.at[1] + k
        return Side(
            f"the layout {self.layout}",
            _label(counted.swizzles, unit),
            element,
            end,
            (Part((self.at[0], end[0]), (self.at[1], end[1]), placed),),
            1 if sees else counted.period // _units_of_a_byte(unit),
            doubt=other_unit_of(self.layout, self.layout.unit, element),
        )

    def _on_one_axis(self) -> Layout:
        """The layout on m: an axis of addresses by another name is that."""
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


@dataclass(frozen=True, slots=True)
class Boxes:
    """A tile that TMA fills: boxes of [rows, K], one after another down `order` first.

    In a box, `inner` elements of the major direction are its inner dimension; groups of them follow one
    another as TMA's further dimensions do. Nothing said, `inner` is a row of the swizzle's atom, or all
    of a narrower tile; without a swizzle all of it.

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

    def stored(self, setting: Setting) -> DType:
        """As which an element lies in memory."""
        return setting.element(self.dtype)

    def placed(self, setting: Setting) -> Side:
        """The side at its address, which is one that TMA can write to."""
        element = setting.element(self.dtype)
        tile = _said(self.tile, setting.tile)
        box = self.box or tile
        start = setting.base if self.start is None else self.start
        _check_address(start)
        _check_divides(tile, box)
        dims, digits = self._dimensions(element, box)
        boxes = prod(many // one for many, one in zip(tile, box, strict=True))
        boxes *= prod(-(-extent // MAX_BOX) for extent in (*dims[:-1], _travelling(dims[-1], element)))
        words = f"TMA, {times(box)} {element} a box, {major_words(self.major)}, {swizzle_words(self.mode)}"
        if boxes > 1:
            words = f"TMA, {boxes} boxes, {times(tile)} {element}" + words.partition(" a box")[2]
        landed = self._landed(element, tile, box, start, dims, digits)
        (row, k), end = self.at, (self.at[0] + tile[0], self.at[1] + tile[1])
        part = Part((row, end[0]), (k, end[1]), landed)
        return Side(words, self.mode.name, element, end, (part,), major=self.major)

    def _landed(
        self, element: DType, tile: Pair, box: Pair, start: int, dims: Dims, digits: tuple[Dims, ...]
    ) -> Layout:
        landed = in_unit(landing(dims, element, self.mode, start), element)
        modes = _modes(landed)
        rows, columns = ([digit for i in way for digit in modes[i]] for way in digits)
        size = modes[-2][0][1] * prod(dims[:-1])  # the rows of a box, one after another
        down, across = (many // one for many, one in zip(tile, box, strict=True))
        if down * across > 1:
            _check_address(start + size // _units_of_a_byte(landed.unit), "the second box begins there")
        far_rows, far_k = (size, size * down) if self._order == "mn" else (size * across, size)
        return _of_digits(landed, [(down, far_rows), *rows], [(across, far_k), *columns])

    @property
    def _order(self) -> str:
        return self.order or first_down(self.major)

    def _dimensions(self, element: DType, box: Pair) -> tuple[Dims, tuple[Dims, ...]]:
        """TMA's dimensions of a box, slowest first; and which of them make up rows and K."""
        along, across = box[::-1] if self.major == "k" else box
        inner = self._inner(element, along)
        groups = along // inner
        dims: Dims = (groups, across, inner)
        ways: tuple[Dims, ...] = ((1,), (0, 2))
        if groups > 1 and self._order != first_down(self.major):
            deep = self.mode.rows
            if across % deep:
                raise _no_whole(f"{across} elements across the major direction", deep)
            dims, ways = (across // deep, groups, deep, inner), ((0, 2), (1, 3))
        return dims, ways if self.major == "k" else ways[::-1]

    def _inner(self, element: DType, along: int) -> int:
        inner = self.inner or (min(along, self.mode.elements(element)) if self.mode.bits else along)
        if along % inner:
            raise _no_whole(f"{along} elements along the major direction", inner)
        size = inner * element.bits
        if size % (8 * CHUNK):
            raise Refused(
                "TW607",
                f"TMA does not copy an inner row of {size / 8:g} bytes",
                witness={"inner": inner, "dtype": element.name},
                hint="an inner row is a multiple of 16 bytes",
            )
        units = _travelling(inner, element)
        if units > MAX_BOX:
            raise Refused(
                "TW607",
                f"an inner row of {units} elements is more than a box has along one dimension",
                witness={"inner": inner, "limit": MAX_BOX},
                hint=f"say inner=..., at most {MAX_BOX}, or box=...",
            )
        if self.mode.bits and size > self.mode.width * 8:
            raise Refused(
                "TW607",
                f"an inner row of {size // 8} bytes is wider than the {self.mode} swizzle",
                witness={"inner": inner, "mode": self.mode.name},
                hint=f"an inner row is at most {self.mode.elements(element)} elements of {element}",
            )
        return inner


def _travelling(extent: int, element: DType) -> int:
    """Elements of a row as TMA counts them: those of less than a byte travel as bytes."""
    return extent * element.bits // 8 if element.bits < 8 else extent


def first_down(major: str) -> str:
    """The order of atoms in which a whole tile is one box: across the major direction first.

    >>> first_down("k"), first_down("mn")
    ('mn', 'k')
    """
    return "mn" if major == "k" else "k"


def _check_address(start: int, why: str = "") -> None:
    if start % SHARED_ALIGNMENT:
        raise Refused(
            "TW607",
            f"TMA does not write to {start:#x}: its shared address is a multiple of {SHARED_ALIGNMENT}"
            + (f", and {why}" if why else ""),
            witness={"address": start},
            hint=f"{start // SHARED_ALIGNMENT * SHARED_ALIGNMENT:#x} is the multiple below",
        )


def _check_divides(tile: Pair, box: Pair) -> None:
    if any(many % one for many, one in zip(tile, box, strict=True)):
        raise Refused(
            "TW603",
            f"a tile of {times(tile)} is no whole number of boxes of {times(box)}",
            witness={"tile": list(tile), "box": list(box)},
            hint="take a box that divides the tile both ways",
        )


def _no_whole(what: str, of: int) -> Refused:
    return Refused(
        "TW603",
        f"{what} are no whole number of {of}",
        witness={"of": of},
        hint="take a narrower mode, or say inner=... that divides it",
    )


# -- engines with descriptors ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fed:
    """A tile that an engine reads, walked by descriptors: nothing said, by those of the mode's own tile.

    All its instructions are compared, and where `at` is said the one that begins there. With the pattern
    "address" the base offset is 0, and the swizzle acts on addresses; with "tile" the base offset
    moves it to where the tile begins.

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

    def stored(self, setting: Setting) -> DType:
        """As which an element lies in memory."""
        return self._intake(setting).dtype

    def _intake(self, setting: Setting) -> Intake:
        asked = {"n": None if self.operand == "A" else self.n, **dict(self.asked)}
        return intake_of(engine_of(self.engine), setting.element(self.dtype), self.operand, asked)

    def placed(self, setting: Setting) -> Side:
        """The side at its address."""
        intake = self._intake(setting)
        _check_major(intake, self.major)
        tile = _said(self.tile, setting.tile)
        engine = engine_of(self.engine)
        fed = engine.feed(
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
        chosen = [*steps] if self.at is None else [self._chosen(self.at, steps, (fed.n, fed.depth))]
        parts = [
            part
            for at in chosen
            for part in read_by(engine, intake, self._as_said(steps[at]), self.major, fed.n, at)
        ]
        words = self._words(fed.n * intake.ctas, len(steps), len(chosen))
        return Side(
            words,
            self.mode.name,
            intake.dtype,
            tile,
            tuple(parts),
            instructions=len(chosen),
            major=self.major,
            operand=self.operand,
            engine=self.engine,
            type=intake.name,
            asked=self.asked,
        )

    def _chosen(self, at: Pair, steps: dict[Pair, Descriptor], deep: Pair) -> Pair:
        if at not in steps:
            raise LayoutError(
                "TW201",
                f"no instruction begins at {at}",
                hint=f"they begin at multiples of {times(deep)} inside the tile",
            )
        return at

    def _as_said(self, descriptor: Any) -> Descriptor:
        said: dict[str, Any] = {"lbo": self.lbo, "sbo": self.sbo, "base_offset": self.base_offset}
        found: Descriptor = replace(
            descriptor, **{name: value for name, value in said.items() if value is not None}
        )
        return found

    def _words(self, many: int, steps: int, chosen: int) -> str:
        n = f" with n = {many}" if self.operand == "B" else ""
        which = f", {chosen} of {steps} instructions" if steps > 1 else ""
        way = f"{major_words(self.major)}, {swizzle_words(self.mode)}"
        return f"{self.engine}'s {self.operand}{n}, {way}{which}"


@dataclass(frozen=True, slots=True)
class Described:
    """What one descriptor reads, as the operand's elements from `at` on; the address is its own."""

    descriptor: Descriptor
    operand: str
    major: str = "k"
    n: int | None = None
    at: Pair = (0, 0)
    dtype: DType | None = None
    engine: str = "wgmma"
    asked: Asked = ()

    @property
    def tile(self) -> None:
        """One instruction reads a part of a tile, and does not say of which."""
        return

    def stored(self, setting: Setting) -> DType:
        """As which an element lies in memory."""
        return self._intake(setting).dtype

    def _intake(self, setting: Setting) -> Intake:
        element, of_b = setting.element(self.dtype), check_operand(self.operand) == "B"
        if of_b and self.n is None:
            raise LayoutError("TW004", "a descriptor of operand B needs n", hint="such as n=64")
        asked = {"n": self.n if of_b else None, **dict(self.asked)}
        found = intake_of(engine_of(self.engine), element, self.operand, asked)
        if len(found.rows) > 1:
            raise LayoutError("TW004", "a descriptor of operand A needs m", hint="such as m=128")
        return found

    def placed(self, setting: Setting) -> Side:
        """The side."""
        engine, intake = engine_of(self.engine), self._intake(setting)
        parts = read_by(engine, intake, self.descriptor, self.major, intake.rows[0], self.at)
        mode = self.descriptor.mode
        words = (
            f"the descriptor {self.descriptor.value:#x} of {self.operand}, "
            f"{major_words(self.major)}, {swizzle_words(mode)}"
        )
        tile = parts[-1].rows[1], parts[-1].k[1]
        return Side(
            words,
            mode.name,
            intake.dtype,
            tile,
            parts,
            major=self.major,
            operand=self.operand,
            engine=self.engine,
            type=intake.name,
            asked=self.asked,
        )


def read_by(
    engine: Engine, intake: Intake, descriptor: Descriptor, major: str, many: int, at: Pair = (0, 0)
) -> tuple[Part, ...]:
    """What one instruction reads, as parts of the tile from `at` on: two where N ends inside an atom."""
    _check_major(intake, major)
    parts = []
    for piece in engine.read(descriptor, dtype=intake.dtype, major=major, rows=many, k=intake.k):
        rows, k = ((first + moved, last + moved) for (first, last), moved in zip(piece.box, at, strict=True))
        parts.append(Part(rows, k, in_unit(piece.layout, intake.dtype)))
    return tuple(parts)


def _check_major(intake: Intake, major: str) -> None:
    """Refuse a major that no instruction reads."""
    if check_major_word(major) not in intake.majors:
        why, hint = intake.no_major
        raise Refused("TW602", why, witness={"dtype": intake.name, "major": major}, hint=hint)


# -- several ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Together:
    """Several sides, each for its part of the tile: boxes at addresses of their own, a descriptor a step.

    >>> halves = [Boxes(Mode.of("128B"), (64, 64), at=(row, 0), start=row * 128) for row in (0, 64)]
    >>> side = Together(tuple(halves)).placed(Setting(DType.of("bf16")))
    >>> side.tile, [part.rows for part in side.parts]
    ((128, 64), [(0, 64), (64, 128)])
    """

    sides: tuple[Copied | Boxes | Fed | Described, ...]

    @property
    def tile(self) -> Pair | None:
        """None: what each side is of has to be said."""
        return None

    @property
    def dtype(self) -> DType | None:
        """The type that a side names."""
        return next((side.dtype for side in self.sides if side.dtype is not None), None)

    def stored(self, setting: Setting) -> DType:
        """As which an element lies in memory, by the first side that names a type."""
        named = next((side for side in self.sides if side.dtype is not None), self.sides[0])
        return named.stored(setting)

    def placed(self, setting: Setting) -> Side:
        """All parts as one side."""
        found = [side.placed(setting) for side in self.sides]
        first = found[0]
        for other in found[1:]:
            if other.dtype != first.dtype:
                raise LayoutError(
                    "TW106",
                    f"one part of the tile is {first.dtype}, another {other.dtype}",
                    hint="the parts of a tile have one type",
                )
        labels = dict.fromkeys(side.label for side in found)
        majors = dict.fromkeys(side.major for side in found)
        words = "; ".join(dict.fromkeys(side.words for side in found))
        return Side(
            f"{len(found)} parts: {words}",
            " and ".join(labels),
            first.dtype,
            (max(side.tile[0] for side in found), max(side.tile[1] for side in found)),
            tuple(part for side in found for part in side.parts),
            max(side.period for side in found),
            sum(side.instructions for side in found),
            major=next(iter(majors)) if len(majors) == 1 else "",
        )


if TYPE_CHECKING:
    Spec: TypeAlias = Copied | Boxes | Fed | Described | Together


# -- units and digits ------------------------------------------------------------------------------


def _unit(dtype: DType) -> str:
    return "byte" if dtype.bits % 8 == 0 else "bit"


def _units_of_a_byte(unit: str) -> int:
    return 8 if unit == "bit" else 1


def in_unit(layout: Layout, dtype: DType) -> Layout:
    """Addresses of the hardware in the unit of a part: of narrow elements every one at its own bits.

    The hardware room says which byte holds an element, and the fastest digit of the last mode walks
    through a byte: there it steps by the element's bits, from the lowest up.
    """
    if _unit(dtype) == "byte":
        return layout
    bits = converted(layout, "bit", dtype)
    return replace(bits, strides=(*bits.strides[:-1], as_vector(dtype.bits)))


def _modes(layout: Layout) -> list[Digits]:
    """The (extent, steps) of every mode."""
    digits = iter([(extent, stride["m"]) for extent, stride in layout.digits])
    return [[next(digits) for _ in leaves((mode,))] for mode in layout.shape]


def _of_digits(landed: Layout, *modes: Digits) -> Layout:
    """The landing's swizzle and offset over modes of these digits; those of extent 1 are left out."""
    kept = [[digit for digit in digits if digit[0] > 1] or [(1, 0)] for digits in modes]
    shape: tuple[Extents, ...] = tuple(tuple(extent for extent, _ in digits) for digits in kept)
    strides = tuple(as_vector(step) for digits in kept for _, step in digits)
    return replace(landed, shape=shape, strides=strides)


def _said(own: Pair | None, other: Pair | None) -> Pair:
    found = own or other
    if found is None:
        raise LayoutError("TW004", "neither side says its tile", hint="say it at one: tile=128x64")
    return found


# -- words -----------------------------------------------------------------------------------------


def _label(swizzles: tuple[Swizzle, ...], unit: str) -> str:
    """The mode whose swizzle it is, or the swizzle itself, on bytes."""
    moving = tuple(swizzle for swizzle in swizzles if swizzle.bits)
    in_bytes = tuple(swizzle.scaled(1, 8) for swizzle in moving) if unit == "bit" else moving
    if not in_bytes:
        return "none"
    named = (mode.name for mode in BLACKWELL.values() if in_bytes == (mode.swizzle,))
    return next(named, " o ".join(map(str, in_bytes)))


def times(pair: Pair) -> str:
    """A pair as people say it.

    >>> times((128, 64))
    '128 x 64'
    """
    return f"{pair[0]} x {pair[1]}"


def major_words(major: str) -> str:
    """A major direction, for people."""
    return "K-major" if major == "k" else "MN-major"


def swizzle_words(mode: Mode) -> str:
    """A mode, for people."""
    return f"{mode} swizzle" if mode.bits else "no swizzle"
