"""The descriptors that read a tile: grouped to the engine's template it steps as the fields say.

Sw is the permutation of a mode, W its width in bytes. Where the descriptor with base offset b reads a tile,

    U(x) = Sw(L(x) - 128 b) + 128 b

steps as the template does: by its numbers, and by LBO and SBO, which are read off there. Where the tile is
written under Sw, in a pattern that starts at 128 b, U has the tile's own digits: the tile is read iff they
are those of the template, as few as can be. Under any other swizzle U is listed, cell by cell.

Where LBO is an address, it is U of the first chunk along K past the end of a row.

At most one mode fits: rows (columns, where MN-major) of a group are W bytes apart in U, those of an atom
reach over a whole period, and no permutation of one mode makes such steps of those of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tilewise.check.operand import Reason, SharedTile
from tilewise.core.digits import halves, merged, value
from tilewise.core.errors import Refused
from tilewise.core.swizzles import one_permutation
from tilewise.hardware.modes import CHUNK, Mode
from tilewise.hardware.operands.template import Template, template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tilewise.check.operand import Digits
    from tilewise.hardware.engines import Engine, Intake, MatrixDescriptor


@dataclass(frozen=True)
class Question:
    """A question about a layout that is known to be an operand."""

    engine: Engine
    unit: str
    """The unit of the layout as given."""
    cells: SharedTile
    intake: Intake
    """The part of the operand that the selected instructions take."""
    free: Intake
    """The same without a given size."""
    majors: tuple[str, ...]
    options: Mapping[str, Any]
    """The given options of the instruction, sizes aside."""
    said: tuple[Reason, ...] = ()
    """The given options that no instruction has."""

    def rows(self, cells: SharedTile, major: str = "k") -> tuple[int, ...]:
        """Return the rows of one instruction that divide a tile, the most first: those that fill chunks of
        16 bytes, where rows are contiguous."""
        if cells.columns % cells.k:
            return ()
        together = 1 if major == "k" else CHUNK // cells.size
        return tuple(
            [rows for rows in self.intake.rows[::-1] if cells.rows % rows == 0 and rows % together == 0]
        )

    def fit(self, cells: SharedTile | None = None, majors: tuple[str, ...] | None = None) -> Fit | None:
        """Return the reading of the operand, or of another in its place: by the most rows, in the widest
        mode.

        Return None where no descriptor reads it.
        """
        cells = cells or self.cells
        if cells.rows * cells.columns * cells.size > self.engine.limit:
            return None
        for major in majors or self.majors:
            second = (0, 1) if major == "k" else (1, 0)
            if cells.step(*second) != cells.step_to(cells.byte(0, 0) + cells.size):
                continue
            for mode in reversed(self.intake.modes[major]):
                for rows in self.rows(cells, major):
                    form = Form(self.engine, self.intake, cells, mode, major, rows)
                    if not form.looks_alike:
                        break
                    found = form.fit()
                    if found:
                        return found
        return None


@dataclass(frozen=True)
class Fit:
    """The form that reads every part of a tile, and (part down the rows, along K, descriptor) of each."""

    form: Form
    parts: tuple[tuple[int, int, MatrixDescriptor], ...]


@dataclass(frozen=True)
class Form:
    """A tile compared with the template of a mode and a major, by instructions of so many rows."""

    engine: Engine
    intake: Intake
    cells: SharedTile
    mode: Mode
    major: str
    rows: int

    @cached_property
    def template(self) -> Template:
        """Return the template for one instruction."""
        along, across = (self.cells.k, self.rows) if self.major == "k" else (self.rows, self.cells.k)
        return template(self.mode, self.major, across, -(-along // self.together))

    @property
    def together(self) -> int:
        """Return the number of cells in a chunk of 16 bytes."""
        return CHUNK // self.cells.size

    @property
    def ignored(self) -> tuple[str, ...]:
        """Return those of LBO and SBO that the hardware does not read, or that the extent leaves free."""
        unread = self.template.unread
        return tuple(
            name for name in ("lbo", "sbo") if name in unread and (name == "sbo" or not self.intake.absolute)
        )

    def index(self, across: int, along: int) -> tuple[int, int]:
        """Return (row, column) of a cell."""
        return (across, along) if self.major == "k" else (along, across)

    def first_of(self, direction: str, first: int) -> tuple[int, int]:
        """Return (row, column) of the first cell that a digit of the template moves."""
        return self.index(*((0, first * self.together) if direction == "along" else (first, 0)))

    # -- as the descriptor counts ----------------------------------------------------------------------

    def at(self, row: int, column: int, base_offset: int) -> int:
        """Return U of a cell: its address as a descriptor counts it, before the mode's swizzle."""
        return self._swizzled(self.cells.byte(row, column), base_offset)

    def _swizzled(self, address: int, base_offset: int) -> int:
        """Return U of an address, or the address of which a number is U: a mode's swizzle undoes itself."""
        moved = self.engine.base_unit * base_offset if self.mode.bits else 0
        return self.mode.swizzle(address - moved) + moved

    @property
    def looks_alike(self) -> bool:
        """Return True if some descriptor of the mode places the second row, or column, as the tile does."""
        second = self.cells.step(*self.index(1, 0))  # which may have names, and is no number to swizzle then
        wanted = ((b, self.at(0, 0, b) + self.mode.width) for b in self.base_offsets)
        return any(second == self.cells.step_to(self._swizzled(number, b)) for b, number in wanted)

    @cached_property
    def base_offsets(self) -> list[int]:
        """Return the base offsets to try, the pattern's start first; 0 alone where LBO is an address."""
        if not self.mode.bits or self.intake.absolute:
            return [0]
        every = range(self.mode.period // self.engine.base_unit)
        try:
            likely = self.engine.base_offset_of(self.cells.pattern, self.mode)
        except Refused:
            return [*every]
        return [likely, *(b for b in every if b != likely % len(every))]

    @property
    def exact(self) -> bool:
        """Return True if U of the first base offset has the tile's own digits."""
        mode, moved = self.mode, self.engine.base_unit * self.base_offsets[0]
        if mode.bits and (self.cells.pattern - moved) % mode.period:
            return False
        return one_permutation(self.cells.chain, (self.mode.swizzle,) if mode.bits else ())

    def past(self, start: int) -> int | None:
        """Return the first cell along K past the row of the atom in which a part starts;
        None where it ends there."""
        inside = start % self.mode.width
        if (
            self.major != "k"
            or not self.mode.bits
            or inside + self.cells.k * self.cells.size <= self.mode.width
        ):
            return None
        return (self.mode.width - inside) // self.cells.size

    def fields(self, corner: tuple[int, int], base_offset: int) -> dict[str, int]:
        """Return start, LBO and SBO in bytes from a part's addresses, even if fields cannot hold them."""
        row, column = corner
        start = self.at(row, column, base_offset)
        found = {"start": start, **self.engine.spare}
        for direction, first, extent, step in self.template.firsts:
            if isinstance(step, str) and extent > 1:
                down, right = self.first_of(direction, first)
                found[step] = self.at(row + down, column + right, base_offset) - start
        if self.intake.absolute:
            past = self.past(start)
            second = (
                start - start % self.mode.width if past is None else self.at(row, column + past, base_offset)
            )
            found["lbo"] = second
        return found

    def held(self, fields: Mapping[str, int]) -> bool:
        """Return True if a descriptor has room for all of them, and its reads are documented."""
        if not all(holds(self.engine, number) for number in fields.values()):
            return False
        past = self.past(fields["start"])
        if self.intake.absolute and past is not None:
            rest = (self.cells.k - past) * self.cells.size
            return fields["lbo"] % self.mode.width + rest <= self.mode.width
        return past is None or self.engine.carries

    def descriptor(self, fields: Mapping[str, int], base_offset: int) -> MatrixDescriptor:
        """Return the descriptor that holds these bytes."""
        found: MatrixDescriptor = self.engine.descriptor(
            mode=self.mode, base_offset=base_offset, **fields, **dict(self.intake.fixed)
        )
        return found

    @property
    def corners(self) -> Iterator[tuple[int, int]]:
        """Yield (row, column) of the first cell of every part."""
        for row in _starts(self.cells.rows, self.rows):
            for column in _starts(self.cells.columns, self.cells.k):
                yield row, column

    # -- the proof -------------------------------------------------------------------------------------

    def fit(self) -> Fit | None:
        """Return the descriptors of all parts, which share LBO and SBO, each proved; None if one part has
        none.
        """
        cells, absolute = self.cells, self.intake.absolute
        alike = self.exact and self._alike()
        proved = alike and not absolute
        shared = ("sbo",) if absolute else ("lbo", "sbo")
        parts, first = [], None
        for corner in self.corners:
            for base_offset in self.base_offsets[:1] if alike else self.base_offsets:
                if first and proved:
                    fields = {**first, "start": first["start"] + cells.step(*corner)}
                else:
                    fields = self.fields(corner, base_offset)
                if self.held(fields) and (proved or self.departs(corner, fields, base_offset, alike) is None):
                    break
            else:
                return None
            first = first or fields
            if any(fields[name] != first[name] for name in shared):
                return None
            descriptor = self.descriptor(fields, base_offset)
            parts.append((corner[0] // self.rows, corner[1] // cells.k, descriptor))
        return Fit(self, tuple(parts))

    @property
    def across(self) -> int:
        """Return the rows of an instruction, or the columns of K, across the contiguous direction."""
        return self.rows if self.major == "k" else self.cells.k

    def _alike(self) -> bool:
        """Return True if every part has the digits of the template; where LBO is an address, the digits of
        its chunks.
        """
        cells, absolute = self.cells, self.intake.absolute
        inner = self.rows, self.together if absolute else cells.k
        halved = [halves(digits, many) for digits, many in zip(cells.digits, inner, strict=True)]
        along, across = self.template.numbers(self.fields((0, 0), self.base_offsets[0]))
        chunks = [*([] if absolute else along), (self.together, cells.size)]
        wanted = (across, chunks) if self.major == "k" else (chunks, across)
        return all(
            parts is not None and _begins(digits, parts[1])
            for digits, parts in zip(wanted, halved, strict=True)
        )

    def _along(self, fields: Mapping[str, int]) -> list[int]:
        """Return the bytes from the first cell of a part to each along the contiguous direction."""
        size, start, past = self.cells.size, fields["start"], self.past(fields["start"])
        many = self.cells.k if self.major == "k" else self.rows
        if self.intake.absolute:
            here = many if past is None else past
            return [i * size if i < here else fields["lbo"] - start + (i - here) * size for i in range(many)]
        digits = [*self.template.numbers(fields)[0], (self.together, size)]
        return [value(digits, i, 0) for i in range(many)]

    def departs(
        self, corner: tuple[int, int], fields: Mapping[str, int], base_offset: int, alike: bool = False
    ) -> tuple[int, int, int] | None:
        """Return (row, column, U) of the first cell of a part that is read elsewhere, or None. Where rows,
        and the cells of a chunk, are alike, only the chunks of the first row are searched.
        """
        along, (row, column) = self._along(fields), corner
        digits, each = self.template.numbers(fields)[1], self.together if alike else 1
        for i in range(1 if alike else self.across):
            far = fields["start"] + value(digits, i, 0)
            for j in range(0, len(along), each):
                down, right = self.index(i, j)
                if self.at(row + down, column + right, base_offset) != far + along[j]:
                    return row + down, column + right, far + along[j]
        return None


def _starts(end: int, step: int) -> Iterator[int]:
    """Yield 0, step, ... below an end of 1 or more; where it has names, they need values after the first."""
    yield 0
    yield from range(step, end, step)


def _begins(template: Digits, found: Digits) -> bool:
    """Return True if digits are those of a template, which may go on past their end.

    >>> _begins([(2, 16), (8, 2)], [(16, 2)]), _begins([(2, 128), (8, 16), (8, 2)], [(96, 2)])
    (True, True)
    """
    wanted, found = merged(template), merged(found)
    if not wanted or not found:
        return wanted == found
    (many, step), *rest = wanted
    (extent, own), *others = found
    return own == step and rest == others and extent <= many


def holds(engine: Engine, number: int) -> bool:
    """Return True if a field of a descriptor holds that number of bytes."""
    return number % CHUNK == 0 and 0 <= number < engine.limit
