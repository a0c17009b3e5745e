"""The addresses of a tile, held step by step against what the tensor core wants: every fault that is found.

From the finest step to the widest: 16 bytes that stay together, eight rows a mode's width apart, the
swizzle of that mode, then one stride from group to group, which a field of the descriptor holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilewise.check.fitting import whole_chunks
from tilewise.check.operand import Operand, Reason
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle, one_permutation
from tilewise.hardware.modes import CHUNK, MODES, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewise.check.match import Question
    from tilewise.hardware.engines import Engine

    Steps = list[tuple[int, int]]
    """(element, bytes from the first one)."""


def faults(question: Question) -> Iterator[Reason]:
    """Every fault of the strides; nothing where none of these questions finds one."""
    operand = question.operand
    down, along = step(operand, 1, 0), step(operand, 0, 1)
    if along == operand.size:
        yield from _Walk(question, "k").faults()
    elif down != operand.size:
        yield _not_contiguous(operand, down, along)
    elif "mn" in question.intake.majors:
        yield from _Walk(question, "mn").faults()
    else:
        why, hint = question.intake.no_major
        message = f"rows are contiguous (MN-major), and {why}"
        yield Reason("major-type", message, {"row_step": down, "k_step": along}, hint)


def _no_whole_chunks(question: Question) -> Iterator[Reason]:
    """Contiguous rows that no instruction of whole chunks of 16 bytes divides."""
    operand, together = question.operand, CHUNK // question.operand.size
    fitting = [rows for rows in question.intake.rows if whole_chunks(operand, rows)]
    if question.rows and not any(rows in fitting for rows in question.rows):
        size = "M" if operand.name == "A" else "N"
        yield Reason(
            "rows",
            f"{operand.name} has {operand.rows} rows, contiguous, no multiple of {fitting[0]}: {together} of "
            f"{operand.row.name} fill a chunk of 16 bytes"
            if fitting
            else f"{max(question.rows)} contiguous rows of {operand.row.name} fill no chunk of 16 bytes",
            {"rows": operand.rows, "chunk": together},
            f"pad {size} to a multiple of {fitting[0] if fitting else together}, or lay K contiguous",
        )


def widths(question: Question, major: str | None) -> dict[int, Mode]:
    """The mode by the bytes from row to row; of two modes of a width the one that is written, or the first.

    Those of the major; of a major that is not read, or of none, all of them.
    """
    written = mode_of(question.operand.chain, question.engine.modes.values())
    found: dict[int, Mode] = {}
    for mode in question.intake.modes.get(major or "", tuple(question.engine.modes.values())):
        if mode is written:
            found[mode.width] = mode
        else:
            found.setdefault(mode.width, mode)
    return found


def step(operand: Operand, row: int, column: int) -> int:
    """Bytes from element (0, 0) to another, before the layout's own swizzle."""
    return operand.plain(row, column) - operand.plain(0, 0)


def _not_contiguous(operand: Operand, down: int, along: int) -> Reason:
    size, name = operand.size, operand.row.name
    witness = {"row_step": down, "k_step": along, "wanted": size}
    steps = f"{in_bytes(along, size)} from k = 0 to 1 and {in_bytes(down, size)} from row 0 to 1"
    if -size in (along, down):
        return Reason(
            "negative",
            f"the elements run backwards ({steps}): wanted {size} B forwards in one of them",
            witness,
            "descriptors only go up",
        )
    return Reason(
        "contiguous",
        f"neither direction is contiguous: {steps}; {name} wants {size} B in one of them",
        witness,
        "16 bytes of one row (K-major) or of one k (MN-major) stay together",
    )


