"""How a tensor core steps through an operand [rows, K], mode by mode: the documents' table as data.

It reads core matrices of 8 rows of 16 bytes. Along the contiguous direction it counts chunks of 16 bytes;
across it, rows (K-major) or columns of K (MN-major). A step is a number of bytes, or the field that holds it:

                     along, in chunks                        across
    K-major,  none   LBO                                     8 of 16 bytes, then SBO
    K-major,  W      16 bytes                                8 of W bytes, then SBO
    MN-major, none   SBO                                     8 of 16 bytes, then LBO
    MN-major, W      W / 16 of 16 bytes, then LBO            R of W bytes, then SBO

with R the rows of the mode's atom, 8 or 4. What a descriptor reads, the fields that it does not read, whether
a tile is read, and where the two part, all follow from this table.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewise.hardware.modes import CHUNK, Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Digits = list[tuple[int, int]]
    """(extent, bytes), slowest first."""
    Steps = list[tuple[int, int | str]]
    """(extent, bytes or the name of a field), slowest first."""


@dataclass(frozen=True, slots=True)
class Template:
    """One row of the table, for so many rows or columns and chunks of 16 bytes.

    >>> found = template(Mode.of("64B"), "mn", across=16, chunks=8)
    >>> found.along, found.across
    ([(2, 'lbo'), (4, 16)], [(2, 'sbo'), (8, 64)])
    >>> found.unread
    ()
    """

    mode: Mode
    major: str
    along: Steps
    """In chunks of 16 bytes. Rows may end inside the last atom."""
    across: Steps

    @property
    def firsts(self) -> Iterator[tuple[str, int, int, int | str]]:
        """Yield (direction, index of the first step, extent, step) of every digit, the fastest first."""
        for direction, digits in (("along", self.along), ("across", self.across)):
            index = 1
            for extent, step in reversed(digits):
                yield direction, index, extent, step
                index *= extent

    @property
    def unread(self) -> tuple[str, ...]:
        """The fields of which any other value reads the same bytes."""
        read = {step for extent, step in (*self.along, *self.across) if extent > 1}
        read |= {"base_offset"} if self.mode.bits else set()
        return tuple(name for name in ("lbo", "sbo", "base_offset") if name not in read)

    def numbers(self, fields: Mapping[str, int]) -> tuple[Digits, Digits]:
        """Return the digits along and across with the bytes that the fields hold."""
        along, across = (
            [(extent, fields[step] if isinstance(step, str) else step) for extent, step in digits]
            for digits in (self.along, self.across)
        )
        return along, across


def template(mode: Mode, major: str, across: int, chunks: int) -> Template:
    """Return the row of the table of a mode and a major.

    >>> template(Mode.of("none"), "k", across=64, chunks=2).across
    [(8, 'sbo'), (8, 16)]
    """
    if not mode.bits:
        leading, stride = ("lbo", "sbo") if major == "k" else ("sbo", "lbo")
        return Template(mode, major, [(chunks, leading)], [(across // mode.rows, stride), (mode.rows, CHUNK)])
    atom = chunks if major == "k" else min(mode.chunks, chunks)
    along: Steps = [(-(-chunks // atom), "lbo"), (atom, CHUNK)]
    return Template(mode, major, along, [(across // mode.rows, "sbo"), (mode.rows, mode.width)])
