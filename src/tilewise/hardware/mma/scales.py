"""The scales of a block-scaled mma: the lanes that supply them, and the bytes in a register.

Each lane gives one 32-bit register for A's scales and one for B's. The instruction selects the lanes and the
bytes that it reads. SFA [M, sf]: of each four lanes 4 g + t a pair supplies, its lower lane for row g, its
upper for row 8 + g; `thread` selects the pair. SFB [N, sf]: of each four lanes one supplies, for row g of B;
`thread` selects it. The sf scales of a row are neighbouring bytes, from byte `byte` on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewise.core.axes import Axis
from tilewise.core.errors import LayoutError, Refused
from tilewise.core.integers import as_int
from tilewise.core.layout import Layout
from tilewise.core.vectors import ZERO, along
from tilewise.hardware.limits import LANES
from tilewise.hardware.mma.fragments import packed, unpacked
from tilewise.hardware.mma.kinds import Kind, Scaling

LANE, REG = Axis("laneid"), Axis("reg")
OPERANDS = ("SFA", "SFB")
PAIR = {"SFA": 2, "SFB": 1}
"""{operand: lanes of each four that supply}."""
REGISTER_BYTES, QUAD = 4, 4


@dataclass(frozen=True, slots=True)
class Scales:
    """The scales of A or of B for one instruction, and the selectors that the instruction names.

    >>> a = Scales.of("SFA", "mxf4nvf4", "4X", "ue4m3", thread=1)
    >>> print(a.layout)
    S[((2, 8), 4) : ((1@laneid, 4@laneid), 1@reg)] + 2@laneid
    >>> a.block, a.bytes, a.threads
    (16, (0,), (0, 1))
    >>> print(Scales.of("SFB", "mxf8f6f4", byte=3).layout)
    S[(8, 1) : (4@laneid, 0)] + 3@reg
    """

    operand: str
    kind: Kind
    scaling: Scaling
    sparse: bool = False
    byte: int = 0
    """PTX's byte-id: the byte of a register where the scales of a row begin."""
    thread: int = 0
    """PTX's thread-id: the lanes of each four that supply."""

    def __post_init__(self) -> None:
        self._check("byte", as_int(self.byte, "byte"), self.bytes)
        self._check("thread", as_int(self.thread, "thread"), self.threads)

    @classmethod
    def of(
        cls,
        operand: str,
        kind: Kind | str,
        scale: str | None = None,
        dtype: str | None = None,
        *,
        sparse: bool = False,
        byte: int = 0,
        thread: int = 0,
    ) -> Scales:
        """Return an operand's scales; `scale`, 1X, 2X or 4X, and their type are optional where one fits."""
        if operand not in OPERANDS:
            raise LayoutError("TW601", f"{operand!r} are no scales", hint="they are SFA or SFB")
        this = Kind.of(kind)
        return cls(operand, this, this.scaling(scale, dtype), sparse, byte, thread)

    @property
    def rows(self) -> int:
        """Return the rows of the operand: M, or N."""
        shape = self.kind.shape(self.sparse)
        return shape.m if self.operand == "SFA" else shape.n

    @property
    def block(self) -> int:
        """Return the neighbours along K that share a scale; with sparse A half of them are stored."""
        return self.kind.shape(self.sparse).k // self.scaling.vector

    @property
    def bytes(self) -> tuple[int, ...]:
        """Return the legal first bytes: a row's scales fill a byte, half a register, or all of it."""
        return tuple(range(0, REGISTER_BYTES, self.scaling.vector))

    @property
    def threads(self) -> tuple[int, ...]:
        """Return the legal choices of lanes: two pairs for A, four lanes for B."""
        return tuple(range(QUAD // PAIR[self.operand]))

    @property
    def lanes(self) -> tuple[int, ...]:
        """Return the lanes whose registers are read.

        >>> Scales.of("SFA", "mxf4", thread=1).lanes[:4], Scales.of("SFB", "mxf4", thread=1).lanes[:4]
        ((2, 3, 6, 7), (1, 5, 9, 13))
        """
        width = PAIR[self.operand]
        return tuple(lane for lane in range(LANES) if lane % QUAD // width == self.thread)

    @property
    def layout(self) -> Layout:
        """Return the scales [rows, sf] over lanes, and bytes of the register, which `reg` counts.

        postcondition  scale j of row r, which scales columns block j .. block (j + 1) - 1, is place(r, j)
        """
        columns = 1 @ REG if self.scaling.vector > 1 else ZERO
        offset = along(LANE, PAIR[self.operand] * self.thread) + along(REG, self.byte)
        if self.operand == "SFB":
            return Layout((8, self.scaling.vector), (QUAD @ LANE, columns), offset=offset)
        return Layout(((2, 8), self.scaling.vector), (1 @ LANE, QUAD @ LANE, columns), offset=offset)

    def scale_of(self, row: int, column: int) -> tuple[int, int]:
        """Return (lane, byte) of the scale that multiplies an element of the operand.

        >>> Scales.of("SFA", "mxf4", byte=2).scale_of(9, 40)
        (5, 3)
        """
        place = self.layout.place(row, column // self.block).as_dict()
        return place["laneid"], place.get("reg", 0)

    def pack(self, scales: Sequence[Sequence[int]]) -> list[int]:
        """Return the register of each lane with these scales [rows, sf], bytes of 0 .. 255, and 0 elsewhere.

        OR joins the registers of several instructions in other bytes or lanes.

        >>> words = Scales.of("SFB", "mxf4", byte=2, thread=1).pack(8 * [[0x7f, 0x80]])
        >>> [hex(word) for word in words[:4]]
        ['0x0', '0x807f0000', '0x0', '0x0']
        """
        return packed(self.layout, self._exact(scales), 8, LANES * [0])

    def unpack(self, words: Sequence[int]) -> list[list[int]]:
        """Return the scales in the lanes' registers.

        postcondition  unpack(pack(scales)) == scales
        """
        return unpacked(self.layout, words, 8)

    def _exact(self, scales: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return the scales as Python's integers, which shift without loss; refuse others."""
        if [len(row) for row in scales] != self.rows * [self.scaling.vector]:
            wanted = f"{self.rows} rows of {self.scaling.vector}"
            raise LayoutError("TW202", f"{self.operand} of {self.kind.name} has {wanted} scales")
        exact = [[as_int(scale, "a scale") for scale in row] for row in scales]
        for number, row in enumerate(exact):
            for scale in row:
                if not 0 <= scale <= 255:
                    raise LayoutError("TW201", f"row {number}: {scale} is no byte, and a scale is one")
        return exact

    def _check(self, name: str, given: int, legal: tuple[int, ...]) -> None:
        if given in legal:
            return
        why = {
            "byte": f"{self.scaling.vector} bytes of a register are a row's scales",
            "thread": "a pair of each four lanes supplies A's scales"
            if self.operand == "SFA"
            else "one of each four lanes supplies B's scales",
        }
        raise Refused(
            "TW602",
            f"{self.operand} of {self.kind.name} with {self.scaling} has no {name} {given}: {why[name]}",
            witness={"operand": self.operand, "kind": self.kind.name, name: given},
            hint=f"{name} is {' or '.join(map(str, legal))}",
        )
