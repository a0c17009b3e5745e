"""Which descriptors read a tile: a few addresses give the only candidate of a mode, which is then proved.

Sw is the permutation of a mode, W its width in bytes. Where the descriptor with base offset b reads a tile,

    U(x) = Sw(L(x) - 128 b) + 128 b

is what the descriptor counts: the start at (0, 0), SBO and LBO a group of rows, of chunks or of columns on.
So they are read off U, and the layout that the descriptor reads is compared with the tile's part, by `same`.
Where LBO is an address it is that of the first chunk along K past the end of a row: U of that chunk.

At most one mode fits: rows (columns, where MN-major) of a group are W bytes apart in U, those of an atom
reach over a whole period, and no permutation of one mode makes such steps of those of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from tilewise.check.boxwise import boxwise
from tilewise.check.operand import Cuts, Operand
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
    absolute: bool = False
    """Whether LBO is the address of what lies past the end of a row."""

    @property
    def together(self) -> int:
        """Cells of 16 bytes."""
        return CHUNK // self.size

    @property
    def ignored(self) -> tuple[str, ...]:
        """The fields that the hardware does not read, or that the extent leaves free."""
        fields = []
        if self.lbo_at is None and not self.absolute:
            fields.append("lbo")
        if self.sbo_at is None:
            fields.append("sbo")
        return tuple(fields)

    def ends_a_row(self, start: int) -> bool:
        """Whether K goes on past the row of the atom in which a part starts."""
        inside = start % self.mode.width + self.columns * self.size
        return self.major == "k" and self.mode.bits > 0 and inside > self.mode.width

    def past(self, start: int) -> int | None:
        """The first cell along K that LBO is the address of; None where LBO is none, or is not read.

        >>> Form(Mode.of("128B"), "k", rows=8, columns=48, size=1, absolute=True).past(96)
        32
        """
        if not (self.absolute and self.ends_a_row(start)):
            return None
        return (self.mode.width - start % self.mode.width) // self.size

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
        blocks = parts_of(operand, intake, rows)
        if blocks is None:
            continue
        for form in forms(intake, operand, rows, majors):
            fit = _Fitting(engine, intake, blocks, form).fit()
            if fit is not None:
                return fit
    return None


def parts_of(operand: Operand, intake: Intake, rows: int) -> Cuts | None:
    """The parts of instructions of so many rows; None where some are no single layout and have to be.

    Where LBO is an address an instruction may begin in one row of the atom and end in the next.
    """
    return operand.blocks(rows) or (operand.cuts(rows) if intake.absolute else None)


def _follows(operand: Operand, major: str) -> bool:
    """Whether the second element along a direction follows the first: no mode's swizzle parts 16 bytes."""
    second = (0, 1) if major == "k" else (1, 0)
    return operand.byte(*second) - operand.byte(0, 0) == operand.size


def forms(intake: Intake, operand: Operand, rows: int, majors: Sequence[str]) -> Iterator[Form]:
    """Every form of an instruction of so many rows, the widest mode first."""
    pairs = [(mode, major) for major in majors for mode in intake.modes[major]]
    for mode, major in sorted(pairs, key=lambda pair: -pair[0].width):
        if major == "k" or whole_chunks(operand, rows):
            yield Form(mode, major, rows, operand.k, operand.size, intake.absolute)


def whole_chunks(operand: Operand, rows: int) -> bool:
    """Whether so many rows, contiguous, fill chunks of 16 bytes."""
    return rows * operand.size % CHUNK == 0


@dataclass(frozen=True, slots=True)
class _Fitting:
    """The parts of a tile, asked for one form."""

    engine: Engine
    intake: Intake
    blocks: Cuts
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
                if found is None or (parts and not self._alike(found, parts[0].descriptor)):
                    return None
                if not (parts and self._swizzled_alike(found)) and not self._is_read(row, column, found):
                    return None
                parts.append(Part(row, column, found))
        return Fit(self.form, tuple(parts))

    def _is_read(self, row: int, column: int, descriptor: Descriptor) -> bool:
        return is_read(self.engine, self.operand, self.blocks.pieces(row, column), self.form, descriptor)

    def _alike(self, one: Descriptor, other: Descriptor) -> bool:
        """Whether two parts have the same distances."""
        return one.sbo == other.sbo and (self.form.absolute or one.lbo == other.lbo)

    def _swizzled_alike(self, descriptor: Descriptor) -> bool:
        """Whether the layout has the descriptor's pattern: then all parts are read where the first one is.

        Under one permutation the sums inside agree, and parts differ from one another by a constant alone,
        on both sides: that by which their first elements differ. Not where K may go on past a row of the
        atom: LBO is the address of the rest, or not every engine says what it reads.
        """
        mode = descriptor.mode
        if self.form.absolute or self.form.ends_a_row(descriptor.start):
            return False
        if not one_permutation(self.operand.chain, (mode.swizzle,) if mode.bits else ()):
            return False
        moved = self.engine.base_unit * descriptor.base_offset
        return not mode.bits or (self.operand.pattern - moved) % mode.period == 0

    def _descriptor(self, row: int, column: int) -> Descriptor | None:
        """The only descriptor of that form that may read a part."""
        corner = row * self.form.rows, column * self.operand.k
        for base_offset in base_offsets(self.engine, self.operand, self.form):
            found = self._counted(corner, base_offset)
            if found is not None:
                return found
        return None

    def _counted(self, corner: tuple[int, int], base_offset: int) -> Descriptor | None:
        """The descriptor that the addresses of a few elements give, if they can be those of such a tile."""
        engine, form = self.engine, self.form
        at = _Counting(engine, self.operand, form, corner, base_offset)
        start = at(0, 0)
        past = form.past(start)
        probes = [probe for probe in form.probes if past is None or probe[1] < past]
        if any(at(down, along) - start != step for down, along, step in probes):
            return None
        fields = at.fields()
        if not all(holds(engine, number) for number in fields.values()):
            return None
        return described(engine, self.intake, form, base_offset, fields)


