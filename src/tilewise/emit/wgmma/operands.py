"""A and B of a kernel: where their part of the tile lies, what reads it, and how it gets there."""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.core.dtypes import DType
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.layout import Layout
from tilewise.emit.parts.asked import check_shape, on_m
from tilewise.emit.parts.room import room_of
from tilewise.hardware.modes import MODES, Mode
from tilewise.hardware.operands.stepping import Step
from tilewise.hardware.operands.tiles import tile
from tilewise.hardware.wgmma.descriptor import Descriptor
from tilewise.hardware.wgmma.engine import ENGINE
from tilewise.hardware.wgmma.fragments import a_fragment
from tilewise.hardware.wgmma.instructions import MAJORS, Input, M

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.match import Match, Mismatch

BYTE = 8


@dataclass(frozen=True, slots=True)
class Operand:
    """A or B: its part [rows, k] of the tile, K-major or MN-major in memory, and how it gets to the core."""

    name: str
    input: Input
    rows: int
    k: int
    major: str
    load: str
    """tma, copy, or reg for A that goes from global memory to registers."""
    mode: Mode = MODES["none"]
    order: str | None = "mn"
    """Which way the atoms follow one another; None where a layout was asked for."""
    asked: Layout | None = None
    found: Match | None = None

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.input.dtype

    @property
    def in_registers(self) -> bool:
        """Whether the core reads it from registers."""
        return self.load == "reg"

    @property
    def instruction_rows(self) -> int:
        """Rows that one instruction reads."""
        return M if self.name == "A" else self.rows

    @property
    def bytes(self) -> int:
        """Bytes of the elements."""
        return self.rows * self.k * self.input.dtype.bits // BYTE

    @property
    def room(self) -> int:
        """Bytes of shared memory from the start of the tile to its end, with what is left free between."""
        return room_of(self.tile, self.input.dtype)

    @property
    def tile(self) -> Layout:
        """Where each element [row, k] of the tile lies in shared memory, in elements."""
        if self.asked is not None:
            return self.asked
        assert self.order is not None
        return tile(self.mode, self.major, self.input.dtype, self.rows, self.k, self.order)

    @property
    def fragment(self) -> Layout:
        """Which thread of the warpgroup holds each element [row, k] of one instruction."""
        return a_fragment(self.input.dtype)

    @property
    def steps(self) -> tuple[Step[Descriptor], ...]:
        """What each instruction reads of a tile that begins at address 0, K fastest."""
        if self.found is not None:
            return self.found.steps
        assert self.order is not None
        fed = ENGINE.feeding(
            self.mode,
            self.major,
            self.input.dtype,
            self.rows,
            self.k,
            self.order,
            operand=self.name,
            n=self.instruction_rows,
        )
        return fed.steps

    @property
    def descriptor(self) -> Descriptor:
        """The descriptor of the first step."""
        return self.steps[0].descriptor

    @property
    def along_k(self) -> tuple[int, ...]:
        """What each instruction along K adds to the descriptor, in 16 bytes."""
        return tuple(step.encoded for step in self.steps if step.mn == 0)

    @property
    def along_rows(self) -> tuple[int, ...]:
        """What each 64 rows of A add to it; a single 0 for B."""
        return tuple(step.encoded for step in self.steps if step.k == 0)


def tiled(
    name: str,
    own: Input,
    rows: int,
    k: int,
    *,
    load: str,
    major: str | None = None,
    mode: Mode | str | None = None,
    order: str | None = None,
) -> Operand:
    """An operand as a tile of atoms; the widest mode that fits where none is asked.

    refused  TW602 a major that the type does not have, TW603 no whole number of atoms
    """
    major = own.check_major(major or "k")
    chosen = Mode.of(mode) if mode is not None else _widest(name, own, rows, k, major)
    made = Operand(name, own, rows, k, major, load, chosen, order or "mn")
    assert made.tile.size == rows * k  # `tile` refuses what is no whole number of atoms
    return made


