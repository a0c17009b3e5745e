"""Which shared-memory tile to take for an operand of an engine, and all that follows from it.

The rule, from the chapter: the largest swizzle atom that the contiguous dimension fills. An atom of N bytes
needs a contiguous dimension of at least N bytes, and a multiple of it; 128B is tried first, then 64B, 32B,
and none. The atoms stand in the order that TMA fills with fewer boxes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import Any

from tilewise.check import tma
from tilewise.check.operand import intake_of, known_hint, pair_notes
from tilewise.check.strides import major_name
from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.shapes import extents_of
from tilewise.hardware.engines import ENGINES
from tilewise.hardware.engines import engine as engine_of
from tilewise.hardware.limits import SHARED_BYTES
from tilewise.hardware.modes import CHUNK, MODES, Mode, mode_of
from tilewise.hardware.operands.majors import MAJORS, check_operand
from tilewise.hardware.operands.stepping import Feeding, Stages, Step
from tilewise.hardware.tma.rules import MAX_RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tilewise.hardware.engines import Descriptor, Engine, Intake

TILES = 64
"""Tiles each way in the tensor that a copy is planned from."""

BLAS_MAJORS = {("A", "N"): "mn", ("A", "T"): "k", ("B", "N"): "k", ("B", "T"): "mn"}
"""What BLAS's letters say of an operand: its matrices are column-major, op(A) is M x K, op(B) is K x N.

