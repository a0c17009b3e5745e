"""Which descriptors read a tile: a few addresses give the only candidate of a mode, which is then proved.

Sw is the permutation of a mode, W its width in bytes. Where the descriptor with base offset b reads a tile,

    U(x) = Sw(L(x) - 128 b) + 128 b

is what the descriptor counts: the start at (0, 0), SBO and LBO a group of rows, of chunks or of columns on.
So they are read off U, and the layout that the descriptor reads is compared with the tile's part, by `same`.

At most one mode fits: rows (columns, where MN-major) of a group are W bytes apart in U, those of an atom
reach over a whole period, and no permutation of one mode makes such steps of those of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from tilewise.check.boxwise import boxwise
from tilewise.check.operand import Blocks, Operand
from tilewise.core.algebra.slicing import Piece
from tilewise.core.errors import NotDecided, Refused
from tilewise.core.swizzles import Swizzle, one_permutation
from tilewise.hardware.modes import CHUNK, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewise.core.algebra.slicing import Interval
    from tilewise.core.layout import Layout
    from tilewise.hardware.engines import Descriptor, Engine, Intake


@dataclass(frozen=True, slots=True)
class Form:
    """How the elements of one instruction lie: the mode, the major and what of LBO and SBO is free.

    >>> Form(Mode.of("128B"), "k", rows=8, columns=16, size=2).ignored
    ('lbo', 'sbo')
    """

    mode: Mode
    major: str
    rows: int
    """Rows of the operand in one instruction."""
    columns: int
    """Cells of them along K."""
    size: int
    """Bytes of a cell."""

    @property
    def together(self) -> int:
        """Cells of 16 bytes."""
        return CHUNK // self.size

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields that the hardware does not read, or that the extent leaves free."""
        fields = []
        if self.lbo_at is None:
            fields.append("lbo")
        if self.sbo_at is None:
            fields.append("sbo")
        return tuple(fields)

    @property
    def lbo_at(self) -> tuple[int, int] | None:
        """The element that is LBO after (0, 0); None where there is none."""
        if self.major == "k":
            return None if self.mode.bits else (0, self.together)
        if not self.mode.bits:
            return self._next_columns
        wide = self.mode.chunks * self.together
        return (wide, 0) if wide < self.rows else None

    @property
    def sbo_at(self) -> tuple[int, int] | None:
        """The element that is SBO after (0, 0); None where there is none."""
        if self.major == "k":
            return (self.mode.rows, 0) if self.rows > self.mode.rows else None
        if self.mode.bits:
            return self._next_columns
        return (self.together, 0) if self.together < self.rows else None

    @property
    def _next_columns(self) -> tuple[int, int] | None:
        """The first element of the second atom along K, MN-major."""
        return (0, self.mode.rows) if self.mode.rows < self.columns else None

    @property
    def probes(self) -> tuple[tuple[int, int, int], ...]:
        """(row, k, bytes) that every tile of this form has, counted from (0, 0)."""
        chunk = (CHUNK,) if self.mode.chunks > 1 else ()
        last = self.mode.rows - 1
        if self.major == "k":
            across = [(0, self.together, step) for step in chunk]
            return (0, 1, self.size), (1, 0, self.mode.width), (last, 0, last * self.mode.width), *across
        across = [(self.together, 0, step) for step in chunk if self.together < self.rows]
        return (1, 0, self.size), (0, 1, self.mode.width), (0, last, last * self.mode.width), *across


@dataclass(frozen=True, slots=True)
class Part:
    """One instruction's part of a tile: which it is, down the rows and along K, and its descriptor."""

    mn: int
    k: int
    descriptor: Descriptor


@dataclass(frozen=True, slots=True)
class Fit:
    """A form in which every part of a tile is read."""

    form: Form
    parts: tuple[Part, ...]

    @property
    def descriptor(self) -> Descriptor:
        """That of the first part."""
        return self.parts[0].descriptor


def fits(
    engine: Engine, intake: Intake, operand: Operand, many: Sequence[int], majors: Sequence[str]
) -> Fit | None:
    """The first fit: the most rows of one instruction, in it the widest mode, or None."""
    majors = tuple(major for major in majors if _follows(operand, major))
    for rows in many if majors else ():
        blocks = operand.blocks(rows)
        if blocks is None:
            continue
        for form in forms(intake, operand, rows, majors):
            fit = _Fitting(engine, intake, blocks, form).fit()
            if fit is not None:
                return fit
    return None


def _follows(operand: Operand, major: str) -> bool:
    """Whether the second element along a direction follows the first: no mode's swizzle parts 16 bytes."""
    second = (0, 1) if major == "k" else (1, 0)
    return operand.byte(*second) - operand.byte(0, 0) == operand.size