@dataclass(frozen=True, slots=True)
class _Counting:
    """U of the elements of a part, counted from its corner."""

    engine: Engine
    operand: Operand
    form: Form
    corner: tuple[int, int]
    base_offset: int

    def __call__(self, down: int, along: int) -> int:
        """The address of an element as the descriptor counts it, before the mode's swizzle."""
        mode = self.form.mode
        moved = self.engine.base_unit * self.base_offset if mode.bits else 0
        at = self.operand.byte(self.corner[0] + down, self.corner[1] + along)
        return _permutation(mode)(at - moved) + moved

    def fields(self) -> dict[str, int]:
        """Start, LBO and SBO in bytes; what is written to those that are not read."""
        form, start = self.form, self(0, 0)
        found = {"start": start, **self.engine.spare}
        for name, element in (("lbo", form.lbo_at), ("sbo", form.sbo_at)):
            if element is not None:
                found[name] = self(*element) - start
        if form.absolute:
            past = form.past(start)
            found["lbo"] = start - start % form.mode.width if past is None else self(0, past)
        return found


def fields_of(
    engine: Engine, operand: Operand, form: Form, corner: tuple[int, int], base_offset: int
) -> dict[str, int]:
    """Start, LBO and SBO that the addresses of a part give, whether fields hold them or not."""
    return _Counting(engine, operand, form, corner, base_offset).fields()


def described(
    engine: Engine, intake: Intake, form: Form, base_offset: int, fields: dict[str, int]
) -> Descriptor:
    """The descriptor of a form that holds these bytes."""
    found: Descriptor = engine.descriptor(
        mode=form.mode, base_offset=base_offset, **fields, **dict(intake.fixed)
    )
    return found


def base_offsets(engine: Engine, operand: Operand, form: Form) -> list[int]:
    """The base offsets to try: that of the pattern's start first; none but 0 where LBO is an address."""
    mode = form.mode
    if not mode.bits or form.absolute:
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


@cache
def _permutation(mode: Mode) -> Swizzle:
    """The mode's swizzle, which is asked for many addresses."""
    return mode.swizzle


def holds(engine: Engine, number: int) -> bool:
    """Whether a field of a descriptor holds that number of bytes."""
    return number % CHUNK == 0 and 0 <= number < engine.limit


# -- the proof -----------------------------------------------------------------------------------------


def is_read(
    engine: Engine, operand: Operand, parts: Sequence[Piece], form: Form, descriptor: Descriptor
) -> bool:
    """Whether a descriptor reads every element of a part where the part has it.

    No as well where nobody says what it reads.

    not decided  where `same` is not; parts of so few elements it lists
    """
    try:
        for _, part, read in compared(engine, operand, parts, form, descriptor):
            answer = part.same(read).answer
            if answer is None:
                raise NotDecided("whether the descriptor reads the tile was not decided within the bound")
            if not answer:
                return False
    except Refused:
        return False
    return True


def compared(
    engine: Engine, operand: Operand, parts: Sequence[Piece], form: Form, descriptor: Descriptor
) -> Iterator[tuple[tuple[Interval, ...], Layout, Layout]]:
    """Boxes of a part, with the layout that it has there and the one that the descriptor reads."""
    asked = {"dtype": operand.type, "major": form.major, "rows": form.rows, "k": form.columns}
    found = engine.read(descriptor, **asked)
    for part in parts:
        placed = Piece(part.box, replace(part.layout, outer=part.layout.outer + operand.base))
        for read in found:
            box = _common(part.box, read.box)
            if box is not None:
                yield from boxwise(placed, read, box)


def _common(one: tuple[Interval, ...], other: tuple[Interval, ...]) -> tuple[Interval, ...] | None:
    """What two boxes share; None where that is nothing."""
    shared = tuple((max(a[0], b[0]), min(a[1], b[1])) for a, b in zip(one, other, strict=True))
    return shared if all(first < last for first, last in shared) else None
