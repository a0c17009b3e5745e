"""The rows of 16 bytes that matrices would have of a tile, held against what they must be.

The direction that is contiguous says which form was meant. Its rows must be 16 bytes that stay together, at
multiples of 16, and 4 of them must be what one lane holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewise.check.feeding.forms import REGISTER
from tilewise.check.feeding.fragments import OPERANDS
from tilewise.check.operand import Operand, Reason
from tilewise.check.strides import in_bytes, step
from tilewise.core.errors import LayoutError
from tilewise.core.swizzles import Swizzle
from tilewise.hardware.limits import LANE_BITS
from tilewise.hardware.modes import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tilewise.check.feeding.question import Question


@dataclass(frozen=True)
class Rows:
    """What is wrong with the rows of a tile that matrices do not move."""

    question: Question

    @property
    def operand(self) -> Operand:
        return self.question.operand

    @property
    def words(self) -> tuple[str, str]:
        """The names of both modes: M, K."""
        return OPERANDS[self.operand.name]

    def faults(self) -> Iterator[Reason]:
        """Every fault, the first one to look at in front; never none."""
        found = list(self._direction() or self._rows())
        yield from found or [self._differs()]

    # -- the direction ---------------------------------------------------------------------------------

    @property
    def trans(self) -> bool:
        """Whether elements of 16 bits follow one another down the rows."""
        operand = self.operand
        turned = _step(operand, 1, 0) == operand.size and _step(operand, 0, 1) != operand.size
        return turned and operand.size == 2

    def _direction(self) -> list[Reason]:
        operand, size = self.operand, self.operand.size
        down, along = _step(operand, 1, 0), _step(operand, 0, 1)
        rows, columns = self.words
        witness = {"row_step": down, "column_step": along, "wanted": size}
        if along == size or (down == size and size >= REGISTER):
            lanes = [*self._lanes()]
            if lanes or along == size:
                return lanes
        if down == size and size == 2:
            return []
        if down == size:
            return [self._major(witness)]
        steps = (
            f"{in_bytes(along, size)} from {columns.lower()} = 0 to 1 and "
            f"{in_bytes(down, size)} from {rows.lower()} = 0 to 1"
        )
        message = f"neither direction is contiguous: {steps}; {self.operand.row.name} wants {size} B in one"
        return [Reason("contiguous", message, witness, "16 bytes of one row of a matrix stay together")]

    def _lanes(self) -> Iterator[Reason]:
        """A lane that holds more or fewer neighbours of a row than matrices give it."""
        held = {index for (index,) in self.question.fragment.index.columns[LANE_BITS:]}
        together = 1
        while together in held:
            together *= 2
        if together == REGISTER:
            return
        name, mover = self.operand.name, self.question.mover
        gives = "gives it" if mover == "ldmatrix" else "takes from it"
        yield Reason(
            "lanes",
            f"a lane holds {together} neighbouring bytes of a row of {name}, and {mover} {gives} {REGISTER}",
            {"held": together, "wanted": REGISTER},
            "vectors move them; results of 16 bits, converted in registers, go through stmatrix"
            if name == "D"
            else "vectors move them",
        )

    def _major(self, witness: dict[str, int]) -> Reason:
        rows, columns = self.words
        name, mover = self.operand.row.name, self.question.mover
        message = (
            f"{rows} is contiguous, and {mover} transposes elements of 16 bits alone: {name} wants {columns} "
            "contiguous"
        )
        if self.operand.size > 1 or self.operand.elements > 1:
            return Reason("major-type", message, witness, f"lay the tile out with {columns} contiguous")
        return Reason(
            "major-type",
            message.replace("alone", "alone before sm_100"),
            witness,
            f"lay the tile out with {columns} contiguous, or see --arch sm_100a",
        )

    # -- rows of 16 bytes ------------------------------------------------------------------------------

    def _rows(self) -> Iterator[Reason]:
        operand = self.operand
        if operand.base % CHUNK:
            yield Reason(
                "base",
                f"the tile's address {operand.base:#x} is no multiple of 16",
                {"base": operand.base},
                "align the tile to 16 bytes",
                operand.layout,
            )
        yield from self._chunk()
        yield from self._swizzle()
        yield from self._apart()
        start = operand.plain(0, 0) - operand.base
        if start % CHUNK:
            yield Reason(
                "start",
                f"the tile starts at byte {start}, no multiple of 16",
                {"start": start},
                f"{start // CHUNK * CHUNK} is the multiple below",
            )

    def _at(self, across: int, along: int) -> int:
        """Bytes from the first element to one so many rows of a matrix, and elements of it, away."""
        return _step(self.operand, *((along, across) if self.trans else (across, along)))

    def _chunk(self) -> Iterator[Reason]:
        size = self.operand.size
        name = self.words[not self.trans].lower()
        for number in range(CHUNK // size):
            found, wanted = self._at(0, number), number * size
            if found != wanted:
                many = self.operand.elements
                yield Reason(
                    "chunk",
                    f"16 bytes of a row must stay together: {name} = {number * many} is {found} B from "
                    f"{name} = 0, wanted {wanted}",
                    {"element": number * many, "found": found, "wanted": wanted},
                    f"{CHUNK // size * many} elements along {name} are one row of a matrix",
                )
                return

    def _swizzle(self) -> Iterator[Reason]:
        """A swizzle that parts 16 bytes."""
        inside = [one for one in self.operand.chain if one.base < 4]
        parted = self._parted() if inside else None
        if parted is None:
            return
        row, found, wanted = parted
        swizzle = inside[0]
        meant = Swizzle(swizzle.bits, 4, swizzle.shift)
        yield Reason(
            "swizzle",
            f"{swizzle} on bytes parts 16 bytes: in row {row} byte {wanted} is {found} B from the first",
            {"row": row, "found": found, "wanted": wanted},
            f"keep 16 bytes together: {_in_elements(meant, self.operand)}, {meant} on bytes",
        )

    def _parted(self) -> tuple[int, int, int] | None:
        """The first row that a swizzle parts: (row, where a byte is, where it is wanted); None for none."""
        operand, size = self.operand, self.operand.size
        rows, columns = (operand.columns, operand.rows) if self.trans else (operand.rows, operand.columns)
        for across in range(min(rows, LISTED)):
            for chunk in range(0, min(columns, LISTED), CHUNK // size):
                cells = [(across, chunk + i) for i in range(CHUNK // size)]
                at = [operand.byte(*((c, r) if self.trans else (r, c))) for r, c in cells]
                for number, here in enumerate(at):
                    if here - at[0] != number * size:
                        return across, here - at[0], number * size
        return None

    def _apart(self) -> Iterator[Reason]:
        """Rows, or 16 bytes of one row, that are no multiple of 16 apart: the first of each."""
        operand, together = self.operand, CHUNK // self.operand.size
        rows, columns = operand.rows, operand.columns
        across, along = (columns, rows) if self.trans else (rows, columns)
        numbers = [(number, 0) for number in _powers(1, across)]
        chunks = [(0, number) for number in _powers(together, along)]
        for name, many, places in (
            (self.words[self.trans], operand.elements if self.trans else 1, numbers),
            (self.words[not self.trans], 1 if self.trans else operand.elements, chunks),
        ):
            apart = next((place for place in places if self._at(*place) % CHUNK), None)
            if apart is not None:
                yield self._stride(name.lower(), max(apart) * many, self._at(*apart))

    def _stride(self, name: str, number: int, found: int) -> Reason:
        size = self.operand.size
        return Reason(
            "stride-16",
            f"from {name} = 0 to {number} is {in_bytes(found, size)}, no multiple of 16, and each row of a "
            "matrix starts at one",
            {"element": number, "found": found},
            f"pad it to {in_bytes(-(-found // CHUNK) * CHUNK, size)}",
        )

    def _differs(self) -> Reason:
        return Reason(
            "differs",
            "no choice of registers makes rows of 16 bytes at multiples of 16",
            {"swizzles": [[one.bits, one.base, one.shift] for one in self.operand.chain]},
        )


LISTED = 64
"""So many rows, and columns, are looked through for the first that a swizzle parts."""


def _step(operand: Operand, row: int, column: int) -> int:
    """Bytes from element (0, 0) to another, before the swizzle; 0 where there is none."""
    if row >= operand.rows or column >= operand.columns:
        return 0
    return step(operand, row, column)


def _powers(first: int, end: int) -> Iterator[int]:
    """first, 2 first, 4 first, ... below the end.

    >>> list(_powers(8, 64))
    [8, 16, 32]
    """
    while first < end:
        yield first
        first *= 2


def _in_elements(swizzle: Swizzle, operand: Operand) -> str:
    try:
        return f"{swizzle.scaled(8, operand.row.dtype.bits)} on {operand.row.name}"
    except LayoutError:
        return str(swizzle)