def forms(intake: Intake, operand: Operand, rows: int, majors: Sequence[str]) -> Iterator[Form]:
    """Every form of an instruction of so many rows, the widest mode first."""
    pairs = [(mode, major) for major in majors for mode in intake.modes[major]]
    for mode, major in sorted(pairs, key=lambda pair: -pair[0].width):
        yield Form(mode, major, rows, operand.k, operand.size)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """The parts of a tile, asked for one form."""

    engine: Engine
    intake: Intake
    blocks: Blocks
    form: Form

    @property
    def operand(self) -> Operand:
        return self.blocks.operand

    def fit(self) -> Fit | None:
        """The same LBO and SBO in all parts, each proved."""
        many_rows, many_k = self.blocks.counts
        parts: list[Part] = []
        for row in range(many_rows):
            for column in range(many_k):
                found = self._descriptor(row, column)
                if found is None or (parts and not _alike(found, parts[0].descriptor)):
                    return None
                if not (parts and self._swizzled_alike(found)) and not self._is_read(row, column, found):
                    return None
                parts.append(Part(row, column, found))
        return Fit(self.form, tuple(parts))

    def _is_read(self, row: int, column: int, descriptor: Descriptor) -> bool:
        return is_read(self.engine, self.operand, self.blocks.block(row, column), self.form, descriptor)

    def _swizzled_alike(self, descriptor: Descriptor) -> bool:
        """Whether the layout has the descriptor's pattern: then all parts are read where the first one is.

        Under one permutation the sums inside agree, and parts differ from one another by a constant alone,
        on both sides: that by which their first elements differ.
        """
        mode = descriptor.mode
        if not one_permutation(self.operand.chain, (mode.swizzle,) if mode.bits else ()):
            return False
        moved = self.engine.base_unit * descriptor.base_offset
        return not mode.bits or (self.operand.pattern - moved) % mode.period == 0

    def _descriptor(self, row: int, column: int) -> Descriptor | None:
        """The only descriptor of that form that may read a part."""
        corner = row * self.form.rows, column * self.operand.k
        for base_offset in base_offsets(self.engine, self.operand, self.form.mode):
            found = self._counted(corner, base_offset)
            if found is not None:
                return found
        return None

    def _counted(self, corner: tuple[int, int], base_offset: int) -> Descriptor | None:
        """The descriptor that the addresses of a few elements give, if they can be those of such a tile."""
        form = self.form

        def at(down: int, along: int) -> int:
            element = corner[0] + down, corner[1] + along
            return counted(self.engine, self.operand, form.mode, base_offset, *element)

        start = at(0, 0)
        if any(at(down, along) - start != step for down, along, step in form.probes):
            return None
        fields = {"start": start, **dict(self.engine.spare)}
        for name, element in (("lbo", form.lbo_at), ("sbo", form.sbo_at)):
            if element is not None:
                fields[name] = at(*element) - start
        if not all(holds(self.engine, number) for number in fields.values()):
            return None
        return described(self.engine, self.intake, form, base_offset, fields)


def described(
    engine: Engine, intake: Intake, form: Form, base_offset: int, fields: dict[str, int]
) -> Descriptor:
    """The descriptor of a form that holds these bytes."""
    found: Descriptor = engine.descriptor(
        mode=form.mode, base_offset=base_offset, **fields, **dict(intake.fixed)
    )
    return found


def _alike(one: Descriptor, other: Descriptor) -> bool:
    return (one.lbo, one.sbo) == (other.lbo, other.sbo)


def base_offsets(engine: Engine, operand: Operand, mode: Mode) -> list[int]:
    """The base offsets to try: that of the pattern's start first."""
    if not mode.bits:
        return [0]
    likely = _base_offset(engine, operand.pattern, mode)
    many = mode.period // engine.base_unit
    others = [b for b in range(many) if likely is None or b != likely % many]
    return others if likely is None else [likely, *others]


def _base_offset(engine: Engine, pattern: int, mode: Mode) -> int | None:
    """The base offset of a pattern that starts at that address; None where there is none."""
    try:
        return engine.base_offset_of(pattern, mode)
    except Refused:
        return None


def counted(engine: Engine, operand: Operand, mode: Mode, base_offset: int, row: int, column: int) -> int:
    """U of an element: its address as the descriptor counts it, before the mode's swizzle."""
    moved = engine.base_unit * base_offset if mode.bits else 0
    return _permutation(mode)(operand.byte(row, column) - moved) + moved


@cache
def _permutation(mode: Mode) -> Swizzle:
    """The mode's swizzle, which is asked for many addresses."""
    return mode.swizzle


def holds(engine: Engine, number: int) -> bool:
    """Whether a field of a descriptor holds that number of bytes."""
    return number % CHUNK == 0 and 0 <= number < engine.limit


# -- the proof -----------------------------------------------------------------------------------------


def is_read(engine: Engine, operand: Operand, block: Layout, form: Form, descriptor: Descriptor) -> bool:
    """Whether a descriptor reads every element of a part where the part has it.

    not decided  where `same` is not; parts of so few elements it lists
    """
    for _, part, read in compared(engine, operand, block, form, descriptor):
        answer = part.same(read).answer
        if answer is None:
            raise NotDecided("whether the descriptor reads the tile was not decided within the bound")
        if not answer:
            return False
    return True


def compared(
    engine: Engine, operand: Operand, block: Layout, form: Form, descriptor: Descriptor
) -> Iterator[tuple[tuple[Interval, ...], Layout, Layout]]:
    """Boxes of a part, with the layout that it has there and the one that the descriptor reads."""
    placed = replace(block, outer=block.outer + operand.base)
    part = Piece(((0, form.rows), (0, form.columns)), placed)
    asked = {"dtype": operand.type, "major": form.major, "rows": form.rows, "k": form.columns}
    for read in engine.read(descriptor, **asked):
        yield from boxwise(part, read, read.box)
