"""Which descriptors read a tile: a few addresses give the only candidate of a mode, which is then proved.

Sw is the permutation of a mode, W its width in bytes. Where the descriptor with base offset b reads a tile,

    U(x) = Sw(L(x) - 128 b) + 128 b

is what the descriptor counts: the start at (0, 0), SBO and LBO a group of rows, of chunks or of columns on.
So they are read off U, and the layout that the descriptor reads is compared with the tile's part, by `same`.

At most one mode fits: rows (columns, where MN-major) of a group are W bytes apart in U, eight of them reach
over a whole period, and no permutation of one mode makes such steps of those of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewise.check.boxwise import boxwise
from tilewise.check.operand import Blocks, Operand
from tilewise.core.algebra.slicing import Piece
from tilewise.core.errors import NotDecided
from tilewise.core.swizzles import one_permutation
from tilewise.hardware.modes import CHUNK, MODES, ROWS, Mode
from tilewise.hardware.wgmma.descriptor import (
    BASE_UNIT,
    LIMIT,
    SWIZZLED_K_MAJOR_LBO,
    Descriptor,
    base_offset_of,
)
from tilewise.hardware.wgmma.instructions import M
from tilewise.hardware.wgmma.reads import pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.core.algebra.slicing import Interval
    from tilewise.core.layout import Layout

REACH = LIMIT
"""Bytes of shared memory that descriptors can name."""

_SWIZZLES = {name: mode.swizzle for name, mode in MODES.items()}

UNREAD = {"lbo": SWIZZLED_K_MAJOR_LBO, "sbo": 0}
"""What is encoded in a field that is not read."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the elements of one instruction lie: the mode, the major and what of LBO and SBO is free.

    >>> Form.of("128B", "k", "B", 8, 2).ignored
    ('lbo', 'sbo')
    """

    mode: Mode
    major: str
    n: int
    """Rows of the operand in one instruction."""
    size: int
    """Bytes of an element."""

    @classmethod
    def of(cls, mode: Mode | str, major: str, operand: str, n: int, size: int) -> Form:
        """The form of an operand, of which A always has 64 rows."""
        return cls(Mode.of(mode), major, M if operand == "A" else n, size)

    @property
    def together(self) -> int:
        """Elements of 16 bytes."""
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
            return 0, ROWS
        wide = self.mode.chunks * self.together
        return (wide, 0) if wide < self.n else None

    @property
    def sbo_at(self) -> tuple[int, int] | None:
        """The element that is SBO after (0, 0); None where there is none."""
        if self.major == "k":
            return (ROWS, 0) if self.n > ROWS else None
        if self.mode.bits:
            return 0, ROWS
        return (self.together, 0) if self.together < self.n else None

    @property
    def probes(self) -> tuple[tuple[int, int, int], ...]:
        """(row, k, bytes) that every tile of this form has, counted from (0, 0)."""
        chunk = (CHUNK,) if self.mode.chunks > 1 else ()
        if self.major == "k":
            across = [(0, self.together, step) for step in chunk]
            return (0, 1, self.size), (1, 0, self.mode.width), (7, 0, 7 * self.mode.width), *across
        across = [(self.together, 0, step) for step in chunk if self.together < self.n]
        return (1, 0, self.size), (0, 1, self.mode.width), (0, 7, 7 * self.mode.width), *across


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
    n: int
    parts: tuple[Part, ...]

    @property
    def descriptor(self) -> Descriptor:
        """That of the first part."""
        return self.parts[0].descriptor


def fits(
    operand: Operand, ns: tuple[int, ...], majors: tuple[str, ...], modes: tuple[str, ...]
) -> Fit | None:
    """The first fit: the largest instruction of `ns`, in it the widest mode, or None."""
    majors = tuple(major for major in majors if _follows(operand, major))
    for n in ns if majors else ():
        blocks = operand.blocks(n)
        if blocks is None:
            continue
        for form in forms(operand, n, majors, modes):
            fit = _fit(blocks, form)
            if fit is not None:
                return fit
    return None


def _follows(operand: Operand, major: str) -> bool:
    """Whether the second element along a direction follows the first: no mode's swizzle parts 16 bytes."""
    second = (0, 1) if major == "k" else (1, 0)
    return operand.byte(*second) - operand.byte(0, 0) == operand.size


def forms(operand: Operand, n: int, majors: tuple[str, ...], modes: tuple[str, ...]) -> Iterator[Form]:
    """Every form of an instruction of n rows, the widest mode first."""
    for name in sorted(modes, key=lambda name: -MODES[name].width):
        for major in majors:
            yield Form.of(name, major, operand.name, n, operand.size)


