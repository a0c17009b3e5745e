"""Choose the shared-memory tile for an operand of an engine, with its copy and its descriptors.

The rule, from the chapter: the largest swizzle atom that the contiguous dimension fills. An atom of N bytes
needs a contiguous dimension of at least N bytes, and a multiple of it; 128B comes first, then 64B, 32B, and
no swizzle. The atoms stand in the order that TMA fills with fewer boxes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any

from tilewise.check import tma
from tilewise.check.operand import intake_of, known_hint, major_name, pair_notes
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.engines import ENGINES
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode, mode_of
from tilewise.hardware.operands.stepping import Feeding, Stages, Step
from tilewise.hardware.operands.template import MAJORS, check_major_word, check_operand
from tilewise.hardware.tma.rules import MAX_RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tilewise.check.boxes import Dimension
    from tilewise.hardware.engines import Engine, Intake, MatrixDescriptor

TILES = 64
"""Tiles in each direction of the tensor from which a copy is planned."""

BLAS_MAJORS = {("A", "N"): "mn", ("A", "T"): "k", ("B", "N"): "k", ("B", "T"): "mn"}
"""{(operand, BLAS's letter): major}. BLAS's matrices are column-major, op(A) is M x K, op(B) is K x N.

A matrix as it is (N) is contiguous down its columns: A along M, B along K. Transposed (T) it is the other way
round. PTX's table beside "a column-major default BLAS library" lists the values of its transpose bit: for A,
non-transposed is K-major. That is T in BLAS.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A mode that was tried, and the reason why it was taken or passed over."""

    mode: Mode
    fits: bool
    why: str


@dataclass(frozen=True, slots=True)
class Copies:
    """TMA's boxes for a tile: of the tensor with dimensions split, and of the tensor as given."""

    plan: tma.Plan
    plain: int
    """Boxes of a tensor map of two dimensions."""

    @classmethod
    def of(cls, tile: Layout, dtype: DType, major: str, modes: Iterable[Mode] = MODES.values()) -> Copies:
        """Return the copies of one order of atoms, from a large tensor that is contiguous as the tile is."""
        rows, k = (TILES * extent for extent in extents_of(tile.shape))
        asked: dict[str, Any] = {
            "dtype": dtype,
            "strides": (k, 1) if major == "k" else (1, rows),
            "modes": modes,
        }
        split, plain = (tma.plan_copy((rows, k), tile, max_rank=rank, **asked) for rank in (MAX_RANK, 2))
        return cls(split, plain.count)

    @property
    def boxes(self) -> int:
        """Return the boxes of a tensor map with dimensions split."""
        return self.plan.count

    @property
    def key(self) -> tuple[int, int, int]:
        """Return a sort key: the smaller, the better."""
        return self.boxes, self.plan.tensor_map.rank, self.plain

    def __str__(self) -> str:
        rank = self.plan.tensor_map.rank
        split = f"{self.boxes} {'box' if self.boxes == 1 else 'boxes'} of {rank} dimensions"
        return split if rank == 2 else f"{split}, or {self.plain} of 2"


@dataclass(frozen=True)
class Suggestion:
    """A tile for an operand: its layout, its copy, its descriptors.

        postcondition  `match` finds `descriptor` for `tile`, the unread fields aside; `steps`
                       read the bytes that TMA writes by `plan`

    >>> found = suggest(operand="A", rows=128, k=64, dtype="bf16")
    >>> found.mode.name, hex(found.value), found.instruction, found.plan.count
    ('128B', '0x4000004000010000', (64, None, 16), 1)
    >>> print(found.tile)
    Swizzle<3,3,3> o S[((16, 8), (1, 64)) : ((512, 64), (8192, 1))]
    """

    operand: str
    dtype: DType
    rows: int
    k: int
    major: str
    mode: Mode
    order: str
    tile: Layout = field(repr=False)
    """The whole tile, [rows, K], in elements."""
    choices: tuple[Choice, ...] = field(repr=False)
    """The modes in the order in which they were tried; the last is the chosen one.

    With a given mode, wider ones before it may fit as well.
    """
    copies: Mapping[str, Copies] = field(repr=False)
    """{order of the atoms: the boxes that TMA takes}."""
    feeding: Feeding[Any]
    stages: Stages[Any] = field(repr=False)
    intake: Intake = field(repr=False)
    """The part of the operand that one instruction takes."""
    notes: tuple[str, ...] = ()
    engine: str = "wgmma"

    @property
    def plan(self) -> tma.Plan:
        """Return the copy that fills the tile."""
        return self.copies[self.order].plan

    @property
    def confirmed(self) -> tuple[str, ...]:
        """Return the ways in which such tiles were confirmed to be read by the engine."""
        from tilewise.hardware.catalog.confirmed import confirmed_by

        return confirmed_by(engine_of(self.engine).entry)

    @property
    def trans(self) -> int:
        """Return the transpose bit of the operand: 0 for K-major, 1 for MN-major."""
        return MAJORS.index(self.major)

    @cached_property
    def atom(self) -> Layout:
        """Return the swizzle atom, [rows, K], in elements."""
        return engine_of(self.engine).atom(self.mode, self.major, self.dtype)

    @property
    def descriptor(self) -> MatrixDescriptor:
        """Return the descriptor of the first instruction of a tile at address 0."""
        found: MatrixDescriptor = self.feeding.descriptor
        return found

    @property
    def value(self) -> int:
        """Return the descriptor's 64 bits, to which a kernel adds the tile's address / 16."""
        return self.descriptor.value

    @property
    def ignored(self) -> tuple[str, ...]:
        """Return the fields among lbo and sbo that are not read here."""
        engine, rows = engine_of(self.engine), self.feeding.n
        found = engine.unread(self.descriptor, dtype=self.dtype, major=self.major, rows=rows, k=self.intake.k)
        return tuple(name for name in found if name != "base_offset")

    @property
    def steps(self) -> tuple[Step[Any], ...]:
        """Return the descriptor of every instruction, K fastest."""
        return self.feeding.steps

    @property
    def instruction(self) -> tuple[int | None, int | None, int]:
        """Return (m, n, k) of one instruction; n is the other operand's for A."""
        return self.intake.shape(self.feeding.n)

    @property
    def alignment(self) -> int:
        """Return the alignment of the tile's address in bytes: TMA's 128, and the pattern's."""
        return self.plan.alignment

    @property
    def bytes(self) -> int:
        """Return the bytes of one tile."""
        return self.feeding.bytes

    @property
    def why_order(self) -> str:
        """Return the reason for the order of the atoms, in a sentence."""
        (other,) = self.copies.keys() - {self.order}
        one, more = self.copies[self.order], self.copies[other]
        if one.key == more.key:
            return f"{direction(self.order)} first; TMA takes {one} either way"
        return f"{direction(self.order)} first: TMA takes {one}; {direction(other)} first it takes {more}"


def suggest(
    *,
    engine: str = "wgmma",
    operand: str,
    rows: int,
    k: int,
    dtype: DType | str,
    major: str | None = None,
    blas: str | None = None,
    mode: Mode | str | None = None,
    stages: int = 1,
    depth: int | None = None,
    **asked: Any,
) -> Suggestion:
    """Return a tile for operand A [rows = M, K] or B [rows = N, K].

    `major` is the contiguous direction, "k" by default. `blas` gives it by the two letters of a column-major
    library: "TN" is A transposed and B not, both K-major. `mode` replaces the widest mode that fits. `asked`
    has the engine's other options: for tcgen05 kind, m, n, cta_group, sparse, ws and lbo_mode; the rows are
    those of one CTA. `depth` is K of an instruction, where there are several: 64 or 96.

        requires  whole instructions: 64 rows of A, a legal N's of B, 32 bytes of K; a given mode is filled

    >>> suggest(operand="B", rows=96, k=64, dtype="f16", blas="NT").mode.name
    '64B'
    >>> suggest(operand="A", rows=128, k=64, dtype="bf16", mode="32B").descriptor.sbo
    256
    """
    if engine not in ENGINES:
        hint = known_hint(engine, ENGINES)
        if engine == "mma":
            hint += "; for mma.sync: tilewise swizzle 128x64 --dtype bf16 --access tma --access ldmatrix.x4"
        raise LayoutError("TW601", f"{engine!r} is no engine that suggest knows", hint=hint)
    of = engine_of(engine)
    intake = intake_of(of, dtype, operand, asked if depth is None else asked | {"k": depth})
    rows, k, count = as_int(rows, "rows"), as_int(k, "K"), as_int(stages, "the number of stages")
    if min(rows, k) < 1:
        name, extent = ("rows", rows) if rows < 1 else ("K", k)
        raise LayoutError("TW102", f"{name} of {extent} is no tile", hint="an extent is 1 or more")
    major = _major(intake, major, blas)
    _check_tile(of, intake, rows, k)
    modes, element = intake.modes[major], intake.dtype
    wanted = None if mode is None else _mode(of, intake, major, mode)
    choices = mode_for((k if major == "k" else rows) * element.bits // 8, modes, wanted)
    taken = choices[-1].mode
    if count < 1:
        raise LayoutError("TW102", f"{count} stages hold no tile", hint="one or more")
    _check_bytes(rows * k * element.bits // 8, count, taken)
    tiles = {order: of.tile(taken, major, element, rows, k, order) for order in of.orders}
    copies = {order: Copies.of(tile, element, major, modes) for order, tile in tiles.items()}
    usual = "mn" if major == "k" else "k"  # across the major direction first, if both are equal
    order = min(tiles, key=lambda order: (copies[order].key, order != usual))
    fed = of.feed(intake, taken, major, rows, k, order)
    notes = (
        *_split_notes(copies[order].plan, operand),
        *pair_notes(intake, rows, fed.n),
        *_n_notes(of, intake, fed),
        *_padded_notes(intake),
    )
    return Suggestion(
        operand=operand,
        dtype=element,
        rows=rows,
        k=k,
        major=major,
        mode=taken,
        order=order,
        tile=tiles[order],
        choices=choices,
        copies=copies,
        feeding=fed,
        stages=Stages(fed, count),
        intake=intake,
        notes=notes,
        engine=of.name,
    )


# -- the rule --------------------------------------------------------------------------------------


def mode_for(
    size: int, modes: Iterable[Mode] = MODES.values(), wanted: Mode | None = None
) -> tuple[Choice, ...]:
    """Return the mode that a contiguous dimension of that many bytes fills, after the wider ones.

    It is the widest that fits, or the given one.

        requires  a multiple of 16 bytes

    >>> for choice in mode_for(96):
    ...     print(choice.mode, choice.fits, choice.why)
    128B False 96 bytes are less than a row of 128
    64B False 96 bytes are no whole number of rows of 64
    32B True 96 bytes fill 3 rows of 32
    >>> [(choice.mode, choice.fits) for choice in mode_for(192, wanted=Mode.of("32B"))]
    [(Mode.of('128B'), False), (Mode.of('64B'), True), (Mode.of('32B'), True)]
    """
    choices = [_filled(size, mode) for mode in sorted(modes, key=lambda mode: -mode.width)]
    fitting = [choice.mode for choice in choices if choice.fits]
    if not fitting:
        narrowest = choices[-1].mode
        raise Refused(
            "TW603",
            f"a contiguous dimension of {size} bytes is no whole number of {narrowest.width}",
            witness={"bytes": size},
            hint=f"{narrowest} is the narrowest mode that is read here: pad the dimension"
            if narrowest.bits
            else "core matrices have rows of 16 bytes: pad the dimension",
        )
    taken = wanted or fitting[0]
    if taken not in fitting:
        raise Refused(
            "TW603",
            f"mode {taken} does not fit: {_filled(size, taken).why}",
            witness={"bytes": size, "width": taken.width},
            hint=f"{fitting[0]} is the widest that does; or pad the dimension",
        )
    return tuple(choice for choice in choices if choice.mode.width > taken.width or choice.mode == taken)


def _filled(size: int, mode: Mode) -> Choice:
    """Return the choice of a mode, which fits if so many bytes fill its rows."""
    times, rest = divmod(size, mode.width)
    if rest:
        short = "less than a row" if not times else "no whole number of rows"
        return Choice(mode, False, f"{size} bytes are {short} of {mode.width}")
    rows = "a row" if times == 1 else f"{times} rows"
    return Choice(mode, True, f"{size} bytes fill {rows} of {mode.width}")


def direction(order: str) -> str:
    """Return the direction in which the atoms of an order follow one another first."""
    return "down the rows" if order == "mn" else "along K"


# -- the question ----------------------------------------------------------------------------------


def _mode(engine: Engine, intake: Intake, major: str, mode: Mode | str) -> Mode:
    """Return the wanted mode; a plain name stands for any mode of that width that the engine reads."""
    asked, read = mode_of(mode, modes=engine.modes), intake.modes[major]
    for one in read:
        if one == asked or (asked.plain and one.width == asked.width):
            return one
    raise Refused(
        "TW602",
        f"{engine.name} reads no {major_name(major)} {intake.name} in mode {asked}",
        witness={"dtype": intake.name, "major": major, "mode": asked.name},
        hint=f"it is read in {' '.join(one.name for one in read)}",
    )


def _major(intake: Intake, major: str | None, blas: str | None) -> str:
    if major is not None and blas is not None:
        raise LayoutError("TW401", "major and blas say the same thing twice", hint="give one of them")
    found = major or "k" if blas is None else major_of_blas(intake.operand, blas)
    if check_major_word(found) not in intake.majors:
        raise Refused(
            "TW602",
            f"{intake.no_major[0]}, and {intake.operand} would be MN-major",
            witness={"dtype": intake.name, "major": found},
            hint="keep it K-contiguous in global memory, or let threads transpose it as they store the tile",
        )
    return found


def major_of_blas(operand: str, letters: str) -> str:
    """Return the major direction of an operand of a column-major library, from two letters: A's, then B's.

    >>> [(major_of_blas("A", x), major_of_blas("B", x)) for x in ("TN", "NN", "NT", "TT")]
    [('k', 'k'), ('mn', 'k'), ('mn', 'mn'), ('k', 'mn')]
    """
    said = str(letters).upper()
    if len(said) != 2 or not set(said) <= set("NT"):
        raise LayoutError(
            "TW601", f"{letters!r} are no two letters of BLAS", hint="A's and B's, N or T each: TN NN NT TT"
        )
    return BLAS_MAJORS[check_operand(operand), said["AB".index(operand)]]


def _check_tile(engine: Engine, intake: Intake, rows: int, k: int) -> None:
    """Refuse a tile that is no whole number of instructions."""
    name, deep, whole = "M" if intake.operand == "A" else "N", intake.rows[0], intake.rows[0] * intake.ctas
    why = f"{engine.name} takes {whole} rows of A"
    if intake.operand == "B":
        why = f"every legal N is a multiple of {whole}"
    if intake.ctas > 1:
        why += ", of which each CTA has half"
    deep_k, why_k = intake.k, f"one instruction on {intake.name} takes {intake.k} along K"
    if intake.absolute:
        atom = intake.modes["k"][-1].elements(intake.dtype)
        deep_k = lcm(intake.k, atom)
        why_k = f"{deep_k // intake.k} instructions of {intake.k} fill {deep_k // atom} atoms of {atom}"
    for way, extent, multiple, because in ((name, rows, deep, why), ("K", k, deep_k, why_k)):
        below, rest = divmod(extent, multiple)
        if rest:
            near = f"{below * multiple} and {(below + 1) * multiple} fit" if below else f"{multiple} fits"
            raise Refused(
                "TW602",
                f"{way} = {extent} is no whole number of {multiple}",
                witness={way: extent, "multiple": multiple},
                hint=f"{because}: {near}, padded",
            )


def _check_bytes(tile: int, count: int, mode: Mode) -> None:
    """Refuse stages larger than a block's shared memory; stages begin where the pattern does."""
    stride = -(-tile // mode.period) * mode.period
    whole = stride * (count - 1) + tile
    if whole > SHARED_BYTES:
        most = max((SHARED_BYTES - tile) // stride + 1, 0)
        fit = f"{most} {'stage fits' if most == 1 else 'stages fit'}" if most else "not one fits"
        raise Refused(
            "TW602",
            f"{whole} bytes of shared memory, and a block has {SHARED_BYTES}",
            witness={"bytes": whole, "limit": SHARED_BYTES},
            hint=f"a tile has {tile} bytes: {fit}",
        )


# -- consequences ----------------------------------------------------------------------------------


def global_words(found: Suggestion) -> tuple[list[str], list[str]]:
    """Return the tensor map's dimensions and strides in bytes, in the driver's order, by the tensor's names.

    >>> global_words(suggest(operand="A", rows=128, k=128, dtype="bf16"))
    (['64', 'M', 'K/64'], ['K*2', '128'])
    """
    names, contiguous = ("M" if found.operand == "A" else "N", "K"), 1 if found.major == "k" else 0
    extents, strides = [], []
    for d, step in _steps(found.plan):
        name, bits = f"{names[d.dim]}/{step}" if step > 1 else names[d.dim], step * found.dtype.bits
        extents.append(name if d.last else str(d.extent))
        many = bits // 8 if bits % 8 == 0 else bits  # 8 bits are a byte
        row = names[contiguous] + (f"*{many}" if many > 1 else "") + ("/8" if bits % 8 else "")
        strides.append(str(many) if d.dim == contiguous else row)
    return extents, strides[1:]


def _steps(plan: tma.Plan) -> list[tuple[Dimension, int]]:
    """Return the map's dimensions, and the elements of the tensor that each steps by."""
    dimensions = plan.fold.dimensions
    inner = dimensions[0].dim
    return [(d, d.step * plan.elements if d.dim == inner else d.step) for d in dimensions]


def _split_notes(plan: tma.Plan, operand: str) -> list[str]:
    """Return the assumption of the tensor map about the extents that it splits: no edge lies inside."""
    names = ("M" if operand == "A" else "N", "K")
    split = {names[d.dim]: step for d, step in _steps(plan) if d.step > 1}
    return [
        f"the tensor map splits {name}: the tensor's {name} is a multiple of {step}"
        for name, step in split.items()
    ]


def _n_notes(engine: Engine, intake: Intake, fed: Feeding[Any]) -> list[str]:
    """Return the reason why N takes several instructions, and the narrower mode that takes fewer, if any."""
    if intake.operand == "A" or fed.rows == fed.n:
        return []
    whole, one = fed.rows * intake.ctas, fed.n * intake.ctas
    notes = [f"N = {whole} takes {whole // one} instructions of n = {one}"]
    padded = next((n for n in intake.rows if n > fed.rows), None)
    if padded is not None and fed.rows not in intake.rows:
        notes.append(f"{padded} rows, padded, are one instruction")
    narrower = [mode for mode in intake.modes[fed.major] if fed.major == "mn" and mode.width < fed.mode.width]
    for mode in sorted(narrower, key=lambda mode: -mode.width):
        other = engine.feed(intake, mode, fed.major, fed.rows, fed.k, fed.order)
        if other.n > fed.n:
            inside = f"an instruction does not end inside an atom, {fed.mode.elements(fed.dtype)} rows here"
            return [*notes, f"{inside}; mode {mode} feeds n = {other.n * intake.ctas}"]
    return notes


def _padded_notes(intake: Intake) -> list[str]:
    """Return a note on elements that have padding."""
    bits = DType.of(intake.name).bits
    if bits == intake.dtype.bits:
        return []
    filled = intake.dtype.bits * CHUNK // 8 * bits // 8
    return [
        f"16 elements of {intake.name} lie in the first {filled} of 16 bytes; TMA lays packed ones out so as "
        f"16U{bits}_ALIGN16B, in boxes of 128, and the copy here is of bytes that are padded already"
    ]
