"""The kinds of matrices that ldmatrix and stmatrix move: shape, type, number at once, first architecture.

Every row of a matrix is 16 bytes of shared memory. A kind whose elements are smaller in memory than in a
register is unpacked on the way: 16 elements of 6 or 4 bits lie at the start of the row, the rest of the row
is not used. In a register each element lies in the low bits of its own byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewise.hardware.architectures import Needs
from tilewise.hardware.limits import LANES
from tilewise.hardware.sources import ptx

ROW_BYTES = 16
"""Bytes of a row, and the alignment of its address."""
INSTRUCTIONS = ("ldmatrix", "stmatrix")

PTX_LDMATRIX = ptx("Warp-level matrix load instruction: ldmatrix", "warp-level-matrix-instructions-ldmatrix")

_SHAPE = re.compile(r"m(\d+)n(\d+)")
_PADDED = re.compile(r"b8x16\.b(\d)x16_p(\d+)")


@dataclass(frozen=True, slots=True)
class Kind:
    """Matrices of one shape and type.

    >>> kind = kind_of("ldmatrix", "m8n16", "b8x16.b4x16_p64")
    >>> kind.rows, kind.columns, kind.bits, kind.stored, kind.padding
    (8, 16, 8, 4, 8)
    """

    instruction: str
    shape: str
    type: str
    rows: int
    """Rows in memory, each with its own address."""
    columns: int
    """Elements of a row."""
    bits: int
    """The bits of an element in a register."""
    stored: int
    """The bits of an element in memory."""
    counts: tuple[int, ...]
    """The numbers of matrices that one instruction may move."""
    trans: tuple[bool, ...]
    needs: Needs
    """The architectures that have it."""

    def __post_init__(self) -> None:
        said = _SHAPE.fullmatch(self.shape)
        assert said is not None
        m, n = map(int, said.groups())
        across = (n, m) if self.instruction == "stmatrix" and self.trans == (True,) else (m, n)
        packed = _PADDED.fullmatch(self.type)
        stored, unused = map(int, packed.groups()) if packed else (self.bits, 0)
        holds = (
            across == (self.rows, self.columns)
            and stored == self.stored
            and self.columns * stored + unused == ROW_BYTES * 8
            and max(self.counts) * self.rows <= LANES
        )
        if self.instruction not in INSTRUCTIONS or not holds:
            raise ValueError(f"{self.instruction} {self.shape} {self.type} does not hold together")

    @property
    def special(self) -> bool:
        """Return True if only code for one architecture, or for its family, may use it."""
        return self.needs.since is None

    @property
    def padding(self) -> int:
        """Return the bytes at the end of each row that no register gets."""
        return ROW_BYTES - self.columns * self.stored // 8


_ONCE_OR_TWICE, _ANY = (1, 2), (1, 2, 4)
_BOTH, _PLAIN, _TRANS = (False, True), (False,), (True,)
_B6, _B4 = "b8x16.b6x16_p32", "b8x16.b4x16_p64"
_BLACKWELL = Needs(family=(100, 110, 120))

KINDS = (
    Kind("ldmatrix", "m8n8", "b16", 8, 8, 16, 16, _ANY, _BOTH, Needs(75)),
    Kind("ldmatrix", "m16n16", "b8", 16, 16, 8, 8, _ONCE_OR_TWICE, _TRANS, _BLACKWELL),
    Kind("ldmatrix", "m16n16", _B6, 16, 16, 8, 6, _ONCE_OR_TWICE, _TRANS, _BLACKWELL),
    Kind("ldmatrix", "m16n16", _B4, 16, 16, 8, 4, _ONCE_OR_TWICE, _TRANS, _BLACKWELL),
    Kind("ldmatrix", "m8n16", _B6, 8, 16, 8, 6, _ANY, _PLAIN, _BLACKWELL),
    Kind("ldmatrix", "m8n16", _B4, 8, 16, 8, 4, _ANY, _PLAIN, _BLACKWELL),
    Kind("stmatrix", "m8n8", "b16", 8, 8, 16, 16, _ANY, _BOTH, Needs(90)),
    Kind("stmatrix", "m16n8", "b8", 8, 16, 8, 8, _ANY, _TRANS, _BLACKWELL),
)
"""Every kind. An m16n8 is stored transposed, and so has 8 rows of 16 bytes in memory."""


def kind_of(instruction: str, shape: str, type: str) -> Kind | None:
    """Return the kind of that shape and type, or None."""
    for kind in KINDS:
        if (kind.instruction, kind.shape, kind.type) == (instruction, shape, type):
            return kind
    return None