A matrix as it is (N) is contiguous down its columns: A along M, B along K. Transposed (T) it is the other
way round. PTX's table beside "a column-major default BLAS library" lists what its own transpose bit says:
for A, non-transposed is K-major. That is T in BLAS.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A mode that was looked at, and why it was taken or passed over."""

    mode: Mode
    fits: bool
    why: str


@dataclass(frozen=True, slots=True)
class Copies:
    """What TMA takes for a tile: boxes of the tensor with dimensions split, and of the tensor as it is."""

    boxes: int
    rank: int
    plain: int
    """Boxes of a tensor map of two dimensions."""

    @classmethod
    def of(cls, tile: Layout, dtype: DType, major: str, modes: Iterable[Mode] = MODES.values()) -> Copies:
        """The counts of one order of atoms."""
        split = plan_of(tile, dtype, major, modes)
        plain = plan_of(tile, dtype, major, modes, max_rank=2)
        return cls(split.count, split.tensor_map.rank, plain.count)

    @property
    def key(self) -> tuple[int, int, int]:
        """The smaller, the better."""
        return self.boxes, self.rank, self.plain

    def __str__(self) -> str:
        split = f"{self.boxes} {'box' if self.boxes == 1 else 'boxes'} of {self.rank} dimensions"
        return split if self.rank == 2 else f"{split}, or {self.plain} of 2"


@dataclass(frozen=True)
class Suggestion:
    """A tile for an operand: its layout, its copy, its descriptors.

        postcondition  `match` finds `descriptor` for `tile`, the fields aside that are not read; what TMA
                       writes by `plan`, `steps` read

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
    choices: tuple[Choice, ...] = field(repr=False)
    """The modes in the order in which they were tried; the last is the one.

    Where a mode is asked for, wider ones before it may fit as well.
    """
    copies: Mapping[str, Copies] = field(repr=False)
    """What TMA takes for each order of atoms."""
    plan: tma.Plan = field(repr=False)
    feeding: Feeding[Any]
    stages: Stages[Any] = field(repr=False)
    intake: Intake = field(repr=False)
    """What one instruction takes of the operand."""
    notes: tuple[str, ...] = ()
    engine: str = "wgmma"

    @property
    def confirmed(self) -> tuple[str, ...]:
        """How such tiles are known to be what the engine reads."""
        from tilewise.hardware.catalog.confirmed import confirmed_by

        return confirmed_by(engine_of(self.engine).entry)

    @property
    def trans(self) -> int:
        """The transpose bit of the operand: 0 for K-major, 1 for MN-major."""
        return MAJORS.index(self.major)

    @cached_property
    def atom(self) -> Layout:
        """The swizzle atom, [rows, K], in elements."""
        return engine_of(self.engine).atom(self.mode, self.major, self.dtype)

    @cached_property
    def tile(self) -> Layout:
        """The whole tile, [rows, K], in elements."""
        return engine_of(self.engine).tile(self.mode, self.major, self.dtype, self.rows, self.k, self.order)

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor of the first instruction of a tile at address 0."""
        found: Descriptor = self.feeding.descriptor
        return found

    @property
    def value(self) -> int:
        """Its 64 bits, to which a tile's address / 16 is added."""
        return self.descriptor.value

    @property
    def ignored(self) -> tuple[str, ...]:
        """Which of lbo and sbo are not read here."""
        asked = {"dtype": self.dtype, "major": self.major, "rows": self.feeding.n, "k": self.intake.k}
        found = engine_of(self.engine).unread(self.descriptor, **asked)
        return tuple(name for name in found if name != "base_offset")

    @property
    def steps(self) -> tuple[Step[Any], ...]:
        """Every instruction's descriptor, K fastest."""
        return self.feeding.steps

    @property
    def instruction(self) -> tuple[int | None, int | None, int]:
        """(m, n, k) of one instruction; n is the other operand's for A."""
        return self.intake.shape(self.feeding.n)

    @property
    def alignment(self) -> int:
        """What the tile's address is a multiple of: of TMA's 128 bytes, and of the pattern."""
        return self.plan.alignment

    @property
    def bytes(self) -> int:
        """Bytes of one tile."""
        return self.feeding.bytes

    @property
    def why_order(self) -> str:
        """Why the atoms stand in this order, in a sentence."""
        other = next(order for order in self.copies if order != self.order)
        one, more = self.copies[self.order], self.copies[other]
        if one == more:
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
    """The tile to take for operand A [rows = M, K] or B [rows = N, K].

    `major` says which direction is contiguous, "k" where nothing is said; or `blas` does, by the two letters
    of a column-major library: "TN" is A transposed and B not, both K-major. `mode` takes that one instead of
    the widest that fits. `asked` is what the engine's instructions are asked for besides: of tcgen05 kind, m,
    n, cta_group, sparse, ws and lbo_mode; the rows are those of one CTA. `depth` is K of an instruction,
    where there are several: 64 or 96.

        requires  whole instructions: 64 rows of A, a legal N's of B, 32 bytes of K; a mode that is asked for
                  is filled

    >>> suggest(operand="B", rows=96, k=64, dtype="f16", blas="NT").mode.name
    '64B'
    >>> suggest(operand="A", rows=128, k=64, dtype="bf16", mode="32B").descriptor.sbo
    256
    """
    of = _engine(engine)
    intake = intake_of(of, dtype, operand, asked if depth is None else asked | {"k": depth})
    rows, k = _extent(rows, "rows"), _extent(k, "K")
    major = _major(intake, major, blas)
    _check_tile(of, intake, rows, k)
    size = (k if major == "k" else rows) * intake.dtype.bits // 8
    modes = intake.modes[major]
    asked_mode = None if mode is None else _mode(of, intake, major, mode)
    choices = mode_for(size, modes) if asked_mode is None else mode_asked(size, asked_mode, modes)
    taken = choices[-1].mode
    count = _counted(stages)
    _check_bytes(rows * k * intake.dtype.bits // 8, count, taken)
    tiles = {order: of.tile(taken, major, intake.dtype, rows, k, order) for order in of.orders}
    copies = {order: Copies.of(tile, intake.dtype, major, modes) for order, tile in tiles.items()}
    order = min(tiles, key=lambda order: (copies[order].key, order != _usual(major)))
    fed = of.feed(intake, taken, major, rows, k, order)
    plan = plan_of(tiles[order], intake.dtype, major, modes)
    return Suggestion(
        operand=operand,
        dtype=intake.dtype,
        rows=rows,
        k=k,
        major=major,
        mode=taken,
        order=order,
        choices=choices,
        copies=copies,
        plan=plan,
        feeding=fed,
        stages=of.stages(fed, count),
        intake=intake,
        notes=(
            *_split_notes(plan, operand),
            *pair_notes(intake, rows, fed.n),
            *_n_notes(of, intake, fed),
            *_padded_notes(intake),
        ),
        engine=of.name,
    )


# -- the rule --------------------------------------------------------------------------------------


def mode_for(size: int, modes: Iterable[Mode] = MODES.values()) -> tuple[Choice, ...]:
    """The modes that a contiguous dimension of that many bytes passes over, and the one that it fills.

        requires  a multiple of 16 bytes

    >>> for choice in mode_for(96):
    ...     print(choice.mode, choice.fits, choice.why)
    128B False 96 bytes are less than a row of 128
    64B False 96 bytes are no whole number of rows of 64
    32B True 96 bytes fill 3 rows of 32
    """
    found: list[Choice] = []
    for mode in _widest_first(modes):
        found.append(_filled(size, mode))
        if found[-1].fits:
            return tuple(found)
    narrowest = found[-1].mode
    raise Refused(
        "TW603",
        f"a contiguous dimension of {size} bytes is no whole number of {narrowest.width}",
        witness={"bytes": size},
        hint=f"{narrowest} is the narrowest mode that is read here: pad the dimension"
        if narrowest.bits
        else "core matrices have rows of 16 bytes: pad the dimension",
    )


def mode_asked(size: int, asked: Mode, modes: Iterable[Mode] = MODES.values()) -> tuple[Choice, ...]:
    """The modes wider than the one that is asked for, and that one, which such a dimension has to fill.

    >>> for choice in mode_asked(192, Mode.of("32B")):
    ...     print(choice.mode, choice.fits, choice.why)
    128B False 192 bytes are no whole number of rows of 128
    64B True 192 bytes fill 3 rows of 64
    32B True 192 bytes fill 6 rows of 32
    """
    fitting = mode_for(size, modes)[-1].mode
    own = _filled(size, asked)
    if not own.fits:
        raise Refused(
            "TW603",
            f"mode {asked} does not fit: {own.why}",
            witness={"bytes": size, "width": asked.width},
            hint=f"{fitting} is the widest that does; or pad the dimension",
        )
    wider = [mode for mode in _widest_first(modes) if mode.width > asked.width]
    return (*(_filled(size, mode) for mode in wider), own)


def _widest_first(modes: Iterable[Mode]) -> list[Mode]:
    return sorted(modes, key=lambda mode: -mode.width)


def _filled(size: int, mode: Mode) -> Choice:
    """Whether so many bytes fill rows of a mode, in words."""
    times, rest = divmod(size, mode.width)
    if rest:
        short = "less than a row" if not times else "no whole number of rows"
        return Choice(mode, False, f"{size} bytes are {short} of {mode.width}")
    rows = "a row" if times == 1 else f"{times} rows"
    return Choice(mode, True, f"{size} bytes fill {rows} of {mode.width}")


def _usual(major: str) -> str:
    """The order that is taken where both take as many boxes: across the major direction first."""
    return "mn" if major == "k" else "k"


def direction(order: str) -> str:
    """The way in which the atoms of an order follow one another first."""
    return "down the rows" if order == "mn" else "along K"


# -- what is asked ---------------------------------------------------------------------------------


def _engine(engine: str) -> Engine:
    if engine not in ENGINES:
        hint = known_hint(engine, ENGINES)
        if engine == "mma":
            hint += "; for mma.sync: tilewise swizzle 128x64 --dtype bf16 --access tma --access ldmatrix.x4"
        raise LayoutError("TW601", f"{engine!r} is no engine that suggest knows", hint=hint)
    return engine_of(engine)


def _mode(engine: Engine, intake: Intake, major: str, mode: Mode | str) -> Mode:
    """The mode that is asked for, which has to be read: of two as wide the one that is, by the plain name."""
    asked = mode_of(mode, modes=engine.modes)
    named = (one for one in intake.modes[major] if one == asked or (asked.plain and one.width == asked.width))
    found = next(named, None)
    if found is None:
        raise Refused(
            "TW602",
            f"{engine.name} reads no {major_name(major)} {intake.name} in mode {asked}",
            witness={"dtype": intake.name, "major": major, "mode": asked.name},
            hint=f"it is read in {' '.join(one.name for one in intake.modes[major])}",
        )
    return found


def _major(intake: Intake, major: str | None, blas: str | None) -> str:
    if major is not None and blas is not None:
        raise LayoutError("TW401", "major and blas say the same thing twice", hint="give one of them")
    if major is not None and major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: k mn")
    found = major_of_blas(intake.operand, blas) if blas is not None else major or "k"
    if found not in intake.majors:
        raise Refused(
            "TW602",
            f"{intake.no_major[0]}, and {intake.operand} would be MN-major",
            witness={"dtype": intake.name, "major": found},
            hint="keep it K-contiguous in global memory, or let threads transpose it as they store the tile",
        )
    return found


def major_of_blas(operand: str, letters: str) -> str:
    """The major direction of an operand of a column-major library, from two letters: A's, then B's.

    >>> [(major_of_blas("A", x), major_of_blas("B", x)) for x in ("TN", "NN", "NT", "TT")]
    [('k', 'k'), ('mn', 'k'), ('mn', 'mn'), ('k', 'mn')]
    """
    said = str(letters).upper()
    if len(said) != 2 or not set(said) <= set("NT"):
        raise LayoutError(
            "TW601", f"{letters!r} are no two letters of BLAS", hint="A's and B's, N or T each: TN NN NT TT"
        )
    return BLAS_MAJORS[check_operand(operand), said["AB".index(operand)]]


def _extent(value: int, name: str) -> int:
    extent = as_int(value, name)
    if extent < 1:
        raise LayoutError("TW102", f"{name} of {extent} is no tile", hint="an extent is 1 or more")
    return extent


def _counted(stages: int) -> int:
    count = as_int(stages, "the number of stages")
    if count < 1:
        raise LayoutError("TW102", f"{count} stages hold no tile", hint="one or more")
    return count


def _check_tile(engine: Engine, intake: Intake, rows: int, k: int) -> None:
    name, deep = "M" if intake.operand == "A" else "N", intake.rows[0]
    if rows % deep:
        raise _off(
            f"{name} = {rows} is no whole number of {deep}", name, rows, deep, _why_rows(engine, intake)
        )
    deep_k, why = intake.k, f"one instruction on {intake.name} takes {intake.k} along K"
    if intake.absolute:
        atom = intake.modes["k"][-1].elements(intake.dtype)
        deep_k = lcm(intake.k, atom)
        why = f"{deep_k // intake.k} instructions of {intake.k} fill {deep_k // atom} atoms of {atom}"
    if k % deep_k:
        raise _off(f"K = {k} is no whole number of {deep_k}", "K", k, deep_k, why)


def _why_rows(engine: Engine, intake: Intake) -> str:
    of_pair = ", of which each CTA has half" if intake.ctas > 1 else ""
    if intake.operand == "A":
        whole = f"{intake.rows[0]} rows of A" if not of_pair else f"{intake.rows[0] * intake.ctas} rows of A"
        return f"{engine.name} takes {whole}{of_pair}"
    return f"every legal N is a multiple of {intake.rows[0] * intake.ctas}{of_pair}"


def _off(message: str, name: str, found: int, deep: int, why: str) -> Refused:
    below, above = found // deep * deep, -(-found // deep) * deep
    near = f"{below} and {above} fit" if below else f"{above} fits"
    return Refused("TW602", message, witness={name: found, "multiple": deep}, hint=f"{why}: {near}, padded")


def _check_bytes(tile_bytes: int, count: int, mode: Mode) -> None:
    """Refuse stages that are more than a block's shared memory; stages begin where the pattern does."""
    stride = -(-tile_bytes // mode.period) * mode.period
    whole = stride * (count - 1) + tile_bytes
    if whole <= SHARED_BYTES:
        return
    most = max((SHARED_BYTES - tile_bytes) // stride + 1, 0)
    fit = f"{most} {'stage fits' if most == 1 else 'stages fit'}" if most else "not one fits"
    raise Refused(
        "TW602",
        f"{whole} bytes of shared memory, and a block has {SHARED_BYTES}",
        witness={"bytes": whole, "limit": SHARED_BYTES},
        hint=f"a tile has {tile_bytes} bytes: {fit}",
    )


# -- what follows ----------------------------------------------------------------------------------


def plan_of(
    tile: Layout,
    dtype: DType,
    major: str,
    modes: Iterable[Mode] = MODES.values(),
    max_rank: int = MAX_RANK,
) -> tma.Plan:
    """The copy of the tile from a large tensor of whole tiles, contiguous as the tile is."""
    rows, k = extents_of(tile.shape)
    shape = (TILES * rows, TILES * k)
    strides = (shape[1], 1) if major == "k" else (1, shape[0])
    return tma.plan_copy(shape, tile, dtype=dtype, strides=strides, max_rank=max_rank, modes=modes)


def global_words(found: Suggestion) -> tuple[list[str], list[str]]:
    """The tensor map's dimensions and strides in bytes, in the driver's order, by the names of the tensor's.

    >>> global_words(suggest(operand="A", rows=128, k=128, dtype="bf16"))
    (['64', 'M', 'K/64'], ['K*2', '128'])
    """
    plan, names = found.plan, ("M" if found.operand == "A" else "N", "K")
    dimensions = plan.fold.dimensions
    contiguous = 1 if found.major == "k" else 0
    top = {d.dim: max(other.step for other in dimensions if other.dim == d.dim) for d in dimensions}
    extents, strides = [], []
    for d in dimensions:
        step = d.step * plan.elements if d.dim == contiguous else d.step
        name = f"{names[d.dim]}/{step}" if step > 1 else names[d.dim]
        extents.append(name if d.step == top[d.dim] else str(d.extent))
        if d.dim == contiguous:
            strides.append(str(step * found.dtype.bits // 8))
        else:
            strides.append(_row_words(names[contiguous], step, found.dtype.bits))
    return extents, strides[1:]


def _row_words(name: str, step: int, bits: int) -> str:
    """Bytes of `step` rows of the tensor."""
    per, rest = divmod(step * bits, 8)
    if rest:
        return f"{name}*{step * bits}/8" if step * bits > 1 else f"{name}/8"
    return f"{name}*{per}" if per > 1 else name


def _split_notes(plan: tma.Plan, operand: str) -> list[str]:
    """What the tensor map takes for granted of the extents that it splits: no edge lies inside."""
    names = ("M" if operand == "A" else "N", "K")
    split = {
        names[d.dim]: d.step * (plan.elements if d.dim == plan.fold.dimensions[0].dim else 1)
        for d in plan.fold.dimensions
        if d.step > 1
    }
    return [
        f"the tensor map splits {name}: the tensor's {name} is a multiple of {step}"
        for name, step in split.items()
    ]


def _n_notes(engine: Engine, intake: Intake, fed: Feeding[Any]) -> list[str]:
    """Why N takes several instructions."""
    if intake.operand == "A" or fed.rows == fed.n:
        return []
    whole, one = fed.rows * intake.ctas, fed.n * intake.ctas
    notes = [f"N = {whole} takes {whole // one} instructions of n = {one}"]
    padded = next((n for n in intake.rows if n > fed.rows), None)
    if padded is not None and fed.rows not in intake.rows:
        notes.append(f"{padded} rows, padded, are one instruction")
    other = _wider_n(engine, intake, fed)
    if other is not None:
        notes.append(
            f"an instruction does not end inside an atom, {fed.mode.elements(fed.dtype)} rows here; "
            f"mode {other.mode} feeds n = {other.n * intake.ctas}"
        )
    return notes


def _padded_notes(intake: Intake) -> list[str]:
    """How elements lie that have more room than they need."""
    bits = DType.of(intake.name).bits
    if bits == intake.dtype.bits:
        return []
    filled = intake.dtype.bits * CHUNK // 8 * bits // 8
    return [
        f"16 elements of {intake.name} lie in the first {filled} of 16 bytes; TMA lays packed ones out so as "
        f"16U{bits}_ALIGN16B, in boxes of 128, and the copy here is of bytes that are padded already"
    ]


def _wider_n(engine: Engine, intake: Intake, fed: Feeding[Any]) -> Feeding[Any] | None:
    """The feeding of a narrower mode that takes fewer instructions, by the widest of such modes."""
    for mode in _widest_first(intake.modes[fed.major]):
        if fed.major == "mn" and mode.width < fed.mode.width:
            other: Feeding[Any] = engine.feed(intake, mode, fed.major, fed.rows, fed.k, fed.order)
            if other.n > fed.n:
                return other
    return None