@dataclass(frozen=True)
class _Walk:
    """A tile whose elements follow one another in one direction: along; the other one is across."""

    question: Question
    major: str

    @property
    def operand(self) -> Operand:
        return self.question.operand

    @property
    def one_across(self) -> str:
        return "row" if self.major == "k" else "k"

    @property
    def many_across(self) -> str:
        return "rows" if self.major == "k" else "columns of K"

    @property
    def one_along(self) -> str:
        return "k" if self.major == "k" else "row"

    def at(self, across: int, along: int) -> int:
        """Bytes from the first element to another."""
        return step(self.operand, *((across, along) if self.major == "k" else (along, across)))

    @cached_property
    def widths(self) -> dict[int, Mode]:
        """The mode by the bytes from row to row."""
        return widths(self.question, self.major)

    @property
    def extents(self) -> tuple[int, int]:
        """Elements across and along, in one instruction's part of the tile."""
        rows = max(self.question.rows or self.question.free.rows[:1])
        return (rows, self.operand.k) if self.major == "k" else (self.operand.k, rows)

    def faults(self) -> Iterator[Reason]:
        """Every fault, from the finest step to the widest."""
        if self.major not in self.question.majors:
            asked = self.question.majors[0]
            message = f"the tile is {major_name(self.major)}, and {major_name(asked)} was asked"
            yield Reason("major", message, {"found": self.major, "wanted": asked})
        across = self.at(1, 0)
        if self.major == "mn":
            yield from _no_whole_chunks(self.question)
        engine = self.question.engine
        absolute, mode = self.question.intake.absolute, self.widths.get(across)
        base = pattern_reason(engine, self.operand, mode or MODES["none"], absolute)
        start = None if base else start_reason(engine, self.operand.plain(0, 0))
        yield from filter(None, (base, start))
        chunk = self._chunk()
        if chunk is not None:
            yield chunk
            return
        if mode is None:
            yield self._across(across)
        else:
            yield from self._atom(mode)
        yield from self._swizzle(mode)
        if mode is not None:
            yield from self._groups(mode)

    def _chunk(self) -> Reason | None:
        """16 bytes whose elements do not follow one another."""
        size, extent = self.operand.size, self.operand.columns if self.major == "k" else self.operand.rows
        for number in range(min(CHUNK // size, extent)):
            found, wanted = self.at(0, number), number * size
            if found != wanted:
                return Reason(
                    "chunk",
                    f"16 bytes must stay together: {self.one_along} = {number} is {found} B from "
                    f"{self.one_along} = 0, wanted {wanted}",
                    {"element": number, "found": found, "wanted": wanted},
                    f"{CHUNK // size} elements along {self.one_along} are one chunk of 16 bytes",
                )
        return None

    def _across(self, found: int) -> Reason:
        """Rows that are no mode's width apart."""
        witness = {"found": found, "wanted": sorted(self.widths)}
        apart = f"{self.many_across} are {in_bytes(found, self.operand.size)} apart"
        wanted = f"the tensor core wants {_wanted(self.widths.values())}"
        padding = self._padding(found)
        said = f" with {padding} B of padding" if padding else ""
        if found < 0:
            return Reason("negative", f"{apart}, backwards; {wanted}", witness, "descriptors only go up")
        if found % CHUNK:
            hint = "swizzle instead of padding" if padding else ""
            return Reason("stride-16", f"{apart}{said}, no multiple of 16; {wanted}", witness, hint)
        widest = self.widths[max(self.widths)]
        if padding:
            hint = "swizzle instead of padding"
        elif found > widest.width:
            what, wide = "K" if self.major == "k" else "the rows", widest.width // self.operand.size
            hint = (
                f"cut {what} into strips of {wide} elements, which are atoms of "
                f"{widest.rows} x {widest.width} B"
            )
        else:
            hint = ""
        return Reason("row-stride", f"{apart}{said}; {wanted}", witness, hint)

    def _padding(self, found: int) -> int:
        """Bytes that a row leaves unused, where that looks meant."""
        used = (self.operand.columns if self.major == "k" else self.operand.rows) * self.operand.size
        unused = found - used
        return unused if 0 < unused <= 64 and unused < used else 0

    def _atom(self, mode: Mode) -> Iterator[Reason]:
        """Rows of an atom that are not evenly spaced."""
        for number in range(2, mode.rows):
            found, wanted = self.at(number, 0), number * mode.width
            if found != wanted:
                yield Reason(
                    "core-matrix",
                    f"{_COUNTED[mode.rows]} {self.many_across} must be evenly spaced: {self.one_across} "
                    f"{number} is {found} B from {self.one_across} 0, wanted {wanted}",
                    {"element": number, "found": found, "wanted": wanted},
                    "a core matrix is 8 rows of 16 bytes",
                )
                return

    def _swizzle(self, mode: Mode | None) -> Iterator[Reason]:
        found = mode_of(self.operand.chain, self.question.engine.modes.values())
        if found is None or (mode is not None and found is not mode):
            yield swizzle_reason(self.question.engine, self.operand, mode, self.major)

    # -- groups ----------------------------------------------------------------------------------------

    def _groups(self, mode: Mode) -> Iterator[Reason]:
        """The steps from chunk to chunk, and from group to group."""
        across, along = self.extents
        together = CHUNK // self.operand.size
        if mode.bits and together < along and self.at(0, together) != CHUNK:
            found = self.at(0, together)
            yield Reason(
                "chunk-stride",
                f"chunks of 16 bytes must follow one another: {self.one_along} = {together} is {found} B "
                f"from {self.one_along} = 0, wanted {CHUNK}",
                {"found": found, "wanted": CHUNK},
            )
        wide = mode.chunks * together
        far_along = {"k": "" if mode.bits else "LBO", "mn": "LBO" if mode.bits else "SBO"}[self.major]
        far_across = "LBO" if self.major == "mn" and not mode.bits else "SBO"
        if far_along:
            steps = [(i, self.at(0, i)) for i in range(wide, along, wide)]
            yield from self._even(far_along, steps, self.one_along)
        steps = [(i, self.at(i, 0)) for i in range(mode.rows, across, mode.rows)]
        yield from self._even(far_across, steps, self.one_across)

    def _even(self, field: str, steps: Steps, what: str) -> Iterator[Reason]:
        """One stride for all steps, which a field must hold."""
        if not steps:
            return
        first, stride = steps[0]
        witness = {"field": field.lower(), "found": stride}
        where = f"{field}, from {what} 0 to {what} {first}, is {in_bytes(stride, self.operand.size)}"
        if stride % CHUNK:
            yield Reason("stride-16", f"{where}, no multiple of 16", witness)
        elif stride < 0:
            yield Reason("negative", f"{where}, backwards", witness, "descriptors only go up")
        elif stride >= (limit := self.question.engine.limit):
            message = f"{where}, beyond the 14 bits of 16 bytes: at most {limit - CHUNK}"
            yield Reason("range", message, witness | {"limit": limit})
        for at, found in steps:
            wanted = stride * (at // first)
            if found != wanted:
                yield Reason(
                    "uneven",
                    f"{field} is one stride: {what} {first} is {stride} B from {what} 0, so {what} {at} "
                    f"should be {wanted} B from it and is {found}",
                    {"field": field.lower(), "element": at, "found": found, "wanted": wanted},
                    "a smaller N has fewer groups in one instruction" if self.operand.name == "B" else "",
                )
                return


# -- swizzles ------------------------------------------------------------------------------------------


def mode_of(chain: tuple[Swizzle, ...], modes: Iterable[Mode] = MODES.values()) -> Mode | None:
    """The mode whose permutation of bytes a chain is; None where it is no mode's.

    >>> print(mode_of((Swizzle(2, 4, 3),)), mode_of((Swizzle(2, 5, 3),)))
    64B None
    """
    for mode in modes:
        if one_permutation(chain, (mode.swizzle,) if mode.bits else ()):
            return mode
    return None


def swizzle_reason(engine: Engine, operand: Operand, mode: Mode | None, major: str) -> Reason:
    """A swizzle that is not that of the mode which the strides are of; None where they are of no mode."""
    written = operand.chain
    found = mode_of(written, engine.modes.values())
    witness: dict[str, object] = {
        "found": found.name if found else [[s.bits, s.base, s.shift] for s in written]
    }
    strides = ""
    if mode is not None:
        witness["wanted"] = mode.name
        across = "rows" if major == "k" else "columns of K"
        strides = f"{across} are {mode.width} B apart, as {'in' if mode.bits else 'with'} {mode_name(mode)}"
    hint = how_to_write(operand, mode)
    if found is None:
        known = _permutations(engine)
        message = f"{_spelled(operand, written)} no mode of the hardware, which has {known} on bytes"
        return Reason("swizzle", "; ".join(filter(None, (message, strides))), witness, hint, mode=mode)
    if not written:
        return Reason(
            "no-swizzle", f"{strides}, but the addresses are not swizzled", witness, hint, mode=mode
        )
    message = f"the swizzle is that of {mode_name(found)}, but {strides}"
    return Reason("swizzle-strides", message, witness, hint, mode=mode)


def _permutations(engine: Engine) -> str:
    """The swizzles of an engine's modes, those that differ in B alone as one.

    >>> from tilewise.hardware.engines import engine
    >>> _permutations(engine("wgmma"))
    'Swizzle<1|2|3,4,3>'
    """
    alike: dict[tuple[int, int], list[str]] = {}
    for mode in engine.modes.values():
        if mode.bits:
            alike.setdefault((mode.base, mode.shift), []).append(str(mode.bits))
    return " and ".join(f"Swizzle<{'|'.join(bits)},{base},{far}>" for (base, far), bits in alike.items())


def _spelled(operand: Operand, chain: tuple[Swizzle, ...]) -> str:
    """A chain on bytes, and before it on elements where that is another."""
    on_bytes = " o ".join(map(str, chain))
    try:
        on_elements = " o ".join(str(swizzle.scaled(8, operand.row.dtype.bits)) for swizzle in chain)
    except LayoutError:
        on_elements = on_bytes
    if on_elements == on_bytes:
        return f"{on_bytes} is"
    return f"{on_elements} on {operand.row.name} is {on_bytes} on bytes and"


def how_to_write(operand: Operand, mode: Mode | None) -> str:
    """What to write for the swizzle of a mode."""
    if mode is None:
        return ""
    if not mode.bits:
        return "leave the swizzle out, or lay the rows out as its mode has them"
    of_elements = mode.swizzle.scaled(8, operand.row.dtype.bits)
    if of_elements == mode.swizzle:
        return f"{mode_name(mode)} is {mode.swizzle}"
    return f"{mode_name(mode)} is {of_elements} on {operand.row.name}, {mode.swizzle} on bytes"


# -- words ---------------------------------------------------------------------------------------------

_COUNTED = {8: "eight", 4: "four"}


def _wanted(modes: Iterable[Mode]) -> str:
    """How far apart rows have to be, and how many of them, for the modes of an engine.

    >>> _wanted(MODES.values())
    'eight of them 16, 32, 64 or 128 B apart (no swizzle, 32B, 64B, 128B)'
    """
    *first, last = sorted(modes, key=lambda mode: mode.width)
    apart = f"{', '.join(str(mode.width) for mode in first)} or {last.width}" if first else str(last.width)
    names = ", ".join(mode.name if mode.bits else "no swizzle" for mode in (*first, last))
    return f"{_COUNTED[last.rows]} of them {apart} B apart ({names})"


def mode_name(mode: Mode) -> str:
    """A mode as a sentence has it."""
    return f"{mode} mode" if mode.bits else "no swizzle"


def major_name(major: str) -> str:
    """A major as the documents have it."""
    return "K-major" if major == "k" else "MN-major"


def in_bytes(count: int, size: int) -> str:
    """Bytes, and elements where they are more than bytes.

    >>> in_bytes(136, 2), in_bytes(7, 2)
    ('136 B (68 elements)', '7 B')
    """
    if size == 1 or count % size:
        return f"{count} B"
    return f"{count} B ({count // size} element{'' if abs(count) == size else 's'})"


def start_reason(engine: Engine, start: int, what: str = "the tile") -> Reason | None:
    """A start that the descriptor's field does not hold."""
    if start % CHUNK:
        return Reason(
            "start",
            f"{what} starts at byte {start}, no multiple of 16",
            {"start": start},
            f"the field counts 16 bytes; {start // CHUNK * CHUNK} is the multiple below",
        )
    if not 0 <= start < engine.limit:
        return Reason(
            "range",
            f"{what} starts at byte {start}, and a descriptor names addresses in 0..{engine.limit - CHUNK}",
            {"start": start, "limit": engine.limit},
        )
    return None


def pattern_reason(engine: Engine, operand: Operand, mode: Mode, absolute: bool = False) -> Reason | None:
    """A pattern that starts where no base offset says so, or a tile at an address that is none.

    Where LBO is an address the only base offset is 0.
    """
    witness = {"base": operand.base, "pattern": operand.pattern, "alignment": mode.period}
    hint = f"align the tile to {mode.period} bytes" + (", 128 where TMA writes it" if not mode.bits else "")
    if operand.base % CHUNK:
        message = f"the tile's address {operand.base:#x} is no multiple of 16"
    elif mode.bits and operand.pattern % (unit := mode.period if absolute else engine.base_unit):
        moves = "is 0 where LBO is an address" if absolute else f"moves it by {unit} B"
        message = (
            f"the pattern of {mode} mode starts at byte {operand.pattern:#x}, no multiple of {unit}: it "
            f"repeats every {mode.period} B, and a base offset {moves}"
        )
    else:
        return None
    return Reason("base", message, witness, hint, mode=mode)