def _fit(blocks: Blocks, form: Form) -> Fit | None:
    """The fit of one form: the same LBO and SBO in all parts, each proved."""
    many_rows, many_k = blocks.counts
    operand = blocks.operand
    parts: list[Part] = []
    for row in range(many_rows):
        for column in range(many_k):
            found = _descriptor(operand, form, row * form.n, column * operand.k)
            if found is None or (parts and not _alike(found, parts[0].descriptor)):
                return None
            proved = bool(parts) and _swizzled_alike(operand, found)
            if not proved and not is_read(operand, blocks.block(row, column), form, found):
                return None
            parts.append(Part(row, column, found))
    return Fit(form, blocks.n, tuple(parts))


def _swizzled_alike(operand: Operand, descriptor: Descriptor) -> bool:
    """Whether the layout has the descriptor's pattern: then all parts are read where the first one is.

    Under one permutation the sums inside agree, and parts differ from one another by a constant alone, on
    both sides: that by which their first elements differ.
    """
    mode = descriptor.mode
    if not one_permutation(operand.chain, (mode.swizzle,) if mode.bits else ()):
        return False
    return not mode.bits or (operand.pattern - BASE_UNIT * descriptor.base_offset) % mode.period == 0


def _alike(one: Descriptor, other: Descriptor) -> bool:
    return (one.lbo, one.sbo) == (other.lbo, other.sbo)


def _descriptor(operand: Operand, form: Form, row: int, column: int) -> Descriptor | None:
    """The only descriptor of that form that may read the part at (row, column)."""
    for base_offset in base_offsets(operand, form.mode):
        found = _counted(operand, form, row, column, base_offset)
        if found is not None:
            return found
    return None


def base_offsets(operand: Operand, mode: Mode) -> list[int]:
    """The base offsets to try: that of the pattern's start first."""
    if not mode.bits:
        return [0]
    likely = _base_offset(operand.pattern, mode)
    many = mode.period // BASE_UNIT
    others = [b for b in range(many) if likely is None or b != likely % many]
    return others if likely is None else [likely, *others]


def _base_offset(pattern: int, mode: Mode) -> int | None:
    """The base offset of a pattern that starts at that address; None where there is none."""
    return None if pattern % BASE_UNIT else base_offset_of(pattern, mode)


def counted(operand: Operand, mode: Mode, base_offset: int, row: int, column: int) -> int:
    """U of an element: its address as the descriptor counts it, before the mode's swizzle."""
    moved = BASE_UNIT * base_offset if mode.bits else 0
    return _SWIZZLES[mode.name](operand.byte(row, column) - moved) + moved


def _counted(operand: Operand, form: Form, row: int, column: int, base_offset: int) -> Descriptor | None:
    """The descriptor that the addresses of a few elements give, if they can be those of such a tile."""

    def at(down: int, along: int) -> int:
        return counted(operand, form.mode, base_offset, row + down, column + along)

    start = at(0, 0)
    if any(at(down, along) - start != step for down, along, step in form.probes):
        return None
    steps = {}
    for name, element in (("lbo", form.lbo_at), ("sbo", form.sbo_at)):
        steps[name] = UNREAD[name] if element is None else at(*element) - start
    if not all(holds(number) for number in (start, *steps.values())):
        return None
    return Descriptor(start, steps["lbo"], steps["sbo"], form.mode, base_offset)


def holds(number: int) -> bool:
    """Whether a field of a descriptor holds that number of bytes."""
    return number % CHUNK == 0 and 0 <= number < LIMIT


# -- the proof -----------------------------------------------------------------------------------------


def is_read(operand: Operand, block: Layout, form: Form, descriptor: Descriptor) -> bool:
    """Whether a descriptor reads every element of a part where the part has it.

    not decided  where `same` is not; parts of so few elements it lists
    """
    for _, part, read in compared(operand, block, form, descriptor):
        answer = part.same(read).answer
        if answer is None:
            raise NotDecided("whether the descriptor reads the tile was not decided within the bound")
        if not answer:
            return False
    return True


def compared(
    operand: Operand, block: Layout, form: Form, descriptor: Descriptor
) -> Iterator[tuple[tuple[Interval, ...], Layout, Layout]]:
    """Boxes of a part, with the layout that it has there and the one that the descriptor reads."""
    placed = replace(block, outer=block.outer + operand.base)
    part = Piece(((0, form.n), (0, operand.k)), placed)
    for read in pieces(descriptor, dtype=operand.type, major=form.major, operand=operand.name, n=form.n):
        yield from boxwise(part, read, read.box)