def _widest(name: str, own: Input, rows: int, k: int, major: str) -> Mode:
    """The widest mode whose atoms fill the tile, and for A the 64 rows of an instruction."""
    extent = k if major == "k" else M if name == "A" else rows
    fits = [mode for mode in MODES.values() if extent % mode.elements(own.dtype) == 0]
    return fits[-1] if fits else MODES["none"]


def recognised(
    name: str, own: Input, rows: int, k: int, layout: Layout, *, load: str, major: str | None = None
) -> Operand:
    """An operand as any layout that wgmma reads.

        refused  TW605 one that it does not read, or not 64 rows as the next; TW602 another shape;
                 TW607 one that TMA does not write

    >>> from tilewise import S
    >>> padded = S[((8, 8), (8, 8)) : ((72, 8), (576, 1))]
    >>> made = recognised("A", Input.of("bf16"), 64, 64, padded, load="copy")
    >>> made.mode.name, made.descriptor.lbo, made.descriptor.sbo, made.along_k, made.room
    ('none', 1152, 144, (0, 144, 288, 432), 9200)
    """
    from tilewise.check.match import Match, Mismatch, match

    check_shape(name, layout, rows, k)
    found = match(layout, operand=name, dtype=own.name, major=major, n=rows if name == "B" else None)
    if isinstance(found, Mismatch):
        raise _not_read(name, found)
    assert isinstance(found, Match)
    plain = on_m(layout, own.dtype)
    made = Operand(name, own, rows, k, found.major, load, found.mode, None, plain, found)
    if found.instruction[1] not in (None, rows) or len(made.along_rows) != rows // made.instruction_rows:
        raise _uneven(name, f"no one instruction reads all {rows} rows", rows)
    first, *others = made.along_rows
    if any(step != first + (1 + i) * (others[0] - first) for i, step in enumerate(others)):
        raise _uneven(name, "its blocks of 64 rows are not evenly apart", list(made.along_rows))
    if load == "tma" and plain.outer:
        start = found.descriptor.start
        raise Refused(
            "TW607",
            f"TMA swizzles by the address alone, and the pattern of {name} starts {start} bytes on",
            witness={"start": start},
            hint="threads can write it: --load copy",
        )
    if plain.copies > 1:
        raise _uneven(name, f"it has {plain.copies} copies of every element", plain.copies)
    return made


def _not_read(name: str, found: Mismatch) -> Refused:
    near = found.nearest
    first = found.reasons[0]
    return Refused(
        "TW605",
        f"wgmma does not read this layout of {name}: {first.message}",
        witness={"rule": first.rule, "witness": first.witness},
        hint=f"the nearest that it reads: {near[0].layout}" if near else first.hint,
    )


def _uneven(name: str, what: str, witness: object) -> Refused:
    return Refused(
        "TW605",
        f"the layout of {name} is no tile of a kernel: {what}",
        witness=witness,
        hint="tilewise match shows how it is read",
    )


def held(
    name: str, own: Input, rows: int, k: int, *, major: str | None = None, mode: Mode | str | None = None
) -> Operand:
    """An operand in registers, from a matrix that lies either way in global memory."""
    if mode is not None:
        raise Refused(
            "TW602",
            f"{name} in registers has no swizzle mode",
            witness={"mode": Mode.of(mode).name},
            hint="modes are for tiles in shared memory",
        )
    major = major or "k"
    if major not in MAJORS:
        raise LayoutError("TW601", f"{major!r} is no major direction", hint="known: " + " ".join(MAJORS))
    if major == "mn" and own.dtype.bits < BYTE:
        raise Refused(
            "TW602",
            f"{own.name} that is MN-major in global memory does not fill registers along K",
            witness={"dtype": own.name, "major": major},
            hint="lay it out with K contiguous",
        )
    return Operand(name, own, rows, k, major, "reg")
